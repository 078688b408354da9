"""
The figures of a simulation: how long it took, how well the quota worked, who waited and who lost.

A `Report` is numbers only, made from a `History`; how they are shown is said in `summary` and
`timeline`. Of all figures only those under "machine" differ between two runs of the same input.

*Quota working* is the quota held by runs that finished, over time, as a share of all nominal quota
times the makespan. What was held by runs that were evicted, whose work is to be done again, is
reported on its own as *redone*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from muster.admission.amounts import INFINITE
from muster.queue.simulation.history import Ending, History
from muster.queue.simulation.usage import Usage, usage_of

US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """How long jobs waited for their first start, in microseconds."""

    jobs: int
    """Jobs that started."""
    unstarted: int
    """Jobs that never did."""
    p50_us: int
    p95_us: int
    p99_us: int
    max_us: int
    mean_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFigures:
    """Of one resource, over all queues and flavors; areas are amount x microseconds."""

    resource: str
    nominal: int
    working_area: int
    redone_area: int
    makespan_us: int

    @property
    def working_share(self) -> float:
        return _ratio(self.working_area, self.nominal * self.makespan_us)

    @property
    def redone_share(self) -> float:
        return _ratio(self.redone_area, self.nominal * self.makespan_us)


@dataclass(frozen=True, kw_only=True)
class Report:
    history: History
    makespan_us: int
    """From the start to the end of the last run."""
    resources: tuple[ResourceFigures, ...]
    """Resources with nominal quota, in name order."""
    waits: Waits
    waits_by_queue: dict[str, Waits]
    waits_by_class: dict[str, Waits]
    """By priority class, the highest priority first."""
    recorded_waits: dict[str, Waits]
    """By queue, of the jobs of which the trace says how long they really waited."""

    @cached_property
    def dominant(self) -> ResourceFigures | None:
        """The resource whose quota worked most: what the cluster was short of."""
        return max(self.resources, key=lambda figures: figures.working_share, default=None)

    @cached_property
    def usage(self) -> Usage | None:
        """Who used, borrowed and lent the dominant resource."""
        dominant = self.dominant
        return None if dominant is None else usage_of(self.history, dominant.resource)


def report_of(history: History) -> Report:
    """Work out the figures of a history."""
    makespan_us = max((run.ended_us for run in history.runs), default=history.experiment.start_us)
    makespan_us -= history.experiment.start_us
    queues, classes = _first_waits(history)
    experiment = history.experiment
    recorded: dict[str, list[int | None]] = {}
    for job in experiment.jobs:
        if job.recorded_wait_us is not None:
            recorded.setdefault(experiment.queue_of(job.workload), []).append(job.recorded_wait_us)
    return Report(
        history=history,
        makespan_us=makespan_us,
        resources=tuple(_resources(history, makespan_us)),
        waits=_waits([wait for waits in queues.values() for wait in waits]),
        waits_by_queue={name: _waits(queues[name]) for name in sorted(queues)},
        waits_by_class={
            name: _waits(classes[priority, name])
            for priority, name in sorted(classes, key=lambda key: (-key[0], key[1]))
        },
        recorded_waits={name: _waits(recorded[name]) for name in sorted(recorded)},
    )


def _first_waits(
    history: History,
) -> tuple[dict[str, list[int | None]], dict[tuple[int, str], list[int | None]]]:
    """Return the waits for the first start, None where it never came, by queue and by class."""
    queues: dict[str, list[int | None]] = {}
    classes: dict[tuple[int, str], list[int | None]] = {}
    seen = -1
    for wait in history.waits():
        if wait.job == seen:
            continue  # a later wait of a job that was evicted
        seen = wait.job
        job = history.experiment.jobs[wait.job]
        waited_us = wait.until_us - wait.since_us if wait.started else None
        queues.setdefault(wait.cluster_queue, []).append(waited_us)
        named = job.workload.priority, job.priority_class or str(job.workload.priority)
        classes.setdefault(named, []).append(waited_us)
    return queues, classes


def _waits(waits: Sequence[int | None]) -> Waits:
    started = sorted(wait for wait in waits if wait is not None)
    return Waits(
        jobs=len(started),
        unstarted=len(waits) - len(started),
        p50_us=percentile(started, 50),
        p95_us=percentile(started, 95),
        p99_us=percentile(started, 99),
        max_us=started[-1] if started else 0,
        mean_us=sum(started) // len(started) if started else 0,
    )


def percentile(ordered: Sequence[int], percent: int) -> int:
    """Return the smallest value that `percent` % of the values do not exceed; 0 of nothing."""
    if not ordered:
        return 0
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _resources(history: History, makespan_us: int) -> Iterable[ResourceFigures]:
    nominal: dict[str, int] = {}
    for _, pair, amount in history.experiment.nominal():
        if amount < INFINITE:
            nominal[pair.resource] = nominal.get(pair.resource, 0) + amount
    working: dict[str, int] = {}
    redone: dict[str, int] = {}
    for run in history.runs:
        areas = redone if run.ending is Ending.EVICTED else working
        for grant in run.grants:
            area = grant.amount * run.duration_us
            areas[grant.resource] = areas.get(grant.resource, 0) + area
    for resource in sorted(nominal):
        yield ResourceFigures(
            resource=resource,
            nominal=nominal[resource],
            working_area=working.get(resource, 0),
            redone_area=redone.get(resource, 0),
            makespan_us=makespan_us,
        )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
