"""
Who used, borrowed and lent how much of one resource over time, and who went short.

One sweep over a history, in the order of time, keeps per queue and flavor what is in use and adds
up areas (amount x time). All is linear in the number of runs, however many queues there are.

Words: what a queue uses beyond its nominal quota of a flavor is *borrowed*; it is *lent* by the
queues and cohorts of the same tree whose quota of that flavor is idle, in proportion to what each
has idle. A queue is *short* while it has jobs waiting and uses less than its own nominal quota.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from muster.admission.amounts import INFINITE
from muster.queue.simulation.experiment import Experiment
from muster.queue.simulation.history import History, Run

PARTS: Final = 1_000_000
"""A ratio of 1, where ratios are kept as integers."""


@dataclass(slots=True, kw_only=True)
class QueueUsage:
    """Of one ClusterQueue or Cohort and one resource; areas are amount x microseconds."""

    name: str
    nominal: int
    used_area: int = 0
    borrowed_area: int = 0
    lent_area: float = 0.0
    short_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    resource: str
    queues: Mapping[str, QueueUsage]
    fairness: float | None
    """
    Jain's index of use relative to nominal quota, over the queues of a tree that have jobs waiting,
    averaged over the time at which there are two or more of them. 1 is an even split; None when no
    two queues ever waited together.
    """


@dataclass(slots=True)
class _Cell:
    """One queue's quota of one flavor."""

    owner: _Owner
    pool: _Pool
    nominal: int
    used: int = 0
    lending_mark: float = 0.0

    @property
    def idle(self) -> int:
        return max(0, self.nominal - self.used)

    @property
    def borrowed(self) -> int:
        return max(0, self.used - self.nominal)


@dataclass(slots=True)
class _Pool:
    """All cells of one tree and flavor."""

    idle: int = 0
    borrowed: int = 0
    since_us: int = 0
    lending: float = 0.0
    """Integral over time of lent / idle: what a unit of idle quota has lent so far."""

    def catch_up(self, now_us: int) -> None:
        if self.borrowed and self.idle:
            # After a cut of quotas more may be in use than anybody owns; that is lent by nobody.
            lent = min(self.borrowed, self.idle)
            self.lending += (now_us - self.since_us) * lent / self.idle
        self.since_us = now_us


@dataclass(slots=True)
class _Contest:
    """The queues of one tree that have jobs waiting: sums for Jain's index."""

    count: int = 0
    total: int = 0
    squares: int = 0
    since_us: int = 0
    contested_us: int = 0
    index_area: float = 0.0

    def catch_up(self, now_us: int) -> None:
        if self.count > 1:
            span_us = now_us - self.since_us
            self.contested_us += span_us
            even = self.squares == 0  # nobody has anything
            self.index_area += span_us * (
                1.0 if even else self.total**2 / (self.count * self.squares)
            )
        self.since_us = now_us

    def change(self, ratio: int, by: int) -> None:
        self.count += by
        self.total += by * ratio
        self.squares += by * ratio * ratio


@dataclass(slots=True)
class _Owner:
    figures: QueueUsage
    contest: _Contest
    used: int = 0
    waiting: int = 0
    since_us: int = 0
    cells: dict[str, _Cell] = field(default_factory=dict)

    @property
    def ratio(self) -> int:
        return PARTS * self.used // self.figures.nominal

    @property
    def contends(self) -> bool:
        return self.waiting > 0 and self.figures.nominal > 0


