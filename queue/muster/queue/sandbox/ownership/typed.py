"""
What a schema makes of an object's fields: which there are, which differ, how two objects merge.

A map is shared by field unless its schema calls it atomic; a list is one field unless its schema
tells its entries apart by keys or by value. Where nothing is known of a value, maps are shared by
field and lists are not. Null stands for an empty map or list where the other side has one.

Nothing here changes an object; results share with their arguments what is the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from muster.queue.sandbox.ownership.fieldset import (
    SELF,
    Fields,
    as_member,
    keyed_step,
    ordered,
    valued_step,
)
from muster.queue.sandbox.schema.node import MISSING, Schema

Value = Any
"""A part of a JSON document, shared: never changed."""

_NO_PROPERTIES: Final[Mapping[str, Schema]] = {}
_CONTAINERS: Final[tuple[type, ...]] = (dict, list)


class MalformedListError(ValueError):
    """An entry of a list can't be told apart from the others."""


class Comparison(NamedTuple):
    """How one object differs from another before."""

    changed: Fields
    """The fields that are new or have another value."""
    removed: Fields


# -- what a schema says -------------------------------------------------------------------------


def _fields_of(schema: Schema | None) -> tuple[Mapping[str, Schema], Schema | None]:
    """Return the schemas of the named fields of a map, and of all other fields."""
    return (_NO_PROPERTIES, None) if schema is None else (schema.properties, schema.additional)


def _is_shared_map(schema: Schema | None, value: Value) -> bool:
    return isinstance(value, dict) and (schema is None or schema.map_type != "atomic")


def _is_shared_list(schema: Schema | None, value: Value) -> bool:
    return isinstance(value, list) and schema is not None and schema.list_type != "atomic"


def step_to(schema: Schema, item: Value) -> str:
    """Return the step to an entry of a list that is shared by entry; raises MalformedListError."""
    if schema.list_type == "set":
        return valued_step(_scalar(item))
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise MalformedListError(f"associative list with keys may not have {what}")
    names = schema.list_keys
    values = (item.get(names[0]),) if len(names) == 1 else schema.key_of(item)
    if values == (None,):
        values = schema.key_of(item)
    if any(isinstance(value, dict | list) for value in values):
        raise MalformedListError("the keys of an entry are scalars")
    if all(value is None for value in values):
        listed = " ".join(f'"{name}"' for name in names)
        raise MalformedListError(
            f"associative list with keys has an element that omits all key fields [{listed}] "
            "(and doesn't have default values for any key fields)"
        )
    return keyed_step(names, *values)


def _scalar(item: Value) -> Value:
    match item:
        case None:
            wrong = "associative list without keys has an element that's an explicit null"
        case dict():
            wrong = "associative list without keys has an element that's a map type"
        case list():
            wrong = "not supported: associative list with lists as elements"
        case _:
            return item
    raise MalformedListError(wrong)


# -- which fields there are ---------------------------------------------------------------------


def field_set(schema: Schema | None, obj: Mapping[str, Value]) -> Fields:
    """
    Return the fields that an applied object claims; raises MalformedListError.

    Those are its scalars and what is atomic or empty; and the entries of lists and of maps with
    free keys also as such.
    """
    return _claimed_in_map(schema, obj) or {}


def _claimed(schema: Schema | None, value: Value) -> Fields | None:
    """Return what is claimed below a value, {} for the value itself, None for nothing."""
    if _is_shared_map(schema, value):
        return _claimed_in_map(schema, value) if value else {}
    if _is_shared_list(schema, value):
        assert schema is not None
        return _claimed_in_list(schema, value)
    return {}


def _claimed_in_map(schema: Schema | None, value: Mapping[str, Value]) -> Fields | None:
    named, others = _fields_of(schema)
    fields: Fields = {}
    for name in sorted(value):
        part = value[name]
        if part.__class__ not in _CONTAINERS:
            fields[f"f:{name}"] = {}
        elif (known := named.get(name)) is None:
            fields[f"f:{name}"] = as_member(_claimed(others, part))
        elif (below := _claimed(known, part)) is not None:
            fields[f"f:{name}"] = below
    return fields or None


