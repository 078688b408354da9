"""
Simulated nodes as a whole: the one thing that a program starts.

    async with simulated_nodes(client, clock, plain_cluster(8), seed=1):
        ...  # the nodes are Ready and run what is bound to them
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Final

from muster.queue.client.informer import Informer
from muster.queue.client.kinds import NODE, POD
from muster.queue.client.protocol import Client
from muster.queue.clock import Clock
from muster.queue.simulated.events import Recorder
from muster.queue.simulated.node_specs import NodeSpec
from muster.queue.simulated.nodes.kubelet import Kubelets
from muster.queue.simulated.nodes.node_objects import LEASE_DURATION_S
from muster.queue.simulated.nodes.pod_run import RunSettings
from muster.queue.simulated.nodes.registration import Registration

POD_DURATION_US: Final = 10_000_000
"""How long a container of a Job runs when nobody says otherwise."""


@asynccontextmanager
async def simulated_nodes(
    client: Client,
    clock: Clock,
    specs: Sequence[NodeSpec],
    *,
    seed: int,
    pod_duration_us: int = POD_DURATION_US,
    lease_duration_s: int = LEASE_DURATION_S,
) -> AsyncGenerator[None, None]:
    """
    Simulate the nodes of `specs` inside the context; their objects stay when it is left.

    With longer Leases nodes write less, and it takes longer until one that fails is missed. Chance
    comes from `seed` alone. The context is entered when all nodes are registered. Raises
    Refusal if they cannot be; later trouble with the server is waited out.
    """
    rng = Random(seed)  # noqa: S311 - chance, not a secret
    nodes = Informer(client, NODE, clock, rng)
    pods = Informer(client, POD, clock, rng)
    recorder = Recorder(client, clock, "kubelet")
    registration = Registration(client, clock, rng, specs, nodes, lease_duration_s)
    kubelets = Kubelets(
        client,
        clock,
        rng,
        specs,
        nodes=nodes,
        pods=pods,
        recorder=recorder,
        settings=RunSettings(seed=seed, pod_duration_us=pod_duration_us),
    )
    await registration.register()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.run()) for each in (nodes, pods, recorder)]
        await nodes.synced.wait()
        await pods.synced.wait()
        tasks += [group.create_task(each.run()) for each in (registration, kubelets)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
