"""Victims about to finish are left to finish; what is expected is learned and can be refuted."""

import pytest

from muster.admission.config import Config
from muster.admission.objects import PreemptionPolicy
from muster.admission.plan import Preempt
from muster.admission.runs import RunRecord
from tests.admission.builders import SECOND_US, a_cluster_queue, a_gang
from tests.admission.world import World

PATIENT = Config(patience_us=30 * SECOND_US)
LOWER = PreemptionPolicy.LOWER_PRIORITY


def a_busy_queue(config: Config = PATIENT, *, runs_s: tuple[int, ...] = ()) -> World:
    """Low-priority work that fills the queue, after such work has run for `runs_s` before."""
    world = World(a_cluster_queue("cq", cpu=4_000, within=LOWER), config=config)
    for number, seconds in enumerate(runs_s):
        past = f"past-{number}"
        world.see(a_gang(past, queue="cq", cpu=4_000))
        world.cycle(None)
        world.pass_time(seconds)
        world.finish(past)
    world.see(a_gang("low", queue="cq", cpu=4_000))
    world.cycle(None)
    assert world.running == ["low"]
    return world


def ask(world: World) -> Preempt:
    """Let something important arrive; return what is decided about it."""
    world.see(a_gang("high", queue="cq", cpu=4_000, priority=10))
    [decision] = world.cycle(None).plan.decisions
    assert isinstance(decision, Preempt)
    return decision


def test_a_victim_that_ends_soon_is_left_to_finish() -> None:
    world = a_busy_queue(runs_s=(20,))
    world.pass_time(10)

    [victim] = ask(world).evictions

    assert world.leaving == []
    assert victim.ends_by_us == world.now_us + 15 * SECOND_US  # 20 s and a quarter, 10 s of it over


def test_its_place_is_the_preemptors_once_it_has_finished() -> None:
    world = a_busy_queue(runs_s=(20,))
    ask(world)
    world.see(a_gang("other", queue="cq", cpu=1_000, priority=5))
    world.finish("low")

    assert world.cycle(None).admitted == ["high"]


def test_an_expectation_that_was_refuted_is_given_no_more_time() -> None:
    world = a_busy_queue(runs_s=(20,))
    ask(world)
    alarm_us = world.state.next_alarm_us
    assert alarm_us is not None
    world.now_us = alarm_us
    world.pass_time(0)

    assert world.cycle(None).evicted == {"low": "InClusterQueue"}
    assert world.leaving == ["low"]


@pytest.mark.parametrize(
    "config, runs_s",
    [
        pytest.param(PATIENT, (), id="nothing is known of such runs"),
        pytest.param(PATIENT, (3_600,), id="it would end too late"),
        pytest.param(PATIENT, (20, 3_600), id="the longest run counts"),
        pytest.param(Config(patience_us=0), (20,), id="patience is turned off"),
    ],
)
def test_otherwise_it_is_stopped_at_once(config: Config, runs_s: tuple[int, ...]) -> None:
    world = a_busy_queue(config, runs_s=runs_s)

    ask(world)

    assert world.leaving == ["low"]


def test_only_the_same_shape_in_the_same_queue_counts() -> None:
    world = World(
        a_cluster_queue("cq", cpu=4_000, within=LOWER),
        a_cluster_queue("elsewhere", cpu=4_000),
        config=PATIENT,
    )
    world.see(a_gang("same-shape", queue="elsewhere", cpu=4_000))
    world.see(a_gang("smaller", queue="cq", cpu=3_000))
    world.cycle(None)
    world.pass_time(5)
    world.finish("same-shape", "smaller")
    world.see(a_gang("low", queue="cq", cpu=4_000))
    world.cycle(None)

    ask(world)

    assert world.leaving == ["low"]


def test_a_workload_that_was_stopped_teaches_nothing() -> None:
    world = a_busy_queue()
    ask(world)
    world.pass_time(1)
    world.stop("low")
    world.cycle(None)
    world.finish("high")
    world.cycle(None)
    assert world.running == ["low"]
    world.see(a_gang("again", queue="cq", cpu=4_000, priority=10))
    world.cycle(None)

    assert world.leaving == ["low"]


def test_a_record_expects_the_longest_run_and_a_quarter() -> None:
    record = RunRecord()
    assert record.expected_us is None
    record.note(80)
    record.note(100)
    record.note(60)

    assert record.expected_us == 125
