"""
The words of a Workload's status: condition types, their reasons, and how one condition is set.

Types and reasons are contract: people, scripts and other controllers read them. Messages are not.
This module decides nothing; `lifecycle` says which condition changes when.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.admission.objects import Condition

# --- Condition types. Plain strings: they are dictionary keys on the hot path. -------------------

QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
PODS_READY: Final = "PodsReady"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
FINISHED: Final = "Finished"
WAITING_FOR_REPLACEMENT_PODS: Final = "WaitingForReplacementPods"
BLOCKED_ON_PREEMPTION_GATES: Final = "BlockedOnPreemptionGates"


# --- Reasons -------------------------------------------------------------------------------------


class NoQuotaReason(StrEnum):
    """Why QuotaReserved is False."""

    NO_MATCHING_FLAVOR = "NoMatchingFlavor"
    EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    TOPOLOGY_PLACEMENT_FAILED = "TopologyPlacementFailed"
    WAITING_FOR_PREEMPTED_WORKLOADS = "WaitingForPreemptedWorkloads"
    WAITING_FOR_PODS_READY = "WaitingForPodsReady"
    MISCONFIGURED = "Misconfigured"
    SUSPENDED = "Suspended"
    PENDING_EVALUATION = "PendingEvaluation"
    ADMISSION_GATED = "AdmissionGated"
    ON_HOLD = "OnHold"
    PENDING = "Pending"
    """What the scheduler's reasons collapse to without UnadmittedWorkloadsObservability."""
    INADMISSIBLE = "Inadmissible"
    """What the reasons found in the queues collapse to without UnadmittedWorkloadsObservability."""


class NotAdmittedReason(StrEnum):
    """Why Admitted is False."""

    NO_RESERVATION = "NoReservation"
    UNSATISFIED_CHECKS = "UnsatisfiedAdmissionChecks"


class PodsReadyReason(StrEnum):
    WAIT_FOR_START = "WaitForStart"
    WAIT_FOR_RECOVERY = "WaitForRecovery"
    STARTED = "Started"
    RECOVERED = "Recovered"


class PreemptionReason(StrEnum):
    """Why a Workload was chosen as a victim: the reason of Preempted."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"
    IN_COHORT_FAIR_SHARING = "InCohortFairSharing"
    IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


class EvictionReason(StrEnum):
    """Why a Workload lost its reservation: the reason of Evicted.

    Deactivation with a cause is written `DeactivatedDueTo<cause>`, see `deactivation_reason`.
    """

    PREEMPTED = "Preempted"
    PODS_READY_TIMEOUT = "PodsReadyTimeout"
    ADMISSION_CHECK = "AdmissionCheck"
    CLUSTER_QUEUE_STOPPED = "ClusterQueueStopped"
    LOCAL_QUEUE_STOPPED = "LocalQueueStopped"
    NODE_FAILURES = "NodeFailures"
    FLAVOR_MIGRATION = "FlavorMigration"
    DEACTIVATED = "Deactivated"


class DeactivationCause(StrEnum):
    """Why a Workload has to become inactive: the reason of DeactivationTarget."""

    REQUEUING_LIMIT_EXCEEDED = "RequeuingLimitExceeded"
    MAXIMUM_EXECUTION_TIME_EXCEEDED = "MaximumExecutionTimeExceeded"
    ADMISSION_CHECK = "AdmissionCheck"
    EVICTED_ON_MANAGER_CLUSTER = "EvictedOnManagerCluster"


class RequeueReason(StrEnum):
    """Why Requeued is True again after an eviction that kept the Workload out of its queue."""

    BACKOFF_FINISHED = "BackoffFinished"
    REACTIVATED = "Reactivated"
    CLUSTER_QUEUE_RESTARTED = "ClusterQueueRestarted"
    LOCAL_QUEUE_RESTARTED = "LocalQueueRestarted"


def deactivation_reason(cause: str) -> str:
    """Return the reason of Evicted for a deactivation, `cause` being "" when a user did it."""
    return f"{EvictionReason.DEACTIVATED}DueTo{cause}" if cause else EvictionReason.DEACTIVATED


def set_true(
    conditions: dict[str, Condition], name: str, reason: str, now_us: int, message: str = ""
) -> None:
    """Make one condition True in place; `since_us` moves only when the status does."""
    old = conditions.get(name)
    since_us = old.since_us if old is not None and old.status else now_us
    conditions[name] = Condition(status=True, reason=reason, since_us=since_us, message=message)


def set_false(
    conditions: dict[str, Condition], name: str, reason: str, now_us: int, message: str = ""
) -> None:
    """Make one condition False in place; `since_us` moves only when the status does."""
    old = conditions.get(name)
    since_us = now_us if old is None or old.status else old.since_us
    conditions[name] = Condition(status=False, reason=reason, since_us=since_us, message=message)
