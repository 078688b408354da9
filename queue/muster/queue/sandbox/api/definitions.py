"""
Keeps what is served in step with the definitions that are stored.

A definition is served once its names are accepted. When it is deleted, its objects go first: all
are deleted, and when their finalizers have let the last one go, so does the definition.

It follows the store by itself. What has to be written is written by `run`, one definition after
another, in the order in which they changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from muster.queue.api.timestamps import format_second
from muster.queue.client.refusal import Refusal
from muster.queue.clock import Clock
from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.api.names import (
    ESTABLISHED,
    Condition,
    settled_status,
    with_conditions,
)
from muster.queue.sandbox.api.versions import Convert, Versions
from muster.queue.sandbox.kinds.conditions import is_true
from muster.queue.sandbox.kinds.custom import (
    custom_resources,
    served_versions,
    storage_version,
)
from muster.queue.sandbox.kinds.definitions import FINALIZER, TERMINATING
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared
from muster.queue.sandbox.schema.defaulting import fill_defaults
from muster.queue.sandbox.schema.pruning import prune
from muster.queue.sandbox.store.memory import Change, Key, Store

KEY: Final = "customresourcedefinitions.apiextensions.k8s.io"

_IN_PROGRESS: Final = Condition(
    TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
)
_COMPLETED: Final = Condition(
    TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances"
)
_NEVER: Final = Condition(
    TERMINATING, "False", "NeverEstablished", "resource was never established"
)
_RETRY_S: Final = 1.0


class Hands(NamedTuple):
    """What is done by others."""

    update: Callable[[str, Callable[[Object], None]], Awaitable[None]]
    """
    Store what a function makes of the definition of that name, without asking anybody.

    The function is called again if the definition has changed meanwhile. Raises Refusal.
    """
    delete_all: Callable[[Resource], Awaitable[None]]
    """Delete all objects of a resource; those with finalizers stay for now. Raises Refusal."""
    unserved: Callable[[Resource], None]
    """End the watches of a version that is no longer served."""


class _Served(NamedTuple):
    """What was made of a definition, and of which parts of it."""

    made_of: tuple[Any, ...]
    resources: tuple[Resource, ...]


class Definitions:
    """The definitions that are stored, and what is served of them."""

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        versions: Versions,
        hands: Hands,
        converter: Callable[[Shared, Sequence[Resource]], Convert],
        clock: Clock,
    ) -> None:
        """
        Serve what the store holds already, and follow it from now on.

        `converter` returns what converts the objects of a definition between all its versions.
        """
        self._store = store
        self._catalogue = catalogue
        self._versions = versions
        self._hands = hands
        self._converter = converter
        self._clock = clock
        self._served: dict[str, _Served] = {}
        self._changed: dict[str, None] = {}
        self._emptying: dict[str, Callable[[], None]] = {}
        """Definitions whose objects were told to go, and what ends the watch of these."""
        self._news = asyncio.Event()
        store.watch(KEY, self._follow)
        for stored in [*store.select(KEY)]:
            self._serve(stored.value)
            self._look_at(stored.value["metadata"]["name"])

    def _follow(self, change: Change) -> None:
        definition = change.new.value
        if change.gone:
            self._drop(definition)
        else:
            self._serve(definition)
            self._look_at(change.key.name)
        if change.gone or change.old is None or _names(change.old.value) != _names(definition):
            for other in self._beside(definition):
                self._look_at(other["metadata"]["name"])

    def _look_at(self, name: str) -> None:
        self._changed[name] = None
        self._news.set()

    def _beside(self, definition: Shared) -> Iterator[Shared]:
        """Yield the definitions of the same group, itself among them."""
        group = definition["spec"]["group"]
        for stored in self._store.select(KEY):
            if stored.value["spec"]["group"] == group:
                yield stored.value

    # -- what is served --------------------------------------------------------------------------

    def _serve(self, definition: Shared) -> None:
        key = definition["metadata"]["name"]
        if not is_true(definition, ESTABLISHED):
            return
        going = is_true(definition, TERMINATING)
        made_of = (definition["spec"], _names(definition), going)
        before = self._served.get(key)
        if before and before.made_of == made_of:
            return
        if before and before.made_of[:2] == made_of[:2]:
            every = tuple(replace(each, terminating=True) for each in before.resources)
        else:
            every = custom_resources(definition)
        served = [each for each in every if each.kind.version in served_versions(definition)]
        name = storage_version(definition)
        (storage,) = [each for each in every if each.kind.version == name]
        self._served[key] = _Served(made_of, every)
        self._catalogue.replace(key, served, storage)
        self._versions.convert_by(key, self._converter(definition, every))
        if not before or before.made_of[0] != definition["spec"]:
            self._restate(key, every)
        if before:
            versions = {each.kind.version for each in served}
            for each in before.resources:
                if each.kind.version not in versions:
                    self._hands.unserved(each)

    def _restate(self, key: str, resources: Sequence[Resource]) -> None:
        """Let stored objects be what their schemas now say: without fields, and with defaults."""
        schemas = {each.kind.api_version: each.schema for each in resources}
        for stored in [*self._store.select(key)]:
            obj = stored.private()
            schema = schemas.get(obj["apiVersion"])
            if schema is None:  # the version has gone, and the object was never written again
                continue
            prune(schema, obj)
            fill_defaults(schema, obj)
            if obj != stored.value:
                metadata = obj["metadata"]
                place = Key(key, metadata.get("namespace", ""), metadata["name"])
                self._store.restate(place, obj, stored)

    def _drop(self, definition: Shared) -> None:
        key = definition["metadata"]["name"]
        self._changed.pop(key, None)
        if end := self._emptying.pop(key, None):
            end()
        if before := self._served.pop(key, None):
            self._catalogue.replace(key, (), None)
            self._versions.convert_by(key, None)
            for each in before.resources:
                self._hands.unserved(each)
            self._store.forget(key)

    # -- what is written -------------------------------------------------------------------------

    async def run(self) -> None:
        """Settle what changes, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.settle()

    async def settle(self) -> None:
        """Write what has to be written now."""
        while self._changed:
            name = next(iter(self._changed))
            del self._changed[name]
            try:
                await self._settle(name)
            except Refusal:
                # Somebody was in the way, or it is gone. Look at it again, but not at once.
                await self._clock.sleep(_RETRY_S)
                if self._find(name):
                    self._look_at(name)

    def _find(self, name: str) -> Shared | None:
        stored = self._store.get(Key(KEY, "", name))
        return stored.value if stored else None

    async def _settle(self, name: str) -> None:
        definition = self._find(name)
        if definition is None:
            return
        if definition["metadata"].get("deletionTimestamp"):
            await self._end(name, definition)
            return
        now = format_second(self._clock.now_us())
        if settled_status(definition, self._beside(definition), now) != definition["status"]:

            def settle(obj: Object) -> None:
                obj["status"] = settled_status(obj, self._beside(obj), now)

            await self._hands.update(name, settle)

    async def _end(self, name: str, definition: Shared) -> None:
        """Let the objects of a deleted definition go, then itself."""
        if FINALIZER not in (definition["metadata"].get("finalizers") or ()):
            return
        served = self._served.get(name)
        if served and name not in self._emptying:
            await self._hands.update(name, self._setting(_IN_PROGRESS))
            storage = self._catalogue.storage(name)
            assert storage, "it is served"
            await self._hands.delete_all(storage)
            # From here on every object that goes is a reason to look whether it was the last.
            self._emptying[name] = self._store.watch(name, lambda _: self._look_at(name))
        if self._store.count(name):
            return
        told = self._setting(_COMPLETED if served else _NEVER)

        def let_go(obj: Object) -> None:
            told(obj)
            finalizers = [each for each in obj["metadata"]["finalizers"] if each != FINALIZER]
            if finalizers:
                obj["metadata"]["finalizers"] = finalizers
            else:
                del obj["metadata"]["finalizers"]

        await self._hands.update(name, let_go)

    def _setting(self, condition: Condition) -> Callable[[Object], None]:
        now = format_second(self._clock.now_us())

        def set_it(obj: Object) -> None:
            obj["status"] = with_conditions(obj.get("status") or {}, [condition], now)

        return set_it


def _names(definition: Shared) -> Any:
    return (definition.get("status") or {}).get("acceptedNames")
