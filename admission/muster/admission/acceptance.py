"""
Carry a plan out in the state: what it admits counts from now on, what it evicts is leaving.

Something may have happened since the plan was made. A decision about a workload that is gone, was
replaced, has changed, or is not where the decision found it changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster.admission import lifecycle
from muster.admission.conditions import NoQuotaReason
from muster.admission.objects import QueueingStrategy
from muster.admission.pending import Place
from muster.admission.plan import (
    Admit,
    Aside,
    CyclePlan,
    Decision,
    Eviction,
    Preempt,
    Requeue,
    Wait,
)
from muster.admission.records import Item, Queue, Victim

if TYPE_CHECKING:
    from muster.admission.state import State


def accept(state: State, plan: CyclePlan, now_us: int) -> None:
    """Carry out every decision of a plan that still has its object."""
    state.cycle += plan.rounds
    swept = {looked.queue: looked.swept for looked in plan.looked_at}
    for decision in plan.decisions:
        item = state.items.get(decision.workload)
        if item is None or not _is_as_it_was(item, decision):
            continue
        match decision:
            case Admit():
                _admit(state, item, decision, now_us)
            case Preempt():
                _preempt(state, item, decision, now_us)
            case Wait():
                queue = item.queue
                if item.place is Place.HEAP and queue is not None:
                    _wait(state, item, decision, now_us)
                    # Who was swept since has been given another try already.
                    if queue.tree.swept == swept.get(queue.name):
                        _put_aside(state, item, queue, decision.aside)
    state.lines.ask_again(plan.looked_at, state.queues)
    state.lines.calm(plan.looked_at, state.queues)


def _is_as_it_was(item: Item, decided: Decision | Eviction) -> bool:
    return item.workload.uid == decided.uid and item.revision == decided.revision


def _admit(state: State, item: Item, admit: Admit, now_us: int) -> None:
    if item.place not in (Place.HEAP, Place.PARKED):
        return
    state.lines.leave(item)
    state.forget_marks(item)
    state.step(item, lifecycle.QuotaReserved(admit.admission, admit.required_checks), now_us)
    state.refresh(item)
    item.progress = None
    item.awaited = ()
    state.reserve(item)


def _preempt(state: State, item: Item, preempt: Preempt, now_us: int) -> None:
    awaited: list[Victim] = []
    for eviction in preempt.evictions:
        victim = state.items.get(eviction.workload)
        if victim is None or not _is_as_it_was(victim, eviction) or victim.holder is None:
            continue
        holder = victim.holder
        if eviction.ends_by_us is not None:
            state.lines.ring_at(eviction.ends_by_us + 1, item)
        elif not holder.evicting:
            state.step(victim, lifecycle.Preempted(eviction.reason), now_us)
            state.refresh(victim)
            holder.queue.drop_holder(holder)
            holder.evicting = True
            holder.queue.add_holder(holder)
        awaited.append(Victim(holder, eviction.reason))
    queue = item.queue
    if item.place is Place.HEAP and queue is not None:
        reason = NoQuotaReason.WAITING_FOR_PREEMPTED_WORKLOADS
        state.step(item, lifecycle.Refused(reason), now_us)
        item.progress = None
        item.awaited = tuple(awaited)
        item.evaluated_generation = queue.generation
        _mark_preemptor(item, queue)
        _put_aside(state, item, queue, preempt.aside)


def _wait(state: State, item: Item, wait: Wait, now_us: int) -> None:
    queue = item.queue
    assert queue is not None, "who waits in a heap has a queue"
    state.step(item, lifecycle.Refused(wait.reason), now_us)
    item.progress = wait.progress
    item.evaluated_generation = queue.generation
    if wait.requeue is Requeue.PENDING_PREEMPTION:
        _mark_preemptor(item, queue)


def _mark_preemptor(item: Item, queue: Queue) -> None:
    pending = queue.pending
    pending.preemptor, pending.preemptor_generation = item, item.workload.generation
    if queue.spec.strategy is QueueingStrategy.BEST_EFFORT_FIFO:
        pending.sticky = item


def _put_aside(state: State, item: Item, queue: Queue, aside: Aside) -> None:
    match aside:
        case Aside.HEAP:
            pass
        case Aside.PARKED:
            state.lines.park(item, queue)
        case Aside.GROUP_PARKED:
            assert item.group is not None, "who waits belongs to a group"
            state.lines.park_group(item.group, queue)
