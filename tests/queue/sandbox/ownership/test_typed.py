"""What a schema makes of fields: which there are, which differ, how objects merge."""

from typing import Any

import pytest
from hypothesis import given

from muster.queue.sandbox.ownership.fieldset import difference, union
from muster.queue.sandbox.ownership.typed import (
    MalformedListError,
    compare,
    field_set,
    merge,
    remove,
    with_named_parents,
)
from tests.queue.sandbox.ownership.widgets import (
    TYPED_WIDGETS,
    WIDGET,
    WIDGETS,
    Map,
    copied,
    shown,
)

SPEC = WIDGET.properties["spec"]

CLAIMED: dict[str, tuple[Map, list[str]]] = {
    "scalars": ({"size": 1, "color": "a", "port": "x"}, [".size", ".color", ".port"]),
    "null": ({"size": None, "options": None, "parts": None}, [".size", ".options", ".parts"]),
    "a map with free keys": ({"options": {"x": "1"}}, [".options.x"]),
    "an empty map": ({"options": {}}, [".options"]),
    "an atomic map": ({"box": {"width": 1}}, [".box"]),
    "an atomic list": ({"steps": ["a", "b"]}, [".steps"]),
    "an empty atomic list": ({"steps": []}, [".steps"]),
    "a set": ({"tags": ["x", "y"]}, ['.tags[="x"]', '.tags[="y"]']),
    "an empty set": ({"tags": []}, []),
    "entries by key": (
        {"parts": [{"name": "x", "weight": 1}]},
        ['.parts[name="x"]', '.parts[name="x"].name', '.parts[name="x"].weight'],
    ),
    "entries by key with a default": (
        {"ports": [{"port": 80}]},
        ['.ports[port=80,protocol="TCP"]', '.ports[port=80,protocol="TCP"].port'],
    ),
    "entries that are there twice": (
        {"parts": [{"name": "x", "weight": 1}, {"name": "x", "weight": 2}], "tags": ["x", "x"]},
        ['.parts[name="x"]', '.tags[="x"]'],
    ),
    "what nothing is known of": (
        {"free": {"a": {"b": [1, {"c": 2}], "d": {}}, "e": "f"}},
        [".free.a", ".free.e", ".free.a.b", ".free.a.d"],
    ),
}


@pytest.mark.parametrize("name", CLAIMED)
def test_an_applied_object_claims_fields(name: str) -> None:
    spec, fields = CLAIMED[name]
    assert sorted(shown(field_set(SPEC, spec))) == sorted(fields)


COMPARED: dict[str, tuple[Map, Map, list[str], list[str]]] = {
    "nothing": ({"size": 1}, {"size": 1}, [], []),
    "a value": ({"size": 1}, {"size": 2}, [".size"], []),
    "a new value": ({}, {"size": 2}, [".size"], []),
    "a removed value": ({"size": 1}, {}, [], [".size"]),
    "null": ({"size": 1}, {"size": None}, [".size"], []),
    "a new map": ({}, {"options": {"x": "1"}}, [".options", ".options.x"], []),
    "a key of a map": (
        {"options": {"x": "1"}},
        {"options": {"y": "1"}},
        [".options.y"],
        [".options.x"],
    ),
    "an emptied map": ({"options": {"x": "1"}}, {"options": {}}, [], [".options.x"]),
    "a filled map": ({"options": {}}, {"options": {"x": "1"}}, [".options.x"], []),
    "a map in place of null": ({"options": None}, {"options": {"x": "1"}}, [".options.x"], []),
    "null in place of a map": ({"options": {"x": "1"}}, {"options": None}, [], [".options.x"]),
    "null in place of an empty map": ({"options": {}}, {"options": None}, [".options"], []),
    "an atomic map": ({"box": {"width": 1}}, {"box": {"width": 2}}, [".box"], []),
    "an atomic list": ({"steps": ["a"]}, {"steps": ["a", "b"]}, [".steps"], []),
    "the order of an atomic list": ({"steps": ["a", "b"]}, {"steps": ["b", "a"]}, [".steps"], []),
    "a set": ({"tags": ["x", "y"]}, {"tags": ["z", "y"]}, ['.tags[="z"]'], ['.tags[="x"]']),
    "the order of a set": ({"tags": ["x", "y"]}, {"tags": ["y", "x"]}, [], []),
    "a new set": ({}, {"tags": ["x"]}, [".tags", '.tags[="x"]'], []),
    "an entry": (
        {"parts": [{"name": "x", "weight": 1}, {"name": "y"}]},
        {"parts": [{"name": "y"}, {"name": "x", "weight": 2}]},
        ['.parts[name="x"].weight'],
        [],
    ),
    "a new entry": (
        {"parts": []},
        {"parts": [{"name": "x"}]},
        ['.parts[name="x"]', '.parts[name="x"].name'],
        [],
    ),
    "a removed entry": (
        {"parts": [{"name": "x"}]},
        {"parts": []},
        [],
        ['.parts[name="x"]', '.parts[name="x"].name'],
    ),
    "an entry that comes twice": (
        {"parts": [{"name": "x"}]},
        {"parts": [{"name": "x"}, {"name": "x"}]},
        ['.parts[name="x"]'],
        ['.parts[name="x"]', '.parts[name="x"].name'],
    ),
    "two entries of a key become one": (
        {"parts": [{"name": "x"}, {"name": "x"}]},
        {"parts": [{"name": "x"}]},
        ['.parts[name="x"]', '.parts[name="x"].name'],
        ['.parts[name="x"]'],
    ),
    "two entries of a key change": (
        {"parts": [{"name": "x"}, {"name": "x"}]},
        {"parts": [{"name": "x"}, {"name": "x", "weight": 1}]},
        ['.parts[name="x"]'],
        [],
    ),
    "two entries of a key go": (
        {"parts": [{"name": "x"}, {"name": "x"}]},
        {"parts": []},
        [],
        ['.parts[name="x"]'],
    ),
    "two entries of a key come": (
        {"parts": []},
        {"parts": [{"name": "x"}, {"name": "x"}]},
        ['.parts[name="x"]'],
        [],
    ),
    "a map in place of a scalar": (
        {"free": {"a": 1}},
        {"free": {"a": {"b": 1}}},
        [".free.a", ".free.a.b"],
        [],
    ),
    "a scalar in place of a map": (
        {"free": {"a": {"b": 1}}},
        {"free": {"a": 1}},
        [".free.a"],
        [".free.a.b"],
    ),
    "a list in place of a map": (
        {"free": {"a": {"b": 1}}},
        {"free": {"a": [1]}},
        [".free.a"],
        [".free.a.b"],
    ),
}


