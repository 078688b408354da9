"""
The controller that drives pods off nodes with NoExecute taints, unless they tolerate them.

For the sandbox: a real control plane has its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, Final

from muster.admission.eligibility import tolerates
from muster.queue.client.informer import Change, Informer, Key, key_of
from muster.queue.client.kinds import POD
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import ignoring
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.events import Recorder, Subject
from muster.queue.simulated.nodes.disruption import disrupted
from muster.queue.simulated.nodes.pods_by_node import PodsByNode, node_of
from muster.queue.simulated.revising import based_on
from muster.queue.simulated.taints import taint, toleration

FOREVER_US: Final = 2**62

_WORKERS: Final = 8
_US: Final = 1_000_000


class TaintEviction:
    """Evicts by taints; the informers mirror all Nodes and Pods."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        *,
        nodes: Informer,
        pods: Informer,
        recorder: Recorder,
    ) -> None:
        self._client = client
        self._clock = clock
        self._nodes = nodes
        self._pods = pods
        self._recorder = recorder
        self._queue: WorkQueue[Key] = WorkQueue(clock, rng)
        self._by_node = PodsByNode(pods)
        self._since_us: dict[Key, int] = {}
        """Since when pods have faced taints that they tolerate for a while."""
        nodes.listen(self._heed_node)
        pods.listen(self._heed_pod)

    async def run(self) -> None:
        """Evict until cancelled."""
        await self._queue.run(self._look_at, workers=_WORKERS)

    def _heed_node(self, change: Change) -> None:
        if change.new is not None and _taints(change.new) != _taints(change.old):
            for pod in self._by_node.on(change.key.name):
                self._queue.add(key_of(pod))

    def _heed_pod(self, change: Change) -> None:
        if change.new is not None and node_of(change.new):
            node = self._nodes.objects.get(Key("", node_of(change.new)))
            if _taints(node):
                self._queue.add(change.key)

    async def _look_at(self, key: Key) -> None:
        pod = self._pods.objects.get(key)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            self._since_us.pop(key, None)
            return
        node = self._nodes.objects.get(Key("", node_of(pod)))
        patience_us = tolerated_us(pod, _taints(node))
        if patience_us == FOREVER_US:
            self._since_us.pop(key, None)
            return
        now_us = self._clock.now_us()
        left_us = self._since_us.setdefault(key, now_us) + patience_us - now_us
        if left_us > 0:
            self._queue.add_after(key, left_us / _US)
            return
        self._recorder.count(
            Subject(POD, pod), "Normal", "TaintManagerEviction", f"Marking for deletion Pod {key}"
        )
        await self._evict(key, pod, now_us)

    async def _evict(self, key: Key, pod: Manifest, now_us: int) -> None:
        message = "Taint manager: deleting due to NoExecute taint"
        conditions = disrupted(pod, "DeletionByTaintManager", message, now_us)
        patch = based_on(pod, {"status": {"conditions": conditions}})
        options = {"preconditions": {"uid": pod["metadata"]["uid"]}}
        with ignoring("NotFound"):
            await self._client.merge_patch(
                POD, key.name, patch, key.namespace, subresource="status"
            )
            await self._client.delete(POD, key.name, key.namespace, options=options)


def tolerated_us(pod: Manifest, taints: Iterable[Manifest]) -> int:
    """
    Return how long a pod stands those NoExecute taints: 0 for not at all, FOREVER_US for ever.

    One taint that is not tolerated is enough to go. Else the shortest time that any of the
    tolerations in use grants counts.
    """
    tolerations = pod["spec"].get("tolerations") or ()
    granted_us = FOREVER_US
    for manifest in taints:
        used = [each for each in tolerations if tolerates(toleration(each), taint(manifest))]
        if not used:
            return 0
        for each in used:
            if (seconds := each.get("tolerationSeconds")) is not None:
                granted_us = min(granted_us, max(seconds, 0) * _US)
    return granted_us


def _taints(node: Manifest | None) -> list[dict[str, Any]]:
    taints = [] if node is None else node["spec"].get("taints") or []
    return [each for each in taints if each["effect"] == "NoExecute"]
