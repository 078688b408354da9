"""The objects of a scenario as plain mutable records, and what can be told from them alone."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from tests.conformance.oracle.quota import Own, Tree
from tests.conformance.oracle.values import (
    UNLIMITED,
    Amounts,
    Json,
    Pair,
    amount,
    asks_beyond_its_limits,
    instant,
    pod_requests,
    quantity,
    shape,
)

ANNOTATION = "kueue.x-k8s.io/"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
GATES = {
    "AdmissionGatedBy": True,
    "FairSharingPreemptWithinNominal": True,
    "FairSharingPrioritizeNonBorrowing": True,
    "FlavorFungibility": True,
    "FlavorFungibilityPreserveScanProgress": True,
    "PartialAdmission": True,
    "PrioritizePreemptorWorkloads": False,
    "PriorityBoost": False,
    "PrioritySortingWithinCohort": True,
    "ReclaimablePods": True,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": True,
    "SchedulingEquivalenceHashing": True,
    "UnadmittedWorkloadsObservability": True,
}
STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
Shape = tuple[object, ...]
Tried = list[dict[str, int]]
"""For each pod set and resource: the last flavor that was tried, by index, -1 for all of them."""


class Group(NamedTuple):
    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass
class Cohort:
    parent: str | None
    quotas: dict[Pair, Own]
    weight: Fraction


@dataclass
class Queue:
    name: str
    parent: str | None
    quotas: dict[Pair, Own]
    groups: list[Group]
    weight: Fraction
    spec: Json
    heap: list[str] = field(default_factory=list)
    inadmissible: list[str] = field(default_factory=list)
    failed: set[Shape] = field(default_factory=set)
    preemptor: str | None = None
    sticky: str | None = None

    @property
    def strict(self) -> bool:
        return bool(self.spec.get("queueingStrategy") == "StrictFIFO")

    def policy(self, name: str) -> str:
        return str((self.spec.get("preemption") or {}).get(name) or "Never")

    @property
    def borrows_to_preempt(self) -> bool:
        return (self._borrowing.get("policy") or "Never") != "Never"

    @property
    def threshold(self) -> int | None:
        return self._borrowing.get("maxPriorityThreshold")

    @property
    def _borrowing(self) -> dict[str, Any]:
        return (self.spec.get("preemption") or {}).get("borrowWithinCohort") or {}

    @property
    def checks(self) -> list[tuple[str, list[str]]]:
        """Names of admission checks with the flavors they are for; none means all."""
        rules = (self.spec.get("admissionChecksStrategy") or {}).get("admissionChecks", [])
        return [(rule["name"], rule.get("onFlavors") or []) for rule in rules]

    @property
    def flavors(self) -> list[str]:
        return [flavor for group in self.groups for flavor in group.flavors]


@dataclass
class PodSet:
    name: str
    count: int
    minimum: int | None
    requests: dict[str, int]
    spec: Json
    shape: str


@dataclass
class Condition:
    status: bool
    reason: str
    since: int


@dataclass
class Progress:
    tried: Tried
    shape: Shape
    generation: int
    cycle: int


@dataclass(eq=False)
class Workload:
    key: str
    namespace: str
    uid: str
    local_queue: str
    created: int
    priority: int
    active: bool
    gated: bool
    problem: bool
    pod_sets: list[PodSet]
    conditions: dict[str, Condition]
    admission: dict[str, Any] | None
    checks: dict[str, str]
    reclaimable: dict[str, int]
    requeue_at: int | None
    progress: Progress | None = None
    holds_in: str | None = None
    """The ClusterQueue whose quota it holds."""
    usage: Amounts = field(default_factory=dict)

    def true(self, condition: str) -> bool:
        return condition in self.conditions and self.conditions[condition].status

    def set(self, kind: str, reason: str, now: int, *, status: bool) -> None:
        old = self.conditions.get(kind)
        since = old.since if old is not None and old.status == status else now
        self.conditions[kind] = Condition(status, reason, since)

    def backed_off(self, now: int) -> bool:
        requeued = self.conditions.get("Requeued")
        if requeued is not None and not requeued.status:
            return False
        return self.requeue_at is None or now >= self.requeue_at

    @property
    def queueable(self) -> bool:
        reserved = self.conditions.get("QuotaReserved")
        if not self.active or self.gated or (reserved and reserved.reason == "OnHold"):
            return False
        over = ("Finished", "QuotaReserved", "WaitingForReplacementPods")
        return not any(self.true(condition) for condition in over)


class World:
    """All objects, the gates, and the clock."""

    def __init__(self, scenario: Json) -> None:
        config = scenario["config"]
        self.gates: dict[str, bool] = {**GATES, **(config.get("featureGates") or {})}
        self.fair: bool = config.get("fairSharing", False)
        self.strategies = tuple(config.get("preemptionStrategies") or STRATEGIES)
        self.now = instant(scenario["now"])
        self.namespaces: dict[str, dict[str, str]] = {}
        self.flavors: dict[str, Json] = {}
        self.cohorts: dict[str, Cohort] = {}
        self.queues: dict[str, Queue] = {}
        self.local_queues: dict[str, Json] = {}
        self.checks: dict[str, tuple[str, bool]] = {}
        self.workloads: dict[str, Workload] = {}
        for document in scenario["objects"]:
            self._read(document)
        active = [queue.name for queue in self.queues.values() if self._is_active(queue)]
        self.tree = Tree(self.queues, self.cohorts, active)

    def _read(self, document: Json) -> None:
        metadata, spec = document["metadata"], document.get("spec") or {}
        name = metadata["name"]
        match document["kind"]:
            case "Namespace":
                own = {"kubernetes.io/metadata.name": name}
                self.namespaces[name] = {**(metadata.get("labels") or {}), **own}
            case "ResourceFlavor":
                self.flavors[name] = spec
            case "AdmissionCheck":
                said = (document.get("status") or {}).get("conditions", [])
                active = any(c["type"] == "Active" and c["status"] == "True" for c in said)
                self.checks[name] = (spec.get("controllerName", ""), active)
            case "Cohort":
                quotas = dict(_quotas(spec))
                self.cohorts[name] = Cohort(spec.get("parentName") or None, quotas, _weight(spec))
            case "ClusterQueue":
                parent = spec.get("cohortName") or None
                quotas = dict(_quotas(spec))
                groups = [
                    Group(
                        tuple(group["coveredResources"]),
                        tuple(flavor["name"] for flavor in group["flavors"]),
                    )
                    for group in spec.get("resourceGroups") or []
                ]
                self.queues[name] = Queue(name, parent, quotas, groups, _weight(spec), spec)
            case "LocalQueue":
                self.local_queues[f"{metadata['namespace']}/{name}"] = spec
            case "Workload":
                workload = self._workload(metadata, spec, document.get("status") or {})
                self.workloads[workload.key] = workload
            case _:
                pass  # decides nothing here

    def _workload(self, metadata: Json, spec: Json, status: Json) -> Workload:
        annotations = metadata.get("annotations") or {}
        boost = _boost(annotations.get(f"{ANNOTATION}priority-boost", ""))
        gated = bool(annotations.get(f"{ANNOTATION}admission-gated-by"))
        requeue_at = (status.get("requeueState") or {}).get("requeueAt")
        namespace = metadata["namespace"]
        specs = [pods["template"]["spec"] for pods in spec["podSets"]]
        return Workload(
            key=f"{namespace}/{metadata['name']}",
            namespace=namespace,
            uid=metadata["uid"],
            local_queue=f"{namespace}/{spec.get('queueName', '')}",
            created=instant(metadata["creationTimestamp"]),
            priority=(spec.get("priority") or 0) + boost * self.gates["PriorityBoost"],
            active=spec.get("active", True),
            gated=gated and self.gates["AdmissionGatedBy"],
            problem=any(asks_beyond_its_limits(each) for each in specs),
            pod_sets=[
                PodSet(
                    name=pods["name"],
                    count=pods["count"],
                    minimum=pods.get("minCount"),
                    requests=pod_requests(pods["template"]["spec"]),
                    spec=pods["template"]["spec"],
                    shape=shape(pods["template"]["spec"]),
                )
                for pods in spec["podSets"]
            ],
            conditions={
                c["type"]: Condition(
                    c["status"] == "True", c["reason"], instant(c["lastTransitionTime"])
                )
                for c in status.get("conditions") or []
            },
            admission=status.get("admission"),
            checks={c["name"]: c["state"] for c in status.get("admissionChecks") or []},
            reclaimable={r["name"]: r["count"] for r in status.get("reclaimablePods") or []},
            requeue_at=instant(requeue_at) if requeue_at else None,
        )

    def _is_active(self, queue: Queue) -> bool:
        if (queue.spec.get("stopPolicy") or "None") != "None":
            return False
        if any(flavor not in self.flavors for flavor in queue.flavors):
            return False
        for name, _ in queue.checks:
            if name not in self.checks or not self.checks[name][1]:
                return False
        controllers = [self.checks[name][0] for name, _ in queue.checks]
        elsewhere = [on for name, on in queue.checks if self.checks[name][0] == MULTIKUEUE]
        if not elsewhere:
            return True
        [on, *more] = elsewhere
        everywhere = not on or all(flavor in on for flavor in queue.flavors)
        return not more and everywhere and PROVISIONING not in controllers

    def queue_of(self, workload: Workload) -> Queue | None:
        """Return the queue of a workload, None while its LocalQueue is stopped or leads nowhere."""
        local = self.local_queues.get(workload.local_queue)
        if local is None or (local.get("stopPolicy") or "None") != "None":
            return None
        return self.queues.get(local["clusterQueue"])

    def counts(self, workload: Workload) -> list[int]:
        """Return the pods of each pod set that are not done yet."""
        done = workload.reclaimable if self.gates["ReclaimablePods"] else {}
        return [p.count - min(done.get(p.name, 0), p.count) for p in workload.pod_sets]

    def timestamp(self, workload: Workload) -> int:
        """Return the time that decides who has waited longer."""
        evicted = workload.conditions.get("Evicted")
        late = ("PodsReadyTimeout", "AdmissionCheck")
        if evicted and evicted.status and evicted.reason in late:
            return evicted.since
        preempted = workload.conditions.get("Preempted")
        reclaimed = "InCohortReclaimWhileBorrowing"
        if self.gates["PrioritySortingWithinCohort"] or not preempted:
            return workload.created
        if preempted.status and preempted.reason == reclaimed:
            return preempted.since + 1000
        return workload.created

    def shape(self, workload: Workload) -> Shape:
        """Return what workloads that are decided alike have in common."""
        pod_sets = zip(workload.pod_sets, self.counts(workload), strict=True)
        return (
            workload.priority,
            *(
                (p.name, count, tuple(sorted(p.requests.items())), p.minimum, p.shape)
                for p, count in pod_sets
            ),
        )


def _boost(text: str) -> int:
    boost = int(text) if re.fullmatch("[+-]?[0-9]+", text) else 0
    return boost if -(2**31) <= boost < 2**31 else 0


def _weight(spec: Json) -> Fraction:
    return quantity((spec.get("fairSharing") or {}).get("weight", 1))


def _quotas(spec: Mapping[str, Any]) -> Iterator[tuple[Pair, Own]]:
    for group in spec.get("resourceGroups") or []:
        for flavor in group["flavors"]:
            for each in flavor["resources"]:
                limits = [
                    _limit(each["name"], each.get(name))
                    for name in ("nominalQuota", "borrowingLimit", "lendingLimit")
                ]
                own = Own(limits[0] or 0, limits[1], limits[2])
                yield (flavor["name"], each["name"]), own


def _limit(resource: str, text: object) -> int | None:
    """Return an amount of quota; what would be the largest number of thousandths is no limit."""
    if text is None:
        return None
    largest = UNLIMITED // 1000 if resource == "cpu" else UNLIMITED
    number = quantity(text)
    return UNLIMITED if number >= largest else amount(resource, number)
