"""Released quota wakes whom it can help, all of them, and nobody else."""

import random
from dataclasses import dataclass

import pytest

from muster.admission import events
from muster.admission.config import Config, FairStrategy
from muster.admission.objects import PreemptionPolicy
from muster.admission.plan import Admit, CyclePlan
from tests.admission.builders import a_cluster_queue, a_gang, a_pod_set
from tests.admission.world import World

ANY, LOWER, NEVER = (
    PreemptionPolicy.ANY,
    PreemptionPolicy.LOWER_PRIORITY,
    PreemptionPolicy.NEVER,
)


def decide_all(world: World) -> list[CyclePlan]:
    """Decide until nothing is left to decide."""
    plans = [world.cycle(None).plan]
    while not plans[-1].exhausted:
        assert len(plans) < 100, "decisions go on for ever"
        plans.append(world.cycle(None).plan)
    return plans


def looked_at(plans: list[CyclePlan]) -> list[str]:
    return sorted({d.workload.removeprefix("default/") for p in plans for d in p.decisions})


def a_full_cohort(*, others: int) -> World:
    """One queue that owns and uses all; others that could borrow, each with somebody waiting."""
    world = World(
        a_cluster_queue("owner", cohort="team", cpu=4),
        *(a_cluster_queue(f"q{n}", cohort="team", cpu=0) for n in range(others)),
    )
    world.see(a_gang("big", queue="owner", cpu=3), a_gang("small", queue="owner", cpu=1))
    decide_all(world)
    for n in range(others):
        world.see(a_gang(f"w{n}", queue=f"q{n}", cpu=1))
    decide_all(world)
    assert len(world.parked) == others
    return world


def test_only_as_many_are_woken_as_fit() -> None:
    world = a_full_cohort(others=50)

    world.finish("small")

    assert looked_at(decide_all(world)) == ["w0"]
    assert "w0" in world.running


def test_those_left_asleep_get_what_the_first_did_not_take() -> None:
    """Each of its pod sets would fit, so it is woken first; both do not, so it takes nothing."""
    world = World(
        a_cluster_queue("owner", cohort="team", cpu=2),
        a_cluster_queue("first", cohort="team", cpu=0),
        a_cluster_queue("second", cohort="team", cpu=0),
    )
    world.see(a_gang("one", queue="owner", cpu=1), a_gang("two", queue="owner", cpu=1))
    decide_all(world)
    pod_sets = tuple(a_pod_set(name, cpu=1) for name in ("leader", "worker"))
    world.see(a_gang("pair", queue="first", pod_sets=pod_sets))
    world.see(a_gang("single", queue="second", cpu=1))
    decide_all(world)
    assert world.parked == ["pair", "single"]

    world.finish("one")
    decide_all(world)

    assert world.running == ["single", "two"]
    assert world.parked == ["pair"]


@pytest.mark.parametrize("priority, wakes", [(1, True), (0, False)])
def test_a_release_wakes_who_has_somebody_to_preempt_by_now(priority: int, wakes: bool) -> None:
    """It was set aside while nobody less important ran; then somebody did."""
    world = World(
        a_cluster_queue("cq", cohort="team", cpu=4, within=LOWER),
        a_cluster_queue("other", cohort="team", cpu=1),
        config=Config(patience_us=0),
    )
    world.see(a_gang("old", queue="cq", cpu=2, priority=1), a_gang("far", queue="other", cpu=1))
    decide_all(world)
    world.see(a_gang("waits", queue="cq", cpu=4, priority=priority))
    decide_all(world)
    world.see(a_gang("less", queue="cq", cpu=2, priority=0))
    decide_all(world)
    world.finish("old")
    decide_all(world)
    world.see(a_gang("keeps", queue="cq", cpu=2, priority=1))
    decide_all(world)

    world.finish("far")

    assert ("waits" in looked_at(decide_all(world))) is wakes


def test_a_release_that_is_too_small_wakes_nobody() -> None:
    world = World(a_cluster_queue("cq", cpu=4))
    world.see(a_gang("big", queue="cq", cpu=3), a_gang("small", queue="cq", cpu=1))
    decide_all(world)
    world.see(a_gang("next", queue="cq", cpu=3))
    decide_all(world)

    world.finish("small")
    assert looked_at(decide_all(world)) == []

    world.finish("big")
    assert looked_at(decide_all(world)) == ["next"]


def test_newcomers_of_a_shape_that_failed_follow_it_and_wake_with_it() -> None:
    world = World(a_cluster_queue("cq", cpu=4))
    world.see(a_gang("big", queue="cq", cpu=3))
    decide_all(world)
    world.see(a_gang("first", queue="cq", cpu=2))
    decide_all(world)
    world.see(a_gang("second", queue="cq", cpu=2))
    assert world.parked == ["first", "second"]
    assert looked_at(decide_all(world)) == []

    world.finish("big")
    decide_all(world)

    assert world.running == ["first", "second"]


AT_ONCE = Config(patience_us=0)


@dataclass(frozen=True, kw_only=True)
class Policies:
    name: str
    config: Config = AT_ONCE
    within: PreemptionPolicy = NEVER
    reclaim: PreemptionPolicy = NEVER


POLICIES = [
    Policies(name="no preemption"),
    Policies(name="preemption in the queue", within=LOWER),
    Policies(name="reclaim", within=LOWER, reclaim=ANY),
    Policies(
        name="fair sharing",
        config=Config(fair_sharing=(FairStrategy.FINAL_SHARE,), patience_us=0),
        reclaim=ANY,
    ),
]


@pytest.mark.parametrize("policies", POLICIES, ids=lambda policies: policies.name)
@pytest.mark.parametrize("seed", range(12))
def test_nobody_is_left_asleep_who_could_be_admitted(policies: Policies, seed: int) -> None:
    """After every step of a random history, waking everybody admits nobody more."""
    chance = random.Random(seed)
    queues = [f"q{n}" for n in range(chance.randint(1, 5))]
    world = World(config=policies.config)
    for queue in queues:
        cohort = chance.choice([None, "a", "a", "b"])
        world.see(
            a_cluster_queue(
                queue,
                cohort=cohort,
                flavors=("x", "y") if chance.random() < 0.5 else ("x",),
                cpu=chance.randint(0, 6),
                within=policies.within,
                reclaim=policies.reclaim if cohort else NEVER,
            )
        )
    for step in range(40):
        if world.running and chance.random() < 0.4:
            world.finish(chance.choice(world.running))
        else:
            world.see(
                a_gang(
                    f"w{step}",
                    queue=chance.choice(queues),
                    cpu=chance.randint(1, 4),
                    priority=chance.randint(0, 2),
                )
            )
        decide_all(world)
        while world.leaving:
            world.stop_all()
            decide_all(world)
        world.apply(*(events.Swept(queue) for queue in queues))
        admitted = [d for d in world.decide(None).decisions if isinstance(d, Admit)]
        assert admitted == [], f"step {step} of seed {seed}"
