"""Scenarios: what they look like, what a bad one is told, what comes out."""

import json
from typing import Any

import pytest

from muster.queue import scenario
from muster.queue.scenario import ScenarioError
from tests.queue.api.manifests import NOON, a_group, changed

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
QUOTA = {"metadata.name": "q", "spec": {"namespaceSelector": {}, "resourceGroups": [a_group("x")]}}
OBJECTS = [
    NAMESPACE,
    changed("ResourceFlavor", {}),
    changed("ClusterQueue", QUOTA),
    changed("LocalQueue", {"metadata.name": "q", "spec.clusterQueue": "q"}),
    changed("Workload", {"spec.queueName": "q"}),
]


def a_scenario(**fields: Any) -> dict[str, Any]:
    return {"name": "s", "now": NOON, "cycles": 3, "config": {}, "objects": OBJECTS, **fields}


def replayed(document: dict[str, Any]) -> dict[str, Any]:
    return scenario.replay(scenario.parse(json.dumps(document)), rounds_max=1)


OUTCOME = {
    "name": "s",
    "cycles": 1,
    "workloads": {
        "default/x": {
            "conditions": {
                "Admitted": ["True", "Admitted"],
                "QuotaReserved": ["True", "QuotaReserved"],
            },
            "admission": {
                "clusterQueue": "q",
                "podSetAssignments": [
                    {
                        "name": "main",
                        "flavors": {"cpu": "x"},
                        "resourceUsage": {"cpu": "1"},
                        "count": 1,
                    }
                ],
            },
        }
    },
    "heap": {},
    "inadmissible": {},
}


def test_an_outcome() -> None:
    assert replayed(a_scenario()) == OUTCOME


def test_a_recorded_case_is_a_scenario_too() -> None:
    assert replayed({"scenario": a_scenario(), "outcome": {"name": "other"}}) == OUTCOME


def test_who_does_not_fit_is_set_aside() -> None:
    too_large = changed("Workload", {"spec.queueName": "q", "spec.podSets[0].count": 2})

    found = replayed(a_scenario(objects=[*OBJECTS[:-1], too_large]))

    assert found["inadmissible"] == {"q": ["default/x"]}
    assert found["workloads"]["default/x"]["conditions"]["QuotaReserved"] == [
        "False",
        "ExceedsMaxQuota",
    ]


def test_a_strict_queue_keeps_its_head() -> None:
    strict = changed("ClusterQueue", {**QUOTA, "spec.queueingStrategy": "StrictFIFO"})
    too_large = changed("Workload", {"spec.queueName": "q", "spec.podSets[0].count": 2})
    objects = [*OBJECTS[:2], strict, OBJECTS[3], too_large]

    found = replayed(a_scenario(objects=objects))

    assert (found["cycles"], found["heap"]) == (3, {"q": ["default/x"]})


def test_no_cycle_no_decision() -> None:
    assert replayed(a_scenario(cycles=0))["workloads"] == {"default/x": {"conditions": {}}}


def test_what_a_webhook_would_refuse_is_replayed() -> None:
    odd = changed(
        "ClusterQueue", {**QUOTA, "spec.flavorFungibility.preference": "PreemptionOverBorrowing"}
    )

    assert replayed(a_scenario(objects=[*OBJECTS[:2], odd, *OBJECTS[3:]])) == OUTCOME


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "not JSON: unexpected end of data: line 1 column 2 (char 1)"),
        ("[]", "a list is not a mapping of fields to values"),
        (
            json.dumps({**a_scenario(), "cycles": -1, "nmae": "x"}),
            "cycles: -1 is too small: at least 0; unknown field 'nmae'. Did you mean 'name'?",
        ),
        (
            json.dumps(a_scenario(config={"preemptionStrategies": ["LessThanFinalShare"]})),
            (
                "config.preemptionStrategies[0]: 'LessThanFinalShare' is not allowed: use "
                "'LessThanOrEqualToFinalShare' or 'LessThanInitialShare'. Did you mean "
                "'LessThanInitialShare'?"
            ),
        ),
    ],
)
def test_a_text_that_is_no_scenario(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario.parse(text)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    "document, message",
    [
        ({"kind": "Queue"}, "objects[0]: apiVersion and kind are required: both must be text"),
        (
            changed("Workload", {"spec.podSets[0].count": "4"}),
            (
                "objects[0] (Workload x): spec.podSets[0].count: '4' is not a whole number: "
                "remove the quotes"
            ),
        ),
        (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": [1]},
            "objects[0] (Namespace ): metadata: a list is not a mapping of fields to values",
        ),
        (
            {
                "apiVersion": "kueue.x-k8s.io/v1beta1",
                "kind": "ClusterQueue",
                "metadata": {"name": "q"},
                "spec": {"cohort": 5},
            },
            ('objects[0] (ClusterQueue q): spec.cohortName: 5 is not text: put it in quotes, "5"'),
        ),
    ],
)
def test_an_object_that_cannot_be_read(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        replayed(a_scenario(objects=[document]))

    assert str(caught.value) == message
