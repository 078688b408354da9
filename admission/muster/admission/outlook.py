"""
What a decision has decided so far, laid over a state that does not change.

Rounds of one decision share an `Outlook`: who was admitted, who was asked to leave, who was set
aside. Each round sees the world through `scene()` and the heads of the queues through `heads()`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from heapq import heappop, heappush

from muster.admission.config import Config
from muster.admission.pending import Group, Order, Pending, Place
from muster.admission.quota import BOOKED, Imagined, book_all
from muster.admission.records import Holder, Item, Queue, ScanProgress, Victim, by_rank
from muster.admission.scene import Scene


class Outlook:
    def __init__(self, config: Config, now_us: int, cycle: int) -> None:
        self.config = config
        self.now_us = now_us
        self.cycle = cycle
        """Number of the round under way, counted over all decisions."""
        self.usage = Imagined(BOOKED)
        self.fresh: dict[Queue, list[Holder]] = {}
        self.evicting: dict[Holder, None] = {}
        self._leavers: dict[Queue, list[Holder]] = {}
        self.progress: dict[Item, ScanProgress | None] = {}
        self.scanned_anew: dict[Item, None] = {}
        """Workloads whose flavors were looked through from the first one on."""
        self._awaited: dict[Item, tuple[Victim, ...]] = {}
        self._lines: dict[Queue, _Line] = {}

    def scene(self) -> Scene:
        return Scene(
            config=self.config,
            view=self.usage,
            fresh=self.fresh,
            evicting=self.evicting,
            leavers=self._leavers,
        )

    def heads(self, queues: Iterable[Queue]) -> list[Item]:
        """Return the next workload of each queue that has one."""
        found = (self._line(queue).head() for queue in queues)
        return [item for item in found if item is not None]

    def progress_of(self, item: Item) -> ScanProgress | None:
        return self.progress.get(item, item.progress)

    def is_preemptor(self, item: Item) -> bool:
        assert item.queue is not None
        line = self._line(item.queue)
        return line.preemptor is item and line.preemptor_generation == item.workload.generation

    def admit(self, holder: Holder) -> None:
        book_all(self.usage, holder.usage)
        insort(self.fresh.setdefault(holder.queue, []), holder, key=by_rank)
        self._line(holder.queue).leave(holder.item)

    def evict(self, holder: Holder) -> None:
        self.evicting[holder] = None
        queue = holder.queue
        if queue not in self._leavers:
            self._leavers[queue] = list(queue.evicting)
        insort(self._leavers[queue], holder, key=by_rank)

    def awaited(self, item: Item) -> tuple[Victim, ...]:
        """Return the victims a workload waits for, as long as all of them are still there."""
        victims = self._awaited.get(item, item.awaited)
        return victims if all(victim.holder.is_booked for victim in victims) else ()

    def await_victims(self, item: Item, victims: tuple[Victim, ...], *, sticky: bool) -> None:
        """Remember who waits for victims; in BestEffortFIFO it stays in front."""
        assert item.queue is not None
        self._awaited[item] = victims
        line = self._line(item.queue)
        line.preemptor, line.preemptor_generation = item, item.workload.generation
        if sticky:
            line.sticky = item

    def park(self, item: Item, *, whole_group: bool) -> None:
        assert item.queue is not None
        assert item.group is not None
        line = self._line(item.queue)
        if whole_group:
            line.failed[item.group] = None
        else:
            line.gone[item] = None

    def _line(self, queue: Queue) -> _Line:
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = _Line(queue.pending)
        return line


class _Line:
    """
    The heap of one queue as far as a decision has worked through it.

    The groups' heads are walked with a cursor; members behind a head are reached one by one.
    Nothing is copied: the cost is that of the members actually looked at.
    """

    __slots__ = (
        "_cursor",
        "_pending",
        "_seconds",
        "failed",
        "gone",
        "preemptor",
        "preemptor_generation",
        "sticky",
    )

    def __init__(self, pending: Pending) -> None:
        self._pending = pending
        self._cursor = 0
        #: Members behind the first of groups the cursor has passed.
        self._seconds: list[tuple[Order, Group, int]] = []
        self.gone: dict[Item, None] = {}
        self.failed: dict[Group, None] = {}
        self.sticky = pending.sticky
        self.preemptor = pending.preemptor
        self.preemptor_generation = pending.preemptor_generation

    def leave(self, item: Item) -> None:
        self.gone[item] = None
        if self.sticky is item:
            self.sticky = None
        if self.preemptor is item:
            self.preemptor = None

    def head(self) -> Item | None:
        sticky = self.sticky
        if (
            sticky is not None
            and sticky.place is Place.HEAP
            and sticky not in self.gone
            and sticky.group not in self.failed
        ):
            return sticky
        firsts, seconds = self._pending.heads, self._seconds
        while True:
            first = firsts[self._cursor] if self._cursor < len(firsts) else None
            if seconds and (first is None or seconds[0][0] < first[0]):
                _, group, index = seconds[0]
                from_seconds = True
            elif first is not None:
                group, index = first[1], 0
                from_seconds = False
            else:
                return None
            if group not in self.failed:
                item = group.waiting[index]
                if item not in self.gone:
                    return item
            if from_seconds:
                heappop(seconds)
            else:
                self._cursor += 1
            index += 1
            if group not in self.failed and index < len(group.waiting):
                heappush(seconds, (group.waiting[index].order, group, index))
