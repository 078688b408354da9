"""Decide which pods a Job gets and which it loses now, from what is so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from muster.queue.client.protocol import Manifest
from muster.queue.simulated.jobs import pods as pod_facts
from muster.queue.simulated.jobs.assessment import Assessment
from muster.queue.simulated.jobs.backoff import index_backoff
from muster.queue.simulated.jobs.indexes import NO_INDEXES, Indexes
from muster.queue.simulated.jobs.policies import judge_failure, only_replaces_failed

CHANGES_MAX: Final = 500
"""Pods created or deleted at a time, so that one large Job does not hold up the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPod:
    """A pod to create."""

    index: int = pod_facts.NO_INDEX
    failures: int | None = None
    """What its annotation says of the pods before it; None without a limit per index."""
    ignored_failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PodChanges:
    """Pods to create or to delete, never both."""

    create: tuple[NewPod, ...] = ()
    delete: tuple[Manifest, ...] = ()
    keep_finalizers: bool = False
    """Whether deleted pods are still to be counted: those of a Job that fails or succeeds are."""
    again_us: int | None = None
    """When to look again, if time alone can change the answer."""
    considered: bool = True
    """Whether the Job goes on, so that its being suspended or not is worth saying."""


def plan_pods(assessment: Assessment) -> PodChanges:
    """Return the pods that a Job needs or has too many of."""
    job = assessment.job
    active = len(assessment.active)
    if assessment.verdict is not None:
        return PodChanges(delete=assessment.active, keep_finalizers=True, considered=False)
    if pod_facts.is_deleted(job):
        return PodChanges(considered=False, again_us=assessment.deadline_us)
    if assessment.is_suspended:
        return PodChanges(delete=_superfluous(assessment, active))
    wanted = _wanted_active(assessment)
    superfluous = _superfluous(assessment, max(active - wanted, 0))[:CHANGES_MAX]
    if superfluous:
        return PodChanges(delete=superfluous, again_us=assessment.deadline_us)
    terminating = assessment.terminating if only_replaces_failed(job) else 0
    missing = wanted - terminating - active
    if missing <= 0:
        return PodChanges(again_us=assessment.deadline_us)
    create, again_us = _new_pods(assessment, min(missing, CHANGES_MAX))
    return PodChanges(create=create, again_us=_earliest(again_us, assessment.deadline_us))


def _wanted_active(assessment: Assessment) -> int:
    parallelism: int = assessment.spec["parallelism"]
    completions: int | None = assessment.spec.get("completions")
    if completions is not None:
        return max(0, min(completions - assessment.succeeded, parallelism))
    # Without a number of completions, the first success says that the work is done: from then on
    # pods only finish.
    return len(assessment.active) if assessment.succeeded else parallelism


def _new_pods(assessment: Assessment, missing: int) -> tuple[tuple[NewPod, ...], int | None]:
    """Return the pods to create now, and when to look again for those that have to wait."""
    now_us = assessment.now_us
    if assessment.indexes.failed is None:
        over_us = assessment.backoff.over_us()
        if over_us > now_us:
            return (), over_us
        if not assessment.is_indexed:
            return (NewPod(),) * missing, None
        return tuple(NewPod(index=index) for index in _pending(assessment, missing)), None
    ready = []
    waiting = []
    for index in _pending(assessment, missing):
        failed = assessment.replaceable.get(index)
        if failed is None:
            ready.append(NewPod(index=index, failures=0))
        elif (over_us := index_backoff(failed).over_us()) > now_us:
            waiting.append(over_us)
        else:
            ready.append(_successor(assessment.job, index, failed))
    return tuple(ready), min(waiting, default=None)


def _successor(job: Manifest, index: int, failed: Manifest) -> NewPod:
    counts = judge_failure(job, failed).counts
    return NewPod(
        index=index,
        failures=pod_facts.failures(failed) + counts,
        ignored_failures=pod_facts.ignored_failures(failed) + (not counts),
    )


def _pending(assessment: Assessment, count: int) -> list[int]:
    """Return the lowest indexes that nobody works on and that are not over."""
    taken = assessment.indexes.succeeded | _indexes_of(assessment.active)
    taken |= assessment.indexes.failed or NO_INDEXES
    if only_replaces_failed(assessment.job):
        taken |= _indexes_of(filter(pod_facts.is_terminating, assessment.pods))
    return list(islice(taken.missing(assessment.spec["completions"]), count))


def _indexes_of(pods: Iterable[Manifest]) -> Indexes:
    return Indexes.of(
        index for index in map(pod_facts.completion_index, pods) if index != pod_facts.NO_INDEX
    )


def _superfluous(assessment: Assessment, at_least: int) -> tuple[Manifest, ...]:
    """Return active pods to delete: those whose index is wrong or taken, then the youngest."""
    ordered = sorted(assessment.active, key=pod_facts.dispensability)
    removed: list[Manifest] = []
    kept = ordered
    if assessment.is_indexed:
        kept = []
        by_index = sorted(ordered, key=pod_facts.completion_index)
        for index, group in groupby(by_index, pod_facts.completion_index):
            pods = list(group)
            valid = 0 <= index < assessment.spec["completions"]
            removed += pods[:-1] if valid else pods
            kept += pods[-1:] if valid else []
        kept.sort(key=pod_facts.dispensability)
    return tuple(removed + kept[: max(at_least - len(removed), 0)])


def _earliest(*instants_us: int | None) -> int | None:
    return min((each for each in instants_us if each is not None), default=None)
