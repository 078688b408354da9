"""
How a Workload is told to give its quota back, how long it stays away, and how it may come back.

Being evicted is a promise, not yet a release: the reservation stays until the job has stopped
(`reservation.stop`), because its pods hold the resources until then. What is said here is why it
goes (Evicted), when it may return (`requeue_at_us`, Requeued) and whether it must become inactive
first (DeactivationTarget).

Beside each event stands the function that returns the next status. `lifecycle.TRANSITIONS` says in
which phases an event is legal; the functions rely on it. One that has nothing to change returns the
very status it was given, so that callers may skip the write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from muster.admission.checks import SECOND_US, reset
from muster.admission.conditions import (
    BLOCKED_ON_PREEMPTION_GATES,
    DEACTIVATION_TARGET,
    EVICTED,
    PODS_READY,
    PREEMPTED,
    REQUEUED,
    DeactivationCause,
    EvictionReason,
    PodsReadyReason,
    RequeueReason,
    deactivation_reason,
    set_false,
    set_true,
)
from muster.admission.config import Config, PodsReadyPolicy
from muster.admission.objects import Condition, EvictionCount, Status

# --- Eviction ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evicted:
    """The Workload has to give its quota back for `reason`, an `EvictionReason`."""

    reason: str
    message: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Preempted:
    """Another Workload takes the quota; `reason` is a `PreemptionReason`."""

    reason: str
    message: str = ""


def evict(status: Status, event: Evicted, now_us: int, _config: Config) -> Status:
    """Mark as evicted; every admission check has to pass again."""
    return _evicted(status, dict(status.conditions), event, now_us)


def preempt(status: Status, event: Preempted, now_us: int, _config: Config) -> Status:
    """Mark as evicted in favour of another Workload."""
    conditions = dict(status.conditions)
    set_true(conditions, PREEMPTED, event.reason, now_us, event.message)
    eviction = Evicted(EvictionReason.PREEMPTED, event.message)
    return _evicted(status, conditions, eviction, now_us)


def _evicted(
    status: Status, conditions: dict[str, Condition], eviction: Evicted, now_us: int
) -> Status:
    reason, cause, message = eviction.reason, eviction.cause, eviction.message
    told = deactivation_reason(cause) if reason == EvictionReason.DEACTIVATED else reason
    set_true(conditions, EVICTED, told, now_us, message)
    if status.is_true(BLOCKED_ON_PREEMPTION_GATES):
        set_false(conditions, BLOCKED_ON_PREEMPTION_GATES, told, now_us, message)
    return replace(
        status,
        conditions=conditions,
        checks=reset(status.checks, now_us),
        evictions=_counted(status.evictions, reason, cause),
    )


def _counted(
    evictions: tuple[EvictionCount, ...], reason: str, cause: str
) -> tuple[EvictionCount, ...]:
    for index, old in enumerate(evictions):
        if old.reason == reason and old.cause == cause:
            more = EvictionCount(reason, cause, old.count + 1)
            return (*evictions[:index], more, *evictions[index + 1 :])
    return (*evictions, EvictionCount(reason, cause, 1))


# --- Pods that do not get ready, and the wait before the next attempt ----------------------------


@dataclass(frozen=True, slots=True)
class PodsReadyTimedOut:
    """The pods of an admitted Workload were not ready in time."""


@dataclass(frozen=True, slots=True)
class BackoffFinished:
    """The wait before the next attempt is over."""


def time_out_pods(status: Status, _event: PodsReadyTimedOut, now_us: int, config: Config) -> Status:
    """Evict for a while that doubles each time; after too many attempts, deactivate."""
    policy = config.pods_ready
    assert policy is not None, "pods time out only where waitForPodsReady is on"
    attempt = status.requeue_count + 1
    if policy.backoff_limit is not None and attempt > policy.backoff_limit:
        return target_deactivation(
            status,
            DeactivationRequested(
                DeactivationCause.REQUEUING_LIMIT_EXCEEDED,
                "exceeding the maximum number of re-queuing retries",
            ),
            now_us,
            config,
        )

    ready = status.conditions.get(PODS_READY)
    recovering = ready is not None and ready.reason == PodsReadyReason.WAIT_FOR_RECOVERY
    eviction = Evicted(
        EvictionReason.PODS_READY_TIMEOUT,
        "Exceeded the PodsReady timeout",
        PodsReadyReason.WAIT_FOR_RECOVERY if recovering else PodsReadyReason.WAIT_FOR_START,
    )
    at_us = now_us + backoff_s(policy, attempt) * SECOND_US
    return evict(put_off(replace(status, requeue_count=attempt), at_us), eviction, now_us, config)


def backoff_s(policy: PodsReadyPolicy, attempt: int) -> int:
    """Return the seconds to wait after the `attempt`-th timeout, counted from 1.

    The wait has no random part, so that the same history always gives the same decisions;
    Workloads that time out together are told apart by the order of their queue.
    """
    if attempt == 1:
        return policy.backoff_base_s
    # 2**32 times any base is beyond every sensible maximum; more would only make big numbers.
    return min(policy.backoff_base_s << min(attempt - 1, 32), policy.backoff_max_s)


def put_off(status: Status, at_us: int) -> Status:
    """Keep the Workload out of its queue until `at_us`; an instant once set never moves back."""
    old_us = status.requeue_at_us
    if old_us is not None and old_us >= at_us:
        return status
    return replace(status, requeue_at_us=at_us)


def end_backoff(status: Status, _event: BackoffFinished, now_us: int, _config: Config) -> Status:
    """Let the Workload queue again if the back-off was all that kept it away."""
    if waits_for_backoff(status):
        conditions = dict(status.conditions)
        set_true(conditions, REQUEUED, RequeueReason.BACKOFF_FINISHED, now_us)
        return replace(status, conditions=conditions, requeue_at_us=None)
    return replace(status, requeue_at_us=None)


def waits_for_backoff(status: Status) -> bool:
    """Say whether Requeued is False for a reason that time alone cures."""
    requeued = status.conditions.get(REQUEUED)
    return (
        requeued is not None
        and not requeued.status
        and requeued.reason in (EvictionReason.PODS_READY_TIMEOUT, EvictionReason.ADMISSION_CHECK)
    )


# --- Deactivation --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExecutionTimeExceeded:
    """The Workload has been admitted for longer, over all its runs, than it may be."""


@dataclass(frozen=True, slots=True)
class DeactivationRequested:
    """The Workload must become inactive; `cause` is a `DeactivationCause`."""

    cause: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Deactivated:
    """`spec.active` is false, set by us or by a user."""


@dataclass(frozen=True, slots=True)
class Reactivated:
    """`spec.active` is true again."""


OUT_OF_TIME: Final = deactivation_reason(DeactivationCause.MAXIMUM_EXECUTION_TIME_EXCEEDED)
"""The reason of Evicted once the maximum execution time is used up."""


def exceed_time(
    status: Status, _event: ExecutionTimeExceeded, now_us: int, config: Config
) -> Status:
    """Ask for deactivation; who reactivates the Workload gives it the whole time again."""
    request = DeactivationRequested(
        DeactivationCause.MAXIMUM_EXECUTION_TIME_EXCEEDED, "exceeding the maximum execution time"
    )
    return target_deactivation(replace(status, past_execution_s=0), request, now_us, config)


def target_deactivation(
    status: Status, event: DeactivationRequested, now_us: int, _config: Config
) -> Status:
    """Ask for deactivation; the caller then makes `spec.active` false."""
    conditions = dict(status.conditions)
    set_true(conditions, DEACTIVATION_TARGET, event.cause, now_us, event.message)
    return replace(status, conditions=conditions)


def deactivate(status: Status, _event: Deactivated, now_us: int, _config: Config) -> Status:
    """Evict unless that was done before; past attempts and their back-off are forgotten."""
    target = status.conditions.get(DEACTIVATION_TARGET)
    if status.is_true(EVICTED):
        if target is None and status.requeue_at_us is None and status.requeue_count == 0:
            return status
        return replace(
            status,
            conditions=_without_target(status),
            requeue_at_us=None,
            requeue_count=0,
        )

    asked = target if target is not None and target.status else None
    eviction = Evicted(
        EvictionReason.DEACTIVATED,
        f"The workload is deactivated{f' due to {asked.message}' if asked else ''}",
        asked.reason if asked else "",
    )
    forgotten = replace(status, requeue_at_us=None, requeue_count=0)
    return _evicted(forgotten, _without_target(status), eviction, now_us)


def _without_target(status: Status) -> dict[str, Condition]:
    conditions = dict(status.conditions)
    conditions.pop(DEACTIVATION_TARGET, None)
    return conditions


def reactivate(status: Status, _event: Reactivated, now_us: int, _config: Config) -> Status:
    """Let the Workload queue again, whoever had deactivated it and for whatever cause."""
    if not waits_for_reactivation(status):
        return status
    conditions = dict(status.conditions)
    set_true(conditions, REQUEUED, RequeueReason.REACTIVATED, now_us)
    return replace(status, conditions=conditions)


def waits_for_reactivation(status: Status) -> bool:
    """Say whether Requeued is False because the Workload was inactive when its job stopped."""
    requeued = status.conditions.get(REQUEUED)
    return (
        requeued is not None
        and not requeued.status
        and requeued.reason.startswith(EvictionReason.DEACTIVATED)
    )


# --- Queues that stop and go on ------------------------------------------------------------------


class QueueKind(StrEnum):
    LOCAL_QUEUE = "LocalQueue"
    CLUSTER_QUEUE = "ClusterQueue"


@dataclass(frozen=True, slots=True)
class QueueRestarted:
    """The queue runs.

    To be said whenever a Workload still waits for a queue that runs, not only at the moment of the
    restart: the job of an evicted Workload may stop after its queue was restarted.
    """

    kind: QueueKind


STOPPED: Final = {
    QueueKind.LOCAL_QUEUE: EvictionReason.LOCAL_QUEUE_STOPPED,
    QueueKind.CLUSTER_QUEUE: EvictionReason.CLUSTER_QUEUE_STOPPED,
}
"""The reason of Evicted when a queue of that kind is drained."""

_RESTARTED: Final = {
    QueueKind.LOCAL_QUEUE: RequeueReason.LOCAL_QUEUE_RESTARTED,
    QueueKind.CLUSTER_QUEUE: RequeueReason.CLUSTER_QUEUE_RESTARTED,
}


def restart(status: Status, event: QueueRestarted, now_us: int, _config: Config) -> Status:
    """Let the Workload queue again if a queue of this kind had been drained under it."""
    requeued = status.conditions.get(REQUEUED)
    if requeued is None or requeued.status or requeued.reason != STOPPED[event.kind]:
        return status
    conditions = dict(status.conditions)
    set_true(conditions, REQUEUED, _RESTARTED[event.kind], now_us)
    return replace(status, conditions=conditions)
