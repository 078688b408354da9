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
from typing import Protocol

from muster.queue.client.informer import Informer
from muster.queue.client.kinds import LEASE, NODE, POD, Kind
from muster.queue.clock import Clock
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.local import LocalClient
from muster.queue.simulated.cluster_file import NodeSpec
from muster.queue.simulated.events import Recorder
from muster.queue.simulated.garbage import GarbageCollector
from muster.queue.simulated.jobs.controller import JobController
from muster.queue.simulated.jobs.expiry import JobExpiry
from muster.queue.simulated.namespaces import NamespaceController
from muster.queue.simulated.nodes.cluster import POD_DURATION_US, simulated_nodes
from muster.queue.simulated.nodes.node_lifecycle import NodeLifecycle
from muster.queue.simulated.nodes.taint_eviction import TaintEviction
from muster.queue.simulated.scheduler.controller import SchedulerController

_MANAGER = "kube-controller-manager"


@asynccontextmanager
async def simulated_cluster(
    server: ApiServer,
    clock: Clock,
    specs: Sequence[NodeSpec],
    *,
    seed: int,
    pod_duration_us: int = POD_DURATION_US,
) -> AsyncIterator[None]:
    """
    Run nodes, scheduler and controllers inside the context.

    It is entered when all nodes are registered. A fault in any part ends it.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.run()) for each in _controllers(server, clock, seed)]
        kubelet = LocalClient(server, "kubelet")
        nodes = simulated_nodes(kubelet, clock, specs, seed=seed, pod_duration_us=pod_duration_us)
        async with nodes:
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()


class _Part(Protocol):
    async def run(self) -> None:
        """Work until cancelled."""


def _controllers(server: ApiServer, clock: Clock, seed: int) -> tuple[_Part, ...]:
    rng = Random(seed)  # noqa: S311 - chance, not a secret
    manager = LocalClient(server, _MANAGER)

    async def kinds() -> Iterable[Kind]:
        return [resource.kind for resource in server.catalogue.stored()]

    nodes, leases, pods = (Informer(manager, kind, clock, rng) for kind in (NODE, LEASE, POD))
    recorder = Recorder(manager, clock, "node-controller")
    lifecycle = NodeLifecycle(manager, clock, rng, nodes=nodes, leases=leases, pods=pods)
    eviction = TaintEviction(manager, clock, rng, nodes=nodes, pods=pods, recorder=recorder)
    return (
        nodes,
        leases,
        pods,
        recorder,
        lifecycle,
        eviction,
        JobController(manager, clock, rng),
        JobExpiry(manager, clock, rng),
        GarbageCollector(manager, clock, rng, kinds),
        NamespaceController(manager, clock, rng, kinds),
        SchedulerController(LocalClient(server, "kube-scheduler"), clock, rng),
    )
