"""Every mistake is told with its path, the value, what is allowed and what was likely meant."""

import pytest
from pydantic import ValidationError

from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.core import Namespace
from muster.queue.api.problems import Problems, cross_check, describe, path_of, structure_check
from muster.queue.api.schema import ApiModel
from muster.queue.api.wording import did_you_mean, listed, shown, unknown_field
from tests.queue.api.form_rules import names
from tests.queue.api.manifests import NOON, Manifest, a_group, complaints

COUNT = "spec.podSets[0].count"
CONTAINER = "spec.template.spec.containers[0]"

SAID: list[tuple[str, Manifest, str]] = [
    (
        "ClusterQueue",
        {"spec.cohort": "all"},
        "spec: unknown field 'cohort'. Did you mean 'cohortName'?",
    ),
    (
        "ClusterQueue",
        {"spec.fairSharing.shares": 1},
        "spec.fairSharing: unknown field 'shares'. Known here: weight.",
    ),
    (
        "ClusterQueue",
        {"spec.resourceGroups": [{**a_group("f"), "flavours": []}]},
        "spec.resourceGroups[0]: unknown field 'flavours'. Did you mean 'flavors'?",
    ),
    ("ClusterQueue", {"sepc": {}}, "unknown field 'sepc'. Did you mean 'spec'?"),
    (
        "ClusterQueue",
        {"spec.resource_groups": []},
        "spec: unknown field 'resource_groups'. Did you mean 'resourceGroups'?",
    ),
    (
        "ClusterQueue",
        {"metadata.lables": {}},
        "metadata: unknown field 'lables'. Did you mean 'labels'?",
    ),
    ("ClusterQueue", {"metadata.name": ""}, "metadata.name: '' is not allowed: use lower-case"),
    (
        "ClusterQueue",
        {"metadata.name": "Team_A"},
        (
            "metadata.name: 'Team_A' is not allowed: use lower-case letters, digits, '-' and '.', "
            "beginning and ending with a letter or digit"
        ),
    ),
    ("ClusterQueue", {"metadata.name": None}, "metadata.name: is required"),
    (
        "ClusterQueue",
        {"metadata.labels": {"team": True}},
        'metadata.labels.team: true is not text: put it in quotes, "true"',
    ),
    (
        "ClusterQueue",
        {"metadata.labels": {"example.com/size": 3}},
        'metadata.labels[example.com/size]: 3 is not text: put it in quotes, "3"',
    ),
    (
        "ClusterQueue",
        {"metadata.labels": {"a/b/c": "x"}},
        "metadata.labels[a/b/c]: 'a/b/c' is not allowed: use letters, digits",
    ),
    (
        "ClusterQueue",
        {"metadata.labels": {"a": "x y"}},
        "metadata.labels.a: 'x y' is not allowed: use letters, digits, '-', '_' and '.'",
    ),
    (
        "ClusterQueue",
        {"spec.stopPolicy": "hold"},
        (
            "spec.stopPolicy: 'hold' is not allowed: use 'None', 'Hold' or 'HoldAndDrain'."
            " Did you mean 'Hold'?"
        ),
    ),
    (
        "ClusterQueue",
        {"spec.resourceGroups": [a_group("f", nominalQuota="1K")]},
        (
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: '1K' is not a quantity:"
            " did you mean 1k (x 1000) or 1Ki (x 1024)?"
        ),
    ),
    (
        "ClusterQueue",
        {"spec.resourceGroups": [a_group("f", nominalQuota=[])]},
        "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: a list is not a quantity",
    ),
    (
        "ClusterQueue",
        {"spec.resourceGroups": a_group("f")},
        "spec.resourceGroups: a mapping is not a list",
    ),
    ("ClusterQueue", {"spec.resourceGroups": ["x"]}, "spec.resourceGroups[0]: 'x' is not a map"),
    ("ClusterQueue", {"spec": "x"}, "spec: 'x' is not a mapping of fields to values"),
    ("ClusterQueue", {"metadata.labels": []}, "metadata.labels: a list is not a mapping of keys"),
    (
        "ClusterQueue",
        {"spec.resourceGroups": [{**a_group("f"), "flavors": [*a_group("f", "f")["flavors"]]}]},
        "spec.resourceGroups[0].flavors[1].name: 'f' is listed twice, first at [0]",
    ),
    (
        "ClusterQueue",
        {
            "spec.resourceGroups": [a_group("f")],
            "spec.admissionChecksStrategy.admissionChecks": [
                {"name": "c", "onFlavors": ["f", "f"]}
            ],
        },
        "admissionChecks[0].onFlavors[1]: 'f' is listed twice, first at [0]",
    ),
    (
        "ClusterQueue",
        {"spec.admissionChecksStrategy.admissionChecks": names(65)},
        "spec.admissionChecksStrategy.admissionChecks: has 65 entries, at most 64 are allowed",
    ),
    (
        "ClusterQueue",
        {"spec.admissionChecksStrategy.admissionChecks": []},
        "spec.admissionChecksStrategy.admissionChecks: has 0 entries, at least 1 must be there",
    ),
    (
        "ClusterQueue",
        {"spec.cohortName": "a" * 254},
        f"spec.cohortName: '{'a' * 58}… has 254 characters, at most 253 are allowed",
    ),
    ("AdmissionCheck", {"spec.controllerName": ""}, "spec.controllerName: must not be empty"),
    (
        "Workload",
        {"spec.podSets[0].count": "3"},
        "spec.podSets[0].count: '3' is not a whole number: remove the quotes",
    ),
    ("Workload", {COUNT: "x"}, "spec.podSets[0].count: 'x' is not a whole number"),
    ("Workload", {COUNT: 1.5}, "spec.podSets[0].count: 1.5 is not a whole number"),
    ("Workload", {COUNT: True}, "spec.podSets[0].count: true is not a whole number"),
    ("Workload", {COUNT: -1}, "spec.podSets[0].count: -1 is too small: at least 0"),
    ("Workload", {COUNT: 2**31}, "2147483648 is too large: at most 2147483647"),
    ("Workload", {COUNT: 10**99}, "a number of many digits is too large: at most 2147483647"),
    (
        "Workload",
        {"spec.active": "false"},
        "spec.active: 'false' is not true or false: remove the quotes",
    ),
    ("Workload", {"spec.active": 1}, "spec.active: 1 is not true or false"),
    (
        "Workload",
        {
            "status.conditions": [
                {
                    "type": "Admitted",
                    "status": "True",
                    "reason": "R",
                    "message": "",
                    "lastTransitionTime": "yesterday",
                }
            ]
        },
        "status.conditions[0].lastTransitionTime: 'yesterday' is not a timestamp: write date, time",
    ),
    (
        "Workload",
        {"status.requeueState.requeueAt": 7},
        "status.requeueState.requeueAt: 7 is not a timestamp: write text",
    ),
    (
        "Job",
        {f"{CONTAINER}.resorces": {}},
        f"{CONTAINER}: unknown field 'resorces'. Did you mean 'resources'?",
    ),
    (
        "Job",
        {"spec.template.spec.gpus": 1},
        "spec.template.spec: unknown field 'gpus'.",
    ),
    (
        "Job",
        {"spec.template.metadata.label": {}},
        "spec.template.metadata: unknown field 'label'. Did you mean 'labels'?",
    ),
    (
        "Job",
        {f"{CONTAINER}.resources.requests": {"cpu": "1", "bad name": "1"}},
        f"{CONTAINER}.resources.requests.bad name: 'bad name' is not allowed",
    ),
]


