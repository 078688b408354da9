"""
Carry out on an API server what is planned and accounted for each Job.

A Job is not looked at again before the mirrors show what was written because of it the last time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from muster.queue.client.informer import Change, Informer, Key
from muster.queue.client.kinds import JOB, POD
from muster.queue.client.protocol import Client, Disconnected, Manifest
from muster.queue.client.refusal import Refusal
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.events import Recorder, Subject
from muster.queue.simulated.jobs import pods as pod_facts
from muster.queue.simulated.jobs.accounting import Account, Outcome, account, written
from muster.queue.simulated.jobs.assessment import Assessment, assess
from muster.queue.simulated.jobs.backoff import NO_BACKOFF, Backoff
from muster.queue.simulated.jobs.conditions import finish_condition
from muster.queue.simulated.jobs.planning import NewPod, PodChanges, plan_pods
from muster.queue.simulated.jobs.templates import pod_manifest
from muster.queue.simulated.revising import version, without_finalizer

DEFAULT_MANAGER: Final = "kubernetes.io/job-controller"
COMPONENT: Final = "job-controller"

_WORKERS: Final = 5
_BATCH_S: Final = 1.0
"""Changes of pods are taken together for so long."""
_SEEN_MAX_S: Final = 5.0
"""How long to wait for the mirrors to show what was written."""
_SLOW_START: Final = 1
"""Pods created at first; twice as many after each success."""
_RETRY_FIRST_S: Final = 1.0
_RETRY_LONGEST_S: Final = 60.0
_US: Final = 1_000_000


@dataclass(slots=True)
class _Memory:
    """What the controller alone knows of a Job."""

    uid: str
    backoff: Backoff = NO_BACKOFF
    job_version: int = 0
    """The resourceVersion of the Job as it was written last."""
    pod_version: int = 0
    """The highest resourceVersion that writing its pods led to."""
    deleted: set[str] = field(default_factory=set)
    """Uids of pods that were deleted and have not been seen so."""
    failures: int = 0
    """Times in a row that pods could not be created or deleted."""
    until_us: int = 0
    """When to go on although the mirrors do not show all this."""


class JobController:
    """Runs the Jobs whose spec.managedBy is `manager`; without one, it is the default."""

    def __init__(
        self, client: Client, clock: Clock, rng: Random, *, manager: str = DEFAULT_MANAGER
    ) -> None:
        self._client = client
        self._clock = clock
        self._manager = manager
        self._jobs = Informer(client, JOB, clock, rng)
        self._pods = Informer(client, POD, clock, rng)
        self._jobs.listen(self._job_changed)
        self._pods.listen(self._pod_changed)
        self._events = Recorder(client, clock, COMPONENT)
        self._queue: WorkQueue[Key] = WorkQueue(clock, rng)
        self._orphans: WorkQueue[Key] = WorkQueue(clock, rng)
        self._memories: dict[Key, _Memory] = {}
        self._owned: dict[str, dict[Key, None]] = {}
        """Pods by the uid of the Job that controls them."""
        self._seen_pods = 0
        """The highest resourceVersion among the changes of pods."""

    async def run(self) -> None:
        """Run Jobs until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._events.run())
            tasks.create_task(self._jobs.run())
            await self._jobs.synced.wait()
            tasks.create_task(self._pods.run())
            await self._pods.synced.wait()
            tasks.create_task(self._queue.run(self._sync, workers=_WORKERS))
            tasks.create_task(self._orphans.run(self._sync_orphan, workers=1))

    # -- what changed -------------------------------------------------------------------------

    def _job_changed(self, change: Change) -> None:
        key, old, new = change
        if new is None:
            self._memories.pop(key, None)
            self._check_orphans(old)
        elif finish_condition(new):
            self._check_orphans(new)
        elif old is None or old["metadata"].get("generation") != new["metadata"].get("generation"):
            self._queue.add(key)
        else:
            self._queue.add_after(key, 0 if pod_facts.is_deleted(new) else _BATCH_S)

    def _check_orphans(self, job: Manifest | None) -> None:
        if job is not None:
            for key in self._owned.get(job["metadata"]["uid"], ()):
                self._orphans.add(key)

    def _pod_changed(self, change: Change) -> None:
        key, old, new = change
        latest = new or old
        assert latest is not None, "one of them is there"
        self._seen_pods = max(self._seen_pods, version(latest))
        for pod, owns in ((old, False), (new, True)):
            owner = _controller(pod)
            if owner is None:
                continue
            owned = self._owned.setdefault(owner["uid"], {})
            owned.pop(key, None)
            if owns:
                owned[key] = None
            if not owned:
                del self._owned[owner["uid"]]
            job_key = Key(key.namespace, owner["name"])
            if job_key in self._jobs.objects:
                self._queue.add_after(job_key, _BATCH_S)
        if new is not None and pod_facts.is_tracked(new) and self._is_orphan(new):
            self._orphans.add(key)

    # -- pods that no Job counts --------------------------------------------------------------

    def _is_orphan(self, pod: Manifest) -> bool:
        owner = _controller(pod)
        if owner is None:
            return _any_controller(pod) is None
        job = self._jobs.objects.get(Key(pod["metadata"]["namespace"], owner["name"]))
        if job is None or job["metadata"]["uid"] != owner["uid"]:
            return True
        return self._is_mine(job) and finish_condition(job) is not None

    async def _sync_orphan(self, key: Key) -> None:
        pod = self._pods.objects.get(key)
        if pod is not None and pod_facts.is_tracked(pod) and self._is_orphan(pod):
            await self._release(pod)

    # -- one Job ------------------------------------------------------------------------------

    def _is_mine(self, job: Manifest) -> bool:
        manager: str = job["spec"].get("managedBy", DEFAULT_MANAGER)
        return manager == self._manager

    async def _sync(self, key: Key) -> None:
        job = self._jobs.objects.get(key)
        if job is None or not self._is_mine(job) or finish_condition(job):
            self._memories.pop(key, None)
            return
        uid = job["metadata"]["uid"]
        memory = self._memories.get(key)
        if memory is None or memory.uid != uid:
            memory = self._memories[key] = _Memory(uid)
        pods = [self._pods.objects[each] for each in self._owned.get(uid, ())]
        now_us = self._clock.now_us()
        if not self._shows(memory, job, pods) and now_us < memory.until_us:
            # The change that is missing brings the Job back here; this is for when it was missed.
            self._queue.add_after(key, (memory.until_us - now_us) / _US)
            return
        assessment = assess(job, pods, memory.backoff, now_us)
        changes = plan_pods(assessment)
        memory.until_us = now_us + round(_SEEN_MAX_S * _US)
        outcome, failures = await self._change(memory, job, changes)
        result = account(assessment, changes, outcome)
        await self._write(memory, assessment, result)
        if changes.again_us is not None:
            self._queue.add_after(key, (changes.again_us - self._clock.now_us()) / _US)
        memory.failures = memory.failures + 1 if failures else 0
        if failures:
            delay_s = min(_RETRY_FIRST_S * 2 ** (memory.failures - 1), _RETRY_LONGEST_S)
            self._queue.add_after(key, delay_s)

    def _shows(self, memory: _Memory, job: Manifest, pods: Iterable[Manifest]) -> bool:
        """Whether the mirrors show what was written."""
        memory.deleted.intersection_update(map(pod_facts.uid, filter(pod_facts.is_active, pods)))
        return (
            not memory.deleted
            and self._seen_pods >= memory.pod_version
            and version(job) >= memory.job_version
        )

    async def _change(
        self, memory: _Memory, job: Manifest, changes: PodChanges
    ) -> tuple[Outcome, int]:
        """Create and delete pods; return what was done and how much failed."""
        failures = created = 0
        left: Sequence[NewPod] = changes.create
        batch = _SLOW_START
        # If a first pod is refused the others most likely would be: don't even ask.
        while left and not failures:
            now, left = left[:batch], left[batch:]
            batch *= 2
            answers = await asyncio.gather(*(self._create(memory, job, new) for new in now))
            created += sum(answers)
            failures += len(answers) - sum(answers)
        deletions = (
            self._delete(memory, job, pod, keep_finalizer=changes.keep_finalizers)
            for pod in changes.delete
        )
        answers = await asyncio.gather(*deletions)
        deleted = [pod for pod, done in zip(changes.delete, answers, strict=True) if done]
        return Outcome(created, deleted), failures + len(answers) - len(deleted)

    async def _create(self, memory: _Memory, job: Manifest, new: NewPod) -> bool:
        """Create a pod; return whether that was done."""
        namespace = job["metadata"]["namespace"]
        try:
            pod = await self._client.create(POD, pod_manifest(job, new), namespace)
        except (Refusal, Disconnected) as error:
            if not _is_namespace_ending(error):
                self._tell(job, "Warning", "FailedCreate", f"Error creating: {error}")
            return False
        memory.pod_version = max(memory.pod_version, version(pod))
        self._tell(job, "Normal", "SuccessfulCreate", f"Created pod: {pod_facts.name(pod)}")
        return True

    async def _delete(
        self, memory: _Memory, job: Manifest, pod: Manifest, *, keep_finalizer: bool
    ) -> bool:
        """Delete a pod; return whether it is gone or going."""
        name, namespace = pod_facts.name(pod), pod["metadata"]["namespace"]
        memory.deleted.add(pod_facts.uid(pod))
        options = {"preconditions": {"uid": pod_facts.uid(pod)}}
        try:
            if not keep_finalizer:
                memory.pod_version = max(memory.pod_version, await self._release(pod))
            await self._client.delete(POD, name, namespace, options=options)
        except (Refusal, Disconnected) as error:
            if isinstance(error, Refusal) and error.reason == "NotFound":
                return True
            memory.deleted.discard(pod_facts.uid(pod))
            self._tell(job, "Warning", "FailedDelete", f"Error deleting: {error}")
            return False
        self._tell(job, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")
        return True

    async def _write(self, memory: _Memory, assessment: Assessment, result: Account) -> None:
        """Write down how pods ended, let them go, and turn them into numbers, in this order."""
        job = assessment.job
        job = await self._write_status(memory, job, written(result.first))
        if job is not assessment.job:
            memory.backoff = assessment.backoff
        for event in result.events:
            self._tell(job, *event)
        versions = await asyncio.gather(*(self._release(pod) for pod in result.release))
        memory.pod_version = max(memory.pod_version, *versions, 0)
        job = await self._write_status(memory, job, written(result.then))
        for event in result.last_events:
            self._tell(job, *event)

    async def _write_status(
        self, memory: _Memory, job: Manifest, status: dict[str, Any]
    ) -> Manifest:
        """Write a status unless it is there; return the Job as it is then."""
        if job.get("status", {}) == status:
            return job
        changed = {"apiVersion": JOB.api_version, "kind": JOB.kind, **job, "status": status}
        answer = await self._client.replace(JOB, changed, subresource="status")
        memory.job_version = version(answer)
        return answer

    async def _release(self, pod: Manifest) -> int:
        """Remove the finalizer of a pod; return the resourceVersion that this led to."""
        answer = await without_finalizer(self._client, POD, pod, pod_facts.TRACKING_FINALIZER)
        return 0 if answer is None else version(answer)

    def _tell(self, job: Manifest, type_: str, reason: str, message: str) -> None:
        self._events.count(Subject(JOB, job), type_, reason, message)


def _controller(pod: Manifest | None) -> Manifest | None:
    """Return the reference to the Job that controls a pod."""
    found = _any_controller(pod)
    if found is None or (found["apiVersion"], found["kind"]) != (JOB.api_version, JOB.kind):
        return None
    return found


def _any_controller(pod: Manifest | None) -> Manifest | None:
    for owner in () if pod is None else pod["metadata"].get("ownerReferences", ()):
        if owner.get("controller"):
            found: Manifest = owner
            return found
    return None


def _is_namespace_ending(error: Refusal | Disconnected) -> bool:
    return isinstance(error, Refusal) and any(
        cause.get("reason") == "NamespaceTerminating" for cause in error.causes
    )
