"""A whole cluster in this process on virtual time, with requests that tests make."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from muster.queue.client.kinds import NAMESPACE, NODE, POD
from muster.queue.client.protocol import Client, Selection
from muster.queue.client.refusal import Refusal
from muster.queue.clock import Clock, LoopClock, VirtualLoop
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.cluster import simulated_cluster
from muster.queue.sandbox.local import LocalClient
from muster.queue.simulated.node_specs import NodeSpec
from muster.queue.simulated.nodes.node_objects import LEASE_DURATION_S

Json = dict[str, Any]

EPOCH_US = 1_767_225_600_000_000
NAMESPACE_NAME = "work"
_US = 1_000_000


@dataclass(frozen=True)
class World:
    """A cluster to be asked and told."""

    client: Client
    clock: Clock

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        return (self.clock.now_us() - EPOCH_US) / _US

    async def sleep_until(self, instant_s: float) -> None:
        await self.clock.sleep(instant_s - self.now_s)

    async def create_pod(
        self, name: str, annotations: dict[str, str] | None = None, **spec: Any
    ) -> Json:
        """Create a pod of one container; names of annotations lack their prefix."""
        given = {f"sim.muster.dev/{key}": value for key, value in (annotations or {}).items()}
        manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": given},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "work"}],
                **spec,
            },
        }
        return await self.client.create(POD, manifest, NAMESPACE_NAME)

    async def pod(self, name: str) -> Json | None:
        """Return a pod, None when it is gone."""
        try:
            return await self.client.get(POD, name, NAMESPACE_NAME)
        except Refusal as refusal:
            if refusal.code == 404:
                return None
            raise

    async def pods(self) -> list[Json]:
        return (await self.client.list(POD, Selection(namespace=NAMESPACE_NAME))).items

    async def node(self, name: str) -> Json:
        return await self.client.get(NODE, name)


def run(
    story: Callable[[World], Awaitable[None]],
    nodes: Sequence[NodeSpec],
    *,
    seed: int = 1,
    lease_duration_s: int = LEASE_DURATION_S,
) -> None:
    """Tell a story in a fresh cluster."""

    async def main() -> None:
        clock = LoopClock(EPOCH_US)
        server = ApiServer(clock, Random(seed))
        await server.start()
        serving = asyncio.create_task(server.run())
        try:
            client = LocalClient(server, "tests")
            namespace = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": NAMESPACE_NAME},
            }
            await client.create(NAMESPACE, namespace)
            async with simulated_cluster(
                server, clock, nodes, seed=seed, lease_duration_s=lease_duration_s
            ):
                await story(World(client, clock))
        finally:
            serving.cancel()
            await server.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def conditions(manifest: Json) -> dict[str, str]:
    """Return the status of each condition of an object."""
    return {each["type"]: each["status"] for each in manifest["status"]["conditions"]}
