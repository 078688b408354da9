"""
Everything that a cluster has besides its API server, simulated in the same process.

Controllers work on the API alone, as they do on a real cluster, each under the name by which a real
one owns what it writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from random import Random

from muster.queue.client.informer import Informer
from muster.queue.client.kinds import LEASE, NODE, POD, Kind
from muster.queue.client.protocol import Client, Selection
from muster.queue.clock import Clock
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.local import LocalClient
from muster.queue.simulated.control_plane import CONTROLLER_MANAGER, simulated_control_plane
from muster.queue.simulated.events import Recorder
from muster.queue.simulated.node_specs import NodeSpec
from muster.queue.simulated.nodes.cluster import POD_DURATION_US, simulated_nodes
from muster.queue.simulated.nodes.marks import SIMULATED
from muster.queue.simulated.nodes.node_lifecycle import NodeLifecycle
from muster.queue.simulated.nodes.node_objects import LEASE_DURATION_S
from muster.queue.simulated.nodes.pod_collection import PodCollection
from muster.queue.simulated.nodes.taint_eviction import TaintEviction


@asynccontextmanager
async def simulated_cluster(
    server: ApiServer,
    clock: Clock,
    specs: Sequence[NodeSpec],
    *,
    seed: int,
    pod_duration_us: int = POD_DURATION_US,
    lease_duration_s: int = LEASE_DURATION_S,
) -> AsyncIterator[None]:
    """
    Run nodes, scheduler and controllers inside the context; chance comes from `seed` alone.

    It is entered when all nodes are registered. A fault in any part ends it. Most of what an idle
    cluster does is to renew the Leases of its nodes: a long simulation is cheaper with longer ones,
    and then misses nodes that fail later.
    """

    def client_of(manager: str) -> LocalClient:
        return LocalClient(server, manager)

    async def kinds() -> Iterable[Kind]:
        return [resource.kind for resource in server.catalogue.stored()]

    control_plane = simulated_control_plane(client_of, clock, kinds, seed=seed)
    nodes = simulated_nodes(
        client_of("kubelet"),
        clock,
        specs,
        seed=seed,
        pod_duration_us=pod_duration_us,
        lease_duration_s=lease_duration_s,
    )
    await _forget_other_nodes(client_of("kubelet"), specs)
    async with control_plane, _node_controllers(client_of(CONTROLLER_MANAGER), clock, seed), nodes:
        yield


async def _forget_other_nodes(client: Client, specs: Sequence[NodeSpec]) -> None:
    """Remove the simulated nodes of an earlier start that nobody simulates any longer."""
    names = dict.fromkeys(spec.name for spec in specs)
    for node in (await client.list(NODE, Selection(labels=SIMULATED))).items:
        if (name := node["metadata"]["name"]) not in names:
            await client.delete(NODE, name)


@asynccontextmanager
async def _node_controllers(client: Client, clock: Clock, seed: int) -> AsyncIterator[None]:
    """Doubt nodes that are not heard of, evict what may not stay, remove what has no node."""
    rng = Random(seed)  # noqa: S311 - chance, not a secret
    nodes, leases, pods = (Informer(client, kind, clock, rng) for kind in (NODE, LEASE, POD))
    recorder = Recorder(client, clock, "node-controller")
    parts = (
        nodes,
        leases,
        pods,
        recorder,
        NodeLifecycle(client, clock, rng, nodes=nodes, leases=leases, pods=pods),
        TaintEviction(client, clock, rng, nodes=nodes, pods=pods, recorder=recorder),
        PodCollection(client, clock, rng, nodes=nodes, pods=pods),
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in parts]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
