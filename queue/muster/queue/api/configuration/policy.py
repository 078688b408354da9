"""The part of the configuration file that decides about workloads."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from muster.queue.api.configuration.scalars import Period, Weight
from muster.queue.api.problems import Problems, structure_check
from muster.queue.api.schema import (
    ApiModel,
    Count,
    Items,
    ListMap,
    Positive,
    Quantities,
    ResourceName,
    empty_map,
)

FairStrategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]

_STRATEGIES: Final = (
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
)


class FairSharing(ApiModel):
    preemption_strategies: Items[FairStrategy]
    """When a workload of another queue may be preempted, tried in this order."""

    @structure_check
    def _known_combination(self, problems: Problems) -> None:
        if self.preemption_strategies not in _STRATEGIES:
            allowed = " or ".join(f"[{', '.join(each)}]" for each in _STRATEGIES)
            problems.add(("preemptionStrategies",), f"must be {allowed}")


class AdmissionFairSharing(ApiModel):
    usage_half_life_time: Period
    """After this time past use counts half; 0s forgets it at once."""
    usage_sampling_interval: Period = timedelta(minutes=5)
    """How often use is counted."""
    resource_weights: dict[ResourceName, Weight] = empty_map()
    """How much a unit of each resource counts; 1 where nothing is said."""

    @structure_check
    def _sampling_takes_time(self, problems: Problems) -> None:
        if not self.usage_sampling_interval:
            problems.add(("usageSamplingInterval",), "must be longer than 0s")


class RequeuingStrategy(ApiModel):
    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    """What decides about the place in the queue after an eviction."""
    backoff_limit_count: Count | None = None
    """Evictions after which the workload is deactivated; empty means never."""
    backoff_base_seconds: Count = 60
    """The first back-off; it doubles with every further eviction."""
    backoff_max_seconds: Count = 3600
    """The longest back-off."""


class WaitForPodsReady(ApiModel):
    timeout: Period = timedelta(minutes=30)
    """How long the pods of an admitted workload may take to be ready."""
    block_admission: bool = False
    """Admit nothing while pods of an admitted workload are not ready."""
    recovery_timeout: Period | None = None
    """How long a pod may take to be replaced; empty means `timeout`, 0s means for ever."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()
    """What happens to a workload whose pods took too long."""

    @property
    def recovery(self) -> timedelta:
        """How long a pod may take to be replaced; zero means for ever."""
        return self.timeout if self.recovery_timeout is None else self.recovery_timeout


class ResourceTransformation(ApiModel):
    input: ResourceName
    """The resource that pods ask for."""
    strategy: Literal["Retain", "Replace"] = "Retain"
    """Whether the input is still counted itself."""
    multiply_by: ResourceName | None = None
    """A resource of the same pod that the outputs are multiplied by."""
    outputs: Quantities = empty_map()
    """What is counted for one unit of the input."""


class DeviceClassSource(ApiModel):
    counter: dict[str, Any] | None = None
    capacity: dict[str, Any] | None = None

    @structure_check
    def _exactly_one(self, problems: Problems) -> None:
        if (self.counter is None) == (self.capacity is None):
            problems.add((), "needs exactly one of counter, capacity")


class DeviceClassMapping(ApiModel):
    name: ResourceName
    """The resource that devices of these classes are counted as."""
    device_class_names: Annotated[Items[str], Field(min_length=1, max_length=8)]
    sources: Items[DeviceClassSource] = ()


class Resources(ApiModel):
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"
    """Whether a requested resource that the ClusterQueue does not cover blocks the workload."""
    exclude_resource_prefixes: Items[str] = ()
    """Resources whose names begin so are not counted."""
    transformations: Annotated[Items[ResourceTransformation], ListMap(("input",))] = ()
    """Resources that are counted as others."""
    device_class_mappings: Annotated[
        Items[DeviceClassMapping], Field(max_length=16), ListMap(("name",))
    ] = ()
    """Devices that are counted as resources."""

    @structure_check
    def _exclusions_have_an_effect(self, problems: Problems) -> None:
        if self.quota_check_strategy == "IgnoreUndeclared" and self.exclude_resource_prefixes:
            message = "is not allowed with quotaCheckStrategy IgnoreUndeclared, which ignores more"
            problems.add(("excludeResourcePrefixes",), message)


class WorkloadRetentionPolicy(ApiModel):
    after_finished: Period | None = None
    """How long a finished workload is kept; empty means for ever."""
    after_deactivated_by_kueue: Period | None = None
    """How long a workload is kept that was deactivated for a reason; empty means for ever."""


class ObjectRetentionPolicies(ApiModel):
    workloads: WorkloadRetentionPolicy = WorkloadRetentionPolicy()


class MusterPreemption(ApiModel):
    patience: Period = timedelta(seconds=30)
    """A victim that is expected to end within this time is left to finish; 0s stops it at once."""


class MusterOptions(ApiModel):
    """What only Muster has."""

    preemption: MusterPreemption = MusterPreemption()

    max_rounds_per_cycle: Positive | None = None
    """Rounds of admission in one cycle: 1 decides exactly as the peer; empty goes on to the end."""