def _claimed_in_list(schema: Schema, value: list[Value]) -> Fields | None:
    fields: Fields = {}
    for item in value:
        step = step_to(schema, item)
        # Of entries that are there twice nobody owns a part.
        fields[step] = {} if step in fields else as_member(_claimed(schema.items, item))
    return ordered(fields) or None


def _whole(schema: Schema | None, value: Value) -> Fields:
    """Return all that comes or goes with a value: itself, and every field and entry in it."""
    if value.__class__ not in _CONTAINERS:
        return {}
    below = _parts(schema, value)
    return {SELF: {}, **below} if below else {}


def _parts(schema: Schema | None, value: Value) -> Fields:
    if _is_shared_map(schema, value):
        named, others = _fields_of(schema)
        fields: Fields = {}
        for name in sorted(value):
            part = value[name]
            # Most are scalars, which have no parts.
            is_container = part.__class__ in _CONTAINERS
            fields[f"f:{name}"] = _whole(named.get(name) or others, part) if is_container else {}
        return fields
    if _is_shared_list(schema, value):
        assert schema is not None
        fields = {}
        for item in value:
            step = step_to(schema, item)
            fields[step] = {} if step in fields else _whole(schema.items, item)
        return ordered(fields)
    return {}


# -- which fields differ ------------------------------------------------------------------------


def compare(
    schema: Schema | None, old: Mapping[str, Value], new: Mapping[str, Value]
) -> Comparison:
    """Return how a new object differs from an old one; raises MalformedListError."""
    changed, removed = _compare_maps(schema, old, new)
    return Comparison(changed or {}, removed or {})


_Below: TypeAlias = "Fields | None"
"""What differs below a step: {} for the step itself, None for nothing."""


def _compare(schema: Schema | None, old: Value, new: Value) -> tuple[_Below, _Below]:
    """Compare two values that differ."""
    if _is_shared_map(schema, old) and _is_shared_map(schema, new):
        return _compare_maps(schema, old, new)
    if _is_shared_list(schema, old) and _is_shared_list(schema, new):
        assert schema is not None
        return _compare_lists(schema, old, new)
    removed, changed = _parts(schema, old), _parts(schema, new)
    if (old is None and changed) or (new is None and removed):
        return changed or None, removed or None
    return as_member(changed), removed or None


def _compare_maps(
    schema: Schema | None, old: Mapping[str, Value], new: Mapping[str, Value]
) -> tuple[_Below, _Below]:
    named, others = _fields_of(schema)
    changed: Fields = {}
    removed: Fields = {}
    for name, value in new.items():
        before = old.get(name, MISSING)
        if before is value:
            continue
        if before is MISSING:
            changed[f"f:{name}"] = _whole(named.get(name) or others, value)
        elif before != value:
            _note(f"f:{name}", _compare(named.get(name) or others, before, value), changed, removed)
    for name, value in old.items():
        if name not in new:
            removed[f"f:{name}"] = _whole(named.get(name) or others, value)
    return ordered(changed) or None, ordered(removed) or None


def _note(step: str, found: tuple[_Below, _Below], changed: Fields, removed: Fields) -> None:
    if found[0] is not None:
        changed[step] = found[0]
    if found[1] is not None:
        removed[step] = found[1]


def _compare_lists(schema: Schema, old: list[Value], new: list[Value]) -> tuple[_Below, _Below]:
    before, after = _by_step(schema, old), _by_step(schema, new)
    changed: Fields = {}
    removed: Fields = {}
    for step in dict.fromkeys([*before, *after]):
        was, now = before.get(step, ()), after.get(step, ())
        if was == now:
            continue
        if len(was) == 1 and len(now) == 1:
            _note(step, _compare(schema.items, was[0], now[0]), changed, removed)
            continue
        # Entries that are there twice are one field as a whole.
        if now:
            changed[step] = _whole(schema.items, now[0]) if len(now) == 1 else {}
        if was and (len(was) == 1 or len(now) <= 1):
            removed[step] = _whole(schema.items, was[0]) if len(was) == 1 else {}
    return ordered(changed) or None, ordered(removed) or None


def _by_step(schema: Schema, items: list[Value]) -> dict[str, tuple[Value, ...]]:
    found: dict[str, tuple[Value, ...]] = {}
    for item in items:
        step = step_to(schema, item)
        found[step] = (*found.get(step, ()), item)
    return found


# -- one object into another --------------------------------------------------------------------


