"""
Decide what a Job's status says, before and after its finished pods are let go.

The order of the two statuses is what makes every pod count once. The first lists the uids of pods
that have ended; only then are their finalizers removed; the second has numbers in their place.
Whoever finds a listed uid whose pod has no finalizer any more may turn it into a number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from muster.queue.api.timestamps import format_second
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.jobs import pods as pod_facts
from muster.queue.simulated.jobs.assessment import Assessment, has_failed, has_valid_index
from muster.queue.simulated.jobs.conditions import (
    Verdict,
    condition,
    true_condition,
    with_condition,
)
from muster.queue.simulated.jobs.indexes import Indexes
from muster.queue.simulated.jobs.planning import PodChanges
from muster.queue.simulated.jobs.policies import judge_failure

UNCOUNTED_MAX: Final = 500
"""Pods listed in a status at a time, which keeps it below some 20 KB."""

_COMPLETED: Final = Verdict(
    "SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods"
)


class Outcome(NamedTuple):
    """What of the planned changes of pods was done."""

    created: int = 0
    deleted: Sequence[Manifest] = ()


class JobEvent(NamedTuple):
    """An event to record about a Job."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What to write about a Job, in this order."""

    first: dict[str, Any]
    release: tuple[Manifest, ...]
    """The pods whose finalizers to remove once `first` is written."""
    then: dict[str, Any]
    """The status to write once they are removed."""
    events: tuple[JobEvent, ...]
    """To record once `first` is written."""
    last_events: tuple[JobEvent, ...]
    """To record once `then` is written."""


def account(assessment: Assessment, changes: PodChanges, outcome: Outcome) -> Account:
    """Return what the status becomes after `changes` were carried out as `outcome` says."""
    active = len(assessment.active) + outcome.created - len(outcome.deleted)
    verdict = assessment.verdict
    if verdict is None and _is_complete(assessment, active):
        verdict = _COMPLETED
    elif len(outcome.deleted) < len(changes.delete):
        # A pod that is still to be deleted may be in the way: the end has to wait.
        verdict = None
    first = _counts(assessment, outcome, active)
    events: list[JobEvent] = []
    if verdict is None and changes.considered:
        events += _say_suspension(assessment, first)
    finished, is_all = _finished(assessment, verdict)
    _list_uncounted(assessment, first, finished, verdict)
    if verdict is not None:
        _announce(first, verdict, assessment.now_us)
    left = {pod_facts.uid(pod) for pod in assessment.pods if pod_facts.is_tracked(pod)}
    left.difference_update(map(pod_facts.uid, finished))
    then = _counted(first, left)
    last_events: tuple[JobEvent, ...] = ()
    if verdict is not None and is_all and _is_quiet(then):
        last_events = _finish(assessment, then, verdict.final)
    return Account(
        first=first,
        release=tuple(finished),
        then=then,
        events=tuple(events),
        last_events=last_events,
    )


def _is_complete(assessment: Assessment, active: int) -> bool:
    if active:
        return False
    completions: int | None = assessment.spec.get("completions")
    if completions is None:
        return assessment.succeeded > 0
    return assessment.succeeded >= completions


def _counts(assessment: Assessment, outcome: Outcome, active: int) -> dict[str, Any]:
    """Return the status with its plain numbers, and pods without finalizers counted."""
    ready_deleted = sum(map(pod_facts.is_ready, outcome.deleted))
    status = {
        **assessment.status,
        "conditions": assessment.status.get("conditions", []),
        "startTime": assessment.start_time,
        "active": active,
        "ready": assessment.ready - ready_deleted,
        "terminating": assessment.terminating + len(outcome.deleted),
        "uncountedTerminatedPods": assessment.uncounted,
    }
    tracked = {pod_facts.uid(pod) for pod in assessment.pods if pod_facts.is_tracked(pod)}
    return _counted(status, tracked)


def _counted(status: dict[str, Any], tracked: Collection[str]) -> dict[str, Any]:
    """Return the status with every listed uid that is not `tracked` turned into a number."""
    changed = dict(status)
    uncounted = {}
    for outcome, uids in status["uncountedTerminatedPods"].items():
        waiting = [uid for uid in uids if uid in tracked]
        if counted := len(uids) - len(waiting):
            changed[outcome] = status.get(outcome, 0) + counted
        uncounted[outcome] = waiting
    changed["uncountedTerminatedPods"] = uncounted
    return changed


