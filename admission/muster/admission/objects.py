"""
What the engine is told about the world: frozen values, one per API object.

The shell (controller, simulator, command line) translates API objects into these values and hands
them to `State.apply`; the engine never sees YAML, JSON or quantities as text. All resources are
amounts (see `amounts`), all instants are integer microseconds since the epoch (`_us`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from muster.admission.amounts import FlavorResource

# --- Nodes and how pods choose them --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str
    """NoSchedule, PreferNoSchedule or NoExecute."""


@dataclass(frozen=True, slots=True)
class Toleration:
    key: str = ""
    operator: str = "Equal"
    """Equal, Exists, Gt or Lt."""
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression over labels."""

    key: str
    operator: str
    """In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold; an empty selector selects everything."""

    requirements: tuple[Requirement, ...] = ()


NodeTerm = tuple[Requirement, ...]
"""One alternative of a required node affinity: requirements that must all hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFlavor:
    name: str
    node_labels: Mapping[str, str] = field(default_factory=dict)
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None


# --- Quota ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What a node of the cohort tree has of one flavor and resource."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceGroup:
    """Resources that are taken from one flavor together; the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


class QueueingStrategy(StrEnum):
    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class StopPolicy(StrEnum):
    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class PreemptionPolicy(StrEnum):
    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    within_cluster_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    reclaim_within_cohort: PreemptionPolicy = PreemptionPolicy.NEVER
    borrow_within_cohort: bool = False
    """True when borrowWithinCohort.policy is LowerPriority."""
    borrow_max_priority: int | None = None
    """borrowWithinCohort.maxPriorityThreshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorFungibility:
    """When the search for a flavor goes on although one was found."""

    try_next_when_borrowing: bool = False
    try_next_when_preempting: bool = True
    prefer_preemption_over_borrowing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRule:
    """An admission check of a ClusterQueue; `on_flavors` empty means every flavor."""

    check: str
    on_flavors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue:
    name: str
    cohort: str | None = None
    groups: tuple[ResourceGroup, ...] = ()
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    namespace_selector: LabelSelector | None = None
    """None selects no namespace."""
    preemption: Preemption = Preemption()
    fungibility: FlavorFungibility = FlavorFungibility()
    checks: tuple[CheckRule, ...] = ()
    stop_policy: StopPolicy = StopPolicy.NONE
    weight: Fraction = Fraction(1)
    terminating: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    name: str
    parent: str | None = None
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue:
    namespace: str
    name: str
    cluster_queue: str
    stop_policy: StopPolicy = StopPolicy.NONE
    terminating: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCheck:
    name: str
    controller: str = ""
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    name: str
    levels: tuple[str, ...]


# --- Workloads -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Pods of one shape. `requests` are per pod, complete (see `requests`), in name order."""

    name: str
    count: int
    min_count: int | None = None
    requests: tuple[tuple[str, int], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeTerm, ...] | None = None
    """Required node affinity: alternatives; None when the pod has none."""
    tolerations: tuple[Toleration, ...] = ()
    topology: str | None = None
    """Canonical text of the topology request; None when the pods ask for no topology."""
    shape: str = ""
    """Whatever else makes two pods different for placement (ports, spread constraints, …)."""


class CheckState(StrEnum):
    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The state of one admission check on one workload."""

    name: str
    state: CheckState = CheckState.PENDING
    since_us: int = 0
    requeue_after_s: int | None = None
    retries: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSetAssignment:
    """What one pod set was given: a flavor per resource, total amounts, the admitted count."""

    name: str
    flavors: Mapping[str, str]
    usage: Mapping[str, int]
    """Of a resource without a flavor nothing is counted."""
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    status: bool
    reason: str
    since_us: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class EvictionCount:
    """How often a Workload was evicted for one reason and underlying cause ("" for none)."""

    reason: str
    cause: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The immutable part of a Workload: what it asks for."""

    namespace: str
    name: str
    uid: str
    local_queue: str
    created_us: int
    pod_sets: tuple[PodSet, ...]
    priority: int = 0
    priority_boost: int = 0
    active: bool = True
    generation: int = 0
    gated_by: tuple[str, ...] = ()
    """Names in the admission-gated-by annotation; while any is there, nothing is reserved."""
    max_execution_s: int | None = None
    problem: str | None = None
    """Why its resources are unacceptable (request over limit, LimitRange), if they are."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The changing part of a Workload: what was decided about it. See `lifecycle` for the moves."""

    admission: Admission | None = None
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    reclaimable: Mapping[str, int] = field(default_factory=dict)
    """Pods per pod set that have finished and need no quota any more."""
    requeue_at_us: int | None = None
    requeue_count: int = 0
    past_execution_s: int = 0
    """Whole seconds spent admitted in earlier runs."""
    evictions: tuple[EvictionCount, ...] = ()

    def is_true(self, condition: str) -> bool:
        found = self.conditions.get(condition)
        return found is not None and found.status

    def is_false(self, condition: str) -> bool:
        found = self.conditions.get(condition)
        return found is not None and not found.status
