"""The built-in traces are the loads of the peer's benchmark."""

from collections import Counter

import pytest

from muster.admission.amounts import FlavorResource
from muster.admission.objects import PreemptionPolicy
from muster.queue.simulation.report import report_of
from muster.queue.simulation.runner import Options
from muster.queue.simulation.traces.builtin import builtin
from tests.simulation.builders import SECOND_US, complaints, played

# trace, queues, cohorts, then per stream: jobs a queue, milli-CPU, priority, runs ms, every ms
LOADS = [
    (
        "baseline",
        30,
        5,
        {
            "small": (350, 1_000, 50, 200, 100),
            "medium": (100, 5_000, 100, 500, 500),
            "large": (50, 20_000, 200, 1_000, 1_200),
        },
    ),
    (
        "large-scale",
        1_000,
        10,
        {
            "small": (35, 1_000, 50, 150, 60),
            "medium": (11, 5_000, 100, 350, 300),
            "large": (4, 20_000, 200, 700, 700),
        },
    ),
]


@pytest.mark.parametrize("name, queues, cohorts, streams", LOADS)
def test_load(
    name: str, queues: int, cohorts: int, streams: dict[str, tuple[int, int, int, int, int]]
) -> None:
    trace = builtin(name)

    assert len(trace.cluster_queues) == queues
    sizes = Counter(queue.cohort for queue in trace.cluster_queues.values())
    assert set(sizes.values()) == {queues // cohorts}
    for queue in trace.cluster_queues.values():
        [(pair, quota)] = queue.quotas.items()
        assert (pair.resource, quota.nominal, quota.borrowing_limit) == ("cpu", 20_000, 100_000)
        assert queue.preemption.reclaim_within_cohort is PreemptionPolicy.ANY
        assert queue.preemption.within_cluster_queue is PreemptionPolicy.LOWER_PRIORITY
    first = next(iter(trace.cluster_queues))
    for kind, (count, cpu, priority, runs_ms, every_ms) in streams.items():
        jobs = [job for job in trace.jobs if job.priority_class == kind]
        assert len(jobs) == count * queues
        mine = [job for job in jobs if trace.queue_of(job.workload) == first]
        assert [job.arrives_us for job in mine] == [
            (k + 1) * every_ms * 1_000 for k in range(count)
        ]
        for job in mine:
            [pod_set] = job.workload.pod_sets
            assert (pod_set.count, pod_set.requests) == (1, (("cpu", cpu),))
            assert (job.workload.priority, job.runs_for_us) == (priority, runs_ms * 1_000)


@pytest.mark.parametrize("name, us", [("baseline", 1_500_000), ("large-scale", 250_000)])
def test_the_beginning_keeps_the_laws(name: str, us: int) -> None:
    history = played(builtin(name), Options(until_us=us))

    assert history.finished > 0
    assert list(complaints(history)) == []


def test_quota_and_work_of_the_baseline() -> None:
    """In all, 66 s of work for each queue: makespan and share at work must agree on it."""
    trace = builtin("baseline")
    [pair] = {pair for queue in trace.cluster_queues.values() for pair in queue.quotas}

    work = sum(
        job.runs_for_us * amount
        for job in trace.jobs
        for pod_set in job.workload.pod_sets
        for _, amount in pod_set.requests
    )

    assert pair == FlavorResource("default", "cpu")
    assert work == 66 * SECOND_US * 30 * 20_000


def test_report_of_an_early_stop_counts_what_was_done() -> None:
    report = report_of(played(builtin("baseline"), Options(until_us=SECOND_US)))

    [cpu] = report.resources
    runs = report.history.runs
    held = sum(grant.amount * run.duration_us for run in runs for grant in run.grants)
    assert report.makespan_us == SECOND_US
    assert cpu.working_area + cpu.redone_area == held
