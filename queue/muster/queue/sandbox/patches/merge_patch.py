"""Merge patch (RFC 7386): what is null goes, objects merge, everything else is replaced."""

from __future__ import annotations

from typing import Any

from muster.queue.client.refusal import bad_request


def merge_patch(obj: dict[str, Any], patch: object) -> dict[str, Any]:
    """
    Merge a patch, decoded from JSON, into an object in place and return the object.

    Parts of the patch become parts of the object. Raises 400 for a patch that is no object.
    """
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise not_an_object(patch)
    _merge(obj, patch)
    return obj


def not_an_object(patch: object) -> Exception:
    """Refuse a patch that must be an object and isn't."""
    kinds = {list: "array", str: "string", bool: "bool"}
    kind = kinds.get(type(patch), "number")
    return bad_request(
        f"error decoding patch: json: cannot unmarshal {kind} into Go value of type "
        "map[string]interface {}"
    )


def _merge(obj: dict[str, Any], patch: dict[str, Any]) -> None:
    for name, value in patch.items():
        if value is None:
            obj.pop(name, None)
            continue
        now = obj.get(name)
        if not isinstance(now, dict):
            obj[name] = without_nulls(value)
        elif isinstance(value, dict):
            _merge(now, value)
        else:
            obj[name] = value


def without_nulls(value: Any) -> Any:
    """Remove every field that is null, at any depth and in place; return the value."""
    if isinstance(value, dict):
        for name in [name for name, each in value.items() if each is None]:
            del value[name]
        for each in value.values():
            without_nulls(each)
    elif isinstance(value, list):
        for each in value:
            without_nulls(each)
    return value
