"""Cycles of a forecast: what they decide, and what happens between two."""

import io

from muster.admission.config import Config
from muster.queue.api.configuration import parse_configuration
from muster.queue.planning import Forecast, forecast
from muster.queue.world import read_world
from tests.queue.texts import a_flavor, a_job, a_local_queue, a_queue, a_running_workload, joined

CONFIGURATION = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
NOW_US = 10**15

QUEUES = joined(
    a_flavor("h100"),
    a_queue(
        "train",
        {"h100": 8},
        """
        namespaceSelector: {}
        preemption: {withinClusterQueue: LowerPriority}
        """,
    ),
    a_local_queue("train", "train"),
)
URGENT = joined(
    "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: urgent}\nvalue: 10",
    a_job("urgent", "train", gpus=8, pod="priorityClassName: urgent"),
)
RUNNING = a_running_workload("running", "train", pods=2, gpus=4, flavor="h100")


def planned(*documents: str, cycles: int = 1, rounds_max: int | None = None) -> Forecast:
    text = joined(QUEUES, *documents)
    world = read_world(["-"], io.BytesIO(text.encode()), parse_configuration(CONFIGURATION), NOW_US)
    return forecast(world, Config(), NOW_US, cycles=cycles, rounds_max=rounds_max)


def admitted(found: Forecast) -> list[tuple[int, str]]:
    return [(cycle, _short(decision.workload)) for cycle, decision in found.admissions()]


def evicted(found: Forecast) -> list[tuple[int, str, str]]:
    return [
        (cycle, _short(eviction.workload), _short(preemption.workload))
        for cycle, preemption, eviction in found.evictions()
    ]


def waits(found: Forecast) -> list[str]:
    return [_short(decision.workload) for decision in found.waits()]


def _short(key: str) -> str:
    """Return the name of a Job from the key of its Workload."""
    return key.removeprefix("team/").removeprefix("job-").rpartition("-")[0] or key[len("team/") :]


def test_rounds_go_on_until_nobody_else_fits() -> None:
    jobs = [a_job(f"j{n}", "train", gpus=4) for n in range(3)]

    assert admitted(planned(*jobs)) == [(1, "j0"), (1, "j1")]
    assert admitted(planned(*jobs, rounds_max=1)) == [(1, "j0")]
    assert admitted(planned(*jobs, rounds_max=1, cycles=2)) == [(1, "j0"), (2, "j1")]


def test_a_preemptor_waits_for_its_victim() -> None:
    found = planned(RUNNING, URGENT)

    assert admitted(found) == []
    assert evicted(found) == [(1, "running", "urgent")]
    assert waits(found) == ["urgent"]
    assert found.standings() == ()


def test_between_two_cycles_the_victim_stops() -> None:
    found = planned(RUNNING, URGENT, cycles=2)

    assert admitted(found) == [(2, "urgent")]
    assert evicted(found) == [(1, "running", "urgent")]
    assert [plan.now_us for plan in found.plans] == [NOW_US, NOW_US + 1_000_000]
    assert found.now_us == NOW_US + 1_000_000
    assert waits(found) == ["running"]


def test_an_eviction_is_told_once_though_it_is_decided_again() -> None:
    """Without a release in between, the preemptor of the second decision asks its victim again."""
    found = planned(RUNNING, URGENT)
    again = Forecast(plans=found.plans * 2, state=found.state, now_us=NOW_US)

    assert evicted(again) == [(1, "running", "urgent")]


BORROWING = joined(
    a_queue(
        "lends",
        {"h100": 8},
        """
        namespaceSelector: {}
        cohortName: research
        preemption: {reclaimWithinCohort: Any}
        """,
    ),
    a_queue("borrows", {"h100": 0}, "namespaceSelector: {}\ncohortName: research"),
    a_local_queue("lends", "lends"),
    a_local_queue("borrows", "borrows"),
)


def test_what_was_given_may_be_lost_again() -> None:
    jobs = [a_job("one", "lends", gpus=4), a_job("two", "lends", gpus=4)]
    borrower = a_job("borrower", "borrows", gpus=4)

    found = planned(BORROWING, *jobs, borrower, rounds_max=1, cycles=3)

    assert admitted(found) == [(1, "one"), (1, "borrower"), (3, "two")]
    assert evicted(found) == [(2, "borrower", "two")]
    assert waits(found) == ["borrower"]


def test_who_was_admitted_does_not_wait() -> None:
    found = planned(a_job("low", "train", gpus=8))

    assert admitted(found) == [(1, "low")]
    assert waits(found) == []
    assert found.standings() == ()
