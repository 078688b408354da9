"""
What would be decided about a world, cycle by cycle, if nothing else happened.

Between two cycles evicted workloads give their quota back, as if their jobs had stopped, and a
second passes. No job starts, ends or arrives; that is for the simulator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muster.admission import events, reservation
from muster.admission.conditions import EVICTED, QUOTA_RESERVED, NoQuotaReason
from muster.admission.config import Config
from muster.admission.cycle import decide
from muster.admission.plan import Admit, CyclePlan, Eviction, Preempt, Wait
from muster.admission.queries import Standing, standings
from muster.admission.state import State
from muster.queue.world import World

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The plans of some cycles, and the state they lead to."""

    plans: tuple[CyclePlan, ...]
    state: State
    now_us: int
    """When the last cycle was."""

    def admissions(self) -> Iterator[tuple[int, Admit]]:
        """Yield every admission, with the number of its cycle from 1."""
        for cycle, plan in enumerate(self.plans, start=1):
            for decision in plan.decisions:
                if isinstance(decision, Admit):
                    yield cycle, decision

    def evictions(self) -> Iterator[tuple[int, Preempt, Eviction]]:
        """Yield every eviction once, with its cycle and the preemption it is part of."""
        known: dict[tuple[str, str], int] = {}
        for cycle, plan in enumerate(self.plans, start=1):
            for decision in plan.decisions:
                if not isinstance(decision, Preempt):
                    continue
                for eviction in decision.evictions:
                    key = (eviction.workload, decision.workload)
                    if known.setdefault(key, cycle) == cycle:
                        yield cycle, decision, eviction

    def waits(self) -> Iterator[Wait | Preempt]:
        """Yield the last word on every workload that was looked at and holds no quota."""
        last = {d.workload: d for plan in self.plans for d in plan.decisions}
        for key, decision in last.items():
            if not isinstance(decision, Admit) and not self._holds_quota(key):
                yield decision

    def standings(self) -> tuple[Standing, ...]:
        """Return where the others stand: who was not looked at, or has lost what it was given."""
        waits = {decision.workload: None for decision in self.waits()}
        return standings(self.state, waits, self.now_us)

    def _holds_quota(self, key: str) -> bool:
        return self.state.items[key].status.is_true(QUOTA_RESERVED)


def forecast(
    world: World, config: Config, now_us: int, *, cycles: int, rounds_max: int | None
) -> Forecast:
    """Decide about a world `cycles` times. Times are microseconds since the epoch."""
    state = State(config)
    for event in world.events():
        state.apply(event, now_us)
    plans: list[CyclePlan] = []
    for cycle in range(cycles):
        if cycle > 0:
            release_evicted(state, now_us)
            state.settle(now_us)
            now_us += SECOND_US
        plan = decide(state, now_us, rounds_max=rounds_max)
        state.apply(events.PlanAccepted(plan), now_us)
        plans.append(plan)
    return Forecast(plans=tuple(plans), state=state, now_us=now_us)


def release_evicted(state: State, now_us: int) -> None:
    """Let every evicted workload give back its quota, as if its job had stopped."""
    evicted = [
        item
        for item in state.items.values()
        if item.status.is_true(EVICTED) and item.status.is_true(QUOTA_RESERVED)
    ]
    for item in evicted:
        status = reservation.release(item.status, NoQuotaReason.PENDING, "", now_us)
        state.apply(events.WorkloadSeen(item.workload, status), now_us)
        key = f"{item.workload.namespace}/{item.workload.local_queue}"
        local_queue = state.local_queues.get(key)
        if local_queue is not None:
            state.apply(events.Swept(local_queue.cluster_queue), now_us)