@pytest.mark.parametrize("name", COMPARED)
def test_objects_differ_in_fields(name: str) -> None:
    old, new, changed, removed = COMPARED[name]
    found = compare(SPEC, old, new)
    assert sorted(shown(found.changed)) == sorted(changed)
    assert sorted(shown(found.removed)) == sorted(removed)


def parts(*names: str) -> Map:
    return {"parts": [{"name": name} for name in names]}


MERGED: dict[str, tuple[Map, Map, Map]] = {
    "scalars": ({"size": 1, "color": "a"}, {"size": 2}, {"size": 2, "color": "a"}),
    "null over a scalar": ({"size": 1}, {"size": None}, {"size": None}),
    "null over a map": ({"options": {"x": "1"}}, {"options": None}, {"options": {"x": "1"}}),
    "null over an empty map": ({"options": {}}, {"options": None}, {"options": None}),
    "null over a set": ({"tags": ["x"]}, {"tags": None}, {"tags": ["x"]}),
    "null over an atomic list": ({"steps": ["x"]}, {"steps": None}, {"steps": None}),
    "maps": ({"options": {"x": "1"}}, {"options": {"y": "2"}}, {"options": {"x": "1", "y": "2"}}),
    "an empty map": ({"options": {"x": "1"}}, {"options": {}}, {"options": {"x": "1"}}),
    "an empty map over null": ({"options": None}, {"options": {}}, {"options": {}}),
    "atomic maps": ({"box": {"width": 1}}, {"box": {"height": 2}}, {"box": {"height": 2}}),
    "atomic lists": ({"steps": ["a"]}, {"steps": ["b"]}, {"steps": ["b"]}),
    "sets": ({"tags": ["x", "y"]}, {"tags": ["z"]}, {"tags": ["x", "y", "z"]}),
    "an empty set": ({"tags": ["x"]}, {"tags": []}, {"tags": ["x"]}),
    "entries": (
        {"parts": [{"name": "x", "weight": 1}, {"name": "y"}]},
        {"parts": [{"name": "y", "weight": 2}, {"name": "z"}]},
        {"parts": [{"name": "x", "weight": 1}, {"name": "y", "weight": 2}, {"name": "z"}]},
    ),
    "an entry with a default in its key": (
        {"ports": [{"port": 80, "protocol": "TCP"}]},
        {"ports": [{"port": 80, "name": "a"}]},
        {"ports": [{"port": 80, "protocol": "TCP", "name": "a"}]},
    ),
    "in the order that is applied": (parts("a", "b", "c"), parts("c", "a"), parts("b", "c", "a")),
    "others stay before their followers": (
        parts("x", "a", "y", "b"),
        parts("a", "n", "b"),
        parts("x", "a", "y", "n", "b"),
    ),
    "an entry that is there twice is replaced by one": (
        parts("x", "x", "y"),
        {"parts": [{"name": "x", "weight": 1}]},
        {"parts": [{"name": "x", "weight": 1}, {"name": "y"}]},
    ),
    "a map over a scalar": (
        {"free": {"a": 1}},
        {"free": {"a": {"b": 1}}},
        {"free": {"a": {"b": 1}}},
    ),
    "a scalar over a map": ({"free": {"a": {"b": 1}}}, {"free": {"a": 1}}, {"free": {"a": 1}}),
}


@pytest.mark.parametrize("name", MERGED)
def test_what_is_applied_merges(name: str) -> None:
    live, config, merged = MERGED[name]
    assert merge(SPEC, live, config) == merged


