"""Figures that can be worked out by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission.amounts import INFINITE
from muster.admission.objects import ClusterQueue, PreemptionPolicy
from muster.queue.simulation.document import document
from muster.queue.simulation.report import Waits, percentile, report_of
from muster.queue.simulation.runner import Options
from muster.queue.simulation.usage import usage_of
from tests.admission.builders import a_cluster_queue, a_cohort, a_holder
from tests.simulation.builders import GPU, SECOND_US, a_job, an_experiment, played

S = SECOND_US
ANY = PreemptionPolicy.ANY


def a_queue(name: str, gpus: int = 4, cohort: str | None = "all") -> ClusterQueue:
    return a_cluster_queue(name, quota={"h100": {GPU: gpus}}, cohort=cohort, reclaim=ANY)


# `lent` borrows 4 GPUs for 5 s and is evicted for `owner`, which runs 5 s; then it runs 10 s.
RECLAIM = played(
    an_experiment(
        [a_queue("a"), a_queue("b")],
        [
            a_job("own", "a", gpus=4, runs_s=20, priority=1, priority_class="high"),
            a_job("lent", "a", at_s=0, gpus=4, runs_s=10),
            a_job("owner", "b", at_s=5, gpus=4, runs_s=5),
        ],
    )
)


def test_quota_at_work_and_quota_lost() -> None:
    [gpu] = report_of(RECLAIM).resources

    assert (gpu.nominal, gpu.makespan_us) == (8, 20 * S)
    # own 80, lent 40 and owner 20 GPU seconds of 160; 20 were lost.
    assert (gpu.working_share, gpu.redone_share) == (140 / 160, 20 / 160)


def test_waits_are_those_for_the_first_start() -> None:
    report = report_of(RECLAIM)

    assert report.waits == Waits(
        jobs=3, unstarted=0, p50_us=0, p95_us=0, p99_us=0, max_us=0, mean_us=0
    )
    assert list(report.waits_by_queue) == ["a", "b"]
    assert list(report.waits_by_class) == ["high", "0"]


def test_who_used_borrowed_lent_and_was_short() -> None:
    usage = usage_of(RECLAIM, GPU)

    a, b = usage.queues["a"], usage.queues["b"]
    assert (a.used_area, a.borrowed_area, a.lent_area) == (140 * S, 60 * S, 0)
    assert (b.used_area, b.borrowed_area, b.lent_area) == (20 * S, 0, 60 * S)
    assert (a.short_us, b.short_us) == (0, 0)


def test_a_queue_is_short_while_it_waits_with_less_than_its_own() -> None:
    history = played(
        an_experiment(
            [a_queue("a", 4, None)],
            [a_job("half", "a", gpus=2, runs_s=10), a_job("gang", "a", at_s=3, gpus=4)],
        )
    )

    assert usage_of(history, GPU).queues["a"].short_us == 7 * S


def test_lending_is_shared_by_those_who_have_quota_idle() -> None:
    """The cohort has 4 GPUs of its own and b has 2: of 3 borrowed, it lends 2 and b lends 1."""
    history = played(
        an_experiment(
            [a_cohort("all", quota={"h100": {GPU: 4}}), a_queue("a", 1), a_queue("b", 2)],
            [a_job("big", "a", gpus=4, runs_s=9)],
        )
    )

    queues = usage_of(history, GPU).queues
    lent = {name: round(figures.lent_area / (9 * S), 9) for name, figures in queues.items()}
    assert lent == {"a": 0, "b": 1, "all": 2}


@pytest.mark.parametrize(
    "jobs, fairness",
    [
        # Both want more and each has all of its own: even.
        ((("a", 4, 0), ("b", 4, 0), ("a", 4, 0), ("b", 4, 0)), 1.0),
        # Nobody waits together with another queue.
        ((("a", 4, 0), ("a", 8, 0), ("b", 4, 0)), None),
    ],
)
def test_fairness_among_those_who_wait(
    jobs: tuple[tuple[str, int, int], ...], fairness: float | None
) -> None:
    history = played(
        an_experiment(
            [a_queue("a"), a_queue("b")],
            [
                a_job(f"j{n}", queue, gpus=gpus, at_s=at_s)
                for n, (queue, gpus, at_s) in enumerate(jobs)
            ],
        )
    )

    assert usage_of(history, GPU).fairness == fairness


def test_nobody_lends_more_than_is_idle() -> None:
    """A job that comes running uses one GPU more than there is."""
    big = a_job("big", "a", gpus=9, runs_s=2)
    big = replace(big, status=a_holder(big.workload, "a", flavors="h100"))
    full = a_job("full", "b", gpus=4, runs_s=2)

    never = [a_cluster_queue(n, quota={"h100": {GPU: 4}}, cohort="all") for n in ("a", "b")]
    history = played(an_experiment(never, [big, full]))

    queues = usage_of(history, GPU).queues
    assert queues["a"].borrowed_area == 5 * 2 * S
    assert [figures.lent_area for figures in queues.values()] == [0, 4 * 2 * S]


def test_nobody_lends_who_has_nothing_idle() -> None:
    """Both come running, with five GPUs more than there are."""
    never = [a_cluster_queue(n, quota={"h100": {GPU: 4}}, cohort="all") for n in ("a", "b")]
    jobs = [a_job("big", "a", gpus=9, runs_s=2), a_job("full", "b", gpus=4, runs_s=2)]
    running = [
        replace(job, status=a_holder(job.workload, job.workload.local_queue, flavors="h100"))
        for job in jobs
    ]

    queues = usage_of(played(an_experiment(never, running)), GPU).queues

    assert [figures.lent_area for figures in queues.values()] == [0, 0]


def test_an_uneven_split_has_a_lower_index() -> None:
    """While both wait, a uses 8 of its 4 and b none of its 4: (2 + 0)^2 / (2 * (4 + 0)) = 1/2."""
    never = a_cluster_queue("b", quota={"h100": {GPU: 4}}, cohort="all")
    history = played(
        an_experiment(
            [a_queue("a"), never],
            [
                a_job("wide", "a", gpus=8, runs_s=10),
                a_job("a-waits", "a", at_s=1, gpus=8, runs_s=1),
                a_job("b-waits", "b", at_s=1, gpus=4, runs_s=1),
            ],
        ),
        Options(until_us=10 * S - 1),
    )

    assert usage_of(history, GPU).fairness == pytest.approx(0.5)


def test_a_resource_without_limit_is_not_counted() -> None:
    queue = a_cluster_queue("cq", quota={"h100": {GPU: 4, "cpu": INFINITE}})

    report = report_of(played(an_experiment([queue], [a_job("one")])))

    assert [figures.resource for figures in report.resources] == [GPU]


def test_an_empty_simulation_has_a_report() -> None:
    report = report_of(played(an_experiment([a_queue("a")], [])))

    found = document(report)
    assert (found["makespan_seconds"], found["quota_working_share"]) == (0.0, 0.0)
    assert found["waits"]["all"]["jobs"] == 0


def test_the_document_for_scripts() -> None:
    found = document(report_of(RECLAIM))

    assert found["makespan_seconds"] == 20.0
    assert found["quota_working_share"] == 0.875
    assert found["quota_redone_share"] == 0.125
    assert found["dominant_resource"] == GPU
    counts = {key: found[key] for key in ("arrived", "admitted", "finished", "evictions")}
    assert counts == {"arrived": 3, "admitted": 4, "finished": 3, "evictions": 1}
    assert found["cycles"] == RECLAIM.cycles
    assert found["rounds"] == RECLAIM.rounds
    assert found["engine_seconds"] > 0
    assert found["admissions_per_engine_second"] > 0
    assert found["queues"]["a"] == {
        "nominal": "4",
        "used_mean": 7.0,
        "borrowed_mean": 3.0,
        "lent_mean": 0.0,
        "short_seconds": 0.0,
    }


@given(st.lists(st.integers(0, 100), min_size=1), st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_covers_its_part(
    values: list[int], percent: int
) -> None:
    found = percentile(sorted(values), percent)

    covered = [value for value in values if value <= found]
    below = [value for value in values if value < found]
    assert 100 * len(covered) >= percent * len(values) > 100 * len(below)
