"""
What a simulation starts from: objects of a cluster, and jobs with an arrival and a run time.

Manifests and traces both become an `Experiment`; the runner knows of no other input.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from muster.admission import events, objects
from muster.admission.amounts import FlavorResource
from muster.admission.config import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedJob:
    """One job: its Workload, when it arrives, and how long it takes."""

    name: str
    """What people call it."""
    workload: objects.Workload
    arrives_us: int
    runs_for_us: int
    """From the moment its pods are ready to the end, when it has all the pods it asks for."""
    ready_after_us: int = 0
    """From admission until all pods are ready."""
    priority_class: str = ""
    """What the report calls the priority; the number when there is no class."""
    recorded_wait_us: int | None = None
    """How long the job waited where the trace was recorded."""
    status: objects.Status = field(default_factory=objects.Status)
    """What was decided about it before it arrives: a job may come running."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything a simulation needs; `jobs` in the order of arrival."""

    title: str
    config: Config
    setup: tuple[events.Event, ...]
    """Queues, cohorts, flavors and so on, there from the start."""
    jobs: tuple[SimulatedJob, ...]
    start_us: int = 0
    """The instant that reports count from."""
    notes: tuple[str, ...] = ()
    """What was left out of the input, or taken for granted, said to the reader of the report."""

    @cached_property
    def cluster_queues(self) -> dict[str, objects.ClusterQueue]:
        return {
            event.cluster_queue.name: event.cluster_queue
            for event in self.setup
            if isinstance(event, events.ClusterQueueSeen)
        }

    @cached_property
    def cohorts(self) -> dict[str, objects.Cohort]:
        return {
            event.cohort.name: event.cohort
            for event in self.setup
            if isinstance(event, events.CohortSeen)
        }

    @cached_property
    def local_queues(self) -> dict[str, objects.LocalQueue]:
        return {
            event.local_queue.key: event.local_queue
            for event in self.setup
            if isinstance(event, events.LocalQueueSeen)
        }

    def queue_of(self, workload: objects.Workload) -> str:
        """Return the name of the ClusterQueue the workload goes to, "" when there is none."""
        local_queue = self.local_queues.get(f"{workload.namespace}/{workload.local_queue}")
        return "" if local_queue is None else local_queue.cluster_queue

    def nominal(self) -> Iterator[tuple[str, FlavorResource, int]]:
        """Yield (owner, pair, amount) for every nominal quota of a ClusterQueue or Cohort."""
        owned = [(name, queue.quotas) for name, queue in self.cluster_queues.items()]
        owned += [(name, cohort.quotas) for name, cohort in self.cohorts.items()]
        for name, quotas in owned:
            for pair, quota in quotas.items():
                yield name, pair, quota.nominal


def notes_on(left_out: Mapping[str, int]) -> tuple[str, ...]:
    """Return what to say of input that was left out, given how much there is of each kind."""
    if not left_out:
        return ()
    told = ", ".join(f"{what} ({count})" for what, count in sorted(left_out.items()))
    return (f"Left out: {told}.",)


def shuffled(experiment: Experiment, seed: int) -> Experiment:
    """
    Return the same experiment with other luck: who of those that arrive at one instant is first.

    The order of the input decides otherwise. How much a result changes from seed to seed is how
    much of it was chance.
    """
    chance = random.Random(seed)  # noqa: S311 - to be replayed, not to be secret
    jobs: list[SimulatedJob] = []
    for _, together in groupby(experiment.jobs, key=lambda job: job.arrives_us):
        group = list(together)
        chance.shuffle(group)
        jobs += group
    return replace(
        experiment,
        jobs=tuple(
            replace(job, workload=replace(job.workload, uid=f"{number:08d}"))
            for number, job in enumerate(jobs)
        ),
    )
