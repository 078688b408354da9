"""Delete finished Jobs once their ttlSecondsAfterFinished have passed, and their pods with them."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Final

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.client.informer import Change, Informer, Key
from muster.queue.client.kinds import JOB
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import ignoring
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.jobs.conditions import finish_condition

_US: Final = 1_000_000


def expiry_us(job: Manifest) -> int | None:
    """Return the instant from which a Job may be deleted, None if it is not to be."""
    ttl_s: int | None = job["spec"].get("ttlSecondsAfterFinished")
    finished = finish_condition(job)
    if ttl_s is None or finished is None or "deletionTimestamp" in job["metadata"]:
        return None
    return parse_timestamp(finished["lastTransitionTime"]) + ttl_s * _US


class JobExpiry:
    """Deletes Jobs whose time is up, whoever manages them."""

    def __init__(self, client: Client, clock: Clock, rng: Random) -> None:
        self._client = client
        self._clock = clock
        self._jobs = Informer(client, JOB, clock, rng)
        self._jobs.listen(self._changed)
        self._queue: WorkQueue[Key] = WorkQueue(clock, rng)

    async def run(self) -> None:
        """Delete Jobs until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._jobs.run())
            tasks.create_task(self._queue.run(self._sync, workers=1))

    def _changed(self, change: Change) -> None:
        if change.new is not None and expiry_us(change.new) is not None:
            self._queue.add(change.key)

    async def _sync(self, key: Key) -> None:
        job = self._jobs.objects.get(key)
        if job is None or self._waits(key, job):
            return
        with ignoring("NotFound"):
            # The mirror may lag behind a Job that was given more time, or made anew.
            job = await self._client.get(JOB, key.name, key.namespace)
            if self._waits(key, job):
                return
            preconditions = {"uid": job["metadata"]["uid"]}
            options = {"propagationPolicy": "Foreground", "preconditions": preconditions}
            await self._client.delete(JOB, key.name, key.namespace, options=options)

    def _waits(self, key: Key, job: Manifest) -> bool:
        """Whether a Job is not to be deleted now; one whose time comes later is looked at then."""
        due_us = expiry_us(job)
        left_us = 0 if due_us is None else due_us - self._clock.now_us()
        if left_us > 0:
            self._queue.add_after(key, left_us / _US)
        return due_us is None or left_us > 0
