"""
Events, in both of their forms: of the core group, and of events.k8s.io.

Both are the same objects. They are stored in the core form; the other one has other names for most
fields, and is checked more strictly when it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from muster.queue.client.refusal import FieldError, invalid_value, required
from muster.queue.sandbox.kinds.metadata import rule_errors, unchanged
from muster.queue.sandbox.kinds.names import dns_subdomain, label_key
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy

EVENTS: Final = "events."
"""The key under which Events are stored, in the form of the core group."""
CORE_VERSION: Final = "v1"
NEW_VERSION: Final = "events.k8s.io/v1"

# How the core form calls what the other one calls otherwise.
_CORE_NAMES: Final[Mapping[str, str]] = {
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedSource": "source",
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
}
_NEW_NAMES: Final[Mapping[str, str]] = {core: new for new, core in _CORE_NAMES.items()}
_SHORT_MAX: Final = 128
_MESSAGE_MAX: Final = 1024
_TYPES: Final = ("Normal", "Warning")
_SERIES_MIN: Final = 2
_FIXED: Final = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
)


async def convert_events(objects: Sequence[Object], api_version: str) -> list[Object]:
    """Return Events in the form of a version."""
    names = _NEW_NAMES if api_version == NEW_VERSION else _CORE_NAMES
    return [_renamed(event, api_version, names) for event in objects]


def _renamed(event: Shared, api_version: str, names: Mapping[str, str]) -> Object:
    renamed = {names.get(name, name): value for name, value in event.items()}
    return {**renamed, "apiVersion": api_version}


class EventStrategy(BuiltInStrategy):
    """The strategy of Events of the core group."""

    allows_create_on_update = True
    standard_finalizers = False

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _event_errors(obj, "reportingComponent")


class NewEventStrategy(EventStrategy):
    """The strategy of Events of events.k8s.io."""

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        event = _renamed(obj, CORE_VERSION, _CORE_NAMES)
        return (*_event_errors(event, "reportingController"), *_strict_errors(event))

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        event = _renamed(obj, CORE_VERSION, _CORE_NAMES)
        before = _renamed(old, CORE_VERSION, _CORE_NAMES)
        return [
            *_event_errors(event, "reportingController"),
            *_strict_update_errors(event, before),
        ]


def _event_errors(event: Shared, controller_field: str) -> Iterator[FieldError]:
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    detail = "does not match event.namespace"
    if not event.get("eventTime"):
        if (about or "default") != namespace:
            yield invalid_value("involvedObject.namespace", about, detail)
    else:
        if not about and namespace not in {"default", "kube-system"}:
            yield invalid_value("involvedObject.namespace", about, detail)
        yield from _report_errors(event, controller_field)
    for wrong in dns_subdomain(namespace):
        yield invalid_value("namespace", namespace, wrong)


def _report_errors(event: Shared, controller_field: str) -> Iterator[FieldError]:
    controller = event.get("reportingComponent", "")
    if not controller:
        yield required(controller_field)
    yield from rule_errors(controller_field, controller, label_key)
    for name in ("reportingInstance", "action", "reason", "message"):
        text, limit = event.get(name, ""), _MESSAGE_MAX if name == "message" else _SHORT_MAX
        if not text and name != "message":
            yield required(name)
        if len(text) > limit:
            yield invalid_value(name, "", f"can have at most {limit} characters")


def _strict_errors(event: Shared) -> Iterator[FieldError]:
    yield from _series_errors(event)
    if not event.get("eventTime"):
        yield required("eventTime")
    kind = event.get("type", "")
    if kind not in _TYPES:
        yield invalid_value("type", "", f"has invalid value: {kind}")
    for name in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(name):
            yield invalid_value(name, "", "needs to be unset")
    if any((event.get("source") or {}).values()):
        yield invalid_value("source", "", "needs to be unset")


def _series_errors(event: Shared) -> Iterator[FieldError]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < _SERIES_MIN:
        yield invalid_value("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _strict_update_errors(event: Shared, old: Shared) -> Iterator[FieldError]:
    if event.get("series") != old.get("series"):
        yield from _series_errors(event)
    for field in _FIXED:
        name = "reportingComponent" if field == "reportingController" else field
        yield from unchanged(field, _value(event, name), _value(old, name))


def _value(event: Shared, name: str) -> Any:
    """Return the value of a field; what is empty is nothing."""
    return event.get(name) or None
