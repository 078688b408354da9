"""
A mirror of all objects of one kind, kept up to date, and word of every change to it.

The mirror is first listed, then watched. When the watch ends it goes on from the version seen last;
when the server no longer knows that version, everything is listed again and compared with the
mirror, so that no deletion is missed. Whoever acts on changes must still be level-triggered: two
quick changes may arrive as one, and the mirror lags a little behind.

An informer never gives up: what the server refuses, or fails to answer, is asked again later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from random import Random
from typing import Any, Final, NamedTuple

from muster.queue.client.backoff import backoff_s
from muster.queue.client.kinds import Kind
from muster.queue.client.protocol import (
    EVERYTHING,
    Client,
    Disconnected,
    Selection,
    WatchEvent,
)
from muster.queue.client.refusal import Refusal
from muster.queue.clock import Clock

LIST_CHUNK: Final = 500
RETRY_FIRST_S: Final = 0.8
RETRY_LONGEST_S: Final = 30.0

_GONE: Final = 410
_US: Final = 1_000_000
_LOG: Final = logging.getLogger(__name__)

Object = dict[str, Any]


class Key(NamedTuple):
    """Which object of a kind; the namespace is "" for kinds without."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Change(NamedTuple):
    """What became of one object: it was added (no `old`), modified, or deleted (no `new`)."""

    key: Key
    old: Object | None
    new: Object | None


def key_of(manifest: Mapping[str, Any]) -> Key:
    """Return the key of an object that was read from the API."""
    metadata = manifest["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


class Informer:
    """
    The objects of a kind that `selection` selects; `run` keeps them current.

    `synced` is set as soon as all of them have been listed once.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind,
        clock: Clock,
        rng: Random,
        selection: Selection = EVERYTHING,
    ) -> None:
        self.synced = asyncio.Event()
        self._client = client
        self._kind = kind
        self._clock = clock
        self._rng = rng
        self._selection = selection
        self._objects: dict[Key, Object] = {}
        self._listeners: list[Callable[[Change], None]] = []
        self._version = ""
        """What has been seen so far; "" when it has to be listed."""

    @property
    def objects(self) -> Mapping[Key, Object]:
        return self._objects

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Call `listener` with every change from now on, after it is in the mirror."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """List and watch until cancelled."""
        failures = 0
        while True:
            start_us = self._clock.now_us()
            try:
                if not self._version:
                    await self._list()
                heard = await self._watch()
            except (Refusal, Disconnected) as error:
                heard = False
                if isinstance(error, Refusal) and error.code == _GONE:
                    self._version = ""
                else:
                    _LOG.warning("cannot follow %s: %s", self._kind.plural, error)
            lasted_us = self._clock.now_us() - start_us
            # A server that ends every watch at once is not asked at once again.
            failures = 0 if heard or lasted_us >= RETRY_LONGEST_S * _US else failures + 1
            if failures:
                await self._clock.sleep(
                    backoff_s(failures, self._rng, first_s=RETRY_FIRST_S, longest_s=RETRY_LONGEST_S)
                )

    async def _watch(self) -> bool:
        """Follow one watch to its end; return whether it brought anything."""
        heard = False
        watch = self._client.watch(self._kind, self._selection, resource_version=self._version)
        async with aclosing(watch):
            async for event in watch:
                heard = True
                self._take(event)
        return heard

    def _take(self, event: WatchEvent) -> None:
        found = event.object
        version: str = found["metadata"]["resourceVersion"]
        if event.type != "BOOKMARK":
            key = key_of(found)
            old = self._objects.get(key)
            if event.type == "DELETED":
                self._remove(key, found)
            elif old is None or old["metadata"]["resourceVersion"] != version:
                self._put(key, old, found)
        self._version = version

    async def _list(self) -> None:
        """List everything and tell how it differs from the mirror."""
        try:
            listed, version = await self._pages(LIST_CHUNK)
        except Refusal as refusal:
            if refusal.code != _GONE:
                raise
            # The list changed faster than it could be read in parts: read it in one.
            listed, version = await self._pages(0)
        for key in [key for key in self._objects if key not in listed]:
            self._remove(key, self._objects[key])
        for key, found in listed.items():
            old = self._objects.get(key)
            if old is None:
                self._put(key, None, found)
                continue
            was, is_now = old["metadata"], found["metadata"]
            if was.get("uid") != is_now.get("uid"):
                self._remove(key, old)
                self._put(key, None, found)
            elif was["resourceVersion"] != is_now["resourceVersion"]:
                self._put(key, old, found)
        self._version = version
        self.synced.set()

    async def _pages(self, limit: int) -> tuple[dict[Key, Object], str]:
        listed: dict[Key, Object] = {}
        continued = ""
        while True:
            page = await self._client.list(
                self._kind, self._selection, limit=limit, continued=continued
            )
            listed |= {key_of(found): found for found in page.items}
            continued = page.continued
            if not continued:
                return listed, page.resource_version

    def _put(self, key: Key, old: Object | None, new: Object) -> None:
        self._objects[key] = new
        self._tell(Change(key, old, new))

    def _remove(self, key: Key, last: Object) -> None:
        if self._objects.pop(key, None) is not None:
            self._tell(Change(key, last, None))

    def _tell(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)
