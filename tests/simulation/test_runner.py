"""What becomes of jobs: one small story a rule."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from freezegun import freeze_time

from muster.admission import events
from muster.admission.config import Config, PodsReadyPolicy
from muster.admission.objects import AdmissionCheck, ClusterQueue, PreemptionPolicy
from muster.queue.simulation import runner
from muster.queue.simulation.experiment import Experiment, SimulatedJob, shuffled
from muster.queue.simulation.runner import Options, Runner
from tests.admission.builders import a_cluster_queue, a_holder
from tests.simulation.builders import (
    GPU,
    SECOND_US,
    a_job,
    an_experiment,
    complaints,
    played,
    told,
)


def a_queue(name: str = "cq", gpus: int = 4, **named: Any) -> ClusterQueue:
    return a_cluster_queue(name, quota={"h100": {GPU: gpus}}, **named)


def one_queue(*jobs: SimulatedJob, config: Config | None = None) -> Experiment:
    """A queue that owns 4 GPUs; urgent jobs preempt others."""
    queue = a_queue(within=PreemptionPolicy.LOWER_PRIORITY)
    return an_experiment([queue], jobs, config)


def two_teams(*jobs: SimulatedJob) -> Experiment:
    """Each owns 4 GPUs, lends what is idle, and takes back what is lent."""
    queues = [a_queue(name, cohort="all", reclaim=PreemptionPolicy.ANY) for name in ("a", "b")]
    return an_experiment(queues, jobs)


def test_a_job_starts_when_it_arrives_and_runs_for_its_time() -> None:
    history = played(one_queue(a_job("one", at_s=5, runs_s=7)))

    assert told(history) == [("one", 5, 12, "finished")]
    assert history.ended_us == 12 * SECOND_US


def test_a_job_waits_until_another_gives_its_quota_back() -> None:
    history = played(one_queue(a_job("first", gpus=3), a_job("second", at_s=1, gpus=2)))

    assert told(history) == [("first", 0, 10, "finished"), ("second", 10, 20, "finished")]
    waits = [wait for wait in history.waits() if wait.until_us > wait.since_us]
    assert [(w.job, w.since_us, w.until_us) for w in waits] == [(1, SECOND_US, 10 * SECOND_US)]


def test_evicted_work_is_done_again_from_the_start() -> None:
    history = played(
        two_teams(
            a_job("own", "a", gpus=4, runs_s=20),
            a_job("lent", "a", at_s=1, gpus=4, runs_s=20),
            a_job("owner", "b", at_s=6, gpus=2, runs_s=3),
        )
    )

    assert told(history) == [
        ("own", 0, 20, "finished"),
        ("lent", 1, 6, "evicted"),
        ("owner", 6, 9, "finished"),
        ("lent", 9, 29, "finished"),
    ]
    evicted = history.runs[1]
    assert (evicted.preemptor, evicted.reason) == ("default/owner", "InCohortReclamation")


def test_a_preemptor_starts_when_the_grace_of_its_victim_is_over() -> None:
    experiment = one_queue(
        a_job("victim", gpus=4, runs_s=30), a_job("urgent", at_s=5, gpus=4, priority=100)
    )

    history = played(experiment, Options(grace_us=3 * SECOND_US))

    assert told(history)[:2] == [("victim", 0, 8, "evicted"), ("urgent", 8, 18, "finished")]


def test_a_victim_that_is_done_within_its_grace_has_lost_nothing() -> None:
    experiment = one_queue(
        a_job("victim", gpus=4, runs_s=7), a_job("urgent", at_s=5, gpus=4, priority=100)
    )

    history = played(experiment, Options(grace_us=3 * SECOND_US))

    assert told(history) == [("victim", 0, 7, "finished"), ("urgent", 7, 17, "finished")]
    assert history.evictions == 0


def test_a_victim_is_left_to_finish_when_its_kind_is_known_to_be_short() -> None:
    """Of the first `small` the engine has learnt how long they take."""
    smalls = [a_job(f"small-{n}", at_s=10 * n, gpus=4, runs_s=6) for n in range(2)]
    urgent = a_job("urgent", at_s=12, gpus=4, priority=100)

    history = played(one_queue(*smalls, urgent, config=Config(patience_us=30 * SECOND_US)))

    assert told(history)[1:] == [("small-1", 10, 16, "finished"), ("urgent", 16, 26, "finished")]


def test_patience_with_a_victim_ends_when_it_takes_longer_than_its_kind() -> None:
    """The engine asks to be asked again: nothing else happens until the victim's end at 1000 s."""
    jobs = [
        a_job("short", gpus=4, runs_s=8),
        a_job("long", at_s=10, gpus=4, runs_s=1000),
        a_job("urgent", at_s=12, gpus=4, priority=100),
    ]

    history = played(one_queue(*jobs, config=Config(patience_us=30 * SECOND_US)))

    # 8 s and a quarter of it is what may be expected of such a job.
    assert told(history)[1:3] == [("long", 10, 20, "evicted"), ("urgent", 20, 30, "finished")]


