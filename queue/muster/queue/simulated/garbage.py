"""
Delete objects whose owners are gone, and let go those that wait for their dependents.

It follows every kind that is served, and learns of new ones from their definitions. That an owner
does not exist is asked of the server before anything is deleted because of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from muster.queue.client.informer import Change, Informer
from muster.queue.client.kinds import CRD, Kind
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import ignoring
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.owners import (
    FOREGROUND,
    ORPHAN,
    Action,
    Delete,
    Disown,
    Graph,
    Item,
    Keep,
    Owner,
    item,
    judge,
)
from muster.queue.simulated.revising import revise, without_finalizer

Kinds = Callable[[], Awaitable[Iterable[Kind]]]
"""Returns all kinds that are served now and whose objects can be deleted, each in one version."""

_WORKERS: Final = 8
_UNSEEN_S: Final = 5.0
"""When to look again at an object whose owner exists but has not been seen."""
_IGNORED: Final = "events"
"""Nobody owns events, and there are many."""


@dataclass(frozen=True, slots=True)
class _Following:
    informer: Informer
    task: asyncio.Task[None]


class GarbageCollector:
    """Collects the garbage among all kinds that `kinds` tells of."""

    def __init__(self, client: Client, clock: Clock, rng: Random, kinds: Kinds) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng
        self._kinds = kinds
        self._graph = Graph()
        self._queue: WorkQueue[str] = WorkQueue(clock, rng)
        """Uids of objects to look at."""
        self._following: dict[Kind, _Following] = {}
        self._by_name: dict[tuple[str, str], Kind] = {}
        """The served kinds by group and kind."""
        self._unresolved: dict[str, None] = {}
        """Uids of objects whose owners are of kinds that are not served."""
        self._definitions = Informer(client, CRD, clock, rng)
        self._definitions.listen(lambda _: self._definitions_changed.set())
        self._definitions_changed = asyncio.Event()
        self._is_ready = False

    async def run(self) -> None:
        """Collect garbage until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._definitions.run())
            await self._definitions.synced.wait()
            self._definitions_changed.clear()
            await self._follow(tasks)
            for each in list(self._following.values()):
                await each.informer.synced.wait()
            self._is_ready = True
            self._look_at(self._graph.doubts())
            tasks.create_task(self._queue.run(self._look, workers=_WORKERS))
            while True:
                await self._definitions_changed.wait()
                self._definitions_changed.clear()
                await self._follow(tasks)

    # -- what there is ------------------------------------------------------------------------

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        """Follow all kinds that are served now, and no others."""
        served = [kind for kind in await self._kinds() if kind.plural != _IGNORED]
        for kind in [kind for kind in self._following if kind not in served]:
            gone = self._following.pop(kind)
            gone.task.cancel()
            for manifest in gone.informer.objects.values():
                self._look_at(self._graph.lose(manifest["metadata"]["uid"]))
        for kind in served:
            if kind not in self._following:
                informer = Informer(self._client, kind, self._clock, self._rng)
                informer.listen(partial(self._changed, kind))
                self._following[kind] = _Following(informer, tasks.create_task(informer.run()))
        self._by_name = {(kind.group, kind.kind): kind for kind in served}
        unresolved, self._unresolved = self._unresolved, {}
        self._look_at(unresolved)

    def _changed(self, kind: Kind, change: Change) -> None:
        if kind not in self._following:
            return
        if change.new is not None:
            self._look_at(self._graph.see(item(kind, change.new)))
        elif change.old is not None:
            self._look_at(self._graph.lose(change.old["metadata"]["uid"]))

    def _look_at(self, uids: Iterable[str]) -> None:
        # Before everything has been seen once, most owners would seem to be gone.
        if self._is_ready:
            for uid in uids:
                self._queue.add(uid)

    # -- one object ---------------------------------------------------------------------------

    async def _look(self, uid: str) -> None:
        subject = self._graph.get(uid)
        if subject is None:
            return
        if subject.releases_dependents:
            await self._release_dependents(subject)
        elif subject.awaits_dependents:
            await self._await_dependents(subject)
        elif not subject.is_deleted:
            await self._consider(subject)

    async def _release_dependents(self, subject: Item) -> None:
        for dependent in self._graph.dependents(subject.uid):
            latest = await self._latest(dependent)
            if latest is not None:
                await self._disown(dependent, latest, (subject.uid,))
        await self._remove_finalizer(subject, ORPHAN)

    async def _await_dependents(self, subject: Item) -> None:
        blocking = [
            dependent
            for dependent in self._graph.dependents(subject.uid)
            if any(owner.uid == subject.uid and owner.blocks for owner in dependent.owners)
        ]
        if not blocking:
            await self._remove_finalizer(subject, FOREGROUND)
        self._look_at(each.uid for each in blocking if not each.awaits_dependents)

    async def _consider(self, subject: Item) -> None:
        latest = await self._latest(subject)
        if latest is None:
            self._look_at(self._graph.lose(subject.uid))
            return
        fresh = item(subject.kind, latest)
        if fresh.is_deleted or not fresh.owners:
            return
        action = await self._judge(fresh)
        match action:
            case Keep():
                pass
            case Disown(uids):
                await self._disown(fresh, latest, uids)
            case Delete(propagation, unblock):
                if unblock:
                    latest = await self._unblock(fresh, latest) or latest
                await self._delete(fresh, latest, propagation)

    async def _judge(self, subject: Item) -> Action:
        solid: list[Owner] = []
        dangling: list[Owner] = []
        waiting: list[Owner] = []
        for owner in subject.owners:
            known = self._graph.get(owner.uid)
            if known is None or not known.is_meant(owner, subject):
                kind = self._by_name.get((owner.api_version.rpartition("/")[0], owner.kind))
                if kind is None:
                    self._unresolved[subject.uid] = None
                    return Keep()
                if kind.namespaced and not subject.kind.namespaced:
                    # Such a reference means nothing, and nothing can make it mean something.
                    return Keep()
                known = await self._owner(kind, owner, subject)
            if known is None:
                dangling.append(owner)
            else:
                (waiting if known.awaits_dependents else solid).append(owner)
        dependents = self._graph.dependents(subject.uid)
        return judge(subject, dependents, solid=solid, dangling=dangling, waiting=waiting)

    async def _owner(self, kind: Kind, owner: Owner, subject: Item) -> Item | None:
        """Ask the server for an owner that has not been seen."""
        namespace = subject.namespace if kind.namespaced else ""
        found = await self._get(kind, owner.name, namespace, owner.uid)
        if found is None:
            return None
        # It may be gone before it is ever seen, and then nobody would think of its dependents.
        self._queue.add_after(subject.uid, _UNSEEN_S)
        return item(kind, found)

    # -- requests -----------------------------------------------------------------------------

    async def _latest(self, subject: Item) -> Manifest | None:
        """Return an object as it is now, None if it is gone."""
        return await self._get(subject.kind, subject.name, subject.namespace, subject.uid)

    async def _get(self, kind: Kind, name: str, namespace: str, uid: str) -> Manifest | None:
        with ignoring("NotFound"):
            found = await self._client.get(kind, name, namespace)
            return found if found["metadata"]["uid"] == uid else None
        return None

    async def _disown(self, subject: Item, latest: Manifest, uids: tuple[str, ...]) -> None:
        def revision(manifest: Manifest) -> dict[str, Any] | None:
            owners = manifest["metadata"].get("ownerReferences", [])
            left = [owner for owner in owners if owner["uid"] not in uids]
            if left == owners:
                return None
            return {"metadata": {"ownerReferences": left or None}}

        await revise(self._client, subject.kind, latest, revision)

    async def _unblock(self, subject: Item, latest: Manifest) -> Manifest | None:
        def revision(manifest: Manifest) -> dict[str, Any]:
            owners = manifest["metadata"].get("ownerReferences", [])
            left = [{**owner, "blockOwnerDeletion": False} for owner in owners]
            return {"metadata": {"ownerReferences": left}}

        return await revise(self._client, subject.kind, latest, revision)

    async def _remove_finalizer(self, subject: Item, finalizer: str) -> None:
        latest = await self._latest(subject)
        if latest is not None:
            await without_finalizer(self._client, subject.kind, latest, finalizer)

    async def _delete(self, subject: Item, latest: Manifest, propagation: str) -> None:
        # If its owners change meanwhile, it has to be judged again.
        version = latest["metadata"]["resourceVersion"]
        options = {
            "propagationPolicy": propagation,
            "preconditions": {"uid": subject.uid, "resourceVersion": version},
        }
        with ignoring("NotFound"):
            await self._client.delete(
                subject.kind, subject.name, subject.namespace, options=options
            )
