"""Laws that every simulation keeps, in random small clusters with random jobs."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from muster.admission.config import Config, FairStrategy, PodsReadyPolicy
from muster.admission.objects import ClusterQueue, PreemptionPolicy, QueueingStrategy
from muster.queue.simulation import runner
from muster.queue.simulation.experiment import Experiment, SimulatedJob
from muster.queue.simulation.history import History
from muster.queue.simulation.runner import EndlessPreemptionError, Options
from muster.queue.simulation.usage import usage_of
from tests.admission.builders import a_cluster_queue
from tests.simulation.builders import GPU, SECOND_US, a_job, an_experiment, complaints
from tests.simulation.builders import played as played_out

NAMES = ("a", "b", "c")
FLAVORS = ("h100", "a100")


@st.composite
def cluster_queues(draw: st.DrawFn, name: str) -> ClusterQueue:
    policies = st.sampled_from(
        [PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY]
    )
    limit = st.one_of(st.none(), st.integers(0, 4))
    quota: dict[str, Any] = {
        flavor: {GPU: (draw(st.integers(0, 4)), draw(limit), None)} for flavor in FLAVORS
    }
    within = draw(st.sampled_from([PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY]))
    return a_cluster_queue(
        name,
        quota=quota,
        cohort=draw(st.sampled_from(["all", None])),
        within=within,
        reclaim=draw(policies),
        strategy=draw(st.sampled_from(list(QueueingStrategy))),
    )


@st.composite
def simulated_jobs(draw: st.DrawFn, number: int) -> SimulatedJob:
    pods = draw(st.integers(1, 3))
    return a_job(
        f"j{number}",
        draw(st.sampled_from(NAMES)),
        at_s=draw(st.integers(0, 20)),
        runs_s=draw(st.integers(0, 12)),
        gpus=draw(st.integers(0, 3)),
        pods=pods,
        min_pods=draw(st.one_of(st.none(), st.integers(1, pods))),
        ready_s=draw(st.sampled_from([0, 0, 0, 9])),
        priority=draw(st.integers(0, 2)),
        max_execution_s=draw(st.one_of(st.none(), st.integers(5, 30))),
    )


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    jobs = [draw(simulated_jobs(number)) for number in range(draw(st.integers(1, 12)))]
    config = Config(
        fair_sharing=draw(st.sampled_from([None, (FairStrategy.FINAL_SHARE,)])),
        patience_us=draw(st.sampled_from([0, 5 * SECOND_US])),
        pods_ready=PodsReadyPolicy(timeout_s=5, backoff_base_s=3, backoff_limit=2),
    )
    return an_experiment([draw(cluster_queues(name)) for name in NAMES], jobs, config)


options = st.builds(
    Options,
    grace_us=st.sampled_from([0, 2 * SECOND_US]),
    rounds_max=st.sampled_from([None, 1]),
    until_us=st.sampled_from([None, None, 15 * SECOND_US]),
)


@pytest.fixture(autouse=True, scope="module")
def _soon_endless() -> Iterator[None]:
    """See sooner that jobs evict each other for ever: a real job is not evicted fifty times."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runner, "EVICTIONS_PER_JOB_MAX", 50)
        yield


def played(experiment: Experiment, how: Options) -> History:
    """Play an experiment that comes to rest; under some policies none does."""
    try:
        return played_out(experiment, how)
    except EndlessPreemptionError:
        reject()


@given(experiments(), options)
def test_nobody_is_lost_and_no_quota_is_used_twice(experiment: Experiment, how: Options) -> None:
    assert list(complaints(played(experiment, how))) == []


@given(experiments(), options)
def test_the_same_input_gives_the_same_history(experiment: Experiment, how: Options) -> None:
    first, second = played(experiment, how), played(experiment, how)

    assert first.runs == second.runs
    assert (first.cycles, first.rounds) == (second.cycles, second.rounds)


@given(experiments(), options)
def test_what_is_borrowed_is_lent_by_somebody(experiment: Experiment, how: Options) -> None:
    """Per flavor and tree: a second definition of what was borrowed, and who can have lent it."""
    history = played(experiment, how)

    usage = usage_of(history, GPU)

    for cohort in ("all", None):
        members = [
            figures
            for name, figures in usage.queues.items()
            if experiment.cluster_queues[name].cohort == cohort
        ]
        borrowed = sum(figures.borrowed_area for figures in members)
        lent = sum(figures.lent_area for figures in members)
        assert abs(borrowed - lent) <= 1e-6 * max(1, borrowed)
    used = sum(figures.used_area for figures in usage.queues.values())
    assert used == sum(_held(history))


def _held(history: History) -> list[int]:
    return [grant.amount * run.duration_us for run in history.runs for grant in run.grants]
