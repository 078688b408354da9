"""
One cycle in which the head of every ClusterQueue fits, classical and under fair sharing.

A cycle is one round: take the heads, find flavors, put them in order, admit one by one. Measured
are the decision and the booking of its plan in the state.
"""

from __future__ import annotations

from functools import partial
from statistics import median

from muster.admission import events
from muster.admission.config import Config, FairStrategy
from muster.admission.cycle import decide
from tests.bench.inputs import Layout, World, admitted
from tests.bench.measure import Result, Row, Scale, Stopwatch, Unit, settled_heap

FAIR = Config(fair_sharing=(FairStrategy.FINAL_SHARE, FairStrategy.INITIAL_SHARE))
CLASSICAL = Config()
RUNNING_PER_QUEUE = 50
EXCLUDED = "arrivals, explanations, writing anything to an API server"


def rows(scale: Scale) -> list[Row]:
    queues = scale.of(1_000)
    size = f"{queues:,} CQs, {queues * RUNNING_PER_QUEUE:,} admitted"
    by_cohort = Layout(cohorts=scale.of(10), queues_per_cohort=queues // scale.of(10))
    one_cohort = Layout(cohorts=1, queues_per_cohort=queues)
    growing = tuple(scale.of(heads) for heads in (250, 500, 1_000, 2_000))
    return [
        Row(
            name="cycle",
            what=f"one cycle, every head fits: {size}, {by_cohort.cohorts} cohorts",
            unit=Unit.MILLISECONDS,
            peer=(125, 155),
            target=80,
            excluded=EXCLUDED,
            measure=partial(cycle, layout=by_cohort, config=CLASSICAL, runs=scale.runs),
        ),
        Row(
            name="cycle-decide",
            what="the decision alone of the row before",
            unit=Unit.MILLISECONDS,
            excluded=f"booking the plan, {EXCLUDED}",
            measure=partial(
                cycle, layout=by_cohort, config=CLASSICAL, runs=scale.runs, booking=False
            ),
        ),
        Row(
            name="cycle-fair",
            what=f"the same under fair sharing: {size}, one cohort",
            unit=Unit.MILLISECONDS,
            peer=(1_290, 1_290),
            target=150,
            excluded=EXCLUDED,
            measure=partial(cycle, layout=one_cohort, config=FAIR, runs=scale.runs),
        ),
        Row(
            name="cycle-fair-growth",
            what=f"its cost per head, {growing[-1]:,} heads against {growing[0]:,}",
            unit=Unit.TIMES,
            target=1.5,
            excluded=EXCLUDED,
            measure=partial(growth, heads=growing, runs=scale.runs),
        ),
    ]


def cycle(
    watch: Stopwatch, *, layout: Layout, config: Config, runs: int, booking: bool = True
) -> Result:
    world = _world(layout, config)
    with settled_heap():
        for _ in range(runs):
            _one_cycle(world, layout, watch, booking=booking)
    heads = len(layout.queues)
    return Result(tuple(watch.laps_ms), {"admitted": heads, "decisions": heads})


def growth(watch: Stopwatch, *, heads: tuple[int, ...], runs: int) -> Result:
    """Let worlds of several sizes take turns; compare the largest with the smallest."""
    layouts = [Layout(cohorts=1, queues_per_cohort=count) for count in heads]
    worlds = [_world(layout, FAIR) for layout in layouts]
    with settled_heap():
        for _ in range(runs):
            for world, layout in zip(worlds, layouts, strict=True):
                _one_cycle(world, layout, watch, booking=True)
    laps = [watch.laps_ms[index :: len(heads)] for index in range(len(heads))]
    per_head = [[ms / count for ms in taken] for taken, count in zip(laps, heads, strict=True)]
    ratios = (last / first for first, last in zip(per_head[0], per_head[-1], strict=True))
    detail = ", ".join(
        f"{count:,} heads {median(taken):.1f} ms" for count, taken in zip(heads, laps, strict=True)
    )
    return Result(tuple(ratios), {"admitted": sum(heads)}, detail)


def _world(layout: Layout, config: Config) -> World:
    """Fill queues unevenly around their quota, so that some borrow and no two shares are alike."""
    world = World(config)
    world.add_queues(layout, cpus=RUNNING_PER_QUEUE + 1)
    spread = RUNNING_PER_QUEUE // 5
    for index, queue in enumerate(layout.queues):
        # Neighbours even out, so that every cohort as a whole has room for one more in each queue.
        uneven = (index // 2 % spread) * (1 if index % 2 else -1)
        last = index == len(layout.queues) - 1 and not index % 2
        for _ in range(RUNNING_PER_QUEUE + (0 if last else uneven)):
            world.add_running(queue)
    world.settle()
    return world


def _one_cycle(world: World, layout: Layout, watch: Stopwatch, *, booking: bool) -> None:
    """Let one Workload arrive in each queue, admit them all, and take them away again."""
    for queue in layout.queues:
        world.add_waiting(queue)
    if booking:
        with watch:
            plan = world.decide(rounds_max=1)
    else:
        with watch:
            plan = decide(world.state, world.now_us, rounds_max=1)
        world.state.apply(events.PlanAccepted(plan), world.now_us)
    keys = admitted(plan)
    assert len(keys) == len(plan.decisions) == len(layout.queues)
    for key in keys:
        world.remove(key)
