"""Label selectors as objects have them: whether labels fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def matches_labels(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Say whether labels fit a LabelSelector; an empty one selects everything."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_fits(expression, labels) for expression in selector.get("matchExpressions") or ())


def _fits(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels
