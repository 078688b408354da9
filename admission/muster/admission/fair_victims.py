"""
Choose victims under fair sharing: from the queue that has most beyond its own, while that is fair.

The incoming workload is counted as if it ran. Again and again the search descends from the root
into the child with the largest share, down to a queue, and asks whether the preemptor's side would
still have less than that queue's side: after losing the victim (*final share*) or before (*initial
share*). Strategies are tried in the order of the configuration, the second one on who was refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heapreplace
from itertools import chain

from muster.admission.cohorts import CohortNode, Node
from muster.admission.conditions import PreemptionReason
from muster.admission.config import FairStrategy
from muster.admission.objects import PreemptionPolicy
from muster.admission.quota import Cell, Imagined, book_all, exceeds_nominal, release_all
from muster.admission.records import Holder, Item, Queue, Victim
from muster.admission.scene import Scene
from muster.admission.shares import Share, borrows, share
from muster.admission.victims import (
    Legal,
    Requests,
    fits,
    spare_superfluous,
)


def find_victims(
    scene: Scene,
    preemptor: Item,
    queue: Queue,
    preempting: Sequence[Cell],
    requests: Requests,
) -> tuple[Victim, ...]:
    """Return victims after whose eviction all `requests` fit, or nothing if that is not fair."""
    strategies = scene.config.fair_sharing
    assert strategies, "the fair search runs only under fair sharing"
    return _FairSearch(scene, preemptor, queue, preempting, requests).run(strategies)


class _Candidates:
    """The candidates of one queue, in the order in which they would go."""

    __slots__ = ("first", "queue", "_rest")

    def __init__(self, queue: Queue, holders: Iterable[Holder]) -> None:
        self.queue = queue
        self._rest = iter(holders)
        self.first: Holder | None = next(self._rest, None)

    def pop(self) -> Holder:
        first = self.first
        assert first is not None
        self.first = next(self._rest, None)
        return first


class _FairSearch:
    def __init__(
        self,
        scene: Scene,
        preemptor: Item,
        queue: Queue,
        preempting: Sequence[Cell],
        requests: Requests,
    ) -> None:
        self.scene = scene
        self._preemptor = preemptor
        self.queue = queue
        self._pairs = tuple(cell.pair for cell in preempting)
        self._requests = requests
        #: Usage without victims: what the fit is tested on.
        self._without = Imagined(scene.view)
        #: The same with the incoming workload counted: what shares are computed from.
        self._with = Imagined(scene.view)
        book_all(self._with, requests)
        self._taken: list[Victim] = []
        self._shares: dict[Node, Share] = {}
        self._borrowing: dict[Node, bool] = {}
        self._own_path = dict.fromkeys((queue, *queue.ancestors()))
        self._within_nominal = (
            scene.config.gates.fair_sharing_preempt_within_nominal
            and not exceeds_nominal(self._with, queue, self._pairs)
        )

    def run(self, strategies: Sequence[FairStrategy]) -> tuple[Victim, ...]:
        retry: dict[Queue, list[Holder]] = {}
        if self._first_phase(_Field(self, self._collect()), strategies[0], retry):
            return self._spared()
        if len(strategies) > 1 and self._second_phase(_Field(self, _candidates(retry))):
            return self._spared()
        return ()

    def _spared(self) -> tuple[Victim, ...]:
        fit = partial(fits, requests=self._requests, borrowing=True)
        return spare_superfluous(self._without, self._taken, fit)

    def _first_phase(
        self, field: _Field, strategy: FairStrategy, retry: dict[Queue, list[Holder]]
    ) -> bool:
        while (candidates := field.select()) is not None:
            queue = candidates.queue
            holder: Holder | None
            if queue is self.queue:
                reason, holder = PreemptionReason.IN_CLUSTER_QUEUE, candidates.pop()
            elif self._within_nominal:
                reason, holder = PreemptionReason.IN_COHORT_RECLAMATION, candidates.pop()
            else:
                reason = PreemptionReason.IN_COHORT_FAIR_SHARING
                holder = self._fair_victim(candidates, strategy, retry)
            if holder is not None and self._take(holder, reason):
                return True
        return False

    def _fair_victim(
        self,
        candidates: _Candidates,
        strategy: FairStrategy,
        retry: dict[Queue, list[Holder]],
    ) -> Holder | None:
        """Return the first candidate of a queue whose eviction is fair; note those passed over."""
        mine, theirs = self._sides(candidates.queue)
        new, old = self.share(mine), self.share(theirs)
        refused = retry.setdefault(candidates.queue, [])
        hopeless = new.weightless and not old.weightless
        while candidates.first is not None:
            holder = candidates.pop()
            if not hopeless:
                if strategy is FairStrategy.INITIAL_SHARE:
                    fair = new < old
                else:
                    after = Imagined(self._with)
                    release_all(after, holder.usage)
                    fair = new <= share(after, theirs)
                if fair:
                    return holder
            refused.append(holder)
        return None

    def _second_phase(self, field: _Field) -> bool:
        while (candidates := field.select()) is not None:
            mine, theirs = self._sides(candidates.queue)
            fair = self.share(mine) < self.share(theirs)
            holder = candidates.pop()
            field.drop(candidates.queue)
            if fair and self._take(holder, PreemptionReason.IN_COHORT_FAIR_SHARING):
                return True
        return False

    def _take(self, holder: Holder, reason: PreemptionReason) -> bool:
        """Evict in imagination; return whether the workload fits now."""
        self._taken.append(Victim(holder, reason))
        release_all(self._without, holder.usage)
        release_all(self._with, holder.usage)
        for node in (holder.queue, *holder.queue.ancestors()):
            self._shares.pop(node, None)
            self._borrowing.pop(node, None)
        return fits(self._without, self._requests, borrowing=True)

    def share(self, node: Node) -> Share:
        """The share of a node now, with the incoming workload counted."""
        found = self._shares.get(node)
        if found is None:
            found = self._shares[node] = share(self._with, node)
        return found

    def borrows(self, node: Node) -> bool:
        """Whether a node uses more than its own now."""
        found = self._borrowing.get(node)
        if found is None:
            found = self._borrowing[node] = borrows(self._with, node)
        return found

    def is_own(self, node: Node) -> bool:
        """Whether a node is the preemptor's queue or above it."""
        return node in self._own_path

    def _sides(self, other: Queue) -> tuple[Node, Node]:
        """Return the nodes on either side, just below where the two queues meet."""
        theirs: Node = other
        while theirs.parent is not None and theirs.parent not in self._own_path:
            theirs = theirs.parent
        mine: Node = self.queue
        while mine.parent is not theirs.parent:
            assert mine.parent is not None, "candidates are in the preemptor's tree"
            mine = mine.parent
        return mine, theirs

    def _collect(self) -> dict[Queue, _Candidates]:
        policy = self.queue.spec.preemption
        found = {self.queue: self._candidates_of(self.queue, policy.within_cluster_queue)}
        if policy.reclaim_within_cohort is not PreemptionPolicy.NEVER:
            for queue in _queues_below(self.queue.root):
                if (
                    queue is not self.queue
                    and queue.active
                    and exceeds_nominal(self.scene.view, queue, self._pairs)
                ):
                    found[queue] = self._candidates_of(queue, policy.reclaim_within_cohort)
        return found

    def _candidates_of(self, queue: Queue, policy: PreemptionPolicy) -> _Candidates:
        scene = self.scene
        legal = Legal(policy, self._preemptor, self._pairs)
        return _Candidates(
            queue,
            chain.from_iterable(
                legal.all_of(holders) for holders in (scene.leaving(queue), scene.running(queue))
            ),
        )


