"""
Drops from an object what its definition doesn't know: unknown fields, and nulls that may not be.

For custom kinds; what is built in below them, such as their metadata, is decoded. Nothing is
validated: a value of the wrong type stays, without fields of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from muster.queue.client.refusal import shown
from muster.queue.sandbox.schema import decoding
from muster.queue.sandbox.schema.decoding import DecodingError, prefix
from muster.queue.sandbox.schema.node import FIELDLESS, MISSING, Schema, has_embedded

_Prune = Callable[[Any, list[str]], None]
"""Changes a value, and adds to the unknown fields found."""

_COMPILED: Final = "prune"
_METADATA: Final = "metadata"
_ATTRIBUTES: Final = ("apiVersion", "kind", _METADATA)


def prune(
    schema: Schema, obj: dict[str, Any], pruned: Mapping[str, Any] | None = None
) -> list[str]:
    """
    Drop what is unknown from `obj`, in place, and return its paths, as in "spec.items[0].x".

    Of nested unknown fields only the outermost is named. What `obj` has in common with `pruned`, an
    object that was pruned before, is known. Raises DecodingError where metadata has a value of the
    wrong type. Objects of built-in kinds are decoded, which comes to the same.
    """
    if schema.name:
        return decoding.decode(schema, obj)
    of_metadata: list[str] = []
    if (metadata := obj.get(_METADATA)) is not None:
        of_metadata = _within(
            _METADATA, sorted(decoding.decode(schema.properties[_METADATA], metadata))
        )
    unknown: list[str] = []
    part = obj if pruned is None else _differing(obj, pruned)
    given = () if part is obj else tuple(part)
    compiled(schema)(part, unknown)
    for name in given:
        if name not in part:
            del obj[name]
    unknown = sorted(path[1:] for path in unknown) if unknown else unknown
    embedded: list[str] = []
    if has_embedded(schema):
        for name, child in schema.properties.items():
            if name in part and name not in _ATTRIBUTES:
                _decode_embedded(child, part[name], name, embedded)
    return of_metadata + unknown + embedded


def _differing(obj: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object that another one doesn't have alike."""
    return {name: value for name, value in obj.items() if other.get(name, MISSING) != value}


def compiled(schema: Schema) -> _Prune:
    """Return what prunes a value of `schema`, which is that of a custom kind or of a part of it."""
    if _COMPILED not in schema.compiled:
        schema.compiled[_COMPILED] = _compile(schema)
    prune: _Prune = schema.compiled[_COMPILED]
    return prune


def _compile(schema: Schema) -> _Prune:
    # A value may have another type than its schema says.
    prune_object = _compile_object(schema)
    prune_item = compiled(schema.items or FIELDLESS) if schema is not FIELDLESS else None
    keeps_items = schema.items is None and schema.preserves_unknown

    def prune(value: Any, unknown: list[str]) -> None:
        if value.__class__ is dict:
            prune_object(value, unknown)
        elif value.__class__ is list and not keeps_items:
            _prune_list(value, unknown, prune_item or prune)

    return prune


def _prune_list(value: list[Any], unknown: list[str], prune_item: _Prune) -> None:
    known = len(unknown)
    for index, item in enumerate(value):
        if item.__class__ is dict or item.__class__ is list:
            prune_item(item, unknown)
            if len(unknown) != known:
                known = prefix(unknown, known, f"[{index}]")


def _compile_object(schema: Schema) -> _Prune:
    rest = schema.additional
    # With what prunes a value: whether null is dropped. One with a default is filled in later.
    fields: dict[str, tuple[_Prune, bool]] = {
        name: (compiled(child), not child.nullable and child.default is MISSING)
        for name, child in schema.properties.items()
        if not child.name
    }
    of_rest = None
    if rest is not None:
        nulls_go = rest is not FIELDLESS and not rest.nullable and rest.default is MISSING
        of_rest = compiled(rest), nulls_go
    # Of objects that have them; they are decoded, or are plain texts.
    ignored = _ATTRIBUTES if _METADATA in schema.properties and _METADATA not in fields else ()
    return _object_pruner(fields, of_rest, ignored, closed=not schema.preserves_unknown)


def _object_pruner(
    fields: Mapping[str, tuple[_Prune, bool]],
    of_rest: tuple[_Prune, bool] | None,
    ignored: Sequence[str],
    *,
    closed: bool,
) -> _Prune:
    def prune_object(obj: Any, unknown: list[str]) -> None:
        known = len(unknown)
        dropped: list[str] = []
        for name, value in obj.items():
            field = fields.get(name, of_rest)
            if field is None:
                if closed and name not in ignored:
                    dropped.append(name)
                    unknown.append(f".{name}")
                    known += 1
            elif value is None:
                if field[1]:
                    dropped.append(name)
            elif value.__class__ is dict or value.__class__ is list:
                field[0](value, unknown)
                if len(unknown) != known:
                    known = prefix(unknown, known, f".{name}")
        for name in dropped:
            del obj[name]

    return prune_object


def _within(parent: str, paths: list[str]) -> list[str]:
    return [f"{parent}{path}" if path.startswith("[") else f"{parent}.{path}" for path in paths]


def _decode_embedded(schema: Schema, value: Any, path: str, unknown: list[str]) -> None:
    """Decode the metadata of the objects embedded in a value."""
    if isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            _decode_embedded(schema.items, item, f"{path}[{index}]", unknown)
    if not isinstance(value, dict):
        return
    if schema.embedded:
        unknown += _decode_attributes(schema, value, path)
    for name, field in value.items():
        child = schema.field(name)
        if child is not None and not child.name:
            _decode_embedded(child, field, f"{path}.{name}", unknown)


def _decode_attributes(schema: Schema, obj: dict[str, Any], path: str) -> list[str]:
    """Decode the metadata of an embedded object and return the paths unknown in it."""
    for name in ("apiVersion", "kind"):
        if name in obj and not isinstance(obj[name], str):
            told = f"Invalid value: {shown(obj[name])}: must be a string"
            raise DecodingError(f"{path}.{name}: {told}")
    metadata = obj.get(_METADATA)
    if metadata is None:
        return []
    place = f"{path}.{_METADATA}"
    try:
        unknown = decoding.decode(schema.properties[_METADATA], metadata)
    except DecodingError as error:
        raise DecodingError(f"{place}: Invalid value: {shown(metadata)}: {error}") from error
    return _within(place, sorted(unknown))
