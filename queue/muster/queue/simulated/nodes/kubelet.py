"""
The part of all kubelets that pretends to run the pods bound to their nodes.

Everything happens on one list of work and one heap of instants, however many nodes there are. A
kubelet does what its pods say and never judges whether they fit: that was the scheduler's task.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from muster.queue.client.informer import Change, Informer, Key, key_of
from muster.queue.client.kinds import POD
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import ignoring
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.events import Recorder, Subject
from muster.queue.simulated.node_specs import NodeSpec
from muster.queue.simulated.nodes.addresses import Addresses
from muster.queue.simulated.nodes.behaviour import FOREVER_US
from muster.queue.simulated.nodes.marks import is_failed
from muster.queue.simulated.nodes.pod_run import PodRun, RunSettings
from muster.queue.simulated.nodes.pod_status import TERMINAL, Place, differs, pod_status
from muster.queue.simulated.nodes.pods_by_node import PodsByNode, node_of
from muster.queue.simulated.revising import based_on, version

_WORKERS: Final = 32
_US: Final = 1_000_000


class Kubelets:
    """The kubelets of `specs`; `nodes` and `pods` mirror all Nodes and Pods."""

    def __init__(  # noqa: PLR0913 - what it works with
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        specs: Iterable[NodeSpec],
        *,
        nodes: Informer,
        pods: Informer,
        recorder: Recorder,
        settings: RunSettings,
    ) -> None:
        self._client = client
        self._clock = clock
        self._hosts = {spec.name: spec.address for spec in specs}
        self._nodes = nodes
        self._pods = pods
        self._recorder = recorder
        self._settings = settings
        self._queue: WorkQueue[Key] = WorkQueue(clock, rng)
        self._newest: dict[Key, Manifest] = {}
        """Our pods, as the mirror or an answer to a write of ours has them, whichever is newer."""
        self._runs: dict[Key, PodRun] = {}
        self._told: dict[Key, str] = {}
        """The problem that each pod was told of."""
        self._addresses = Addresses()
        self._by_node = PodsByNode(pods)
        nodes.listen(self._heed_node)
        pods.listen(self._heed_pod)

    async def run(self) -> None:
        """Run pods until cancelled."""
        await self._queue.run(self._look_after, workers=_WORKERS)

    def _heed_pod(self, change: Change) -> None:
        pod = change.new
        if pod is None:
            self._forget(change.key)
        elif node_of(pod) in self._hosts:
            self._learn(change.key, pod)
            self._queue.add(change.key)

    def _heed_node(self, change: Change) -> None:
        """Look at all pods of a node that is heard of again."""
        was_away = change.old is None or is_failed(change.old)
        if change.new is not None and was_away and not is_failed(change.new):
            for pod in self._by_node.on(change.key.name):
                if key_of(pod) in self._newest:
                    self._queue.add(key_of(pod))

    def _learn(self, key: Key, pod: Manifest) -> None:
        known = self._newest.get(key)
        if known is None or version(known) < version(pod):
            self._newest[key] = pod

    def _forget(self, key: Key) -> None:
        self._newest.pop(key, None)
        self._runs.pop(key, None)
        self._told.pop(key, None)
        self._addresses.release(key)

    async def _look_after(self, key: Key) -> None:
        pod = self._newest.get(key)
        if pod is None or not self._is_heard_of(pod["spec"]["nodeName"]):
            return
        metadata = pod["metadata"]
        is_leaving = "deletionTimestamp" in metadata
        if pod.get("status", {}).get("phase") not in TERMINAL:
            now_us = self._clock.now_us()
            run = self._run_of(key, pod, now_us)
            run.observe(pod)
            if is_leaving:
                run.stop(now_us, metadata.get("deletionGracePeriodSeconds", 0) * _US)
            wake_us = run.advance(now_us)
            self._tell(key, pod, run)
            await self._report(key, pod, run, now_us)
            if wake_us < FOREVER_US:
                self._queue.add_after(key, (wake_us - self._clock.now_us()) / _US)
            if not run.is_over:
                return
        if is_leaving:
            await self._remove(key, pod)

    def _is_heard_of(self, node_name: str) -> bool:
        node = self._nodes.objects.get(Key("", node_name))
        return node is not None and not is_failed(node)

    def _run_of(self, key: Key, pod: Manifest, now_us: int) -> PodRun:
        run = self._runs.get(key)
        if run is None or run.uid != pod["metadata"]["uid"]:
            run = self._runs[key] = PodRun(pod, self._settings, now_us)
        return run

    def _tell(self, key: Key, pod: Manifest, run: PodRun) -> None:
        if run.problem and self._told.get(key) != run.problem:
            self._told[key] = run.problem
            self._recorder.count(Subject(POD, pod), "Warning", "InvalidAnnotation", run.problem)

    async def _report(self, key: Key, pod: Manifest, run: PodRun, now_us: int) -> None:
        reported = pod.get("status", {})
        place = Place(
            host_address=self._hosts[pod["spec"]["nodeName"]],
            pod_address=self._addresses.of(key, reported.get("podIP")),
        )
        status = pod_status(run, pod, place, now_us)
        if not differs(reported, status):
            return
        patch = based_on(pod, {"status": status})
        with ignoring("NotFound"):
            answer = await self._client.merge_patch(
                POD, key.name, patch, key.namespace, subresource="status"
            )
            if key in self._newest:
                self._learn(key, answer)

    async def _remove(self, key: Key, pod: Manifest) -> None:
        """Let go of a pod that nothing runs of any more; its finalizers may still keep it."""
        preconditions = {"uid": pod["metadata"]["uid"]}
        options = {"gracePeriodSeconds": 0, "preconditions": preconditions}
        with ignoring("NotFound"):
            await self._client.delete(POD, key.name, key.namespace, options=options)
