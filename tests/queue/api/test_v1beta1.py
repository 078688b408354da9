"""Old manifests become current ones, and their authors are told what changed."""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.api.v1beta1 import NEW, OLD, upgrade
from tests.queue.api.manifests import MINIMAL, Manifest, complaints

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    kind: str
    part: str = "spec"
    old: Manifest
    new: Manifest
    notes: list[str] = field(default_factory=list)


CASES = [
    Case(
        name="cohort",
        kind="ClusterQueue",
        old={"cohort": "all"},
        new={"cohortName": "all"},
        notes=["spec.cohort is now spec.cohortName"],
    ),
    Case(
        name="the new name wins",
        kind="ClusterQueue",
        old={"cohort": "old", "cohortName": "new"},
        new={"cohortName": "new"},
        notes=["spec.cohort is now spec.cohortName"],
    ),
    Case(
        name="admission checks",
        kind="ClusterQueue",
        old={"admissionChecks": ["a", "b"]},
        new={"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}},
        notes=["spec.admissionChecks is now spec.admissionChecksStrategy"],
    ),
    Case(
        name="no admission checks",
        kind="ClusterQueue",
        old={"admissionChecks": []},
        new={},
    ),
    Case(
        name="a strategy wins",
        kind="ClusterQueue",
        old={
            "admissionChecks": ["a"],
            "admissionChecksStrategy": {"admissionChecks": [{"name": "b"}]},
        },
        new={"admissionChecksStrategy": {"admissionChecks": [{"name": "b"}]}},
        notes=["spec.admissionChecks is dropped: admissionChecksStrategy is set"],
    ),
    Case(
        name="fungibility",
        kind="ClusterQueue",
        old={"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}},
        new={
            "flavorFungibility": {
                "whenCanBorrow": "MayStopSearch",
                "whenCanPreempt": "MayStopSearch",
            }
        },
        notes=[
            "spec.flavorFungibility.whenCanBorrow: Borrow is now MayStopSearch",
            "spec.flavorFungibility.whenCanPreempt: Preempt is now MayStopSearch",
        ],
    ),
    Case(
        name="fungibility that did not change",
        kind="ClusterQueue",
        old={"flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "Borrow"}},
        new={"flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "Borrow"}},
    ),
    Case(
        name="counts of waiting workloads",
        kind="ClusterQueue",
        part="status",
        old={"pendingWorkloadsStatus": {"head": []}, "pendingWorkloads": 1},
        new={"pendingWorkloads": 1},
    ),
    Case(
        name="use of a local queue",
        kind="LocalQueue",
        part="status",
        old={"flavors": [{"name": "f"}], "flavorUsage": [{"name": "f", "resources": []}]},
        new={"flavorsUsage": [{"name": "f", "resources": []}]},
    ),
    Case(
        name="delay of a check",
        kind="AdmissionCheck",
        old={"controllerName": "example.com/c", "retryDelayMinutes": 15},
        new={"controllerName": "example.com/c"},
        notes=["spec.retryDelayMinutes no longer exists and is dropped"],
    ),
    Case(
        name="priority class of ours",
        kind="Workload",
        old={
            "priorityClassName": "high",
            "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
            "priority": 1,
        },
        new={
            "priorityClassRef": {
                "group": "kueue.x-k8s.io",
                "kind": "WorkloadPriorityClass",
                "name": "high",
            },
            "priority": 1,
        },
        notes=["spec.priorityClassName and priorityClassSource are now priorityClassRef"],
    ),
    Case(
        name="priority class of pods",
        kind="Workload",
        old={
            "priorityClassName": "high",
            "priorityClassSource": "scheduling.k8s.io/priorityclass",
        },
        new={
            "priorityClassRef": {
                "group": "scheduling.k8s.io",
                "kind": "PriorityClass",
                "name": "high",
            }
        },
        notes=["spec.priorityClassName and priorityClassSource are now priorityClassRef"],
    ),
    Case(
        name="priority class from nowhere",
        kind="Workload",
        old={"priorityClassName": "high", "priority": 1},
        new={"priority": 1},
        notes=[
            (
                "spec.priorityClassName and priorityClassSource are dropped: the source must be"
                " one of kueue.x-k8s.io/workloadpriorityclass, scheduling.k8s.io/priorityclass"
            )
        ],
    ),
    Case(
        name="no priority class",
        kind="Workload",
        old={"priorityClassSource": "", "priorityClassName": ""},
        new={},
    ),
    Case(
        name="a spelling mistake",
        kind="Workload",
        part="status",
        old={"accumulatedPastExexcutionTimeSeconds": 60},
        new={"accumulatedPastExecutionTimeSeconds": 60},
    ),
    Case(
        name="topology domains",
        kind="Workload",
        part="status",
        old={
            "admission": {
                "clusterQueue": "q",
                "podSetAssignments": [
                    {
                        "name": "main",
                        "topologyAssignment": {
                            "levels": ["block", "rack"],
                            "domains": [
                                {"values": ["b1", "r1"], "count": 1},
                                {"values": ["b1", "r2"], "count": 2},
                            ],
                        },
                    },
                    {"name": "other"},
                ],
            }
        },
        new={
            "admission": {
                "clusterQueue": "q",
                "podSetAssignments": [
                    {
                        "name": "main",
                        "topologyAssignment": {
                            "levels": ["block", "rack"],
                            "slices": [
                                {
                                    "domainCount": 2,
                                    "valuesPerLevel": [
                                        {"universal": "b1"},
                                        {"individual": {"prefix": "r", "roots": ["1", "2"]}},
                                    ],
                                    "podCounts": {"individual": [1, 2]},
                                }
                            ],
                        },
                    },
                    {"name": "other"},
                ],
            }
        },
    ),
]


@pytest.mark.parametrize(
    "levels, domain",
    [
        (None, {"values": ["a"], "count": 1}),
        ("rack", {"values": ["a"], "count": 1}),
        (["rack"], {"values": ["a", "b"], "count": 1}),
        (["rack"], {"values": ["a"]}),
        (["rack"], "a"),
    ],
)
def test_a_topology_without_form_is_left_as_it_is(levels: object, domain: object) -> None:
    topology = {"levels": levels, "domains": [domain]}
    status = {"admission": {"podSetAssignments": [{"topologyAssignment": topology}]}}

    upgraded = upgrade({"apiVersion": OLD, "kind": "Workload", "status": status})

    assert upgraded.document["status"] == status


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_old_manifest_becomes_a_current_one(case: Case) -> None:
    old = {"apiVersion": OLD, "kind": case.kind, "metadata": {"name": "x"}, case.part: case.old}
    untouched = deepcopy(old)

    upgraded = upgrade(old)

    assert upgraded.document == {**old, "apiVersion": NEW, case.part: case.new}
    assert list(upgraded.notes) == case.notes
    assert old == untouched


@pytest.mark.parametrize(
    "kind", [kind for kind, each in MINIMAL.items() if each["apiVersion"] == NEW]
)
def test_what_did_not_change_is_read_in_both_versions(kind: str) -> None:
    upgraded = upgrade({**MINIMAL[kind], "apiVersion": OLD})

    assert upgraded.document == MINIMAL[kind]
    assert upgraded.notes == ()


@pytest.mark.parametrize("kind", MINIMAL)
def test_a_current_manifest_is_left_alone(kind: str) -> None:
    upgraded = upgrade(MINIMAL[kind])

    assert upgraded.document is MINIMAL[kind]
    assert upgraded.notes == ()


def test_old_words_in_a_current_manifest_are_mistakes() -> None:
    assert complaints("ClusterQueue", {"spec.cohort": "all"}) == [
        "spec: unknown field 'cohort'. Did you mean 'cohortName'?"
    ]
    assert complaints("ClusterQueue", {"spec.flavorFungibility.whenCanBorrow": "Borrow"}) == [
        (
            "spec.flavorFungibility.whenCanBorrow: 'Borrow' is not allowed: use 'MayStopSearch' or"
            " 'TryNextFlavor'."
        )
    ]


FIELDS = [
    "cohort",
    "admissionChecks",
    "admissionChecksStrategy",
    "flavorFungibility",
    "priorityClassName",
    "priorityClassSource",
    "retryDelayMinutes",
    "pendingWorkloadsStatus",
    "flavors",
    "flavorUsage",
    "admission",
    "accumulatedPastExexcutionTimeSeconds",
]
PARTS = st.dictionaries(st.sampled_from(FIELDS), JSON) | JSON


@given(
    kind=st.sampled_from(["ClusterQueue", "LocalQueue", "Workload", "AdmissionCheck", "Cohort"]),
    spec=PARTS,
    status=PARTS
    | st.fixed_dictionaries(
        {
            "admission": st.fixed_dictionaries(
                {
                    "podSetAssignments": st.lists(
                        st.fixed_dictionaries(
                            {
                                "topologyAssignment": st.fixed_dictionaries(
                                    {"levels": JSON, "domains": st.lists(JSON, max_size=2) | JSON}
                                )
                            }
                        )
                        | JSON,
                        max_size=2,
                    )
                    | JSON
                }
            )
        }
    ),
)
def test_what_has_no_form_is_left_to_the_models(kind: str, spec: Any, status: Any) -> None:
    """Whatever is in an old document, the conversion does not stumble over it."""
    document = {"apiVersion": OLD, "kind": kind, "spec": spec, "status": status}

    assert upgrade(document).document["apiVersion"] == NEW
