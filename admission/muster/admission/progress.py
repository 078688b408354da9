"""
What the job of a Workload reports: pods that are ready, pods that are done, the end.

Beside each event stands the function that returns the next status, as in `eviction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from muster.admission.conditions import (
    FINISHED,
    PODS_READY,
    PodsReadyReason,
    set_false,
    set_true,
)
from muster.admission.config import Config
from muster.admission.objects import Status


@dataclass(frozen=True, slots=True)
class PodsReadyChanged:
    """All pods of the running job are ready, or not all are."""

    ready: bool


@dataclass(frozen=True, slots=True)
class PodsReclaimed:
    """Pods per pod set that have finished and need no quota any more, all in all."""

    reclaimable: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class JobFinished:
    """The job ended; `reason` is Succeeded or Failed unless the caller knows better."""

    success: bool = True
    reason: str = ""
    message: str = ""


def note_pods_ready(
    status: Status, event: PodsReadyChanged, now_us: int, _config: Config
) -> Status:
    """Note whether the pods are ready; once they were, they recover instead of starting."""
    old = status.conditions.get(PODS_READY)
    if old is not None and old.status is event.ready:
        return status
    ran = old is not None and (old.status or old.reason == PodsReadyReason.WAIT_FOR_RECOVERY)
    conditions = dict(status.conditions)
    if event.ready:
        reason = PodsReadyReason.RECOVERED if ran else PodsReadyReason.STARTED
        set_true(conditions, PODS_READY, reason, now_us, "All pods are ready")
    else:
        reason = PodsReadyReason.WAIT_FOR_RECOVERY if ran else PodsReadyReason.WAIT_FOR_START
        set_false(conditions, PODS_READY, reason, now_us, "Not all pods are ready")
    return replace(status, conditions=conditions)


def note_reclaimed(status: Status, event: PodsReclaimed, _now_us: int, _config: Config) -> Status:
    """Note how many pods need no quota any more."""
    if event.reclaimable == status.reclaimable:
        return status
    return replace(status, reclaimable=event.reclaimable)


def finish(status: Status, event: JobFinished, now_us: int, _config: Config) -> Status:
    """Note the end; it is final."""
    reason = event.reason or ("Succeeded" if event.success else "Failed")
    conditions = dict(status.conditions)
    set_true(conditions, FINISHED, reason, now_us, event.message)
    return replace(status, conditions=conditions)
