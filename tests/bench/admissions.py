"""
What one admission costs, and how that grows with the size of everything around it.

Measured are the event that makes the admission possible, the decision, and the booking of its plan.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle as around
from itertools import islice
from statistics import median

from muster.admission import events
from muster.admission.objects import Status
from tests.bench.inputs import CPU, PAIR, Layout, World, admitted, cohort_of
from tests.bench.measure import Result, Row, Scale, Stopwatch, Unit, settled_heap

RUNNING_PER_QUEUE = 50
SMALL_CPUS = 2
SIZES = (SMALL_CPUS,) * 35 + (5,) * 11 + (20,) * 4
"""CPUs of what runs, and of as many that wait, in each queue of the growing worlds."""
QUEUES_PER_COHORT = 100
ADMISSIONS_PER_RUN = 100
EXCLUDED = "explanations, writing anything to an API server"

Admission = Callable[[World, str, Stopwatch], None]


def rows(scale: Scale) -> list[Row]:
    queues = scale.of(1_000)
    sizes = tuple(scale.of(count) for count in (100, 1_000, *((10_000,) if scale.largest else ())))
    grown = f"{sizes[-1]:,} CQs against {sizes[0]:,}, 50 running and 50 waiting in each"
    return [
        Row(
            name="admission",
            what=(
                f"a Workload arrives and is admitted: {queues:,} CQs, "
                f"{queues * RUNNING_PER_QUEUE:,} admitted"
            ),
            unit=Unit.MILLISECONDS,
            peer=(5.6, 5.6),
            target=0.5,
            excluded=EXCLUDED,
            measure=partial(one_admission, queues=queues, runs=scale.runs),
        ),
        Row(
            name="growth-arrival",
            what=f"a Workload arrives and is admitted, cohorts of 100: {grown}",
            unit=Unit.TIMES,
            target=1.5,
            excluded=EXCLUDED,
            measure=partial(growth, sizes=sizes, admit=_arrival, runs=scale.runs),
        ),
        Row(
            name="growth-finish",
            what=f"one finishes and the next starts, cohorts of 100: {grown}",
            unit=Unit.TIMES,
            target=1.5,
            excluded=EXCLUDED,
            measure=partial(growth, sizes=sizes, admit=_finish, runs=scale.runs, admissions=20),
        ),
        Row(
            name="growth-finish-one-cohort",
            what=f"one finishes and the next starts, all in one cohort: {grown}",
            unit=Unit.TIMES,
            excluded=EXCLUDED,
            measure=partial(
                growth,
                sizes=sizes,
                admit=_finish,
                runs=scale.runs,
                admissions=2,
                queues_per_cohort_max=sizes[-1],
            ),
        ),
    ]


def one_admission(watch: Stopwatch, *, queues: int, runs: int) -> Result:
    cohorts = max(1, queues // QUEUES_PER_COHORT)
    layout = Layout(cohorts=cohorts, queues_per_cohort=queues // cohorts)
    world = World()
    world.add_queues(layout, cpus=RUNNING_PER_QUEUE + 1)
    for queue in layout.queues:
        for _ in range(RUNNING_PER_QUEUE):
            world.add_running(queue)
    world.settle()
    with settled_heap():
        values = [
            _admissions(world, layout, _arrival, watch, ADMISSIONS_PER_RUN) for _ in range(runs)
        ]
    return Result(tuple(values), {"admitted": ADMISSIONS_PER_RUN})


def growth(
    watch: Stopwatch,
    *,
    sizes: tuple[int, ...],
    admit: Admission,
    runs: int,
    admissions: int = ADMISSIONS_PER_RUN,
    queues_per_cohort_max: int = QUEUES_PER_COHORT,
) -> Result:
    """Let worlds of several sizes take turns; compare the largest with the smallest."""
    layouts = [
        Layout(-(-count // queues_per_cohort_max), min(count, queues_per_cohort_max))
        for count in sizes
    ]
    worlds = [_full_world(layout) for layout in layouts]
    taken: list[list[float]] = [[] for _ in sizes]
    with settled_heap():
        for _ in range(runs):
            for world, layout, values in zip(worlds, layouts, taken, strict=True):
                values.append(_admissions(world, layout, admit, watch, admissions))
    ratios = (last / first for first, last in zip(taken[0], taken[-1], strict=True))
    detail = ", ".join(
        f"{count:,} CQs {median(values):.3f} ms" for count, values in zip(sizes, taken, strict=True)
    )
    return Result(tuple(ratios), {"admitted": admissions * len(sizes)}, detail)


def _full_world(layout: Layout) -> World:
    """Fill all but 1 cpu of each cohort, and let as much wait in each queue, small ones first."""
    world = World()
    for queue in layout.queues:
        spare = 1 if queue.endswith("-q0") else 0
        world.add_queue(queue, cohort_of(queue), cpus=sum(SIZES) + spare)
        for cpus in SIZES:
            world.add_running(queue, cpus=cpus)
        for cpus in SIZES:
            world.add_waiting(queue, cpus=cpus)
    world.settle()
    return world


def _admissions(
    world: World, layout: Layout, admit: Admission, watch: Stopwatch, count: int
) -> float:
    """Make admissions in queues spread over all cohorts; return the mean of their times."""
    first = len(watch.laps_ms)
    step = max(1, len(layout.queues) // count)
    for queue in islice(around(layout.queues[::step]), count):
        admit(world, queue, watch)
    return sum(watch.laps_ms[first:]) / count


def _arrival(world: World, queue: str, watch: Stopwatch) -> None:
    """Admit a newcomer that takes the last cpu."""
    event = events.WorkloadSeen(world.workload(queue), Status())
    with watch:
        world.state.apply(event, world.now_us)
        plan = world.decide()
    assert admitted(plan) == [event.workload.key]
    world.remove(event.workload.key)
    world.settle()


def _finish(world: World, queue: str, watch: Stopwatch) -> None:
    """Let a small one finish, so that the next small one of the queue starts."""
    key = next(
        holder.item.workload.key
        for holder in world.state.queues[queue].holders
        if holder.pairs == {PAIR: SMALL_CPUS * CPU}
    )
    event = world.finished(key)
    with watch:
        world.state.apply(event, world.now_us)
        plan = world.decide()
    started = admitted(plan)
    assert len(started) == 1
    assert world.state.items[started[0]].workload.local_queue == queue
    world.remove(key)
    world.add_waiting(queue, cpus=SMALL_CPUS)
    world.settle()