def _candidates(retry: Mapping[Queue, list[Holder]]) -> dict[Queue, _Candidates]:
    return {queue: _Candidates(queue, holders) for queue, holders in retry.items()}


def _queues_below(top: Node) -> Iterator[Queue]:
    stack = [top]
    while stack:
        node = stack.pop()
        if isinstance(node, Queue):
            yield node
        elif isinstance(node, CohortNode):
            for queue in node.queues.values():
                assert isinstance(queue, Queue)
                yield queue
            stack.extend(node.cohorts.values())


class _Seat:
    """A queue's place in its cohort: by share, largest first, then by its first candidate."""

    __slots__ = ("candidates", "rank", "share")

    def __init__(
        self, share: Share, rank: tuple[bool, bool, int, int, str, str], candidates: _Candidates
    ) -> None:
        self.share = share
        self.rank = rank
        self.candidates = candidates

    def __lt__(self, other: _Seat) -> bool:
        if self.share == other.share:
            return self.rank < other.rank
        return self.share > other.share


class _Field:
    """Which queue is to give next: the descent from the root into the largest share."""

    def __init__(self, search: _FairSearch, candidates: dict[Queue, _Candidates]) -> None:
        self._search = search
        self._of = candidates
        self._root = search.queue.root
        #: Children still in the game, by cohort: queues as a heap, cohorts in name order.
        self._seats: dict[CohortNode, list[_Seat]] = {}
        self._cohorts: dict[CohortNode, list[CohortNode]] = {}

    def drop(self, queue: Queue) -> None:
        self._of.pop(queue, None)

    def select(self) -> _Candidates | None:
        """Return the candidates of the queue that should give next, at least one; or None."""
        if not isinstance(self._root, CohortNode):
            own = self._of.get(self._search.queue)
            return own if own is not None and own.first is not None else None
        while True:
            cohort: CohortNode = self._root
            while True:
                queue = self._largest_queue(cohort)
                child = self._largest_cohort(cohort)
                if child is not None and (
                    queue is None or self._search.share(child) >= self._search.share(queue.queue)
                ):
                    cohort = child
                    continue
                if queue is not None:
                    return queue
                break
            if cohort is self._root:
                return None
            assert cohort.parent is not None
            self._cohorts[cohort.parent].remove(cohort)

    def _largest_queue(self, cohort: CohortNode) -> _Candidates | None:
        seats = self._seats.get(cohort)
        if seats is None:
            among = [self._of[queue] for queue in _named(cohort.queues, self._of)]
            seats = self._seats[cohort] = [self._seat(c) for c in among if self._stays(c)]
            heapify(seats)
        # Whoever loses a holder moves back, and nobody ever moves forward: a seat that is still
        # first when looked at afresh is the right one.
        while seats:
            top = seats[0]
            if not self._stays(top.candidates):
                heappop(seats)
                continue
            fresh = self._seat(top.candidates)
            if not top < fresh:
                return top.candidates
            heapreplace(seats, fresh)
        return None

    def _stays(self, candidates: _Candidates) -> bool:
        """Whether a queue is still in the game."""
        queue, search = candidates.queue, self._search
        return (
            candidates.first is not None
            and queue in self._of
            and (queue is search.queue or search.borrows(queue))
        )

    def _seat(self, candidates: _Candidates) -> _Seat:
        first, search = candidates.first, self._search
        assert first is not None
        leaving = first.evicting or first in search.scene.evicting
        rank = (not leaving, candidates.queue is search.queue, *first.rank)
        return _Seat(search.share(candidates.queue), rank, candidates)

    def _largest_cohort(self, cohort: CohortNode) -> CohortNode | None:
        children = self._cohorts.get(cohort)
        if children is None:
            children = [cohort.cohorts[name] for name in sorted(cohort.cohorts)]
        search = self._search
        staying = [c for c in children if search.is_own(c) or search.borrows(c)]
        self._cohorts[cohort] = staying
        best: CohortNode | None = None
        for child in staying:
            if best is None or search.share(child) >= search.share(best):
                best = child
        return best


def _named(queues: Mapping[str, Node], among: Mapping[Queue, _Candidates]) -> Iterator[Queue]:
    for name in sorted(queues):
        queue = queues[name]
        if queue in among:
            assert isinstance(queue, Queue)
            yield queue
