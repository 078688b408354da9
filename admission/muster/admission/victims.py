"""
Choose victims: whose reservation is taken back so that a workload fits.

This module has the rules both searches share (who may be asked to leave, in which order, when the
preemptor fits, how superfluous victims are spared) and the *classical* search; the search under fair
sharing is in `fair_victims`. Searches read a scene and return victims; they change nothing.

Classical search. Candidates come from the own queue, and from queues that use more than their quota.
Walking up from the preemptor's queue, once some subtree could hold the request by its own quota the
preemptor has the advantage over everything outside that subtree: there it reclaims what is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from heapq import merge
from itertools import chain
from typing import NamedTuple

from muster.admission.amounts import FlavorResource
from muster.admission.cohorts import CohortNode, Node
from muster.admission.objects import PreemptionPolicy
from muster.admission.quota import (
    Cell,
    Imagined,
    UsageView,
    available,
    book_all,
    exceeds_nominal,
    locally_available,
    release_all,
)
from muster.admission.records import Holder, Item, Queue, by_rank
from muster.admission.scene import Scene


class VictimReason(StrEnum):
    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"
    IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    IN_COHORT_FAIR_SHARING = "InCohortFairSharing"


class Victim(NamedTuple):
    holder: Holder
    reason: VictimReason


Requests = Sequence[tuple[Cell, int]]


# --- Rules of both searches ----------------------------------------------------------------------


def may_be_evicted(
    holders: Iterator[Holder],
    policy: PreemptionPolicy,
    preemptor: Item,
    pairs: Sequence[FlavorResource],
) -> Iterator[Holder]:
    """Yield those holders, given by rank, that a policy lets the preemptor take."""
    if policy is PreemptionPolicy.NEVER:
        return
    priority = preemptor.priority
    for holder in holders:
        if policy is not PreemptionPolicy.ANY:
            item = holder.item
            if item.priority > priority:
                return  # by rank: everybody after this one is more important still
            if item.priority == priority and (
                policy is PreemptionPolicy.LOWER_PRIORITY
                or preemptor.queue_timestamp_us >= item.queue_timestamp_us
            ):
                continue
        if any(pair in holder.pairs for pair in pairs):
            yield holder


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


class _Candidate(NamedTuple):
    holder: Holder
    reason: VictimReason
    source: _Source | None
    only_without_borrowing: bool


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
        self._preempting = preempting
        self._requests = requests
        self._policy = queue.spec.preemption
        sources = list(self._sources())
        self._hierarchical = [source for source in sources if source.hierarchical]
        self._others = [source for source in sources if not source.hierarchical]

    def attempts(self) -> tuple[bool, ...]:
        """Return whether borrowing is allowed, attempt by attempt."""
        hierarchical = self._any(self._hierarchical)
        if not hierarchical and not self._any(self._others):
            return (True,)
        if self._policy.borrow_within_cohort:
            return (True, False)
        view = self._scene.view
        if any(view[cell] >= cell.nominal for cell in self._preempting):
            return (True,)
        return (True, False) if hierarchical else (False, True)

    def attempt(self, *, borrowing: bool) -> tuple[Victim, ...]:
        view = Imagined(self._scene.view)
        taken: list[Victim] = []
        for candidate in self._candidates():
            source = candidate.source
            if source is not None:
                if borrowing and candidate.only_without_borrowing:
                    continue
                if not all(exceeds_nominal(view, n, self._pairs) for n in source.above_nominal):
                    continue
            release_all(view, candidate.holder.usage)
            taken.append(Victim(candidate.holder, candidate.reason))
            if fits(view, self._requests, borrowing=borrowing):
                fit = partial(fits, requests=self._requests, borrowing=borrowing)
                return spare_superfluous(view, taken, fit)
        return ()

    # Collecting

    def _sources(self) -> Iterator[_Source]:
        """Yield queues above nominal, walking up from the preemptor's queue."""
        if self._policy.reclaim_within_cohort is PreemptionPolicy.NEVER:
            return
        view = self._scene.view
        advantage = all(view[cell] + amount <= cell.subtree for cell, amount in self._requests)
        rest = [
            (cell.parent, max(0, amount - locally_available(view, cell)))
            for cell, amount in self._requests
        ]
        visited: Node = self._queue
        for ancestor in self._queue.ancestors():
            yield from self._below(ancestor, visited, (), hierarchical=advantage)
            here = [(cell, amount) for cell, amount in rest if cell is not None]
            if all(view[cell] + amount <= cell.subtree for cell, amount in here):
                advantage = True
            rest = [
                (cell.parent, max(0, amount - locally_available(view, cell)))
                for cell, amount in here
            ]
            visited = ancestor

    def _below(
        self, top: CohortNode, visited: Node, path: tuple[Node, ...], *, hierarchical: bool
    ) -> Iterator[_Source]:
        view = self._scene.view
        stack: list[tuple[CohortNode, tuple[Node, ...]]] = [(top, path)]
        while stack:
            cohort, path = stack.pop()
            for queue in cohort.queues.values():
                if (
                    queue is not self._queue
                    and queue.active
                    and exceeds_nominal(view, queue, self._pairs)
                ):
                    assert isinstance(queue, Queue)
                    yield _Source(queue, (queue, *path), hierarchical)
            for child in cohort.cohorts.values():
                if child is not visited and exceeds_nominal(view, child, self._pairs):
                    stack.append((child, (child, *path)))

    # Enumerating

    def _candidates(self) -> Iterator[_Candidate]:
        for holders in (self._scene.leaving, self._scene.running):
            yield from self._from_others(holders, self._hierarchical)
            yield from self._from_others(holders, self._others)
            own = may_be_evicted(
                iter(holders(self._queue)),
                self._policy.within_cluster_queue,
                self._preemptor,
                self._pairs,
            )
            for holder in own:
                yield _Candidate(holder, VictimReason.IN_CLUSTER_QUEUE, None, False)

    def _from_others(
        self, holders: Callable[[Queue], Iterator[Holder] | list[Holder]], sources: list[_Source]
    ) -> Iterator[_Candidate]:
        if not sources:
            return
        by_queue = {source.queue: source for source in sources}
        streams = [self._of(holders, source) for source in sources]
        for holder in merge(*streams, key=by_rank) if len(streams) > 1 else streams[0]:
            source = by_queue[holder.queue]
            while_borrowing = not source.hierarchical and self._may_borrow_against(holder)
            yield _Candidate(
                holder,
                VictimReason.IN_COHORT_RECLAIM_WHILE_BORROWING
                if while_borrowing
                else VictimReason.IN_COHORT_RECLAMATION,
                source,
                only_without_borrowing=not source.hierarchical and not while_borrowing,
            )

    def _of(
        self, holders: Callable[[Queue], Iterator[Holder] | list[Holder]], source: _Source
    ) -> Iterator[Holder]:
        return may_be_evicted(
            iter(holders(source.queue)),
            self._policy.reclaim_within_cohort,
            self._preemptor,
            self._pairs,
        )

    def _any(self, sources: list[_Source]) -> bool:
        streams = (
            self._of(holders, source)
            for source in sources
            for holders in (self._scene.leaving, self._scene.running)
        )
        return next(chain.from_iterable(streams), None) is not None

    def _may_borrow_against(self, holder: Holder) -> bool:
        """Whether the preemptor may take this one even if it borrows itself."""
        policy = self._policy
        if not policy.borrow_within_cohort:
            return False
        priority = holder.item.priority
        if priority >= self._preemptor.priority:
            return False
        return policy.borrow_max_priority is None or priority <= policy.borrow_max_priority
