"""
The controller that removes pods whose node no longer exists, for nobody else would end them.

For the sandbox: a real control plane has its own.
"""

from __future__ import annotations

from random import Random
from typing import Final

from muster.queue.client.informer import Change, Informer, Key, key_of
from muster.queue.client.kinds import POD
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import ignoring
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.nodes.disruption import disrupted
from muster.queue.simulated.nodes.pod_status import TERMINAL
from muster.queue.simulated.nodes.pods_by_node import PodsByNode, node_of
from muster.queue.simulated.revising import based_on

QUARANTINE_S: Final = 40.0
"""How long a node must be away, as the controller manager has it: it may be registered anew."""

_WORKERS: Final = 4
_US: Final = 1_000_000


class PodCollection:
    """Removes orphaned pods; the informers mirror all Nodes and Pods."""

    def __init__(
        self, client: Client, clock: Clock, rng: Random, *, nodes: Informer, pods: Informer
    ) -> None:
        self._client = client
        self._clock = clock
        self._nodes = nodes
        self._pods = pods
        self._queue: WorkQueue[Key] = WorkQueue(clock, rng)
        self._by_node = PodsByNode(pods)
        self._orphaned_us: dict[Key, int] = {}
        """Since when pods are known to be on a node that is away."""
        nodes.listen(self._heed_node)
        pods.listen(self._heed_pod)

    async def run(self) -> None:
        """Remove orphans until cancelled."""
        await self._nodes.synced.wait()  # or all pods would look like orphans
        await self._queue.run(self._look_at, workers=_WORKERS)

    def _heed_node(self, change: Change) -> None:
        for pod in self._by_node.on(change.key.name):
            if change.new is not None:
                self._orphaned_us.pop(key_of(pod), None)
            else:
                self._queue.add(key_of(pod))

    def _heed_pod(self, change: Change) -> None:
        if change.new is None:
            self._orphaned_us.pop(change.key, None)
        elif self._is_away(node_of(change.new)):
            self._queue.add(change.key)

    def _is_away(self, node_name: str) -> bool:
        return bool(node_name) and Key("", node_name) not in self._nodes.objects

    async def _look_at(self, key: Key) -> None:
        pod = self._pods.objects.get(key)
        if pod is None or not self._is_away(node_of(pod)):
            return
        now_us = self._clock.now_us()
        orphaned_us = now_us - self._orphaned_us.setdefault(key, now_us)
        if orphaned_us < QUARANTINE_S * _US:
            self._queue.add_after(key, QUARANTINE_S - orphaned_us / _US)
        else:
            await self._remove(key, pod, now_us)

    async def _remove(self, key: Key, pod: Manifest, now_us: int) -> None:
        metadata, phase = pod["metadata"], pod.get("status", {}).get("phase")
        message = "PodGC: node no longer exists"
        conditions = disrupted(pod, "DeletionByPodGC", message, now_us)
        patch = based_on(pod, {"status": {"phase": "Failed", "conditions": conditions}})
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        with ignoring("NotFound"):
            if phase not in TERMINAL:
                await self._client.merge_patch(
                    POD, key.name, patch, key.namespace, subresource="status"
                )
            if metadata.get("deletionGracePeriodSeconds") != 0:
                await self._client.delete(POD, key.name, key.namespace, options=options)