# --- The life cycle ------------------------------------------------------------------------------

HASTY = Config(
    patience_us=0,
    pods_ready=PodsReadyPolicy(timeout_s=5, backoff_base_s=60, backoff_max_s=90, backoff_limit=3),
)


def test_pods_that_are_late_are_tried_again_after_a_back_off_that_grows_and_given_up() -> None:
    history = played(one_queue(a_job("late", ready_s=100), config=HASTY))

    # 5 s of patience each; 60 s, then twice that but at most 90 s, then 90 s of back-off.
    assert told(history) == [
        ("late", 0, 5, "evicted"),
        ("late", 65, 70, "evicted"),
        ("late", 160, 165, "evicted"),
        ("late", 255, 260, "evicted"),
    ]
    assert [run.reason for run in history.runs] == [
        *3 * ["PodsReadyTimeout"],
        "DeactivatedDueToRequeuingLimitExceeded",
    ]
    assert list(history.given_up) == [0]
    assert [wait.until_us // SECOND_US for wait in history.waits()] == [0, 65, 160, 255]


def test_pods_that_are_ready_in_time_do_their_work_from_then_on() -> None:
    history = played(one_queue(a_job("fine", ready_s=4, runs_s=10), config=HASTY))

    assert told(history) == [("fine", 0, 14, "finished")]


def test_others_run_while_one_backs_off() -> None:
    history = played(
        one_queue(
            a_job("late", gpus=4, ready_s=100),
            a_job("other", at_s=1, gpus=4, runs_s=10),
            config=HASTY,
        )
    )

    assert ("other", 5, 15, "finished") in told(history)


def test_a_job_that_runs_longer_than_it_may_is_given_up() -> None:
    history = played(one_queue(a_job("endless", runs_s=100, max_execution_s=30)))

    assert told(history) == [("endless", 0, 30, "evicted")]
    assert history.runs[0].reason == "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert list(history.given_up) == [0]
    assert history.ended_us == 30 * SECOND_US


def test_the_time_of_earlier_runs_counts_towards_the_maximum() -> None:
    victim = a_job("victim", gpus=4, runs_s=100, max_execution_s=30)
    urgent = a_job("urgent", at_s=20, gpus=4, runs_s=5, priority=100)

    history = played(one_queue(victim, urgent))

    assert told(history) == [
        ("victim", 0, 20, "evicted"),
        ("urgent", 20, 25, "finished"),
        ("victim", 25, 35, "evicted"),
    ]


def test_admission_checks_pass_at_once() -> None:
    experiment = an_experiment([a_queue(checks={"second-opinion": ()})], [a_job("checked")])
    check = events.CheckSeen(AdmissionCheck(name="second-opinion"))
    experiment = replace(experiment, setup=(check, *experiment.setup))

    assert told(played(experiment)) == [("checked", 0, 10, "finished")]


def test_fewer_pods_take_longer_in_proportion() -> None:
    history = played(
        one_queue(
            a_job("first", gpus=2, runs_s=1000),
            a_job("elastic", at_s=1, pods=6, min_pods=1, gpus=1, runs_s=10),
        )
    )

    assert told(history) == [("first", 0, 1000, "finished"), ("elastic", 1, 31, "finished")]


def test_a_job_may_come_running() -> None:
    running = a_job("running", gpus=3)
    running = replace(running, status=a_holder(running.workload, "cq", flavors="h100"))

    history = played(one_queue(running, a_job("waiting", gpus=2)))

    assert told(history) == [("running", 0, 10, "finished"), ("waiting", 10, 20, "finished")]
    assert history.admitted == 1


# --- The end -------------------------------------------------------------------------------------


def test_a_simulation_may_stop_early() -> None:
    experiment = one_queue(a_job("one", runs_s=100), a_job("later", at_s=60))

    history = played(experiment, Options(until_us=30 * SECOND_US))

    assert told(history) == [("one", 0, 30, "running")]
    assert (history.arrived, history.finished, history.ended_us) == (1, 0, 30 * SECOND_US)


def test_a_job_that_can_never_start_ends_no_simulation_late() -> None:
    history = played(one_queue(a_job("huge", gpus=5), a_job("small")))

    assert told(history) == [("small", 0, 10, "finished")]
    assert [wait.started for wait in history.waits()] == [False, True]


# --- Engine time ---------------------------------------------------------------------------------


def test_charged_engine_time_passes_on_the_clock() -> None:
    """A stopwatch that advances by half a second whenever it is read: 1 s a decision."""
    ticks = count(step=500_000_000)
    experiment = one_queue(a_job("first", gpus=4), a_job("second", at_s=3, gpus=4))
    options = Options(charge_engine_time=True)

    history = Runner(experiment, options, stopwatch_ns=lambda: next(ticks)).run()

    # The end at 11 s is decided about at once, which takes a second.
    assert told(history) == [("first", 1, 11, "finished"), ("second", 12, 22, "finished")]
    assert history.engine_ns == history.cycles * 10**9


def test_engine_time_too_short_for_the_clock_adds_up() -> None:
    ticks = count(step=300)
    jobs = [a_job(f"j{n}", at_s=n, runs_s=1000) for n in range(4)]
    options = Options(charge_engine_time=True)

    history = Runner(one_queue(*jobs), options, stopwatch_ns=lambda: next(ticks)).run()

    starts_us = [run.started_us for run in history.runs]
    # 600 ns a decision: the second one makes a microsecond of them, and so on.
    assert starts_us == [0, SECOND_US + 1, 2 * SECOND_US, 3 * SECOND_US + 1]
    assert history.engine_ns == history.cycles * 600


def test_rounds_change_how_much_a_decision_decides_but_not_what() -> None:
    jobs = [a_job(f"j{n}") for n in range(4)]

    whole = played(one_queue(*jobs))
    single = played(one_queue(*jobs), Options(rounds_max=1))

    assert told(whole) == told(single)
    assert single.cycles > whole.cycles


# --- The same in every run -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_what_the_clock_on_the_wall_says_does_not_matter(seed: int | None) -> None:
    experiment = two_teams(*(a_job(f"j{n}", "ab"[n % 2], gpus=1 + n % 3) for n in range(12)))
    if seed is not None:
        experiment = shuffled(experiment, seed)

    with freeze_time("2001-09-09T01:46:40Z"):
        earlier = played(experiment)
    with freeze_time("2038-01-19T03:14:07Z", auto_tick_seconds=13):
        later = played(experiment)

    assert told(earlier) == told(later)
    assert list(complaints(earlier)) == []


def test_a_seed_shuffles_those_who_arrive_together_and_nobody_else() -> None:
    jobs = [a_job(f"j{n}", at_s=n // 10) for n in range(20)]
    experiment = one_queue(*jobs)

    orders = [[job.name for job in shuffled(experiment, seed).jobs] for seed in (1, 1, 2)]

    assert orders[0] == orders[1] != orders[2]
    for order in orders:
        assert sorted(order[:10]) == sorted(f"j{n}" for n in range(10))
    assert [told(played(shuffled(experiment, 1)))[n][0] for n in range(4)] == orders[0][:4]


def test_jobs_that_evict_each_other_for_ever_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the low one is evicted twice, which is fine; the limit is lowered to less."""
    monkeypatch.setattr(runner, "EVICTIONS_PER_JOB_MAX", 1)
    jobs = [
        a_job("low", at_s=0, runs_s=100, gpus=4, priority=0),
        a_job("high", at_s=10, runs_s=10, gpus=4, priority=1),
        a_job("higher", at_s=50, runs_s=10, gpus=4, priority=2),
    ]

    with pytest.raises(runner.EndlessPreemptionError) as told_of:
        played(one_queue(*jobs))

    assert "default/low was evicted 2 times, lastly for default/higher" in str(told_of.value)
