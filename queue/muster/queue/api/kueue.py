"""
The kinds beside ClusterQueue that an administrator writes.

A Cohort is a node of the tree in which quota is lent, a LocalQueue opens a ClusterQueue to a
namespace, ResourceFlavor and Topology say which nodes the quota stands for, WorkloadPriorityClass
and AdmissionCheck are what workloads and queues refer to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, StringConstraints

from muster.queue.api.meta import ConditionList, ObjectMeta
from muster.queue.api.pods import Taint, Toleration
from muster.queue.api.problems import Problems, cross_check
from muster.queue.api.quotas import (
    FairSharing,
    FairSharingStatus,
    LocalQueueFairSharingStatus,
    ResourceGroups,
    StopPolicy,
    check_groups,
    check_limits,
    check_weight,
)
from muster.queue.api.schema import (
    API_DEFAULT,
    ATOMIC_LIST,
    ATOMIC_MAP,
    DNS_LABEL_PATTERN,
    LABEL_KEY_PATTERN,
    SUBDOMAIN_PATTERN,
    ApiModel,
    Int32,
    Items,
    LabelKey,
    LabelValue,
    ListMap,
    Location,
    ObjectReference,
    Quantity,
    Rule,
    StatusModel,
    empty_map,
    rules,
)

_IMMUTABLE: Final = rules(Rule("self == oldSelf", "field is immutable"))


# --- Cohort --------------------------------------------------------------------------------------


class CohortSpec(ApiModel):
    parent_name: ObjectReference | None = None
    """The cohort above; it need not exist as an object."""
    resource_groups: ResourceGroups = ()
    """Quota of the cohort itself, on top of what its members lend."""
    fair_sharing: FairSharing | None = None
    """The cohort's weight among its siblings."""

    @cross_check
    def _parts_fit_together(self, problems: Problems) -> None:
        check_groups(problems, self.resource_groups)
        check_limits(
            problems,
            self.resource_groups,
            parent_field="parentName",
            has_parent=self.parent_name is not None,
        )
        check_weight(problems, self.fair_sharing)


class CohortStatus(StatusModel):
    fair_sharing: FairSharingStatus | None = None
    """The cohort's share, while fair sharing is on."""


class Cohort(ApiModel):
    """A node of the tree in which quota is lent and borrowed."""

    api_version: Literal["kueue.x-k8s.io/v1beta2"]
    kind: Literal["Cohort"]
    metadata: ObjectMeta
    spec: CohortSpec = CohortSpec()
    """Where the cohort hangs and what it owns."""
    status: CohortStatus = CohortStatus()
    """What was observed."""


# --- LocalQueue ----------------------------------------------------------------------------------


class LocalQueueSpec(ApiModel):
    cluster_queue: Annotated[ObjectReference, _IMMUTABLE] | None = None
    """The ClusterQueue whose quota the queue opens to its namespace."""
    stop_policy: Annotated[StopPolicy, API_DEFAULT] = "None"
    """Hold admits nothing new; HoldAndDrain also evicts what runs."""
    fair_sharing: FairSharing | None = None
    """The queue's weight, where past use decides about the order."""


class LocalQueueResourceUsage(StatusModel):
    name: str
    """The resource."""
    total: Quantity = "0"
    """How much is used."""


class LocalQueueFlavorUsage(StatusModel):
    name: ObjectReference
    """The flavor."""
    resources: Annotated[Items[LocalQueueResourceUsage], Field(max_length=16), ListMap(("name",))]
    """Use of each resource."""


LocalQueueFlavorUsages = Annotated[
    Items[LocalQueueFlavorUsage], Field(max_length=16), ListMap(("name",))
]


class LocalQueueStatus(StatusModel):
    conditions: ConditionList = ()
    """Active says whether workloads can be admitted through the queue, and why not."""
    pending_workloads: Int32 = 0
    """Workloads that wait."""
    reserving_workloads: Int32 = 0
    """Workloads that hold quota."""
    admitted_workloads: Int32 = 0
    """Workloads that are admitted and not finished."""
    flavors_reservation: LocalQueueFlavorUsages = ()
    """Quota reserved by workloads."""
    flavors_usage: LocalQueueFlavorUsages = ()
    """Quota used by admitted workloads."""
    fair_sharing: LocalQueueFairSharingStatus | None = None
    """The queue's share and its past use."""


