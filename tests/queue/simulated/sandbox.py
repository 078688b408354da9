"""A sandbox in this process on virtual time: hours pass in the time it takes to handle them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from muster.queue.client.kinds import CORE_EVENT, JOB, NAMESPACE, POD, Kind
from muster.queue.client.protocol import Client, Selection
from muster.queue.client.refusal import Refusal
from muster.queue.clock import Clock, LoopClock, VirtualLoop
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.cluster import simulated_cluster
from muster.queue.sandbox.local import LocalClient
from muster.queue.simulated.node_specs import NodeSpec
from muster.queue.simulated.nodes.node_objects import LEASE_DURATION_S

Manifest = dict[str, Any]
T = TypeVar("T")

EPOCH_US = 1_767_225_600_000_000
NAMESPACE_NAME = "work"


@dataclass(frozen=True)
class Sandbox:
    """A sandbox with one namespace, and the requests that tests make."""

    client: Client
    clock: Clock
    server: ApiServer

    async def create(self, kind: Kind, manifest: Manifest) -> Manifest:
        typed = {"apiVersion": kind.api_version, "kind": kind.kind, **manifest}
        namespace = NAMESPACE_NAME if kind.namespaced else ""
        return await self.client.create(kind, typed, namespace)

    async def get(self, kind: Kind, name: str) -> Manifest:
        return await self.client.get(kind, name, NAMESPACE_NAME if kind.namespaced else "")

    async def names(self, kind: Kind, labels: str = "") -> list[str]:
        return sorted(each["metadata"]["name"] for each in await self.all(kind, labels))

    async def all(self, kind: Kind, labels: str = "") -> list[Manifest]:
        selection = Selection(namespace=NAMESPACE_NAME if kind.namespaced else "", labels=labels)
        return (await self.client.list(kind, selection)).items

    async def exists(self, kind: Kind, name: str) -> bool:
        try:
            await self.get(kind, name)
        except Refusal as refusal:
            if refusal.reason == "NotFound":
                return False
            raise
        return True

    async def delete(self, kind: Kind, name: str, **options: Any) -> None:
        namespace = NAMESPACE_NAME if kind.namespaced else ""
        await self.client.delete(kind, name, namespace, options=options)

    async def patch(self, kind: Kind, name: str, patch: Manifest, subresource: str = "") -> None:
        namespace = NAMESPACE_NAME if kind.namespaced else ""
        await self.client.merge_patch(kind, name, patch, namespace, subresource=subresource)

    async def job(self, name: str, **spec: Any) -> Manifest:
        """Create a Job; `annotations` are those of its pods."""
        annotations = spec.pop("annotations", {})
        container = {"name": "main", "image": "work", **spec.pop("container", {})}
        template = {
            "metadata": {"annotations": annotations},
            "spec": {
                "restartPolicy": "Never",
                "containers": [container],
                **spec.pop("pod", {}),
            },
        }
        manifest = {"metadata": {"name": name}, "spec": {"template": template, **spec}}
        return await self.create(JOB, manifest)

    async def pods(self, job: str) -> list[Manifest]:
        return await self.all(POD, f"job-name={job}")

    async def reasons(self, name: str) -> list[str]:
        """Return the reasons of all events about the objects of a name, in their order."""
        events = [
            each for each in await self.all(CORE_EVENT) if each["involvedObject"]["name"] == name
        ]
        events.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [each["reason"] for each in events]

    async def until(self, wanted: Callable[[], Awaitable[bool]], within_s: float = 600) -> float:
        """Let time pass until something is so; return how many seconds that took."""
        start_us = self.clock.now_us()
        while not await wanted():
            passed_s = (self.clock.now_us() - start_us) / 1_000_000
            assert passed_s < within_s, f"it was not so within {within_s} s"
            await self.clock.sleep(0.1)
        return (self.clock.now_us() - start_us) / 1_000_000

    async def until_condition(
        self, kind: Kind, name: str, condition: str, within_s: float = 600
    ) -> float:
        async def holds() -> bool:
            status = (await self.get(kind, name)).get("status", {})
            return any(
                each["type"] == condition and each["status"] == "True"
                for each in status.get("conditions") or ()
            )

        return await self.until(holds, within_s)


def run(
    story: Callable[[Sandbox], Awaitable[T]],
    nodes: Iterable[NodeSpec] = (),
    *,
    seed: int = 1,
    lease_duration_s: int = LEASE_DURATION_S,
) -> T:
    """Run a story on a fresh sandbox on virtual time; return what it returns."""

    async def told() -> T:
        clock = LoopClock(EPOCH_US)
        server = ApiServer(clock, Random(seed))
        async with AsyncExitStack() as stack:
            stack.push_async_callback(server.close)
            await server.start()

            serving = asyncio.create_task(server.run())
            stack.callback(serving.cancel)
            client = LocalClient(server, "tests")
            namespace = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": NAMESPACE_NAME},
            }
            await client.create(NAMESPACE, namespace)
            cluster = simulated_cluster(
                server, clock, list(nodes), seed=seed, lease_duration_s=lease_duration_s
            )
            await stack.enter_async_context(cluster)
            return await story(Sandbox(client, clock, server))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(told())
