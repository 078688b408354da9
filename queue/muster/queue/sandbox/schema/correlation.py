"""
Finds the old value that a value in a changed object replaces.

Fields correlate by name, values of maps by key, entries of "map" lists by what tells them apart;
other lists only as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from muster.queue.sandbox.schema.node import MISSING, Schema


def same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are the same, true not being 1."""
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is dict:
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if one.__class__ is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def unchanged(schema: Schema, value: Any, old: Any, place: Sequence[str | int]) -> bool:
    """
    Tell whether the value at `place` in `value`, or anything that holds it, is as it was.

    `place` is the steps to it, the last one first.
    """
    node: Schema | None = schema
    for step in reversed(place):
        if same(value, old):
            return True
        old = old_value(node, old, value, step)
        if node is None or old is MISSING:
            return False
        value = value[step]
        node = node.items if isinstance(step, int) else node.field(step)
    return same(value, old)


def old_value(schema: Schema | None, old: Any, value: Any, step: str | int) -> Any:
    """Return what `value[step]` replaces in `old`, MISSING if it replaces nothing."""
    if isinstance(step, str):
        return old.get(step, MISSING) if isinstance(old, dict) else MISSING
    if schema is None or schema.list_type != "map" or not isinstance(old, list):
        return MISSING
    return old_entry(schema, old, value[step])


def old_entry(schema: Schema, old: Sequence[Any], entry: Any) -> Any:
    """Return the entry of a "map" list with the same keys, MISSING without."""
    if not isinstance(entry, Mapping):
        return MISSING
    key = schema.key_of(entry)
    for each in old:
        if isinstance(each, Mapping) and schema.key_of(each) == key:
            return each
    return MISSING


_COMPILED: Final = "has unordered lists"


def aligned(schema: Schema, old: Any, new: Any) -> Any:
    """
    Return the old value with the entries of "set" and "map" lists in the order they have in `new`.

    The order of such lists is no matter, so that the two are equal if nothing else has changed.
    """
    if not _has_unordered(schema):
        return old
    if old.__class__ is dict and new.__class__ is dict:
        return {
            name: aligned(child, value, new[name])
            if name in new and (child := schema.field(name)) is not None
            else value
            for name, value in old.items()
        }
    if old.__class__ is list and new.__class__ is list:
        return _aligned_list(schema, old, new)
    return old


def _aligned_list(schema: Schema, old: list[Any], new: list[Any]) -> list[Any]:
    if schema.list_type == "atomic" or schema.items is None:
        return old
    rest, found = list(old), []
    for entry in new:
        for index, each in enumerate(rest):
            if _is_same_entry(schema, each, entry):
                found.append(aligned(schema.items, rest.pop(index), entry))
                break
    return found + rest


def _is_same_entry(schema: Schema, one: Any, other: Any) -> bool:
    if schema.list_type == "set":
        return same(one, other)
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return False
    return schema.key_of(one) == schema.key_of(other)


def _has_unordered(schema: Schema) -> bool:
    if _COMPILED not in schema.compiled:
        below = (*schema.properties.values(), schema.additional, schema.items)
        schema.compiled[_COMPILED] = not schema.name and (
            (schema.type == "array" and schema.list_type != "atomic")
            or any(child is not None and _has_unordered(child) for child in below)
        )
    has_unordered: bool = schema.compiled[_COMPILED]
    return has_unordered