class _Sweep:
    def __init__(self, experiment: Experiment, resource: str) -> None:
        self._resource = resource
        self._start_us = experiment.start_us
        self._roots = _roots(experiment)
        self._pools: dict[tuple[str, str], _Pool] = {}
        self.contests: dict[str, _Contest] = {}
        self.owners: dict[str, _Owner] = {}
        for name in (*experiment.cluster_queues, *experiment.cohorts):
            self._owner(name)
        for name, pair, nominal in experiment.nominal():
            if pair.resource == resource and nominal < INFINITE:
                self._cell(name, pair.flavor).nominal += nominal
                self._owner(name).figures.nominal += nominal
        for owner in self.owners.values():
            for cell in owner.cells.values():
                cell.pool.idle += cell.nominal

    def _owner(self, name: str) -> _Owner:
        owner = self.owners.get(name)
        if owner is None:
            contest = self.contests.setdefault(self._roots[name], _Contest())
            contest.since_us = self._start_us
            owner = _Owner(QueueUsage(name=name, nominal=0), contest, since_us=self._start_us)
            self.owners[name] = owner
        return owner

    def _cell(self, name: str, flavor: str) -> _Cell:
        owner = self._owner(name)
        cell = owner.cells.get(flavor)
        if cell is None:
            pool = self._pools.setdefault((self._roots[name], flavor), _Pool())
            pool.since_us = self._start_us
            cell = owner.cells[flavor] = _Cell(owner, pool, 0)
        return cell

    def waiting(self, name: str, by: int, now_us: int) -> None:
        owner = self.owners.get(name)
        if owner is not None:
            self._catch_up(owner, now_us)
            contended = owner.contends
            owner.waiting += by
            if owner.contends is not contended:
                owner.contest.catch_up(now_us)
                owner.contest.change(owner.ratio, 1 if owner.contends else -1)

    def use(self, run: Run, sign: int, now_us: int) -> None:
        for grant in run.grants:
            if grant.resource == self._resource:
                self._use(self._cell(run.cluster_queue, grant.flavor), sign * grant.amount, now_us)

    def _use(self, cell: _Cell, by: int, now_us: int) -> None:
        owner, pool = cell.owner, cell.pool
        self._catch_up(owner, now_us)
        pool.catch_up(now_us)
        self._settle_lending(cell)
        idle, borrowed = cell.idle, cell.borrowed
        if owner.contends:
            owner.contest.catch_up(now_us)
            owner.contest.change(owner.ratio, -1)
        cell.used += by
        owner.used += by
        if owner.contends:
            owner.contest.change(owner.ratio, 1)
        pool.idle += cell.idle - idle
        pool.borrowed += cell.borrowed - borrowed

    def _settle_lending(self, cell: _Cell) -> None:
        cell.owner.figures.lent_area += cell.idle * (cell.pool.lending - cell.lending_mark)
        cell.lending_mark = cell.pool.lending

    def _catch_up(self, owner: _Owner, now_us: int) -> None:
        span_us = now_us - owner.since_us
        if span_us:
            figures = owner.figures
            figures.used_area += span_us * owner.used
            figures.borrowed_area += span_us * sum(c.borrowed for c in owner.cells.values())
            if owner.waiting and owner.used < figures.nominal:
                figures.short_us += span_us
            owner.since_us = now_us

    def finish(self, now_us: int) -> None:
        for pool in self._pools.values():
            pool.catch_up(now_us)
        for contest in self.contests.values():
            contest.catch_up(now_us)
        for owner in self.owners.values():
            self._catch_up(owner, now_us)
            for cell in owner.cells.values():
                self._settle_lending(cell)


def usage_of(history: History, resource: str) -> Usage:
    """Return who used, borrowed, lent and lacked `resource` in a history."""
    sweep = _Sweep(history.experiment, resource)
    for change in sorted(_changes(history), key=lambda change: change.at_us):
        if change.run is None:
            sweep.waiting(change.queue, change.by, change.at_us)
        else:
            sweep.use(change.run, change.by, change.at_us)
    sweep.finish(history.ended_us)
    contested_us = sum(contest.contested_us for contest in sweep.contests.values())
    area = sum(contest.index_area for contest in sweep.contests.values())
    return Usage(
        resource=resource,
        queues={name: owner.figures for name, owner in sweep.owners.items()},
        fairness=area / contested_us if contested_us else None,
    )


class _Change(NamedTuple):
    """One more (`by` = 1) or one less (-1): run in a queue, or else job that waits in it."""

    at_us: int
    queue: str
    by: int
    run: Run | None = None


def _changes(history: History) -> Iterator[_Change]:
    for run in history.runs:
        yield _Change(run.started_us, run.cluster_queue, 1, run)
        yield _Change(run.ended_us, run.cluster_queue, -1, run)
    for wait in history.waits():
        yield _Change(wait.since_us, wait.cluster_queue, 1)
        yield _Change(wait.until_us, wait.cluster_queue, -1)


def _roots(experiment: Experiment) -> dict[str, str]:
    """Return the root of the tree that each ClusterQueue and Cohort is in."""
    parents = {name: cohort.parent for name, cohort in experiment.cohorts.items()}
    parents |= {name: queue.cohort for name, queue in experiment.cluster_queues.items()}
    return {name: _root(name, parents) for name in parents}


def _root(name: str, parents: Mapping[str, str | None]) -> str:
    path = [name]
    while (parent := parents.get(path[-1])) is not None and parent not in path:
        path.append(parent)
    return path[-1]