REMOVED: dict[str, tuple[Map, list[str], Map | None]] = {
    "a scalar": ({"size": 1, "color": "a"}, ["size"], {"color": "a"}),
    "a key of a map": ({"options": {"x": "1", "y": "2"}}, ["options.x"], {"options": {"y": "2"}}),
    "all keys of a map": ({"options": {"x": "1"}}, ["options.x"], {"options": None}),
    "everything": ({"size": 1}, ["size"], None),
    "a map as a whole": ({"options": {"x": "1"}, "size": 1}, ["options"], {"size": 1}),
    "a part of an atomic map": ({"box": {"width": 1}}, ["box.width"], {"box": None}),
    "nothing of it": ({"size": 1}, ["color"], {"size": 1}),
}


@pytest.mark.parametrize("name", REMOVED)
def test_fields_are_removed(name: str) -> None:
    spec, fields, left = REMOVED[name]
    assert remove(SPEC, spec, tree(fields)) == left


def tree(fields: list[str]) -> Any:
    out: Any = {}
    for field in fields:
        below = out
        for step in field.split("."):
            below = below.setdefault(f"f:{step}", {})
    return out


def test_entries_are_removed_with_all_that_is_in_them() -> None:
    spec = {"parts": [{"name": "x", "weight": 1}, {"name": "y"}], "tags": ["a", "b"]}
    fields: Any = {"f:parts": {'k:{"name":"x"}': {}}, "f:tags": {'v:"b"': {}}}
    assert remove(SPEC, spec, fields) == {"parts": [{"name": "y"}], "tags": ["a"]}
    inner: Any = {"f:parts": {'k:{"name":"x"}': {"f:weight": {}}}}
    assert remove(SPEC, spec, inner)["parts"] == [{"name": "x"}, {"name": "y"}]


def test_named_fields_on_the_way_to_members_are_members() -> None:
    fields = field_set(WIDGET, {"spec": {"options": {"x": "1"}, "parts": [{"name": "x"}]}})
    added = difference(with_named_parents(WIDGET, fields), fields)
    assert sorted(shown(added)) == [".spec", ".spec.options", ".spec.parts"]


_KEYS = 'associative list with keys has an element that omits all key fields ["name"] '
MALFORMED: list[tuple[Map, str]] = [
    ({"parts": [None]}, "associative list with keys may not have a null element"),
    ({"parts": [1]}, "associative list with keys may not have non-map elements"),
    (
        {"parts": [{"weight": 1}]},
        f"{_KEYS}(and doesn't have default values for any key fields)",
    ),
    ({"tags": [None]}, "associative list without keys has an element that's an explicit null"),
    ({"tags": [{}]}, "associative list without keys has an element that's a map type"),
    ({"tags": [[]]}, "not supported: associative list with lists as elements"),
    ({"parts": [{"name": {}}]}, "the keys of an entry are scalars"),
]


@pytest.mark.parametrize("spec, message", MALFORMED)
def test_entries_that_cannot_be_told_apart_are_refused(spec: Map, message: str) -> None:
    for ask in (
        lambda: field_set(SPEC, spec),
        lambda: compare(SPEC, {}, spec),
        lambda: compare(SPEC, spec, {"parts": [{"name": "x"}], "tags": ["x"]}),
    ):
        with pytest.raises(MalformedListError) as caught:
            ask()
        assert str(caught.value) == message


@given(TYPED_WIDGETS, TYPED_WIDGETS)
def test_a_merge_takes_nothing_away_and_holds_what_is_applied(live: Map, config: Map) -> None:
    before = copied(live)
    merged = merge(WIDGET, live, config)
    assert live == before
    assert compare(WIDGET, live, merged).removed == {}
    assert compare(WIDGET, merged, merge(WIDGET, merged, config)).changed == {}
    missing = difference(field_set(WIDGET, config), field_set(WIDGET, merged))
    # An empty map claims itself, and no longer does where it is merged with one that isn't empty.
    assert set(shown(missing)) <= {".spec", ".spec.options"}


@given(WIDGETS, WIDGETS)
def test_a_merge_that_changes_nothing_returns_the_very_object(live: Map, config: Map) -> None:
    merged = merge(WIDGET, live, config)
    assert merge(WIDGET, merged, copied(merged)) is merged


@given(WIDGETS, WIDGETS)
def test_a_comparison_turns_around(old: Map, new: Map) -> None:
    there, back = compare(WIDGET, old, new), compare(WIDGET, new, old)
    # Whatever comes and goes there goes and comes back; what changes does so both ways.
    assert set(shown(union(*there))) == set(shown(union(*back)))
    assert difference(there.removed, back.changed) == {}


@given(WIDGETS)
def test_nothing_differs_from_itself(widget: Map) -> None:
    assert compare(WIDGET, widget, copied(widget)) == ({}, {})


@given(WIDGETS)
def test_all_that_is_claimed_can_be_removed(widget: Map) -> None:
    fields = with_named_parents(WIDGET, field_set(WIDGET, widget))
    left = remove(WIDGET, widget, fields) or {}
    # An empty list that is shared by entry is claimed by nobody.
    assert all(value in ({}, [], None) for value in left.get("spec", {}).values())