class LocalQueue(ApiModel):
    """What the workloads of a namespace are submitted to."""

    api_version: Literal["kueue.x-k8s.io/v1beta2"]
    kind: Literal["LocalQueue"]
    metadata: ObjectMeta
    spec: LocalQueueSpec = LocalQueueSpec()
    """Where the workloads get their quota."""
    status: LocalQueueStatus = LocalQueueStatus()
    """What was observed."""


# --- ResourceFlavor ------------------------------------------------------------------------------

_EFFECTS: Final = "['NoSchedule', 'PreferNoSchedule', 'NoExecute']"

TOLERATION_RULES: Final = rules(
    Rule(
        "self.all(x, has(x.key) || (has(x.operator) && x.operator == 'Exists'))",
        "operator must be Exists when key is empty, which means every key",
    ),
    Rule(
        "self.all(x, !has(x.tolerationSeconds) || (has(x.effect) && x.effect == 'NoExecute'))",
        "effect must be NoExecute when tolerationSeconds is set",
    ),
    Rule(
        "self.all(x, !has(x.operator) || x.operator in ['Equal', 'Exists'])",
        "operator must be Equal or Exists",
    ),
    Rule(
        "self.all(x, !has(x.operator) || x.operator != 'Exists' || !has(x.value))",
        "value must be empty when operator is Exists",
    ),
    Rule(
        f"self.all(x, !has(x.effect) || x.effect in {_EFFECTS})",
        "effect must be NoSchedule, PreferNoSchedule or NoExecute",
    ),
)
"""What tolerations of our own kinds must obey; a pod's may also compare numbers."""


def check_tolerations(
    problems: Problems, location: Location, tolerations: Sequence[Toleration]
) -> None:
    """Record operators that only tolerations of pods may have."""
    for index, toleration in enumerate(tolerations):
        if toleration.operator not in ("Equal", "Exists"):
            problems.add(
                (*location, index, "operator"),
                f"{toleration.operator!r} is not allowed here: use Equal or Exists",
            )


class ResourceFlavorSpec(ApiModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.topologyName) || (has(self.nodeLabels) && size(self.nodeLabels) >= 1)",
            "at least one nodeLabel is required when topologyName is set",
        ),
        Rule(
            "!has(oldSelf.topologyName)"
            " || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
            "topologyName is immutable once set",
        ),
    )

    node_labels: Annotated[dict[LabelKey, LabelValue], ATOMIC_MAP, Field(max_length=8)] = (
        empty_map()
    )
    """Labels of the nodes the flavor stands for; they become the pods' nodeSelector."""
    node_taints: Annotated[
        Items[Taint],
        ATOMIC_LIST,
        Field(max_length=8),
        rules(
            Rule(
                f"self.all(x, x.effect in {_EFFECTS})",
                "effect must be NoSchedule, PreferNoSchedule or NoExecute",
            )
        ),
    ] = ()
    """Taints of those nodes, which workloads must tolerate to get the flavor."""
    tolerations: Annotated[
        Items[Toleration], ATOMIC_LIST, Field(max_length=8), TOLERATION_RULES
    ] = ()
    """Tolerations added to the pods that get the flavor."""
    topology_name: ObjectReference | None = None
    """The Topology of those nodes, when pods are to be placed close together."""

    @cross_check
    def _parts_fit_together(self, problems: Problems) -> None:
        if self.topology_name is not None and not self.node_labels:
            problems.add(("nodeLabels",), "is required when topologyName is set")
        check_tolerations(problems, ("tolerations",), self.tolerations)
        seen: set[tuple[str, str]] = set()
        for index, taint in enumerate(self.node_taints):
            if (taint.key, taint.effect) in seen:
                message = f"{taint.key}:{taint.effect} is listed twice"
                problems.add(("nodeTaints", index), message)
            seen.add((taint.key, taint.effect))


