"""
Read from a Job and its pods what is so: counts, indexes, and whether the Job has to end.

Nothing is decided here but the end itself. Pods are those that the Job controls, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from muster.queue.api.timestamps import format_second, parse_timestamp
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.jobs import pods as pod_facts
from muster.queue.simulated.jobs.backoff import Backoff
from muster.queue.simulated.jobs.conditions import Verdict, true_condition
from muster.queue.simulated.jobs.indexes import NO_INDEXES, Indexes
from muster.queue.simulated.jobs.policies import (
    judge_failure,
    met_success_rule,
    only_replaces_failed,
)

_US: Final = 1_000_000
_FAILURE: Final = "FailureTarget"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """The indexes of an indexed Job; all empty for other Jobs."""

    written: Indexes = NO_INDEXES
    """Succeeded, as the status says already."""
    succeeded: Indexes = NO_INDEXES
    failed: Indexes | None = None
    """None without a backoffLimitPerIndex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """One Job at one instant."""

    job: Manifest
    pods: tuple[Manifest, ...]
    now_us: int
    active: tuple[Manifest, ...]
    uncounted: dict[str, list[str]]
    """The uids that the status lists, by outcome: finished and not in the numbers yet."""
    succeeded: int
    failed: int
    start_time: str | None
    deadline_us: int | None
    """When a Job that goes on now runs out of its activeDeadlineSeconds."""
    backoff: Backoff
    indexes: IndexState
    replaceable: dict[int, Manifest]
    """By index, the last failed pod: kept until its successor has taken over its failure count."""
    verdict: Verdict | None
    """How the Job has to end, None if it goes on."""

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.job["spec"]
        return spec

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.job.get("status", {})
        return status

    @property
    def is_indexed(self) -> bool:
        return is_indexed(self.job)

    @property
    def is_suspended(self) -> bool:
        return is_suspended(self.job)

    @property
    def terminating(self) -> int:
        return sum(map(pod_facts.is_terminating, self.pods))

    @property
    def ready(self) -> int:
        return sum(map(pod_facts.is_ready, self.active))


def is_indexed(job: Manifest) -> bool:
    """Whether each pod of a Job works on an index of its own."""
    indexed: bool = job["spec"].get("completionMode") == "Indexed"
    return indexed


def is_suspended(job: Manifest) -> bool:
    """Whether a Job is to have no pods for now."""
    suspended: bool = job["spec"].get("suspend", False)
    return suspended


def has_failed(job: Manifest, pod: Manifest) -> bool:
    """Whether a pod counts as failed: with most Jobs also one that is deleted while it runs."""
    if pod_facts.phase(pod) == "Failed":
        return True
    if only_replaces_failed(job):
        return False
    return pod_facts.is_deleted(pod) and pod_facts.phase(pod) != "Succeeded"


def has_valid_index(job: Manifest, pod: Manifest) -> bool:
    """Whether a pod works on an index of the Job; any pod of a Job without indexes does."""
    if not is_indexed(job):
        return True
    completions: int = job["spec"]["completions"]
    return 0 <= pod_facts.completion_index(pod) < completions


def assess(job: Manifest, pods: Sequence[Manifest], backoff: Backoff, now_us: int) -> Assessment:
    """Return what is so at `now_us`; `backoff` is what the last assessment left."""
    status = job.get("status", {})
    listed = status.get("uncountedTerminatedPods", {})
    uncounted = {outcome: list(listed.get(outcome, ())) for outcome in ("succeeded", "failed")}
    new_successes = _new(job, pods, uncounted["succeeded"], _has_succeeded)
    new_failures = _new(job, pods, uncounted["failed"], lambda pod: has_failed(job, pod))
    counted_failures = [pod for pod in new_failures if judge_failure(job, pod).counts]
    failed = status.get("failed", 0) + len(counted_failures) + len(uncounted["failed"])
    succeeded = status.get("succeeded", 0) + len(new_successes) + len(uncounted["succeeded"])
    indexes = _indexes(job, pods)
    if is_indexed(job):
        succeeded = len(indexes.succeeded)
    start_time = status.get("startTime")
    if start_time is None and not is_suspended(job):
        start_time = format_second(now_us)
    deadline_us = _deadline_us(job, start_time)
    active = tuple(filter(pod_facts.is_active, pods))
    return Assessment(
        job=job,
        pods=tuple(pods),
        now_us=now_us,
        active=active,
        uncounted=uncounted,
        succeeded=succeeded,
        failed=failed,
        start_time=start_time,
        deadline_us=deadline_us,
        backoff=backoff.after(new_successes, new_failures),
        indexes=indexes,
        replaceable=_replaceable(job, pods, indexes, active),
        verdict=_announced(job)
        or _failure(job, pods, failed, is_late=deadline_us is not None and deadline_us <= now_us)
        or _end_by_indexes(job, indexes),
    )


def _has_succeeded(pod: Manifest) -> bool:
    return pod_facts.phase(pod) == "Succeeded"


