"""
One preemption decision: a workload asks for its own quota, which others have borrowed.

One cohort. The preemptor's queue owns half of all quota; the other queues own the rest, and use all
of it and all of the preemptor's. Candidates ask for 1 cpu each and have 100 priorities. Measured is
the decision: flavors, the search for victims, order, and the plan that names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from muster.admission.config import Config
from muster.admission.cycle import decide
from muster.admission.plan import CyclePlan, Preempt
from muster.admission.records import Holder
from tests.bench.cycles import CLASSICAL, FAIR
from tests.bench.inputs import World
from tests.bench.measure import Result, Row, Scale, Stopwatch, Unit, settled_heap

PRIORITIES = 100
EXCLUDED = "booking the plan, stopping the victims, explanations, writing anything"


def rows(scale: Scale) -> list[Row]:
    candidates = scale.of(10_000)
    many = scale.of(400)
    #      name                   victims  queues  config     peer       target
    table: tuple[tuple[str, int, int, Config, tuple[float, float] | None, float | None], ...] = (
        ("preempt-1-of-10-queues", 1, 10, CLASSICAL, (76, 84), 5),
        ("preempt-1-of-100-queues", 1, 100, CLASSICAL, (76, 84), 5),
        ("preempt-1-fair", 1, 100, FAIR, None, None),
        ("preempt-400", many, 100, CLASSICAL, None, None),
        ("preempt-400-fair", many, 100, FAIR, (132, 132), 60),
    )
    return [
        Row(
            name=name,
            what=(
                f"{victims:,} victim{'s' if victims > 1 else ''} of {candidates:,} candidates in "
                f"{queues} queues{', fair sharing' if config.fair else ''}"
            ),
            unit=Unit.MILLISECONDS,
            peer=peer,
            target=target,
            excluded=EXCLUDED,
            measure=partial(
                preemption,
                candidates=candidates,
                queues=queues,
                victims=victims,
                config=config,
                runs=scale.runs,
            ),
        )
        for name, victims, queues, config, peer, target in table
    ]


def preemption(
    watch: Stopwatch, *, candidates: int, queues: int, victims: int, config: Config, runs: int
) -> Result:
    world = borrowed_world(candidates, queues, config)
    world.add_waiting("owner", cpus=victims, priority=PRIORITIES)
    world.state.settle(world.now_us)
    with settled_heap():
        for _ in range(runs):
            with watch:
                plan = decide(world.state, world.now_us, rounds_max=1)
            assert _evictions(plan) >= victims
    looked_at = _watch_holders(world)  # once more, not timed: watching takes time
    plan = decide(world.state, world.now_us, rounds_max=1)
    counts = {"evictions": _evictions(plan), "candidates looked at": len(looked_at)}
    return Result(tuple(watch.laps_ms), counts)


def _evictions(plan: CyclePlan) -> int:
    (decision,) = plan.decisions
    assert isinstance(decision, Preempt)
    return len(decision.evictions)


def borrowed_world(candidates: int, queues: int, config: Config) -> World:
    """Return a cohort in which all quota of the queue `owner` is borrowed by `queues` others."""
    world = World(config)
    each = candidates // queues
    world.add_queue("owner", "cohort", cpus=candidates // 2)
    for index in range(queues):
        world.add_queue(f"borrower-{index}", "cohort", cpus=each // 2)
        for _ in range(each):
            priority = world.random.randrange(PRIORITIES)
            world.add_running(f"borrower-{index}", priority=priority)
    world.settle()
    return world


class _Watched(list[Holder]):
    """A queue's holders, which note who of them is looked at."""

    def __init__(self, holders: list[Holder], looked_at: dict[Holder, None]) -> None:
        super().__init__(holders)
        self._looked_at = looked_at

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        for holder in found if isinstance(index, slice) else (found,):
            self._looked_at[holder] = None
        return found

    def __iter__(self) -> Iterator[Holder]:
        for holder in super().__iter__():
            self._looked_at[holder] = None
            yield holder


def _watch_holders(world: World) -> dict[Holder, None]:
    """Return the running workloads that are looked at from now on."""
    looked_at: dict[Holder, None] = {}
    for queue in world.state.queues.values():
        queue.holders = _Watched(queue.holders, looked_at)
    return looked_at
