"""
Waiting work of one ClusterQueue: who is next, and who was set aside.

Workloads of the same shape and priority form a *group*: what is decided about one holds for all. A
group is in the order of its members; the queue's head is the first member of the first group. When
one member is found not to fit, the whole group is set aside at once, at the cost of one move.

Terms of the Kueue API: the *heap* holds what will be looked at, the *inadmissible* set what was set
aside ("parked") until something changes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING

from muster.admission import objects

if TYPE_CHECKING:
    from muster.admission.compile import Request
    from muster.admission.records import Item

Order = tuple[int, int, str, str]
"""Negated priority, queue timestamp, UID, key: smaller goes first, and no two are equal."""

Shape = tuple[int, tuple[objects.PodSet, ...]]
"""Effective priority and effective pod sets: the equivalence class of a workload."""

by_order = attrgetter("order")


class Group:
    """Workloads of one shape."""

    __slots__ = ("failed", "parked", "requests", "shape", "waiting")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.waiting: list[Item] = []
        self.parked: list[Item] = []
        self.failed = False
        """Whether a member was found not to fit since the last sweep; newcomers are parked too."""
        self.requests: dict[tuple[int, ...], Request] = {}
        """What the group asks of the queue, by pod counts (they differ under partial admission)."""


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
        "swept",
    )

    def __init__(self) -> None:
        self.groups: dict[Shape, Group] = {}
        self.heads: list[tuple[Order, Group]] = []
        """The groups that have waiting members, each under the order of its first one."""
        self.sticky: Item | None = None
        """A workload that waits for its victims and stays in front of all others."""
        self.preemptor: Item | None = None
        self.preemptor_generation = 0
        self.swept = 0
        """How many sweeps there were; a decision made before the last one does not park anybody."""
        self.set_aside: dict[Group, None] = {}
        """Groups with parked members."""
        self._failed: dict[Group, None] = {}

    def push(self, item: Item, shape: Shape) -> None:
        """Put a workload into the heap."""
        group = self._join(item, shape)
        old = group.waiting[0].order if group.waiting else None
        insort(group.waiting, item, key=by_order)
        self._refile(group, old)

    def park(self, item: Item, shape: Shape) -> None:
        """Put a workload into the inadmissible set."""
        group = self._join(item, shape)
        insort(group.parked, item, key=by_order)
        self.set_aside[group] = None

    def remove(self, item: Item) -> None:
        """Take a workload out of whichever set it is in."""
        group = item.group
        assert group is not None
        item.group = None
        index = bisect_left(group.waiting, item.order, key=by_order)
        if index < len(group.waiting) and group.waiting[index] is item:
            old = group.waiting[0].order
            del group.waiting[index]
            self._refile(group, old)
        else:
            index = bisect_left(group.parked, item.order, key=by_order)
            assert group.parked[index] is item, "an item is in the group it names"
            del group.parked[index]
            if not group.parked:
                del self.set_aside[group]
        self._drop_if_empty(group)

    def forget(self, item: Item) -> None:
        """Let go of the marks of a workload that has left the queue for good."""
        if self.sticky is item:
            self.sticky = None
        if self.preemptor is item:
            self.preemptor = None

    def fail(self, group: Group) -> list[Item]:
        """Set a whole group aside; return the members that moved."""
        group.failed = True
        self._failed[group] = None
        moved = group.waiting
        if moved:
            old = moved[0].order
            group.waiting = []
            self._refile(group, old)
            _merge(group.parked, moved)
            self.set_aside[group] = None
        return moved

    def sweep(self, may_return: Callable[[Item], bool]) -> list[Item]:
        """Give everything set aside another try, if it may; return the members that moved."""
        self.swept += 1
        for group in self._failed:
            group.failed = False
        failed, self._failed = self._failed, {}
        moved: list[Item] = []
        for group in list(self.set_aside):
            returning: list[Item] = []
            staying: list[Item] = []
            for item in group.parked:
                (returning if may_return(item) else staying).append(item)
            if not staying:
                del self.set_aside[group]
            if returning:
                moved += returning
                old = group.waiting[0].order if group.waiting else None
                group.parked = staying
                _merge(group.waiting, returning)
                self._refile(group, old)
        for group in failed:
            self._drop_if_empty(group)
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
        new = group.waiting[0].order if group.waiting else None
        if new == old:
            return
        if old is not None:
            del self.heads[bisect_left(self.heads, (old,))]
        if new is not None:
            insort(self.heads, (new, group))

    def _drop_if_empty(self, group: Group) -> None:
        if not group.waiting and not group.parked and not group.failed:
            self.groups.pop(group.shape, None)


def _merge(into: list[Item], items: list[Item]) -> None:
    """Merge two ordered lists; sorting finds the two runs and merges them in linear time."""
    into += items
    into.sort(key=by_order)
