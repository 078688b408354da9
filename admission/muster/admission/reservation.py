"""
How a Workload gets its quota, is admitted, is refused, and how the reservation ends.

A reservation becomes an admission when every admission check it carries is Ready, in the same move
if there is none to wait for. It ends when the job has stopped or, while there is no job yet, when a
queue is stopped or gone.

Beside each event stands the function that returns the next status, as in `eviction`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from muster.admission.checks import (
    SECOND_US,
    all_ready,
    exactly,
    in_state,
    retry_at_us,
    with_check,
    with_missing,
)
from muster.admission.conditions import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    DeactivationCause,
    EvictionReason,
    NoQuotaReason,
    NotAdmittedReason,
    PodsReadyReason,
    set_false,
    set_true,
)
from muster.admission.config import Config
from muster.admission.eviction import (
    OUT_OF_TIME,
    STOPPED,
    DeactivationRequested,
    Evicted,
    QueueKind,
    evict,
    put_off,
    target_deactivation,
)
from muster.admission.objects import (
    Admission,
    Check,
    CheckState,
    Condition,
    Status,
    StopPolicy,
)

# --- Getting quota, or not -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuotaReserved:
    """The scheduler reserved quota; `required_checks` are those of `checks.required_checks`."""

    admission: Admission
    required_checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The scheduler looked and reserved nothing; `reason` is a `NoQuotaReason`."""

    reason: str
    message: str = ""


def reserve(status: Status, event: QuotaReserved, now_us: int, _config: Config) -> Status:
    """Reserve quota, and admit in the same move if no check is outstanding."""
    conditions = dict(status.conditions)
    message = f"Quota reserved in ClusterQueue {event.admission.cluster_queue}"
    set_true(conditions, QUOTA_RESERVED, "QuotaReserved", now_us, message)
    for name in (EVICTED, PREEMPTED, BLOCKED_ON_PREEMPTION_GATES):
        old = conditions.get(name)
        if old is not None and old.status:
            set_false(conditions, name, "QuotaReserved", now_us, f"Previously: {old.message}")

    checks = with_missing(status.checks, event.required_checks, now_us)
    if checks is status.checks:
        _admit_when_ready(conditions, checks, now_us)
    # Otherwise nobody has looked at the new checks yet, and Admitted stays as it was.
    return replace(status, admission=event.admission, conditions=conditions, checks=checks)


def refuse(status: Status, event: Refused, now_us: int, config: Config) -> Status:
    """Write what the Workload waits for."""
    observable = config.gates.unadmitted_workloads_observability
    reason = event.reason if observable else NoQuotaReason.PENDING
    return _without_quota(status, reason, event.message, now_us)


def _without_quota(status: Status, reason: str, message: str, now_us: int) -> Status:
    """Write why a Workload that holds nothing still holds nothing."""
    old = status.conditions.get(QUOTA_RESERVED)
    told = old is not None and old.reason == reason and old.message == message
    if told and status.admission is None:
        return status
    conditions = dict(status.conditions)
    set_false(conditions, QUOTA_RESERVED, reason, now_us, message)
    _set_no_reservation(conditions, now_us)
    return replace(status, admission=None, conditions=conditions)


def _set_no_reservation(conditions: dict[str, Condition], now_us: int) -> None:
    message = "The workload has no reservation"
    set_false(conditions, ADMITTED, NotAdmittedReason.NO_RESERVATION, now_us, message)


# --- Admission checks ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckChanged:
    """A check has a new state; `check.since_us` is when it got it."""

    check: Check


@dataclass(frozen=True, slots=True)
class ChecksRequired:
    """The checks the Workload needs, as `checks.required_checks` says, may have changed."""

    names: tuple[str, ...]


def note_check(status: Status, event: CheckChanged, _now_us: int, _config: Config) -> Status:
    """Note the state only: there is no reservation left that a check could end."""
    return _with_checks(status, with_check(status.checks, event.check))


def note_required(status: Status, event: ChecksRequired, now_us: int, _config: Config) -> Status:
    """Note which checks are needed, only."""
    return _with_checks(status, exactly(status.checks, event.names, now_us))


def judge_check(status: Status, event: CheckChanged, now_us: int, config: Config) -> Status:
    """Note the state; admit, evict or deactivate as the checks now say."""
    return _judge(status, with_check(status.checks, event.check), now_us, config)


def judge_required(status: Status, event: ChecksRequired, now_us: int, config: Config) -> Status:
    """Note which checks are needed; admit, evict or deactivate as they now say."""
    return _judge(status, exactly(status.checks, event.names, now_us), now_us, config)


def _with_checks(status: Status, checks: tuple[Check, ...]) -> Status:
    return status if checks == status.checks else replace(status, checks=checks)


