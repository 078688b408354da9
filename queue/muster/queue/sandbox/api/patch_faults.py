"""
Why a JSON patch of a webhook does not apply, in words.

To clients that send a patch nothing more is said than that it doesn't; of webhooks their author is
told all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.kinds.resources import Shared
from muster.queue.sandbox.patches.json_patch import json_patch
from muster.queue.sandbox.schema.defaulting import copied

_MISSING: Final = "missing value"


def patch_fault(obj: Shared, operations: Iterable[Any]) -> str:
    """Return what is wrong with the first operation that does not apply to an object."""
    document = copied(obj)
    for operation in operations:
        before = copied(document)
        try:
            document = json_patch(document, [operation])
        except Refusal as refusal:
            told = _fault(before, operation) if isinstance(operation, Mapping) else ""
            return told or refusal.message
    return ""


def _fault(document: Any, operation: Mapping[str, Any]) -> str:
    op, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str):
        return f"{op} operation failed to decode path: {_MISSING}"
    parent, key = _parent(document, path)
    match op:
        case "test" if parent is None:
            return f"test operation does not apply: is missing path: {path}: {_MISSING}"
        case "test":
            return f"testing value {path} failed: test failed"
        case "add" | "remove" if parent is None:
            return f'{op} operation does not apply: doc is missing path: "{path}": {_MISSING}'
        case "replace" if parent is None:
            return f"replace operation does not apply: doc is missing path: {path}: {_MISSING}"
        case "replace":
            return f"replace operation does not apply: doc is missing key: {path}: {_MISSING}"
        case "remove" if isinstance(parent, dict):
            why = f"Unable to remove nonexistent key: {key}: {_MISSING}"
            return f"error in remove for path: '{path}': {why}"
        case "add" | "remove":
            why = f"Unable to access invalid index: {key}: invalid index referenced"
            return f"error in {op} for path: '{path}': {why}"
        case "move" | "copy":
            source = operation.get("from")
            return f"{op} operation does not apply: doc is missing from path: {source}: {_MISSING}"
        case _:
            return f"Unexpected kind: {op}"


def _parent(document: Any, path: str) -> tuple[Any, str]:
    """Return what a pointer's last token is looked up in, None if there is nothing."""
    _, *tokens = [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")]
    *steps, last = tokens or [""]
    for step in steps:
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list) and step.isdecimal() and int(step) < len(document):
            document = document[int(step)]
        else:
            return None, last
    return document if isinstance(document, dict | list) else None, last
