"""
The part of all kubelets that keeps their Nodes known and alive: registration, Leases, heartbeats.

A node is registered once by each process that simulates it; whoever deletes it then has removed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final

from muster.queue.api.timestamps import format_micro_time, parse_timestamp
from muster.queue.client.informer import Change, Informer, Key
from muster.queue.client.kinds import LEASE, NAMESPACE, NODE
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import Refusal
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.node_specs import NodeSpec
from muster.queue.simulated.nodes.marks import is_failed, is_simulated
from muster.queue.simulated.nodes.node_objects import (
    LEASE_NAMESPACE,
    is_healthy,
    lease_object,
    node_conditions,
    node_facts,
    node_labels,
    node_object,
)

RENEWALS: Final = 4
"""How often a Lease is renewed while it lasts."""
HEARTBEAT_S: Final = 300.0
_FIRST_RENEWAL_S: Final = 10.0
"""Every node is heard of so soon, however long its Lease lasts."""

_WORKERS: Final = 8
_US: Final = 1_000_000
_CONFLICT: Final = 409


class Registration:
    """Keeps `specs` registered with the API server behind `client`; `nodes` mirrors all Nodes."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        specs: Iterable[NodeSpec],
        nodes: Informer,
        lease_duration_s: int,
    ) -> None:
        self._lease_duration_s = lease_duration_s
        self._renewal_s = lease_duration_s / RENEWALS
        self._client = client
        self._clock = clock
        self._specs: Mapping[str, NodeSpec] = {spec.name: spec for spec in specs}
        self._nodes = nodes
        self._registered: set[str] = set()
        self._queue: WorkQueue[str] = WorkQueue(clock, rng)
        nodes.listen(self._heed)

    async def register(self) -> None:
        """Make sure that all nodes are there, with what their specs say. Raises Refusal."""
        for spec in self._specs.values():
            await self._register(spec)

    async def run(self) -> None:
        """Renew Leases and post heartbeats until cancelled; needs a mirror that is synced."""
        # Spread, so that many nodes make a steady trickle of renewals.
        period_s = min(self._renewal_s, _FIRST_RENEWAL_S)
        for index, name in enumerate(self._specs):
            self._queue.add_after(name, period_s * index / len(self._specs))
        await self._queue.run(self._renew, workers=_WORKERS)

    async def _register(self, spec: NodeSpec) -> None:
        try:
            node = await self._client.create(NODE, node_object(spec, self._clock.now_us()))
        except Refusal as refusal:
            if refusal.reason != "AlreadyExists" or not await self._is_ours(spec.name):
                raise
            labels = {"metadata": {"labels": node_labels(spec)}}
            node = await self._client.merge_patch(NODE, spec.name, labels)
        if any(node.get("status", {}).get(name) != fact for name, fact in node_facts(spec).items()):
            await self._report(spec, node)
        self._registered.add(spec.name)

    async def _is_ours(self, name: str) -> bool:
        """Whether a node that is there already was simulated before; a real one is left alone."""
        return is_simulated(await self._client.get(NODE, name))

    def _heed(self, change: Change) -> None:
        """Have a node that was healed, or spoken ill of, report at once."""
        if change.new is None or change.key.name not in self._registered:
            return
        was_failed = change.old is not None and is_failed(change.old)
        if not is_failed(change.new) and (was_failed or not is_healthy(change.new)):
            self._queue.add(change.key.name)

    async def _renew(self, name: str) -> None:
        node = self._nodes.objects.get(Key("", name))
        if node is None:
            return
        self._queue.add_after(name, self._renewal_s)
        if is_failed(node):
            return
        await self._renew_lease(node)
        if not is_healthy(node) or self._heartbeat_age_us(node) >= HEARTBEAT_S * _US:
            await self._report(self._specs[name], node)

    async def _renew_lease(self, node: Manifest) -> None:
        name, now_us = node["metadata"]["name"], self._clock.now_us()
        duration_s = self._lease_duration_s
        spec = {"leaseDurationSeconds": duration_s, "renewTime": format_micro_time(now_us)}
        try:
            await self._client.merge_patch(LEASE, name, {"spec": spec}, LEASE_NAMESPACE)
        except Refusal as refusal:
            if refusal.reason != "NotFound":
                raise
            await self._create_lease(lease_object(node, now_us, duration_s))

    async def _create_lease(self, lease: Manifest) -> None:
        try:
            await self._client.create(LEASE, lease, LEASE_NAMESPACE)
        except Refusal as refusal:
            if refusal.code == _CONFLICT:
                return
            if refusal.reason != "NotFound":
                raise
            namespace = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": LEASE_NAMESPACE},
            }
            await self._client.create(NAMESPACE, namespace)
            await self._client.create(LEASE, lease, LEASE_NAMESPACE)

    async def _report(self, spec: NodeSpec, node: Manifest) -> None:
        before = tuple(node.get("status", {}).get("conditions") or ())
        conditions = node_conditions(before, self._clock.now_us())
        status = {"status": {**node_facts(spec), "conditions": conditions}}
        await self._client.merge_patch(NODE, spec.name, status, subresource="status")

    def _heartbeat_age_us(self, node: Manifest) -> int:
        heartbeats = [
            parse_timestamp(each["lastHeartbeatTime"])
            for each in node.get("status", {}).get("conditions") or ()
            if each.get("lastHeartbeatTime")
        ]
        return self._clock.now_us() - max(heartbeats, default=0)
