"""What a state makes of events that come late, twice, out of order or not at all."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from muster.admission import events, lifecycle
from muster.admission.conditions import EvictionReason
from muster.admission.objects import Status
from muster.admission.pending import Place
from tests.admission.builders import (
    LOWER,
    LOWER_OR_NEWER,
    a_cluster_queue,
    a_gang,
    a_holder,
    a_local_queue,
)
from tests.admission.world import World

# --- Quota that is held ---


def test_quota_is_booked_once_its_queue_is_there() -> None:
    world = World()
    world.run(a_gang("w", "q", cpu=3))
    assert world.running == ["w"]

    world.see(a_cluster_queue("q", cpu=4))

    assert world.cell("q").used == 3


def test_what_held_quota_of_a_queue_that_went_holds_it_again_when_it_is_back() -> None:
    world = World(a_cluster_queue("q", cpu=4))
    world.run(a_gang("stays", "q", cpu=1), a_gang("ends", "q", cpu=1), a_gang("goes", "q", cpu=1))

    world.apply(events.ClusterQueueGone("q"))
    world.finish("ends")
    world.apply(events.WorkloadGone("default/goes"))
    world.see(a_cluster_queue("q", cpu=4))

    assert world.cell("q").used == 1
    assert world.running == ["stays"]


def test_an_evicted_workload_holds_its_quota_until_its_job_has_stopped() -> None:
    world = World(a_cluster_queue("q", cpu=4, within=LOWER))
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1))

    world.cycle()

    assert (world.leaving, world.cell("q").used) == (["low"], 4)
    world.stop("low")
    assert (world.heap, world.cell("q").used) == (["low", "w"], 0)


@pytest.mark.parametrize("reclaimed, used", [(0, 8), (1, 6), (3, 2), (4, 0), (9, 0)])
def test_finished_pods_need_no_quota(reclaimed: int, used: int) -> None:
    world = World(a_cluster_queue("q", cpu=8))
    world.run(a_gang("w", "q", pods=4, cpu=2))

    world.reclaim("w", main=reclaimed)

    assert world.cell("q").used == used


def test_pods_that_start_again_need_quota_again() -> None:
    world = World(a_cluster_queue("q", cpu=64))
    world.run(a_gang("js", "q", pods=3, cpu=16))
    world.reclaim("js", main=2)
    assert world.cell("q").used == 16

    world.reclaim("js", main=0)
    world.see(a_gang("other", "q", cpu=40))

    assert world.cell("q").used == 48
    assert world.cycle().admitted == []


def test_fewer_admitted_than_asked_for_is_what_counts() -> None:
    """Reclaimed pods free quota only once fewer are left than were admitted."""
    world = World(a_cluster_queue("q", cpu=7))
    world.see(a_gang("w", "q", pods=10, min_pods=4))
    world.cycle()
    for reclaimed, used in ((2, 7), (3, 7), (4, 6)):
        world.reclaim("w", main=reclaimed)
        assert world.cell("q").used == used


def test_nothing_is_counted_of_a_resource_without_a_flavor() -> None:
    """Others may have written down all that the pods ask for."""
    world = World(a_cluster_queue("q", cpu=4))
    gang = a_gang("w", "q", requests={"cpu": 3, "memory": 1})
    status = a_holder(a_gang("w", "q", cpu=3), "q")
    given = status.admission
    assert given is not None
    asked = replace(given.pod_sets[0], usage={"cpu": 3, "memory": 1})

    seen = replace(status, admission=replace(given, pod_sets=(asked,)))
    world.apply(events.WorkloadSeen(gang, seen))

    assert world.cell("q").used == 3


def test_an_inactive_workload_holds_nothing() -> None:
    world = World(a_cluster_queue("q", cpu=4))
    world.run(a_gang("w", "q", cpu=3))

    world.edit("w", active=False)

    assert world.cell("q").used == 0


def test_a_workload_made_anew_under_its_old_name_is_another_one() -> None:
    world = World(a_cluster_queue("q", cpu=4))
    world.run(a_gang("w", "q", cpu=3))

    world.see(a_gang("w", "q", cpu=2, uid="another"))

    assert (world.cell("q").used, world.heap) == (0, ["w"])


def test_a_holder_that_starts_anew_is_as_old_as_its_creation() -> None:
    """It was put at the end of the queue for failing; once it runs that is over."""
    world = World(a_cluster_queue("q", cpu=2, within=LOWER_OR_NEWER))
    world.run(a_gang("old", "q", cpu=2, created_s=1))
    world.step("old", lifecycle.Evicted(EvictionReason.PODS_READY_TIMEOUT, ""))
    world.stop("old")
    world.step("old", lifecycle.BackoffFinished())
    assert world.cycle().admitted == ["old"]

    world.see(a_gang("new", "q", cpu=2, created_s=2))

    assert world.cycle().evicted == {}


# --- Plans ---


def test_a_write_that_failed_takes_the_admission_back() -> None:
    world = World(a_cluster_queue("q", cpu=4))
    world.see(a_gang("w", "q", cpu=4))
    before = world.item("w").status
    world.cycle()

    world.apply(events.WriteFailed("default/w", before))

    assert (world.cell("q").used, world.heap) == (0, ["w"])
    assert world.cycle().admitted == ["w"]


LATE: dict[str, Callable[[World], None]] = {
    "finished": lambda world: world.finish("w"),
    "was deactivated": lambda world: world.edit("w", active=False),
    "was deleted": lambda world: world.apply(events.WorkloadGone("default/w")),
    "was made anew": lambda world: world.see(a_gang("w", "q", cpu=9, uid="another")),
    "lost its queue": lambda world: world.apply(events.ClusterQueueGone("q")),
    "lost its LocalQueue": lambda world: world.apply(events.LocalQueueGone("default/q")),
}


@pytest.mark.parametrize("happens", LATE.values(), ids=LATE)
def test_a_plan_for_a_workload_that_is_gone_is_not_carried_out(
    happens: Callable[[World], None],
) -> None:
    world = World(a_cluster_queue("q", cpu=4))
    world.see(a_gang("w", "q", cpu=4))
    plan = world.decide()

    happens(world)
    world.accept(plan)

    assert world.running == []


def test_a_victim_that_is_gone_is_not_evicted() -> None:
    world = World(a_cluster_queue("q", cpu=4, within=LOWER))
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1))
    plan = world.decide()

    world.finish("low")
    world.accept(plan)

    assert world.leaving == []
    assert world.cycle().admitted == ["w"]


def test_a_decision_made_before_a_sweep_sets_nobody_aside() -> None:
    """What woke the workloads was not known to the decision."""
    world = World(a_cluster_queue("q", cpu=4))
    world.run(a_gang("held", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4))
    plan = world.decide()

    world.finish("held")
    world.state.settle(world.now_us)
    world.accept(plan)

    assert world.heap == ["w"]
    assert world.cycle().admitted == ["w"]


# --- Reports that say nothing new ---


def test_reporting_everything_again_changes_nothing() -> None:
    world = World(a_cluster_queue("q", cpu=4, within=LOWER))
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1), a_gang("big", "q", cpu=9))
    world.cycle(rounds=None)
    generation = world.queue("q").generation
    places = {name: world.place(name) for name in ("low", "w", "big")}

    world.see(world.queue("q").spec, a_local_queue("q", cluster_queue="q"))
    for item in list(world.state.items.values()):
        world.apply(events.WorkloadSeen(item.workload, item.status))
    world.state.settle(world.now_us)

    assert world.queue("q").generation == generation
    assert {name: world.place(name) for name in places} == places


def test_a_workload_may_be_known_before_its_queues() -> None:
    world = World()
    world.see(a_gang("w", "late"))
    assert world.place("w") is Place.NOWHERE

    world.see(a_cluster_queue("q"), a_local_queue("late", cluster_queue="q"))

    assert world.cycle().admitted == ["w"]


def test_a_local_queue_may_point_to_another_queue() -> None:
    world = World(a_cluster_queue("q", cpu=1), a_cluster_queue("r", cpu=4))
    world.see(a_gang("w", "q", cpu=4))
    world.cycle()
    assert world.parked == ["w"]

    world.see(a_local_queue("q", cluster_queue="r"))

    assert world.cycle().admitted == ["w"]
    assert world.cell("r").used == 4


def test_a_reservation_seen_from_elsewhere_takes_the_workload_out_of_its_queue() -> None:
    world = World(a_cluster_queue("q", cpu=4))
    world.see(a_gang("w", "q", cpu=3))
    workload = world.item("w").workload

    world.apply(events.WorkloadSeen(workload, a_holder(workload, "q")))

    assert (world.heap, world.running, world.cell("q").used) == ([], ["w"], 3)
    world.apply(events.WorkloadSeen(workload, Status()))
    assert (world.heap, world.running, world.cell("q").used) == (["w"], [], 0)
