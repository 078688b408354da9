"""
Whom to wake when quota is released.

Waking everybody after every release would cost a nomination for each shape in each queue of the
tree, to find out that one of them takes what was released and nobody else has anything to gain. So
a cheaper question is asked first, group by group: is there, for everything the shape needs, a
flavor with room enough now, or with somebody who might be evicted? A "yes" may turn out wrong; a
"no" never does, as long as nothing but usage has changed. Everything else that happens wakes
without asking.

Of those that could simply be admitted, only as many are woken as fit together, in the order in
which they would be processed. The others are remembered, and asked again when that has been
decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from muster.admission.compile import Choice, Option, Request
from muster.admission.config import Config
from muster.admission.objects import PreemptionPolicy
from muster.admission.pending import Group, Order
from muster.admission.quota import (
    BOOKED,
    Cell,
    Imagined,
    UsageView,
    available,
    book,
    borrowing_level,
)
from muster.admission.records import Holder, Queue

Sleeper = tuple[Queue, Group]


class Waking(NamedTuple):
    wake: list[Sleeper]
    later: list[Sleeper]
    """Could be admitted if others were not admitted before them."""


def whom_to_wake(sleepers: Iterable[Sleeper], config: Config) -> Waking:
    """Sort out who may gain from the usage as it is; who cannot is in neither list."""
    wake: list[Sleeper] = []
    fitting: list[tuple[int, Order, Sleeper, Request]] = []
    for queue, group in sleepers:
        request = group.requests.get(group.counts)
        if request is None or group.rests or any(p.min_count is not None for p in group.shape[1]):
            wake.append((queue, group))
        elif all(_fits_somewhere(step, BOOKED) for p in request.pod_sets for step in p.steps):
            if config.fair:
                wake.append((queue, group))  # whose turn it is depends on shares
            else:
                fitting.append((_level(request), group.first_parked, (queue, group), request))
        elif _may_preempt(request, group.shape[0], queue, config):
            wake.append((queue, group))
    fitting.sort(key=lambda entry: entry[:2])
    later: list[Sleeper] = []
    imagined = Imagined(BOOKED)
    for _, _, sleeper, request in fitting:
        (wake if _take(request, imagined) else later).append(sleeper)
    return Waking(wake, later)


def _fits_somewhere(step: object, view: UsageView) -> bool:
    return isinstance(step, Choice) and any(_fits(o, step, view) for o in step.options)


def _fits(option: Option, choice: Choice, view: UsageView) -> bool:
    return option.refusal is None and all(
        amount <= max(0, available(view, cell))
        for cell, amount in zip(option.cells, choice.amounts, strict=True)
    )


def _take(request: Request, view: Imagined) -> bool:
    """Book the first flavors that fit; return whether there are some for everything."""
    taken: list[tuple[Cell, int]] = []
    for pod_set in request.pod_sets:
        for step in pod_set.steps:
            if not isinstance(step, Choice):
                return False
            option = next((o for o in step.options if _fits(o, step, view)), None)
            if option is None:
                return False
            taken += zip(option.cells, step.amounts, strict=True)
    for cell, amount in taken:
        book(view, cell, amount)
    return True


def _level(request: Request) -> int:
    """The borrowing level the request would have on the first flavors that fit."""
    level = 0
    for pod_set in request.pod_sets:
        for step in pod_set.steps:
            if isinstance(step, Choice):
                option = next((o for o in step.options if _fits(o, step, BOOKED)), None)
                if option is not None:
                    for cell, amount in zip(option.cells, step.amounts, strict=True):
                        level = max(level, borrowing_level(BOOKED, cell, amount)[0])
    return level


def _may_preempt(request: Request, priority: int, queue: Queue, config: Config) -> bool:
    return all(
        isinstance(step, Choice)
        and any(_may_be_freed(o, step, priority, queue, config) for o in step.options)
        for pod_set in request.pod_sets
        for step in pod_set.steps
    )


def _may_be_freed(
    option: Option, choice: Choice, priority: int, queue: Queue, config: Config
) -> bool:
    return option.refusal is None and all(
        amount <= max(0, available(BOOKED, cell))
        or (amount <= cell.potential and _has_candidates(cell, amount, priority, queue, config))
        for cell, amount in zip(option.cells, choice.amounts, strict=True)
    )


def _has_candidates(cell: Cell, amount: int, priority: int, queue: Queue, config: Config) -> bool:
    """Whether somebody might be evicted for the amount; never no when somebody may."""
    policy = queue.spec.preemption
    if policy.within_cluster_queue is not PreemptionPolicy.NEVER:
        least = _least_priority(queue.holders, queue.evicting)
        if least is not None and (
            least < priority
            or (
                least == priority
                and policy.within_cluster_queue is PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
            )
        ):
            return True
    if policy.reclaim_within_cohort is PreemptionPolicy.NEVER or cell.parent is None:
        return False
    if config.fair or policy.borrow_within_cohort or cell.used < cell.nominal:
        return True
    # At nominal itself, it may only take back what lies outside a subtree that could hold it: its
    # own queue, or a cohort below the root.
    return cell.used + amount <= cell.subtree or cell.parent.parent is not None


def _least_priority(*ranked: Sequence[Holder]) -> int | None:
    return min((holders[0].item.priority for holders in ranked if holders), default=None)
