"""Every rule between fields in our definitions, kept and broken before a real API server."""

from dataclasses import dataclass, field

import pytest

from muster.queue.api import crds
from tests.e2e.api import Answer
from tests.e2e.stored import Objects
from tests.queue.api.form_rules import CHECKED, CONDITION, PLACED, names
from tests.queue.api.manifests import Manifest, a_group, changed
from tests.queue.api.structural import schemas

CQ, FLAVOR, WL = "ClusterQueue", "ResourceFlavor", "Workload"
IMMUTABLE = "field is immutable"
UNSUPPORTED = "Unsupported value"


@dataclass(frozen=True)
class Rule:
    """Changes to a minimal manifest that break a rule, and changes that keep it."""

    kind: str
    path: str
    says: str
    broken: Manifest
    kept: Manifest
    before: Manifest | None = field(default=None, kw_only=True)
    """For a rule about a change: what the object is changed from."""
    said: str | None = field(default=None, kw_only=True)
    """What is said instead, by a schema that forbids the same; rules are looked at after it."""

    def __str__(self) -> str:
        return f"{self.kind} {self.path}: {self.says}"


def condition(name: str) -> Manifest:
    return {"status.conditions": [{**CONDITION["status.conditions"][0], "type": name}]}


def priority_class(name: str, kind: str = "WorkloadPriorityClass") -> Manifest:
    group = "scheduling.k8s.io" if kind == "PriorityClass" else "kueue.x-k8s.io"
    reference = {"group": group, "kind": kind, "name": name}
    return {"spec.priority": 1, "spec.priorityClassRef": reference}


def levels(*labels: str) -> Manifest:
    return {"spec.levels": [{"nodeLabel": label} for label in labels]}


def group(resources: tuple[str, ...], quotas: tuple[str, ...]) -> Manifest:
    changes = a_group("f", resources=quotas)
    return {"spec.resourceGroups": [{**changes, "coveredResources": list(resources)}]}


HOST = "kubernetes.io/hostname"
RESERVED = condition("QuotaReserved")
ADMITTED = condition("Admitted")
ASSIGNED = "status.admission.podSetAssignments[0].topologyAssignment"
SLICE = f"{ASSIGNED}.slices[0]"
INDIVIDUAL: Manifest = {"individual": {"roots": ["a", "b"]}}
GROUP_SIZES = "each flavor must have a quota for each of the coveredResources"
ONE_OF = "set exactly one of universal, individual"


def toleration_rules(kind: str, path: str, place: str, given: Manifest) -> list[Rule]:
    def rule(says: str, broken: Manifest, kept: Manifest, said: str | None = None) -> Rule:
        changes = ({**given, place: [toleration]} for toleration in (broken, kept))
        return Rule(kind, path, says, *changes, said=said)

    return [
        rule(
            "operator must be Exists when key is empty, which means every key",
            {"operator": "Equal", "value": "x"},
            {"operator": "Exists"},
        ),
        rule(
            "effect must be NoExecute when tolerationSeconds is set",
            {"key": "k", "effect": "NoSchedule", "tolerationSeconds": 1},
            {"key": "k", "effect": "NoExecute", "tolerationSeconds": 1},
        ),
        rule(
            "operator must be Equal or Exists",
            {"key": "k", "operator": "Gt", "value": "1"},
            {"key": "k", "operator": "Equal", "value": "1"},
        ),
        rule(
            "value must be empty when operator is Exists",
            {"key": "k", "operator": "Exists", "value": "x"},
            {"key": "k", "operator": "Exists"},
        ),
        rule(
            "effect must be NoSchedule, PreferNoSchedule or NoExecute",
            {"key": "k", "effect": "Never"},
            {"key": "k", "effect": "PreferNoSchedule"},
            UNSUPPORTED,
        ),
    ]


