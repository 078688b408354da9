"""
Who owns whom, over all kinds, and what that asks of the garbage collector.

The graph is told what objects exist and answers whom to look at because of it; `judge` says what to
do about one object once its owners are known. Nothing here makes requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from muster.queue.client.kinds import Kind
from muster.queue.client.protocol import Manifest

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


class Owner(NamedTuple):
    """One ownerReference."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool
    """Whether the owner's deletion in the foreground waits for the dependent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What matters of one object."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    owners: tuple[Owner, ...] = ()
    is_deleted: bool = False
    """It is being deleted."""
    finalizers: tuple[str, ...] = ()

    @property
    def awaits_dependents(self) -> bool:
        """Whether it is being deleted in the foreground: its dependents have to go first."""
        return self.is_deleted and FOREGROUND in self.finalizers

    @property
    def releases_dependents(self) -> bool:
        """Whether it is being deleted without its dependents."""
        return self.is_deleted and ORPHAN in self.finalizers

    def is_meant(self, owner: Owner, dependent: Item) -> bool:
        """Whether the reference in `dependent` names this object, namespace included."""
        named = (owner.api_version.rpartition("/")[0], owner.kind, owner.name)
        if named != (self.kind.group, self.kind.kind, self.name):
            return False
        return not self.kind.namespaced or self.namespace == dependent.namespace


def item(kind: Kind, manifest: Manifest) -> Item:
    """Read what matters of an object."""
    metadata = manifest["metadata"]
    return Item(
        kind=kind,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        owners=tuple(
            Owner(
                each["apiVersion"],
                each["kind"],
                each["name"],
                each["uid"],
                each.get("blockOwnerDeletion", False),
            )
            for each in metadata.get("ownerReferences", ())
        ),
        is_deleted="deletionTimestamp" in metadata,
        finalizers=tuple(metadata.get("finalizers", ())),
    )


class Graph:
    """All objects that own or are owned, or could be."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        """Uids of dependents by uid of their owner, existing or not."""

    def get(self, uid: str) -> Item | None:
        return self._items.get(uid)

    def dependents(self, uid: str) -> list[Item]:
        return [self._items[each] for each in self._dependents.get(uid, ())]

    def see(self, new: Item) -> list[str]:
        """Take note of an object, new or changed; return the uids of those to look at."""
        old = self._items.get(new.uid)
        if old == new:
            return []
        self._items[new.uid] = new
        before = old.owners if old is not None else ()
        self._link(new.uid, before, new.owners)
        looks = [
            owner.uid
            for owner in before
            if owner not in new.owners and self._awaits_dependents(owner.uid)
        ]
        if new.awaits_dependents and not (old and old.awaits_dependents):
            looks += [*self._dependents.get(new.uid, ()), new.uid]
        elif (new.releases_dependents and not (old and old.releases_dependents)) or any(
            self._is_doubtful(owner, new) for owner in new.owners if owner not in before
        ):
            looks.append(new.uid)
        return looks

    def lose(self, uid: str) -> list[str]:
        """Take note that an object is gone; return the uids of those to look at."""
        lost = self._items.pop(uid, None)
        if lost is None:
            return []
        self._link(uid, lost.owners, ())
        waiting = [owner.uid for owner in lost.owners if self._awaits_dependents(owner.uid)]
        return [*self._dependents.get(uid, ()), *waiting]

    def doubts(self) -> list[str]:
        """Return the uids of all to look at, once all objects have been seen."""
        return [
            uid
            for uid, found in self._items.items()
            if found.awaits_dependents
            or found.releases_dependents
            or any(self._is_doubtful(owner, found) for owner in found.owners)
        ]

    def _link(self, uid: str, before: Iterable[Owner], after: Iterable[Owner]) -> None:
        for owner in before:
            dependents = self._dependents.get(owner.uid, {})
            dependents.pop(uid, None)
            if not dependents:
                self._dependents.pop(owner.uid, None)
        for owner in after:
            self._dependents.setdefault(owner.uid, {})[uid] = None

    def _awaits_dependents(self, uid: str) -> bool:
        found = self._items.get(uid)
        return found is not None and found.awaits_dependents

    def _is_doubtful(self, owner: Owner, dependent: Item) -> bool:
        found = self._items.get(owner.uid)
        return found is None or found.awaits_dependents or not found.is_meant(owner, dependent)


# -- what to do -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Disown:
    """Remove references to owners that are gone or wait for this object to go."""

    uids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete it, in the background, in the foreground or as an orphan."""

    propagation: str
    unblock: bool = False
    """Make its references non-blocking first: it waits for one that waits for it."""


Action: TypeAlias = Keep | Disown | Delete


def judge(
    subject: Item,
    dependents: Sequence[Item],
    *,
    solid: Sequence[Owner],
    dangling: Sequence[Owner],
    waiting: Sequence[Owner],
) -> Action:
    """
    Say what becomes of an object with owners.

    Owners are solid (they stay), dangling (they don't exist) or waiting (for their dependents to
    be gone first).
    """
    if not (dangling or waiting):
        return Keep()
    if solid:
        return Disown(tuple(owner.uid for owner in (*dangling, *waiting)))
    if waiting and dependents:
        return Delete("Foreground", unblock=any(each.awaits_dependents for each in dependents))
    if ORPHAN in subject.finalizers:
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND in subject.finalizers else "Background")