class ResourceFlavor(ApiModel):
    """A sort of nodes (a GPU model, a price model) that quota is counted in."""

    api_version: Literal["kueue.x-k8s.io/v1beta2"]
    kind: Literal["ResourceFlavor"]
    metadata: ObjectMeta
    spec: ResourceFlavorSpec = Field(default_factory=ResourceFlavorSpec)
    """Which nodes it stands for."""


# --- Topology ------------------------------------------------------------------------------------

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label that tells single nodes apart; only the lowest level may be this one."""


class TopologyLevel(ApiModel):
    node_label: Annotated[
        str, StringConstraints(min_length=1, max_length=316, pattern=LABEL_KEY_PATTERN)
    ]
    """The label whose value names the domain a node is in."""


class TopologySpec(ApiModel):
    levels: Annotated[
        Items[TopologyLevel],
        ATOMIC_LIST,
        Field(min_length=1, max_length=16),
        rules(
            Rule(
                f"self == oldSelf || (self[size(self) - 1].nodeLabel == '{HOSTNAME}'"
                f" && oldSelf[size(oldSelf) - 1].nodeLabel == '{HOSTNAME}')",
                f"levels can change only while the lowest level is {HOSTNAME}",
            ),
            Rule(
                "self.all(x, self.exists_one(y, x == y))",
                "the levels must be unique",
            ),
            Rule(
                f"!self.exists(x, x.nodeLabel == '{HOSTNAME}')"
                f" || self[size(self) - 1].nodeLabel == '{HOSTNAME}'",
                f"the label {HOSTNAME} can only be the lowest level",
            ),
        ),
    ]
    """From the widest domain (a block) to the narrowest (a rack, a node)."""

    @cross_check
    def _levels_descend(self, problems: Problems) -> None:
        labels = [level.node_label for level in self.levels]
        for index, label in enumerate(labels):
            if label in labels[:index]:
                problems.add(("levels", index, "nodeLabel"), f"{label!r} is listed twice")
            if label == HOSTNAME and index < len(labels) - 1:
                problems.add(
                    ("levels", index, "nodeLabel"), f"{HOSTNAME} can only be the lowest level"
                )


class Topology(ApiModel):
    """How nodes are nested in domains between which distance costs."""

    api_version: Literal["kueue.x-k8s.io/v1beta2"]
    kind: Literal["Topology"]
    metadata: ObjectMeta
    spec: TopologySpec
    """The levels."""


# --- What workloads and queues refer to ----------------------------------------------------------


class WorkloadPriorityClass(ApiModel):
    """A priority by name, for queueing only: pods keep theirs."""

    api_version: Literal["kueue.x-k8s.io/v1beta2"]
    kind: Literal["WorkloadPriorityClass"]
    metadata: ObjectMeta
    value: Int32
    """The priority; changing it changes that of the workloads that wait or run with it."""
    description: Annotated[str, StringConstraints(max_length=2048)] = ""
    """When to use it."""


class AdmissionCheckParametersReference(ApiModel):
    api_group: Annotated[str, StringConstraints(max_length=253, pattern=SUBDOMAIN_PATTERN)]
    """Group of the object."""
    kind: Annotated[
        str, StringConstraints(max_length=63, pattern="^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$")
    ]
    """Kind of the object."""
    name: Annotated[str, StringConstraints(max_length=63, pattern=DNS_LABEL_PATTERN)]
    """Name of the object."""


class AdmissionCheckSpec(ApiModel):
    controller_name: Annotated[str, StringConstraints(min_length=1, max_length=253), _IMMUTABLE]
    """The controller that answers the check."""
    parameters: AdmissionCheckParametersReference | None = None
    """An object with settings for that controller."""


class AdmissionCheckStatus(StatusModel):
    conditions: ConditionList = ()
    """Active says whether the controller is ready to answer."""


class AdmissionCheck(ApiModel):
    """A question that some controller answers before a workload starts."""

    api_version: Literal["kueue.x-k8s.io/v1beta2"]
    kind: Literal["AdmissionCheck"]
    metadata: ObjectMeta
    spec: AdmissionCheckSpec
    """Who answers."""
    status: AdmissionCheckStatus = AdmissionCheckStatus()
    """What was observed."""
