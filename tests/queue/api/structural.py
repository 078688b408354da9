"""
What an API server makes of a CRD's schema: whether it is structural, and what it refuses.

A small second implementation, written from the Kubernetes documentation, for the keywords that our
CRDs use. CEL rules are not evaluated.
"""

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

LIST_TYPES = {"atomic", "set", "map"}
KEYWORDS = {
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}
FORMATS = {"integer": {"int32", "int64"}, "string": {"date-time"}}


def schemas(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield a schema and all schemas in it, with their paths."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from schemas(field, f"{path}.{name}".lstrip("."))
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from schemas(schema[keyword], f"{path}[]")


def violations(schema: Schema) -> Iterator[str]:
    """Yield what keeps a schema, or one in it, from being structural and acceptable."""
    for path, part in schemas(schema):
        for complaint in (*_type_violations(part), *_list_violations(part)):
            yield f"{path}: {complaint}"
        for keyword in sorted(set(part) - KEYWORDS):
            yield f"{path}: unknown keyword {keyword}"
        for name in part.get("required", ()):
            if name not in part["properties"]:
                yield f"{path}: requires {name}, which it does not have"
            elif "default" in part["properties"][name]:
                yield f"{path}: requires {name}, which has a default"
        if "default" in part:
            for complaint in refusals(part, part["default"], path):
                yield f"default of {complaint}"


def _type_violations(part: Schema) -> Iterator[str]:
    if part.get("x-kubernetes-int-or-string"):
        if part.get("anyOf") != [{"type": "integer"}, {"type": "string"}] or "type" in part:
            yield "an int-or-string is written as anyOf integer, string, without a type"
        return
    if "anyOf" in part:
        yield "anyOf is for int-or-string only"
    kind = part.get("type")
    if kind not in {"object", "array", "string", "integer", "boolean", "number"}:
        yield f"has no type, but {kind!r}"
    if "format" in part and part["format"] not in FORMATS.get(str(kind), ()):
        yield f"format {part['format']} is not for {kind}"
    if "properties" in part and "additionalProperties" in part:
        yield "has properties and additionalProperties"
    for keyword, wanted in {
        "properties": "object",
        "additionalProperties": "object",
        "maxProperties": "object",
        "x-kubernetes-map-type": "object",
        "x-kubernetes-preserve-unknown-fields": "object",
        "items": "array",
        "maxItems": "array",
        "minItems": "array",
        "x-kubernetes-list-type": "array",
        "maxLength": "string",
        "minLength": "string",
        "pattern": "string",
        "minimum": "integer",
        "maximum": "integer",
    }.items():
        if keyword in part and kind != wanted:
            yield f"{keyword} is for {wanted}, not {kind}"


def _list_violations(part: Schema) -> Iterator[str]:
    if part.get("type") != "array":
        return
    if "items" not in part:
        yield "has no items"
        return
    list_type, items = part.get("x-kubernetes-list-type"), part["items"]
    if list_type not in LIST_TYPES:
        yield f"has the list type {list_type!r}"
    if list_type == "set" and items.get("type") in {"object", "array"}:
        yield "is a set of things that are not scalars"
    keys = part.get("x-kubernetes-list-map-keys", [])
    if (list_type == "map") != bool(keys):
        yield "has map keys without being a map, or the other way round"
    for key in keys:
        if key not in items.get("required", ()) and "default" not in items["properties"][key]:
            yield f"key {key} is neither required nor defaulted"


def refusals(schema: Schema, value: Any, path: str = "") -> Iterator[str]:
    """Yield the path and reason of everything in `value` that `schema` refuses or would prune."""
    if not _has_type(schema, value):
        yield f"{path}: not of type {schema.get('type', 'int-or-string')}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: not one of {schema['enum']}"
    match value:
        case str():
            yield from _out_of_bounds(path, len(value), schema, "minLength", "maxLength")
            if "pattern" in schema and not re.search(schema["pattern"].replace("$", r"\Z"), value):
                yield f"{path}: does not match {schema['pattern']}"
        case bool():
            pass
        case int():
            yield from _out_of_bounds(path, value, schema, "minimum", "maximum")
        case list():
            yield from _out_of_bounds(path, len(value), schema, "minItems", "maxItems")
            for index, item in enumerate(value):
                yield from refusals(schema["items"], item, f"{path}[{index}]")
        case dict():
            yield from _object_refusals(schema, value, path)
        case _:
            pass


def _object_refusals(schema: Schema, value: dict[str, Any], path: str) -> Iterator[str]:
    yield from _out_of_bounds(path, len(value), schema, "minProperties", "maxProperties")
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}".lstrip(".") + ": missing"
    for name, item in value.items():
        here = f"{path}.{name}".lstrip(".")
        if name in schema.get("properties", {}):
            yield from refusals(schema["properties"][name], item, here)
        elif "additionalProperties" in schema:
            yield from refusals(schema["additionalProperties"], item, here)
        elif not schema.get("x-kubernetes-preserve-unknown-fields") and "properties" in schema:
            yield f"{here}: unknown"


def _has_type(schema: Schema, value: Any) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    return isinstance(value, types[schema["type"]]) and (
        schema["type"] == "boolean" or not isinstance(value, bool)
    )


def _out_of_bounds(path: str, size: int, schema: Schema, least: str, most: str) -> Iterator[str]:
    if size < schema.get(least, size) or size > schema.get(most, size):
        yield f"{path}: {size} is not within {schema.get(least)} and {schema.get(most)}"
