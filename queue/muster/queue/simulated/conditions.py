"""Conditions in the status of objects: finding them, and since when they say what they say."""

from __future__ import annotations

from typing import Any

from muster.queue.api.timestamps import format_second
from muster.queue.client.protocol import Manifest


def condition(obj: Manifest, type_: str) -> Manifest:
    """Return the condition of a type that an object has, or an empty one."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_), {})


def is_true(obj: Manifest, type_: str) -> bool:
    """Whether an object has a condition of a type and it holds."""
    return condition(obj, type_).get("status") == "True"


def dated(new: Manifest, old: Manifest, now_us: int) -> dict[str, Any]:
    """Return a condition with its time: that of the one before if the status is the same."""
    since = old.get("lastTransitionTime") if old.get("status") == new["status"] else None
    return {**new, "lastTransitionTime": since or format_second(now_us)}
