"""
What may be written into the status of a Job.

Other controllers than the built-in one may manage Jobs, so whoever watches them is protected here:
a Job that is finished stays so, counts add up, times do not move. Each rule applies when something
that it is about has changed, so that other updates are not held up by an old fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.client.refusal import FieldError, duplicate, invalid_value, required
from muster.queue.sandbox.kinds.index_intervals import (
    IndexesError,
    Interval,
    common,
    intervals,
)
from muster.queue.sandbox.kinds.job_validation import INDEXED, invalid
from muster.queue.sandbox.kinds.metadata import negative, unchanged
from muster.queue.sandbox.kinds.pod_validation import INT32_MAX
from muster.queue.sandbox.kinds.resources import Shared
from muster.queue.sandbox.kinds.strategy import entries

_CONDITIONS: Final = "status.conditions"
_COUNTS: Final = ("active", "succeeded", "failed", "ready", "terminating")


class _Status:
    """The status of a Job, with what the rules ask of it."""

    def __init__(self, job: Shared) -> None:
        self.spec: Shared = job["spec"]
        self.fields: Shared = job.get("status") or {}
        self.true = [
            each["type"] for each in entries(self.fields, "conditions") if each["status"] == "True"
        ]
        self.false = [
            each["type"] for each in entries(self.fields, "conditions") if each["status"] == "False"
        ]
        self.complete = "Complete" in self.true
        self.failed = "Failed" in self.true
        self.finished = self.complete or self.failed


def job_status_errors(job: Shared, old: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with the status of a Job as the successor of another."""
    now, before = _Status(job), _Status(old)
    for name in _COUNTS:
        yield from negative(f"status.{name}", now.fields.get(name))
    yield from _uncounted_errors(now)
    yield from _contradiction_errors(now, before)
    yield from _completion_errors(now, before)
    yield from _ending_errors(now, before)
    yield from _finished_errors(now, before)
    yield from _index_errors(now, before)
    yield from _running_errors(now, before)
    yield from _criteria_errors(now)
    yield from _reversal_errors(now, before)


def _changed(now: _Status, before: _Status, *names: str) -> bool:
    return any(now.fields.get(name) != before.fields.get(name) for name in names)


def _turned(now: _Status, before: _Status, *conditions: str) -> bool:
    return any((each in now.true) != (each in before.true) for each in conditions)