def _say_suspension(assessment: Assessment, status: dict[str, Any]) -> Iterable[JobEvent]:
    """Set the condition Suspended, and startTime where it changes; return the event about it."""
    now_us = assessment.now_us
    if assessment.is_suspended:
        said = condition(Verdict("Suspended", "JobSuspended", "Job suspended"), now_us)
        event = JobEvent("Normal", "Suspended", "Job suspended")
        start_time = None
    else:
        resumed = Verdict("Suspended", "JobResumed", "Job resumed")
        said = condition(resumed, now_us, status="False")
        event = JobEvent("Normal", "Resumed", "Job resumed")
        # The deadline of an active Job counts from when it was resumed.
        start_time = format_second(now_us)
    status["conditions"], is_news = with_condition(status["conditions"], said)
    if not is_news:
        return ()
    status["startTime"] = start_time
    return (event,)


# -- counting ---------------------------------------------------------------------------------


def _finished(assessment: Assessment, verdict: Verdict | None) -> tuple[list[Manifest], bool]:
    """Return the pods to let go, and whether these are all there are."""
    everyone = verdict is not None or pod_facts.is_deleted(assessment.job)
    # The last failed pod of an index stays until its successor has taken over its failure count.
    kept = {pod_facts.uid(pod) for pod in assessment.replaceable.values()}
    finished = [
        pod
        for pod in sorted(assessment.pods, key=lambda pod: (_index(pod), pod_facts.name(pod)))
        if pod_facts.is_tracked(pod)
        and (
            everyone
            or pod_facts.phase(pod) == "Succeeded"
            or (has_failed(assessment.job, pod) and pod_facts.uid(pod) not in kept)
        )
    ]
    return finished[:UNCOUNTED_MAX], len(finished) < UNCOUNTED_MAX


def _index(pod: Manifest) -> int:
    return pod_facts.completion_index(pod)


def _list_uncounted(
    assessment: Assessment,
    status: dict[str, Any],
    finished: Iterable[Manifest],
    verdict: Verdict | None,
) -> None:
    """Write down in the status how each finished pod ended."""
    job = assessment.job
    is_indexed = assessment.is_indexed
    succeeded = list(status["uncountedTerminatedPods"].get("succeeded", ()))
    failed = list(status["uncountedTerminatedPods"].get("failed", ()))
    indexes = set()
    # A Job that has failed takes its unfinished pods with it.
    takes_all = verdict is not None and not verdict.succeeds
    for pod in finished:
        uid = pod_facts.uid(pod)
        if not has_valid_index(job, pod) or uid in failed:
            continue
        if pod_facts.phase(pod) == "Succeeded":
            # An index is counted once anyway, whoever finished it.
            indexes.add(_index(pod))
            if not is_indexed and uid not in succeeded:
                succeeded.append(uid)
        elif (has_failed(job, pod) or takes_all) and judge_failure(job, pod).counts:
            failed.append(uid)
    status["uncountedTerminatedPods"] = {"succeeded": succeeded, "failed": failed}
    if is_indexed:
        completed = assessment.indexes.succeeded | Indexes.of(indexes)
        status["completedIndexes"] = str(completed)
        status["succeeded"] = len(completed)
        if assessment.indexes.failed is not None:
            status["failedIndexes"] = str(assessment.indexes.failed)


# -- the end ----------------------------------------------------------------------------------


def _announce(status: dict[str, Any], verdict: Verdict, now_us: int) -> None:
    """Add the condition that says what is going to happen, unless it is there."""
    is_announced = verdict.type == "Failed"
    if not is_announced and not true_condition(status["conditions"], verdict.type):
        status["conditions"] = [*status["conditions"], condition(verdict, now_us)]


def _is_quiet(status: dict[str, Any]) -> bool:
    """Whether no pod is left that has to be counted or to end."""
    return not any(status["uncountedTerminatedPods"].values()) and not status["terminating"]


def _finish(assessment: Assessment, status: dict[str, Any], end: Verdict) -> tuple[JobEvent, ...]:
    """Set the last condition of a Job; return the events about it."""
    said = condition(end, assessment.now_us)
    status["conditions"], _ = with_condition(status["conditions"], said)
    if end.type == "Failed":
        return (JobEvent("Warning", end.reason, end.message),)
    status["completionTime"] = said["lastTransitionTime"]
    completed = JobEvent("Normal", "Completed", "Job completed")
    completions = assessment.spec.get("completions")
    if completions is not None and status.get("succeeded", 0) > completions:
        message = "Too many succeeded pods running after completion count reached"
        return (JobEvent("Warning", "TooManySucceededPods", message), completed)
    return (completed,)


def written(status: dict[str, Any]) -> dict[str, Any]:
    """Return a status as the API writes it: without what is empty or zero but for pointers."""
    pointers = {"ready", "terminating", "failedIndexes", "uncountedTerminatedPods"}
    lean = {field: value for field, value in status.items() if value or field in pointers}
    uncounted = status["uncountedTerminatedPods"]
    lean["uncountedTerminatedPods"] = {name: uids for name, uids in uncounted.items() if uids}
    return lean
