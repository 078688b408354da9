"""Sets of fields: how they are written, and the laws of sets."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.sandbox.ownership.fieldset import (
    Fields,
    MalformedFieldsError,
    difference,
    difference_below,
    from_paths,
    intersection,
    keyed_step,
    parsed,
    paths,
    shown_step,
    union,
    valued_step,
)

Path = tuple[str, ...]

STEPS: list[tuple[str, str]] = [
    (keyed_step(("name",), "a"), 'k:{"name":"a"}'),
    (keyed_step(("port", "protocol"), 80, "TCP"), 'k:{"port":80,"protocol":"TCP"}'),
    (keyed_step(("b", "a"), 1, 2), 'k:{"a":2,"b":1}'),
    (keyed_step(("port", "protocol"), 80, None), 'k:{"port":80}'),
    (keyed_step(("on",), True), 'k:{"on":true}'),
    (keyed_step(("on",), 1), 'k:{"on":1}'),
    (keyed_step(("name",), "<&>"), 'k:{"name":"\\u003c\\u0026\\u003e"}'),
    (valued_step("a"), 'v:"a"'),
    (valued_step(1), "v:1"),
    (valued_step(True), "v:true"),
]


@pytest.mark.parametrize("step, text", STEPS)
def test_steps_are_written_as_json(step: str, text: str) -> None:
    assert step == text


@pytest.mark.parametrize(
    "step, text",
    [
        ("f:spec", ".spec"),
        ("f:example.com/x", ".example.com/x"),
        ('k:{"name":"a"}', '[name="a"]'),
        ('k:{"port":80,"protocol":"TCP"}', '[port=80,protocol="TCP"]'),
        ('v:"a"', '[="a"]'),
        ("v:1", "[=1]"),
        ("i:0", "[0]"),
    ],
)
def test_steps_are_shown_as_paths(step: str, text: str) -> None:
    assert shown_step(step) == text


PARSED: list[tuple[Any, Fields]] = [
    (None, {}),
    ({}, {}),
    ({"f:a": {}}, {"f:a": {}}),
    ({"f:a": {".": {}}}, {"f:a": {}}),
    ({"f:a": None}, {"f:a": {}}),
    ({"f:a": {".": {}, "f:b": {}}}, {"f:a": {".": {}, "f:b": {}}}),
    ({'k: {"b": 1, "a": 2}': {}}, {'k:{"a":2,"b":1}': {}}),
    ({'v: "a"': {}}, {'v:"a"': {}}),
    ({"i:1": {}}, {"i:1": {}}),
    ({"x:new": {}, "f:a": {}}, {"f:a": {}}),
]


@pytest.mark.parametrize("document, fields", PARSED)
def test_documents_of_clients_are_read(document: Any, fields: Fields) -> None:
    assert parsed(document) == fields


IN_ORDER = [
    ".",
    "f:a",
    "f:b",
    'k:{"name":"a"}',
    'k:{"name":"a b"}',
    'k:{"name":"b"}',
    'k:{"port":9}',
    'k:{"port":9,"protocol":"TCP"}',
    'k:{"port":80,"protocol":"TCP"}',
    "v:1",
    "v:1.5",
    "v:2",
    'v:"a"',
    "v:false",
    "v:true",
    "i:2",
    "i:10",
]


@given(st.permutations(IN_ORDER))
def test_steps_are_put_in_order(steps: list[str]) -> None:
    assert list(parsed({step: {} for step in steps})) == IN_ORDER


@pytest.mark.parametrize(
    "document",
    ["f:a", [], {"f": {}}, {"": {}}, {"a": {}}, {"k:1": {}}, {"k:{": {}}, {"v:": {}}, {"i:a": {}}],
)
def test_what_is_no_set_is_refused(document: Any) -> None:
    with pytest.raises(MalformedFieldsError):
        parsed(document)


SETS = st.lists(
    st.lists(st.sampled_from(["f:a", "f:b", 'k:{"x":1}', 'v:"y"']), min_size=1, max_size=4).map(
        tuple
    ),
    max_size=8,
).map(from_paths)


def model(fields: Fields) -> set[Path]:
    found = paths(fields)
    assert len(found) == len(set(found)), "no member is listed twice"
    return set(found)


@given(st.sets(st.lists(st.sampled_from(["f:a", "f:b", "v:1"]), min_size=1, max_size=4).map(tuple)))
def test_a_set_has_the_members_it_is_made_of(members: set[Path]) -> None:
    assert model(from_paths(sorted(members))) == members


@given(SETS, SETS)
def test_unions_differences_and_intersections_are_those_of_sets(one: Fields, other: Fields) -> None:
    assert model(union(one, other)) == model(one) | model(other)
    assert model(difference(one, other)) == model(one) - model(other)
    assert model(intersection(one, other)) == model(one) & model(other)


@given(SETS, SETS)
def test_a_difference_below_takes_what_is_in_members_too(one: Fields, other: Fields) -> None:
    gone = model(other)
    kept = {
        path
        for path in model(one)
        if not any(path[:length] in gone for length in range(1, len(path) + 1))
    }
    assert model(difference_below(one, other)) == kept


@given(SETS, SETS)
def test_results_are_written_as_if_read(one: Fields, other: Fields) -> None:
    """Whatever makes a set, it is in order and has one form."""
    for fields in (
        union(one, other),
        difference(one, other),
        intersection(one, other),
        difference_below(one, other),
    ):
        assert str(parsed(fields)) == str(fields)


@given(SETS, SETS)
def test_nothing_changes_its_arguments(one: Fields, other: Fields) -> None:
    before = str(one), str(other)
    for function in (union, difference, intersection, difference_below):
        function(one, other)
    assert (str(one), str(other)) == before


@given(SETS, SETS)
def test_what_takes_nothing_away_returns_the_very_set(one: Fields, other: Fields) -> None:
    left = difference(one, difference(other, one))
    assert left is one