RULES = [
    Rule(
        "AdmissionCheck", "spec.controllerName", IMMUTABLE,
        {"spec.controllerName": "example.com/b"},
        {"spec.controllerName": "example.com/a"},
        before={"spec.controllerName": "example.com/a"},
    ),
    Rule(
        CQ, "spec", "borrowingLimit must be nil when cohort is empty",
        {"spec.resourceGroups": [a_group("f", borrowingLimit="1")]},
        {"spec.resourceGroups": [a_group("f", borrowingLimit="1")], "spec.cohortName": "all"},
    ),
    *(
        Rule(
            kind, "spec.resourceGroups[]", GROUP_SIZES,
            group(("cpu", "memory"), ("cpu",)),
            group(("cpu", "memory"), ("cpu", "memory")),
        )
        for kind in (CQ, "Cohort")
    ),
    Rule(
        CQ, "spec.flavorFungibility",
        "preference needs whenCanBorrow and whenCanPreempt to be TryNextFlavor",
        {"spec.flavorFungibility.preference": "PreemptionOverBorrowing"},
        {
            "spec.flavorFungibility.preference": "PreemptionOverBorrowing",
            "spec.flavorFungibility.whenCanBorrow": "TryNextFlavor",
        },
    ),
    Rule(
        CQ, "spec.preemption",
        "borrowWithinCohort needs reclaimWithinCohort to be other than Never",
        {"spec.preemption.borrowWithinCohort.policy": "LowerPriority"},
        {
            "spec.preemption.borrowWithinCohort.policy": "LowerPriority",
            "spec.preemption.reclaimWithinCohort": "Any",
        },
    ),
    Rule(
        "LocalQueue", "spec.clusterQueue", IMMUTABLE,
        {"spec.clusterQueue": "b"},
        {"spec.clusterQueue": "a"},
        before={"spec.clusterQueue": "a"},
    ),
    Rule(
        FLAVOR, "spec", "at least one nodeLabel is required when topologyName is set",
        {"spec.topologyName": "t"},
        {"spec.topologyName": "t", "spec.nodeLabels": {"a": "b"}},
    ),
    Rule(
        FLAVOR, "spec", "topologyName is immutable once set",
        {"spec.topologyName": "u"},
        {"spec.nodeLabels": {"a": "c"}},
        before={"spec.topologyName": "t", "spec.nodeLabels": {"a": "b"}},
    ),
    Rule(
        FLAVOR, "spec.nodeTaints",
        "effect must be NoSchedule, PreferNoSchedule or NoExecute",
        {"spec.nodeTaints": [{"key": "k", "effect": "Never"}]},
        {"spec.nodeTaints": [{"key": "k", "effect": "NoExecute"}]},
        said=UNSUPPORTED,
    ),
    *toleration_rules(FLAVOR, "spec.tolerations", "spec.tolerations", {}),
    Rule(
        "Topology", "spec.levels",
        f"levels can change only while the lowest level is {HOST}",
        levels("block", "rack"),
        levels("block", "rack", HOST),
        before=levels("block", HOST),
    ),
    Rule(
        "Topology", "spec.levels", "the levels must be unique",
        levels("rack", "rack"),
        levels("block", "rack"),
    ),
    Rule(
        "Topology", "spec.levels",
        f"the label {HOST} can only be the lowest level",
        levels(HOST, "rack"),
        levels("rack", HOST),
    ),
    # Workload: what is asked for
    Rule(
        WL, "spec", "priority must be set when priorityClassRef is",
        {"spec.priorityClassRef": priority_class("high")["spec.priorityClassRef"]},
        priority_class("high"),
    ),
    Rule(
        WL, "spec.podSets[]", "minCount must be at most count",
        {"spec.podSets[0].count": 2, "spec.podSets[0].minCount": 3},
        {"spec.podSets[0].count": 2, "spec.podSets[0].minCount": 2},
    ),
    Rule(
        WL, "spec.priorityClassRef",
        "kind must be PriorityClass for group scheduling.k8s.io and WorkloadPriorityClass for"
        " group kueue.x-k8s.io",
        {**priority_class("high"), "spec.priorityClassRef.kind": "PriorityClass"},
        priority_class("high", "PriorityClass"),
    ),
    # Workload: what may change once quota is reserved
    Rule(
        WL, "", "priorityClassRef is immutable while quota is reserved",
        priority_class("high"),
        {"spec.priority": 2},
        before=RESERVED,
    ),
    Rule(
        WL, "", "priorityClassRef.group and kind are immutable while quota is reserved",
        priority_class("high", "PriorityClass"),
        priority_class("low"),
        before={**RESERVED, **priority_class("high")},
    ),
    Rule(
        WL, "", "priorityClassRef.name is immutable for a PriorityClass while quota is reserved",
        priority_class("low", "PriorityClass"),
        {"spec.priority": 2},
        before={**RESERVED, **priority_class("high", "PriorityClass")},
    ),
    Rule(
        WL, "", "queueName is immutable while quota is reserved",
        {"spec.queueName": "b"},
        {"spec.queueName": "a"},
        before={**RESERVED, "spec.queueName": "a"},
    ),
    Rule(
        WL, "", "maximumExecutionTimeSeconds is immutable while admitted",
        {"spec.maximumExecutionTimeSeconds": 2},
        {"spec.maximumExecutionTimeSeconds": 1},
        before={**ADMITTED, "spec.maximumExecutionTimeSeconds": 1},
    ),
    # Workload: what was decided and observed
    Rule(
        WL, "", "podSetAssignments must have the same number of podSets as the spec",
        {**RESERVED, "status.admission": {"clusterQueue": "q", "podSetAssignments": names(2)}},
        {**RESERVED, "status.admission": {"clusterQueue": "q", "podSetAssignments": names(1)}},
    ),
    Rule(
        WL, "status", "clusterName is immutable once set",
        {"status.clusterName": "b"},
        {"status.clusterName": "a"},
        before={"status.clusterName": "a"},
    ),
    Rule(
        WL, "status", "clusterName and nominatedClusterNames are mutually exclusive",
        {"status.clusterName": "a", "status.nominatedClusterNames": ["a"]},
        {"status.nominatedClusterNames": ["a"]},
    ),
    Rule(
        WL, "status.admission.podSetAssignments[].topologyAssignment",
        "valuesPerLevel must have an entry for each of the levels",
        {**PLACED, f"{ASSIGNED}.levels": ["block", "rack"]},
        PLACED,
    ),
    Rule(
        WL, "status.admission.podSetAssignments[].topologyAssignment.slices[]",
        "individual values must be as many as domainCount",
        {**PLACED, f"{SLICE}.valuesPerLevel": [INDIVIDUAL]},
        {**PLACED, f"{SLICE}.valuesPerLevel": [INDIVIDUAL], f"{SLICE}.domainCount": 2},
    ),
    Rule(
        WL, "status.admission.podSetAssignments[].topologyAssignment.slices[]",
        "individual podCounts must be as many as domainCount",
        {**PLACED, f"{SLICE}.podCounts": {"individual": [1, 2]}},
        {**PLACED, f"{SLICE}.podCounts": {"individual": [1]}},
    ),
    Rule(
        WL, "status.admission.podSetAssignments[].topologyAssignment.slices[].valuesPerLevel[]",
        ONE_OF,
        {**PLACED, f"{SLICE}.valuesPerLevel": [{}]},
        PLACED,
    ),
    Rule(
        WL, "status.admission.podSetAssignments[].topologyAssignment.slices[].podCounts",
        ONE_OF,
        {**PLACED, f"{SLICE}.podCounts": {"universal": 1, "individual": [1]}},
        PLACED,
    ),
    *toleration_rules(
        WL,
        "status.admissionChecks[].podSetUpdates[].tolerations",
        "status.admissionChecks[0].podSetUpdates[0].tolerations",
        {**CHECKED, "status.admissionChecks[0].podSetUpdates": [{"name": "main"}]},
    ),
]  # fmt: skip


def test_no_rule_is_forgotten() -> None:
    written = [
        (manifest["spec"]["names"]["kind"], path, rule["message"])
        for _, manifest in crds.definitions()
        for path, part in schemas(manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        for rule in part.get("x-kubernetes-validations", ())
    ]

    assert sorted(written) == sorted((rule.kind, rule.path, rule.says) for rule in RULES)


def ask(objects: Objects, rule: Rule, changes: Manifest) -> Answer:
    if rule.before is None:
        return objects.try_to_create(changed(rule.kind, changes))
    with objects.created(changed(rule.kind, rule.before)) as made:
        subresource = "/status" if all(path.startswith("status") for path in changes) else ""
        return objects.try_to_replace(changed(made, changes), subresource)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_rule_is_enforced(rule: Rule, objects: Objects) -> None:
    broken = ask(objects, rule, rule.broken)
    kept = ask(objects, rule, rule.kept)

    assert broken.code == 422, broken
    assert any((rule.said or rule.says) in cause["message"] for cause in broken.causes), broken
    assert kept.code in {200, 201}, kept
