"""
Recorded scenarios, changed at random: other policies, quotas, trees, workloads and gates.

A mutation is a function of a scenario and a source of chance that changes the scenario in place; it
leaves every object one that an API server could hold. The same seed gives the same scenario.
"""

import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Document = dict[str, Any]
Mutation = Callable[[Document, random.Random], None]

ANNOTATION = "kueue.x-k8s.io/"
STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
GATES = (
    "AdmissionGatedBy",
    "FairSharingPreemptWithinNominal",
    "FairSharingPrioritizeNonBorrowing",
    "FlavorFungibility",
    "FlavorFungibilityPreserveScanProgress",
    "PartialAdmission",
    "PrioritizePreemptorWorkloads",
    "PriorityBoost",
    "PrioritySortingWithinCohort",
    "ReclaimablePods",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "SchedulingEquivalenceHashing",
    "UnadmittedWorkloadsObservability",
)


def mutated(scenarios: Sequence[Mapping[str, Any]], seed: int) -> Document:
    """Return one of the scenarios, changed in one to six ways."""
    chance = random.Random(seed)
    scenario = copy.deepcopy(dict(chance.choice(scenarios)))
    chosen = chance.sample(MUTATIONS, chance.randint(1, 6))
    for mutation in chosen:
        mutation(scenario, chance)
    scenario["name"] = f"seed-{seed}"
    scenario["cycles"] = chance.choice((1, 2, 4, 8))
    scenario["changed"] = [mutation.__name__ for mutation in chosen]
    return scenario


def objects(scenario: Document, *kinds: str) -> list[Document]:
    return [each for each in scenario["objects"] if each["kind"] in kinds]


def set_condition(workload: Document, kind: str, status: str, reason: str, at: str) -> None:
    said = workload.setdefault("status", {})
    others = [each for each in said.get("conditions", []) if each["type"] != kind]
    condition = {"type": kind, "status": status, "reason": reason, "message": ""}
    said["conditions"] = [*others, {**condition, "lastTransitionTime": at}]


def _admission(workload: Document) -> Document | None:
    admission: Document | None = (workload.get("status") or {}).get("admission")
    return admission


def _spec(document: Document) -> Document:
    spec: Document = document.setdefault("spec", {})
    return spec


def _within_the_hour(chance: random.Random) -> str:
    return f"2026-01-01T11:{chance.randrange(60):02d}:{chance.randrange(60):02d}Z"


def _containers(workload: Document) -> Iterator[Document]:
    for pod_set in workload["spec"]["podSets"]:
        yield from pod_set["template"]["spec"]["containers"]


# --- Policy --------------------------------------------------------------------------------------


def gates(scenario: Document, chance: random.Random) -> None:
    chosen = {name: chance.random() < 0.5 for name in chance.sample(GATES, chance.randint(1, 3))}
    found = {**(scenario["config"].get("featureGates") or {}), **chosen}
    if not found.get("FlavorFungibility", True):
        found["FlavorFungibilityPreserveScanProgress"] = False
    scenario["config"]["featureGates"] = found


def fair_sharing(scenario: Document, chance: random.Random) -> None:
    scenario["config"]["fairSharing"] = chance.random() < 0.7
    strategies = chance.choice((STRATEGIES[:1], STRATEGIES[1:], STRATEGIES))
    scenario["config"]["preemptionStrategies"] = list(strategies)
    for member in objects(scenario, "ClusterQueue", "Cohort"):
        if chance.random() < 0.4:
            weight = chance.choice(("0", "1", "2", "500m", "3"))
            _spec(member)["fairSharing"] = {"weight": weight}


def contest(scenario: Document, chance: random.Random) -> None:
    """Let equals compete for what one cohort has, so that shares are often equal."""
    scenario["config"]["fairSharing"] = True
    scenario["config"]["preemptionStrategies"] = list(chance.choice((STRATEGIES[:1], STRATEGIES)))
    nominal = str(chance.randint(1, 4))
    for queue in objects(scenario, "ClusterQueue"):
        spec = queue["spec"]
        spec |= {"cohortName": "fresh", "preemption": {"reclaimWithinCohort": "Any"}}
        spec.pop("fairSharing", None)
        for group in spec.get("resourceGroups") or []:
            for flavor in group["flavors"]:
                flavor["resources"] = [
                    {"name": each["name"], "nominalQuota": nominal} for each in flavor["resources"]
                ]


