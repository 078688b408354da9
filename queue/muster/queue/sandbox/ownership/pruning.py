"""What goes from an object because its manager no longer applies it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muster.queue.sandbox.ownership.fieldset import Fields, difference, intersection, union
from muster.queue.sandbox.ownership.typed import field_set, remove, with_named_parents
from muster.queue.sandbox.schema.node import Schema


def prune(
    schema: Schema, merged: dict[str, Any], last: Fields, claims: Iterable[Fields]
) -> dict[str, Any]:
    """
    Return an object without what its manager applied last and nobody claims any longer.

    `claims` are the sets of all managers, with the new one of this manager. Entries of lists and
    maps go with all that is in them unless somebody claims a part.
    """
    claims = list(claims)
    if not difference(last, union_of(claims)):
        return merged
    # Whatever goes is in `last`, so only top-level fields that it reaches into are looked at.
    reached = {f"f:{name}" for name in merged} & last.keys()
    part = {name: value for name, value in merged.items() if f"f:{name}" in reached}
    own = with_named_parents(schema, last)
    claimed = with_named_parents(
        schema, union_of([{s: set_[s] for s in set_ if s in reached} for set_ in claims])
    )
    everything = with_named_parents(schema, field_set(schema, part))
    kept = _fields_of(schema, remove(schema, part, own))
    pruned = remove(schema, part, difference(everything, union(kept, claimed)))
    gone = difference(everything, _fields_of(schema, pruned))
    left = remove(schema, part, intersection(gone, own)) or {}
    return {
        name: left.get(name, value)
        for name, value in merged.items()
        if name not in part or name in left
    }


def _fields_of(schema: Schema, obj: dict[str, Any] | None) -> Fields:
    return with_named_parents(schema, field_set(schema, obj)) if obj else {}


def union_of(sets: Iterable[Fields]) -> Fields:
    """Return the fields that are in any of the sets."""
    out: Fields = {}
    for fields in sets:
        out = union(out, fields)
    return out
