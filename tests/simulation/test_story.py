"""What is told of decisions: each once, in the order of time, with what it did to others."""

from muster.admission.objects import ClusterQueue, Cohort, PreemptionPolicy
from muster.queue.simulation.decisions import CROWD, DecisionLog
from muster.queue.simulation.experiment import Experiment
from muster.queue.simulation.runner import Options, Runner
from muster.queue.simulation.story import story
from tests.admission.builders import a_cluster_queue, a_cohort
from tests.simulation.builders import GPU, SECOND_US, a_job, an_experiment


def told(experiment: Experiment, options: Options | None = None) -> list[tuple[int, str, str]]:
    """The story as (second, job, sentence)."""
    log = DecisionLog(experiment)
    history = Runner(experiment, options or Options(), observe=log).run()
    return [
        (line.at_us // SECOND_US, experiment.jobs[line.job].name, line.text)
        for line in story(history, log.entries)
    ]


URGENT = an_experiment(
    [a_cluster_queue("cq", quota={"h100": {GPU: 4}}, within=PreemptionPolicy.LOWER_PRIORITY)],
    [
        a_job("victim", pods=2, gpus=2, runs_s=30),
        a_job("urgent", at_s=5, gpus=4, priority=7),
        a_job("other", at_s=6, gpus=4),
    ],
)


def test_a_preemption_is_told_once_however_long_the_victim_takes() -> None:
    lines = told(URGENT, Options(grace_us=4 * SECOND_US))

    busy = "waits for quota \u2014 h100: needs 4 gpu, 0 free of 4; 4 in use by urgent 4"
    because = "same queue, priority 0 below 7; 9 s of its work is lost"
    assert lines[:6] == [
        (0, "victim", "starts 2 pods x 2 gpu on h100, within quota (cq: 4 of 4 gpu)"),
        (5, "urgent", f"preempts victim (4 gpu of h100): {because}"),
        (9, "urgent", "starts 1 pod x 4 gpu on h100, within quota (cq: 4 of 4 gpu)"),
        (9, "victim", f"{busy}; nobody may be preempted for it"),
        (9, "other", f"{busy}; nobody may be preempted for it"),
        (19, "urgent", "is done after 10 s, gives back 4 gpu of h100"),
    ]


def test_what_is_borrowed_is_said_to_be_whose() -> None:
    queues = [
        a_cluster_queue(name, quota={"h100": {GPU: gpus}}, cohort="all")
        for name, gpus in (("a", 1), ("b", 2), ("c", 5), ("d", 3), ("e", 4))
    ]
    jobs = [a_job("full", "e", gpus=4), a_job("big", "a", at_s=1, gpus=8)]

    [line] = [line for at_s, name, line in told(an_experiment(queues, jobs)) if at_s == 1]

    assert line == (
        "starts 1 pod x 8 gpu on h100, borrows 7 gpu from c (uses 0 of 5), d (uses 0 of 3) and "
        "b (uses 0 of 2)"
    )


def test_what_nobody_owns_is_borrowed_from_the_cohort() -> None:
    queues: list[Cohort | ClusterQueue] = [
        a_cohort("all", quota={"h100": {GPU: 4}}),
        a_cluster_queue("a", quota={"h100": {GPU: 0}}, cohort="all"),
    ]

    [first, _] = told(an_experiment(queues, [a_job("one", "a")]))

    assert first[2] == "starts 1 pod x 1 gpu on h100, borrows 1 gpu from the cohort"


def test_in_a_crowd_nobody_is_named_as_holding_what_one_waits_for() -> None:
    queue = a_cluster_queue("cq", quota={"h100": {GPU: CROWD + 1}})
    jobs = [a_job(f"j{n}") for n in range(CROWD + 1)]

    lines = told(an_experiment([queue], [*jobs, a_job("late", at_s=1)]))

    [refusal] = [line for at_s, name, line in lines if (at_s, name) == (1, "late")]
    assert "in use by" not in refusal
    assert f"0 free of {CROWD + 1}" in refusal


def test_a_job_that_still_runs_at_the_end_is_told_of() -> None:
    lines = told(URGENT, Options(until_us=3 * SECOND_US))

    assert lines[-1] == (3, "victim", "is still running, for 3 s now")
