"""
What the state remembers of workloads and ClusterQueues: mutable records behind `State.apply`.

Only `state` and the modules it is made of change them; a decision reads them and lays its own
changes over them (`outlook`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from muster.admission import objects
from muster.admission.cohorts import QueueNode
from muster.admission.conditions import PreemptionReason
from muster.admission.config import Gates
from muster.admission.pending import Group, Order, Pending, Place, Shape, Shelf
from muster.admission.quota import Cell
from muster.admission.runs import RunRecord

SHAPES_MAX = 1000
"""Shapes whose run times a queue remembers."""


LastTried: TypeAlias = tuple[Mapping[str, int], ...]
"""Per pod set: resource -> index of the last flavor examined, -1 if that was the last one."""


class ScanProgress(NamedTuple):
    """Where the flavor scan of a workload stopped, to go on from there next time."""

    last_tried: LastTried
    shape: Shape
    generation: int
    cycle: int

    @property
    def untried_flavors(self) -> bool:
        return any(index != -1 for tried in self.last_tried for index in tried.values())


def scan_start(progress: ScanProgress | None) -> LastTried:
    """Return after which flavors the next scan goes on; nothing when it starts at the first."""
    return progress.last_tried if progress is not None and progress.untried_flavors else ()


class Item:
    """A workload, waiting or running."""

    __slots__ = (
        "awaited",
        "evaluated_generation",
        "group",
        "holder",
        "holding",
        "order",
        "priority",
        "progress",
        "queue",
        "queue_timestamp_us",
        "revision",
        "shelf",
        "status",
        "workload",
    )

    def __init__(self, workload: objects.Workload, status: objects.Status) -> None:
        self.workload = workload
        self.status = status
        self.queue: Queue | None = None
        """The ClusterQueue of its LocalQueue, when both exist and the LocalQueue is not stopped."""
        self.group: Group | None = None
        self.shelf: Shelf | None = None
        """Where it waits; None when it does not."""
        self.holding = False
        """Whether it holds quota, be it booked or of a queue that is not there."""
        self.holder: Holder | None = None
        self.revision = 0
        """Grows with every change that a decision made before it knows nothing of."""
        self.priority = 0
        """Effective priority."""
        self.queue_timestamp_us = 0
        self.order: Order = (0, 0, "", "")
        self.progress: ScanProgress | None = None
        self.evaluated_generation = 0
        self.awaited: tuple[Victim, ...] = ()
        """Victims that were chosen for it and had not left when that was decided."""

    @property
    def place(self) -> Place:
        if self.shelf is not None:
            return self.shelf.place
        return Place.HOLDING if self.holding else Place.NOWHERE

    def __repr__(self) -> str:
        return f"<{self.workload.key} {self.place.value}>"


class Victim(NamedTuple):
    """A reservation that is to be taken back."""

    holder: Holder
    reason: PreemptionReason


class Holder:
    """A reservation of quota: a possible victim."""

    __slots__ = (
        "evicting",
        "item",
        "pairs",
        "queue",
        "rank",
        "reserved_us",
        "runs",
        "usage",
    )

    def __init__(
        self,
        item: Item,
        queue: Queue,
        usage: tuple[tuple[Cell, int], ...],
        reserved_us: int,
        *,
        evicting: bool,
        runs: RunRecord | None = None,
    ) -> None:
        self.item = item
        self.queue = queue
        self.usage = usage
        self.pairs = {cell.pair: amount for cell, amount in usage}
        self.rank = (item.priority, -reserved_us, item.workload.uid, item.workload.key)
        """Who goes first among victims: lower priority, then later reserved, then smaller UID."""
        self.reserved_us = reserved_us
        self.runs = runs
        """What is known of such workloads in this queue."""
        self.evicting = evicting

    @property
    def is_booked(self) -> bool:
        """Whether the reservation is there: not given back, and not just imagined."""
        return self.item.holder is self

    def ends_by_us(self, now_us: int, patience_us: int) -> int | None:
        """Return when it is expected to have ended, if that is within the patience; else None."""
        expected = None if self.runs is None else self.runs.expected_us
        if expected is None or self.evicting:
            return None
        end = self.reserved_us + expected
        return end if now_us <= end <= now_us + patience_us else None

    def __repr__(self) -> str:
        return f"<Holder {self.item.workload.key}>"


by_rank = attrgetter("rank")


def shape_of(item: Item, gates: Gates) -> Shape:
    """Return the equivalence class: workloads alike in all that decisions look at."""
    pod_sets = item.workload.pod_sets
    reclaimable = item.status.reclaimable
    if reclaimable and gates.reclaimable_pods:
        pod_sets = tuple(_without_reclaimed(p, reclaimable.get(p.name, 0)) for p in pod_sets)
    return item.priority, pod_sets


def _without_reclaimed(pod_set: objects.PodSet, reclaimed: int) -> objects.PodSet:
    if not reclaimed:
        return pod_set
    return replace(pod_set, count=pod_set.count - min(reclaimed, pod_set.count))


class Queue(QueueNode):
    """A ClusterQueue: its specification, who waits in it and who holds its quota."""

    __slots__ = (
        "evicting",
        "group_of",
        "holders",
        "inactive_reason",
        "pending",
        "runs",
        "spec",
        "tree",
    )

    def __init__(self, spec: objects.ClusterQueue) -> None:
        super().__init__(spec.name)
        self.spec = spec
        self.group_of: dict[str, objects.ResourceGroup] = {}
        self.inactive_reason: str | None = "Unknown"
        self.pending = Pending()
        self.holders: list[Holder] = []
        """Running workloads by rank; those being evicted are in `evicting` instead."""
        self.evicting: list[Holder] = []
        self.runs: dict[Shape, RunRecord] = {}
        """Runs that have ended, by shape."""
        self.tree = Tree()

    def respecify(self, spec: objects.ClusterQueue) -> None:
        self.spec = spec
        self.quotas = spec.quotas
        self.weight = spec.weight
        self.group_of = {name: group for group in spec.groups for name in group.resources}
        self.pending.forget_requests()

    def runs_of(self, shape: Shape) -> RunRecord:
        """Return the record of a shape; the oldest is forgotten when there are too many."""
        found = self.runs.get(shape)
        if found is None:
            if len(self.runs) >= SHAPES_MAX:
                del self.runs[next(iter(self.runs))]
            found = self.runs[shape] = RunRecord()
        return found

    def add_holder(self, holder: Holder) -> None:
        insort(self.evicting if holder.evicting else self.holders, holder, key=by_rank)

    def drop_holder(self, holder: Holder) -> None:
        ranked = self.evicting if holder.evicting else self.holders
        index = bisect_left(ranked, holder.rank, key=by_rank)
        assert ranked[index] is holder, "holders are kept in the order of their rank"
        del ranked[index]


class Tree:
    """Queues that share a root, and which of them have something to look at."""

    __slots__ = ("later", "parked", "ready", "stirred", "swept")

    def __init__(self) -> None:
        self.ready: dict[Queue, None] = {}
        """Queues with a workload in the heap that nothing about themselves keeps from use."""
        self.parked: dict[Queue, None] = {}
        """Queues with workloads that were set aside."""
        self.later: list[tuple[Queue, Group]] = []
        """Who was not woken because others go first; to be asked again after the next decision."""
        self.stirred = 0
        """When something last happened that may change a decision; see `State._tick`."""
        self.swept = 0
        """When set-aside work was last given another try: older decisions set nobody aside."""
