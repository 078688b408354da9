"""
What happened in a simulation: every run of every job, and how the engine was kept busy.

The runner writes a `History`; reports, timelines and pages only read it. A *run* is the time from a
start to the end of the job or to its eviction; an evicted job has another run later, from scratch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from muster.admission.plan import Grant
from muster.queue.simulation.scenario import Scenario


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
    """Index into `Scenario.jobs`."""
    cluster_queue: str
    started_us: int
    grants: tuple[Grant, ...]
    ended_us: int = -1
    ending: Ending = Ending.RUNNING
    reason: str = ""
    """Why it was evicted: the reason of Preempted or Evicted."""
    preemptor: str = ""
    """For whom it was evicted, a workload key."""

    @property
    def duration_us(self) -> int:
        return self.ended_us - self.started_us


@dataclass(kw_only=True)
class History:
    scenario: Scenario
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
    deactivated: int = 0
    """Jobs that were given up: too many retries, or out of time."""
    cycles: int = 0
    """Decisions made."""
    rounds: int = 0
    engine_ns: int = 0
    """Time spent deciding and applying decisions, measured; the only figure here that varies."""
