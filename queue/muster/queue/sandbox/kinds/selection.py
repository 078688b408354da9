"""Whether a selector of labels, as objects hold it, selects something."""

from __future__ import annotations

from collections.abc import Mapping

from muster.queue.sandbox.kinds.resources import Shared


def matches(selector: Shared, labels: Mapping[str, str]) -> bool:
    """Say whether a valid selector selects these labels; an empty one selects everything."""
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _meets(each, labels) for each in selector.get("matchExpressions") or ()
    )


def _meets(requirement: Shared, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement["key"])
    match requirement["operator"]:
        case "In":
            return value is not None and value in (requirement.get("values") or ())
        case "NotIn":
            return value is None or value not in (requirement.get("values") or ())
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return True