@pytest.mark.parametrize("kind, changes, said", SAID, ids=[said for _, _, said in SAID])
def test_a_mistake_is_told(kind: str, changes: Manifest, said: str) -> None:
    (complaint,) = complaints(kind, changes)

    assert said in complaint


def test_mistakes_in_many_places_are_told_together() -> None:
    said = complaints(
        "Job",
        {
            "spec.paralelism": 2,
            "spec.suspend": "yes",
            f"{CONTAINER}.resources.requests.cpu": "1 Gi",
            "metadata.name": "A",
        },
    )

    assert [complaint.partition(":")[0] for complaint in said] == [
        "metadata.name",
        f"{CONTAINER}.resources.requests.cpu",
        "spec.suspend",
        "spec",
    ]


def test_keys_that_are_no_text_are_told() -> None:
    """YAML reads an unquoted `on` as true and a bare 1 as a number."""
    (complaint,) = complaints("Job", {"metadata.labels": {1: "x"}})

    assert complaint.startswith("metadata.labels")
    assert 'put it in quotes, "1"' in complaint


@pytest.mark.parametrize("field", ["metadata", "spec"])
def test_a_field_that_is_no_text_is_told(field: str) -> None:
    (complaint,) = complaints("ClusterQueue", {field: {True: "x", "name": "x"}})[:1]

    assert complaint.startswith(field)
    assert "true" in complaint.lower()


