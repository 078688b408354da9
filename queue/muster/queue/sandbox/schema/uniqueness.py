"""
Judges whether entries of "set" lists, and the keys of those of "map" lists, are told apart.

As on a real server an update is let pass if anything of this kind was wrong before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from muster.queue.client.refusal import FieldError, duplicate, invalid_value
from muster.queue.sandbox.schema.node import Schema

_Check = Callable[[str, Any, list[FieldError]], None]
"""Adds to the errors found what is wrong with the value at a path."""

_COMPILED: Final = "uniqueness"


def duplicates(schema: Schema, obj: Any) -> list[FieldError]:
    """Return the errors of all lists in an object."""
    check = _compiled(schema)
    errors: list[FieldError] = []
    if check is not None:
        check("", obj, errors)
    return errors


def _compiled(schema: Schema) -> _Check | None:
    if _COMPILED not in schema.compiled:
        schema.compiled[_COMPILED] = None if schema.name else _compile(schema)
    check: _Check | None = schema.compiled[_COMPILED]
    return check


def _compile(schema: Schema) -> _Check | None:
    if schema.type == "array":
        return _list_check(schema)
    checks = {
        name: check
        for name, child in schema.properties.items()
        if (check := _compiled(child)) is not None
    }
    check_rest = None if schema.additional is None else _compiled(schema.additional)
    if not checks and check_rest is None:
        return None
    known = schema.properties

    def check_object(path: str, value: Any, errors: list[FieldError]) -> None:
        if value.__class__ is not dict:
            return
        for name, check in checks.items():
            if name in value:
                check(f"{path}.{name}" if path else name, value[name], errors)
        if check_rest is not None:
            for name, field in value.items():
                if name not in known:
                    check_rest(f"{path}[{name}]", field, errors)

    return check_object


def _list_check(schema: Schema) -> _Check | None:
    check_item = None if schema.items is None else _compiled(schema.items)
    keys = schema.list_keys if schema.list_type == "map" else ()
    is_set = schema.list_type == "set"
    if check_item is None and not keys and not is_set:
        return None

    def check_list(path: str, value: Any, errors: list[FieldError]) -> None:
        if value.__class__ is not list:
            return
        if keys:
            errors += _repeated_keys(path, value, keys)
        elif is_set and len(value) > 1:
            errors += _repeated(path, value)
        if check_item is not None:
            for index, item in enumerate(value):
                check_item(f"{path}[{index}]", item, errors)

    return check_list


def _repeated(path: str, entries: Sequence[Any]) -> list[FieldError]:
    """Return an error for the second of each entries that are equal."""
    times: dict[Any, int] = {}
    errors: list[FieldError] = []
    for index, entry in enumerate(entries):
        key = entry if entry.__class__ is str else _frozen(entry)
        count = times[key] = times.get(key, 0) + 1
        if count == 2:  # noqa: PLR2004 - the first that repeats another
            errors.append(duplicate(f"{path}[{index}]", entry))
    return errors


def _frozen(value: Any) -> Any:
    """Return what is equal for equal values only, texts not being numbers nor true being 1."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _repeated_keys(path: str, entries: Sequence[Any], keys: Sequence[str]) -> list[FieldError]:
    for index, entry in enumerate(entries):
        if entry is not None and not isinstance(entry, dict):
            why = "must be an object for an array of list-type map"
            return [invalid_value(f"{path}[{index}]", entry, why)]
    if len(keys) == 1:
        (key,) = keys
        values = {entry[key] for entry in entries if entry and entry.get(key).__class__ is str}
        if len(values) == len(entries):
            return []
    told_apart = [
        {name: entry[name] for name in keys if name in entry} if entry else {} for entry in entries
    ]
    return _repeated(path, told_apart)