def preemption(scenario: Document, chance: random.Random) -> None:
    within = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
    for queue in objects(scenario, "ClusterQueue"):
        if chance.random() < 0.6:
            reclaim = chance.choice(("Never", "LowerPriority", "Any"))
            policy: Document = {"withinClusterQueue": chance.choice(within)}
            policy["reclaimWithinCohort"] = reclaim
            if reclaim != "Never" and chance.random() < 0.4:
                borrowing: Document = {"policy": "LowerPriority"}
                if chance.random() < 0.5:
                    borrowing["maxPriorityThreshold"] = chance.randrange(4)
                policy["borrowWithinCohort"] = borrowing
            queue["spec"]["preemption"] = policy


def fungibility(scenario: Document, chance: random.Random) -> None:
    choices = ("MayStopSearch", "TryNextFlavor")
    for queue in objects(scenario, "ClusterQueue"):
        if chance.random() < 0.6:
            borrow, preempt = chance.choice(choices), chance.choice(choices)
            found = {"whenCanBorrow": borrow, "whenCanPreempt": preempt}
            if borrow == preempt == "TryNextFlavor":
                preferences = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
                found["preference"] = chance.choice(preferences)
            queue["spec"]["flavorFungibility"] = found


def queueing(scenario: Document, chance: random.Random) -> None:
    for queue in objects(scenario, "ClusterQueue"):
        queue["spec"]["queueingStrategy"] = chance.choice(("StrictFIFO", "BestEffortFIFO"))


# --- Quota and tree ------------------------------------------------------------------------------


def quota(scenario: Document, chance: random.Random) -> None:
    for member in objects(scenario, "ClusterQueue", "Cohort"):
        spec = _spec(member)
        above = spec.get("cohortName") or spec.get("parentName")
        for group in spec.get("resourceGroups") or []:
            for flavor in group["flavors"]:
                for resource in flavor["resources"]:
                    if chance.random() < 0.3:
                        _new_quota(resource, chance, limited=bool(above), kind=member["kind"])


def _new_quota(resource: Document, chance: random.Random, *, limited: bool, kind: str) -> None:
    nominal = chance.choice((0, 1, 2, 3, 4, 6, 8, 12))
    resource["nominalQuota"] = str(nominal)
    for limit in ("borrowingLimit", "lendingLimit"):
        resource.pop(limit, None)
        if limited and chance.random() < 0.4:
            number = chance.choice((0, 1, 2, 4, 7))
            lends = limit == "lendingLimit" and kind == "ClusterQueue"
            resource[limit] = str(min(number, nominal) if lends else number)


def pods_are_counted(scenario: Document, chance: random.Random) -> None:
    for queue in objects(scenario, "ClusterQueue"):
        groups = queue["spec"].get("resourceGroups") or []
        covered = [name for group in groups for name in group["coveredResources"]]
        if groups and "pods" not in covered and chance.random() < 0.6:
            group = chance.choice(groups)
            group["coveredResources"].append("pods")
            for flavor in group["flavors"]:
                count = str(chance.randrange(1, 9))
                flavor["resources"].append({"name": "pods", "nominalQuota": count})


def tree(scenario: Document, chance: random.Random) -> None:
    """Hang queues and cohorts elsewhere; who has limits stays below somebody."""
    cohorts = objects(scenario, "Cohort")
    names = [each["metadata"]["name"] for each in cohorts]
    if chance.random() < 0.5:
        for number, cohort in enumerate(cohorts):
            # Only below one that comes earlier, so nobody is their own ancestor.
            _spec(cohort)["parentName"] = chance.choice([*names[:number], "root"])
    names += ["fresh"]
    for queue in objects(scenario, "ClusterQueue"):
        if chance.random() < 0.4:
            queue["spec"]["cohortName"] = chance.choice(names)


