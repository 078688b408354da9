"""Laws that hold at any time of any life of a small cluster."""

from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission import events, lifecycle
from muster.admission.audit import check
from muster.admission.config import Config
from muster.admission.lifecycle import Phase
from muster.admission.objects import Cohort, Namespace, QueueingStrategy
from muster.admission.plan import Admit, CyclePlan, Preempt, Wait
from muster.admission.quota import BOOKED, Imagined, available, release_all
from muster.admission.records import Queue
from tests.admission.histories import History
from tests.admission.snapshots import snapshot
from tests.admission.world import FAIR, World

CLASSICAL = Config()
AS_THE_PEER = 1
UNTIL_NOTHING_MOVES = None

configs = st.sampled_from((CLASSICAL, FAIR))
# A seed says more than choices drawn one by one: those stay small, and so do the lives they make.
seeds = st.integers(0, 2**32 - 1)
lengths = st.integers(1, 50)
many = settings(max_examples=80)


def lived(seed: int, config: Config, length: int, **kinds: bool) -> World:
    """The world after a random history, settled."""
    history = History(Random(seed), config, **kinds)
    history.steps(length)
    history.world.state.settle(history.world.now_us)
    return history.world


def wake_everybody(world: World) -> None:
    """Let the next decision look at every tree, not only where something happened."""
    world.state.lines.stirred.update({queue.tree: None for queue in world.state.queues.values()})


def acts(plan: CyclePlan) -> list[tuple[object, ...]]:
    """What a plan does to anybody, apart from making them wait."""
    found: list[tuple[object, ...]] = []
    for decision in plan.decisions:
        match decision:
            case Admit():
                found.append((decision.workload, decision.admission))
            case Preempt():
                asked = [(e.workload, e.reason) for e in decision.evictions if not e.already_asked]
                found += [(decision.workload, *asked)] if asked else []
            case Wait():
                pass
    return found


# --- What is kept ---


@many
@given(seed=seeds, config=configs, length=lengths)
def test_what_is_kept_follows_from_the_objects(seed: int, config: Config, length: int) -> None:
    """The audit runs after every event, settled or not."""
    chance = Random(seed)
    history = History(chance, config)
    for _ in range(length):
        history.step()
        if chance.randrange(2):
            history.world.state.settle(history.world.now_us)
            check(history.world.state, history.world.now_us)


def forget_the_past(world: World) -> None:
    """Drop what only a running process knows: where scans stopped, who waited for victims."""
    state = world.state
    for item in list(state.items.values()):
        item.progress = None
        if lifecycle.phase(item.workload, item.status) is Phase.BACKING_OFF:
            world.step(item.workload.name, lifecycle.BackoffFinished())
    for queue in state.queues.values():
        queue.pending.sticky = queue.pending.preemptor = None
        world.apply(events.Swept(queue.name))
    world.see(Namespace(name="default", labels={"team": "blue"}))
    wake_everybody(world)


def rebuilt(world: World) -> World:
    """A world that was told only how everything is in the end."""
    state = world.state
    fresh = World(config=state.config)
    fresh.now_us = world.now_us
    fresh.see(*state.flavors.values(), *state.checks.values())
    for name, cohort in state.forest.cohorts.items():
        if cohort.declared:
            parent = None if cohort.parent is None else cohort.parent.name
            fresh.see(Cohort(name=name, parent=parent, quotas=cohort.quotas, weight=cohort.weight))
    fresh.apply(*(events.ClusterQueueSeen(queue.spec) for queue in state.queues.values()))
    fresh.see(*state.local_queues.values())
    fresh.apply(*(events.WorkloadSeen(i.workload, i.status) for i in state.items.values()))
    fresh.see(*state.namespaces.values())
    fresh.state.settle(fresh.now_us)
    return fresh


@many
@given(seed=seeds, config=configs, length=lengths)
def test_a_state_can_be_rebuilt_from_the_objects(seed: int, config: Config, length: int) -> None:
    world = lived(seed, replace(config, patience_us=0), length)  # how long runs took is not kept
    forget_the_past(world)

    fresh = rebuilt(world)

    check(fresh.state, fresh.now_us)
    assert usage(fresh) == usage(world)
    assert acts(fresh.decide(None)) == acts(world.decide(None))


def usage(world: World) -> dict[tuple[str, object], int]:
    nodes = [*world.state.queues.values(), *world.state.forest.cohorts.values()]
    return {
        (node.name, pair): cell.used
        for node in nodes
        for pair, cell in node.cells.items()
        if cell.used and not node.cyclic
    }


# --- What is decided ---


@many
@given(seed=seeds, config=configs, length=lengths, rounds=st.sampled_from((1, None)))
def test_deciding_changes_nothing(
    seed: int, config: Config, length: int, rounds: int | None
) -> None:
    world = lived(seed, config, length)
    before = snapshot(world.state)

    first = world.decide(rounds)

    assert snapshot(world.state) == before
    check(world.state, world.now_us)
    assert world.decide(rounds) == first


