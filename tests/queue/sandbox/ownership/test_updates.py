"""Who owns what after a create, a replace or a patch."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.sandbox.ownership.fieldset import from_paths, intersection, paths
from muster.queue.sandbox.ownership.managers import keep_times
from muster.queue.sandbox.ownership.typed import compare
from muster.queue.sandbox.schema.node import BuiltIn
from tests.queue.sandbox.ownership.widgets import (
    ALL_BUT_STATUS,
    LATER,
    MANAGERS,
    NOON,
    STATUS_OF_ITSELF,
    VERSION,
    WIDGET,
    WIDGETS,
    Map,
    a_widget,
    applied,
    content,
    copied,
    entries,
    owned,
    recorded,
)


def test_an_entry_says_who_when_and_what() -> None:
    widget = recorded(None, a_widget(size=1, options={"x": "1"}), "kubectl")
    assert entries(widget) == [
        {
            "manager": "kubectl",
            "operation": "Update",
            "apiVersion": VERSION,
            "time": NOON,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {".": {}, "f:options": {".": {}, "f:x": {}}, "f:size": {}},
            },
        }
    ]
    assert list(entries(widget)[0]) == [
        "manager",
        "operation",
        "apiVersion",
        "time",
        "fieldsType",
        "fieldsV1",
    ]


def test_nobody_owns_what_belongs_to_the_server() -> None:
    widget = a_widget(labels={"a": "b"})
    widget["metadata"] |= {"uid": "u", "resourceVersion": "1", "generation": 1}
    assert owned(recorded(None, widget)) == {
        "m updates": [".metadata.labels", ".metadata.labels.a"]
    }


def test_an_object_without_owned_fields_has_no_entries() -> None:
    assert "managedFields" not in recorded(None, a_widget())["metadata"]


def test_who_changes_a_field_takes_it() -> None:
    first = recorded(None, a_widget(size=1, color="a"), "one")
    second = recorded(first, a_widget(size=2, color="a"), "two", time=LATER)
    assert owned(second) == {
        "one updates": [".spec", ".spec.color"],
        "two updates": [".spec.size"],
    }
    assert [entry["time"] for entry in entries(second)] == [NOON, LATER]


def test_who_removes_a_field_owns_nothing_of_it() -> None:
    first = recorded(None, a_widget(size=1, parts=[{"name": "x"}]), "one")
    second = recorded(first, a_widget(size=1, parts=[]), "two", time=LATER)
    assert owned(second) == {"one updates": [".spec", ".spec.parts", ".spec.size"]}
    assert entries(second)[0]["time"] == NOON


def test_an_update_takes_from_who_applied_it() -> None:
    first = applied(None, a_widget(size=1, color="a"), "one")
    second = recorded(first, a_widget(size=2, color="a"), "one", time=LATER)
    assert owned(second) == {"one": [".spec.color"], "one updates": [".spec.size"]}


def test_a_manager_keeps_what_it_changed_before() -> None:
    first = recorded(None, a_widget(size=1), "one")
    second = recorded(first, a_widget(size=1, color="a"), "one", time=LATER)
    assert owned(second) == {"one updates": [".spec", ".spec.color", ".spec.size"]}
    assert [entry["time"] for entry in entries(second)] == [LATER]


def test_a_write_that_changes_nothing_leaves_the_record_as_it_is() -> None:
    first = recorded(None, a_widget(size=1), "one")
    for sent in (content(first), first):
        assert entries(recorded(first, sent, "two", time=LATER)) == entries(first)


def test_a_manager_without_fields_vanishes() -> None:
    first = recorded(None, a_widget(size=1), "one")
    second = recorded(first, a_widget(size=1, color="a"), "two")
    third = recorded(second, a_widget(size=1, color="b"), "one")
    assert list(owned(third)) == ["one updates"]


def test_every_sub_resource_has_an_entry() -> None:
    first = recorded(None, a_widget(size=1), "one")
    sent = a_widget(size=1, status={"phase": "p"})
    second = recorded(first, sent, "one", subresource="status", reset=ALL_BUT_STATUS)
    assert [entry.get("subresource") for entry in entries(second)] == [None, "status"]
    assert entries(second)[1]["fieldsV1"] == {"f:status": {".": {}, "f:phase": {}}}


def test_what_cannot_be_written_through_it_is_neither_owned_nor_taken() -> None:
    first = recorded(None, a_widget(size=1, status={"phase": "p"}), "one")
    sent = a_widget(size=2, status={"phase": "q"})
    second = recorded(first, sent, "two", reset=STATUS_OF_ITSELF)
    assert owned(second) == {
        "one updates": [".spec", ".status", ".status.phase"],
        "two updates": [".spec.size"],
    }


def test_a_version_has_an_entry_of_its_own() -> None:
    first = recorded(None, a_widget(size=1, color="a"), "one")
    second = recorded(first, a_widget(size=1, color="b"), "one", api_version="example.com/v2")
    assert [entry["apiVersion"] for entry in entries(second)] == [VERSION, "example.com/v2"]


# -- what clients send --------------------------------------------------------------------------

AN_ENTRY: Map = {
    "manager": "other",
    "operation": "Apply",
    "apiVersion": VERSION,
    "time": NOON,
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {'k: {"name":"x"}': {}, "f:size": {}}},
}


def sending(managed: Any, **spec: Any) -> Map:
    widget = a_widget(**spec)
    widget["metadata"]["managedFields"] = managed
    return widget


@pytest.mark.parametrize("managed", [[], [{}]])
def test_the_record_can_be_forgotten(managed: list[Map]) -> None:
    first = recorded(None, a_widget(size=1), "one")
    second = recorded(first, sending(managed, size=2), "two")
    assert "managedFields" not in second["metadata"]
    third = recorded(second, a_widget(size=3), "two")
    assert "managedFields" not in third["metadata"], "nobody is tracked before the first apply"


def test_a_record_that_is_sent_stands() -> None:
    first = recorded(None, a_widget(size=1), "one")
    second = recorded(first, sending([AN_ENTRY], size=1), "two")
    fields: Map = {"f:spec": {"f:size": {}, 'k:{"name":"x"}': {}}}
    assert entries(second) == [{**AN_ENTRY, "fieldsV1": fields}]


def test_a_new_object_may_bring_a_record() -> None:
    assert list(owned(recorded(None, sending([AN_ENTRY], color="a"), "one"))) == [
        "other",
        "one updates",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "Delete"},
        {"apiVersion": ""},
        {"apiVersion": None},
        {"fieldsType": "FieldsV2"},
        {"fieldsV1": {"nonsense": {}}},
        {"fieldsV1": "nonsense"},
    ],
)
def test_a_record_that_cannot_be_read_is_ignored(change: Map) -> None:
    first = recorded(None, a_widget(size=1), "one")
    second = recorded(first, sending([{**AN_ENTRY, **change}], size=2), "two")
    assert list(owned(second)) == ["one updates", "two updates"]


def test_a_sub_resource_does_not_take_a_record() -> None:
    first = recorded(None, a_widget(size=1), "one")
    sent = sending([], size=1)
    second = recorded(first, sent, "two", subresource="status", reset=ALL_BUT_STATUS)
    assert entries(second) == entries(first)


def test_an_object_whose_entries_cannot_be_told_apart_has_no_record() -> None:
    first = recorded(None, a_widget(size=1), "one")
    assert "managedFields" not in recorded(first, a_widget(parts=[{"weight": 1}]))["metadata"]


# -- many managers ------------------------------------------------------------------------------


def test_of_more_than_ten_updating_managers_the_oldest_become_one() -> None:
    widget = recorded(None, a_widget(options={"k0": "v"}), "m0", time="2026-01-01T12:00:00Z")
    for number in range(1, 12):
        options = {f"k{each}": "v" for each in range(number + 1)}
        time = f"2026-01-01T12:00:{number:02}Z"
        widget = recorded(widget, a_widget(options=options), f"m{number}", time=time)
    managers = [entry["manager"] for entry in entries(widget)]
    assert managers == ["ancient-changes", *[f"m{number}" for number in range(3, 12)]]
    assert owned(widget)["ancient-changes updates"] == [
        ".spec",
        ".spec.options",
        ".spec.options.k0",
        ".spec.options.k1",
        ".spec.options.k2",
    ]
    assert entries(widget)[0]["time"] == "2026-01-01T12:00:02Z"


def test_managers_of_different_versions_do_not_become_one() -> None:
    widget = recorded(None, a_widget(options={"k0": "v"}), "m0", api_version="example.com/v0")
    for number in range(1, 12):
        options = {f"k{each}": "v" for each in range(number + 1)}
        time = f"2026-01-01T12:00:{number:02}Z"
        widget = recorded(widget, a_widget(options=options), f"m{number}", time=time)
    managers = [entry["manager"] for entry in entries(widget)]
    assert managers == ["m0", "ancient-changes", *[f"m{number}" for number in range(4, 12)]]


# -- built-in kinds -----------------------------------------------------------------------------

BUILT_IN = BuiltIn(
    {
        "Thing": {
            "type": "object",
            "properties": {
                "metadata": {"type": "object", "properties": {}, "default": {}},
                "spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}], "default": {}},
                "value": {"type": "integer", "default": 0},
                "since": {"type": "string", "format": "date-time"},
            },
        },
        "Spec": {
            "type": "object",
            "required": ["containers"],
            "properties": {
                "containers": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "options": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
    }
)


def test_fields_that_a_built_in_object_always_has_are_not_new_in_it() -> None:
    thing = {
        "metadata": {},
        "spec": {"containers": [{"name": "a"}], "options": {"x": "1"}},
        "value": 0,
        "since": None,
    }
    assert owned(recorded(None, thing, schema=BUILT_IN["Thing"])) == {
        "m updates": [
            ".spec.options",
            '.spec.containers[name="a"]',
            '.spec.containers[name="a"].name',
            ".spec.options.x",
        ]
    }


# -- times --------------------------------------------------------------------------------------


def test_times_stay_if_nothing_else_changes() -> None:
    old = recorded(None, a_widget(size=1))
    new = copied(old)
    entries(new)[0]["time"] = LATER
    keep_times(old, new)
    assert new == old


def test_times_change_with_the_object_or_its_owners() -> None:
    old = recorded(None, a_widget(size=1))
    other_owner, other_size, no_owner = copied(old), copied(old), copied(old)
    entries(other_owner)[0]["fieldsV1"] = {"f:spec": {}}
    other_size["spec"]["size"] = 2
    for new in (other_owner, other_size):
        entries(new)[0]["time"] = LATER
        keep_times(old, new)
        assert entries(new)[0]["time"] == LATER
    entries(no_owner).clear()
    keep_times(old, no_owner)
    assert entries(no_owner) == []


# -- any writes ---------------------------------------------------------------------------------


@given(st.lists(st.tuples(MANAGERS, WIDGETS), min_size=2, max_size=5))
def test_the_last_writer_owns_what_it_changed_alone(writes: list[tuple[str, Map]]) -> None:
    (first, made), *changes = writes
    live = recorded(None, made, first)
    for manager, widget in changes:
        before, live = live, recorded(live, widget, manager)
        for entry in entries(live):
            assert entry["fieldsV1"], "nobody owns nothing"
        if not entries(before):
            continue
        changed, removed = compare(WIDGET, before, live)
        changed_here = intersection(changed, from_paths([("f:spec",), *paths(changed)]))
        for entry in entries(live):
            mine = intersection(entry["fieldsV1"], changed_here)
            assert not mine or entry["manager"] == manager
            gone = [path for path in paths(removed) if path not in set(paths(changed))]
            assert not intersection(entry["fieldsV1"], from_paths(gone))


@given(WIDGETS, WIDGETS, MANAGERS, MANAGERS)
def test_recording_changes_nothing_but_the_record(old: Map, new: Map, one: str, two: str) -> None:
    live = recorded(None, old, one)
    kept = copied(live)
    assert content(recorded(live, new, two)) == new
    assert live == kept
