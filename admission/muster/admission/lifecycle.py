"""
The life cycle of a Workload as a table: its phases, the legal moves, and what follows from each.

`step` is the only way from one status to the next; the controller and the simulator both take it.
It performs nothing: it returns the next status and the *effects* the caller has to bring about.

    PENDING ──► RESERVED ──► ADMITTED ──► FINISHED
       ▲            │            │ └────► DEACTIVATING (then inactive, then evicted)
       │            ▼            ▼
    BACKING_OFF ◄── EVICTING ◄───┘        INACTIVE ◄── EVICTING

Invariants
----------
* The phase is derived from the conditions; nothing else remembers it.
* Effects follow from the phases before and after a move, never from the event.
* Quota is released when the job has stopped or finished, or when there was no job yet; never when
  an eviction starts, because until then the pods hold what the next Workload was promised.
* An event that is not in `TRANSITIONS` for a phase is a bug of the caller.

What the status changes are is said in `reservation`, `eviction` and `progress`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final, TypeAlias

from muster.admission import eviction, progress, reservation
from muster.admission.checks import SECOND_US, required_checks
from muster.admission.conditions import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    WAITING_FOR_REPLACEMENT_PODS,
    EvictionReason,
    NoQuotaReason,
    PodsReadyReason,
    PreemptionReason,
)
from muster.admission.config import Config, PodsReadyPolicy
from muster.admission.errors import IllegalTransition
from muster.admission.eviction import (
    BackoffFinished,
    Deactivated,
    DeactivationRequested,
    Evicted,
    ExecutionTimeExceeded,
    PodsReadyTimedOut,
    Preempted,
    QueueKind,
    QueueRestarted,
    Reactivated,
)
from muster.admission.objects import Status, Workload
from muster.admission.progress import JobFinished, PodsReadyChanged, PodsReclaimed
from muster.admission.reservation import (
    CheckChanged,
    ChecksRequired,
    JobStopped,
    QueueMissing,
    QueueStopped,
    QuotaReserved,
    Refused,
)

__all__ = [
    "EFFECTS",
    "TRANSITIONS",
    "BackoffFinished",
    "CheckChanged",
    "ChecksRequired",
    "Deactivated",
    "DeactivationRequested",
    "Effect",
    "Event",
    "Evicted",
    "ExecutionTimeExceeded",
    "JobFinished",
    "JobStopped",
    "Move",
    "Phase",
    "PodsReadyChanged",
    "PodsReadyTimedOut",
    "PodsReclaimed",
    "Preempted",
    "QueueKind",
    "QueueMissing",
    "QueueRestarted",
    "QueueStopped",
    "QuotaReserved",
    "Reactivated",
    "Refused",
    "backoff_expired",
    "may_queue",
    "next_deadline",
    "phase",
    "queue_timestamp_us",
    "required_checks",
    "step",
]

Event: TypeAlias = (
    QuotaReserved
    | Refused
    | CheckChanged
    | ChecksRequired
    | Preempted
    | Evicted
    | JobStopped
    | JobFinished
    | PodsReadyChanged
    | PodsReclaimed
    | PodsReadyTimedOut
    | BackoffFinished
    | ExecutionTimeExceeded
    | DeactivationRequested
    | Deactivated
    | Reactivated
    | QueueStopped
    | QueueMissing
    | QueueRestarted
)


class Phase(StrEnum):
    """Where a Workload is in its life."""

    PENDING = "Pending"
    """Holds nothing and may queue."""
    BACKING_OFF = "BackingOff"
    """Holds nothing and waits for a time or an event (Requeued) before it may queue."""
    RESERVED = "Reserved"
    """Holds quota and waits for admission checks."""
    ADMITTED = "Admitted"
    """Holds quota; its job may run."""
    DEACTIVATING = "Deactivating"
    """Holds quota and is, or is asked to be, inactive; the eviction comes next."""
    EVICTING = "Evicting"
    """Holds quota until its job has stopped."""
    INACTIVE = "Inactive"
    """Holds nothing and may not queue until `spec.active` is true."""
    FINISHED = "Finished"


HOLDS_QUOTA: Final = (Phase.RESERVED, Phase.ADMITTED, Phase.DEACTIVATING, Phase.EVICTING)


class Effect(StrEnum):
    """What the caller has to bring about after a move, besides writing the status."""

    START_JOB = "StartJob"
    STOP_JOB = "StopJob"
    """Stop the job and, when no pod is left, say JobStopped."""
    DEACTIVATE = "Deactivate"
    """Set `spec.active` to false."""
    RELEASE_QUOTA = "ReleaseQuota"
    REQUEUE = "Requeue"
    """Offer the Workload to its queue."""


def phase(workload: Workload, status: Status) -> Phase:
    """Derive the phase; the clock plays no part (see `backoff_expired`)."""
    if status.is_true(FINISHED):
        return Phase.FINISHED
    if status.is_true(QUOTA_RESERVED):
        if status.is_true(EVICTED):
            return Phase.EVICTING
        if not workload.active or status.is_true(DEACTIVATION_TARGET):
            return Phase.DEACTIVATING
        return Phase.ADMITTED if status.is_true(ADMITTED) else Phase.RESERVED
    if not workload.active:
        return Phase.INACTIVE
    if status.requeue_at_us is not None or status.is_false(REQUEUED):
        return Phase.BACKING_OFF
    return Phase.PENDING


# --- The table -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Move:
    """How an event changes the status, and the phases it may lead to."""

    change: Callable[..., Status]
    """(status, event, now_us, config) -> next status"""
    leads_to: tuple[Phase, ...]


_Rows: TypeAlias = dict[tuple[Phase, type[Event]], Move]


def _keep(status: Status, _event: Event, _now_us: int, _config: Config) -> Status:
    """Change nothing: the event is legal here and says nothing new."""
    return status


def _lead(
    event: type[Event],
    change: Callable[..., Status],
    moves: Mapping[tuple[Phase, ...], tuple[Phase, ...]],
) -> _Rows:
    """Return the rows of one event and change: from any of these phases to one of those."""
    return {
        (before, event): Move(change, after)
        for befores, after in moves.items()
        for before in befores
    }


def _stay(event: type[Event], change: Callable[..., Status], *phases: Phase) -> _Rows:
    """Return the rows of an event that leaves the phase as it is."""
    return {(same, event): Move(change, (same,)) for same in phases}


_PENDING: Final = Phase.PENDING
_BACKING_OFF: Final = Phase.BACKING_OFF
_RESERVED: Final = Phase.RESERVED
_ADMITTED: Final = Phase.ADMITTED
_DEACTIVATING: Final = Phase.DEACTIVATING
_EVICTING: Final = Phase.EVICTING
_INACTIVE: Final = Phase.INACTIVE
_FINISHED: Final = Phase.FINISHED
_WAITING: Final = (_PENDING, _BACKING_OFF)
_UNJUDGED: Final = (_PENDING, _BACKING_OFF, _DEACTIVATING, _EVICTING, _INACTIVE)
_JUDGED: Final[Mapping[tuple[Phase, ...], tuple[Phase, ...]]] = {
    (_RESERVED,): (_RESERVED, _ADMITTED, _EVICTING, _DEACTIVATING),
    (_ADMITTED,): (_ADMITTED, _EVICTING, _DEACTIVATING),
}
"""Where admission checks decide what becomes of a Workload, and what may become of it."""

TRANSITIONS: Final[Mapping[tuple[Phase, type[Event]], Move]] = {
    # The scheduler. What backs off is decided on as well: after a restart it is tried at once.
    **_lead(QuotaReserved, reservation.reserve, {_WAITING: (_RESERVED, _ADMITTED, _DEACTIVATING)}),
    **_stay(Refused, reservation.refuse, *_WAITING),
    # Evictions. Telling an evicted Workload again is harmless: a victim is chosen anew every cycle.
    **_lead(Preempted, eviction.preempt, {(_RESERVED, _ADMITTED, _DEACTIVATING): (_EVICTING,)}),
    **_stay(Preempted, _keep, _EVICTING),
    **_lead(Evicted, eviction.evict, {(_RESERVED, _ADMITTED, _DEACTIVATING): (_EVICTING,)}),
    **_stay(Evicted, _keep, _EVICTING),
    **_lead(JobStopped, reservation.stop, {(_EVICTING,): (_PENDING, _BACKING_OFF, _INACTIVE)}),
    # Admission checks.
    **_lead(CheckChanged, reservation.judge_check, _JUDGED),
    **_stay(CheckChanged, reservation.note_check, *_UNJUDGED),
    **_lead(ChecksRequired, reservation.judge_required, _JUDGED),
    **_stay(ChecksRequired, reservation.note_required, *_UNJUDGED),
    # The job.
    **_stay(PodsReadyChanged, progress.note_pods_ready, _ADMITTED, _DEACTIVATING, _EVICTING),
    **_stay(PodsReclaimed, progress.note_reclaimed, *HOLDS_QUOTA),
    **_lead(JobFinished, progress.finish, {(*_WAITING, *HOLDS_QUOTA, _INACTIVE): (_FINISHED,)}),
    # Time.
    **_lead(PodsReadyTimedOut, eviction.time_out_pods, {(_ADMITTED,): (_EVICTING, _DEACTIVATING)}),
    **_lead(ExecutionTimeExceeded, eviction.exceed_time, {(_ADMITTED,): (_DEACTIVATING,)}),
    **_lead(BackoffFinished, eviction.end_backoff, {(_BACKING_OFF,): _WAITING}),
    # Deactivation. `spec.active` has already changed when Deactivated and Reactivated are said.
    **_lead(
        DeactivationRequested,
        eviction.target_deactivation,
        {(_RESERVED, _ADMITTED): (_DEACTIVATING,)},
    ),
    **_stay(DeactivationRequested, _keep, _DEACTIVATING),
    **_lead(Deactivated, eviction.deactivate, {(_DEACTIVATING, _EVICTING): (_EVICTING,)}),
    **_stay(Deactivated, eviction.deactivate, _INACTIVE),
    **_lead(
        Reactivated, eviction.reactivate, {(_PENDING,): (_PENDING,), (_BACKING_OFF,): _WAITING}
    ),
    **_stay(Reactivated, _keep, _EVICTING),
    # Queues that stop, go and come back.
    **_stay(QueueStopped, reservation.wait_for_queue, *_WAITING),
    **_lead(QueueStopped, reservation.withdraw, {(_RESERVED,): _WAITING}),
    **_lead(QueueStopped, reservation.drain, {(_ADMITTED,): (_ADMITTED, _EVICTING)}),
    **_stay(QueueStopped, _keep, _DEACTIVATING, _EVICTING, _INACTIVE),
    **_stay(QueueMissing, reservation.wait_for_queue, *_WAITING),
    **_lead(QueueMissing, reservation.withdraw, {(_RESERVED,): _WAITING}),
    **_stay(QueueMissing, _keep, _ADMITTED, _DEACTIVATING, _EVICTING, _INACTIVE),
    **_lead(QueueRestarted, eviction.restart, {(_BACKING_OFF,): _WAITING}),
    **_stay(QueueRestarted, eviction.restart, _PENDING, *HOLDS_QUOTA, _INACTIVE),
}


def _effects(before: Phase, after: Phase) -> tuple[Effect, ...]:
    if before is after:
        return ()
    effects = {
        Effect.START_JOB: after is _ADMITTED,
        Effect.STOP_JOB: after is _EVICTING,
        Effect.DEACTIVATE: after is _DEACTIVATING,
        Effect.RELEASE_QUOTA: before in HOLDS_QUOTA and after not in HOLDS_QUOTA,
        Effect.REQUEUE: after is _PENDING,
    }
    return tuple(effect for effect, needed in effects.items() if needed)


EFFECTS: Final[Mapping[tuple[Phase, Phase], tuple[Effect, ...]]] = {
    (before, after): _effects(before, after) for before, after in product(Phase, Phase)
}
"""What follows from going from one phase to another."""


def step(
    workload: Workload, status: Status, event: Event, *, now_us: int, config: Config
) -> tuple[Status, tuple[Effect, ...]]:
    """Apply `event` at `now_us`; return the next status and the effects, perform none.

    An event that changes nothing returns `status` itself. Raises `IllegalTransition` if the event
    cannot happen in the phase the Workload is in.
    """
    before = phase(workload, status)
    move = TRANSITIONS.get((before, type(event)))
    if move is None:
        raise IllegalTransition(
            workload=workload.key,
            phase=before,
            event=type(event).__name__,
            story=_story(status),
        )
    changed = move.change(status, event, now_us, config)
    after = phase(workload, changed)
    assert after in move.leads_to, f"{workload.key}: {event} led from {before} to {after}"
    return changed, EFFECTS[before, after]


def _story(status: Status) -> list[str]:
    """Tell the conditions in the order in which they came about."""
    told = sorted(status.conditions.items(), key=lambda item: (item[1].since_us, item[0]))
    return [f"{name}={cond.status} ({cond.reason}) at {cond.since_us} us" for name, cond in told]


# --- What queues want to know --------------------------------------------------------------------


def may_queue(workload: Workload, status: Status) -> bool:
    """Say whether the Workload itself may stand in a queue; the queue has its own conditions.

    Whether it has to wait before it is tried is another question: `backoff_expired`.
    """
    if workload.gated_by or not workload.active:
        return False
    if status.is_true(QUOTA_RESERVED) or status.is_true(FINISHED):
        return False
    quota = status.conditions.get(QUOTA_RESERVED)
    on_hold = quota is not None and quota.reason == NoQuotaReason.ON_HOLD
    return not on_hold and not status.is_true(WAITING_FOR_REPLACEMENT_PODS)


def backoff_expired(status: Status, now_us: int) -> bool:
    """Say whether nothing keeps a waiting Workload from being tried at `now_us`."""
    if status.is_false(REQUEUED):
        return False
    return status.requeue_at_us is None or now_us >= status.requeue_at_us


def queue_timestamp_us(workload: Workload, status: Status, config: Config) -> int:
    """Return the instant that orders Workloads of one priority in a queue, oldest first.

    It is the creation, except that an attempt that failed by the Workload's own doing (pods not
    ready in time, a check that asks for a retry) sends it to the end of the queue. Being preempted
    does not.
    """
    evicted = status.conditions.get(EVICTED)
    if evicted is not None and evicted.status:
        if evicted.reason == EvictionReason.PODS_READY_TIMEOUT:
            if config.pods_ready is None or config.pods_ready.requeue_by_eviction_time:
                return evicted.since_us
        elif evicted.reason == EvictionReason.ADMISSION_CHECK:
            return evicted.since_us
    if not config.gates.priority_sorting_within_cohort:
        preempted = status.conditions.get(PREEMPTED)
        if (
            preempted is not None
            and preempted.status
            and preempted.reason == PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING
        ):
            # Just behind the Workload that reclaimed the quota, or the two would change places
            # for ever.
            return preempted.since_us + _MILLISECOND_US
    return workload.created_us


_MILLISECOND_US: Final = 1_000


# --- What happens by itself ----------------------------------------------------------------------


def next_deadline(workload: Workload, status: Status, config: Config) -> tuple[int, Event] | None:
    """Return the next instant, in microseconds, at which something must happen, and what.

    Nothing from outside is needed for it: the caller says the event once that instant has come. An
    instant in the past is due now. None: only an outside event can move the Workload.
    """
    now_in = phase(workload, status)
    if now_in is Phase.FINISHED:
        return None
    if not workload.active and _remembers_activity(status):
        return workload.created_us, Deactivated()
    if now_in is Phase.ADMITTED:
        return _deadline_of_run(workload, status, config.pods_ready)
    if now_in is Phase.BACKING_OFF:
        return _deadline_of_wait(status)
    return None


def _remembers_activity(status: Status) -> bool:
    return (
        not status.is_true(EVICTED)
        or DEACTIVATION_TARGET in status.conditions
        or status.requeue_at_us is not None
        or status.requeue_count != 0
    )


def _deadline_of_run(
    workload: Workload, status: Status, policy: PodsReadyPolicy | None
) -> tuple[int, Event] | None:
    admitted_us = status.conditions[ADMITTED].since_us
    deadlines: list[tuple[int, Event]] = []
    if policy is not None:
        ready = status.conditions.get(PODS_READY)
        if ready is None or (
            not ready.status and ready.reason != PodsReadyReason.WAIT_FOR_RECOVERY
        ):
            deadlines.append((admitted_us + policy.timeout_s * SECOND_US, PodsReadyTimedOut()))
        elif not ready.status and policy.recovery_timeout_s > 0:
            at_us = ready.since_us + policy.recovery_timeout_s * SECOND_US
            deadlines.append((at_us, PodsReadyTimedOut()))
    if workload.max_execution_s is not None:
        left_s = workload.max_execution_s - status.past_execution_s
        deadlines.append((admitted_us + left_s * SECOND_US, ExecutionTimeExceeded()))
    # min() keeps the first of equals: at the same instant the pods time out.
    return min(deadlines, key=lambda deadline: deadline[0], default=None)


def _deadline_of_wait(status: Status) -> tuple[int, Event] | None:
    if status.requeue_at_us is not None:
        return status.requeue_at_us, BackoffFinished()
    requeued_us = status.conditions[REQUEUED].since_us
    if eviction.waits_for_backoff(status):
        return requeued_us, BackoffFinished()
    if eviction.waits_for_reactivation(status):
        return requeued_us, Reactivated()
    return None
