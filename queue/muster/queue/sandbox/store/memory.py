"""
All objects of the server, in memory: revisions, history and subscriptions.

Every write gets the next revision, which is the object's resourceVersion. The last changes of each
resource are kept, so that a watch can go on where it was and a list in chunks stays one list; what
is older is *compacted*: asking for it says so. A journal, where there is one, is told of every
write before anybody sees it.

Values handed out are shared: nobody changes them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

import orjson

from muster.queue.client.refusal import expired

HISTORY_MAX: Final = 10_000
"""Changes of one resource that can still be asked for."""
FIRST_REVISION: Final = 1000
"""What a new store begins with, so that there are revisions that are too old from the start."""


class Key(NamedTuple):
    """Where an object is; `namespace` is "" for kinds without."""

    resource: str
    namespace: str
    name: str


class Stored:
    """One state of one object, with the bytes of it that go over the wire."""

    __slots__ = ("encoded", "revision", "value")

    def __init__(self, value: dict[str, Any], encoded: bytes, revision: int) -> None:
        self.value = value
        self.encoded = encoded
        self.revision = revision

    def private(self) -> dict[str, Any]:
        """Return a copy to be changed."""
        copy: dict[str, Any] = orjson.loads(self.encoded)
        return copy


class Change(NamedTuple):
    """What one write did."""

    key: Key
    old: Stored | None
    """None if the object is new."""
    new: Stored
    """For a deletion its last state, with the revision of the deletion."""
    gone: bool


class Journal(Protocol):
    """Keeps what the store is told, for the next start."""

    def load(self) -> tuple[int, Iterator[tuple[Key, Stored]]]:
        """Return the revision of the last write, and all objects."""

    def write(self, key: Key, encoded: bytes | None, revision: int) -> None:
        """Keep one write before it counts; None is a deletion. Raises Refusal 500."""

    def close(self) -> None: ...


class Outdated(Exception):  # noqa: N818 - nothing is wrong: the writer is to look again
    """The object is no longer as the writer saw it."""


Watcher = Callable[[Change], None]
"""Called within the write: it must be quick and may not fail."""


class _Collection:
    """The objects of one resource, all its versions and namespaces."""

    def __init__(self, compacted: int) -> None:
        self.objects: dict[tuple[str, str], Stored] = {}
        self.order: list[str] = []
        """Where they are as text, `namespace/name`, by which lists are sorted."""
        self.history: deque[Change] = deque()
        self.compacted = compacted
        """Changes up to this revision are no longer known."""
        self.watchers: dict[Watcher, None] = {}

    def put(self, place: tuple[str, str], stored: Stored) -> None:
        if place not in self.objects:
            insort(self.order, "/".join(place))
        self.objects[place] = stored

    def drop(self, place: tuple[str, str]) -> None:
        del self.objects[place]
        del self.order[bisect_left(self.order, "/".join(place))]

    def places(self, namespace: str, after: tuple[str, str] | None) -> Iterator[tuple[str, str]]:
        order, prefix = self.order, f"{namespace}/" if namespace else ""
        start = bisect_left(order, prefix)
        if after is not None:
            start = max(start, bisect_right(order, "/".join(after)))
        for text in islice(order, start, None):
            if not text.startswith(prefix):
                return
            namespace, _, name = text.partition("/")
            yield namespace, name


class Store:
    """Objects by key; every method is done when it returns."""

    def __init__(self, journal: Journal | None = None, history_max: int = HISTORY_MAX) -> None:
        self.revision = FIRST_REVISION
        self._journal = journal
        self._history_max = history_max
        self._collections: dict[str, _Collection] = {}
        objects: Iterator[tuple[Key, Stored]] = iter(())
        if journal:
            self.revision, objects = journal.load()
        self._first_revision = self.revision
        for key, stored in objects:
            self._of(key.resource).put(key[1:], stored)

    def _of(self, resource: str) -> _Collection:
        collection = self._collections.get(resource)
        if collection is None:
            collection = self._collections[resource] = _Collection(self._first_revision)
        return collection

    # -- reading -------------------------------------------------------------------------------

    def get(self, key: Key) -> Stored | None:
        return self._of(key.resource).objects.get(key[1:])

    def count(self, resource: str) -> int:
        return len(self._of(resource).objects)

    def select(
        self, resource: str, namespace: str = "", after: tuple[str, str] | None = None
    ) -> Iterator[Stored]:
        """Yield the objects of a resource ("" for all namespaces) in order of `namespace/name`."""
        collection = self._of(resource)
        for place in collection.places(namespace, after):
            yield collection.objects[place]

    def select_at(
        self,
        resource: str,
        revision: int,
        namespace: str = "",
        after: tuple[str, str] | None = None,
    ) -> Iterator[Stored]:
        """
        Yield the objects as they were at an earlier revision.

        Raises Refusal 410 when that is no longer known.
        """
        collection = self._of(resource)
        if revision < collection.compacted:
            raise expired("The resourceVersion for the provided list is too old.")
        # The state before the first later change of an object is its state at the revision.
        before: dict[tuple[str, str], Stored | None] = {}
        for change in self._since(collection, revision):
            before.setdefault(change.key[1:], change.old)
        places = dict.fromkeys(collection.places(namespace, after))
        for place in before:
            if namespace in {"", place[0]} and (after is None or "/".join(place) > "/".join(after)):
                places[place] = None
        for place in sorted(places, key="/".join):
            stored = before[place] if place in before else collection.objects[place]
            if stored is not None:
                yield stored

    def changes(self, resource: str, after_revision: int) -> list[Change]:
        """Return what happened after a revision; raises Refusal 410 if it is too long ago."""
        collection = self._of(resource)
        if after_revision < collection.compacted:
            raise expired(f"too old resource version: {after_revision} ({collection.compacted})")
        return self._since(collection, after_revision)

    @staticmethod
    def _since(collection: _Collection, revision: int) -> list[Change]:
        recent: list[Change] = []
        for change in reversed(collection.history):
            if change.new.revision <= revision:
                break
            recent.append(change)
        recent.reverse()
        return recent

    # -- writing -------------------------------------------------------------------------------

    def put(self, key: Key, value: dict[str, Any], seen: Stored | None) -> Stored:
        """
        Store `value`, which from now on is shared, under the next revision.

        Raises Outdated unless the object is still in the state `seen` (None: not there), and
        Refusal 500 if it can't be kept: then nothing has changed.
        """
        collection = self._of(key.resource)
        old = collection.objects.get(key[1:])
        if old is not seen:
            raise Outdated
        new = self._encode(value)
        if self._journal:
            self._journal.write(key, new.encoded, new.revision)
        self.revision = new.revision
        collection.put(key[1:], new)
        self._tell(collection, Change(key, old, new, gone=False))
        return new

    def delete(self, key: Key, seen: Stored, last: dict[str, Any] | None = None) -> Stored:
        """
        Remove an object; returns its last state: `last`, which is shared then, or as it was seen.

        Raises Outdated, and Refusal 500 if that can't be kept.
        """
        collection = self._of(key.resource)
        if collection.objects.get(key[1:]) is not seen:
            raise Outdated
        final = self._encode(seen.private() if last is None else last)
        if self._journal:
            self._journal.write(key, None, final.revision)
        self.revision = final.revision
        collection.drop(key[1:])
        self._tell(collection, Change(key, seen, final, gone=True))
        return final

    def restate(self, key: Key, value: dict[str, Any], seen: Stored) -> None:
        """
        Have an object told in another form from now on, as its kind is described differently.

        That is no change of it: it keeps its revision, and no watcher is called.
        """
        self._of(key.resource).put(key[1:], Stored(value, orjson.dumps(value), seen.revision))

    def _encode(self, value: dict[str, Any]) -> Stored:
        revision = self.revision + 1
        value["metadata"]["resourceVersion"] = str(revision)
        return Stored(value, orjson.dumps(value), revision)

    def _tell(self, collection: _Collection, change: Change) -> None:
        collection.history.append(change)
        if len(collection.history) > self._history_max:
            collection.compacted = collection.history.popleft().new.revision
        for watcher in tuple(collection.watchers):
            watcher(change)

    # -- watching ------------------------------------------------------------------------------

    def watch(self, resource: str, watcher: Watcher) -> Callable[[], None]:
        """Have `watcher` called with every change from now on; returns what ends that."""
        watchers = self._of(resource).watchers
        watchers[watcher] = None

        def end() -> None:
            watchers.pop(watcher, None)

        return end

    def forget(self, resource: str) -> None:
        """Drop the history of a resource that is no longer served."""
        collection = self._of(resource)
        collection.history.clear()
        collection.compacted = self.revision

    def close(self) -> None:
        if self._journal:
            self._journal.close()
