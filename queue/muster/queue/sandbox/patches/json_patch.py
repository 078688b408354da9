"""
JSON patch (RFC 6902) as API servers apply it.

An operation that doesn't apply is refused without saying which: that is all that the real answer
says. Beyond the RFC, and as there: a negative index counts from the end, `replace` adds a field
that isn't there, and `test` without a value wants the field to be absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import orjson

from muster.queue.client.refusal import Refusal, bad_request
from muster.queue.sandbox.patches.merge_patch import rejected
from muster.queue.sandbox.schema.correlation import same
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.schema.go import json_type
from muster.queue.sandbox.schema.parsing import is_too_deep

Json = Any
"""A part of an object: it belongs to the request."""

_OPERATIONS_MAX: Final = 10_000
_COPIED_BYTES_MAX: Final = 3 * 1024 * 1024
"""By all operations together: a few copies of copies would fill any memory."""
_INDEX: Final = re.compile(r"[+-]?[0-9]+")

_MEMBERS: Final = ("op", "path", "from", "value")


def json_patch(obj: dict[str, Any], operations: object) -> dict[str, Any]:
    """
    Apply operations, decoded from JSON, to an object in place; return the object that results.

    The operations stay as they are, for another attempt. Raises 400 for what is no list of
    operations, 413 for too many, 422 if one doesn't apply or they make too much of too little.
    """
    if operations is None:
        return obj
    document: Json = obj
    left_bytes = _COPIED_BYTES_MAX
    try:
        for operation in _checked(operations):
            if operation.get("op") == "copy":
                left_bytes -= _size(_value(document, operation.get("from", "")))
                if left_bytes < 0:
                    raise rejected()
            document = _operated(document, operation)
    except (RecursionError, orjson.JSONEncodeError):  # it made itself too deep on its way
        raise rejected() from None
    if not isinstance(document, dict) or is_too_deep(document):
        raise rejected()
    return document


def _size(value: Json) -> int:
    return len(orjson.dumps(value))


def unknown_members(operations: object) -> list[str]:
    """Return the places of members that no operation has, as in "[0].x"."""
    if not isinstance(operations, list):
        return []
    return [
        f"[{number}].{name}"
        for number, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in _MEMBERS
    ]


def _checked(operations: object) -> list[dict[str, Any]]:
    if not isinstance(operations, list):
        raise _undecodable(operations, "value of type []handlers.jsonPatchOp")
    for operation in operations:
        if not isinstance(operation, dict):
            raise _undecodable(operation, "value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            if not isinstance(value := operation.get(name, ""), str):
                raise _undecodable(value, f"struct field jsonPatchOp.{name} of type string")
    if len(operations) > _OPERATIONS_MAX:
        message = (
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{_OPERATIONS_MAX}, got {len(operations)}"
        )
        raise Refusal(413, "RequestEntityTooLarge", message)
    return operations


def _undecodable(value: object, target: str) -> Refusal:
    told = f"json: cannot unmarshal {json_type(value)} into Go {target}"
    return bad_request(f"error decoding patch: {told}")


def _operated(document: Json, operation: dict[str, Any]) -> Json:
    path = operation.get("path")
    apply = _OPERATIONS.get(operation.get("op", ""))
    if apply is None or path is None:
        raise rejected()
    return apply(document, path, operation)


def _add(document: Json, path: str, operation: dict[str, Any]) -> Json:
    _insert(document, path, copied(operation.get("value")))
    return document


def _remove(document: Json, path: str, _: dict[str, Any]) -> Json:
    parent, key = _parent(document, path)
    if isinstance(parent, dict):
        if key not in parent:
            raise rejected()
        del parent[key]
    else:
        del parent[_index(parent, key)]
    return document


def _replace(document: Json, path: str, operation: dict[str, Any]) -> Json:
    value = copied(operation.get("value"))
    if not path:
        return value
    parent, key = _parent(document, path)
    parent[key if isinstance(parent, dict) else _index(parent, key)] = value
    return document


def _move(document: Json, path: str, operation: dict[str, Any]) -> Json:
    source = operation.get("from", "")
    value = _value(document, source)
    _remove(document, source, operation)
    _insert(document, path, value)
    return document


def _copy(document: Json, path: str, operation: dict[str, Any]) -> Json:
    _insert(document, path, copied(_value(document, operation.get("from", ""))))
    return document


def _test(document: Json, path: str, operation: dict[str, Any]) -> Json:
    found = _value(document, path) if path else document
    if not same(found, operation.get("value")):  # as documents: 1 is not 1.0, and not true
        raise rejected()
    return document


_OPERATIONS: Final[dict[str, Callable[[Json, str, dict[str, Any]], Json]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


# -- pointers -----------------------------------------------------------------------------------


def _parent(document: Json, path: str) -> tuple[Any, str]:
    """Return the object or list that a pointer's last token is in, and that token."""
    _, *tokens = path.split("/")
    if not tokens:
        raise rejected()
    *parents, last = [token.replace("~1", "/").replace("~0", "~") for token in tokens]
    here = document
    for token in parents:
        here = _child(here, token)
    if not isinstance(here, dict | list):
        raise rejected()
    return here, last


def _child(parent: Json, key: str) -> Json:
    """Return what is there; None for a field that isn't."""
    if isinstance(parent, dict):
        return parent.get(key)
    if isinstance(parent, list):
        return parent[_index(parent, key)]
    raise rejected()


def _value(document: Json, path: str) -> Json:
    return _child(*_parent(document, path))


def _insert(document: Json, path: str, value: Json) -> None:
    parent, key = _parent(document, path)
    if isinstance(parent, dict):
        parent[key] = value
    elif key == "-":
        parent.append(value)
    else:
        parent.insert(_index(parent, key, room=1), value)


def _index(items: list[Any], key: str, room: int = 0) -> int:
    """Return the place that a token names in a list, or `room` places behind it."""
    size = len(items) + room
    index = int(key) if _INDEX.fullmatch(key) else size
    if not -size <= index < size:
        raise rejected()
    return index % size
