"""A decision that may look at few heads only comes to the same, in more than one plan."""

from copy import deepcopy

import pytest

from muster.admission import events
from muster.admission.config import Config
from muster.admission.cycle import decide
from muster.admission.plan import Admit
from tests.admission.builders import a_cluster_queue, a_gang
from tests.admission.test_histories import CLASSICAL, lived, wake_everybody
from tests.admission.world import FAIR, World


def step(world: World, heads_max: int | None) -> tuple[list[str], bool]:
    """Decide once; return who was admitted, by name, and whether there is no more to decide."""
    plan = decide(world.state, world.now_us, heads_max=heads_max)
    world.apply(events.PlanAccepted(plan))
    admitted = [d.workload.split("/")[1] for d in plan.decisions if isinstance(d, Admit)]
    return admitted, plan.exhausted


def steps(world: World, heads_max: int | None) -> list[str]:
    """Decide until there is no more to decide; return everybody admitted, in order."""
    everybody: list[str] = []
    for _ in range(1_000):
        admitted, exhausted = step(world, heads_max)
        everybody += admitted
        if exhausted:
            return everybody
    raise AssertionError("decisions go on for ever")


def three_lone_queues() -> World:
    names = ("a", "b", "c")
    world = World(*(a_cluster_queue(name, cpu=2) for name in names))
    for number in range(3):
        world.see(*(a_gang(f"{name}{number}", queue=name, cpu=1) for name in names))
    return world


def test_trees_take_turns() -> None:
    world = three_lone_queues()

    plans = [step(world, 1) for _ in range(4)]

    assert plans == [(["a0"], False), (["b0"], False), (["c0"], False), (["a1"], False)]


def test_a_tree_is_not_cut_in_two() -> None:
    """All its heads are put in one order, so at least one tree is looked at whole."""
    world = World(*(a_cluster_queue(name, cohort="team", cpu=1) for name in ("a", "b", "c")))
    world.see(*(a_gang(f"of-{name}", queue=name, cpu=1) for name in ("a", "b", "c")))

    assert step(world, 1) == (["of-a", "of-b", "of-c"], True)


def test_without_a_limit_one_plan_does_it() -> None:
    assert step(three_lone_queues(), None) == (["a0", "b0", "c0", "a1", "b1", "c1"], True)


@pytest.mark.parametrize("config", [CLASSICAL, FAIR], ids=["classical", "fair"])
@pytest.mark.parametrize("heads_max", [1, 3])
@pytest.mark.parametrize("seed", range(10))
def test_the_end_is_the_same(seed: int, heads_max: int, config: Config) -> None:
    world = lived(seed, config, 40)
    wake_everybody(world)
    by_and_by = deepcopy(world)

    steps(world, None)
    steps(by_and_by, heads_max)

    assert by_and_by.running == world.running
    assert by_and_by.leaving == world.leaving
