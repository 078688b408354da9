"""Merge patch (RFC 7386): what is null goes, objects merge, everything else is replaced."""

from __future__ import annotations

from typing import Any

from muster.queue.client.refusal import Refusal, bad_request
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.schema.go import json_type


def merge_patch(obj: dict[str, Any], patch: object) -> dict[str, Any]:
    """
    Merge a patch, decoded from JSON, into an object in place and return the object.

    The patch stays as it is, for another attempt. Raises 400 for a patch that is no object.
    """
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise bad_request(f"error decoding patch: {not_an_object(patch)}")
    _merge(obj, patch)
    return obj


def not_an_object(patch: object) -> str:
    """Return what is said of a patch that must be an object and isn't."""
    kind = json_type(patch)
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def rejected() -> Refusal:
    """Refuse a patch that does not apply; more is not said of it."""
    message = "the server rejected our request due to an error in our request"
    return Refusal(422, "Invalid", message)


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
            obj[name] = copied(value)


def without_nulls(value: Any) -> Any:
    """Return a copy of a value without the fields that are null, at any depth."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
