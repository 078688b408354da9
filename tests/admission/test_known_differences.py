"""Where a decision is not what a user would want, what it is instead, and why it is left so.

Every row is strict: it fails as soon as the decision is as wanted, and then belongs to the stories.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from muster.admission.config import Config, Gates
from tests.admission.builders import ANY, LOWER, a_cluster_queue, a_cohort, a_gang
from tests.admission.world import FAIR, World

PREEMPTORS_FIRST = Gates(prioritize_preemptor_workloads=True)


@dataclass(frozen=True, kw_only=True)
class Difference:
    name: str
    play: Callable[[], object]
    wanted: object
    given: object
    because: str


def a_small_urgent_job_behind_one_that_waits_for_victims() -> list[str]:
    """The first of three victims is gone; somebody more important needs just that place."""
    world = World(
        a_cluster_queue("q", cohort="k", reclaim=ANY, within=LOWER, cpu=(3, 0)),
        a_cluster_queue("guest", cohort="k", cpu=(0, 3)),
    )
    world.run(*(a_gang(f"g{i}", "guest") for i in range(3)))
    world.see(a_gang("low", "q", cpu=3, priority=10))
    world.cycle(rounds=None)
    world.see(a_gang("high", "q", priority=10_000))
    world.stop("g0")
    return world.cycle(rounds=None).admitted


def victims_that_stop_one_after_the_other(config: Config) -> list[str]:
    """Both a and b must go for the preemptor; a has stopped, b has not yet."""
    world = World(
        a_cluster_queue("q1", cohort="k", reclaim=ANY, quota={"default": {"cpu": 10, "mem": 0}}),
        a_cluster_queue("q2", cohort="k", reclaim=ANY, quota={"default": {"cpu": 0, "mem": 10}}),
        config=config,
    )
    world.run(a_gang("a", "q2", priority=100), a_gang("b", "q2", priority=100))
    world.see(a_gang("pre", "q1", requests={"cpu": 10, "mem": 10}))
    world.cycle(rounds=None)
    world.stop("a")
    return world.cycle(rounds=None).admitted


def equal_teams_one_with_less_important_work() -> list[str]:
    """Teams A and B have the same share; the work of A is less important than that of B."""
    world = World(
        a_cohort("root"),
        *(a_cohort(team, "root") for team in ("A", "B", "C")),
        *(
            a_cluster_queue(f"{team}-own", cohort=team, reclaim=ANY, cpu=(cpu, 0))
            for team, cpu in (("A", 2), ("B", 2), ("C", 8))
        ),
        *(a_cluster_queue(f"{team}-more", cohort=team, cpu=0) for team in ("A", "B", "C")),
        config=FAIR,
    )
    world.run(
        a_gang("a", "A-more", cpu=4, priority=5),
        a_gang("b", "B-more", cpu=4, priority=9),
        a_gang("c", "C-more", cpu=4, priority=1),
    )
    world.see(a_gang("g", "C-own", cpu=4, priority=5))
    return list(world.cycle(rounds=None).evicted)


def work_that_could_rest() -> bool:
    """Two queues borrow the same two places; some work needs both, some needs one."""
    world = World(
        a_cluster_queue("a", cohort="k", cpu=0, within=LOWER, reclaim=ANY),
        a_cluster_queue("b", cohort="k", cpu=0, within=LOWER, reclaim=ANY),
        a_cluster_queue("lender", cohort="k", cpu=2),
        config=FAIR,
    )
    world.see(
        a_gang("a-both", "a", cpu=2, priority=1),
        a_gang("b-both", "b", cpu=2, priority=1),
        a_gang("a-one", "a"),
        a_gang("b-one", "b"),
    )
    for _ in range(20):
        outcome = world.cycle(rounds=None)
        if not outcome.evicted and not outcome.admitted:
            return True
        world.stop_all()
    return False


KNOWN_DIFFERENCES = [
    Difference(
        name="a small urgent job passes one that waits for its victims",
        play=a_small_urgent_job_behind_one_that_waits_for_victims,
        wanted=["high"],
        given=[],
        because="Who waits for victims stays the head of a BestEffortFIFO queue, as in Kueue.",
    ),
    Difference(
        name="a victim does not take back the place that another preemptor's victim leaves",
        play=lambda: victims_that_stop_one_after_the_other(FAIR),
        wanted=[],
        given=["a"],
        because="Room is kept for a preemptor only behind the gate PrioritizePreemptorWorkloads.",
    ),
    Difference(
        name="of equal teams the one with the less important work gives",
        play=equal_teams_one_with_less_important_work,
        wanted=["a"],
        given=["b"],
        because="Cohorts of equal share are told apart by name only, the last one gives.",
    ),
    Difference(
        name="fair shares and priorities together come to rest",
        play=work_that_could_rest,
        wanted=True,
        given=False,
        because="LessThanInitialShare lets the small take from the great of another queue, and by "
        "priority that one takes from the small of its own, and so on; as in Kueue.",
    ),
]


@pytest.mark.parametrize("case", KNOWN_DIFFERENCES, ids=lambda case: case.name)
def test_known_difference(case: Difference) -> None:
    found = case.play()

    assert found != case.wanted, "as wanted now: tell it among the stories"
    assert found == case.given, case.because


def test_preemptors_first_keeps_room_for_the_preemptor() -> None:
    config = replace(FAIR, gates=PREEMPTORS_FIRST)

    assert victims_that_stop_one_after_the_other(config) == []
