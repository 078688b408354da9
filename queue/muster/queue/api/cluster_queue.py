"""
ClusterQueue: quota for workloads, and the rules by which they get it.

The other kinds an administrator writes are in `kueue`; quota tables, which Cohorts have too, are
in `quotas`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from muster.queue.api.meta import ConditionList, LabelSelector, ObjectMeta
from muster.queue.api.problems import Problems, cross_check
from muster.queue.api.quantities import parse_quantity
from muster.queue.api.quotas import (
    FairSharing,
    FairSharingStatus,
    ResourceGroups,
    StopPolicy,
    check_groups,
    check_limits,
    check_weight,
)
from muster.queue.api.schema import (
    API_DEFAULT,
    ApiModel,
    Int32,
    Items,
    ListMap,
    ListSet,
    ObjectReference,
    Quantity,
    Rule,
    StatusModel,
)
from muster.queue.api.wording import did_you_mean

CheckName = Annotated[str, StringConstraints(min_length=1, max_length=316)]


# --- ClusterQueue --------------------------------------------------------------------------------

FungibilityPolicy = Literal["MayStopSearch", "TryNextFlavor"]


class FlavorFungibility(ApiModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor'"
            " && self.whenCanPreempt == 'TryNextFlavor')",
            "preference needs whenCanBorrow and whenCanPreempt to be TryNextFlavor",
        ),
    )

    when_can_borrow: Annotated[FungibilityPolicy, API_DEFAULT] = "MayStopSearch"
    """Whether to look for a later flavor when this one fits by borrowing."""
    when_can_preempt: Annotated[FungibilityPolicy, API_DEFAULT] = "TryNextFlavor"
    """Whether to look for a later flavor when this one fits by preempting."""
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None
    """Which is the lesser evil when every flavor needs one of them; empty means preempting is."""

    @cross_check
    def _preference_has_a_choice(self, problems: Problems) -> None:
        searching = self.when_can_borrow == self.when_can_preempt == "TryNextFlavor"
        if self.preference is not None and not searching:
            message = "needs whenCanBorrow and whenCanPreempt to be TryNextFlavor"
            problems.add(("preference",), message)


class BorrowWithinCohort(ApiModel):
    policy: Annotated[Literal["Never", "LowerPriority"], API_DEFAULT] = "Never"
    """Whose workloads in the cohort may be preempted by one that borrows."""
    max_priority_threshold: Int32 | None = None
    """Only workloads up to this priority; empty means any."""


class ClusterQueuePreemption(ApiModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort)"
            " && self.borrowWithinCohort.policy != 'Never')",
            "borrowWithinCohort needs reclaimWithinCohort to be other than Never",
        ),
    )

    reclaim_within_cohort: Annotated[Literal["Never", "LowerPriority", "Any"], API_DEFAULT] = (
        "Never"
    )
    """Whose workloads may be preempted to take lent quota back."""
    borrow_within_cohort: Annotated[BorrowWithinCohort, API_DEFAULT] = BorrowWithinCohort()
    """Whether a workload that borrows may preempt; not with fair sharing."""
    within_cluster_queue: Annotated[
        Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"], API_DEFAULT
    ] = "Never"
    """Whose workloads of this queue may be preempted."""

    @cross_check
    def _borrowing_needs_reclaiming(self, problems: Problems) -> None:
        policy = self.borrow_within_cohort.policy
        if self.reclaim_within_cohort == "Never" and policy != "Never":
            message = f"{policy!r} needs reclaimWithinCohort to be LowerPriority or Any"
            problems.add(("borrowWithinCohort", "policy"), message)


class AdmissionCheckStrategyRule(ApiModel):
    name: CheckName
    """The AdmissionCheck."""
    on_flavors: Annotated[Items[ObjectReference], Field(max_length=64), ListSet()] = ()
    """The flavors it is needed for; empty means every flavor."""


class AdmissionChecksStrategy(ApiModel):
    admission_checks: Annotated[
        Items[AdmissionCheckStrategyRule], Field(min_length=1, max_length=64), ListMap(("name",))
    ]
    """Checks a workload passes between reserving quota and starting."""


class AdmissionScope(ApiModel):
    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]
    """Whether past use of LocalQueues decides about their order."""


class ConcurrentAdmissionConstraints(ApiModel):
    last_acceptable_flavor_name: ObjectReference | None = None
    """The least preferred flavor to migrate to."""


class ConcurrentAdmissionMigration(ApiModel):
    mode: Literal["TryPreferredFlavors", "RetainFirstAdmission"]
    """Whether an admitted workload keeps trying for flavors listed earlier."""
    constraints: ConcurrentAdmissionConstraints | None = None
    """Limits of the migration."""


class ConcurrentAdmissionPolicy(ApiModel):
    migration: ConcurrentAdmissionMigration
    """What happens after the first flavor admitted the workload."""


_CONCURRENT_FLAVORS_MAX = 16


class ClusterQueueSpec(ApiModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.cohortName) || !has(self.resourceGroups) || self.resourceGroups.all(group,"
            " group.flavors.all(flavor, flavor.resources.all(quota, !has(quota.borrowingLimit))))",
            "borrowingLimit must be nil when cohort is empty",
        ),
    )

    resource_groups: ResourceGroups = ()
    """The quota of this queue. A resource or flavor is in one group only."""
    cohort_name: ObjectReference | None = None
    """The cohort to borrow from and lend to; it need not exist as an object."""
    queueing_strategy: Annotated[Literal["StrictFIFO", "BestEffortFIFO"], API_DEFAULT] = (
        "BestEffortFIFO"
    )
    """Whether a workload that does not fit blocks the ones behind it (StrictFIFO) or not."""
    namespace_selector: LabelSelector | None = None
    """Namespaces that may use the queue: {} means all of them, empty means none."""
    flavor_fungibility: Annotated[FlavorFungibility, API_DEFAULT] = FlavorFungibility()
    """When the search for a flavor goes on although one was found."""
    preemption: Annotated[ClusterQueuePreemption, API_DEFAULT] = ClusterQueuePreemption()
    """Whose workloads may be preempted, and for what."""
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    """What a workload must pass besides quota."""
    stop_policy: Annotated[StopPolicy, API_DEFAULT] = "None"
    """Hold admits nothing new; HoldAndDrain also evicts what runs."""
    fair_sharing: FairSharing | None = None
    """The queue's weight among its siblings."""
    admission_scope: AdmissionScope | None = None
    """Which kind of fairness among LocalQueues applies."""
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None
    """Lets a workload wait for several flavors at once."""

    @cross_check
    def _parts_fit_together(self, problems: Problems) -> None:
        check_groups(problems, self.resource_groups)
        check_limits(
            problems,
            self.resource_groups,
            parent_field="cohortName",
            has_parent=self.cohort_name is not None,
        )
        check_weight(problems, self.fair_sharing)
        self._check_lending(problems)
        self._check_admission_checks(problems)
        self._check_concurrent_admission(problems)

    def _check_lending(self, problems: Problems) -> None:
        """Only a cohort may lend more than it owns: it passes on what its children lend it."""
        for number, group in enumerate(self.resource_groups):
            for index, flavor in enumerate(group.flavors):
                for position, quota in enumerate(flavor.resources):
                    lent = quota.lending_limit
                    if lent is not None and parse_quantity(lent) > parse_quantity(
                        quota.nominal_quota
                    ):
                        here = ("resourceGroups", number, "flavors", index, "resources", position)
                        problems.add(
                            (*here, "lendingLimit"),
                            f"{lent} is more than the nominalQuota of {quota.nominal_quota}",
                        )

    def _flavors(self) -> list[str]:
        return [flavor.name for group in self.resource_groups for flavor in group.flavors]

    def _check_admission_checks(self, problems: Problems) -> None:
        if self.admission_checks_strategy is None:
            return
        known = self._flavors()
        for number, rule in enumerate(self.admission_checks_strategy.admission_checks):
            for index, flavor in enumerate(rule.on_flavors):
                if flavor not in known:
                    problems.add(
                        ("admissionChecksStrategy", "admissionChecks", number, "onFlavors", index),
                        f"{flavor!r} is not a flavor of this ClusterQueue."
                        + did_you_mean(flavor, known),
                    )

    def _check_concurrent_admission(self, problems: Problems) -> None:
        if self.concurrent_admission_policy is None:
            return
        here = ("concurrentAdmissionPolicy",)
        known = self._flavors()
        if len(self.resource_groups) != 1:
            problems.add(here, f"needs exactly one resource group, not {len(self.resource_groups)}")
        if len(known) > _CONCURRENT_FLAVORS_MAX:
            message = f"needs at most {_CONCURRENT_FLAVORS_MAX} flavors, not {len(known)}"
            problems.add(here, message)
        if self.queueing_strategy == "StrictFIFO":
            problems.add(here, "needs queueingStrategy BestEffortFIFO, not StrictFIFO")
        migration = self.concurrent_admission_policy.migration
        if migration.constraints is None:
            return
        last = migration.constraints.last_acceptable_flavor_name
        if migration.mode != "TryPreferredFlavors":
            message = f"needs mode TryPreferredFlavors, not {migration.mode}"
            problems.add((*here, "migration", "constraints"), message)
        if last is not None and last not in known:
            problems.add(
                (*here, "migration", "constraints", "lastAcceptableFlavorName"),
                f"{last!r} is not a flavor of this ClusterQueue." + did_you_mean(last, known),
            )