def _judge(status: Status, checks: tuple[Check, ...], now_us: int, config: Config) -> Status:
    """Rejected wins over Retry, and Retry over everything else."""
    noted = _with_checks(status, checks)
    if rejected := in_state(checks, CheckState.REJECTED):
        message = f"admission checks being rejected: {_named(rejected)}"
        request = DeactivationRequested(DeactivationCause.ADMISSION_CHECK, message)
        return target_deactivation(noted, request, now_us, config)

    if retrying := in_state(checks, CheckState.RETRY):
        message = f"Admission checks to be retried: {_named(retrying)}"
        eviction = Evicted(EvictionReason.ADMISSION_CHECK, message)
        at_us = retry_at_us(retrying)
        later = put_off(noted, at_us) if at_us > now_us else noted
        return evict(later, eviction, now_us, config)

    if status.is_true(ADMITTED):
        # A check that was added, or reset, while the job runs does not stop the job.
        return noted
    conditions = dict(status.conditions)
    _admit_when_ready(conditions, checks, now_us)
    return noted if conditions == status.conditions else replace(noted, conditions=conditions)


def _admit_when_ready(
    conditions: dict[str, Condition], checks: tuple[Check, ...], now_us: int
) -> None:
    if all_ready(checks):
        set_true(conditions, ADMITTED, "Admitted", now_us, "The workload is admitted")
        return
    message = "The workload has not all checks ready"
    set_false(conditions, ADMITTED, NotAdmittedReason.UNSATISFIED_CHECKS, now_us, message)


def _named(checks: list[Check]) -> str:
    return ", ".join(
        f"{check.name} ({check.message})" if check.message else check.name for check in checks
    )


# --- The end of a reservation --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobStopped:
    """No pod of the evicted Workload is left.

    `replaceable` is False for a bare pod: nobody will create it again, so it is not queued again.
    """

    replaceable: bool = True


def stop(status: Status, event: JobStopped, now_us: int, config: Config) -> Status:
    """Release the reservation; whether the Workload may queue at once depends on why it went."""
    evicted = status.conditions[EVICTED]
    innocent = evicted.reason in (EvictionReason.PREEMPTED, EvictionReason.NODE_FAILURES)
    observable = config.gates.unadmitted_workloads_observability
    reason = NoQuotaReason.PENDING_EVALUATION if observable else NoQuotaReason.PENDING
    conditions = dict(status.conditions)
    set_requeued = set_true if innocent and event.replaceable else set_false
    set_requeued(conditions, REQUEUED, evicted.reason, now_us, evicted.message)
    return _released(status, conditions, Refused(reason, evicted.message), now_us)


def release(status: Status, reason: str, message: str, now_us: int) -> Status:
    """Return `status` without its reservation, whatever the phase, saying nothing of requeueing."""
    return _released(status, dict(status.conditions), Refused(reason, message), now_us)


def _released(
    status: Status, conditions: dict[str, Condition], because: Refused, now_us: int
) -> Status:
    past_s = status.past_execution_s + _admitted_s(status, now_us)
    evicted = conditions.get(EVICTED)
    if evicted is not None and evicted.status and evicted.reason == OUT_OF_TIME:
        past_s = 0
    set_false(conditions, QUOTA_RESERVED, because.reason, now_us, because.message)
    _set_no_reservation(conditions, now_us)
    if PODS_READY in conditions:
        # The pods of the next run have the whole start timeout again.
        set_false(conditions, PODS_READY, PodsReadyReason.WAIT_FOR_START, now_us)
    return replace(status, admission=None, conditions=conditions, past_execution_s=past_s)


def _admitted_s(status: Status, now_us: int) -> int:
    """Whole seconds since admission; 0 when not admitted."""
    admitted = status.conditions.get(ADMITTED)
    if admitted is None or not admitted.status:
        return 0
    return max(0, now_us - admitted.since_us) // SECOND_US


# --- Queues that are stopped or gone -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueueStopped:
    """The LocalQueue or ClusterQueue of the Workload is held, or held and drained."""

    kind: QueueKind
    name: str
    policy: StopPolicy

    def __post_init__(self) -> None:
        assert self.policy is not StopPolicy.NONE, f"{self.kind} {self.name} is not stopped"


@dataclass(frozen=True, slots=True)
class QueueMissing:
    """The LocalQueue or ClusterQueue of the Workload does not exist or is being deleted."""

    kind: QueueKind
    name: str


def wait_for_queue(
    status: Status, event: QueueStopped | QueueMissing, now_us: int, config: Config
) -> Status:
    """Write that the Workload waits for its queue."""
    trouble = _trouble(event, config)
    return _without_quota(status, trouble.reason, trouble.message, now_us)


def withdraw(
    status: Status, event: QueueStopped | QueueMissing, now_us: int, config: Config
) -> Status:
    """Release a reservation that was never used: there is no job to stop."""
    return _released(status, dict(status.conditions), _trouble(event, config), now_us)


def drain(status: Status, event: QueueStopped, now_us: int, config: Config) -> Status:
    """Evict what runs if the queue is to be empty; a mere hold lets it run."""
    if event.policy is not StopPolicy.HOLD_AND_DRAIN:
        return status
    message = f"The {event.kind} {event.name} is stopped"
    return evict(status, Evicted(STOPPED[event.kind], message), now_us, config)


def _trouble(event: QueueStopped | QueueMissing, config: Config) -> Refused:
    if isinstance(event, QueueStopped):
        reason, what = NoQuotaReason.SUSPENDED, "is stopped"
    else:
        reason, what = NoQuotaReason.MISCONFIGURED, "does not exist or is being deleted"
    if not config.gates.unadmitted_workloads_observability:
        reason = NoQuotaReason.INADMISSIBLE
    return Refused(reason, f"{event.kind} {event.name} {what}")
