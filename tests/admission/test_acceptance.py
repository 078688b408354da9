"""Plans that come late: what was decided about something that is no longer so is void."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission import events
from muster.admission.objects import PodSet, Status
from muster.admission.pending import Place
from tests.admission.builders import (
    LOWER,
    a_cluster_queue,
    a_local_queue,
    a_pod_set,
    a_workload,
)
from tests.admission.histories import History
from tests.admission.world import World, key


def cpus(amount: int, name: str = "main") -> tuple[PodSet, ...]:
    return (a_pod_set(name, requests=(("cpu", amount),)),)


def a_world(small: int, large: int) -> World:
    """Two queues; `train` leads to the small one, where `waiting` asks for 5."""
    world = World(
        a_cluster_queue("small", quota={"default": {"cpu": small}}, within=LOWER),
        a_cluster_queue("large", quota={"default": {"cpu": large}}),
        a_local_queue("train", cluster_queue="small"),
        # Somebody who keeps the other queue from resting.
        a_workload("hopeless", local_queue="large", pod_sets=cpus(1000)),
    )
    world.see(a_workload("waiting", local_queue="train", pod_sets=cpus(5), priority=1))
    return world


def move_queue(world: World) -> None:
    world.see(a_local_queue("train", cluster_queue="large"))


def move_workload(world: World) -> None:
    world.edit("waiting", local_queue="large")


def ask_less(world: World) -> None:
    world.edit("waiting", pod_sets=cpus(1), generation=2)


def reshape(world: World) -> None:
    world.edit("waiting", pod_sets=cpus(4, "other"), generation=2)


CHANGES = [move_queue, move_workload, ask_less, reshape]


@pytest.mark.parametrize("change", [move_queue, move_workload, ask_less])
def test_who_changed_is_not_set_aside_for_what_it_was(change: Callable[[World], None]) -> None:
    world = a_world(small=1, large=10)
    plan = world.decide()

    change(world)
    world.accept(plan)

    assert world.place("waiting") is Place.HEAP
    assert world.cycle().admitted == ["waiting"]


@pytest.mark.parametrize("change", CHANGES)
def test_who_changed_is_not_admitted_as_it_was(change: Callable[[World], None]) -> None:
    world = a_world(small=5, large=10)
    plan = world.decide()

    change(world)
    world.accept(plan)

    assert world.running == []
    assert world.cycle().admitted == ["waiting"]


@pytest.mark.parametrize("change", [move_queue, move_workload, reshape])
def test_nobody_is_evicted_for_who_changed(change: Callable[[World], None]) -> None:
    world = a_world(small=5, large=10)
    world.run(a_workload("victim", local_queue="small", pod_sets=cpus(1)))
    plan = world.decide()

    change(world)
    world.accept(plan)

    assert world.leaving == []


def test_a_run_is_not_evicted_for_what_an_earlier_one_stood_for() -> None:
    world = a_world(small=5, large=10)
    world.run(a_workload("victim", local_queue="small", pod_sets=cpus(1)))
    plan = world.decide()

    holding = world.item("victim").status
    world.apply(events.WriteFailed(key("victim"), Status()))
    world.apply(events.WorkloadSeen(world.item("victim").workload, holding))
    world.accept(plan)

    assert world.leaving == []


def test_a_plan_is_carried_out_once() -> None:
    world = a_world(small=5, large=10)
    plan = world.decide()
    world.accept(plan)
    world.apply(events.WriteFailed(key("waiting"), Status()))

    world.accept(plan)

    assert world.running == []
    assert world.cycle().admitted == ["waiting"]


def test_seeing_the_same_again_voids_nothing() -> None:
    world = a_world(small=5, large=10)
    plan = world.decide()

    item = world.item("waiting")
    world.apply(events.WorkloadSeen(item.workload, item.status))
    world.accept(plan)

    assert world.running == ["waiting"]


@settings(max_examples=80)
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 50), delay=st.integers(0, 10))
def test_a_late_plan_does_no_harm(seed: int, length: int, delay: int) -> None:
    """Whatever happens before it is accepted, and after; the audit runs after every event."""
    history = History(Random(seed))
    history.steps(length)
    late = history.world.decide(None)
    history.steps(delay)

    history.world.accept(late)
    history.steps(length)
    history.world.accept(late)
