"""
Turn what a round found out into the frozen values of a plan.

Numbers are read here, once, while the usage they refer to is at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muster.admission import objects
from muster.admission.assign import Attempt, Mode
from muster.admission.checks import required_checks
from muster.admission.conditions import NoQuotaReason
from muster.admission.nominate import Entry
from muster.admission.plan import (
    Admit,
    Aside,
    Eviction,
    Grant,
    Obstacle,
    Preempt,
    Requeue,
    Wait,
)
from muster.admission.quota import Usage, UsageView
from muster.admission.records import Holder, ScanProgress, Victim


def admission_of(entry: Entry) -> objects.Admission:
    """Return the admission that an entry with flavors would be given."""
    assert entry.assignment is not None
    return objects.Admission(
        cluster_queue=entry.queue.name,
        pod_sets=tuple(
            objects.PodSetAssignment(
                name=result.request.name,
                flavors=result.flavors(),
                usage=result.amounts(),
                count=result.request.count,
            )
            for result in entry.assignment.pod_sets
        ),
    )


def admit(entry: Entry, admission: objects.Admission, view: UsageView) -> Admit:
    """Return the decision to reserve quota; `view` is the usage before it is booked."""
    workload = entry.item.workload
    return Admit(
        workload=workload.key,
        uid=workload.uid,
        revision=entry.item.revision,
        cluster_queue=entry.queue.name,
        admission=admission,
        grants=_grants(entry.usage, view),
        level=entry.level,
        required_checks=required_checks(entry.queue.spec, admission),
    )


def preempt(
    entry: Entry,
    aside: Aside,
    ending: Mapping[Holder, int],
    asked_before: Mapping[Holder, None],
    view: UsageView,
) -> Preempt:
    """
    Return the decision to take quota back.

    `ending` are victims that are left to finish, with the instants by which they should have;
    `asked_before` those that earlier rounds asked to leave.
    """
    workload = entry.item.workload
    return Preempt(
        workload=workload.key,
        uid=workload.uid,
        revision=entry.item.revision,
        cluster_queue=entry.queue.name,
        priority=entry.item.priority,
        evictions=tuple(
            _eviction(victim, ending.get(victim.holder), asked_before) for victim in entry.victims
        ),
        grants=_grants(entry.usage, view),
        level=entry.level,
        aside=aside,
    )


def wait(
    entry: Entry,
    reason: NoQuotaReason,
    requeue: Requeue,
    aside: Aside,
    progress: ScanProgress | None,
    view: UsageView,
) -> Wait:
    """Return the decision to wait, with what stands in the way."""
    workload = entry.item.workload
    return Wait(
        workload=workload.key,
        uid=workload.uid,
        revision=entry.item.revision,
        cluster_queue=entry.queue.name,
        reason=reason,
        requeue=requeue,
        aside=aside,
        obstacles=tuple(_obstacles(entry)),
        detail=entry.rejection.detail if entry.rejection is not None else "",
        grants=_grants(entry.usage, view),
        progress=progress,
    )


def _grants(usage: Usage, view: UsageView) -> tuple[Grant, ...]:
    """Amounts by pair, with the part that goes beyond the queue's nominal quota."""
    return tuple(
        Grant(
            flavor=cell.pair.flavor,
            resource=cell.pair.resource,
            amount=amount,
            borrowed=min(amount, max(0, view[cell] + amount - cell.nominal)),
        )
        for cell, amount in usage
    )


def _eviction(
    victim: Victim, ends_by_us: int | None, asked_before: Mapping[Holder, None]
) -> Eviction:
    holder = victim.holder
    return Eviction(
        workload=holder.item.workload.key,
        uid=holder.item.workload.uid,
        revision=holder.item.revision,
        cluster_queue=holder.queue.name,
        reason=victim.reason,
        priority=holder.item.priority,
        amounts=tuple(
            Grant(flavor=cell.pair.flavor, resource=cell.pair.resource, amount=amount)
            for cell, amount in holder.usage
        ),
        already_asked=holder.evicting or holder in asked_before,
        ends_by_us=ends_by_us,
    )


def _obstacles(entry: Entry) -> Iterator[Obstacle]:
    assignment = entry.assignment
    if assignment is None:
        return
    for result in assignment.pod_sets:
        name = result.request.name
        for selection in result.selections:
            for attempt in selection.attempts:
                yield from _of_attempt(name, attempt)
        if result.undeclared is not None:
            yield Obstacle(
                pod_set=name,
                flavor="",
                resource=result.undeclared.resource,
                asked=result.undeclared.amount,
            )


def _of_attempt(pod_set: str, attempt: Attempt) -> Iterator[Obstacle]:
    if attempt.refusal is not None:
        yield Obstacle(pod_set=pod_set, flavor=attempt.flavor, refusal=attempt.refusal)
    for rating in attempt.ratings:
        if rating.fitness.mode is not Mode.FIT:
            cell = rating.cell
            yield Obstacle(
                pod_set=pod_set,
                flavor=attempt.flavor,
                resource=cell.pair.resource,
                asked=rating.asked,
                free=rating.free,
                nominal=cell.nominal,
                potential=cell.potential,
                candidates=rating.fitness.mode is not Mode.NO_FIT,
            )
