"""
The built-in traces: the synthetic load that Kueue's scheduler benchmark puts on a cluster.

*baseline* is 5 cohorts of 6 ClusterQueues with 500 jobs each, *large-scale* 10 cohorts of 100 with
50. Each ClusterQueue owns 20 CPUs, may borrow 100 more, takes back what it lent from anybody and
preempts lower priority in its own queue. Its jobs come in three streams, side by side and in all
queues at once: small ones often, large ones seldom, the larger the more important.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from muster.admission import events, objects
from muster.admission.amounts import FlavorResource
from muster.admission.config import Config
from muster.queue.simulation.experiment import Experiment, SimulatedJob

FLAVOR: Final = "default"
CPU: Final = "cpu"
NOMINAL_CPUS: Final = 20
BORROWING_LIMIT_CPUS: Final = 100
US_PER_MS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """`count` equal jobs in each queue: the k-th, from 0, arrives after (k + 1) intervals."""

    name: str
    count: int
    cpus: int
    priority: int
    runs_for_ms: int
    interval_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    cohorts: int
    queues_per_cohort: int
    streams: tuple[Stream, ...]


def _streams(
    counts: tuple[int, int, int], runs_for_ms: tuple[int, int, int], every_ms: tuple[int, int, int]
) -> tuple[Stream, ...]:
    kinds = (("small", 1, 50), ("medium", 5, 100), ("large", 20, 200))
    return tuple(
        Stream(
            name=name,
            count=count,
            cpus=cpus,
            priority=priority,
            runs_for_ms=runs_for,
            interval_ms=interval,
        )
        for (name, cpus, priority), count, runs_for, interval in zip(
            kinds, counts, runs_for_ms, every_ms, strict=True
        )
    )


LOADS: Final = {
    "baseline": Load(
        cohorts=5,
        queues_per_cohort=6,
        streams=_streams((350, 100, 50), (200, 500, 1000), (100, 500, 1200)),
    ),
    "large-scale": Load(
        cohorts=10,
        queues_per_cohort=100,
        streams=_streams((35, 11, 4), (150, 350, 700), (60, 300, 700)),
    ),
}
"""The traces by name."""

NEEDS_TOPOLOGY: Final = ("tas",)
"""Traces that Kueue's benchmark has too, but that need topology-aware placement."""


def builtin(name: str) -> Experiment:
    """Return a built-in trace; KeyError if there is none of that name."""
    load = LOADS[name]
    queues = [
        (f"cohort-{cohort}", f"cohort-{cohort}-queue-{queue}")
        for cohort in range(load.cohorts)
        for queue in range(load.queues_per_cohort)
    ]
    jobs = [job for _, queue in queues for job in _jobs(queue, load.streams)]
    jobs.sort(key=lambda job: job.arrives_us)  # stable: queue by queue at one instant
    return Experiment(
        title=name,
        config=Config(),
        setup=(
            events.NamespaceSeen(objects.Namespace(name="default")),
            events.FlavorSeen(objects.ResourceFlavor(name=FLAVOR)),
            *(event for cohort, queue in queues for event in _queue(cohort, queue)),
        ),
        jobs=tuple(jobs),
    )


def _queue(cohort: str, name: str) -> tuple[events.Event, ...]:
    spec = objects.ClusterQueue(
        name=name,
        cohort=cohort,
        groups=(objects.ResourceGroup(resources=(CPU,), flavors=(FLAVOR,)),),
        quotas={
            FlavorResource(FLAVOR, CPU): objects.Quota(
                nominal=NOMINAL_CPUS * 1000, borrowing_limit=BORROWING_LIMIT_CPUS * 1000
            )
        },
        namespace_selector=objects.LabelSelector(),
        preemption=objects.Preemption(
            within_cluster_queue=objects.PreemptionPolicy.LOWER_PRIORITY,
            reclaim_within_cohort=objects.PreemptionPolicy.ANY,
        ),
    )
    local_queue = objects.LocalQueue(namespace="default", name=name, cluster_queue=name)
    return events.ClusterQueueSeen(spec), events.LocalQueueSeen(local_queue)


def _jobs(queue: str, streams: tuple[Stream, ...]) -> list[SimulatedJob]:
    return [
        SimulatedJob(
            name=f"{queue}-{stream.name}-{k:03}",
            workload=objects.Workload(
                namespace="default",
                name=f"{queue}-{stream.name}-{k:03}",
                uid=f"{queue}-{stream.name}-{k:03}",
                local_queue=queue,
                created_us=(k + 1) * stream.interval_ms * US_PER_MS,
                priority=stream.priority,
                pod_sets=pod_sets,
            ),
            arrives_us=(k + 1) * stream.interval_ms * US_PER_MS,
            runs_for_us=stream.runs_for_ms * US_PER_MS,
            priority_class=stream.name,
        )
        for stream in streams
        for pod_sets in [
            (objects.PodSet(name="main", count=1, requests=((CPU, stream.cpus * 1000),)),)
        ]
        for k in range(stream.count)
    ]
