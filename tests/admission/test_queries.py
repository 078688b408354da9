"""Who uses what, and where those stand of whom no plan speaks."""

from dataclasses import replace

from muster.admission import events, lifecycle
from muster.admission.amounts import FlavorResource
from muster.admission.conditions import EvictionReason
from muster.admission.objects import QueueingStrategy, StopPolicy
from muster.admission.queries import QuotaUse, Standing, Use, Why, quota_use, standings, users_of
from tests.admission.builders import (
    LOWER,
    a_cluster_queue,
    a_flavor,
    a_gang,
    a_local_queue,
)
from tests.admission.world import World

CPU = FlavorResource("default", "cpu")


def use(workload: str, queue: str, amount: int, *, evicting: bool = False) -> Use:
    return Use(
        workload=f"default/{workload}", cluster_queue=queue, amount=amount, evicting=evicting
    )


# --- Use -----------------------------------------------------------------------------------------


def test_users_of_a_pair_are_those_of_the_whole_cohort() -> None:
    world = World(
        a_cluster_queue("a", cohort="co"),
        a_cluster_queue("b", cohort="co"),
        a_cluster_queue("apart"),
    )
    world.run(a_gang("small", "a", cpu=1), a_gang("large", "b", cpu=5))
    world.run(a_gang("leaving", "b", cpu=3), evicted=True)
    world.run(a_gang("elsewhere", "apart", cpu=9))
    world.state.settle(world.now_us)

    assert users_of(world.state, "a", CPU) == (
        use("large", "b", 5),
        use("leaving", "b", 3, evicting=True),
        use("small", "a", 1),
    )
    assert users_of(world.state, "apart", CPU) == (use("elsewhere", "apart", 9),)


def test_who_holds_nothing_of_a_pair_is_no_user() -> None:
    world = World(a_cluster_queue("a", quota={"default": {"cpu": 4, "gpu": 4}}))
    world.run(a_gang("cpu-only", "a", cpu=1))
    world.run(a_gang("nothing-left", "a", requests={"gpu": 0}))

    assert users_of(world.state, "a", FlavorResource("default", "gpu")) == ()


def test_a_queue_that_is_not_there_has_no_users() -> None:
    assert users_of(World().state, "a", CPU) == ()


def test_quota_use() -> None:
    world = World(
        a_cluster_queue("a", cohort="co", quota={"f": {"cpu": (4, 2)}, "g": {"cpu": 1}}),
        a_cluster_queue("b", cohort="co", quota={"f": {"cpu": 6}}),
    )
    world.run(a_gang("x", "a", cpu=5), flavors="f")
    world.state.settle(world.now_us)

    assert quota_use(world.state, "a") == (
        QuotaUse(flavor="f", resource="cpu", nominal=4, used=5, potential=6),
        QuotaUse(flavor="g", resource="cpu", nominal=1, used=0, potential=1),
    )
    assert [each.borrowed for each in quota_use(world.state, "a")] == [1, 0]


# --- Standing ------------------------------------------------------------------------------------


def standing(world: World, name: str) -> Standing:
    """Decide one round, and return where a workload stands that it does not mention."""
    plan = world.cycle().plan
    decided = [decision.workload for decision in plan.decisions]
    found = {each.workload: each for each in standings(world.state, decided, world.now_us)}
    return found[f"default/{name}"]


def expected(name: str, why: Why, **named: object) -> Standing:
    base = Standing(workload=f"default/{name}", cluster_queue="q", why=why)
    return replace(base, **named)  # type: ignore[arg-type]  # fields by name


def test_who_holds_quota_is_left_out() -> None:
    world = World(a_cluster_queue("q"))
    world.run(a_gang("running", "q"))

    assert standings(world.state, (), world.now_us) == ()


def test_who_has_finished_is_left_out() -> None:
    world = World(a_cluster_queue("q"), a_gang("done", "q"))
    world.step("done", lifecycle.JobFinished())

    assert standings(world.state, (), world.now_us) == ()


def test_behind() -> None:
    strict = a_cluster_queue("q", cpu=4, strategy=QueueingStrategy.STRICT_FIFO)
    world = World(strict, a_gang("first", "q", cpu=5), a_gang("second", "q", cpu=1))

    assert standing(world, "second") == expected("second", Why.BEHIND, other="default/first")


def test_same_shape() -> None:
    world = World(a_cluster_queue("q", cpu=4), a_gang("one", "q", cpu=5), a_gang("two", "q", cpu=5))

    assert standing(world, "two") == expected("two", Why.SAME_SHAPE, other="default/one")


def test_parked_before() -> None:
    world = World(a_cluster_queue("q", cpu=4), a_gang("x", "q", cpu=5))
    world.cycle()

    assert standing(world, "x") == expected("x", Why.PARKED)


def test_backing_off() -> None:
    world = World(a_cluster_queue("q"))
    world.run(a_gang("x", "q"))
    world.step("x", lifecycle.PodsReadyTimedOut())
    world.step("x", lifecycle.JobStopped())

    until_us = world.item("x").status.requeue_at_us
    assert standing(world, "x") == expected("x", Why.BACKING_OFF, until_us=until_us)
    assert until_us is not None


def test_backing_off_until_something_happens() -> None:
    world = World(a_cluster_queue("q"))
    world.run(a_gang("x", "q"))
    world.step("x", lifecycle.Evicted(EvictionReason.CLUSTER_QUEUE_STOPPED))
    world.step("x", lifecycle.JobStopped())

    assert standing(world, "x") == expected("x", Why.BACKING_OFF)


def test_gated() -> None:
    world = World(a_cluster_queue("q"), a_gang("x", "q", gated_by=("a.b/c", "a.b/d")))

    assert standing(world, "x") == expected("x", Why.GATED, names=("a.b/c", "a.b/d"))


def test_inactive() -> None:
    world = World(a_cluster_queue("q"), a_gang("x", "q", active=False))

    assert standing(world, "x") == expected("x", Why.INACTIVE)


def test_no_local_queue() -> None:
    world = World(a_cluster_queue("q"), a_gang("x", "other"))

    assert standing(world, "x") == expected(
        "x", Why.NO_LOCAL_QUEUE, cluster_queue=None, names=("other",)
    )


def test_no_cluster_queue() -> None:
    world = World(a_local_queue("lq", cluster_queue="gone"), a_gang("x", "lq"))

    assert standing(world, "x") == expected(
        "x", Why.NO_CLUSTER_QUEUE, cluster_queue=None, names=("gone",)
    )


def test_local_queue_stopped() -> None:
    world = World(a_cluster_queue("q"), a_gang("x", "lq"))
    world.see(a_local_queue("lq", cluster_queue="q", stop_policy=StopPolicy.HOLD))

    assert standing(world, "x") == expected("x", Why.LOCAL_QUEUE_STOPPED, names=("default/lq",))


def test_cluster_queue_inactive() -> None:
    world = World(a_flavor("default"), a_cluster_queue("q"), a_gang("x", "q"))
    world.apply(events.FlavorGone("default"))

    assert standing(world, "x") == expected(
        "x", Why.CLUSTER_QUEUE_INACTIVE, names=("q", "FlavorNotFound")
    )


def test_a_victim_that_has_stopped_queues_behind_its_preemptor() -> None:
    world = World(a_cluster_queue("q", cpu=4, within=LOWER))
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("high", "q", cpu=4, priority=1))
    world.cycle()
    world.stop("low")

    assert standings(world.state, (), world.now_us) == (
        expected("high", Why.BEHIND),
        expected("low", Why.BEHIND, other="default/high"),
    )