def stops(scenario: Document, chance: random.Random) -> None:
    for queue in objects(scenario, "ClusterQueue", "LocalQueue"):
        if chance.random() < 0.15:
            queue["spec"]["stopPolicy"] = chance.choice(("Hold", "HoldAndDrain"))
    missing = objects(scenario, chance.choice(("LocalQueue", "ResourceFlavor")))
    if missing and chance.random() < 0.2:
        scenario["objects"].remove(chance.choice(missing))


def namespaces(scenario: Document, chance: random.Random) -> None:
    for namespace in objects(scenario, "Namespace"):
        namespace["metadata"]["labels"] = {"team": chance.choice("ab")}
    selectors: tuple[Document, ...] = (
        {"matchLabels": {"team": "a"}},
        {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
        {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
    )
    for queue in objects(scenario, "ClusterQueue"):
        if chance.random() < 0.4:
            queue["spec"]["namespaceSelector"] = chance.choice(selectors)


def admission_checks(scenario: Document, chance: random.Random) -> None:
    there = [each["metadata"]["name"] for each in objects(scenario, "AdmissionCheck")]
    for name in ("k0", "k1"):
        if name not in there:
            active = {"type": "Active", "status": chance.choice(("True", "True", "False"))}
            told = {"reason": "x", "message": "", "lastTransitionTime": _within_the_hour(chance)}
            check = {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "AdmissionCheck",
                "metadata": {"name": name},
                "spec": {"controllerName": "example.com/check"},
                "status": {"conditions": [{**active, **told}]},
            }
            scenario["objects"].insert(0, check)
    for queue in objects(scenario, "ClusterQueue"):
        if chance.random() < 0.4:
            rules = [{"name": name} for name in chance.sample(("k0", "k1"), chance.randint(1, 2))]
            queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": rules}
    states = ("Ready", "Ready", "Pending", "Retry", "Rejected")
    for workload in objects(scenario, "Workload"):
        if chance.random() < 0.4:
            workload.setdefault("status", {})["admissionChecks"] = [
                {
                    "name": name,
                    "state": chance.choice(states),
                    "message": "",
                    "lastTransitionTime": _within_the_hour(chance),
                }
                for name in ("k0", "k1")
            ]


# --- Workloads -----------------------------------------------------------------------------------


def priorities(scenario: Document, chance: random.Random) -> None:
    scenario["config"].setdefault("featureGates", {})["PriorityBoost"] = chance.random() < 0.5
    for workload in objects(scenario, "Workload"):
        if chance.random() < 0.4:
            workload["spec"]["priority"] = chance.randrange(4)
        if chance.random() < 0.2:
            annotations = workload["metadata"].setdefault("annotations", {})
            annotations[f"{ANNOTATION}priority-boost"] = str(chance.randint(-3, 3))


def times(scenario: Document, chance: random.Random) -> None:
    instants = [f"2026-01-01T10:5{minute}:00Z" for minute in range(3)]
    for workload in objects(scenario, "Workload"):
        if chance.random() < 0.5:
            workload["metadata"]["creationTimestamp"] = chance.choice(instants)
        for condition in (workload.get("status") or {}).get("conditions", []):
            if condition["type"] == "QuotaReserved" and chance.random() < 0.5:
                condition["lastTransitionTime"] = chance.choice(instants)


def states(scenario: Document, chance: random.Random) -> None:
    """Evict, finish, deactivate, hold back, gate."""
    evictions = ("Preempted", "AdmissionCheck", "PodsReadyTimeout")
    for workload in objects(scenario, "Workload"):
        at = _within_the_hour(chance)
        match chance.randrange(24):
            case 0 | 1 | 2:
                set_condition(workload, "Evicted", "True", chance.choice(evictions), at)
            case 3:
                set_condition(workload, "Finished", "True", "Succeeded", at)
            case 4:
                workload["spec"]["active"] = False
            case 5:
                set_condition(workload, "Requeued", chance.choice(("True", "False")), "x", at)
            case 6:
                until = chance.choice(("2026-01-01T12:00:01Z", "2026-01-01T12:00:03Z"))
                said = workload.setdefault("status", {})
                said["requeueState"] = {"count": 1, "requeueAt": until}
            case 7 if not _admission(workload):
                set_condition(workload, "QuotaReserved", "False", "OnHold", at)
            case 8:
                annotations = workload["metadata"].setdefault("annotations", {})
                annotations[f"{ANNOTATION}admission-gated-by"] = "example.com/gate"
            case _:
                pass


def releases(scenario: Document, chance: random.Random) -> None:
    """Take what some workloads hold away from them."""
    for workload in objects(scenario, "Workload"):
        if _admission(workload) and chance.random() < 0.3:
            said = workload["status"]
            del said["admission"]
            gone = ("QuotaReserved", "Admitted")
            said["conditions"] = [c for c in said.get("conditions", []) if c["type"] not in gone]


def pod_counts(scenario: Document, chance: random.Random) -> None:
    """Let workloads start with fewer pods, or be done with some."""
    for workload in objects(scenario, "Workload"):
        pod_sets = workload["spec"]["podSets"]
        if chance.random() < 0.5:
            pod_set = chance.choice(pod_sets)
            if not _admission(workload):
                pod_set["count"] = chance.randrange(1, 9)
            for each in pod_sets:
                each.pop("minCount", None)
            if pod_set["count"]:
                pod_set["minCount"] = chance.randint(1, pod_set["count"])
        if chance.random() < 0.3:
            workload.setdefault("status", {})["reclaimablePods"] = [
                {"name": each["name"], "count": chance.randint(0, each["count"])}
                for each in pod_sets
            ]


def pod_sets(scenario: Document, chance: random.Random) -> None:
    for workload in objects(scenario, "Workload"):
        there = workload["spec"]["podSets"]
        if chance.random() < 0.3 and not _admission(workload):
            more = copy.deepcopy(chance.choice(there))
            more |= {"name": f"extra{len(there)}", "count": chance.randrange(1, 4)}
            more.pop("minCount", None)
            there.append(more)


def requests(scenario: Document, chance: random.Random) -> None:
    """Ask for nothing of something, or for what nobody has quota of."""
    for workload in objects(scenario, "Workload"):
        for container in _containers(workload):
            asked = container.setdefault("resources", {}).setdefault("requests", {})
            for resource in list(asked):
                if chance.random() < 0.1:
                    asked[resource] = "0"
            if chance.random() < 0.1:
                foreign = chance.choice(("example.com/a", "example.com/b", "memory"))
                asked[foreign] = chance.choice(("0", "1"))


def places(scenario: Document, chance: random.Random) -> None:
    """Taint and label flavors; tolerate and select."""
    tolerations: tuple[Document, ...] = (
        {"operator": "Exists"},
        {"key": "k", "operator": "Equal", "value": "1"},
        {"key": "k", "operator": "Lt", "value": "2"},
    )
    for flavor in objects(scenario, "ResourceFlavor"):
        if chance.random() < 0.4:
            effect = chance.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
            taint = {"key": "k", "value": chance.choice("12"), "effect": effect}
            _spec(flavor)["nodeTaints"] = [taint]
        if chance.random() < 0.4:
            _spec(flavor)["nodeLabels"] = {"zone": chance.choice("ab"), "size": chance.choice("15")}
    for workload in objects(scenario, "Workload"):
        for pod_set in workload["spec"]["podSets"]:
            spec = pod_set["template"]["spec"]
            if chance.random() < 0.3:
                spec["tolerations"] = [chance.choice(tolerations)]
            if chance.random() < 0.2:
                spec["nodeSelector"] = {"zone": chance.choice("ab")}


def copies(scenario: Document, chance: random.Random) -> None:
    """Let more workloads like those that are there wait."""
    there = objects(scenario, "Workload")
    for number in range(chance.randrange(1, 6)):
        copied = copy.deepcopy(chance.choice(there))
        for name in ("name", "uid"):
            copied["metadata"][name] += f"-c{number}"
        copied.pop("status", None)
        scenario["objects"].append(copied)


MUTATIONS: tuple[Mutation, ...] = (
    gates,
    fair_sharing,
    contest,
    preemption,
    fungibility,
    queueing,
    quota,
    pods_are_counted,
    tree,
    stops,
    namespaces,
    admission_checks,
    priorities,
    times,
    states,
    releases,
    pod_counts,
    pod_sets,
    requests,
    places,
    copies,
)
