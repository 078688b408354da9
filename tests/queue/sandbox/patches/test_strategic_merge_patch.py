"""Strategic merge patches: lists that merge by key or by value, and directives."""

from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.patches.strategic_merge_patch import strategic_merge_patch
from muster.queue.sandbox.schema.node import BuiltIn

Map = dict[str, Any]


def _list(items: Map, key: str = "", strategy: str = "merge") -> Map:
    merges = {"x-kubernetes-patch-strategy": strategy} if strategy else {}
    keyed = {"x-kubernetes-patch-merge-key": key} if key else {}
    return {"type": "array", "items": items, **merges, **keyed}


_TEXT: Final = {"type": "string"}
_REF: Final = "#/components/schemas/"
SCHEMAS: Final = BuiltIn(
    {
        "Meta": {
            "type": "object",
            "properties": {
                "finalizers": _list(_TEXT),
                "labels": {"type": "object", "additionalProperties": _TEXT},
            },
        },
        "Port": {
            "type": "object",
            "properties": {"port": {"type": "integer"}, "name": _TEXT},
        },
        "Container": {
            "type": "object",
            "properties": {
                "name": _TEXT,
                "image": _TEXT,
                "args": _list(_TEXT, strategy=""),
                "ports": _list({"$ref": _REF + "Port"}, "port"),
            },
        },
        "Volume": {
            "type": "object",
            "properties": {
                "name": _TEXT,
                "empty": {"type": "object", "properties": {"size": _TEXT}},
                "config": {"type": "object", "properties": {"name": _TEXT}},
            },
        },
        "Thing": {
            "type": "object",
            "properties": {
                "metadata": {"$ref": _REF + "Meta"},
                "containers": _list({"$ref": _REF + "Container"}, "name"),
                "volumes": _list({"$ref": _REF + "Volume"}, "name", "merge,retainKeys"),
                "tolerations": _list({"type": "object"}, strategy=""),
                "keyless": _list({"type": "object"}),
            },
        },
    }
)
THING: Final = SCHEMAS["Thing"]


def merged(before: Map, patch: Map) -> Map:
    kept = deepcopy(patch)
    try:
        return strategic_merge_patch(THING, deepcopy(before), patch)
    finally:
        assert patch == kept, "it is for another attempt"


def named(*names: str) -> list[Map]:
    return [{"name": name} for name in names]


A_B = {"containers": [{"name": "a", "image": "i", "args": ["x"]}, {"name": "b", "image": "i"}]}
FINALIZERS = {"metadata": {"finalizers": ["a", "b"]}}

LISTS: dict[str, tuple[Map, Map, Map]] = {
    "entries merge by key": (
        A_B,
        {"containers": [{"name": "b", "image": "j"}, {"name": "c"}]},
        {
            "containers": [
                {"name": "a", "image": "i", "args": ["x"]},
                {"name": "b", "image": "j"},
                {"name": "c"},
            ]
        },
    ),
    "new entries come first if the patch names them first": (
        {"containers": named("a", "b")},
        {"containers": named("c", "b")},
        {"containers": named("c", "a", "b")},
    ),
    "lists in entries": (
        {"containers": [{"name": "a", "ports": [{"port": 1}, {"port": 2}]}]},
        {"containers": [{"name": "a", "ports": [{"port": 2, "name": "x"}, {"port": 3}]}]},
        {
            "containers": [
                {"name": "a", "ports": [{"port": 1}, {"port": 2, "name": "x"}, {"port": 3}]}
            ]
        },
    ),
    "lists without a strategy are replaced": (
        A_B,
        {"containers": [{"name": "a", "args": ["y"]}]},
        {
            "containers": [
                {"name": "a", "image": "i", "args": ["y"]},
                {"name": "b", "image": "i"},
            ]
        },
    ),
    "lists of objects without a strategy are replaced": (
        {"tolerations": [{"key": "x"}]},
        {"tolerations": [{"key": "y"}]},
        {"tolerations": [{"key": "y"}]},
    ),
    "scalars merge by value": (
        FINALIZERS,
        {"metadata": {"finalizers": ["c", "b"]}},
        {"metadata": {"finalizers": ["c", "a", "b"]}},
    ),
    "scalars are deleted": (
        FINALIZERS,
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "z"]}},
        {"metadata": {"finalizers": ["b"]}},
    ),
    "nothing is deleted of a list that isn't there": (
        {"metadata": {}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
        {"metadata": {}},
    ),
    "scalars are deleted, added and put in order": (
        FINALIZERS,
        {
            "metadata": {
                "$deleteFromPrimitiveList/finalizers": ["a"],
                "$setElementOrder/finalizers": ["c", "b"],
                "finalizers": ["c"],
            }
        },
        {"metadata": {"finalizers": ["c", "b"]}},
    ),
    "an entry is deleted": (
        A_B,
        {"containers": [{"name": "a", "$patch": "delete"}]},
        {"containers": [{"name": "b", "image": "i"}]},
    ),
    "a list is replaced": (
        A_B,
        {"containers": [{"$patch": "replace"}, {"name": "z"}]},
        {"containers": named("z")},
    ),
    "an order without a change": (
        {"containers": named("a", "b", "c")},
        {"$setElementOrder/containers": named("c", "a")},
        {"containers": named("b", "c", "a")},
    ),
    "an order of new entries": (
        {"containers": named("a")},
        {"$setElementOrder/containers": named("b", "a"), "containers": named("b")},
        {"containers": named("b", "a")},
    ),
    "an order of a new list": (
        {},
        {"$setElementOrder/containers": named("b", "a"), "containers": named("b", "a")},
        {"containers": named("b", "a")},
    ),
    "a new entry takes the room of a deleted one": (
        {"containers": named("a", "b")},
        {
            "$setElementOrder/containers": named("d"),
            "containers": [{"name": "d"}, {"name": "a", "$patch": "delete"}],
        },
        {"containers": named("b", "d")},
    ),
    "an order of nothing": ({}, {"$setElementOrder/containers": named("b")}, {}),
    "null deletes a list": (A_B, {"containers": None}, {}),
    "another type replaces": (A_B, {"containers": "x"}, {"containers": "x"}),
}

