"""Who waits where: the order of a queue, setting aside, and what brings a workload back."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from muster.admission import events, lifecycle
from muster.admission.conditions import EvictionReason
from muster.admission.config import Config, Gates
from muster.admission.lifecycle import Evicted
from muster.admission.objects import (
    AdmissionCheck,
    LabelSelector,
    Namespace,
    QueueingStrategy,
    Requirement,
    Status,
    StopPolicy,
)
from muster.admission.pending import Place
from tests.admission.builders import (
    LOWER,
    SECOND_US,
    a_cluster_queue,
    a_cohort,
    a_flavor,
    a_gang,
    a_local_queue,
    a_status,
)
from tests.admission.world import World

STRICT = QueueingStrategy.STRICT_FIFO
BEST_EFFORT = QueueingStrategy.BEST_EFFORT_FIFO
TEAM = LabelSelector((Requirement("team", "Exists"),))

# --- The order of a queue ---


def test_the_more_important_goes_first_then_the_older_then_the_smaller_uid() -> None:
    world = World(a_cluster_queue("q", cpu=100, strategy=STRICT))
    world.see(
        a_gang("new", "q", created_s=2),
        a_gang("twin2", "q", created_s=1, uid="2"),
        a_gang("twin1", "q", created_s=1, uid="1"),
        a_gang("high", "q", created_s=3, priority=1),
    )

    outcome = world.cycle(rounds=None)

    assert outcome.admitted == ["high", "twin1", "twin2", "new"]


def test_a_boost_counts_only_behind_its_gate() -> None:
    for boosts, first in ((False, "plain"), (True, "boosted")):
        world = World(
            a_cluster_queue("q", cpu=1), config=Config(gates=Gates(priority_boost=boosts))
        )
        world.see(a_gang("plain", "q", priority=1), a_gang("boosted", "q", priority_boost=2))

        assert world.cycle().admitted == [first]


def test_being_preempted_does_not_cost_the_place_in_the_queue() -> None:
    world = World(a_cluster_queue("q", cpu=2, within=LOWER))
    world.run(a_gang("old", "q", cpu=2, created_s=1))
    world.see(a_gang("high", "q", cpu=2, priority=1), a_gang("new", "q", cpu=2, created_s=2))
    world.cycle()
    world.stop("old")
    world.cycle(rounds=None)
    world.finish("high")

    assert world.cycle().admitted == ["old"]


def test_failing_to_start_costs_the_place_in_the_queue() -> None:
    world = World(a_cluster_queue("q", cpu=2))
    world.run(a_gang("old", "q", cpu=2, created_s=1))
    world.see(a_gang("new", "q", cpu=2, created_s=2))
    world.step("old", Evicted(EvictionReason.PODS_READY_TIMEOUT, ""))
    world.stop("old")
    world.step("old", lifecycle.BackoffFinished())

    assert world.cycle().admitted == ["new"]


# --- Strict and best effort ---


@pytest.mark.parametrize(
    "strategy, admitted, waiting",
    [(STRICT, [], (["big", "small"], [])), (BEST_EFFORT, ["small"], ([], ["big"]))],
)
def test_a_head_that_does_not_fit(
    strategy: QueueingStrategy, admitted: list[str], waiting: tuple[list[str], list[str]]
) -> None:
    world = World(a_cluster_queue("q", cpu=2, strategy=strategy))
    world.see(a_gang("big", "q", cpu=3), a_gang("small", "q", cpu=1))

    outcome = world.cycle(rounds=None)

    assert outcome.admitted == admitted
    assert (world.heap, world.parked) == waiting


def test_a_shape_that_does_not_fit_is_set_aside_whole() -> None:
    world = World(a_cluster_queue("q", cpu=1))
    for i in range(500):  # too many to audit after each
        a = a_gang(f"a{i}", "q", pods=8)
        world.state.apply(events.WorkloadSeen(a, Status()), world.now_us)
    world.see(a_gang("b", "q"))

    first, second = world.cycle(), world.cycle()

    assert first.decided == ["a0"]
    assert len(world.parked) == 500
    assert second.admitted == ["b"]


def test_without_equivalence_each_is_looked_at() -> None:
    gates = Gates(scheduling_equivalence_hashing=False)
    world = World(a_cluster_queue("q", cpu=1), config=Config(gates=gates))
    world.see(*(a_gang(f"a{i}", "q", pods=8) for i in range(3)))

    world.cycle()

    assert (world.parked, world.heap) == (["a0"], ["a1", "a2"])


def test_strict_order_sets_nothing_aside_in_groups() -> None:
    world = World(a_cluster_queue("q", cpu=1, strategy=STRICT))
    world.see(*(a_gang(f"a{i}", "q", pods=8) for i in range(3)))

    world.cycle(rounds=None)

    assert world.heap == ["a0", "a1", "a2"]


ALIKE = a_gang("one", "q", pods=8)
POD_SET = ALIKE.pod_sets[0]

UNLIKE = {
    "priority": {"priority": 1},
    "count": {"pod_sets": (replace(POD_SET, count=9),)},
    "minimum": {"pod_sets": (replace(POD_SET, min_count=2),)},
    "requests": {"pod_sets": (replace(POD_SET, requests=(("cpu", 2),)),)},
    "node selector": {"pod_sets": (replace(POD_SET, node_selector=(("zone", "a"),)),)},
    "number of pod sets": {"pod_sets": (POD_SET, replace(POD_SET, name="more"))},
}


@pytest.mark.parametrize("named", UNLIKE.values(), ids=UNLIKE)
def test_what_makes_another_shape(named: dict[str, object]) -> None:
    world = World(a_cluster_queue("q", cpu=1))
    world.see(ALIKE, replace(ALIKE, name="other", uid="2", **named))  # type: ignore[arg-type]

    world.cycle()

    assert (world.place("one") is Place.HEAP) != (world.place("other") is Place.HEAP)


def test_who_made_it_and_when_makes_no_other_shape() -> None:
    world = World(a_cluster_queue("q", cpu=1))
    world.see(ALIKE, replace(ALIKE, name="other", uid="2", created_us=7, generation=3))

    world.cycle()

    assert world.parked == ["one", "other"]


def test_a_newcomer_of_a_shape_that_was_set_aside_follows_it() -> None:
    world = World(a_cluster_queue("q", cpu=1))
    world.see(a_gang("a", "q", pods=8))
    world.cycle()

    world.see(a_gang("late", "q", pods=8), a_gang("other", "q", pods=9))

    assert (world.parked, world.heap) == (["a", "late"], ["other"])


def test_who_waits_for_victims_stays_in_front_of_the_more_important() -> None:
    world = World(a_cluster_queue("q", cpu=4, within=LOWER))
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1))
    world.cycle()
    world.see(a_gang("higher", "q", cpu=4, priority=2))
    world.stop("low")

    assert world.cycle().admitted == ["w"]


def test_in_strict_order_the_more_important_goes_first_all_the_same() -> None:
    world = World(a_cluster_queue("q", cpu=4, within=LOWER, strategy=STRICT))
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1))
    world.cycle()
    world.see(a_gang("higher", "q", cpu=4, priority=2))
    world.stop("low")

    assert world.cycle().admitted == ["higher"]


def test_a_mark_does_not_follow_a_workload_into_another_queue() -> None:
    world = World(
        a_cluster_queue("q", cpu=4, within=LOWER),
        a_cluster_queue("r", cpu=4),
    )
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1))
    world.cycle()

    world.edit("w", local_queue="r")

    assert world.queue("q").pending.sticky is None
    assert world.cycle().admitted == ["w"]


def test_who_waits_for_victims_stays_in_front_after_a_back_off() -> None:
    world = World(a_cluster_queue("q", cpu=4, within=LOWER))
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1))
    world.cycle()
    w = world.item("w")
    later = replace(w.status, requeue_at_us=world.now_us + 10 * SECOND_US)
    world.apply(events.WorkloadSeen(w.workload, later))
    assert world.parked == ["w"]

    world.see(a_gang("higher", "q", cpu=4, priority=2))
    world.pass_time(10)
    world.stop("low")

    assert world.cycle().admitted == ["w"]


# --- What brings a parked workload back ---


def parked() -> World:
    """A cohort in which w waits for quota, set aside."""
    world = World(
        a_cohort("root"),
        a_cohort("team", "root"),
        a_cluster_queue("q", cohort="team", cpu=2, checks={"c": ()}),
        a_cluster_queue("other", cohort="root", cpu=2),
        AdmissionCheck(name="c"),
    )
    world.run(a_gang("held", "other", cpu=2), a_gang("own", "q", cpu=2))
    world.see(a_gang("w", "q", cpu=2))
    world.cycle(rounds=None)
    assert world.parked == ["w"]
    return world


WAKING: dict[str, Callable[[World], None]] = {
    "a workload of the tree finishes": lambda world: world.finish("held"),
    "a workload of the tree is deleted": lambda world: world.apply(
        events.WorkloadGone("default/held")
    ),
    "a workload of the tree is deactivated": lambda world: world.edit("held", active=False),
    "pods of a workload of the tree are done": lambda world: world.reclaim("held", main=1),
    "the queue gets more quota": lambda world: world.see(
        a_cluster_queue("q", cohort="team", cpu=4, checks={"c": ()})
    ),
    "another queue of the tree gets more quota": lambda world: world.see(
        a_cluster_queue("other", cohort="root", cpu=4)
    ),
    "a queue joins the tree": lambda world: world.see(a_cluster_queue("new", cohort="root", cpu=4)),
    "the cohort gets quota": lambda world: world.see(
        a_cohort("team", "root", quota={"default": {"cpu": 2}})
    ),
    "a cohort with quota joins the tree": lambda world: world.see(
        a_cohort("spare", "root", quota={"default": {"cpu": 2}})
    ),
    "a flavor changes": lambda world: world.see(a_flavor("default", node_labels={"zone": "a"})),
    "somebody asks for it": lambda world: world.apply(events.Swept("other")),
    "the workload itself changes": lambda world: world.edit("w", priority=1),
}


@pytest.mark.parametrize("happens", WAKING.values(), ids=WAKING)
def test_what_brings_a_parked_workload_back(happens: Callable[[World], None]) -> None:
    world = parked()

    happens(world)
    world.state.settle(world.now_us)

    looked_at = world.decide(rounds=1)
    assert [d.workload for d in looked_at.decisions] == ["default/w"]


LETTING_LIE: dict[str, Callable[[World], None]] = {
    "a workload of another tree finishes": lambda world: world.finish("elsewhere"),
    "a workload arrives": lambda world: world.see(a_gang("new", "other", cpu=9)),
    "it is reported again": lambda world: world.apply(
        events.WorkloadSeen(world.item("w").workload, world.item("w").status)
    ),
    "its queue is reported again": lambda world: world.see(world.queue("q").spec),
    "time passes": lambda world: world.pass_time(1000),
}


@pytest.mark.parametrize("happens", LETTING_LIE.values(), ids=LETTING_LIE)
def test_what_does_not(happens: Callable[[World], None]) -> None:
    world = parked()
    world.see(a_cluster_queue("far", cpu=1))
    world.run(a_gang("elsewhere", "far", cpu=1))

    happens(world)
    world.state.settle(world.now_us)

    assert world.parked == ["w"]


BLOCKED: dict[str, tuple[Callable[[World], None], Callable[[World], None]]] = {
    "its namespace appears": (
        lambda world: world.apply(events.NamespaceGone("default")),
        lambda world: world.see(Namespace(name="default")),
    ),
    "its flavor changes": (
        lambda world: world.see(a_flavor("default", node_labels={"zone": "west"})),
        lambda world: world.see(a_flavor("default", node_labels={"zone": "east"})),
    ),
    "its flavor appears": (
        lambda world: world.apply(events.FlavorGone("default")),
        lambda world: world.see(a_flavor("default")),
    ),
    "its queue starts": (
        lambda world: world.see(a_cluster_queue("q", strategy=STRICT, stop_policy=StopPolicy.HOLD)),
        lambda world: world.see(a_cluster_queue("q", strategy=STRICT)),
    ),
}


@pytest.mark.parametrize("blocks, frees", BLOCKED.values(), ids=BLOCKED)
def test_a_strict_head_is_looked_at_again_when(
    blocks: Callable[[World], None], frees: Callable[[World], None]
) -> None:
    world = World(a_cluster_queue("q", strategy=STRICT))
    blocks(world)
    gang = a_gang("w", "q")
    pods = replace(gang.pod_sets[0], node_selector=(("zone", "east"),))
    world.see(replace(gang, pod_sets=(pods,)))
    for _ in range(2):
        assert world.cycle(rounds=None).admitted == []

    frees(world)

    assert world.cycle(rounds=None).admitted == ["w"]


# --- Back-off ---


def backing_off() -> World:
    """A workload whose pods were not ready in time; it may try again after 60 s."""
    world = World(a_cluster_queue("q", cpu=2))
    world.run(a_gang("w", "q", cpu=2))
    world.step("w", lifecycle.PodsReadyTimedOut())
    world.stop("w")
    return world


def test_a_workload_that_backs_off_is_not_looked_at() -> None:
    world = backing_off()

    assert world.parked == ["w"]
    assert world.cycle().decided == []


def test_a_sweep_does_not_end_a_back_off() -> None:
    world = backing_off()

    world.apply(events.Swept("q"))

    assert world.parked == ["w"]


def test_time_alone_does_not_end_it_while_requeued_is_false() -> None:
    world = backing_off()

    world.pass_time(3600)

    assert world.parked == ["w"]


def test_it_comes_back_when_the_back_off_is_finished() -> None:
    world = backing_off()
    world.pass_time(60)
    world.step("w", lifecycle.BackoffFinished())

    assert world.cycle().admitted == ["w"]


def test_a_check_that_asks_for_time_gets_it() -> None:
    """Requeued is not False here: the instant alone keeps the workload away."""
    world = World(a_cluster_queue("q", cpu=2))
    waits = replace(a_status(), requeue_at_us=world.now_us + 5 * SECOND_US)
    world.apply(events.WorkloadSeen(a_gang("w", "q"), waits))
    assert world.cycle().decided == []
    assert world.state.next_alarm_us == world.now_us + 5 * SECOND_US

    world.pass_time(5)

    assert world.cycle().admitted == ["w"]


def test_a_queue_that_comes_up_tries_everybody_at_once_and_only_once() -> None:
    """As after a restart, when workloads are known before their queue."""
    world = World(a_cluster_queue("q", cpu=1))
    waits = replace(a_status(), requeue_at_us=world.now_us + 5 * SECOND_US)
    world.apply(events.WorkloadSeen(a_gang("w", "late", cpu=2), waits))

    world.see(a_local_queue("late", cluster_queue="q"))

    assert world.heap == ["w"]
    world.cycle()
    assert world.parked == ["w"]
    world.apply(events.Swept("q"))
    assert world.parked == ["w"]


# --- Where a workload may not wait at all ---


OUT: dict[str, Callable[[World], None]] = {
    "finished": lambda world: world.finish("w"),
    "inactive": lambda world: world.edit("w", active=False),
    "gated": lambda world: world.edit("w", gated_by=("hand",)),
    "without a LocalQueue": lambda world: world.apply(events.LocalQueueGone("default/q")),
    "in a stopped LocalQueue": lambda world: world.see(
        a_local_queue("q", cluster_queue="q", stop_policy=StopPolicy.HOLD)
    ),
    "in a LocalQueue that is being deleted": lambda world: world.see(
        a_local_queue("q", cluster_queue="q", terminating=True)
    ),
    "without a ClusterQueue": lambda world: world.apply(events.ClusterQueueGone("q")),
    "in a LocalQueue of nobody": lambda world: world.edit("w", local_queue="nowhere"),
}


@pytest.mark.parametrize("aside", [False, True], ids=["in the heap", "set aside"])
@pytest.mark.parametrize("happens", OUT.values(), ids=OUT)
def test_a_workload_does_not_wait_when(happens: Callable[[World], None], aside: bool) -> None:
    world = World(a_cluster_queue("q", cpu=1))
    world.see(a_gang("w", "q", cpu=2))
    if aside:
        world.cycle()

    happens(world)

    assert world.place("w") is Place.NOWHERE
    assert world.cycle(rounds=None).decided == []


def test_a_gate_that_is_not_honoured_keeps_nobody_back() -> None:
    world = World(a_cluster_queue("q"), config=Config(gates=Gates(admission_gated_by=False)))
    world.see(a_gang("w", "q", gated_by=("hand",)))

    assert world.cycle().admitted == ["w"]