@many
@given(seed=seeds, config=configs, length=lengths)
def test_many_rounds_are_many_cycles(seed: int, config: Config, length: int) -> None:
    """A decision of n rounds leaves behind what n decisions of one round do.

    But for this: a decision writes the last word on a workload, so a refusal that a later round
    takes back leaves no trace; and what was asked of victims is kept even if a later round would
    let their preemptor wait for something else. Where the next cycle would evict what an earlier
    round has admitted, the rounds end. How far scans for flavors got is not compared: they go on in
    every cycle, even where nothing else happens.
    """
    world = lived(seed, config, length)
    wake_everybody(world)
    step_by_step = deepcopy(world)

    plan = world.decide(UNTIL_NOTHING_MOVES)
    world.accept(plan)
    preemptors: dict[str, None] = {}
    for _ in range(plan.rounds):
        for decision in step_by_step.cycle(AS_THE_PEER).plan.decisions:
            if isinstance(decision, Preempt):
                preemptors[decision.workload] = None
            elif decision.workload in preemptors:
                return

    assert without_scans(step_by_step) == without_scans(world)


def without_scans(world: World) -> dict[str, Any]:
    for item in world.state.items.values():
        item.progress = None
    return snapshot(world.state)


@many
@given(seed=seeds, config=configs, length=lengths)
def test_nothing_is_missed_where_a_decision_does_not_look(
    seed: int, config: Config, length: int
) -> None:
    """Trees rest once nothing moves in them; looking at them all the same finds nothing to do."""
    world = lived(seed, config, length)

    where_something_happened = acts(world.decide(None))
    wake_everybody(world)

    assert acts(world.decide(None)) == where_something_happened


@many
@given(seed=seeds, config=configs, length=lengths)
def test_nobody_who_fits_is_left_aside(seed: int, config: Config, length: int) -> None:
    """What was set aside and not woken would not have got anything.

    Only where nobody may be evicted: an admission may make an eviction possible, or fair, and wakes
    nobody. And only where no scan for flavors is resumed: what it passed may have become free.
    """
    world = lived(seed, config, length, scans=False, preempts=False)
    while acts(world.cycle(rounds=None).plan):
        pass

    for queue in world.state.queues:
        world.apply(events.Swept(queue))

    assert acts(world.decide(None)) == []


@many
@given(seed=seeds, config=configs, length=lengths)
def test_every_head_is_decided_about_once(seed: int, config: Config, length: int) -> None:
    world = lived(seed, config, length)
    wake_everybody(world)
    queues = world.state.queues.values()
    ready = [queue.name for queue in queues if queue.able and queue.pending.heads]

    plan = world.decide(rounds=1)

    assert sorted(decision.cluster_queue for decision in plan.decisions) == sorted(ready)


@many
@given(seed=seeds, config=configs, length=lengths)
def test_a_workload_is_the_victim_of_one_preemptor(seed: int, config: Config, length: int) -> None:
    plan = lived(seed, config, length).decide(rounds=1)

    victims = [e.workload for d in plan.decisions if isinstance(d, Preempt) for e in d.evictions]

    assert len(victims) == len(dict.fromkeys(victims))


@many
@given(seed=seeds, config=configs, length=lengths)
def test_what_a_round_admits_fits_together_once_its_victims_are_gone(
    seed: int, config: Config, length: int
) -> None:
    world = lived(seed, config, length)
    plan = world.decide(rounds=1)
    admitted = [d.workload for d in plan.decisions if isinstance(d, Admit)]

    world.accept(plan)

    left = Imagined(BOOKED)
    for queue in world.state.queues.values():
        for holder in queue.evicting:
            release_all(left, holder.usage)
    for key in admitted:
        admission = world.state.items[key].holder
        assert admission is not None
        assert all(available(left, cell) >= 0 for cell, _ in admission.usage)


@many
@given(seed=seeds, config=configs, length=lengths)
def test_strict_order_lets_nobody_pass(seed: int, config: Config, length: int) -> None:
    world = lived(seed, config, length)
    strict = [queue for queue in world.state.queues.values() if is_strict(queue)]
    waiting = {
        queue: [item for _, g in queue.pending.heads for item in g.waiting] for queue in strict
    }

    plan = world.decide(rounds=1)

    admitted = [d.workload for d in plan.decisions if isinstance(d, Admit)]
    for items in waiting.values():
        orders = {item.workload.key: item.order for item in items}
        for key in admitted:
            if key in orders:
                assert orders[key] == min(orders.values())


def is_strict(queue: Queue) -> bool:
    return queue.spec.strategy is QueueingStrategy.STRICT_FIFO