OBJECTS: dict[str, tuple[Map, Map, Map]] = {
    "null deletes": (
        {"metadata": {"labels": {"a": "1"}}},
        {"metadata": {"labels": {"a": None, "b": "2", "c": None}}},
        {"metadata": {"labels": {"b": "2"}}},
    ),
    "nulls of new objects are dropped": (
        {},
        {"metadata": {"labels": {"a": None, "b": "2"}}},
        {"metadata": {"labels": {"b": "2"}}},
    ),
    "a map is replaced": (
        {"metadata": {"labels": {"a": "1"}}},
        {"metadata": {"labels": {"$patch": "replace", "b": "2"}}},
        {"metadata": {"labels": {"b": "2"}}},
    ),
    "a map is emptied": (
        {"metadata": {"labels": {"a": "1"}}},
        {"metadata": {"labels": {"$patch": "delete"}}},
        {"metadata": {"labels": {}}},
    ),
    "what deletes something new is dropped": (
        {},
        {
            "metadata": {"labels": {"$patch": "delete"}},
            "containers": [{"name": "a", "$patch": "delete"}],
        },
        {"metadata": {}, "containers": []},
    ),
    "only the retained fields stay": (
        {"volumes": [{"name": "v", "empty": {}}]},
        {"volumes": [{"name": "v", "$retainKeys": ["name", "config"], "config": {"name": "c"}}]},
        {"volumes": [{"name": "v", "config": {"name": "c"}}]},
    ),
    "what is retained may name no field": (
        {"volumes": [{"name": "v", "empty": {}}]},
        {"volumes": [{"name": "v", "$retainKeys": ["name", {"a": 1}]}]},
        {"volumes": [{"name": "v"}]},
    ),
    "unknown fields merge": ({"x": {"a": 1}}, {"x": {"b": 2}}, {"x": {"a": 1, "b": 2}}),
    "lists of unknown fields are replaced": (
        {"x": {"y": [1]}},
        {"x": {"y": [2]}},
        {"x": {"y": [2]}},
    ),
}


@pytest.mark.parametrize("name", [*LISTS, *OBJECTS])
def test_a_patch_merges(name: str) -> None:
    before, patch, after = {**LISTS, **OBJECTS}[name]
    assert merged(before, patch) == after


