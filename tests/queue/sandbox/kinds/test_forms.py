"""Canonical form, amounts, intervals and names: small laws and tables."""

import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.api.quantities import format_quantity, parse_quantity
from muster.queue.sandbox.kinds import names
from muster.queue.sandbox.kinds.builtin import builtin_resources
from muster.queue.sandbox.kinds.index_intervals import (
    IndexesError,
    common,
    count,
    intervals,
)
from muster.queue.sandbox.kinds.metadata import metadata_errors, metadata_update_errors
from muster.queue.sandbox.kinds.pod_defaults import is_latest
from muster.queue.sandbox.kinds.pod_resources import container_amounts
from muster.queue.sandbox.kinds.quantities import rounded_amount, sum_of
from tests.e2e.builtin_answers import RECORDED, cases
from tests.queue.api.manifests import Manifest, changed

RESOURCES = {
    (resource.kind.api_version, resource.kind.kind): resource for resource in builtin_resources()
}
ACCEPTED = cases("accepted")
RECORDED_ANSWERS = json.loads(RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_filled_in_stays_as_it_is(name: str) -> None:
    obj = RECORDED_ANSWERS[f"accepted: {name}"]
    again = deepcopy(obj)

    RESOURCES[obj["apiVersion"], obj["kind"]].strategy.default(again)

    assert again == obj


# -- amounts -----------------------------------------------------------------------------------

amounts = st.integers(0, 10**15).map(format_quantity)


@given(st.lists(amounts, max_size=4))
def test_a_sum_is_of_all(parts: list[str]) -> None:
    assert parse_quantity(sum_of(parts)) == sum(parse_quantity(each) for each in parts)


@pytest.mark.parametrize(
    "parts, total",
    [([], "0"), (["1Gi", "512Mi"], "1536Mi"), (["0", "1Gi"], "1Gi"), (["1e3", "1"], "1001")],
)
def test_a_sum_keeps_the_style(parts: list[str], total: str) -> None:
    assert sum_of(parts) == total


@given(amounts)
def test_amounts_are_rounded_up_to_thousandths(amount: str) -> None:
    exact, rounded = parse_quantity(amount), parse_quantity(rounded_amount(amount))

    assert rounded % 10**6 == 0
    assert exact <= rounded < exact + 10**6


def test_containers_are_counted_at_their_peak() -> None:
    def container(cpu: str, **content: str) -> Manifest:
        return {"resources": {"requests": {"cpu": cpu}}, **content}

    spec = {
        "initContainers": [
            container("1", restartPolicy="Always"),
            container("5"),
            container("2", restartPolicy="Always"),
        ],
        "containers": [container("1"), container("1500m")],
    }

    assert container_amounts(spec, "requests") == {"cpu": "6"}
    spec["initContainers"][1] = container("500m")
    assert container_amounts(spec, "requests") == {"cpu": "5500m"}


# -- intervals ---------------------------------------------------------------------------------

indexes = st.sets(st.integers(0, 30))


def text_of(chosen: set[int]) -> str:
    return ",".join(str(index) for index in sorted(chosen))


@given(indexes, indexes)
def test_intervals_overlap_where_both_have_an_index(one: set[int], other: set[int]) -> None:
    first, second = intervals(text_of(one), 31), intervals(text_of(other), 31)

    assert count(first) == len(one)
    assert list(common(first, second)) == sorted(one & other)


def test_overlaps_of_long_intervals_are_found() -> None:
    assert list(common([(0, 5), (8, 9)], [(3, 8)])) == [3, 8]


@pytest.mark.parametrize(
    "text", ["1-", "-1", "a", "1,1", "3-1", "1-2-3", "2-2", "0-9", "10", "1,0"]
)
def test_some_texts_are_no_indexes(text: str) -> None:
    with pytest.raises(IndexesError):
        intervals(text, 9)


# -- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule, good, bad",
    [
        (
            names.dns_label,
            ["a", "0", "a-b", "a" * 63],
            ["", "-a", "a-", "A", "a.b", "a" * 64, "a\n"],
        ),
        (names.dns_subdomain, ["a", "a.b-c", "a" * 253], ["", ".a", "a..b", "a_b", "a" * 254]),
        (names.dns_1035_label, ["a", "a-1"], ["1", "-a", "a.b", ""]),
        (
            names.label_key,
            ["a", "A_b.c", "a.b/c", "a" * 253 + "/" + "b" * 63],
            ["", "/a", "a/", "a/b/c", "A.b/c", "a" * 64, "-a", "a b"],
        ),
        (names.label_value, ["", "a", "A_b.c"], ["-a", "a b", "a" * 64]),
        (
            names.domain_path,
            ["a.b/c", "a/b/c"],
            ["a", "/a", "a/", "A/b", "a/b c"],
        ),
        (names.path_segment, ["a:b", "A b"], [".", "..", "a/b", "a%b"]),
        (
            names.config_key,
            ["a", ".a", "A_b-c.d", "a" * 253],
            ["", ".", "..", "..a", "a b", "a" * 254],
        ),
        (names.variable_name, ["A", "a b", "1~"], ["", "a=b", "ä", "a\n"]),
        (names.port_name, ["a", "http-1"], ["1", "-a", "a--b", "A", "a" * 16]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_rule_of_names(rule: names.NameRule, good: list[str], bad: list[str]) -> None:
    assert [name for name in good if rule(name)] == []
    assert [name for name in bad if not rule(name)] == []


@pytest.mark.parametrize(
    "image, latest",
    [
        ("i", True),
        ("i:latest", True),
        ("h:5000/i", True),
        ("h.io/p/i", True),
        ("i:1", False),
        ("h:5000/i:1", False),
        ("i@sha256:" + "a" * 64, False),
        ("i:latest@sha256:" + "a" * 64, True),
        ("", False),
        ("No Image", False),
    ],
)
def test_an_image_may_be_another_tomorrow(image: str, latest: bool) -> None:
    assert is_latest(image) == latest


# -- metadata ----------------------------------------------------------------------------------

OBJECT: Manifest = {"metadata": {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "1"}}


def fields(changes: Manifest, *, namespaced: bool = True) -> list[str]:
    errors = metadata_errors(
        changed(OBJECT, changes), namespaced=namespaced, name_rule=names.dns_subdomain
    )
    return [f"{each.reason.removeprefix('FieldValue')} {each.field}" for each in errors]


@pytest.mark.parametrize(
    "changes, told",
    [
        ({}, []),
        ({"metadata.name": ""}, ["Required metadata.name"]),
        ({"metadata.name": "X"}, ["Invalid metadata.name"]),
        ({"metadata.generateName": "a-"}, []),
        ({"metadata.generateName": "A_B-"}, ["Invalid metadata.generateName"]),
        ({"metadata.namespace": ""}, ["Required metadata.namespace"]),
        ({"metadata.generation": -1}, ["Invalid metadata.generation"]),
        ({"metadata.annotations": {"a": "x" * 2**18}}, ["TooLong metadata.annotations"]),
        ({"metadata.annotations": {"Example.com/a": ""}}, []),
        ({"metadata.finalizers": ["a b"]}, ["Invalid metadata.finalizers"]),
        (
            {"metadata.managedFields": [{"operation": "Guess", "manager": "m" * 129}]},
            [
                "Invalid metadata.managedFields[0].operation",
                "TooLong metadata.managedFields[0].manager",
            ],
        ),
    ],
)
def test_metadata_is_judged(changes: Manifest, told: list[str]) -> None:
    assert fields(changes) == told


def test_a_kind_without_namespaces_has_none() -> None:
    assert fields({}, namespaced=False) == ["Forbidden metadata.namespace"]


@pytest.mark.parametrize(
    "before, changes, told",
    [
        ({}, {}, []),
        ({}, {"metadata.uid": "v"}, ["metadata.uid"]),
        (
            {},
            {"metadata.deletionTimestamp": "2026-01-01T12:00:00Z"},
            ["metadata.deletionTimestamp"],
        ),
        ({}, {"metadata.resourceVersion": ""}, ["metadata.resourceVersion"]),
        ({"metadata.generation": 2}, {"metadata.generation": 1}, ["metadata.generation"]),
        (
            {"metadata.deletionTimestamp": "t", "metadata.finalizers": ["a/b"]},
            {"metadata.finalizers": ["a/b", "c/d"]},
            ["metadata.finalizers"],
        ),
        (
            {"metadata.deletionTimestamp": "t", "metadata.finalizers": ["a/b"]},
            {"metadata.finalizers": []},
            [],
        ),
    ],
)
def test_some_metadata_never_changes(before: Manifest, changes: Manifest, told: list[str]) -> None:
    old = changed(OBJECT, before)

    errors = metadata_update_errors(changed(old, changes), old)

    assert [each.field for each in errors] == told
