"""Tell the scheduler's core what happens on an API server, and carry out there what it decides."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, Final
from zlib import crc32

from muster.queue.client.informer import Change, Informer
from muster.queue.client.kinds import NODE, POD
from muster.queue.client.protocol import Client, Disconnected, Manifest
from muster.queue.client.refusal import Refusal, ignoring
from muster.queue.clock import Clock
from muster.queue.simulated.conditions import condition, dated
from muster.queue.simulated.events import Recorder, Subject
from muster.queue.simulated.revising import revise
from muster.queue.simulated.scheduler.accounts import PlacedPod
from muster.queue.simulated.scheduler.core import (
    DEFAULT_NAME,
    Bind,
    Decision,
    Refuse,
    Scheduler,
)

_LANES: Final = 16
"""Decisions carried out at a time; those about one pod one after the other."""
_LANE_MAX: Final = 64
_RETRY_S: Final = 1.0
_RECONSIDER_S: Final = 1.0
"""Changes of nodes are taken together for so long before all pods are told what they mean."""


class SchedulerController:
    """Schedules the pods whose spec.schedulerName is `name`."""

    def __init__(
        self, client: Client, clock: Clock, rng: Random, *, name: str = DEFAULT_NAME
    ) -> None:
        self._client = client
        self._clock = clock
        self._core = Scheduler(name)
        self._name = name
        self._nodes = Informer(client, NODE, clock, rng)
        self._pods = Informer(client, POD, clock, rng)
        self._nodes.listen(self._node_changed)
        self._pods.listen(self._pod_changed)
        self._events = Recorder(client, clock, name)
        self._lanes: list[asyncio.Queue[Decision]] = [
            asyncio.Queue(_LANE_MAX) for _ in range(_LANES)
        ]
        self._changed = asyncio.Event()
        self._nodes_changed = asyncio.Event()

    async def run(self) -> None:
        """Schedule pods until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for part in (self._nodes, self._pods, self._events):
                tasks.create_task(part.run())
            # Half the nodes or half of what is on them would lead to wrong decisions.
            await self._nodes.synced.wait()
            await self._pods.synced.wait()
            for lane in self._lanes:
                tasks.create_task(self._work(lane, tasks))
            tasks.create_task(self._reconsider())
            while True:
                while (decision := self._core.decide()) is not None:
                    uid = decision.pod["metadata"]["uid"]
                    await self._lanes[crc32(uid.encode()) % _LANES].put(decision)
                self._changed.clear()
                await self._changed.wait()

    def _node_changed(self, change: Change) -> None:
        if change.new is None:
            matters = self._core.node_gone(change.key.name)
        else:
            matters = self._core.node_seen(change.new)
        if matters:
            self._changed.set()
            self._nodes_changed.set()

    def _pod_changed(self, change: Change) -> None:
        if change.new is not None:
            self._core.pod_seen(change.new)
        elif change.old is not None:
            self._core.pod_gone(change.old["metadata"]["uid"])
        self._changed.set()

    async def _reconsider(self) -> None:
        while True:
            await self._nodes_changed.wait()
            await self._clock.sleep(_RECONSIDER_S)
            self._nodes_changed.clear()
            self._core.reconsider()
            self._changed.set()

    # -- decisions ----------------------------------------------------------------------------

    async def _work(self, lane: asyncio.Queue[Decision], tasks: asyncio.TaskGroup) -> None:
        while True:
            decision = await lane.get()
            try:
                if isinstance(decision, Bind):
                    await self._bind(decision)
                else:
                    await self._refuse(decision)
            except (Refusal, Disconnected) as error:
                self._report(decision.pod, "Warning", "FailedScheduling", "Scheduling", str(error))
                tasks.create_task(self._try_again(decision))

    async def _try_again(self, decision: Decision) -> None:
        await self._clock.sleep(_RETRY_S)
        if isinstance(decision, Refuse):
            self._core.try_again(decision.pod["metadata"]["uid"])
        elif not await self._is_placed(decision.pod):
            self._core.bind_failed(decision.pod)
        self._changed.set()

    async def _is_placed(self, pod: Manifest) -> bool:
        """Whether a pod is on a node after all: the answer may have been lost, not the request."""
        metadata = pod["metadata"]
        while True:
            try:
                latest = await self._client.get(POD, metadata["name"], metadata["namespace"])
            except Refusal:
                return False
            except Disconnected:
                await self._clock.sleep(_RETRY_S)
            else:
                return "nodeName" in latest["spec"]

    async def _bind(self, decision: Bind) -> None:
        metadata = decision.pod["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": metadata["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": decision.node},
        }
        await self._client.create(POD, binding, namespace, name=name, subresource="binding")
        told = f"Successfully assigned {namespace}/{name} to {decision.node}"
        self._report(decision.pod, "Normal", "Scheduled", "Binding", told)

    async def _refuse(self, decision: Refuse) -> None:
        for victim in decision.victims:
            await self._preempt(victim, decision)
        self._report(decision.pod, "Warning", "FailedScheduling", "Scheduling", decision.message)
        now_us = self._clock.now_us()

        def revision(pod: Manifest) -> dict[str, Any] | None:
            status = pod.get("status", {})
            if pod["spec"].get("nodeName"):
                return None
            changes: dict[str, Any] = {}
            if status.get("nominatedNodeName", "") != decision.nominated:
                changes["nominatedNodeName"] = decision.nominated or None
            new = {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": decision.message,
            }
            if conditions := _with_condition(pod, new, now_us):
                changes["conditions"] = conditions
            return {"status": changes} if changes else None

        await revise(self._client, POD, decision.pod, revision, subresource="status")

    async def _preempt(self, victim: PlacedPod, decision: Refuse) -> None:
        """Delete a pod for the sake of another one, and say so in its status first."""
        now_us = self._clock.now_us()
        told = f"{self._name}: preempting to accommodate a higher priority pod"
        new = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": told,
        }

        def revision(pod: Manifest) -> dict[str, Any] | None:
            conditions = _with_condition(pod, new, now_us)
            return {"status": {"conditions": conditions}} if conditions else None

        with ignoring("NotFound"):
            pod = await self._client.get(POD, victim.name, victim.namespace)
            if pod["metadata"]["uid"] != victim.uid:
                return
            if await revise(self._client, POD, pod, revision, subresource="status") is None:
                return
            options = {"preconditions": {"uid": victim.uid}}
            await self._client.delete(POD, victim.name, victim.namespace, options=options)
            note = (
                f"Preempted by pod {decision.pod['metadata']['uid']} on node {decision.nominated}"
            )
            self._report(pod, "Normal", "Preempted", "Preempting", note)

    def _report(self, pod: Manifest, type_: str, reason: str, action: str, note: str) -> None:
        self._events.report(Subject(POD, pod), type_, reason, action, note)


def _with_condition(pod: Manifest, new: dict[str, Any], now_us: int) -> list[Manifest] | None:
    """Return a pod's conditions with one set, None if it is there already."""
    conditions: list[Manifest] = pod.get("status", {}).get("conditions", [])
    old = condition(pod, new["type"])
    wanted = {**new, "observedGeneration": pod["metadata"].get("generation", 0)}
    if all(old.get(field) == value for field, value in wanted.items()):
        return None
    made = {**dated(wanted, old, now_us), "lastProbeTime": None}
    if not old:
        return [*conditions, made]
    return [made if each is old else each for each in conditions]
