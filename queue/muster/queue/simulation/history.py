"""
What happened in a simulation: every run of every job, and how the engine was kept busy.

The runner writes a `History`; reports, timelines and pages only read it. A *run* is the time from a
start to the end of the job or to its eviction; an evicted job has another run later, from scratch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from muster.admission.plan import Grant
from muster.queue.simulation.experiment import Experiment


class Ending(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    EVICTED = "evicted"
    """The job was stopped; what it had done is lost."""
    RUNNING = "running"
    """It was still running when the simulation ended."""


@dataclass(slots=True)
class Run:
    """One stay of a job on its quota."""

    job: int
    """Index into `Experiment.jobs`."""
    cluster_queue: str
    started_us: int
    grants: tuple[Grant, ...]
    ended_us: int = -1
    ending: Ending = Ending.RUNNING
    reason: str = ""
    """Why it was evicted: the reason of Preempted or Evicted."""
    preemptor: str = ""
    """For whom it was evicted, a workload key."""
    evicted_us: int = -1
    """When it was asked to leave; it ended once it had stopped."""

    @property
    def duration_us(self) -> int:
        return self.ended_us - self.started_us


class Wait(NamedTuple):
    """A stretch of time in which a job wanted to run and did not."""

    job: int
    cluster_queue: str
    since_us: int
    until_us: int
    started: bool
    """Whether a start ended it, rather than the end of the simulation."""


@dataclass(kw_only=True)
class History:
    experiment: Experiment
    runs: list[Run] = field(default_factory=list)
    """In the order of their starts."""
    ended_us: int = 0
    """The last instant anything happened."""
    arrived: int = 0
    admitted: int = 0
    """Admissions; a job that is evicted and admitted again counts twice."""
    finished: int = 0
    evictions: int = 0
    """Runs that ended by eviction."""
    given_up: dict[int, None] = field(default_factory=dict)
    """Jobs that were deactivated, by index: too many retries, or out of time."""
    cycles: int = 0
    """Decisions made."""
    rounds: int = 0
    engine_ns: int = 0
    """Time spent deciding and applying decisions, measured; the only figure here that varies."""

    def runs_by_job(self) -> list[list[Run]]:
        """Return the runs of each job, in the order of `Experiment.jobs`."""
        runs: list[list[Run]] = [[] for _ in self.experiment.jobs]
        for run in self.runs:
            runs[run.job].append(run)
        return runs

    def waits(self) -> Iterator[Wait]:
        """Yield every wait, job by job; a wait that ends at once is one too."""
        for index, runs in enumerate(self.runs_by_job()):
            job = self.experiment.jobs[index]
            since_us = job.arrives_us
            if since_us > self.ended_us:
                continue
            queue = self.experiment.queue_of(job.workload)
            for run in runs:
                yield Wait(index, queue, since_us, run.started_us, started=True)
                since_us = run.ended_us
            if not runs or (runs[-1].ending is Ending.EVICTED and index not in self.given_up):
                yield Wait(index, queue, since_us, self.ended_us, started=False)
