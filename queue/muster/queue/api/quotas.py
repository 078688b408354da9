"""
Quota tables, which ClusterQueues and Cohorts have alike, and the shares of fair sharing.

A table is a list of resource groups. The resources of a group are always taken from one flavor;
its flavors are tried in the order listed.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from muster.queue.api.problems import Problems, cross_check
from muster.queue.api.quantities import parse_quantity
from muster.queue.api.schema import (
    API_DEFAULT,
    ATOMIC_LIST,
    ApiModel,
    Int64,
    Items,
    ListMap,
    Location,
    ObjectReference,
    Quantity,
    ResourceName,
    Rule,
    StatusModel,
    Timestamp,
)

GROUPS_MAX: Final = 16
FLAVORS_MAX: Final = 64
RESOURCES_MAX: Final = 64

FLAVORS_IN_ALL_GROUPS_MAX: Final = 256
RESOURCES_IN_ALL_GROUPS_MAX: Final = 256
QUOTAS_IN_A_GROUP_MAX: Final = 512


StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
"""Whether a queue admits (None), admits nothing new (Hold), or also evicts (HoldAndDrain)."""


class ResourceQuota(ApiModel):
    name: ResourceName
    """The resource, for example cpu or nvidia.com/gpu."""
    nominal_quota: Quantity
    """How much belongs to this queue or cohort."""
    borrowing_limit: Quantity | None = None
    """How much more may be borrowed from the cohort; empty means no limit."""
    lending_limit: Quantity | None = None
    """How much of the nominal quota others may borrow; empty means all of it."""

    @cross_check
    def _amounts_are_not_negative(self, problems: Problems) -> None:
        for field, text in (
            ("nominalQuota", self.nominal_quota),
            ("borrowingLimit", self.borrowing_limit),
            ("lendingLimit", self.lending_limit),
        ):
            if text is not None and parse_quantity(text) < 0:
                problems.add((field,), f"{text} is negative: at least 0")


class FlavorQuotas(ApiModel):
    name: ObjectReference
    """The ResourceFlavor. While none has this name, the ClusterQueue admits nothing."""
    resources: Annotated[
        Items[ResourceQuota], Field(min_length=1, max_length=RESOURCES_MAX), ListMap(("name",))
    ]
    """A quota for each of the group's coveredResources, in their order."""


class ResourceGroup(ApiModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.flavors.all(flavor, size(flavor.resources) == size(self.coveredResources))",
            "each flavor must have a quota for each of the coveredResources",
        ),
    )

    covered_resources: Annotated[
        Items[ResourceName], ATOMIC_LIST, Field(min_length=1, max_length=RESOURCES_MAX)
    ]
    """The resources that are always taken from the same flavor."""
    flavors: Annotated[
        Items[FlavorQuotas], Field(min_length=1, max_length=FLAVORS_MAX), ListMap(("name",))
    ]
    """The flavors that provide them, tried in this order."""

    @cross_check
    def _flavors_cover_the_resources(self, problems: Problems) -> None:
        for index, flavor in enumerate(self.flavors):
            names = tuple(quota.name for quota in flavor.resources)
            if names != self.covered_resources:
                problems.add(
                    ("flavors", index, "resources"),
                    f"flavor {flavor.name!r} lists {', '.join(names)}, but must list the "
                    f"coveredResources in their order: {', '.join(self.covered_resources)}",
                )
        if len(self.flavors) * len(self.covered_resources) > QUOTAS_IN_A_GROUP_MAX:
            problems.add(
                (),
                f"has {len(self.flavors)} flavors of {len(self.covered_resources)} resources: "
                f"at most {QUOTAS_IN_A_GROUP_MAX} quotas are allowed in a group",
            )


ResourceGroups = Annotated[Items[ResourceGroup], ATOMIC_LIST, Field(max_length=GROUPS_MAX)]


def check_groups(problems: Problems, groups: tuple[ResourceGroup, ...]) -> None:
    """Record what is wrong between the groups of one table, found at "resourceGroups"."""
    resources: dict[str, int] = {}
    flavors: dict[str, int] = {}
    for number, group in enumerate(groups):
        here: Location = ("resourceGroups", number)
        for index, resource in enumerate(group.covered_resources):
            if resource in resources:
                where = f"resourceGroups[{resources[resource]}]"
                problems.add(
                    (*here, "coveredResources", index),
                    f"{resource!r} is already covered by {where}: once is allowed",
                )
            resources.setdefault(resource, number)
        for index, flavor in enumerate(group.flavors):
            if flavor.name in flavors:
                where = f"resourceGroups[{flavors[flavor.name]}]"
                problems.add(
                    (*here, "flavors", index, "name"),
                    f"{flavor.name!r} is already in {where}: a flavor belongs to one group",
                )
            flavors.setdefault(flavor.name, number)
    for names, noun, limit in (
        (resources, "resources", RESOURCES_IN_ALL_GROUPS_MAX),
        (flavors, "flavors", FLAVORS_IN_ALL_GROUPS_MAX),
    ):
        if len(names) > limit:
            problems.add(
                ("resourceGroups",), f"has {len(names)} {noun} altogether, at most {limit}"
            )


def check_limits(
    problems: Problems, groups: tuple[ResourceGroup, ...], *, parent_field: str, has_parent: bool
) -> None:
    """Record limits that mean nothing: nobody to borrow from or lend to without a parent."""
    for number, group in enumerate(groups):
        for index, flavor in enumerate(group.flavors):
            for position, quota in enumerate(flavor.resources):
                here = ("resourceGroups", number, "flavors", index, "resources", position)
                for field, limit in (
                    ("borrowingLimit", quota.borrowing_limit),
                    ("lendingLimit", quota.lending_limit),
                ):
                    if limit is not None and not has_parent:
                        problems.add(
                            (*here, field),
                            f"{limit} limits nothing without a cohort: "
                            f"set {parent_field} or remove the limit",
                        )


class FairSharing(ApiModel):
    weight: Annotated[Quantity, API_DEFAULT] = "1"
    """The share compared with siblings; with weight 0 everybody else goes first."""


def check_weight(problems: Problems, fair_sharing: FairSharing | None) -> None:
    """Record a weight that cannot be divided by: shares are computed in nano-units."""
    if fair_sharing is not None:
        nanos = parse_quantity(fair_sharing.weight)
        if nanos < 0 or nanos == 1:
            problems.add(
                ("fairSharing", "weight"),
                f"{fair_sharing.weight} is not usable: 0, or more than 1n (10^-9)",
            )


class FairSharingStatus(StatusModel):
    weighted_share: Int64 = 0
    """The share in use, in thousandths of what can be lent, over the weight."""


class AdmissionFairSharingStatus(StatusModel):
    consumed_resources: dict[str, Quantity]
    """Past use of resources, fading with time."""
    last_update: Timestamp
    """When it was counted."""


class LocalQueueFairSharingStatus(FairSharingStatus):
    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None
    """Past use, while usage-based admission is on."""
