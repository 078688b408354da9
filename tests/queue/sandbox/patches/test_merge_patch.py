"""Merge patches."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.patches.merge_patch import merge_patch
from tests.queue.sandbox.documents import NAMES, Map, documents

# Most are the examples of RFC 7386.
MERGED: list[tuple[Map, Map, Map]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"a": "foo"}, {"b": None}, {"a": "foo"}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}),
    ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
    ({"a": 1}, {"a": {"b": None, "c": 2}}, {"a": {"c": 2}}),
]


@pytest.mark.parametrize("before, patch, after", MERGED)
def test_a_patch_merges(before: Map, patch: Map, after: Map) -> None:
    assert merge_patch(deepcopy(before), patch) == after


@pytest.mark.parametrize("before", [{}, {"a": [1]}, {"a": "x"}])
def test_new_objects_in_lists_have_no_nulls(before: Map) -> None:
    assert merge_patch(before, {"a": [{"b": None, "c": 1}, None]}) == {"a": [{"c": 1}, None]}


def test_a_list_in_place_of_an_object_keeps_its_nulls() -> None:
    """So it is on the real one."""
    assert merge_patch({"a": {}}, {"a": [{"b": None}]}) == {"a": [{"b": None}]}


@pytest.mark.parametrize(
    "patch, message",
    [
        (None, "Invalid JSON Patch"),
        ([], "array into Go value of type map[string]interface {}"),
        ("x", "string into Go value of type map[string]interface {}"),
        (1, "number into Go value of type map[string]interface {}"),
        (True, "bool into Go value of type map[string]interface {}"),
    ],
)
def test_what_is_no_object_is_refused(patch: Any, message: str) -> None:
    with pytest.raises(Refusal) as caught:
        merge_patch({}, patch)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    assert caught.value.message.endswith(message)


FULL = documents(st.integers(-3, 3) | st.sampled_from(["", "a"]))
"""Documents without nulls, which a merge patch can't make."""


def difference(before: Map, after: Map) -> Map:
    """Return the patch that makes one document of another."""
    patch: Map = {name: None for name in before if name not in after}
    for name, value in after.items():
        now = before.get(name)
        if isinstance(now, dict) and isinstance(value, dict):
            patch[name] = difference(now, value)
        elif now != value or type(now) is not type(value):
            patch[name] = value
    return patch


@given(FULL, FULL)
def test_the_difference_of_two_documents_makes_one_of_the_other(before: Map, after: Map) -> None:
    patch = difference(before, after)
    assert merge_patch(deepcopy(before), deepcopy(patch)) == after


# Of objects and scalars alone: what a list in place of an object keeps, it loses the second time.
NESTED = st.recursive(
    st.none() | st.integers(-3, 3),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
FLAT_LISTS = st.dictionaries(NAMES, NESTED | st.lists(st.integers()), max_size=4)


@given(FLAT_LISTS, FLAT_LISTS)
def test_a_patch_merged_twice_changes_nothing_more(before: Map, patch: Map) -> None:
    once = merge_patch(deepcopy(before), deepcopy(patch))
    assert merge_patch(deepcopy(once), deepcopy(patch)) == once


@given(documents(), documents())
def test_a_patch_stays_as_it_is(before: Map, patch: Map) -> None:
    kept = deepcopy(patch)
    merged = merge_patch(before, patch)
    merge_patch(merged, {name: {"x": {"y": 1}} for name in merged})
    assert patch == kept