def _new(
    job: Manifest,
    pods: Iterable[Manifest],
    uncounted: list[str],
    ended: Callable[[Manifest], bool],
) -> list[Manifest]:
    """Return the pods that have ended so and are in no list and no number of the status."""
    known = frozenset(uncounted)
    return [
        pod
        for pod in pods
        if pod_facts.is_tracked(pod)
        and ended(pod)
        and pod_facts.uid(pod) not in known
        and has_valid_index(job, pod)
    ]


def _deadline_us(job: Manifest, start_time: str | None) -> int | None:
    limit_s: int | None = job["spec"].get("activeDeadlineSeconds")
    if limit_s is None or start_time is None or is_suspended(job):
        return None
    return parse_timestamp(start_time) + limit_s * _US


# -- indexes ----------------------------------------------------------------------------------


def _indexes(job: Manifest, pods: Iterable[Manifest]) -> IndexState:
    if not is_indexed(job):
        return IndexState()
    status = job.get("status", {})
    completions = job["spec"]["completions"]
    tracked = [pod for pod in pods if pod_facts.is_tracked(pod) and has_valid_index(job, pod)]
    written = Indexes.parse(status.get("completedIndexes", ""), completions)
    succeeded = written | Indexes.of(
        pod_facts.completion_index(pod) for pod in tracked if _has_succeeded(pod)
    )
    if "backoffLimitPerIndex" not in job["spec"]:
        return IndexState(written=written, succeeded=succeeded)
    failed = Indexes.parse(status.get("failedIndexes", ""), completions) | Indexes.of(
        pod_facts.completion_index(pod) for pod in tracked if _fails_index(job, pod)
    )
    return IndexState(written=written, succeeded=succeeded, failed=failed)


def _fails_index(job: Manifest, pod: Manifest) -> bool:
    if not has_failed(job, pod):
        return False
    failure = judge_failure(job, pod)
    limit: int = job["spec"]["backoffLimitPerIndex"]
    return failure.fails_index or (failure.counts and pod_facts.failures(pod) >= limit)


def _replaceable(
    job: Manifest, pods: Iterable[Manifest], indexes: IndexState, active: Iterable[Manifest]
) -> dict[int, Manifest]:
    if indexes.failed is None:
        return {}
    over = indexes.succeeded | indexes.failed
    replaced = {pod_facts.completion_index(pod) for pod in active}
    last: dict[int, Manifest] = {}
    for pod in pods:
        index = pod_facts.completion_index(pod)
        if not (pod_facts.is_tracked(pod) and has_failed(job, pod) and has_valid_index(job, pod)):
            continue
        if index in over or index in replaced:
            continue
        if index not in last or _seniority(last[index]) <= _seniority(pod):
            last[index] = pod
    return last


def _seniority(pod: Manifest) -> tuple[int, int]:
    earlier = pod_facts.failures(pod) + pod_facts.ignored_failures(pod)
    return earlier, pod_facts.finished_us(pod)


# -- the end ----------------------------------------------------------------------------------


def _announced(job: Manifest) -> Verdict | None:
    """Return the end that the status announces already: it is never reconsidered."""
    conditions = job.get("status", {}).get("conditions", ())
    for announced, type_ in (("SuccessCriteriaMet", "SuccessCriteriaMet"), (_FAILURE, "Failed")):
        if found := true_condition(conditions, announced):
            return Verdict(type_, found.get("reason", ""), found.get("message", ""))
    return None


def _failure(
    job: Manifest, pods: Iterable[Manifest], failed: int, *, is_late: bool
) -> Verdict | None:
    for pod in pods:
        if has_failed(job, pod) and (message := judge_failure(job, pod).fails_job):
            return Verdict(_FAILURE, "PodFailurePolicy", message)
    limit = job["spec"]["backoffLimit"]
    if failed > limit or _restarts_exceed(job, pods, limit):
        message = "Job has reached the specified backoff limit"
        return Verdict(_FAILURE, "BackoffLimitExceeded", message)
    if is_late:
        message = "Job was active longer than specified deadline"
        return Verdict(_FAILURE, "DeadlineExceeded", message)
    return None


def _restarts_exceed(job: Manifest, pods: Iterable[Manifest], limit: int) -> bool:
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = pod_facts.restarts(pods)
    return restarts >= max(limit, 1)


def _end_by_indexes(job: Manifest, indexes: IndexState) -> Verdict | None:
    if not is_indexed(job):
        return None
    spec = job["spec"]
    if indexes.failed:
        if "maxFailedIndexes" in spec and len(indexes.failed) > spec["maxFailedIndexes"]:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return Verdict(_FAILURE, "MaxFailedIndexesExceeded", message)
        if len(indexes.failed) + len(indexes.succeeded) >= spec["completions"]:
            return Verdict(_FAILURE, "FailedIndexes", "Job has failed indexes")
    if message := met_success_rule(job, indexes.succeeded):
        return Verdict("SuccessCriteriaMet", "SuccessPolicy", message)
    return None
