"""
Workload: a gang of pods waiting for, or holding, quota; all of it runs or none.

The spec says what is asked for, the status what was decided and what happened since. Rules between
the two (an admission for every pod set, no more pods reclaimed than there are) are checked here.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, StringConstraints

from muster.queue.api.assignments import POD_SETS_MAX, Admission
from muster.queue.api.cluster_queue import CheckName
from muster.queue.api.kueue import TOLERATION_RULES, check_tolerations
from muster.queue.api.meta import Annotations, ConditionList, Labels, ObjectMeta, is_true
from muster.queue.api.pods import Container, PodTemplateSpec, Toleration
from muster.queue.api.problems import Problems, cross_check
from muster.queue.api.schema import (
    API_DEFAULT,
    ATOMIC_LIST,
    SUBDOMAIN_PATTERN,
    ApiModel,
    Count,
    DnsLabel,
    Int32,
    Items,
    ListMap,
    Location,
    ObjectReference,
    Positive,
    Quantity,
    Rule,
    StatusModel,
    Timestamp,
    empty_map,
)
from muster.queue.api.wording import did_you_mean

GATED_BY_ANNOTATION: Final = "kueue.x-k8s.io/admission-gated-by"
"""Comma-separated names of gates; while any is left the workload reserves nothing."""
PRIORITY_BOOST_ANNOTATION: Final = "kueue.x-k8s.io/priority-boost"
"""A 32-bit integer that is added to the priority."""
ELASTIC_ANNOTATION: Final = "kueue.x-k8s.io/elastic-job"
"""Whether the workload may grow and shrink while it runs."""

_LevelName = Annotated[str, StringConstraints(max_length=63)]
_LabelName = Annotated[str, StringConstraints(max_length=317)]
_ClusterName = Annotated[str, StringConstraints(max_length=256)]
_EvictionReason = Annotated[str, StringConstraints(max_length=316)]


# --- What is asked for ---------------------------------------------------------------------------


class SliceTopologyConstraint(ApiModel):
    topology: Annotated[str, StringConstraints(min_length=1, max_length=63)]
    """The level that keeps a slice together."""
    size: Positive
    """Pods in a slice."""


class PodSetTopologyRequest(ApiModel):
    required: _LevelName | None = None
    """The level whose single domain must hold all pods."""
    preferred: _LevelName | None = None
    """The level to start from; wider ones are tried, then several domains."""
    unconstrained: bool | None = None
    """Any nodes will do, but they are assigned."""
    pod_index_label: _LabelName | None = None
    """The label that numbers the pods."""
    sub_group_index_label: _LabelName | None = None
    """The label that numbers groups within the pod set."""
    sub_group_count: Count | None = None
    """How many such groups there are."""
    pod_set_group_name: Annotated[str, StringConstraints(max_length=256)] | None = None
    """Pod sets of one name get the same flavor and domain."""
    pod_set_slice_required_topology: _LevelName | None = None
    """The level whose single domain must hold each slice."""
    pod_set_slice_size: Positive | None = None
    """Pods in a slice."""
    podset_slice_required_topology_constraints: Annotated[
        Items[SliceTopologyConstraint], ATOMIC_LIST, Field(max_length=3)
    ] = ()
    """Slices within slices, the widest first."""


class PodSet(ApiModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.minCount) || self.minCount <= self.count",
            "minCount must be at most count",
        ),
    )

    name: Annotated[DnsLabel, API_DEFAULT] = "main"
    """Unique in the workload."""
    template: PodTemplateSpec
    """The pods, all alike."""
    count: Annotated[Count, API_DEFAULT] = 1
    """How many."""
    min_count: Positive | None = None
    """How many are enough to start with, when the job can do with fewer."""
    topology_request: PodSetTopologyRequest | None = None
    """How close together the pods must be."""

    @cross_check
    def _counts_and_resources(self, problems: Problems) -> None:
        if self.min_count is not None and self.min_count > self.count:
            message = f"{self.min_count} is more than the count of {self.count}"
            problems.add(("minCount",), message)
        pod = self.template.spec
        for field, containers in (
            ("initContainers", pod.init_containers),
            ("containers", pod.containers),
        ):
            for index, container in enumerate(containers):
                _check_reserved(problems, ("template", "spec", field, index), container)


def _check_reserved(problems: Problems, location: Location, container: Container) -> None:
    """Record requests for "pods": that resource is counted for every pod set anyway."""
    resources = container.resources
    for field, quantities in (("requests", resources.requests), ("limits", resources.limits)):
        if "pods" in quantities:
            problems.add(
                (*location, "resources", field, "pods"),
                "the resource is reserved: every pod counts as one already",
            )


class PriorityClassRef(ApiModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.group == 'scheduling.k8s.io' ? self.kind == 'PriorityClass'"
            " : self.kind == 'WorkloadPriorityClass'",
            "kind must be PriorityClass for group scheduling.k8s.io"
            " and WorkloadPriorityClass for group kueue.x-k8s.io",
        ),
    )

    group: Literal["kueue.x-k8s.io", "scheduling.k8s.io"]
    """Group of the class."""
    kind: Literal["WorkloadPriorityClass", "PriorityClass"]
    """Kind of the class."""
    name: Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=SUBDOMAIN_PATTERN)]
    """Name of the class."""

    @cross_check
    def _kind_is_of_the_group(self, problems: Problems) -> None:
        wanted = "PriorityClass" if self.group == "scheduling.k8s.io" else "WorkloadPriorityClass"
        if self.kind != wanted:
            problems.add(("kind",), f"{self.kind!r} is not of group {self.group}: use {wanted}")


class PreemptionGate(ApiModel):
    name: Annotated[str, StringConstraints(min_length=1, max_length=63)]
    """While the gate is closed, the workload preempts nobody."""


class WorkloadSpec(ApiModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.priorityClassRef) || has(self.priority)",
            "priority must be set when priorityClassRef is",
        ),
    )

    pod_sets: Annotated[
        Items[PodSet], Field(min_length=1, max_length=POD_SETS_MAX), ListMap(("name",))
    ]
    """The gang."""
    queue_name: ObjectReference | None = None
    """The LocalQueue it waits in."""
    priority_class_ref: PriorityClassRef | None = None
    """Where the priority comes from."""
    priority: Int32 | None = None
    """Higher goes first; empty counts as 0."""
    active: Annotated[bool, API_DEFAULT] = True
    """Whether it may run; false evicts it."""
    maximum_execution_time_seconds: Positive | None = None
    """How long it may stay admitted, all runs together, before it is deactivated."""
    preemption_gates: Annotated[Items[PreemptionGate], Field(max_length=8), ListMap(("name",))] = ()
    """What must be opened before it may preempt."""

    @cross_check
    def _parts_fit_together(self, problems: Problems) -> None:
        if self.priority_class_ref is not None and self.priority is None:
            problems.add(("priority",), "is required when priorityClassRef is set")
        partial = [index for index, pods in enumerate(self.pod_sets) if pods.min_count is not None]
        for index in partial[1:]:
            message = f"only one pod set may have it, and podSets[{partial[0]}] does"
            problems.add(("podSets", index, "minCount"), message)


# --- What was decided and observed ---------------------------------------------------------------


class RequeueState(StatusModel):
    count: Count | None = None
    """How often it was put back into the queue."""
    requeue_at: Timestamp | None = None
    """Not to be admitted before."""


class ReclaimablePod(StatusModel):
    name: DnsLabel
    """The pod set."""
    count: Count
    """Pods that have finished and need no quota any more."""


class PodSetUpdate(StatusModel):
    name: DnsLabel
    """The pod set to change."""
    labels: Labels = empty_map()
    """Labels to add to the pods."""
    annotations: Annotations = empty_map()
    """Annotations to add to the pods."""
    node_selector: dict[str, str] = empty_map()
    """Node labels to ask for besides."""
    tolerations: Annotated[
        Items[Toleration], ATOMIC_LIST, Field(max_length=8), TOLERATION_RULES
    ] = ()
    """Tolerations to add to the pods."""

    @cross_check
    def _tolerations_compare_no_numbers(self, problems: Problems) -> None:
        check_tolerations(problems, ("tolerations",), self.tolerations)


class AdmissionCheckState(StatusModel):
    name: CheckName
    """The AdmissionCheck."""
    state: Literal["Pending", "Ready", "Retry", "Rejected"]
    """Its answer."""
    last_transition_time: Timestamp
    """When the answer last changed."""
    message: Annotated[str, StringConstraints(max_length=32768)]
    """Why, for a person; may be empty."""
    requeue_after_seconds: Count | None = None
    """How long to wait before the next attempt."""
    retry_count: Count | None = None
    """Attempts that failed."""
    pod_set_updates: Annotated[
        Items[PodSetUpdate], ATOMIC_LIST, Field(max_length=POD_SETS_MAX)
    ] = ()
    """What the check wants changed in the pods."""


class PodSetRequest(StatusModel):
    name: DnsLabel
    """The pod set."""
    resources: dict[str, Quantity] = empty_map()
    """What all its pods ask for together."""


class EvictionCount(StatusModel):
    reason: _EvictionReason
    """Why it was evicted."""
    underlying_cause: _EvictionReason
    """What was behind the reason; may be empty."""
    count: Count
    """How often."""


class SchedulingStats(StatusModel):
    evictions: Annotated[
        Items[EvictionCount], Field(max_length=256), ListMap(("reason", "underlying_cause"))
    ] = ()
    """Evictions by reason and cause."""


class UnhealthyNode(StatusModel):
    name: Annotated[str, StringConstraints(max_length=63)]
    """A node whose pods must be replaced."""


class PreemptionGateState(StatusModel):
    name: Annotated[str, StringConstraints(min_length=1, max_length=63)]
    """The gate."""
    position: Literal["Closed", "Open"]
    """Whether it lets the workload preempt."""
    last_transition_time: Timestamp
    """When it last moved."""


class WorkloadStatus(StatusModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(oldSelf.clusterName) || !has(self.clusterName)"
            " || oldSelf.clusterName == self.clusterName",
            "clusterName is immutable once set",
        ),
        Rule(
            "!has(self.clusterName) || !has(self.nominatedClusterNames)"
            " || size(self.nominatedClusterNames) == 0",
            "clusterName and nominatedClusterNames are mutually exclusive",
        ),
    )

    conditions: ConditionList = ()
    """Where the workload is in its life: QuotaReserved, Admitted, Evicted, Finished, …"""
    admission: Admission | None = None
    """What it was given, while it holds quota."""
    requeue_state: RequeueState | None = None
    """Back-off after an eviction."""
    reclaimable_pods: Annotated[
        Items[ReclaimablePod], Field(max_length=POD_SETS_MAX), ListMap(("name",))
    ] = ()
    """Pods whose quota others may use already."""
    admission_checks: Annotated[
        Items[AdmissionCheckState], Field(max_length=8), ListMap(("name",))
    ] = ()
    """Answers of the admission checks."""
    resource_requests: Annotated[
        Items[PodSetRequest], Field(max_length=POD_SETS_MAX), ListMap(("name",))
    ] = ()
    """What is asked for, shown while nothing is reserved."""
    accumulated_past_execution_time_seconds: Count | None = None
    """Seconds it was admitted in earlier runs."""
    scheduling_stats: SchedulingStats | None = None
    """How it fared."""
    nominated_cluster_names: Annotated[Items[_ClusterName], ATOMIC_LIST, Field(max_length=20)] = ()
    """Worker clusters that may run it."""
    cluster_name: _ClusterName | None = None
    """The worker cluster that runs it."""
    unhealthy_nodes: Annotated[Items[UnhealthyNode], Field(max_length=8), ListMap(("name",))] = ()
    """Nodes that failed under it."""
    preemption_gates: Annotated[
        Items[PreemptionGateState], Field(max_length=8), ListMap(("name",))
    ] = ()
    """Positions of the gates in the spec."""

    @cross_check
    def _one_cluster_or_candidates(self, problems: Problems) -> None:
        if self.cluster_name is not None and self.nominated_cluster_names:
            problems.add(("clusterName",), "excludes nominatedClusterNames")


# --- The whole -----------------------------------------------------------------------------------


def _holds(version: str, condition: str) -> str:
    """Return a CEL expression: `condition` is true in self or oldSelf."""
    return (
        f"has({version}.status) && has({version}.status.conditions)"
        f" && {version}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
    )


_RESERVED: Final = _holds("oldSelf", "QuotaReserved")
_BOTH_REFER: Final = "has(oldSelf.spec.priorityClassRef) && has(self.spec.priorityClassRef)"


class Workload(ApiModel):
    """A gang of pods that waits for quota or holds it."""

    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!({_holds('self', 'QuotaReserved')}) || !has(self.status.admission)"
            " || (has(self.status.admission.podSetAssignments)"
            " && size(self.spec.podSets) == size(self.status.admission.podSetAssignments))",
            "podSetAssignments must have the same number of podSets as the spec",
        ),
        Rule(
            f"!({_RESERVED})"
            " || has(oldSelf.spec.priorityClassRef) == has(self.spec.priorityClassRef)",
            "priorityClassRef is immutable while quota is reserved",
        ),
        Rule(
            f"!({_RESERVED} && {_BOTH_REFER})"
            " || (oldSelf.spec.priorityClassRef.group == self.spec.priorityClassRef.group"
            " && oldSelf.spec.priorityClassRef.kind == self.spec.priorityClassRef.kind)",
            "priorityClassRef.group and kind are immutable while quota is reserved",
        ),
        Rule(
            f"!({_RESERVED} && {_BOTH_REFER}"
            " && self.spec.priorityClassRef.kind == 'PriorityClass')"
            " || oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name",
            "priorityClassRef.name is immutable for a PriorityClass while quota is reserved",
        ),
        Rule(
            f"!({_RESERVED} && {_holds('self', 'QuotaReserved')}"
            " && has(oldSelf.spec.queueName) && has(self.spec.queueName))"
            " || oldSelf.spec.queueName == self.spec.queueName",
            "queueName is immutable while quota is reserved",
        ),
        Rule(
            f"!({_holds('oldSelf', 'Admitted')} && {_holds('self', 'Admitted')})"
            " || (has(oldSelf.spec.maximumExecutionTimeSeconds)"
            " ? oldSelf.spec.maximumExecutionTimeSeconds : 0)"
            " == (has(self.spec.maximumExecutionTimeSeconds)"
            " ? self.spec.maximumExecutionTimeSeconds : 0)",
            "maximumExecutionTimeSeconds is immutable while admitted",
        ),
    )

    api_version: Literal["kueue.x-k8s.io/v1beta2"]
    kind: Literal["Workload"]
    metadata: ObjectMeta
    spec: WorkloadSpec
    """What is asked for."""
    status: WorkloadStatus = WorkloadStatus()
    """What was decided and observed."""

    @cross_check
    def _parts_fit_together(self, problems: Problems) -> None:
        self._check_annotations(problems)
        counts = {pods.name: pods.count for pods in self.spec.pod_sets}
        self._check_admission(problems, counts)
        for index, reclaimable in enumerate(self.status.reclaimable_pods):
            here: Location = ("status", "reclaimablePods", index)
            _check_pod_set(problems, (*here, "name"), reclaimable.name, counts)
            if reclaimable.count > counts.get(reclaimable.name, reclaimable.count):
                message = f"{reclaimable.count} is more than the {counts[reclaimable.name]} pods"
                problems.add((*here, "count"), message)
        for index, check in enumerate(self.status.admission_checks):
            for position, update in enumerate(check.pod_set_updates):
                where = ("status", "admissionChecks", index, "podSetUpdates", position, "name")
                _check_pod_set(problems, where, update.name, counts)

    def _check_admission(self, problems: Problems, counts: dict[str, int]) -> None:
        admission = self.status.admission
        reserved = is_true(self.status.conditions, "QuotaReserved")
        if admission is None:
            if reserved:
                problems.add(("status", "admission"), "is required while quota is reserved")
            return
        here = ("status", "admission", "podSetAssignments")
        for index, assignment in enumerate(admission.pod_set_assignments):
            _check_pod_set(problems, (*here, index, "name"), assignment.name, counts)
        if reserved and len(admission.pod_set_assignments) != len(counts):
            message = f"has {len(admission.pod_set_assignments)} entries for {len(counts)} pod sets"
            problems.add(here, message)

    def _check_annotations(self, problems: Problems) -> None:
        annotations = self.metadata.annotations
        if not annotations:
            return
        here = ("metadata", "annotations")
        boost = annotations.get(PRIORITY_BOOST_ANNOTATION)
        if boost is not None and not _is_int32(boost):
            message = f"{boost!r} is not a 32-bit whole number"
            problems.add((*here, PRIORITY_BOOST_ANNOTATION), message)
        gates = annotations.get(GATED_BY_ANNOTATION)
        if gates is not None:
            _check_gates(problems, (*here, GATED_BY_ANNOTATION), gates)
        if annotations.get(ELASTIC_ANNOTATION) == "true":
            for index, pods in enumerate(self.spec.pod_sets):
                if pods.min_count is not None:
                    message = f"is not allowed with the annotation {ELASTIC_ANNOTATION}"
                    problems.add(("spec", "podSets", index, "minCount"), message)


def _check_pod_set(
    problems: Problems, location: Location, name: str, known: dict[str, int]
) -> None:
    if name not in known:
        hint = did_you_mean(name, known)
        problems.add(location, f"{name!r} is not a pod set of the spec.{hint}")


def _is_int32(text: str) -> bool:
    return bool(re.fullmatch("[+-]?[0-9]{1,10}", text)) and -(2**31) <= int(text) < 2**31


_GATE: Final = re.compile(SUBDOMAIN_PATTERN[1:-1] + "/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def _check_gates(problems: Problems, location: Location, text: str) -> None:
    names = text.split(",")
    for index, name in enumerate(names):
        if not _GATE.fullmatch(name):
            problems.add(location, f"{name!r} is not a gate: write it as in example.com/name")
        elif name in names[:index]:
            problems.add(location, f"gate {name!r} is listed twice")
