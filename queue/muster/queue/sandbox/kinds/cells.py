"""What the columns of several kinds have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from muster.queue.sandbox.kinds.ages import age_of
from muster.queue.sandbox.kinds.resources import Column, Shared

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"


AGE: Final = Column("Age", age_of, "How long ago the object was created.")
CREATED: Final = Column(
    "Created At",
    lambda obj, _now: obj["metadata"].get("creationTimestamp"),
    "When the object was created.",
    type="date",
)


def at(*path: str, default: Any = "") -> Callable[[Shared, int], Any]:
    """Return what shows the value at a path, or something else where there is none."""

    def cell(obj: Shared, _now: int) -> Any:
        found: Any = obj
        for name in path:
            found = found.get(name)
            if found is None:
                return default
        return found

    return cell


def containers(template: Shared, field: str) -> str:
    """Return what the containers of a template have in a field, joined."""
    return ",".join(each.get(field, "") for each in template["spec"].get("containers") or ())


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Return labels as kubectl shows them."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) if labels else NONE


def selector_text(selector: Shared | None) -> str:
    """Return a selector of labels as kubectl shows it."""
    if not selector:
        return NONE
    equal = selector.get("matchLabels") or {}
    terms = [(key, f"{key}={value}") for key, value in equal.items()]
    terms += [(each["key"], _term(each)) for each in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(terms)) or NONE


def _term(requirement: Shared) -> str:
    key, values = requirement["key"], _joined(requirement.get("values") or ())
    match requirement["operator"]:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return str(key)
        case _:
            return f"!{key}"


def _joined(values: Sequence[str]) -> str:
    return ",".join(sorted(values))