def _uncounted_errors(now: _Status) -> Iterator[FieldError]:
    seen: dict[str, None] = {}
    uncounted = now.fields.get("uncountedTerminatedPods") or {}
    for kind in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(kind) or ()):
            place = f"status.uncountedTerminatedPods.{kind}[{index}]"
            if not uid:
                yield invalid_value(place, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(place, uid)
            seen[uid] = None


def _contradiction_errors(now: _Status, before: _Status) -> Iterator[FieldError]:
    if now.complete and now.failed and _turned(now, before, "Complete", "Failed"):
        yield invalid(_CONDITIONS, "cannot set Complete=True and Failed=true conditions")
    target = "FailureTarget" in now.true
    if now.complete and target and _turned(now, before, "Complete", "FailureTarget"):
        yield invalid(_CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions")


def _completion_errors(now: _Status, before: _Status) -> Iterator[FieldError]:
    start, end = now.fields.get("startTime"), now.fields.get("completionTime")
    place = "status.completionTime"
    if now.complete != before.complete or _changed(now, before, "completionTime"):
        if end is not None and not now.complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            yield invalid_value(place, end, detail)
        if end is None and now.complete:
            yield required(place, "completionTime is required for Complete jobs")
    moved = _changed(now, before, "startTime", "completionTime")
    if moved and start and end and parse_timestamp(end) < parse_timestamp(start):
        yield invalid_value(place, end, "must be equal to or after `startTime`")


def _ending_errors(now: _Status, before: _Status) -> Iterator[FieldError]:
    """Yield that a Job is at its end without having said that it would come to it."""
    fails = _turned(now, before, "Failed") or _changed(now, before, "failedIndexes")
    if now.failed and "FailureTarget" not in now.true and fails:
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        yield invalid(_CONDITIONS, detail)
    met = "SuccessCriteriaMet" in now.true
    if now.complete and not met and _turned(now, before, "Complete", "SuccessCriteriaMet"):
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        yield invalid(_CONDITIONS, detail)


def _finished_errors(now: _Status, before: _Status) -> Iterator[FieldError]:
    """Yield what a Job that is finished can't have."""
    if not now.finished:
        return
    status, turned = now.fields, not before.finished
    if status.get("active", 0) > 0 and (turned or _changed(now, before, "active")):
        detail = "active>0 is invalid for finished job"
        yield invalid_value("status.active", status["active"], detail)
    nothing_to_do = now.spec.get("suspend") and now.spec.get("completions") == 0
    started = "startTime" in status or nothing_to_do
    if not started and (turned or _changed(now, before, "startTime")):
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    some = any(uncounted.get(kind) for kind in ("succeeded", "failed"))
    if some and (turned or _changed(now, before, "uncountedTerminatedPods")):
        place = "status.uncountedTerminatedPods"
        yield invalid_value(place, uncounted, "must be empty for finished job")


def _running_errors(now: _Status, before: _Status) -> Iterator[FieldError]:
    """Yield pods that end after their Job, and more pods ready than there are."""
    terminating, ready = now.fields.get("terminating", 0), now.fields.get("ready")
    turned = now.finished != before.finished or _changed(now, before, "terminating")
    if now.finished and terminating > 0 and turned:
        detail = "terminating>0 is invalid for finished job"
        yield invalid_value("status.terminating", terminating, detail)
    more = ready is not None and ready > now.fields.get("active", 0)
    if more and _changed(now, before, "ready", "active"):
        yield invalid_value("status.ready", ready, "cannot set more ready pods than active")


def _index_errors(now: _Status, before: _Status) -> Iterator[FieldError]:
    completed, failed = now.fields.get("completedIndexes", ""), now.fields.get("failedIndexes")
    limited = "backoffLimitPerIndex" in now.spec
    known: list[list[Interval]] = []
    for name, text in (("completedIndexes", completed), ("failedIndexes", failed)):
        try:
            known.append(intervals(text or "", now.spec.get("completions", INT32_MAX)))
        except IndexesError as error:
            if (limited or name == "completedIndexes") and _changed(now, before, name):
                yield invalid_value(f"status.{name}", text, f"error parsing {name}: {error}")
    indexed = now.spec.get("completionMode") == INDEXED
    if completed and not indexed and _changed(now, before, "completedIndexes"):
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid_value("status.completedIndexes", completed, detail)
    if failed is not None and not limited and _changed(now, before, "failedIndexes"):
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid_value("status.failedIndexes", failed, detail)
    if len(known) > 1 and _changed(now, before, "failedIndexes", "completedIndexes"):
        for both in islice(common(*known), 1):
            detail = f"failedIndexes and completedIndexes overlap at index: {both}"
            yield invalid_value("status.failedIndexes", failed, detail)


def _criteria_errors(now: _Status) -> Iterator[FieldError]:
    met = "SuccessCriteriaMet" in now.true
    if met and now.failed:
        yield invalid(_CONDITIONS, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and "FailureTarget" in now.true:
        detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"
        yield invalid(_CONDITIONS, detail)
    if "successPolicy" in now.spec and not met and now.complete:
        detail = (
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        )
        yield invalid(_CONDITIONS, detail)


def _reversal_errors(now: _Status, before: _Status) -> Iterator[FieldError]:
    """Yield what was said of a Job once and can't be taken back."""
    for name in ("Failed", "Complete", "FailureTarget"):
        if name in before.true and name not in now.true:
            yield invalid(_CONDITIONS, f"cannot disable the terminal {name}=True condition")
    spec = now.spec
    elastic = spec.get("completionMode") == INDEXED and (
        spec.get("completions") == spec.get("parallelism")
    )
    for name in ("failed",) if elastic else ("failed", "succeeded"):
        count = now.fields.get(name, 0)
        if count < before.fields.get(name, 0):
            yield invalid_value(f"status.{name}", count, f"cannot decrease the {name} counter")
    yield from _moved_errors(now, before)
    met, was_met = "SuccessCriteriaMet" in now.true, "SuccessCriteriaMet" in before.true
    if was_met and not met:
        yield invalid(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition")
    if before.complete and not was_met and met:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield invalid(_CONDITIONS, detail)


def _moved_errors(now: _Status, before: _Status) -> Iterator[FieldError]:
    """Yield the times that were told once and have changed."""
    end, ended = now.fields.get("completionTime"), before.fields.get("completionTime")
    if end is not None and ended is not None:
        yield from unchanged("status.completionTime", end, ended)
    start, started = now.fields.get("startTime"), before.fields.get("startTime")
    resumes = "Suspended" in before.true and "Suspended" in now.false
    if started not in {None, start} and not resumes and not now.spec.get("suspend"):
        detail = "field is immutable for unsuspended job once set"
        yield invalid_value("status.startTime", start, detail)
