"""
Whether an applied object is what its schema says, as far as its fields can be told apart by it.

This is not validation: it only finds what would make it impossible to say which fields are applied,
in the words of a real API server, which shows values as Go does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from muster.queue.sandbox.ownership.fieldset import shown_step
from muster.queue.sandbox.ownership.typed import MalformedListError, step_to
from muster.queue.sandbox.schema.go import go_type, shown
from muster.queue.sandbox.schema.node import Schema


def mismatches(schema: Schema | None, obj: dict[str, Any]) -> str:
    """Return what is wrong with an applied object, "" if nothing is."""
    if _conforms(schema, obj, preserves=False):
        return ""
    found = list(_mismatches(schema, obj, preserves=False))
    return "\n  ".join(["errors:", *found] if len(found) > 1 else found)


def _conforms(schema: Schema | None, value: Any, *, preserves: bool) -> bool:
    """Tell whether nothing is wrong with a value, in less time than saying it takes."""
    if schema is None or value is None:
        return True
    kind = schema.type
    preserves = preserves or schema.preserves_unknown
    if value.__class__ is dict and kind in {"object", ""}:
        known, others = schema.properties, schema.additional
        for name, part in value.items():
            child = known.get(name) or others
            if child is None:
                if known and not preserves:
                    return False
            elif part.__class__ is str and child.type == "string":
                continue
            elif not _conforms(child, part, preserves=preserves):
                return False
        return True
    if value.__class__ is list and kind in {"array", ""}:
        if schema.list_type != "atomic" and not _are_told_apart(schema, value):
            return False
        return all(_conforms(schema.items, item, preserves=preserves) for item in value)
    return not _wrong_kind(schema, value)


def _are_told_apart(schema: Schema, items: list[Any]) -> bool:
    try:
        return len({step_to(schema, item) for item in items}) == len(items)
    except MalformedListError:
        return False


def _mismatches(schema: Schema | None, value: Any, *, preserves: bool) -> Iterator[str]:
    """Yield what is wrong with a value, each after the steps to it from there."""
    if schema is None or value is None:
        return
    kind = schema.type
    preserves = preserves or schema.preserves_unknown
    if isinstance(value, dict) and kind in {"object", ""}:
        yield from _in_map(schema, value, preserves=preserves)
    elif isinstance(value, list) and kind in {"array", ""}:
        yield from _in_list(schema, value, preserves=preserves)
    elif wrong := _wrong_kind(schema, value):
        yield f": {wrong}"


def _in_map(schema: Schema, value: dict[str, Any], *, preserves: bool) -> Iterator[str]:
    for name, part in value.items():
        known = schema.properties.get(name) or schema.additional
        if known is None and schema.properties and not preserves:
            yield f".{name}: field not declared in schema"
            return
        yield from _within(f".{name}", _mismatches(known, part, preserves=preserves))


def _in_list(schema: Schema, value: list[Any], *, preserves: bool) -> Iterator[str]:
    seen = set()
    for place, item in enumerate(value):
        shown = f"[{place}]"
        if schema.list_type != "atomic":
            try:
                step = step_to(schema, item)
            except MalformedListError as error:
                yield f": element {place}: {error}"
                return
            shown = shown_step(step)
            if step in seen:
                yield f": duplicate entries for key {shown}"
            seen.add(step)
        yield from _within(shown, _mismatches(schema.items, item, preserves=preserves))


def _within(step: str, found: Iterable[str]) -> Iterator[str]:
    return (f"{step}{each}" for each in found)


def _wrong_kind(schema: Schema, value: Any) -> str:
    """Return what is wrong with a value, neither null nor of its kind of container."""
    kind = schema.type
    if kind == "string" and schema.raw.get("format") not in {None, "byte"}:
        kind = ""
    match kind:
        case "object":
            return f"expected map, got &{{{shown(value)}}}"
        case "array":
            return f"expected list, got &{{{shown(value)}}}"
        case "integer" | "number" if type(value) not in (int, float):
            return f"expected numeric (int or float), got {go_type(value)}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got &{{{shown(value)}}}"
        case "string" if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{_literal(value)}}}"
        case "" if isinstance(value, dict | list):
            return f"expected any scalar, got &{{{shown(value)}}}"
        case _:
            return ""


def _literal(value: Any) -> str:
    """Return a value as `%#v` shows it."""
    match value:
        case dict():
            inner = ", ".join(f'"{name}":{_literal(value[name])}' for name in sorted(value))
            return f"{go_type(value)}{{{inner}}}"
        case list():
            return f"{go_type(value)}{{{', '.join(map(_literal, value))}}}"
        case None:
            return "interface {}(nil)"
        case _:
            return orjson.dumps(value).decode()