ORDER: Final = "$setElementOrder/containers"
REFUSED: dict[str, tuple[Map, int, str]] = {
    "an entry without its key": (
        {"containers": [{"image": "x"}]},
        500,
        "map: map[image:x] does not contain declared merge key: name",
    ),
    "a deletion without a key": (
        {"containers": [{"$patch": "delete"}]},
        500,
        "map: map[$patch:delete] does not contain declared merge key: name",
    ),
    "merging as a directive": (
        {"containers": [{"$patch": "merge"}]},
        500,
        "merging lists cannot yet be specified in the patch",
    ),
    "an unknown directive in a list": (
        {"containers": [{"$patch": "foo", "name": "a"}]},
        500,
        "unknown patch type: foo in map: map[$patch:foo name:a]",
    ),
    "an unknown directive": (
        {"metadata": {"$patch": "foo"}},
        500,
        "unknown patch type: foo in map: map[$patch:foo]",
    ),
    "entries of two types": (
        {"containers": [1]},
        500,
        (
            "list element types are not identical: "
            "[[map[args:[x] image:i name:a] map[image:i name:b]] [1]]"
        ),
    ),
    "a list of lists": (
        {"volumes": [["a"]]},
        422,
        "the server rejected our request due to an error in our request",
    ),
    "objects without a key": (
        {"keyless": [{"a": 2}]},
        500,
        "cannot merge lists without merge key for slice",
    ),
    "an order that isn't the patch's": (
        {
            ORDER: named("b"),
            "containers": [{"name": "b", "$patch": "delete"}, {"name": "a", "image": "9"}],
        },
        500,
        (
            "The order in patch list:\n[map[$patch:delete name:b] map[image:9 name:a]]\n "
            "doesn't match $setElementOrder list:\n[map[name:b]]\n"
        ),
    ),
    "an order that is no list": (
        {ORDER: "x", "containers": named("a")},
        500,
        "expected a []interface {}, but received a string",
    ),
    "an order of no list": (
        {ORDER: named("a"), "containers": "x"},
        500,
        "expected a []interface {}, but received a string",
    ),
    "an order without keys": (
        {ORDER: [{"x": "b"}], "containers": named("a")},
        500,
        "map: map[x:b] does not contain declared merge key: name",
    ),
    "an order of scalars": (
        {ORDER: ["b"], "containers": named("a")},
        500,
        "expected a map[string]interface {}, but received a string",
    ),
    "an order of nothing": (
        {"$setElementOrder": []},
        400,
        "invalid patch format of setElementOrder list",
    ),
    "a deletion of nothing": (
        {"$deleteFromPrimitiveList": ["a"]},
        400,
        "invalid patch format of primitive list",
    ),
    "a field that isn't retained": (
        {"metadata": {"$retainKeys": ["labels"], "finalizers": ["x"]}},
        400,
        "invalid patch format of retainKeys",
    ),
    "retained fields that are no list": (
        {"metadata": {"$retainKeys": "x"}},
        400,
        "invalid patch format of retainKeys",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_patch_is_refused(name: str) -> None:
    patch, code, message = REFUSED[name]
    before = {
        **A_B,
        "metadata": {"labels": {}, "finalizers": ["f"]},
        "keyless": [{"a": 1}],
        "volumes": [],
    }
    with pytest.raises(Refusal) as caught:
        merged(before, patch)
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(
    "patch, kind", [([1], "array"), ("x", "string"), (True, "bool"), (1.5, "number")]
)
def test_what_is_no_object_is_refused(patch: Any, kind: str) -> None:
    with pytest.raises(Refusal) as caught:
        strategic_merge_patch(THING, {}, patch)
    message = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    assert (caught.value.code, caught.value.message) == (400, message)


def test_null_changes_nothing() -> None:
    assert strategic_merge_patch(THING, {"x": 1}, None) == {"x": 1}


NAMES = st.lists(st.sampled_from("abcde"), unique=True)


@given(NAMES, NAMES, st.permutations("abcde"))
def test_an_order_keeps_every_entry_once(live: list[str], new: list[str], order: list[str]) -> None:
    """Entries of the patch end up in its order, whatever the live list was."""
    sent = [name for name in order if name in new]
    patch = {ORDER: named(*order), "containers": named(*sent)}
    after = merged({"containers": named(*live)}, patch)
    names = [each["name"] for each in after["containers"]]
    assert names == [name for name in order if name in {*live, *new}]


@given(NAMES, NAMES)
def test_a_patch_merged_twice_changes_nothing_more(live: list[str], new: list[str]) -> None:
    patch = {"containers": named(*new), "metadata": {"finalizers": new}}
    once = merged({"containers": named(*live), "metadata": {"finalizers": live}}, patch)
    assert merged(once, patch) == once
    assert {each["name"] for each in once["containers"]} == {*live, *new}
