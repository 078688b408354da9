"""
In which order the heads of the queues are processed within one round.

Classical: who needs to borrow least far goes first, then priority, then age. Fair sharing: before
every entry a tournament is held in each cohort, up to the root, in which the smaller share wins.
An entry's standing in a cohort changes only when something below the same child was processed, so
the tournament keeps a heap per cohort and recomputes one path per entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

from muster.admission.cohorts import CohortNode, Node
from muster.admission.config import Config
from muster.admission.quota import Cell, Imagined, UsageView, book_all
from muster.admission.records import Item, Queue
from muster.admission.shares import NO_SHARE, Share, share


class Contender(Protocol):
    """What ordering needs to know of a nominated entry."""

    @property
    def item(self) -> Item: ...
    @property
    def queue(self) -> Queue: ...
    @property
    def level(self) -> int: ...
    @property
    def usage(self) -> Sequence[tuple[Cell, int]]: ...
    @property
    def is_preemptor(self) -> bool: ...


C = TypeVar("C", bound=Contender)


def classical_order(entries: Iterable[C], config: Config) -> list[C]:
    """Return the entries in the order in which they are processed without fair sharing."""
    by_priority = config.gates.priority_sorting_within_cohort
    preemptors_first = config.gates.prioritize_preemptor_workloads

    def key(entry: C) -> tuple[bool, int, int, int, str, str]:
        item = entry.item
        return (
            preemptors_first and not entry.is_preemptor,
            entry.level,
            -item.priority if by_priority else 0,
            item.queue_timestamp_us,
            item.workload.uid,
            item.workload.key,
        )

    return sorted(entries, key=key)


Standing = tuple[bool, bool, Share, int, int, str, str]
"""Preemptors first, then who does not borrow, then share, priority, age: smaller wins."""


class Tournament(Generic[C]):
    """Yields entries by fair share; usage may change between two of them, as they are processed."""

    def __init__(self, entries: Iterable[C], view: UsageView, config: Config) -> None:
        self._view = view
        self._gates = config.gates
        self._entries: dict[Queue, C] = {entry.queue: entry for entry in entries}
        self._heaps: dict[CohortNode, list[tuple[Standing, str, Node, C]]] = {}

    def __iter__(self) -> Iterator[C]:
        roots = {queue.root: None for queue in self._entries}
        for root in sorted(roots, key=lambda node: (node.name, isinstance(node, Queue))):
            if isinstance(root, CohortNode):
                yield from self._hold(root)
            else:
                assert isinstance(root, Queue)
                yield self._entries[root]

    def _hold(self, root: CohortNode) -> Iterator[C]:
        self._enter(root)
        while (entry := self._winner(root)) is not None:
            yield entry
            self._leave(entry)

    def _enter(self, root: CohortNode) -> None:
        """Seat every entry below `root` in the cohorts on its way up, lowest cohorts first."""
        cohorts: dict[CohortNode, None] = {}
        for queue in self._entries:
            if queue.root is root:
                parent = queue.parent
                assert parent is not None
                seat = (self._standing(self._entries[queue], queue), queue.name, queue)
                self._heaps.setdefault(parent, []).append((*seat, self._entries[queue]))
                cohorts.update(dict.fromkeys(queue.ancestors()))
        # Children are seated before their parents: a cohort is deeper than all its ancestors.
        for cohort in sorted(cohorts, key=lambda c: (-sum(1 for _ in c.ancestors()), c.name)):
            heapify(self._heaps.setdefault(cohort, []))
            if cohort is not root:
                self._seat(cohort)

    def _leave(self, entry: C) -> None:
        """Take a processed entry out, and find new winners on its way up."""
        node: Node = entry.queue
        for cohort in entry.queue.ancestors():
            heap = self._heaps[cohort]
            # The winner of every cohort on the way was this entry, so it is on top everywhere.
            assert heap[0][2] is node
            heappop(heap)
            if isinstance(node, CohortNode):
                self._seat(node)
            node = cohort

    def _seat(self, cohort: CohortNode) -> None:
        """Let the winner of a cohort stand for it in the parent."""
        winner = self._winner(cohort)
        if winner is not None:
            assert cohort.parent is not None
            seat = (self._standing(winner, cohort), cohort.name, cohort, winner)
            heappush(self._heaps.setdefault(cohort.parent, []), seat)

    def _winner(self, cohort: CohortNode) -> C | None:
        heap = self._heaps[cohort]
        return heap[0][3] if heap else None

    def _standing(self, entry: C, child: Node) -> Standing:
        """How an entry stands as the representative of `child`, its own usage included."""
        after = Imagined(self._view)
        book_all(after, entry.usage)
        borrowing = False
        if self._gates.fair_sharing_prioritize_non_borrowing:
            for cell, amount in entry.usage:
                mine = child.cells[cell.pair]
                borrowing = borrowing or (amount > 0 and after[mine] > mine.subtree)
        item = entry.item
        return (
            self._gates.prioritize_preemptor_workloads and not entry.is_preemptor,
            borrowing,
            share(after, child) if child.parent is not None else NO_SHARE,
            -item.priority if self._gates.priority_sorting_within_cohort else 0,
            item.queue_timestamp_us,
            item.workload.uid,
            item.workload.key,
        )