def test_a_value_of_any_depth_is_told() -> None:
    deep: object = "x"
    for _ in range(10_000):
        deep = [deep]

    for path in ("metadata.labels", "spec.fairSharing.weight", "spec.stopPolicy", "status.x", "y"):
        for complaint in complaints_about(path, deep):
            assert len(complaint) < 300


def complaints_about(path: str, value: object) -> list[str]:
    """Return the complaints about a value that is too deep to be copied."""
    steps = path.split(".")
    document: Manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "x"},
        "spec": {},
    }
    place = document
    for step in steps[:-1]:
        place = place.setdefault(step, {})
    place[steps[-1]] = value
    try:
        ClusterQueue.model_validate(document)
    except ValidationError as error:
        return [str(problem) for problem in describe(error, ClusterQueue)]
    return []


# --- The pieces ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "location, path",
    [
        ((), ""),
        (("spec", "podSets", 0, "count"), "spec.podSets[0].count"),
        (("metadata", "labels", "a.b/c"), "metadata.labels[a.b/c]"),
        ((3, "name"), "[3].name"),
    ],
)
def test_a_path_is_written_as_in_kubernetes(location: tuple[str | int, ...], path: str) -> None:
    assert path_of(location) == path


def test_values_are_shown_short() -> None:
    assert shown("x") == "'x'"
    assert shown({"a": 1}) == "a mapping"
    assert shown([1]) == "a list"
    assert shown("x" * 100) == "'" + "x" * 58 + "…"
    assert len(shown("x" * 100)) == 60


def test_words() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b or c"
    assert did_you_mean("Cohort", ["cohortName", "x"]) == " Did you mean 'cohortName'?"
    assert did_you_mean("zzz", ["cohortName"]) == ""
    assert unknown_field("zzz", []) == "unknown field 'zzz'."


class Pair(ApiModel):
    low: int
    high: int

    @cross_check
    def _in_order(self, problems: Problems) -> None:
        if self.low > self.high:
            problems.add(("low",), "{braces} stay: more than high")

    @structure_check
    def _not_both_zero(self, problems: Problems) -> None:
        if self.low == self.high == 0:
            problems.add((), "needs one that is not 0")


def test_a_check_names_its_place_and_keeps_its_words() -> None:
    with pytest.raises(ValidationError) as caught:
        Pair.model_validate({"low": 2, "high": 1})
    assert [str(problem) for problem in describe(caught.value, Pair)] == [
        "low: {braces} stay: more than high"
    ]

    with pytest.raises(ValidationError) as caught:
        Pair.model_validate({"low": 0, "high": 0})
    assert [str(problem) for problem in describe(caught.value, Pair)] == ["needs one that is not 0"]


def test_a_free_form_map_has_no_unknown_fields() -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "x", "creationTimestamp": NOON},
        "spec": {"anything": 1},
    }

    assert Namespace.model_validate(document).spec == {"anything": 1}
