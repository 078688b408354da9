"""
One Job and its pods in memory, and a Job controller that can die after any write.

It performs what the pure parts of the controller plan, in the order in which the real shell does,
so that their promises can be tried without an API server.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from muster.queue.api.timestamps import format_second
from muster.queue.simulated.jobs import pods as pod_facts
from muster.queue.simulated.jobs.accounting import JobEvent, Outcome, account, written
from muster.queue.simulated.jobs.assessment import assess
from muster.queue.simulated.jobs.backoff import NO_BACKOFF
from muster.queue.simulated.jobs.conditions import finish_condition
from muster.queue.simulated.jobs.planning import plan_pods
from muster.queue.simulated.jobs.templates import pod_manifest

Manifest = dict[str, Any]

EPOCH_US = 1_767_225_600_000_000


class Crash(Exception):  # noqa: N818 - it is what happens, not a mistake
    """The controller died between two writes."""


def job(**spec: Any) -> Manifest:
    """Return a Job as the API server would default it."""
    template = {
        "metadata": {"labels": {"batch.kubernetes.io/job-name": "work"}},
        "spec": {"containers": [{"name": "main", "image": "work"}], "restartPolicy": "Never"},
    }
    defaults = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "template": template,
    }
    given = {**defaults, **spec}
    return {
        "metadata": {"name": "work", "namespace": "default", "uid": "uid-work"},
        "spec": {name: value for name, value in given.items() if value is not None},
        "status": {},
    }


class World:
    """What the API server holds; `now_s` passes only when a test says so."""

    def __init__(self, the_job: Manifest) -> None:
        self.job = the_job
        self.pods: dict[str, Manifest] = {}
        self.now_s = 0
        self.events: list[JobEvent] = []
        self.again_us: int | None = None
        self.writes_left: int | None = None
        """Before the controller dies; None for a long life."""
        self._backoff = NO_BACKOFF
        self._serial = itertools.count()

    @property
    def now_us(self) -> int:
        return EPOCH_US + self.now_s * 1_000_000

    @property
    def status(self) -> Manifest:
        status: Manifest = self.job["status"]
        return status

    def conditions(self) -> list[tuple[str, str, str]]:
        return [
            (each["type"], each["status"], each["reason"])
            for each in self.status.get("conditions", ())
        ]

    def active(self) -> list[Manifest]:
        return [pod for pod in self.pods.values() if pod_facts.is_active(pod)]

    # -- what others do -----------------------------------------------------------------------

    def run(self, name: str, *, ready: bool = True) -> None:
        """Start a pod as a kubelet does."""
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": self._now()}
        self._set(name, phase="Running", conditions=[condition])

    def end(self, name: str, exit_code: int = 0, conditions: list[Manifest] | None = None) -> None:
        """End a pod as a kubelet does."""
        terminated = {"exitCode": exit_code, "finishedAt": self._now()}
        self._set(
            name,
            phase="Failed" if exit_code else "Succeeded",
            conditions=conditions or [],
            containerStatuses=[{"name": "main", "state": {"terminated": terminated}}],
        )

    def delete(self, name: str) -> None:
        """Begin to delete a pod; one without node or finalizer is gone at once."""
        pod = self.pods[name]
        metadata = {"deletionTimestamp": self._now(), **pod["metadata"]}
        self.pods[name] = {**pod, "metadata": metadata}
        self._collect(name, stops=pod_facts.phase(pod) != "Running")

    def stop(self, name: str) -> None:
        """End a deleted pod as a kubelet does once its containers have stopped."""
        self._set(name, phase="Failed")
        self._collect(name, stops=True)

    def _collect(self, name: str, *, stops: bool) -> None:
        pod = self.pods[name]
        if stops and pod_facts.is_deleted(pod) and not pod["metadata"]["finalizers"]:
            del self.pods[name]

    def _set(self, name: str, **status: Any) -> None:
        pod = self.pods[name]
        self.pods[name] = {**pod, "status": {**pod["status"], **status}}

    def _now(self) -> str:
        return format_second(self.now_us)

    # -- what the controller does -------------------------------------------------------------

    def sync(self) -> None:
        """Do once what the controller does; raises Crash when its writes are used up."""
        if finish_condition(self.job):
            return
        assessment = assess(self.job, list(self.pods.values()), self._backoff, self.now_us)
        changes = plan_pods(assessment)
        self.again_us = changes.again_us
        for new in changes.create:
            self._write(self._create, pod_manifest(self.job, new))
        for pod in changes.delete:
            if not changes.keep_finalizers:
                self._write(self._release, pod_facts.name(pod))
            if pod_facts.name(pod) in self.pods:
                self._write(self.delete, pod_facts.name(pod))
        result = account(assessment, changes, Outcome(len(changes.create), changes.delete))
        if written(result.first) != self.status:
            self._write(self._set_status, written(result.first))
            self._backoff = assessment.backoff
        self.events += result.events
        for pod in result.release:
            if pod_facts.name(pod) in self.pods:
                self._write(self._release, pod_facts.name(pod))
        if written(result.then) != self.status:
            self._write(self._set_status, written(result.then))
        self.events += result.last_events

    def settle(self) -> None:
        """Sync until nothing changes any more."""
        for _ in range(20):
            before = (self.job, dict(self.pods))
            self.sync()
            if before == (self.job, self.pods):
                return
        raise AssertionError("the controller never comes to rest")

    def restart(self) -> None:
        """Forget what only the controller knew."""
        self._backoff = NO_BACKOFF

    def _write(self, write: Callable[[Any], None], argument: Any) -> None:
        if self.writes_left is not None:
            if not self.writes_left:
                raise Crash
            self.writes_left -= 1
        write(argument)

    def _create(self, pod: Manifest) -> None:
        name = f"{pod['metadata']['generateName']}{next(self._serial):05}"
        added = {"name": name, "uid": f"uid-{name}", "creationTimestamp": self._now()}
        metadata = {**pod["metadata"], **added}
        self.pods[name] = {**pod, "metadata": metadata, "status": {"phase": "Pending"}}

    def _release(self, name: str) -> None:
        pod = self.pods[name]
        self.pods[name] = {**pod, "metadata": {**pod["metadata"], "finalizers": []}}
        self._collect(name, stops=pod_facts.phase(pod) != "Running")

    def _set_status(self, status: Manifest) -> None:
        self.job = {**self.job, "status": status}


def started(**spec: Any) -> World:
    """Return a Job with the pods that it starts with, all of them running."""
    world = World(job(**spec))
    world.settle()
    for name in list(world.pods):
        world.run(name)
    world.settle()
    return world


def names(world: World) -> list[str]:
    return sorted(world.pods)


def reasons(world: World) -> list[str]:
    return [event.reason for event in world.events]


def indexes(world: World) -> list[int]:
    return sorted(pod_facts.completion_index(pod) for pod in world.active())
