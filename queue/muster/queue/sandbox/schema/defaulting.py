"""
Fills what an object leaves out with the defaults of its definition.

For custom kinds only: built-in kinds are filled by their strategies. A default goes into an object
that is there, never into a missing parent; a null that may not be null counts as missing. Parts of
a schema without any default are not visited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from muster.queue.sandbox.schema.node import MISSING, Schema

_Fill = Callable[[Any], None]

_COMPILED: Final = "fill_defaults"


def fill_defaults(schema: Schema, obj: dict[str, Any]) -> None:
    """Fill `obj` in place; run it after `prune`, which drops the nulls that have no default."""
    fill = compiled(schema)
    if fill is not None:
        fill(obj)


def copied(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    if value.__class__ is dict:
        return {name: copied(field) for name, field in value.items()}
    if value.__class__ is list:
        return [copied(item) for item in value]
    return value


def compiled(schema: Schema) -> _Fill | None:
    """Return what fills a value of `schema` in place, None if there is nothing to fill."""
    if _COMPILED not in schema.compiled:
        schema.compiled[_COMPILED] = _compile(schema)
    fill: _Fill | None = schema.compiled[_COMPILED]
    return fill


def _compile(schema: Schema) -> _Fill | None:
    if schema.name:
        return None
    if schema.items is not None:
        return _compile_list(schema.items)
    return _compile_object(schema)


def _compile_object(schema: Schema) -> _Fill | None:
    own = [
        (name, child.default, child.nullable)
        for name, child in schema.properties.items()
        if child.default not in (MISSING, None)
    ]
    inner = [
        (name, fill)
        for name, child in schema.properties.items()
        if (fill := compiled(child)) is not None
    ]
    rest = None if schema.additional is None else _compile_values(schema)
    if not own and not inner:
        return rest

    def fill_object(obj: Any) -> None:
        if obj.__class__ is not dict:
            return
        for name, default, nullable in own:
            if obj.get(name) is None and not (nullable and name in obj):
                obj[name] = copied(default)
        for name, fill in inner:
            if name in obj:
                fill(obj[name])
        if rest is not None:
            rest(obj)

    return fill_object


def _compile_values(schema: Schema) -> _Fill | None:
    """Return what fills the values of a map with free keys."""
    values = schema.additional
    assert values is not None
    fill, instead, known = compiled(values), _instead_of_null(values), schema.properties
    if fill is None and instead is None:
        return None

    def fill_values(obj: Any) -> None:
        if obj.__class__ is not dict:
            return
        for name, value in obj.items():
            if name in known:
                continue
            if value is None and instead is not None:
                obj[name] = copied(instead)
            if fill is not None:
                fill(obj[name])

    return fill_values


def _compile_list(items: Schema) -> _Fill | None:
    fill, instead = compiled(items), _instead_of_null(items)
    if fill is None and instead is None:
        return None

    def fill_list(value: Any) -> None:
        if value.__class__ is not list:
            return
        for index, item in enumerate(value):
            if item is None and instead is not None:
                value[index] = copied(instead)
            if fill is not None:
                fill(value[index])

    return fill_list


def _instead_of_null(schema: Schema) -> Any:
    """Return the default that stands in for null, None where null stays."""
    return None if schema.nullable or schema.default is MISSING else schema.default
