"""
What was decided about each job, with who used what at that moment: the memory behind every story.

A `DecisionLog` observes a `Runner`. It keeps admissions and preemptions whole, and of every stretch
of waiting the first refusal and the latest: what is in between differs in figures only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Final, NamedTuple

from muster.admission.amounts import FlavorResource
from muster.admission.plan import Admit, CyclePlan, Decision, Eviction, Preempt, Wait
from muster.admission.records import Queue
from muster.admission.state import State

QUEUES_NAMED_MAX: Final = 4
"""Queues named as users, and as owners of idle quota, of one flavor and resource."""


class Share(NamedTuple):
    """A ClusterQueue's part in one flavor and resource, in amounts."""

    queue: str
    used: int
    nominal: int

    @property
    def idle(self) -> int:
        return max(0, self.nominal - self.used)

    @property
    def borrowed(self) -> int:
        return max(0, self.used - self.nominal)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one flavor and resource stood in a tree once a decision had been taken."""

    own: Share
    users: tuple[Share, ...]
    """Who used most."""
    owners: tuple[Share, ...]
    """Who had most left idle, the deciding queue itself excepted."""


@dataclass(frozen=True, slots=True)
class Noted:
    at_us: int
    decision: Decision
    standings: Mapping[FlavorResource, Standing]


class DecisionLog:
    """Call it with every plan; `entries` has what is worth telling, in the order of time."""

    def __init__(self) -> None:
        self._entries: list[Noted | None] = []
        self._latest: dict[str, tuple[int, int]] = {}
        """Entries of the first and the latest refusal of each waiting job."""
        self._awaited: dict[tuple[str, str, int], None] = {}
        """(preemptor, victim, expected end) of victims that were left to finish."""
        self._trees: dict[str, tuple[Queue, ...]] = {}

    @property
    def entries(self) -> tuple[Noted, ...]:
        return tuple(entry for entry in self._entries if entry is not None)

    def __call__(self, at_us: int, plan: CyclePlan, state: State) -> None:
        for decision in plan.decisions:
            match decision:
                case Admit():
                    self._latest.pop(decision.workload, None)
                    self._note(at_us, decision, state)
                case Preempt():
                    news = [e for e in decision.evictions if self._is_news(decision, e)]
                    if news:
                        self._note(at_us, replace(decision, evictions=tuple(news)), state)
                case Wait():
                    self._refused(at_us, decision, state)

    def _is_news(self, preempt: Preempt, eviction: Eviction) -> bool:
        """Whether a victim is asked to leave, or for the first time left to finish."""
        if eviction.ends_by_us is None:
            return not eviction.already_asked
        awaited = preempt.workload, eviction.workload, eviction.ends_by_us
        known = awaited in self._awaited
        self._awaited[awaited] = None
        return not known

    def _refused(self, at_us: int, wait: Wait, state: State) -> None:
        known = self._latest.get(wait.workload)
        here = len(self._entries)
        if known is None:
            self._latest[wait.workload] = here, here
        else:
            first, latest = known
            if latest != first:
                self._entries[latest] = None
            self._latest[wait.workload] = first, here
        self._note(at_us, wait, state)

    def _note(self, at_us: int, decision: Decision, state: State) -> None:
        queue = state.queues[decision.cluster_queue]
        tree = self._tree(queue, state)
        standings = {pair: _standing(queue, tree, pair) for pair in _pairs(decision)}
        self._entries.append(Noted(at_us, decision, standings))

    def _tree(self, queue: Queue, state: State) -> tuple[Queue, ...]:
        tree = self._trees.get(queue.name)
        if tree is None:
            tree = tuple(other for other in state.queues.values() if other.root is queue.root)
            self._trees[queue.name] = tree
        return tree


def _pairs(decision: Decision) -> Iterator[FlavorResource]:
    """Yield the flavors and resources a decision speaks of, each once."""
    seen = [FlavorResource(grant.flavor, grant.resource) for grant in decision.grants]
    if isinstance(decision, Wait):
        seen += [FlavorResource(o.flavor, o.resource) for o in decision.obstacles if o.resource]
    yield from dict.fromkeys(seen)


def _standing(queue: Queue, tree: Iterable[Queue], pair: FlavorResource) -> Standing:
    shares = [_share(other, pair) for other in tree if pair in other.cells]
    others = [share for share in shares if share.idle and share.queue != queue.name]
    users = [share for share in shares if share.used]
    return Standing(
        own=_share(queue, pair),
        users=tuple(nsmallest(QUEUES_NAMED_MAX, users, key=lambda s: (-s.used, s.queue))),
        owners=tuple(nsmallest(QUEUES_NAMED_MAX, others, key=lambda s: (-s.idle, s.queue))),
    )


def _share(queue: Queue, pair: FlavorResource) -> Share:
    cell = queue.cells.get(pair)
    return Share(queue.name, 0, 0) if cell is None else Share(queue.name, cell.used, cell.nominal)
