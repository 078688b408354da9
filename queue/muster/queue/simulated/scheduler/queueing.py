"""
The queue of pods that wait for a node: by priority, then by age, those that can't be placed apart.

Pods with equal demands share a `Shape`, which remembers of every node what was judged. When one pod
of a shape finds no node, its equals are *parked* with it. A change of a node that could help calls
one of them back, and each that is placed calls the next.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field

from muster.queue.client.protocol import Manifest
from muster.queue.simulated.scheduler.accounts import Accounts
from muster.queue.simulated.scheduler.demands import Demand
from muster.queue.simulated.scheduler.fitting import Rejection, Score, judge

Order = tuple[int, int, int]
"""Priority, highest first; creation; arrival."""


@dataclass(slots=True, kw_only=True)
class Pending:
    """One pod without a node."""

    pod: Manifest
    shape: Shape
    order: Order
    nominated: str = ""
    """The node on which it is going to run once others have left."""
    is_parked: bool = False
    told: str = ""
    """The last refusal."""

    @property
    def uid(self) -> str:
        uid: str = self.pod["metadata"]["uid"]
        return uid


@dataclass(slots=True, kw_only=True)
class Shape:
    """All pods of one demand, and what is known of every node for them."""

    demand: Demand
    scores: dict[str, Score] = field(default_factory=dict)
    rejections: dict[str, Rejection] = field(default_factory=dict)
    generation: int = 0
    """Of the accounts, up to which changes are known."""
    parked: list[tuple[Order, str]] = field(default_factory=list)
    """A heap of order and uid; also of pods that are gone or called back."""
    refusal: str = ""
    """Why none of its pods could be placed when it was tried last."""
    refused_generation: int = -1
    """Of the accounts, at which that was so."""
    is_particular: bool = False
    """Whether a pod was refused for where other pods are, so that no other pod stands for it."""

    def refresh(self, accounts: Accounts) -> bool:
        """Judge all nodes that have changed; return whether one of them gives hope."""
        # Where other pods are may matter on nodes that have not changed.
        is_hopeful = self.demand.depends_on_pods or self.is_particular
        for name in accounts.changed_since(self.generation):
            self.scores.pop(name, None)
            self.rejections.pop(name, None)
            account = accounts.offering(name)
            if account is None:
                continue
            verdict = judge(self.demand, account)
            if isinstance(verdict, Score):
                self.scores[name] = verdict
                is_hopeful = True
            else:
                self.rejections[name] = verdict
                is_hopeful = is_hopeful or (
                    verdict.preemption_helps
                    and self.demand.may_preempt
                    and any(
                        placed.demand.priority < self.demand.priority
                        for placed in account.pods.values()
                    )
                )
        self.generation = accounts.generation
        return is_hopeful


class Waiting:
    """All pods without a node, in the order in which they are tried."""

    def __init__(self) -> None:
        self._pending: dict[str, Pending] = {}
        self._active: list[tuple[Order, str]] = []
        self._shapes: dict[Demand, Shape] = {}
        self._sizes: Counter[Demand] = Counter()
        self._arrivals = 0

    def get(self, uid: str) -> Pending | None:
        return self._pending.get(uid)

    def add(self, pod: Manifest, demand: Demand, created_us: int) -> Pending:
        shape = self._shapes.setdefault(demand, Shape(demand=demand))
        self._sizes[demand] += 1
        self._arrivals += 1
        order = (-demand.priority, created_us, self._arrivals)
        nominated = pod.get("status", {}).get("nominatedNodeName", "")
        pending = Pending(pod=pod, shape=shape, order=order, nominated=nominated)
        self._pending[pending.uid] = pending
        self.activate(pending)
        return pending

    def remove(self, uid: str) -> Pending | None:
        pending = self._pending.pop(uid, None)
        if pending is not None:
            demand = pending.shape.demand
            self._sizes[demand] -= 1
            if not self._sizes[demand]:
                del self._sizes[demand]
                del self._shapes[demand]
        return pending

    def activate(self, pending: Pending) -> None:
        pending.is_parked = False
        heapq.heappush(self._active, (pending.order, pending.uid))

    def park(self, pending: Pending) -> None:
        pending.is_parked = True
        heapq.heappush(pending.shape.parked, (pending.order, pending.uid))

    def pop(self) -> Pending | None:
        """Return the next pod to try; it is neither active nor parked then."""
        while self._active:
            order, uid = heapq.heappop(self._active)
            pending = self._pending.get(uid)
            # A pod that was gone and came back is in the heap twice.
            if pending is not None and not pending.is_parked and pending.order == order:
                return pending
        return None

    def call_back(self, shape: Shape) -> None:
        """Activate the first of the parked pods of a shape."""
        while shape.parked:
            order, uid = heapq.heappop(shape.parked)
            pending = self._pending.get(uid)
            if pending is not None and pending.is_parked and pending.order == order:
                self.activate(pending)
                return

    def call_all_back(self) -> None:
        """Activate every parked pod that waits for nothing in particular."""
        for pending in self._pending.values():
            if pending.is_parked and not pending.nominated:
                self.activate(pending)

    def wake(self, accounts: Accounts) -> None:
        """Call pods back that what has changed since the last time could help."""
        for shape in self._shapes.values():
            if not shape.parked or not shape.refresh(accounts):
                continue
            if shape.is_particular:
                shape.is_particular = False
                while shape.parked:
                    self.call_back(shape)
            else:
                self.call_back(shape)