def merge(schema: Schema | None, live: Value, applied: Value) -> Value:
    """
    Return a live value with all that is applied to it: `live` itself if that changes nothing.

    Nothing is removed by it. Raises MalformedListError.
    """
    if _is_shared_map(schema, applied) and isinstance(live, dict):
        return _merge_maps(schema, live, applied)
    if _is_shared_list(schema, applied) and isinstance(live, list):
        assert schema is not None
        return _merge_lists(schema, live, applied) if live and applied else applied or live
    if applied is None and live and (_is_shared_map(schema, live) or _is_shared_list(schema, live)):
        return live
    return live if live == applied and type(live) is type(applied) else applied


def _merge_maps(schema: Schema | None, live: dict[str, Value], applied: dict[str, Value]) -> Value:
    named, others = _fields_of(schema)
    out: dict[str, Value] = {}
    for name, value in applied.items():
        now = live.get(name, MISSING)
        merged = value if now is MISSING else merge(named.get(name) or others, now, value)
        if merged is not now:
            out[name] = merged
    return {**live, **out} if out else live


def _merge_lists(schema: Schema, live: list[Value], applied: list[Value]) -> list[Value]:
    """
    Merge lists by entry.

    What both have is in the order of `applied`; entries of `live` alone stay before the entry that
    they stood before.
    """
    if live == applied:
        return live
    wanted = {step_to(schema, item): item for item in applied}
    steps = [step_to(schema, item) for item in live]
    present: dict[str, Value] = {}
    for step, item in zip(steps, live, strict=True):
        present[step] = MISSING if step in present else item
    order = _merged_order(steps, list(wanted))
    out = []
    for step, place in order:
        if place is not None:
            out.append(live[place])
        else:
            now = present.get(step, MISSING)
            item = wanted[step]
            out.append(item if now is MISSING else merge(schema.items, now, item))
    same = len(out) == len(live) and all(one is two for one, two in zip(out, live, strict=True))
    return live if same else out


def _merged_order(live: list[str], wanted: list[str]) -> list[tuple[str, int | None]]:
    """
    Return the steps of a merged list in order, those of `live` alone with their place there.

    An entry of both lists, met in `live` when its turn comes in `wanted`, brings along all that is
    wanted up to it. One that is met out of turn is passed over.
    """
    known = dict.fromkeys(live)
    applied = dict.fromkeys(wanted)
    turns = [step for step in reversed(wanted) if step in known]
    ahead = iter(wanted)
    order: list[tuple[str, int | None]] = []
    for place, step in enumerate(live):
        if step not in applied:
            order.append((step, place))
        elif not turns:
            # A repeated entry of `live` counts as the next one wanted.
            order += [(each, None) for each in islice(ahead, 1)]
        elif step == turns[-1]:
            turns.pop()
            for each in ahead:
                order.append((each, None))
                if each == step:
                    break
    return order + [(each, None) for each in ahead]


# -- parts of an object -------------------------------------------------------------------------


def remove(schema: Schema | None, value: Value, fields: Fields) -> Value:
    """
    Return a value without the fields of a set and all that is in them.

    What is emptied by that, but not in the set itself, becomes null.
    """
    if not fields:
        return value
    if _is_shared_map(schema, value):
        named, others = _fields_of(schema)
        out = {}
        for name, part in value.items():
            below = fields.get(f"f:{name}")
            if below is None:
                out[name] = part
            elif below and SELF not in below:
                out[name] = remove(named.get(name) or others, part, below)
        return out or None
    if _is_shared_list(schema, value):
        assert schema is not None
        left = []
        for item in value:
            below = fields.get(step_to(schema, item))
            if below is None:
                left.append(item)
            elif below and SELF not in below:
                left.append(remove(schema.items, item, below))
        return left or None
    return None if isinstance(value, dict | list) else value


def with_named_parents(schema: Schema | None, fields: Fields) -> Fields:
    """Return a set, and every field on the way to its members that the schema knows by name."""
    named, others = _fields_of(schema)
    out: Fields = {}
    for step, below in fields.items():
        if not below:
            out[step] = below
        elif step[0] == "f":
            known = named.get(step[2:])
            inner = with_named_parents(known or others, below)
            out[step] = inner if known is None else as_member(inner)
        else:
            out[step] = with_named_parents(schema.items if schema else None, below)
    return out
