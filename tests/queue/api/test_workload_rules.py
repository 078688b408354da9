"""Rules of workloads and of the pods in them."""

from collections.abc import Callable

import pytest

from tests.queue.api.cases import (
    Case,
    broken_manifest_is_refused,
    cured_manifest_is_read,
    stored_object_is_read_whatever_the_rules,
)
from tests.queue.api.form_rules import CONDITION, names
from tests.queue.api.manifests import NOON, POD, Manifest

RESERVED: Manifest = {
    "status.conditions": [{**CONDITION["status.conditions"][0], "type": "QuotaReserved"}]
}
MAIN: Manifest = {"name": "main"}
ASSIGNED: Manifest = {
    **RESERVED,
    "status.admission": {"clusterQueue": "q", "podSetAssignments": [MAIN]},
}


def pod_set(name: str, **content: object) -> Manifest:
    return {"name": name, "template": {"spec": POD}, **content}


AFFINITY = (
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    ".nodeSelectorTerms[0].matchExpressions[0]"
)


CASES = [
    Case(
        name="a class gives a priority",
        kind="Workload",
        changes={
            "spec.priorityClassRef": {
                "group": "kueue.x-k8s.io",
                "kind": "WorkloadPriorityClass",
                "name": "high",
            }
        },
        said="spec.priority: is required when priorityClassRef is set",
        cure={"spec.priority": 0},
    ),
    Case(
        name="a class is of its group",
        kind="Workload",
        changes={
            "spec.priority": 0,
            "spec.priorityClassRef": {
                "group": "kueue.x-k8s.io",
                "kind": "PriorityClass",
                "name": "high",
            },
        },
        said="spec.priorityClassRef.kind: 'PriorityClass' is not of group kueue.x-k8s.io:"
        " use WorkloadPriorityClass",
        cure={"spec.priorityClassRef.group": "scheduling.k8s.io"},
    ),
    Case(
        name="fewer pods than all",
        kind="Workload",
        changes={"spec.podSets[0].count": 2, "spec.podSets[0].minCount": 3},
        said="spec.podSets[0].minCount: 3 is more than the count of 2",
        cure={"spec.podSets[0].minCount": 2},
    ),
    Case(
        name="one pod set may shrink",
        kind="Workload",
        changes={"spec.podSets": [pod_set("a", minCount=1), pod_set("b", minCount=1)]},
        said="spec.podSets[1].minCount: only one pod set may have it, and podSets[0] does",
        cure={"spec.podSets": [pod_set("a", minCount=1), pod_set("b")]},
    ),
    Case(
        name="an elastic workload grows and shrinks by itself",
        kind="Workload",
        changes={
            "metadata.annotations": {"kueue.x-k8s.io/elastic-job": "true"},
            "spec.podSets[0].minCount": 1,
        },
        said="spec.podSets[0].minCount: is not allowed with the annotation",
        cure={"metadata.annotations": {"kueue.x-k8s.io/elastic-job": "false"}},
    ),
    Case(
        name="pods are counted without asking",
        kind="Workload",
        changes={
            "spec.podSets[0].template.spec.initContainers": [
                {"name": "i", "resources": {"limits": {"pods": "1"}}}
            ]
        },
        said="template.spec.initContainers[0].resources.limits.pods: the resource is reserved",
        cure={"spec.podSets[0].template.spec.initContainers": []},
    ),
    Case(
        name="quota is reserved for something",
        kind="Workload",
        changes=RESERVED,
        said="status.admission: is required while quota is reserved",
        cure=ASSIGNED,
    ),
    Case(
        name="every pod set is assigned",
        kind="Workload",
        changes={**ASSIGNED, "spec.podSets": [pod_set("main"), pod_set("more")]},
        said="status.admission.podSetAssignments: has 1 entries for 2 pod sets",
        cure={"status.admission.podSetAssignments": [MAIN, {"name": "more"}]},
    ),
    Case(
        name="an assignment is for a pod set",
        kind="Workload",
        changes={**ASSIGNED, "status.admission.podSetAssignments": [{"name": "mian"}]},
        said="podSetAssignments[0].name: 'mian' is not a pod set of the spec. Did you mean 'main'?",
        cure={"status.admission.podSetAssignments": [MAIN]},
    ),
    Case(
        name="use is the same for every pod",
        kind="Workload",
        changes={
            **ASSIGNED,
            "status.admission.podSetAssignments[0]": {
                "name": "main",
                "count": 3,
                "resourceUsage": {"cpu": "1"},
            },
        },
        said="resourceUsage.cpu: 1 is not a multiple of the count of 3 pods",
        cure={"status.admission.podSetAssignments[0].count": 4},
    ),
    Case(
        name="no more pods are reclaimed than there are",
        kind="Workload",
        changes={"status.reclaimablePods": [{"name": "main", "count": 2}]},
        said="status.reclaimablePods[0].count: 2 is more than the 1 pods",
        cure={"spec.podSets[0].count": 2},
    ),
    Case(
        name="pods of a pod set are reclaimed",
        kind="Workload",
        changes={"status.reclaimablePods": [{"name": "other", "count": 1}]},
        said="status.reclaimablePods[0].name: 'other' is not a pod set of the spec.",
        cure={"status.reclaimablePods[0].name": "main"},
    ),
    Case(
        name="a check changes pod sets that exist",
        kind="Workload",
        changes={
            "status.admissionChecks": names(
                1,
                state="Ready",
                lastTransitionTime=NOON,
                message="",
                podSetUpdates=[{"name": "other"}],
            )
        },
        said="status.admissionChecks[0].podSetUpdates[0].name: 'other' is not a pod set",
        cure={"status.admissionChecks[0].podSetUpdates[0].name": "main"},
    ),
    Case(
        name="a workload is on one cluster or on none yet",
        kind="Workload",
        changes={"status.clusterName": "a", "status.nominatedClusterNames": ["a"]},
        said="status.clusterName: excludes nominatedClusterNames",
        cure={"status.nominatedClusterNames": []},
    ),
    Case(
        name="a boost is a number",
        kind="Workload",
        changes={"metadata.annotations": {"kueue.x-k8s.io/priority-boost": "high"}},
        said="metadata.annotations[kueue.x-k8s.io/priority-boost]: 'high' is not a 32-bit whole",
        cure={"metadata.annotations": {"kueue.x-k8s.io/priority-boost": "-2147483648"}},
    ),
    Case(
        name="a boost fits into 32 bits",
        kind="Workload",
        changes={"metadata.annotations": {"kueue.x-k8s.io/priority-boost": "2147483648"}},
        said="'2147483648' is not a 32-bit whole number",
        cure={"metadata.annotations": {"kueue.x-k8s.io/priority-boost": "2147483647"}},
    ),
    Case(
        name="a gate has a domain",
        kind="Workload",
        changes={"metadata.annotations": {"kueue.x-k8s.io/admission-gated-by": "a.b/c,c"}},
        said="metadata.annotations[kueue.x-k8s.io/admission-gated-by]: 'c' is not a gate",
        cure={"metadata.annotations": {"kueue.x-k8s.io/admission-gated-by": "a.b/c,a.b/d"}},
    ),
    Case(
        name="a gate is listed once",
        kind="Workload",
        changes={"metadata.annotations": {"kueue.x-k8s.io/admission-gated-by": "a.b/c,a.b/c"}},
        said="gate 'a.b/c' is listed twice",
        cure={"metadata.annotations": {"kueue.x-k8s.io/admission-gated-by": "a.b/c"}},
    ),
    Case(
        name="no gate is not an empty gate",
        kind="Workload",
        changes={"metadata.annotations": {"kueue.x-k8s.io/admission-gated-by": ""}},
        said="'' is not a gate",
        cure={"metadata.annotations": {}},
    ),
    Case(
        name="requests are not negative",
        kind="Workload",
        changes={"spec.podSets[0].template.spec.containers[0].resources.requests": {"cpu": "-1"}},
        said="containers[0].resources.requests.cpu: -1 is negative: at least 0",
        cure={"spec.podSets[0].template.spec.containers[0].resources.requests": {"cpu": "0"}},
    ),
    Case(
        name="devices are whole",
        kind="Job",
        changes={
            "spec.template.spec.containers[0].resources.limits": {"nvidia.com/gpu": "500m"},
        },
        said="resources.limits[nvidia.com/gpu]: 500m is not a whole number: nvidia.com/gpu cannot",
        cure={"spec.template.spec.containers[0].resources.limits": {"nvidia.com/gpu": "1000m"}},
    ),
    Case(
        name="an init container has a name of its own",
        kind="Pod",
        changes={"spec.initContainers": [{"name": "c"}]},
        said="spec.initContainers[0].name: 'c' is also the name of a container",
        cure={"spec.initContainers[0].name": "i"},
    ),
    Case(
        name="node affinity names values",
        kind="Pod",
        changes={AFFINITY: {"key": "gpu", "operator": "NotIn"}},
        said=f"{AFFINITY}.values: is required by operator NotIn",
        cure={f"{AFFINITY}.values": ["a"]},
    ),
    Case(
        name="node affinity names no values for Exists",
        kind="Pod",
        changes={AFFINITY: {"key": "gpu", "operator": "DoesNotExist", "values": ["a"]}},
        said=f"{AFFINITY}.values: must be empty for operator DoesNotExist",
        cure={f"{AFFINITY}.values": []},
    ),
    Case(
        name="node affinity compares with one number",
        kind="Pod",
        changes={AFFINITY: {"key": "gen", "operator": "Gt", "values": ["new"]}},
        said=f"{AFFINITY}.values: must be one whole number for operator Gt",
        cure={f"{AFFINITY}.values": ["3"]},
    ),
]

PROPERTIES = (
    broken_manifest_is_refused,
    cured_manifest_is_read,
    stored_object_is_read_whatever_the_rules,
)


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule(case: Case, holds: Callable[[Case], None]) -> None:
    holds(case)