class ResourceUsage(StatusModel):
    name: str
    """The resource."""
    total: Quantity = "0"
    """How much is used, borrowed quota included."""
    borrowed: Quantity = "0"
    """How much of it is borrowed from the cohort."""


class FlavorUsage(StatusModel):
    name: ObjectReference
    """The flavor."""
    resources: Annotated[Items[ResourceUsage], Field(max_length=64), ListMap(("name",))]
    """Use of each resource."""


FlavorUsages = Annotated[Items[FlavorUsage], Field(max_length=64), ListMap(("name",))]


class ClusterQueueStatus(StatusModel):
    conditions: ConditionList = ()
    """Active says whether the queue admits workloads, and why not."""
    flavors_reservation: FlavorUsages = ()
    """Quota reserved by workloads."""
    flavors_usage: FlavorUsages = ()
    """Quota used by admitted workloads."""
    pending_workloads: Int32 = 0
    """Workloads that wait."""
    reserving_workloads: Int32 = 0
    """Workloads that hold quota."""
    admitted_workloads: Int32 = 0
    """Workloads that are admitted and not finished."""
    fair_sharing: FairSharingStatus | None = None
    """The queue's share, while fair sharing is on."""


class ClusterQueue(ApiModel):
    """Quota, and the rules by which workloads get it."""

    api_version: Literal["kueue.x-k8s.io/v1beta2"]
    kind: Literal["ClusterQueue"]
    metadata: ObjectMeta
    spec: ClusterQueueSpec = ClusterQueueSpec()
    """What the queue owns and how it is shared."""
    status: ClusterQueueStatus = ClusterQueueStatus()
    """What was observed."""
