"""
Choose victims: whose reservation is taken back so that a workload fits.

This module has the rules both searches share (who may be asked to leave, in which order, when the
preemptor fits, how superfluous victims are spared) and the *classical* search; the search under
fair sharing is in `fair_victims`. Searches read a scene and return victims; they change nothing.

Classical search. Candidates come from the own queue, and from queues that use more than their
quota. Walking up from the preemptor's queue, once some subtree could hold the request by its own
quota the preemptor has the advantage over everything outside that subtree: there it reclaims what
is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from muster.admission.amounts import FlavorResource
from muster.admission.cohorts import CohortNode, Node
from muster.admission.conditions import PreemptionReason
from muster.admission.objects import PreemptionPolicy
from muster.admission.quota import (
    Cell,
    Imagined,
    UsageView,
    available,
    book_all,
    children_above_nominal,
    exceeds_nominal,
    locally_available,
    release_all,
)
from muster.admission.records import Holder, Item, Queue, Victim
from muster.admission.scene import Scene

Requests = Sequence[tuple[Cell, int]]


# --- Rules of both searches ----------------------------------------------------------------------


class Legal:
    """Which holders a policy lets the preemptor take, for the cells that lack quota."""

    __slots__ = ("_pairs", "_policy", "_priority", "_timestamp_us")

    def __init__(
        self, policy: PreemptionPolicy, preemptor: Item, pairs: Sequence[FlavorResource]
    ) -> None:
        self._policy = policy
        self._priority = preemptor.priority
        self._timestamp_us = preemptor.queue_timestamp_us
        self._pairs = pairs

    def next_index(self, holders: Sequence[Holder], start: int) -> int:
        """Return the index of the next legal holder of a list by rank, or -1."""
        policy = self._policy
        if policy is PreemptionPolicy.NEVER:
            return -1
        for index in range(start, len(holders)):
            holder = holders[index]
            if policy is not PreemptionPolicy.ANY:
                item = holder.item
                if item.priority > self._priority:
                    return -1  # by rank: everybody after this one is more important still
                if item.priority == self._priority and (
                    policy is PreemptionPolicy.LOWER_PRIORITY
                    or self._timestamp_us >= item.queue_timestamp_us
                ):
                    continue
            for pair in self._pairs:
                if pair in holder.pairs:
                    return index
        return -1

    def all_of(self, holders: Sequence[Holder]) -> Iterator[Holder]:
        """Yield the legal holders of a list by rank."""
        index = self.next_index(holders, 0)
        while index >= 0:
            yield holders[index]
            index = self.next_index(holders, index + 1)


def fits(view: UsageView, requests: Requests, *, borrowing: bool) -> bool:
    """Whether all requests fit at once; without `borrowing` also within the nominal quota."""
    for cell, amount in requests:
        if not borrowing and cell.nominal < view[cell] + amount:
            return False
        if amount > max(0, available(view, cell)):
            return False
    return True


def spare_superfluous(
    view: Imagined, victims: list[Victim], fit: Callable[[UsageView], bool]
) -> tuple[Victim, ...]:
    """Give back, latest first, every victim but the last whose place is not needed after all."""
    for index in range(len(victims) - 2, -1, -1):
        usage = victims[index].holder.usage
        book_all(view, usage)
        if fit(view):
            victims[index] = victims[-1]
            victims.pop()
        else:
            release_all(view, usage)
    return tuple(victims)


# --- The classical search ------------------------------------------------------------------------


class _Source(NamedTuple):
    """Another queue that uses more than its quota."""

    queue: Queue
    above_nominal: tuple[Node, ...]
    """Queue and cohorts below the meeting point; all must still be above nominal."""
    hierarchical: bool
    """Whether the preemptor's side of the meeting point could hold the request by itself."""


def find_victims(
    scene: Scene,
    preemptor: Item,
    queue: Queue,
    preempting: Sequence[Cell],
    requests: Requests,
) -> tuple[Victim, ...]:
    """
    Return victims after whose eviction all `requests` fit, or nothing if there is no such choice.

    `preempting` are the cells of `queue` that lack quota: a victim uses at least one of them.
    """
    search = _ClassicalSearch(scene, preemptor, queue, preempting, requests)
    if search.is_hopeless:
        return ()
    for borrowing in search.attempts():
        found = search.attempt(borrowing=borrowing)
        if found:
            return found
    return ()


