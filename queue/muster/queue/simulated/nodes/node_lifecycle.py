"""
The controller that notices silent nodes, for the sandbox: a real control plane has its own.

A node whose Lease is not renewed for too long is Unknown; taints say so, keep new pods away, and
(by way of `taint_eviction`) drive the others off. When the node reports again, they are taken off.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from muster.queue.api.timestamps import format_second
from muster.queue.client.informer import Change, Informer, Key, key_of
from muster.queue.client.kinds import NODE, POD
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import ignoring
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.conditions import condition
from muster.queue.simulated.nodes.node_objects import LEASE_NAMESPACE
from muster.queue.simulated.nodes.pods_by_node import PodsByNode
from muster.queue.simulated.revising import based_on

GRACE_S: Final = 50.0
"""How long a node may be silent, as the controller manager has it."""
_GRACE_AFTER_LEASE_S: Final = 10.0
"""How much longer it may be than its Lease lasts, where that is longer than usual."""

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"

_WATCHED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_OURS: Final = (NOT_READY, UNREACHABLE, UNSCHEDULABLE)
_WORKERS: Final = 4
_US: Final = 1_000_000

_JSON = dict[str, Any]


class NodeLifecycle:
    """Keeps conditions and taints of all nodes true; the informers mirror all of their kinds."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        *,
        nodes: Informer,
        leases: Informer,
        pods: Informer,
    ) -> None:
        self._client = client
        self._clock = clock
        self._nodes = nodes
        self._leases = leases
        self._queue: WorkQueue[str] = WorkQueue(clock, rng)
        self._heard_us: dict[str, int] = {}
        """When each node was last heard of, on our own clock: theirs may be wrong."""
        self._pods = PodsByNode(pods)
        nodes.listen(self._heed_node)
        leases.listen(self._heed_lease)

    async def run(self) -> None:
        """Look after nodes until cancelled."""
        await self._queue.run(self._look_after, workers=_WORKERS)

    def _heed_lease(self, change: Change) -> None:
        if change.new is not None and change.key.namespace == LEASE_NAMESPACE:
            self._hear(change.key.name)

    def _heed_node(self, change: Change) -> None:
        name = change.key.name
        if change.new is None:
            self._heard_us.pop(name, None)
            return
        if change.old is None or _heartbeat(change.old) != _heartbeat(change.new):
            self._hear(name)
        self._queue.add(name)

    def _hear(self, name: str) -> None:
        self._heard_us[name] = self._clock.now_us()

    async def _look_after(self, name: str) -> None:
        node: Manifest | None = self._nodes.objects.get(Key("", name))
        if node is None:
            return
        now_us = self._clock.now_us()
        silent_us = now_us - self._heard_us[name]
        grace_s = self._grace_s(name)
        if silent_us < grace_s * _US:
            self._queue.add_after(name, grace_s - silent_us / _US)
        else:
            node = await self._doubt(node, now_us)
        await self._taint(node, now_us)
        if _readiness(node) in ("False", "Unknown"):
            await self._mark_pods(name, now_us)

    def _grace_s(self, name: str) -> float:
        lease: Manifest = self._leases.objects.get(Key(LEASE_NAMESPACE, name)) or {}
        duration_s: int = lease.get("spec", {}).get("leaseDurationSeconds", 0)
        return max(GRACE_S, duration_s + _GRACE_AFTER_LEASE_S)

    async def _doubt(self, node: Manifest, now_us: int) -> Manifest:
        """Say that nothing is known of a node any more."""
        conditions = doubted(node, now_us)
        if conditions == _conditions(node):
            return node
        return await self._write(node, {"status": {"conditions": conditions}}, "status")

    async def _taint(self, node: Manifest, now_us: int) -> None:
        taints = tainted(node, now_us)
        if taints != (node["spec"].get("taints") or []):
            await self._write(node, {"spec": {"taints": taints}})

    async def _write(self, node: Manifest, patch: _JSON, subresource: str = "") -> Manifest:
        """Write lists that others write, too: only on the version that was looked at."""
        name = node["metadata"]["name"]
        patch = based_on(node, patch)
        return await self._client.merge_patch(NODE, name, patch, subresource=subresource)

    async def _mark_pods(self, node_name: str, now_us: int) -> None:
        """Say that the pods of a node that is not ready are not, either."""
        for pod in self._pods.on(node_name):
            conditions = unready(pod, now_us)
            if conditions is None:
                continue
            key, patch = key_of(pod), based_on(pod, {"status": {"conditions": conditions}})
            with ignoring("NotFound"):
                await self._client.merge_patch(
                    POD, key.name, patch, key.namespace, subresource="status"
                )


def doubted(node: Manifest, now_us: int) -> list[_JSON]:
    """Return the conditions of a node that is silent."""
    known = {each["type"]: each for each in _conditions(node)}
    now = format_second(now_us)
    conditions = []
    for name in _WATCHED:
        old = known.pop(name, None)
        if old is None:
            created = node["metadata"]["creationTimestamp"]
            reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
            old = {"type": name, "lastHeartbeatTime": created}
        else:
            reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
        if old.get("status") != "Unknown":
            old = {
                **old,
                "status": "Unknown",
                "reason": reason,
                "message": message,
                "lastTransitionTime": now,
            }
        conditions.append(old)
    return conditions + list(known.values())


def tainted(node: Manifest, now_us: int) -> list[_JSON]:
    """Return the taints of a node, with those that its state asks for and no other of ours."""
    wanted: list[_JSON] = []
    if node["spec"].get("unschedulable"):
        wanted.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
    readiness = _readiness(node)
    if readiness != "True":
        key = UNREACHABLE if readiness == "Unknown" else NOT_READY
        wanted.append({"key": key, "effect": "NoSchedule"})
        if readiness is not None:
            wanted.append({"key": key, "effect": "NoExecute"})
    before = node["spec"].get("taints") or []
    kept = [each for each in before if each["key"] not in _OURS]
    known = {(each["key"], each["effect"]): each for each in before}
    now = format_second(now_us)
    return kept + [
        known.get((taint["key"], taint["effect"]), {**taint, "timeAdded": now}) for taint in wanted
    ]


def unready(pod: Manifest, now_us: int) -> list[_JSON] | None:
    """Return the conditions of a pod whose node is not ready; None if they say so already."""
    conditions = list(pod.get("status", {}).get("conditions") or ())
    for index, each in enumerate(conditions):
        if each["type"] == "Ready" and each["status"] == "True":
            now = format_second(now_us)
            conditions[index] = {**each, "status": "False", "lastTransitionTime": now}
            return conditions
    return None


def _conditions(node: Manifest) -> list[_JSON]:
    return node.get("status", {}).get("conditions") or []


def _readiness(node: Manifest) -> str | None:
    """Return the status of a node's condition Ready; None when it never reported."""
    return condition(node, "Ready").get("status")


def _heartbeat(node: Manifest) -> list[str | None]:
    return [each.get("lastHeartbeatTime") for each in _conditions(node)]
