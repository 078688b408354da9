"""
Watches: the changes of a resource from a revision on, as one reader wants to see them.

A watch that is not read fast enough is cut off rather than kept: its reader lists again. What a
selector excludes looks deleted, and what comes to be selected looks new.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from muster.queue.client.refusal import (
    FieldError,
    Refusal,
    Subject,
    bad_request,
    forbidden_field,
    invalid,
    not_supported,
)
from muster.queue.sandbox.api.options import revision_of
from muster.queue.sandbox.api.selection import Test, selection
from muster.queue.sandbox.api.versions import Versions
from muster.queue.sandbox.kinds.resources import Resource
from muster.queue.sandbox.store.memory import Change, Store, Stored

BEHIND_MAX: Final = 10_000
"""Events that a reader may be behind before it is cut off."""
_INITIAL_END: Final = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """From when on, and what."""

    labels: str = ""
    fields: str = ""
    resource_version: str = ""
    match: str = ""
    bookmarks: bool = False
    initial_events: bool | None = None

    def check(self) -> None:
        """Raise Refusal 422 for what doesn't go together."""
        errors: list[FieldError] = []
        if self.initial_events is not None and self.match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            errors.append(forbidden_field("resourceVersionMatch", why))
        if self.match:
            if self.initial_events is None:
                why = (
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                    "provided"
                )
                errors.append(forbidden_field("resourceVersionMatch", why))
            if self.match != "NotOlderThan":
                errors.append(not_supported("resourceVersionMatch", self.match, ["NotOlderThan"]))
        if errors:
            raise invalid(Subject("meta.k8s.io", "ListOptions"), errors)


class Event(NamedTuple):
    """What a reader is told: ADDED, MODIFIED, DELETED or BOOKMARK, and the object."""

    type: str
    stored: Stored


class Watch:
    """One reader's events; to be closed when nobody reads them any longer."""

    def __init__(self, resource: Resource, namespace: str, test: Test | None) -> None:
        self.resource = resource
        self._namespace = namespace
        self._test = test
        self._events: deque[Event] = deque()
        self._news = asyncio.Event()
        self._end: Callable[[], None] = lambda: None
        self.closed = False
        self.when_cut_off: Callable[[], None] = lambda: None
        """Called when the reader is too slow."""

    def start(self, store: Store, events: list[Event]) -> None:
        self._events.extend(events)
        self._end = store.watch(self.resource.key, self.push)
        if events:
            self._news.set()

    def push(self, change: Change) -> None:
        """Take one change; called by the store."""
        if event := self.event(change):
            self.tell(event)

    def event(self, change: Change) -> Event | None:
        """Return what a change is to this reader, None for nothing."""
        if self._namespace and change.key.namespace != self._namespace:
            return None
        old, new, gone = change.old, change.new, change.gone
        if self._test is None:
            return Event("DELETED" if gone else "MODIFIED" if old else "ADDED", new)
        was = old is not None and self._test(old.value)
        is_now = not gone and self._test(new.value)
        if is_now:
            return Event("MODIFIED" if was else "ADDED", new)
        if not was:
            return None
        if gone or old is None:
            return Event("DELETED", new)
        # It left the selection: as it was when it was last seen, at the revision of the change.
        last = old.private()
        last["metadata"]["resourceVersion"] = str(new.revision)
        return Event("DELETED", Stored(last, orjson.dumps(last), new.revision))

    def tell(self, event: Event) -> None:
        if len(self._events) >= BEHIND_MAX:
            self.close()
            self.when_cut_off()
            return
        self._events.append(event)
        self._news.set()

    @property
    def ended(self) -> bool:
        """Whether it is closed and there is nothing more to take."""
        return self.closed and not self._events

    async def wait(self) -> None:
        """Return when there is something to take or the watch is closed."""
        await self._news.wait()

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        events = [*self._events]
        self._events.clear()
        if not self.closed:
            self._news.clear()
        return events

    def close(self) -> None:
        """End it; what is not taken yet may still be."""
        self.closed = True
        self._end()
        self._news.set()


class Watches:
    """Starts watches, and knows those that run."""

    def __init__(self, store: Store, versions: Versions) -> None:
        self._store = store
        self._versions = versions
        self._open: dict[Watch, bool] = {}

    def start(self, resource: Resource, namespace: str, options: WatchOptions) -> Watch:
        """Begin to watch; raises Refusal, 410 for a revision that is too old."""
        options.check()
        test = selection(resource, options.labels, options.fields)
        watch = Watch(resource, namespace, test)
        watch.start(self._store, self._first_events(watch, namespace, options, test))
        self._open[watch] = options.bookmarks
        return watch

    def _first_events(
        self, watch: Watch, namespace: str, options: WatchOptions, test: Test | None
    ) -> list[Event]:
        version = options.resource_version
        try:
            revision = revision_of(version or "0")
        except ValueError as error:
            why = f'resourceVersion: Invalid value: "{version}": {error}'
            raise bad_request(why) from None
        key = watch.resource.key
        if options.initial_events or (not revision and options.initial_events is None):
            events = [
                Event("ADDED", stored)
                for stored in self._store.select(key, namespace)
                if test is None or test(stored.value)
            ]
            if options.initial_events and options.bookmarks:
                events.append(self.bookmark(watch.resource, {_INITIAL_END: "true"}))
            return events
        if not revision:
            return []
        changes = self._store.changes(key, revision)
        return [event for change in changes if (event := watch.event(change))]

    def bookmark(self, resource: Resource, annotations: dict[str, str] | None = None) -> Event:
        """Return the event that only says how far the reader has come."""
        revision = self._store.revision
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        kind = resource.kind
        value = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        return Event("BOOKMARK", Stored(value, orjson.dumps(value), revision))

    def send_bookmarks(self) -> None:
        """Tell every reader that wants to know how far it has come."""
        for watch, wanted in self._open.items():
            if wanted and not watch.closed:
                watch.tell(self.bookmark(watch.resource))

    def stop(self, watch: Watch) -> None:
        """End one that is no longer read."""
        watch.close()
        self._open.pop(watch, None)

    def end_all(self) -> None:
        for watch in [*self._open]:
            self.stop(watch)

    def end_of(self, resource: Resource) -> None:
        """End those of a version that is no longer served."""
        for watch in [*self._open]:
            if watch.resource.kind == resource.kind:
                self.stop(watch)

    async def read(self, watch: Watch, events: list[Event]) -> list[Event]:
        """Return events with their objects in the version that is watched."""
        if all(event.type == "BOOKMARK" or _is_in(event, watch) for event in events):
            return events
        stored = [event.stored for event in events]
        converted = await self._versions.read_all(watch.resource, stored)
        return [Event(event.type, each) for event, each in zip(events, converted, strict=True)]


def _is_in(event: Event, watch: Watch) -> bool:
    return bool(event.stored.value["apiVersion"] == watch.resource.kind.api_version)


def gone(refusal: Refusal) -> dict[str, Any]:
    """Return the ERROR event of a watch that can't go on."""
    return {"type": "ERROR", "object": refusal.status()}
