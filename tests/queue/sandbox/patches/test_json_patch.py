"""JSON patches: what they change, and how API servers refuse them."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.patches.json_patch import json_patch, unknown_members
from tests.queue.sandbox.documents import NAMES, SCALARS, Map, documents

Operation = dict[str, Any]


def op(name: str, path: str, **more: Any) -> Operation:
    return {"op": name, "path": path, **more}


APPLIED: dict[str, tuple[Map, list[Operation], Map]] = {
    "add a field": ({"a": 1}, [op("add", "/b", value=2)], {"a": 1, "b": 2}),
    "add over a field": ({"a": 1}, [op("add", "/a", value=2)], {"a": 2}),
    "add an entry": ({"a": [1, 3]}, [op("add", "/a/1", value=2)], {"a": [1, 2, 3]}),
    "add an entry behind the last": ({"a": [1]}, [op("add", "/a/1", value=2)], {"a": [1, 2]}),
    "append": ({"a": [1]}, [op("add", "/a/-", value=2)], {"a": [1, 2]}),
    "add before the last": ({"a": [1, 2]}, [op("add", "/a/-2", value=0)], {"a": [1, 0, 2]}),
    "add without a value": ({}, [op("add", "/a")], {"a": None}),
    "remove a field": ({"a": 1, "b": 2}, [op("remove", "/a")], {"b": 2}),
    "remove an entry": ({"a": [1, 2]}, [op("remove", "/a/0")], {"a": [2]}),
    "remove the last": ({"a": [1, 2]}, [op("remove", "/a/-1")], {"a": [1]}),
    "replace": ({"a": {"b": 1}}, [op("replace", "/a/b", value=[])], {"a": {"b": []}}),
    "replace what isn't there": ({}, [op("replace", "/a", value=1)], {"a": 1}),
    "replace an entry": ({"a": [1, 2]}, [op("replace", "/a/1", value=3)], {"a": [1, 3]}),
    "replace all": ({"a": 1}, [op("replace", "", value={"b": 2})], {"b": 2}),
    "move": ({"a": {"b": 1}}, [op("move", "/c", **{"from": "/a/b"})], {"a": {}, "c": 1}),
    "move an entry": (
        {"a": [1, 2, 3]},
        [op("move", "/a/2", **{"from": "/a/0"})],
        {"a": [2, 3, 1]},
    ),
    "copy": ({"a": [1]}, [op("copy", "/b", **{"from": "/a"})], {"a": [1], "b": [1]}),
    "copy what isn't there": ({}, [op("copy", "/b", **{"from": "/a"})], {"b": None}),
    "a copy is another value": (
        {"a": {"x": 1}},
        [op("copy", "/b", **{"from": "/a"}), op("add", "/b/x", value=2)],
        {"a": {"x": 1}, "b": {"x": 2}},
    ),
    "an added value is another value": (
        {},
        [op("add", "/a", value={}), op("add", "/a/x", value=1), op("replace", "/b", value=[])],
        {"a": {"x": 1}, "b": []},
    ),
    "test": ({"a": {"b": [1]}}, [op("test", "/a", value={"b": [1]})], {"a": {"b": [1]}}),
    "test all": ({"a": 1}, [op("test", "", value={"a": 1})], {"a": 1}),
    "test that nothing is there": ({"a": 1}, [op("test", "/b")], {"a": 1}),
    "escaped names": ({"a/b": 1, "m~n": 2}, [op("remove", "/a~1b"), op("remove", "/m~0n")], {}),
    "unknown members": ({}, [op("add", "/a", value=1, comment="why")], {"a": 1}),
    "nothing": ({"a": 1}, [], {"a": 1}),
}


@pytest.mark.parametrize("name", APPLIED)
def test_operations_change_an_object(name: str) -> None:
    before, operations, after = APPLIED[name]
    kept = deepcopy(operations)
    assert json_patch(deepcopy(before), operations) == after
    assert operations == kept


INAPPLICABLE: dict[str, list[Operation]] = {
    "test fails": [op("test", "/a", value="2")],
    "test of a missing field": [op("test", "/b", value=1)],
    "test of the kind of number": [op("test", "/a", value=1.0)],
    "test of true for 1": [op("test", "/a", value=True)],
    "test in a missing object": [op("test", "/b/c", value=1)],
    "remove of a missing field": [op("remove", "/b")],
    "remove in a missing object": [op("remove", "/b/c")],
    "remove of all": [op("remove", "")],
    "replace in a missing object": [op("replace", "/b/c", value=1)],
    "replace by a list": [op("replace", "", value=[])],
    "replace by a scalar": [op("replace", "", value="a")],
    "add in a missing object": [op("add", "/b/c", value=1)],
    "add in a scalar": [op("add", "/a/c", value=1)],
    "add of all": [op("add", "", value={})],
    "path without a slash": [op("add", "b", value=1)],
    "place beyond a list": [op("add", "/l/3", value=1)],
    "place before a list": [op("remove", "/l/-3")],
    "place that is no number": [op("add", "/l/x", value=1)],
    "the place behind a list": [op("remove", "/l/-")],
    "replace of a missing entry": [op("replace", "/l/2", value=1)],
    "move of a missing field": [op("move", "/c", **{"from": "/b"})],
    "move from nowhere": [op("move", "/c")],
    "copy from a missing object": [op("copy", "/c", **{"from": "/b/d"})],
    "unknown operation": [op("rename", "/a")],
    "no operation": [{"path": "/a"}],
    "no path": [{"op": "add", "value": 1}],
    "the last one fails": [op("remove", "/a"), op("remove", "/a")],
}


@pytest.mark.parametrize("name", INAPPLICABLE)
def test_an_operation_that_does_not_apply_is_refused(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        json_patch({"a": 1, "l": [1, 2]}, INAPPLICABLE[name])
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    assert caught.value.message == "the server rejected our request due to an error in our request"


_DECODING = "error decoding patch: json: cannot unmarshal"
MALFORMED: dict[str, tuple[Any, str]] = {
    "object": ({}, f"{_DECODING} object into Go value of type []handlers.jsonPatchOp"),
    "text": ("x", f"{_DECODING} string into Go value of type []handlers.jsonPatchOp"),
    "number among operations": (
        [1],
        f"{_DECODING} number into Go value of type handlers.jsonPatchOp",
    ),
    "op": ([{"op": 1}], f"{_DECODING} number into Go struct field jsonPatchOp.op of type string"),
    "path": (
        [{"op": "add", "path": []}],
        f"{_DECODING} array into Go struct field jsonPatchOp.path of type string",
    ),
    "from": (
        [{"op": "copy", "path": "/a", "from": True}],
        f"{_DECODING} bool into Go struct field jsonPatchOp.from of type string",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_list_of_operations_is_refused(name: str) -> None:
    patch, message = MALFORMED[name]
    with pytest.raises(Refusal) as caught:
        json_patch({}, patch)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_a_patch_has_at_most_10_000_operations() -> None:
    operation = op("test", "/a", value=1)
    assert json_patch({"a": 1}, [operation] * 10_000) == {"a": 1}
    with pytest.raises(Refusal) as caught:
        json_patch({"a": 1}, [operation] * 10_001)
    assert (caught.value.code, caught.value.reason) == (413, "RequestEntityTooLarge")
    assert caught.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
        "got 10001"
    )


def test_members_that_no_operation_has_can_be_told() -> None:
    operations = [op("add", "/a", value=1, comment="why"), op("copy", "/b", **{"from": "/a"}), 1]
    assert unknown_members(operations) == ["[0].comment"]
    assert unknown_members({}) == []


def test_null_is_a_patch_without_operations() -> None:
    assert json_patch({"a": 1}, None) == {"a": 1}


def pointer(*names: str) -> str:
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


@given(documents(), NAMES, SCALARS)
def test_what_is_added_can_be_tested_and_removed(before: Map, name: str, value: Any) -> None:
    before.pop(name, None)
    path = pointer(name)
    patch = [op("add", path, value=value), op("test", path, value=value), op("remove", path)]
    assert json_patch(deepcopy(before), patch) == before


@given(documents().filter(bool), st.data())
def test_a_move_there_and_back_changes_nothing(before: Map, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(before)))
    there, back = pointer("elsewhere"), pointer(name)
    patch = [op("move", there, **{"from": back}), op("move", back, **{"from": there})]
    assert json_patch(deepcopy(before), patch) == before


@given(documents())
def test_a_document_passes_the_test_of_itself(document: Map) -> None:
    tests = [op("test", pointer(name), value=deepcopy(value)) for name, value in document.items()]
    assert json_patch(document, [op("test", "", value=deepcopy(document)), *tests]) is document


def test_copies_of_copies_are_refused_before_they_fill_the_memory() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 1_000

    with pytest.raises(Refusal) as refused:
        json_patch({"a": ["x" * 1000]}, doubling)

    assert refused.value.code == 422


@pytest.mark.parametrize("op", ["copy", "move"])
def test_what_makes_an_object_too_deep_is_refused(op: str) -> None:
    deeper = [
        step
        for _ in range(5_000)
        for step in (
            {"op": "add", "path": "/b", "value": {}},
            {"op": op, "from": "/a", "path": "/b/a"},
            {"op": "move", "from": "/b", "path": "/a"},
        )
    ][:9_999]

    with pytest.raises(Refusal) as refused:
        json_patch({"a": {}}, deeper)

    assert refused.value.code == 422
