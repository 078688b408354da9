"""PriorityClasses and RuntimeClasses: what pods refer to by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    not_supported,
    required,
)
from muster.queue.sandbox.kinds.amounts import requirements_errors
from muster.queue.sandbox.kinds.metadata import labels_errors, rule_errors, unchanged
from muster.queue.sandbox.kinds.names import dns_label
from muster.queue.sandbox.kinds.pod_scheduling import tolerations_errors
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy, CountedStrategy, put_back

SYSTEM_CLASSES: Final[Mapping[str, tuple[int, str]]] = {
    "system-cluster-critical": (
        2_000_000_000,
        (
            "Used for system critical pods that must run in the cluster, but can be moved to"
            " another node if necessary."
        ),
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}
_USER_PRIORITY_MAX: Final = 1_000_000_000
_SYSTEM_PREFIX: Final = "system-"
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def system_priority_classes() -> list[Object]:
    """Return the priority classes that are there from the start, for a server to create."""
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": description,
        }
        for name, (value, description) in SYSTEM_CLASSES.items()
    ]


class PriorityClassStrategy(CountedStrategy):
    """The strategy of PriorityClasses."""

    def fill(self, obj: Object) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def prepare_update(self, obj: Object, old: Shared, subresource: str, now: str) -> None:
        put_back(obj["metadata"], old["metadata"], "generation")

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _priority_errors(obj)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        return _priority_update_errors(obj, old)


def _priority_errors(obj: Shared) -> Iterator[FieldError]:
    name, value = obj["metadata"].get("name", ""), obj["value"]
    if name.startswith(_SYSTEM_PREFIX):
        if wrong := _system_error(name, obj):
            detail = (
                f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use"
                f" only. error: {wrong}"
            )
            yield forbidden_field("metadata.name", detail)
    elif value > _USER_PRIORITY_MAX:
        detail = f"maximum allowed value of a user defined priority is {_USER_PRIORITY_MAX}"
        yield forbidden_field("value", detail)
    if obj["preemptionPolicy"] not in _POLICIES:
        yield not_supported("preemptionPolicy", obj["preemptionPolicy"], _POLICIES)


def _system_error(name: str, obj: Shared) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    value, _ = SYSTEM_CLASSES[name]
    if obj["value"] != value:
        return f"value of {name} PriorityClass must be {value}"
    if obj.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def _priority_update_errors(obj: Shared, old: Shared) -> Iterator[FieldError]:
    if obj["value"] != old["value"]:
        yield forbidden_field("value", "may not be changed in an update.")
    yield from unchanged("preemptionPolicy", obj["preemptionPolicy"], old["preemptionPolicy"])


class RuntimeClassStrategy(BuiltInStrategy):
    """The strategy of RuntimeClasses."""

    allows_create_on_update = True
    standard_finalizers = False
    allows_unconditional_update = False

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _runtime_errors(obj)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        return [*unchanged("handler", obj["handler"], old["handler"])]


def _runtime_errors(obj: Shared) -> Iterator[FieldError]:
    handler = obj["handler"]
    if not handler:
        yield required("handler")
    if handler:
        yield from rule_errors("handler", handler, dns_label)
    if overhead := obj.get("overhead"):
        limits = {"limits": overhead.get("podFixed") or {}}
        yield from requirements_errors("overhead", limits)
    scheduling = obj.get("scheduling") or {}
    yield from labels_errors("scheduling.nodeSelector", scheduling.get("nodeSelector") or {})
    tolerations = scheduling.get("tolerations") or ()
    yield from tolerations_errors("scheduling.tolerations", tolerations)
    seen: list[Any] = []
    for index, toleration in enumerate(tolerations):
        key = [toleration.get(name) for name in ("key", "operator", "value", "effect")]
        if key in seen:
            yield duplicate(f"scheduling.tolerations[{index}]", toleration)
        seen.append(key)
