"""
Whether quota that was released can be of any use to workloads that were set aside.

Waking everybody after every release costs a nomination for each shape in each queue of the tree. This
asks the cheaper question first: is there, for everything the shape needs, a flavor with room enough
now, or with somebody who might be evicted? A "yes" may turn out wrong; a "no" never does, as long as
nothing but usage has changed. Everything else that happens wakes without asking.
"""

from __future__ import annotations

from muster.admission.compile import Choice, Option
from muster.admission.config import Config
from muster.admission.objects import PreemptionPolicy
from muster.admission.pending import Group
from muster.admission.quota import BOOKED, Cell, available
from muster.admission.records import Queue


def is_worth_waking(group: Group, queue: Queue, config: Config) -> bool:
    """Whether a member of the group might be admitted, or might preempt, with the usage as it is."""
    priority, pod_sets = group.shape
    request = group.requests.get(group.counts)
    if request is None or any(pod_set.min_count is not None for pod_set in pod_sets):
        return True
    return all(
        isinstance(step, Choice)
        and any(_is_open(option, step, priority, queue, config) for option in step.options)
        for pod_set in request.pod_sets
        for step in pod_set.steps
    )


def _is_open(
    option: Option, choice: Choice, priority: int, queue: Queue, config: Config
) -> bool:
    return option.refusal is None and all(
        amount <= max(0, available(BOOKED, cell))
        or (amount <= cell.potential and _may_preempt(cell, amount, priority, queue, config))
        for cell, amount in zip(option.cells, choice.amounts, strict=True)
    )


def _may_preempt(cell: Cell, amount: int, priority: int, queue: Queue, config: Config) -> bool:
    policy = queue.spec.preemption
    within = policy.within_cluster_queue
    if within is not PreemptionPolicy.NEVER and (queue.holders or queue.evicting):
        least = min(ranked[0].item.priority for ranked in (queue.holders, queue.evicting) if ranked)
        if least < priority or (
            least == priority and within is PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
        ):
            return True
    if policy.reclaim_within_cohort is PreemptionPolicy.NEVER or cell.parent is None:
        return False
    if config.fair or policy.borrow_within_cohort or cell.used < cell.nominal:
        return True
    # At nominal itself, it may only take back what lies outside a subtree that could hold it: its
    # own queue, or a cohort below the root.
    return cell.used + amount <= cell.subtree or cell.parent.parent is not None
