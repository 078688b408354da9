"""
Sets of fields as `managedFields` writes them (FieldsV1), and what can be done with sets.

A set is kept in the very form in which it is stored, so that nothing is parsed or serialised on
the way of a write: nested mappings whose keys name one step each, `f:name` for a field,
`k:{"name":"a"}` for an entry of a list by its keys, `v:"a"` for one by its value, `i:0` by its
place. A step with nothing below is a member of the set; one with something below is a member only
if it also has the key ".".

Every function expects and returns steps in the order in which a real API server writes them, and
none changes a set that it is given; results may share parts with arguments.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeAlias

import orjson

from muster.queue.sandbox.schema.go import escaped

Fields: TypeAlias = "dict[str, Fields]"

SELF: Final = "."
"""The key that makes a member of something that has members below."""

_KNOWN_MAX: Final = 65_536


class MalformedFieldsError(ValueError):
    """A document is no set of fields."""


# -- steps --------------------------------------------------------------------------------------


@lru_cache(_KNOWN_MAX, typed=True)
def keyed_step(names: tuple[str, ...], *values: Any) -> str:
    """Return the step to an entry of a list by its keys; None stands for a key that is absent."""
    key = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    return "k:" + _dumped(key)


@lru_cache(_KNOWN_MAX, typed=True)
def valued_step(value: Any) -> str:
    """Return the step to an entry of a list by its value, a scalar."""
    return "v:" + _dumped(value)


def _dumped(value: Any) -> str:
    return escaped(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


@lru_cache(_KNOWN_MAX)
def _rank(step: str) -> tuple[Any, ...]:
    """Return what puts steps in order: fields by name, then entries by keys, values, place."""
    kind, content = step[0], step[2:]
    if kind == "f":
        return (1, content)
    if kind == "k":
        return (
            2,
            *[(name, _rank_of_value(value)) for name, value in orjson.loads(content).items()],
        )
    if kind == "v":
        return (3, _rank_of_value(orjson.loads(content)))
    return (4, int(content)) if kind == "i" else (0,)


def _rank_of_value(value: Any) -> tuple[int, Any]:
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case _:
            return (3, orjson.dumps(value))


def ordered(fields: Fields) -> Fields:
    """Return one level of a set in order."""
    return {step: fields[step] for step in sorted(fields, key=_rank)} if len(fields) > 1 else fields


@lru_cache(_KNOWN_MAX)
def shown_step(step: str) -> str:
    """Return a step as messages show it: `.name`, `[name="a"]`, `[="a"]`, `[0]`."""
    kind, content = step[0], step[2:]
    if kind == "f":
        return f".{content}"
    if kind == "k":
        pairs = orjson.loads(content).items()
        return f"[{','.join(f'{name}={_dumped(value)}' for name, value in pairs)}]"
    return f"[={content}]" if kind == "v" else f"[{content}]"


# -- documents ----------------------------------------------------------------------------------


def parsed(document: object) -> Fields:
    """
    Read a set that a client wrote, in whatever order and spelling.

    Raises MalformedFieldsError. Kinds of steps that are not known are left out.
    """
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise MalformedFieldsError("a set of fields is an object")
    fields: Fields = {}
    for step, inner in document.items():
        if step == SELF:
            fields[SELF] = {}
        elif (known := _canonical(step)) is not None:
            fields[known] = parsed(inner)
    if len(fields) == 1 and SELF in fields:
        return {}
    return ordered(fields)


def _canonical(step: str) -> str | None:
    kind, colon, content = step[:1], step[1:2], step[2:]
    if colon != ":":
        raise MalformedFieldsError(f"missing colon: {step}")
    if kind == "f":
        return step
    try:
        match kind:
            case "k":
                return "k:" + _dumped(dict(orjson.loads(content)))
            case "v":
                return "v:" + _dumped(orjson.loads(content))
            case "i":
                return f"i:{int(content)}"
            case _:
                return None
    except (ValueError, TypeError) as error:
        raise MalformedFieldsError(f"{step}: {error}") from error


# -- sets ---------------------------------------------------------------------------------------


def as_member(fields: Fields | None) -> Fields:
    """Return what is below a step such that the step is a member, too."""
    if not fields or SELF in fields:
        return fields or {}
    return {SELF: {}, **fields}


def union(one: Fields, other: Fields) -> Fields:
    """Return the fields that are in either."""
    if not one or not other:
        return one or other
    out = dict(one)
    for step, theirs in other.items():
        ours = out.get(step)
        out[step] = theirs if ours is None else _joined(ours, theirs)
    return ordered(out) if len(out) > len(one) else out


def _joined(one: Fields, other: Fields) -> Fields:
    if one is other or one == other:
        return one
    if not one:
        return as_member(other)
    return union(one, other) if other else as_member(one)


def difference(one: Fields, other: Fields) -> Fields:
    """Return the fields that are in `one` only: `one` itself if `other` has none of it."""
    return (_less(one, other) or {}) if one and other else one


def _less(one: Fields, other: Fields) -> Fields | None:
    """Return what is left below a step, None for nothing."""
    if not one:
        return None if not other or SELF in other else one
    if not other:
        if SELF not in one:
            return one
        return {step: inner for step, inner in one.items() if step != SELF}
    out: Fields = {}
    same = True
    for step, ours in one.items():
        theirs = other.get(step)
        left = ours if theirs is None else _less(ours, theirs)
        if left is not None:
            out[step] = left
        same = same and left is ours
    if same:
        return one
    if len(out) == 1 and SELF in out:
        return {}
    return out or None


def difference_below(one: Fields, other: Fields) -> Fields:
    """Return the fields of `one` that are neither in `other` nor below a field that is."""
    return (_less_below(one, other) or {}) if one and other else one


def _less_below(one: Fields, other: Fields) -> Fields | None:
    """Return what is left below a step that `other` has only parts of, None for nothing."""
    if not one:
        return one
    out: Fields = {}
    for step, ours in one.items():
        theirs = other.get(step)
        if theirs is None:
            out[step] = ours
        elif not _is_member(theirs) and (left := _less_below(ours, theirs)) is not None:
            out[step] = left
    if len(out) == 1 and SELF in out:
        return {}
    return out or None


def intersection(one: Fields, other: Fields) -> Fields:
    """Return the fields that are in both."""
    return (_shared(one, other) or {}) if one and other else {}


def _shared(one: Fields, other: Fields) -> Fields | None:
    """Return what both have below a step, None for nothing."""
    if not one:
        return one if not other or SELF in other else None
    if not other:
        return other if SELF in one else None
    out: Fields = {}
    for step, ours in one.items():
        theirs = other.get(step)
        if theirs is not None and (both := _shared(ours, theirs)) is not None:
            out[step] = both
    if len(out) == 1 and SELF in out:
        return {}
    return out or None


def paths(fields: Fields) -> list[tuple[str, ...]]:
    """Return the members of a set, each as its steps from the root: nearer ones first."""
    found: list[tuple[str, ...]] = [
        (step,) for step, inner in fields.items() if step != SELF and _is_member(inner)
    ]
    for step, inner in fields.items():
        found += [(step, *path) for path in paths(inner)]
    return found


def _is_member(inner: Fields) -> bool:
    return not inner or SELF in inner


def from_paths(all_paths: list[tuple[str, ...]]) -> Fields:
    """Return the set of these members, each given by its steps from the root."""
    fields: Fields = {}
    for path in all_paths:
        below: Fields = {}
        for step in reversed(path):
            below = {step: below}
        fields = union(fields, below)
    return fields
