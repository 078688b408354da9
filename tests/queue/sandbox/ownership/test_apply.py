"""Server-side apply: what is merged, what goes, who owns it, what is a conflict."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.ownership.fieldset import difference
from muster.queue.sandbox.ownership.managers import apply
from muster.queue.sandbox.ownership.pruning import union_of
from muster.queue.sandbox.ownership.typed import compare, field_set
from tests.queue.sandbox.ownership.widgets import (
    ALL_BUT_STATUS,
    FULL_WIDGETS,
    LATER,
    MANAGERS,
    NOON,
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


def test_apply_creates_what_is_not_there() -> None:
    widget = applied(None, a_widget(size=1, parts=[{"name": "x", "weight": 1}]))
    assert content(widget) == a_widget(size=1, parts=[{"name": "x", "weight": 1}])
    assert entries(widget) == [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": VERSION,
            "time": NOON,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:parts": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:weight": {}}},
                    "f:size": {},
                }
            },
        }
    ]


def test_apply_merges_with_what_others_have_applied() -> None:
    first = applied(None, a_widget(size=1, parts=[{"name": "x"}]), "one")
    second = applied(first, a_widget(color="a", parts=[{"name": "y"}]), "two", time=LATER)
    assert second["spec"] == {"size": 1, "color": "a", "parts": [{"name": "x"}, {"name": "y"}]}
    assert owned(second) == {
        "one": [".spec.size", '.spec.parts[name="x"]', '.spec.parts[name="x"].name'],
        "two": [".spec.color", '.spec.parts[name="y"]', '.spec.parts[name="y"].name'],
    }


def test_the_same_again_changes_nothing() -> None:
    first = applied(None, a_widget(size=1), "one")
    assert applied(first, a_widget(size=1), "one", time=LATER) == first


def test_another_order_of_a_list_is_a_change_that_nobody_owns() -> None:
    first = applied(None, a_widget(tags=["x", "y"]), "one")
    second = applied(first, a_widget(tags=["y", "x"]), "one", time=LATER)
    assert second["spec"]["tags"] == ["y", "x"]
    assert entries(second) == [{**entries(first)[0], "time": LATER}]


def test_who_applies_what_is_there_shares_it() -> None:
    first = applied(None, a_widget(size=1), "one")
    second = applied(first, a_widget(size=1), "two", time=LATER)
    assert owned(second) == {"one": [".spec.size"], "two": [".spec.size"]}
    assert "time" not in next(e for e in entries(second) if e["manager"] == "two")


def test_versions_share_one_entry_of_an_applier() -> None:
    first = applied(None, a_widget(size=1), "one")
    entries(first)[0]["apiVersion"] = "example.com/v0"
    second = applied(first, a_widget(size=2), "one", time=LATER)
    assert [entry["apiVersion"] for entry in entries(second)] == [VERSION]


# -- what goes ----------------------------------------------------------------------------------

PRUNED: dict[str, tuple[Map, Map, Map]] = {
    "a scalar": ({"size": 1, "color": "a"}, {"color": "a"}, {"color": "a"}),
    "a key of a map": (
        {"options": {"x": "1", "y": "1"}},
        {"options": {"x": "1"}},
        {"options": {"x": "1"}},
    ),
    "a map": ({"options": {"x": "1"}, "size": 1}, {"size": 1}, {"size": 1}),
    "an atomic map": ({"box": {"width": 1}, "size": 1}, {"size": 1}, {"size": 1}),
    "a value of a set": ({"tags": ["x", "y"]}, {"tags": ["y"]}, {"tags": ["y"]}),
    "a set": ({"tags": ["x"], "size": 1}, {"size": 1}, {"size": 1}),
    "an entry": (
        {"parts": [{"name": "x", "weight": 1}, {"name": "y"}]},
        {"parts": [{"name": "y"}]},
        {"parts": [{"name": "y"}]},
    ),
    "a field of an entry": (
        {"parts": [{"name": "x", "weight": 1}]},
        {"parts": [{"name": "x"}]},
        {"parts": [{"name": "x"}]},
    ),
    "an unknown field": (
        {"free": {"a": {"b": 1, "c": 2}}},
        {"free": {"a": {"c": 2}}},
        {"free": {"a": {"c": 2}}},
    ),
}


@pytest.mark.parametrize("name", PRUNED)
def test_what_is_no_longer_applied_goes(name: str) -> None:
    before, now, after = PRUNED[name]
    first = applied(None, a_widget(**before), "one")
    second = applied(first, a_widget(**now), "one", time=LATER)
    assert second["spec"] == after
    assert list(owned(second)) == ["one"]


def test_what_is_no_longer_applied_goes_with_its_parents() -> None:
    first = applied(None, a_widget(status={"phase": "p"}, size=1), "one")
    assert "spec" not in applied(first, a_widget(status={"phase": "p"}), "one")


def test_what_others_own_stays() -> None:
    first = applied(None, a_widget(size=1, parts=[{"name": "x", "weight": 1}]), "one")
    second = applied(first, a_widget(parts=[{"name": "x", "color": "a"}]), "two")
    third = applied(second, a_widget(size=1), "one")
    assert third["spec"] == {"size": 1, "parts": [{"name": "x", "color": "a"}]}
    shared = applied(first, a_widget(size=1), "two")
    assert applied(shared, a_widget(color="a"), "one")["spec"] == {"size": 1, "color": "a"}


def test_what_an_update_changed_stays() -> None:
    first = applied(None, a_widget(size=1, color="a"), "one")
    second = recorded(first, a_widget(size=2, color="a"), "two")
    assert applied(second, a_widget(color="a"), "one")["spec"] == {"size": 2, "color": "a"}


def test_an_entry_goes_with_what_nobody_owns_in_it() -> None:
    first = applied(None, a_widget(parts=[{"name": "x"}], size=1), "one")
    first["spec"]["parts"][0]["weight"] = 1  # as a default would
    assert applied(first, a_widget(size=1), "one")["spec"] == {"size": 1}


EMPTIED: dict[str, tuple[Map, Map, Map]] = {
    "a map that is applied empty": (
        {"options": {"x": "1"}},
        {"options": {}},
        {"options": None},
    ),
    "an unknown map that is applied empty": (
        {"free": {"a": {"b": 1}}},
        {"free": {"a": {}}},
        {"free": {"a": None}},
    ),
    "a set that is applied empty": ({"tags": ["x"]}, {"tags": []}, {}),
}


@pytest.mark.parametrize("name", EMPTIED)
def test_what_loses_all_its_parts_is_null(name: str) -> None:
    """So it is on the real one, whose validation may refuse it then."""
    before, now, after = EMPTIED[name]
    first = applied(None, a_widget(size=1, **before))
    assert applied(first, a_widget(size=1, **now))["spec"] == {"size": 1, **after}


def test_a_list_is_null_that_loses_an_entry_of_which_an_update_owns_a_part() -> None:
    first = applied(None, a_widget(parts=[{"name": "x"}], size=1), "one")
    second = recorded(first, a_widget(parts=[{"name": "x", "weight": 1}], size=1), "two")
    assert applied(second, a_widget(size=1), "one")["spec"] == {"size": 1, "parts": None}


# -- conflicts ----------------------------------------------------------------------------------


def conflicting(live: Map, widget: Map, manager: str = "m") -> Refusal:
    with pytest.raises(Refusal) as caught:
        applied(live, widget, manager)
    refusal = caught.value
    assert (refusal.code, refusal.reason) == (409, "Conflict")
    return refusal


def test_a_conflict_says_with_whom_and_where() -> None:
    live = recorded(None, a_widget(size=1), "kubectl")
    refusal = conflicting(live, a_widget(size=2))
    assert refusal.message == (
        'Apply failed with 1 conflict: conflict with "kubectl" using example.com/v1: .spec.size'
    )
    assert refusal.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "kubectl" using example.com/v1',
                "field": ".spec.size",
            }
        ]
    }


def test_several_conflicts_are_listed_by_manager() -> None:
    live = applied(None, a_widget(size=1, parts=[{"name": "x", "weight": 1}]), "two")
    live = recorded(
        live, {**copied(content(live)), "status": {"phase": "p"}}, "one", subresource="status"
    )
    widget = a_widget(size=2, parts=[{"name": "x", "weight": 2}], status={"phase": "q"})
    assert conflicting(live, widget).message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "one" with subresource "status" using example.com/v1:\n'
        "- .status.phase\n"
        'conflicts with "two":\n'
        "- .spec.size\n"
        '- .spec.parts[name="x"].weight'
    )


def test_an_applier_is_in_conflict_with_its_own_updates() -> None:
    live = recorded(None, a_widget(size=1), "m")
    conflicting(live, a_widget(size=2), "m")


def test_force_takes_what_others_own() -> None:
    live = applied(None, a_widget(size=1, color="a"), "one")
    forced = applied(live, a_widget(size=2), "two", force=True, time=LATER)
    assert forced["spec"] == {"size": 2, "color": "a"}
    assert owned(forced) == {"one": [".spec.color"], "two": [".spec.size"]}


def test_what_cannot_be_applied_through_it_is_no_conflict() -> None:
    live = applied(None, a_widget(size=1, status={"phase": "p"}), "one")
    widget = a_widget(size=2, status={"phase": "p"})
    after = applied(live, widget, "two", subresource="status", reset=ALL_BUT_STATUS)
    assert owned(after) == {"one": [".spec.size", ".status.phase"], "two": [".status.phase"]}


# -- the first apply, and kubectl's other one ---------------------------------------------------


def test_what_was_there_before_the_first_apply_has_an_owner_then() -> None:
    live = a_widget(size=1, color="a")
    after = applied(live, a_widget(color="a", tags=["x"]), "one")
    assert owned(after) == {
        "one": [".spec.color", '.spec.tags[="x"]'],
        "before-first-apply updates": [".spec", ".spec.color", ".spec.size"],
    }
    assert conflicting(live, a_widget(size=2), "one").message.startswith(
        'Apply failed with 1 conflict: conflict with "before-first-apply" using example.com/v1'
    )


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def annotated(widget: Map, last: Any) -> Map:
    text = last if isinstance(last, str) else json.dumps(last)
    metadata = {**widget["metadata"], "annotations": {LAST_APPLIED: text}}
    return {**widget, "metadata": metadata}


def test_kubectl_takes_over_what_it_applied_by_a_patch() -> None:
    before = a_widget(size=1, color="a")
    live = recorded(None, annotated(before, before), "kubectl-client-side-apply")
    after = applied(live, a_widget(size=2, color="a"), "kubectl")
    assert after["spec"] == {"size": 2, "color": "a"}
    assert owned(after)["kubectl"] == [".spec.color", ".spec.size"]
    annotation = after["metadata"]["annotations"][LAST_APPLIED]
    assert json.loads(annotation) == a_widget(size=2, color="a")
    assert annotation.endswith("}\n")
    conflicting(live, a_widget(size=2, color="a"), "another")


@pytest.mark.parametrize(
    "last",
    [
        a_widget(color="a"),
        a_widget(size=7),
        {**a_widget(size=1), "apiVersion": "example.com/v0"},
        a_widget(size="one"),
        "nonsense",
        "[]",
        "",
    ],
)
def test_kubectl_takes_over_nothing_else(last: Any) -> None:
    live = recorded(None, annotated(a_widget(size=1), last), "someone")
    assert conflicting(live, a_widget(size=2), "kubectl").message.endswith(".spec.size")


def test_the_annotation_is_written_as_the_real_one_writes_it() -> None:
    live = recorded(None, annotated(a_widget(size=1), a_widget(size=1)), "kubectl-edit")
    after = applied(live, a_widget(size=1, labels={"b": "<&>", "a": "x"}), "kubectl")
    assert after["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"labels":'
        '{"a":"x","b":"\\u003c\\u0026\\u003e"},"name":"w","namespace":"n"},"spec":{"size":1}}\n'
    )


def test_an_annotation_that_would_be_too_large_goes() -> None:
    live = recorded(None, annotated(a_widget(size=1), a_widget(size=1)), "kubectl-edit")
    after = applied(live, a_widget(size=1, options={"x": "1" * 300_000}), "kubectl")
    assert LAST_APPLIED not in after["metadata"]["annotations"]


# -- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("managed", [[], [{}]])
def test_an_applied_object_brings_no_record(managed: list[Map]) -> None:
    widget = a_widget(size=1)
    widget["metadata"]["managedFields"] = managed
    with pytest.raises(Refusal) as caught:
        applied(None, widget)
    assert (caught.value.code, caught.value.message) == (400, "metadata.managedFields must be nil")


def test_metadata_may_be_anything_until_somebody_looks_at_it() -> None:
    bare = {"apiVersion": VERSION, "kind": "Widget"}
    assert applied(None, bare)["metadata"] == {}
    with pytest.raises(Refusal, match=r"\.metadata: expected map, got &\{x\}"):
        applied(None, {**bare, "metadata": "x"})


def test_a_live_object_whose_entries_cannot_be_told_apart_is_refused() -> None:
    live = recorded(None, a_widget(size=1), "one")
    live["spec"]["parts"] = [{"weight": 1}]
    with pytest.raises(Refusal, match="failed to create typed live object") as caught:
        applied(live, a_widget(parts=[{"name": "x"}]))
    assert caught.value.code == 500


def test_a_live_object_may_have_entries_twice() -> None:
    live = recorded(None, a_widget(tags=["x", "x"], size=1), "one")
    after = applied(live, a_widget(size=2), "two", force=True)
    assert after["spec"] == {"tags": ["x", "x"], "size": 2}


# -- any applies --------------------------------------------------------------------------------


APPLIES = st.lists(st.tuples(MANAGERS, FULL_WIDGETS), max_size=4)


def after_all(applies: list[tuple[str, Map]]) -> Map | None:
    live = None
    for manager, widget in applies:
        live = applied(live, widget, manager, force=True)
    return live


@given(APPLIES, FULL_WIDGETS, MANAGERS)
def test_apply_is_idempotent(before: list[tuple[str, Map]], widget: Map, manager: str) -> None:
    once = applied(after_all(before), widget, manager, force=True)
    assert applied(once, widget, manager, time=LATER) == once


@given(APPLIES, FULL_WIDGETS)
def test_an_applier_owns_what_it_applies(before: list[tuple[str, Map]], widget: Map) -> None:
    after = applied(after_all(before), widget, "m", force=True)
    mine = [each["fieldsV1"] for each in entries(after) if each["manager"] == "m"]
    fields = field_set(WIDGET, {"spec": widget["spec"]}) if "spec" in widget else {}
    assert mine == ([fields] if fields else [])


@given(APPLIES)
def test_every_field_is_owned_and_every_owned_field_is_there(
    applies: list[tuple[str, Map]],
) -> None:
    live = after_all([("one", a_widget(size=1)), *applies])
    assert live is not None
    everybody = union_of(each["fieldsV1"] for each in entries(live))
    there = field_set(WIDGET, {"spec": live["spec"]} if "spec" in live else {})
    assert difference(everybody, there) == {}
    assert difference(there, everybody) == {}


@given(FULL_WIDGETS, FULL_WIDGETS)
def test_one_applier_gets_exactly_what_it_applied_last(first: Map, last: Map) -> None:
    assert content(applied(applied(None, first), last)) == last


@st.composite
def shares(draw: st.DrawFn) -> tuple[Map, Map]:
    """Return two parts of a widget, neither empty, that have no field in common."""
    one: Map = {}
    two: Map = {}
    for name, value in draw(FULL_WIDGETS).get("spec", {}).items():
        if name in {"parts", "ports", "tags"}:
            cut = draw(st.integers(0, len(value)))
            parts = value[:cut], value[cut:]
        else:
            parts = (value, None) if draw(st.booleans()) else (None, value)
        for share, part in zip((one, two), parts, strict=True):
            if part not in (None, []):
                share[name] = part
    return a_widget(**(one or {"on": True})), a_widget(**(two or {"port": 1}))


@given(shares())
def test_appliers_of_different_fields_do_not_depend_on_their_order(both: tuple[Map, Map]) -> None:
    one, two = both
    there = applied(applied(None, one, "one"), two, "two")
    back = applied(applied(None, two, "two"), one, "one")
    assert compare(WIDGET, content(there), content(back)) == ({}, {})
    assert owned(there) == owned(back)
    # Whoever goes leaves what the other has applied.
    alone = applied(there, a_widget(), "two")
    assert (content(alone), list(owned(alone))) == (one, ["one"])


@given(WIDGETS, WIDGETS)
def test_what_is_applied_stays_as_it_is(one: Map, two: Map) -> None:
    kept = copied(two)
    after = apply(
        WIDGET,
        applied(None, one, "one"),
        two,
        manager="m",
        force=True,
        api_version=VERSION,
        subresource="",
        time=NOON,
        reset=(),
    )
    for part in after.get("spec", {}).values():
        if isinstance(part, list | dict):
            part.clear()
    assert two == kept
