"""
Waiting work of one ClusterQueue: who is next, and who was set aside.

Workloads of the same shape and priority form a *group*: what is decided about one holds for all. A
group is in the order of its members; the queue's head is the first member of the first group. When
one member is found not to fit, the whole group is set aside at once, and comes back at once, at a
cost that does not depend on how many they are.

Terms of the Kueue API: the *heap* holds what will be looked at, the *inadmissible* set what was set
aside ("parked") until something changes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING

from muster.admission import objects

if TYPE_CHECKING:
    from muster.admission.compile import Request
    from muster.admission.records import Item

Order = tuple[int, int, str, str]
"""Negated priority, queue timestamp, UID, key: smaller goes first, and no two are equal."""

LAST: Order = (2**63, 0, "", "")
"""After every order there is."""

Shape = tuple[int, tuple[objects.PodSet, ...]]
"""Effective priority and effective pod sets: the equivalence class of a workload."""

by_order = attrgetter("order")


class Place(Enum):
    """Where a workload is; exactly one of these at any time."""

    NOWHERE = "nowhere"
    """Not queued: finished, inactive, gated, without a queue."""
    HEAP = "heap"
    PARKED = "parked"
    HOLDING = "holding"


class Shelf:
    """Workloads of one group in one place, in order. A whole shelf can change its place."""

    __slots__ = ("items", "place")

    def __init__(self, place: Place) -> None:
        self.items: list[Item] = []
        self.place = place

    def add(self, item: Item) -> None:
        insort(self.items, item, key=by_order)
        item.shelf = self

    def remove(self, item: Item) -> None:
        index = bisect_left(self.items, item.order, key=by_order)
        assert self.items[index] is item, "an item is on the shelf it names"
        del self.items[index]
        item.shelf = None


class Group:
    """Workloads of one shape."""

    __slots__ = (
        "_parked",
        "_resting",
        "_unready",
        "_waiting",
        "counts",
        "failed",
        "requests",
        "shape",
    )

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.counts = tuple(pod_set.count for pod_set in shape[1])
        """The pods per pod set that need quota: those reclaimed are done."""
        self.failed = False
        """Whether a member was found not to fit since the last sweep; newcomers are parked too."""
        self.requests: dict[tuple[int, ...], Request] = {}
        """What the group asks of the queue, by pod counts (they differ under partial admission)."""
        self._waiting = Shelf(Place.HEAP)
        #: Set aside together; they come back together.
        self._parked = Shelf(Place.PARKED)
        #: Set aside one by one, for reasons of their own (back-off, namespace).
        self._resting = Shelf(Place.PARKED)
        #: Members in the heap that would not come back if they were set aside.
        self._unready: dict[Item, None] = {}

    @property
    def waiting(self) -> list[Item]:
        """The members in the heap, in order."""
        return self._waiting.items

    @property
    def parked(self) -> list[Item]:
        """The members in the inadmissible set, in order."""
        return sorted([*self._parked.items, *self._resting.items], key=by_order)

    @property
    def has_parked(self) -> bool:
        return bool(self._parked.items or self._resting.items)

    @property
    def first(self) -> Order | None:
        """The order of the first member in the heap."""
        items = self._waiting.items
        return items[0].order if items else None

    @property
    def rests(self) -> bool:
        """Whether members were set aside one by one."""
        return bool(self._resting.items)

    @property
    def first_parked(self) -> Order:
        """The order of the first member set aside with the group; `LAST` if there is none."""
        items = self._parked.items
        return items[0].order if items else LAST

    def push(self, item: Item, *, ready: bool) -> None:
        self._waiting.add(item)
        if not ready:
            self._unready[item] = None

    def rest(self, item: Item) -> None:
        self._resting.add(item)

    def remove(self, item: Item) -> None:
        assert item.shelf is not None
        item.shelf.remove(item)
        self._unready.pop(item, None)

    def set_aside(self) -> None:
        """Move all members in the heap to the inadmissible set."""
        for item in self._unready:
            self._waiting.remove(item)
            self._resting.add(item)
        self._unready.clear()
        self._waiting, self._parked = _pour(self._waiting, self._parked)

    def bring_back(self, may_return: Callable[[Item], bool]) -> bool:
        """Move members back into the heap; those that rest only if they may. Return if any did."""
        moved = bool(self._parked.items)
        self._parked, self._waiting = _pour(self._parked, self._waiting)
        for item in [item for item in self._resting.items if may_return(item)]:
            self._resting.remove(item)
            self._waiting.add(item)
            moved = True
        return moved


def _pour(source: Shelf, target: Shelf) -> tuple[Shelf, Shelf]:
    """Move all items; return the emptied source and the filled target, which may swap shelves."""
    if len(source.items) > len(target.items):
        source.place, target.place = target.place, source.place
        source, target = target, source
    if source.items:
        for item in source.items:
            item.shelf = target
        target.items += source.items
        target.items.sort(key=by_order)  # two ordered runs: merged in linear time
        source.items = []
    return source, target


class Pending:
    """The heap and the inadmissible set of one ClusterQueue."""

    __slots__ = (
        "_failed",
        "groups",
        "heads",
        "preemptor",
        "preemptor_generation",
        "set_aside",
        "sticky",
    )

    def __init__(self) -> None:
        self.groups: dict[Shape, Group] = {}
        self.heads: list[tuple[Order, Group]] = []
        """The groups that have waiting members, each under the order of its first one."""
        self.sticky: Item | None = None
        """A workload that waits for its victims and stays in front of all others."""
        self.preemptor: Item | None = None
        self.preemptor_generation = 0
        self.set_aside: dict[Group, None] = {}
        """Groups with parked members."""
        self._failed: dict[Group, None] = {}

    def push(self, item: Item, shape: Shape, *, ready: bool = True) -> None:
        """
        Put a workload into the heap.

        One that is not `ready` (it backs off, or its namespace is not selected) is tried all the
        same, but once set aside it does not come back with its group.
        """
        group = self._join(item, shape)
        old = group.first
        group.push(item, ready=ready)
        self._refile(group, old)

    def park(self, item: Item, shape: Shape) -> None:
        """Put a workload into the inadmissible set, for reasons of its own."""
        group = self._join(item, shape)
        group.rest(item)
        self.set_aside[group] = None

    def remove(self, item: Item) -> None:
        """Take a workload out of whichever set it is in."""
        group = item.group
        assert group is not None
        old = group.first
        group.remove(item)
        item.group = None
        self._refile(group, old)
        self._tidy(group)

    def forget(self, item: Item) -> None:
        """Let go of the marks of a workload that has left the queue for good."""
        if self.sticky is item:
            self.sticky = None
        if self.preemptor is item:
            self.preemptor = None

    def fail(self, group: Group) -> None:
        """Set a whole group aside; newcomers of its shape follow it until the next sweep."""
        group.failed = True
        self._failed[group] = None
        old = group.first
        group.set_aside()
        self._refile(group, old)
        self._tidy(group)

    @property
    def asleep(self) -> list[Group]:
        """The groups that were found not to fit, or have members that were set aside."""
        return list(dict.fromkeys((*self._failed, *self.set_aside)))

    def sweep(self, groups: Iterable[Group], may_return: Callable[[Item], bool]) -> bool:
        """Give what was set aside another try, if it may; return whether anything moved."""
        moved = False
        for group in groups:
            group.failed = False
            self._failed.pop(group, None)
            old = group.first
            moved |= group.bring_back(may_return)
            self._refile(group, old)
            self._tidy(group)
        return moved

    def forget_requests(self) -> None:
        """The queue or its flavors changed: what the groups ask for must be worked out again."""
        for group in self.groups.values():
            group.requests.clear()

    def _join(self, item: Item, shape: Shape) -> Group:
        group = self.groups.get(shape)
        if group is None:
            group = self.groups[shape] = Group(shape)
        item.group = group
        return group

    def _refile(self, group: Group, old: Order | None) -> None:
        """Keep `heads` right after the first waiting member of a group may have changed."""
        new = group.first
        if new == old:
            return
        if old is not None:
            del self.heads[bisect_left(self.heads, (old,))]
        if new is not None:
            insort(self.heads, (new, group))

    def _tidy(self, group: Group) -> None:
        """Keep the indexes of groups right, and drop a group that has nothing to remember."""
        if group.has_parked:
            self.set_aside[group] = None
        else:
            self.set_aside.pop(group, None)
            if group.first is None and not group.failed:
                self.groups.pop(group.shape, None)