class _ClassicalSearch:
    def __init__(
        self,
        scene: Scene,
        preemptor: Item,
        queue: Queue,
        preempting: Sequence[Cell],
        requests: Requests,
    ) -> None:
        self._scene = scene
        self._preemptor = preemptor
        self._queue = queue
        self._pairs = tuple(cell.pair for cell in preempting)
        self._requests = requests
        self._policy = queue.spec.preemption
        self._own = Legal(self._policy.within_cluster_queue, preemptor, self._pairs)
        self._foreign = Legal(self._policy.reclaim_within_cohort, preemptor, self._pairs)
        #: Only then may victims be taken on the way to borrowing without an advantage over them.
        self._may_borrow = self._policy.borrow_within_cohort
        self._must_borrow = not self._may_borrow and any(
            scene.view[cell] >= cell.nominal for cell in preempting
        )
        self._hierarchical: list[_Source] = []
        self._others: list[_Source] = []
        if self._policy.reclaim_within_cohort is not PreemptionPolicy.NEVER:
            for source in self._sources():
                (self._hierarchical if source.hierarchical else self._others).append(source)

    @property
    def is_hopeless(self) -> bool:
        """Whether there is nobody to be evicted at all."""
        scene, queue, own = self._scene, self._queue, self._own
        return not (
            self._hierarchical
            or self._others
            or own.next_index(scene.running(queue), 0) >= 0
            or own.next_index(scene.leaving(queue), 0) >= 0
        )

    def attempts(self) -> tuple[bool, ...]:
        """Return whether borrowing is allowed, attempt by attempt."""
        if self._must_borrow:
            return (True,)
        hierarchical = self._any(self._hierarchical)
        if not hierarchical and not self._any(self._others):
            return (True,)
        if self._may_borrow:
            return (True, False)
        return (True, False) if hierarchical else (False, True)

    def attempt(self, *, borrowing: bool) -> tuple[Victim, ...]:
        """Take victims in order until the requests fit; then spare those not needed."""
        view = Imagined(self._scene.view)
        taken: list[Victim] = []
        for holder, reason in self._victims(view, borrowing=borrowing):
            release_all(view, holder.usage)
            taken.append(Victim(holder, reason))
            if fits(view, self._requests, borrowing=borrowing):
                fit = partial(fits, requests=self._requests, borrowing=borrowing)
                return spare_superfluous(view, taken, fit)
        return ()

    # Collecting

    def _sources(self) -> Iterator[_Source]:
        """Yield queues above nominal, walking up from the preemptor's queue."""
        view = self._scene.view
        advantage = all(view[cell] + amount <= cell.subtree for cell, amount in self._requests)
        rest = _rest(view, self._requests)
        visited: Node = self._queue
        for ancestor in self._queue.ancestors():
            if advantage or not self._must_borrow:
                yield from self._below(ancestor, visited, hierarchical=advantage)
            if all(view[cell] + amount <= cell.subtree for cell, amount in rest):
                advantage = True
            rest = _rest(view, rest)
            visited = ancestor

    def _below(self, top: CohortNode, visited: Node, *, hierarchical: bool) -> Iterator[_Source]:
        view, pairs = self._scene.view, self._pairs
        stack: list[tuple[CohortNode, tuple[Node, ...]]] = [(top, ())]
        while stack:
            cohort, path = stack.pop()
            for child in children_above_nominal(view, cohort, pairs):
                if child is visited:
                    continue
                if isinstance(child, CohortNode):
                    stack.append((child, (child, *path)))
                elif isinstance(child, Queue) and child.active:
                    yield _Source(child, (child, *path), hierarchical)

    def _any(self, sources: list[_Source]) -> bool:
        """Whether any other queue of the list has somebody who may be evicted."""
        scene, legal = self._scene, self._foreign
        return any(
            legal.next_index(holders, 0) >= 0
            for source in sources
            for holders in (scene.leaving(source.queue), scene.running(source.queue))
        )

    # Enumerating

    def _victims(
        self, view: UsageView, *, borrowing: bool
    ) -> Iterator[tuple[Holder, PreemptionReason]]:
        """Yield whom to take next; `view` shows the usage after those taken so far."""
        for holders_of in (self._scene.leaving, self._scene.running):
            yield from self._of_others(holders_of, self._hierarchical, view, borrowing=borrowing)
            if self._may_borrow or not borrowing:
                yield from self._of_others(holders_of, self._others, view, borrowing=borrowing)
            for holder in self._own.all_of(holders_of(self._queue)):
                yield holder, PreemptionReason.IN_CLUSTER_QUEUE

    def _of_others(
        self,
        holders_of: Callable[[Queue], list[Holder]],
        sources: list[_Source],
        view: UsageView,
        *,
        borrowing: bool,
    ) -> Iterator[tuple[Holder, PreemptionReason]]:
        """Merge the candidates of several queues by rank, dropping queues that fall to nominal."""
        legal = self._foreign
        merged: list[tuple[tuple[int, int, str, str], int, int, list[Holder]]] = []
        for number, source in enumerate(sources):
            holders = holders_of(source.queue)
            index = legal.next_index(holders, 0) if holders else -1
            if index >= 0:
                merged.append((holders[index].rank, number, index, holders))
        heapify(merged)
        while merged:
            _, number, index, holders = merged[0]
            source = sources[number]
            # Evictions only lower usage: who is at nominal now stays out for good.
            if not all(exceeds_nominal(view, node, self._pairs) for node in source.above_nominal):
                heappop(merged)
                continue
            holder = holders[index]
            reason = self._reason(source, holder, borrowing=borrowing)
            if reason is not None:
                yield holder, reason
            index = legal.next_index(holders, index + 1)
            if index >= 0:
                heapreplace(merged, (holders[index].rank, number, index, holders))
            else:
                heappop(merged)

    def _reason(
        self, source: _Source, holder: Holder, *, borrowing: bool
    ) -> PreemptionReason | None:
        """Return as what a candidate of another queue is taken; None if it must not be."""
        if source.hierarchical:
            return PreemptionReason.IN_COHORT_RECLAMATION
        if self._may_borrow_against(holder):
            return PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING
        return None if borrowing else PreemptionReason.IN_COHORT_RECLAMATION

    def _may_borrow_against(self, holder: Holder) -> bool:
        """Whether the preemptor may take this one even if it borrows itself."""
        priority, limit = holder.item.priority, self._policy.borrow_max_priority
        return (
            self._may_borrow
            and priority < self._preemptor.priority
            and (limit is None or priority <= limit)
        )


def _rest(view: UsageView, requests: Requests) -> list[tuple[Cell, int]]:
    """Return what is left for the parents to provide, after what each cell keeps at home."""
    return [
        (cell.parent, max(0, amount - locally_available(view, cell)))
        for cell, amount in requests
        if cell.parent is not None
    ]
