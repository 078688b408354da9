"""What the Job controller reads from one pod."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.conditions import condition, is_true

TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""Annotation and label: the index that a pod of an indexed Job works on."""
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"

NO_INDEX: Final = -1
_INT32_MAX: Final = 2**31 - 1
_US: Final = 1_000_000
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def uid(pod: Manifest) -> str:
    """Return the uid of a pod."""
    value: str = pod["metadata"]["uid"]
    return value


def name(pod: Manifest) -> str:
    """Return the name of a pod."""
    value: str = pod["metadata"]["name"]
    return value


def phase(pod: Manifest) -> str:
    """Return Pending, Running, Succeeded, Failed or Unknown."""
    value: str = pod.get("status", {}).get("phase", "")
    return value


def is_tracked(pod: Manifest) -> bool:
    """Whether it still has to be counted: the finalizer is removed once it is written down."""
    return TRACKING_FINALIZER in pod["metadata"].get("finalizers", ())


def is_deleted(pod: Manifest) -> bool:
    """Whether a pod or Job is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def is_finished(pod: Manifest) -> bool:
    """Whether it has ended by itself."""
    return phase(pod) in {"Succeeded", "Failed"}


def is_active(pod: Manifest) -> bool:
    """Whether it works, or will."""
    return not is_finished(pod) and not is_deleted(pod)


def is_terminating(pod: Manifest) -> bool:
    """Whether it is being deleted and has not ended yet."""
    return not is_finished(pod) and is_deleted(pod)


def is_ready(pod: Manifest) -> bool:
    """Whether its condition Ready is true."""
    return is_true(pod, "Ready")


def completion_index(pod: Manifest) -> int:
    """Return the index of a pod, NO_INDEX if it has none that makes sense."""
    return _count(pod, INDEX, NO_INDEX)


def failures(pod: Manifest) -> int:
    """How many pods before it failed and counted for its index."""
    return _count(pod, FAILURES, 0)


def ignored_failures(pod: Manifest) -> int:
    """How many pods before it failed for its index and were forgiven."""
    return _count(pod, IGNORED_FAILURES, 0)


def _count(pod: Manifest, annotation: str, otherwise: int) -> int:
    text: str = pod["metadata"].get("annotations", {}).get(annotation, "")
    return int(text) if text.isdecimal() and int(text) <= _INT32_MAX else otherwise


def restarts(pods: Iterable[Manifest]) -> int:
    """How often containers were started again in pods that are not finished."""
    return sum(
        each.get("restartCount", 0)
        for pod in pods
        if phase(pod) in {"Running", "Pending"}
        for field in ("initContainerStatuses", "containerStatuses")
        for each in pod["status"].get(field, ())
    )


def finished_us(pod: Manifest) -> int:
    """When it ended: its last container, else when it stopped to be ready, else its deletion."""
    metadata = pod["metadata"]
    if ends := _ends(pod):
        return max(ends)
    ready = condition(pod, "Ready")
    if ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return parse_timestamp(ready["lastTransitionTime"])
    if is_deleted(pod):
        grace_us: int = metadata.get("deletionGracePeriodSeconds", 0) * _US
        return parse_timestamp(metadata["deletionTimestamp"]) - grace_us
    return parse_timestamp(metadata["creationTimestamp"])


def _ends(pod: Manifest) -> list[int]:
    """Return when its containers ended, nothing if one did not."""
    statuses: list[dict[str, Any]] = pod.get("status", {}).get("containerStatuses", [])
    ends = [each.get("state", {}).get("terminated", {}).get("finishedAt") for each in statuses]
    return [parse_timestamp(end) for end in ends] if all(ends) else []


def dispensability(pod: Manifest) -> tuple[bool, int, bool, int, int, int, str]:
    """Sort active pods by it to have those first that a Job gives up first."""
    ready = is_ready(pod)
    since = condition(pod, "Ready").get("lastTransitionTime") if ready else None
    restarted = [
        each.get("restartCount", 0) for each in pod.get("status", {}).get("containerStatuses", ())
    ]
    return (
        bool(pod["spec"].get("nodeName")),
        _PHASES.get(phase(pod), 0),
        ready,
        -parse_timestamp(since) if since else 0,
        -max(restarted, default=0),
        -parse_timestamp(pod["metadata"]["creationTimestamp"]),
        name(pod),
    )
