"""
Finds the old value that a value in a changed object replaces.

Fields correlate by name, values of maps by key, entries of "map" lists by what tells them apart;
other lists only as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
