"""
Objects before they have any content: what a write that creates one is compared with.

A custom object has no field then. A built-in one is a Go struct, and fields that are structs
themselves, or that are always written, are in it already: whoever creates the object comes to own
what is in them, but not these fields as such.
"""

from __future__ import annotations

from typing import Any, Final

from muster.queue.sandbox.schema.node import Schema

_COMPILED: Final = "empty object"
_NULL: Final = frozenset({("ClusterRole", "rules"), ("Role", "rules")})
"""Lists that are always written, although nothing requires them."""


def empty_object(schema: Schema) -> dict[str, Any]:
    """Return what an object of a kind is without content, shared."""
    if _COMPILED not in schema.compiled:
        schema.compiled[_COMPILED] = _fields(schema) if schema.name else {}
    empty: dict[str, Any] = schema.compiled[_COMPILED]
    return empty


def _fields(schema: Schema) -> dict[str, Any]:
    required = schema.raw.get("required") or ()
    kind = schema.name.rpartition(".")[2]
    fields: dict[str, Any] = {}
    for name, described in (schema.raw.get("properties") or {}).items():
        field = schema.properties[name]
        zero = described.get("default")
        if isinstance(zero, dict):
            fields[name] = _fields(field) if field.type == "object" else None
        elif zero is not None:
            fields[name] = zero
        elif _is_null(field, required=name in required or (kind, name) in _NULL):
            fields[name] = None
    return fields


def _is_null(field: Schema, *, required: bool) -> bool:
    """Say whether a field without content may be written as null: lists and maps, and times."""
    return (required and field.type in {"array", "object"}) or field.raw.get(
        "format"
    ) == "date-time"
