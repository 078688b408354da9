"""
What a field may be, as tables: the values of every enum, the bounds of every number, text and list.

Models and CRDs must both keep them, so both are tested with these tables.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.queue.api.manifests import NOON, Manifest, a_group

LEVELS: list[Manifest] = [{"nodeLabel": f"level-{number}"} for number in range(17)]
TAINTS: list[Manifest] = [{"key": f"k{number}", "effect": "NoSchedule"} for number in range(9)]
TOLERATIONS: list[Manifest] = [{"key": f"k{number}"} for number in range(9)]


def names(count: int, **content: Any) -> list[Manifest]:
    """Return a list map of `count` entries with the names n0 to n9 and so on."""
    return [{"name": f"n{number}", **content} for number in range(count)]


def _template(manifest: Manifest) -> Manifest:
    return {"template": {"spec": {"containers": []}}, **manifest}


CQ, FLAVOR, WL = "ClusterQueue", "ResourceFlavor", "Workload"
QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"
PODS = "spec.podSets[0]"
REQUEST = f"{PODS}.topologyRequest"
CHECK = "status.admissionChecks[0]"
ASSIGNED = "status.admission.podSetAssignments[0]"
SLICE = f"{ASSIGNED}.topologyAssignment.slices[0]"

GROUPED: Manifest = {"spec.resourceGroups": [a_group("f")]}
TRYING: Manifest = {"spec.flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}}
RECLAIMING: Manifest = {"spec.preemption": {"reclaimWithinCohort": "Any"}}
ANSWER: Manifest = {"state": "Ready", "lastTransitionTime": NOON, "message": ""}
POD_PRIORITY: Manifest = {"group": "scheduling.k8s.io", "kind": "PriorityClass"}
CONDITION: Manifest = {
    "status.conditions": [
        {"type": "X", "status": "True", "lastTransitionTime": NOON, "reason": "X", "message": ""}
    ]
}
CHECKED: Manifest = {
    "status.admissionChecks": [
        {"name": "c", "state": "Ready", "lastTransitionTime": NOON, "message": ""}
    ]
}
ADMITTED: Manifest = {
    "status.admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "main"}]}
}
PLACED: Manifest = {
    **ADMITTED,
    f"{ASSIGNED}.topologyAssignment": {
        "levels": ["rack"],
        "slices": [
            {
                "domainCount": 1,
                "valuesPerLevel": [{"universal": "r1"}],
                "podCounts": {"universal": 1},
            }
        ],
    },
}
GATED: Manifest = {
    "status.preemptionGates": [{"name": "g", "position": "Open", "lastTransitionTime": NOON}]
}
EVICTED: Manifest = {
    "status.schedulingStats.evictions": [{"reason": "R", "underlyingCause": "", "count": 1}]
}
MIGRATING: Manifest = {
    "spec.resourceGroups": [a_group("f")],
    "spec.concurrentAdmissionPolicy.migration": {"mode": "TryPreferredFlavors"},
}
UPDATED: Manifest = {**CHECKED, f"{CHECK}.podSetUpdates": [{"name": "main"}]}


def conditions(count: int) -> list[Manifest]:
    return [{**CONDITION["status.conditions"][0], "type": f"T{number}"} for number in range(count)]


class Enum(NamedTuple):
    kind: str
    path: str
    values: tuple[str, ...]
    given: Manifest = MappingProxyType({})  # type: ignore[assignment]


_STOP = ("None", "Hold", "HoldAndDrain")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_STATUS = ("True", "False", "Unknown")

ENUMS = (
    Enum(CQ, "spec.queueingStrategy", ("StrictFIFO", "BestEffortFIFO")),
    Enum(CQ, "spec.flavorFungibility.whenCanBorrow", ("MayStopSearch", "TryNextFlavor")),
    Enum(CQ, "spec.flavorFungibility.whenCanPreempt", ("MayStopSearch", "TryNextFlavor")),
    Enum(
        CQ,
        "spec.flavorFungibility.preference",
        ("BorrowingOverPreemption", "PreemptionOverBorrowing"),
        TRYING,
    ),
    Enum(CQ, "spec.preemption.reclaimWithinCohort", ("Never", "LowerPriority", "Any")),
    Enum(CQ, "spec.preemption.borrowWithinCohort.policy", ("Never", "LowerPriority"), RECLAIMING),
    Enum(
        CQ,
        "spec.preemption.withinClusterQueue",
        ("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
    ),
    Enum(CQ, "spec.stopPolicy", _STOP),
    Enum(
        CQ,
        "spec.admissionScope.admissionMode",
        ("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"),
    ),
    Enum(
        CQ,
        "spec.concurrentAdmissionPolicy.migration.mode",
        ("TryPreferredFlavors", "RetainFirstAdmission"),
        MIGRATING,
    ),
    Enum(CQ, "status.conditions[0].status", _STATUS, CONDITION),
    Enum("LocalQueue", "spec.stopPolicy", _STOP),
    Enum(FLAVOR, "spec.nodeTaints[0].effect", _EFFECTS, {"spec.nodeTaints": TAINTS[:1]}),
    Enum(FLAVOR, "spec.tolerations[0].operator", ("Equal", "Exists"), {
        "spec.tolerations": TOLERATIONS[:1]
    }),
    Enum(FLAVOR, "spec.tolerations[0].effect", _EFFECTS, {"spec.tolerations": TOLERATIONS[:1]}),
    Enum(WL, f"{PODS}.template.spec.restartPolicy", ("Always", "OnFailure", "Never")),
    Enum(WL, f"{CHECK}.state", ("Pending", "Ready", "Retry", "Rejected"), CHECKED),
    Enum(WL, f"{ASSIGNED}.delayedTopologyRequest", ("Pending", "Ready"), ADMITTED),
    Enum(WL, "status.preemptionGates[0].position", ("Closed", "Open"), GATED),
    Enum(WL, "status.conditions[0].status", _STATUS, CONDITION),
)  # fmt: skip


class Limit(NamedTuple):
    """A value that is just allowed and one that is just not."""

    kind: str
    path: str
    allowed: Any
    refused: Any
    given: Manifest = MappingProxyType({})  # type: ignore[assignment]


def _text(
    kind: str, path: str, length_max: int, given: Manifest | None = None, *, empty: bool = True
) -> Iterator[Limit]:
    given = given or {}
    yield Limit(kind, path, "a" * length_max, "a" * (length_max + 1), given)
    if not empty:
        yield Limit(kind, path, "a", "", given)


def _number(
    kind: str, path: str, least: int, most: int = 2**31 - 1, given: Manifest | None = None
) -> Iterator[Limit]:
    yield Limit(kind, path, least, least - 1, given or {})
    yield Limit(kind, path, most, most + 1, given or {})


LIMITS = (
    # ClusterQueue
    Limit(CQ, "spec.resourceGroups", [a_group(f"f{n}", resources=(f"r{n}",)) for n in range(16)],
          [a_group(f"f{n}", resources=(f"r{n}",)) for n in range(17)]),
    Limit(CQ, "spec.resourceGroups[0]", a_group("f", resources=tuple(f"r{n}" for n in range(64))),
          a_group("f", resources=tuple(f"r{n}" for n in range(65)))),
    Limit(CQ, "spec.resourceGroups[0]", a_group(*(f"f{n}" for n in range(64))),
          a_group(*(f"f{n}" for n in range(65)))),
    Limit(CQ, "spec.resourceGroups[0]", a_group("f"), a_group()),
    Limit(CQ, "spec.resourceGroups[0]", a_group("f"), a_group("f", resources=())),
    *_text(CQ, "spec.cohortName", 253, empty=False),
    *_text(CQ, "spec.resourceGroups[0].flavors[0].name", 253, GROUPED, empty=False),
    *_number(CQ, "spec.preemption.borrowWithinCohort.maxPriorityThreshold", -(2**31)),
    Limit(CQ, "spec.admissionChecksStrategy.admissionChecks", names(64), names(65)),
    Limit(CQ, "spec.admissionChecksStrategy.admissionChecks", names(1), []),
    *_text(CQ, "spec.admissionChecksStrategy.admissionChecks[0].name", 316, empty=False),
    Limit(CQ, "status.flavorsUsage", names(64, resources=[]), names(65, resources=[])),
    Limit(CQ, "status.flavorsReservation[0].resources", names(64), names(65),
          {"status.flavorsReservation": names(1, resources=[])}),
    Limit(CQ, "status.conditions", conditions(16), conditions(17)),
    *_text(CQ, "status.conditions[0].reason", 1024, CONDITION, empty=False),
    *_text(CQ, "status.conditions[0].message", 32768, CONDITION),
    *_text(CQ, "status.conditions[0].type", 316, CONDITION, empty=False),
    # the others
    *_text("Cohort", "spec.parentName", 253, empty=False),
    *_text("LocalQueue", "spec.clusterQueue", 253, empty=False),
    Limit("LocalQueue", "status.flavorsUsage", names(16, resources=[]), names(17, resources=[])),
    Limit("LocalQueue", "status.flavorsUsage[0].resources", names(16), names(17),
          {"status.flavorsUsage": names(1, resources=[])}),
    Limit(FLAVOR, "spec.nodeLabels", {f"k{n}": "v" for n in range(8)},
          {f"k{n}": "v" for n in range(9)}),
    Limit(FLAVOR, "spec.nodeTaints", TAINTS[:8], TAINTS),
    Limit(FLAVOR, "spec.tolerations", TOLERATIONS[:8], TOLERATIONS),
    *_text(FLAVOR, "spec.topologyName", 253, {"spec.nodeLabels": {"a": "b"}}, empty=False),
    Limit("Topology", "spec.levels", LEVELS[:16], LEVELS),
    Limit("Topology", "spec.levels", LEVELS[:1], []),
    *_text("Topology", "spec.levels[0].nodeLabel", 316, empty=False),
    *_number("WorkloadPriorityClass", "value", -(2**31)),
    *_text("WorkloadPriorityClass", "description", 2048),
    *_text("AdmissionCheck", "spec.controllerName", 253, empty=False),
    *_text("AdmissionCheck", "spec.parameters.apiGroup", 253,
           {"spec.parameters": {"kind": "K", "name": "n"}}, empty=False),
    *_text("AdmissionCheck", "spec.parameters.kind", 63,
           {"spec.parameters": {"apiGroup": "g", "name": "n"}}, empty=False),
    *_text("AdmissionCheck", "spec.parameters.name", 63,
           {"spec.parameters": {"apiGroup": "g", "kind": "K"}}, empty=False),
    # Workload: what is asked for
    Limit(WL, "spec.podSets", [_template(each) for each in names(18)],
          [_template(each) for each in names(19)]),
    Limit(WL, "spec.podSets", [_template({})], []),
    *_text(WL, f"{PODS}.name", 63, empty=False),
    *_number(WL, f"{PODS}.count", 0),
    *_number(WL, f"{PODS}.minCount", 1, given={f"{PODS}.count": 2**31 - 1}),
    *_text(WL, f"{REQUEST}.required", 63),
    *_text(WL, f"{REQUEST}.preferred", 63),
    *_text(WL, f"{REQUEST}.podIndexLabel", 317),
    *_text(WL, f"{REQUEST}.subGroupIndexLabel", 317),
    *_number(WL, f"{REQUEST}.subGroupCount", 0),
    *_text(WL, f"{REQUEST}.podSetGroupName", 256),
    *_text(WL, f"{REQUEST}.podSetSliceRequiredTopology", 63),
    *_number(WL, f"{REQUEST}.podSetSliceSize", 1),
    Limit(WL, f"{REQUEST}.podsetSliceRequiredTopologyConstraints",
          [{"topology": "r", "size": 1}] * 3, [{"topology": "r", "size": 1}] * 4),
    *_text(WL, f"{REQUEST}.podsetSliceRequiredTopologyConstraints[0].topology", 63,
           {f"{REQUEST}.podsetSliceRequiredTopologyConstraints": [{"size": 1}]}, empty=False),
    *_number(WL, f"{REQUEST}.podsetSliceRequiredTopologyConstraints[0].size", 1,
             given={f"{REQUEST}.podsetSliceRequiredTopologyConstraints": [{"topology": "r"}]}),
    *_text(WL, "spec.queueName", 253, empty=False),
    *_number(WL, "spec.priority", -(2**31)),
    *_text(WL, "spec.priorityClassRef.name", 253,
           {"spec.priority": 1, "spec.priorityClassRef": POD_PRIORITY}, empty=False),
    *_number(WL, "spec.maximumExecutionTimeSeconds", 1),
    Limit(WL, "spec.preemptionGates", names(8), names(9)),
    *_text(WL, "spec.preemptionGates[0].name", 63, empty=False),
    # Workload: what was decided and observed
    Limit(WL, "status.admissionChecks", names(8, **ANSWER), names(9, **ANSWER)),
    *_text(WL, f"{CHECK}.name", 316, CHECKED, empty=False),
    *_text(WL, f"{CHECK}.message", 32768, CHECKED),
    *_number(WL, f"{CHECK}.requeueAfterSeconds", 0, given=CHECKED),
    *_number(WL, f"{CHECK}.retryCount", 0, given=CHECKED),
    Limit(WL, f"{CHECK}.podSetUpdates[0].tolerations", TOLERATIONS[:8], TOLERATIONS, UPDATED),
    Limit(WL, "status.nominatedClusterNames", ["c"] * 20, ["c"] * 21),
    *_text(WL, "status.nominatedClusterNames[0]", 256),
    *_text(WL, "status.clusterName", 256),
    Limit(WL, "status.unhealthyNodes", names(8), names(9)),
    *_text(WL, "status.unhealthyNodes[0].name", 63),
    *_number(WL, "status.requeueState.count", 0),
    *_number(WL, "status.accumulatedPastExecutionTimeSeconds", 0),
    *_text(WL, "status.schedulingStats.evictions[0].reason", 316, EVICTED),
    *_text(WL, "status.schedulingStats.evictions[0].underlyingCause", 316, EVICTED),
    Limit(WL, "status.schedulingStats.evictions",
          [{"reason": f"R{n}", "underlyingCause": "", "count": 1} for n in range(256)],
          [{"reason": f"R{n}", "underlyingCause": "", "count": 1} for n in range(257)]),
    Limit(WL, "status.reclaimablePods[0].count", 0, -1,
          {"status.reclaimablePods": [{"name": "main"}]}),
    *_number(WL, f"{ASSIGNED}.count", 0, given=ADMITTED),
    *_text(WL, "status.admission.clusterQueue", 253, ADMITTED, empty=False),
    *_text(WL, f"{SLICE}.valuesPerLevel[0].universal", 63, PLACED),
    *_text(WL, f"{ASSIGNED}.topologyAssignment.levels[0]", 317, PLACED),
    Limit(WL, f"{ASSIGNED}.topologyAssignment.levels", ["rack"], [], PLACED),
    Limit(WL, f"{SLICE}.domainCount", 1, 0, PLACED),
)  # fmt: skip
