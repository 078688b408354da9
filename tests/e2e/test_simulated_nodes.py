"""Simulated nodes serve any control plane: they run what its controllers make and bind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muster.queue.client.http_client import HttpClient
from muster.queue.client.kinds import JOB, NODE, POD, Kind
from muster.queue.client.kubeconfig import read_kubeconfig
from muster.queue.client.protocol import Client, Selection
from muster.queue.clock import WallClock
from muster.queue.simulated.node_specs import plain_cluster
from muster.queue.simulated.nodes.cluster import simulated_nodes
from muster.queue.simulated.nodes.operations import drain, heal

Json = dict[str, Any]

WAIT_MAX_S = 30
LABEL = "e2e.muster.dev/simulated-nodes"


@dataclass(frozen=True)
class World:
    """A namespace of a cluster with two simulated nodes that nothing else is bound to."""

    client: Client
    namespace: str

    async def create(self, kind: Kind, name: str, spec: Json) -> Json:
        manifest = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        return await self.client.create(kind, manifest, self.namespace)

    async def until(self, kind: Kind, name: str, wanted: Callable[[Json | None], bool]) -> None:
        """Return when an object, or None once it is gone, is as wanted."""
        selection = Selection(namespace=self.namespace, fields=f"metadata.name={name}")
        page = await self.client.list(kind, selection)
        if wanted(page.items[0] if page.items else None):
            return
        watch = self.client.watch(kind, selection, resource_version=page.resource_version)
        async with asyncio.timeout(WAIT_MAX_S), aclosing(watch):
            async for event in watch:
                if event.type != "BOOKMARK" and wanted(
                    None if event.type == "DELETED" else event.object
                ):
                    return
        raise AssertionError(f"the watch of {name} ended")


def pod_spec(**more: Any) -> Json:
    """Return the spec of a pod that runs on our nodes alone."""
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "nodeSelector": {LABEL: "true"},
        "containers": [{"name": "main", "image": "work", "command": ["sleep", "1"]}],
        **more,
    }


def has_condition(name: str, status: str = "True") -> Callable[[Json | None], bool]:
    def holds(found: Json | None) -> bool:
        conditions = found.get("status", {}).get("conditions") if found else None
        return any(each["type"] == name and each["status"] == status for each in conditions or ())

    return holds


@asynccontextmanager
async def _world(kubeconfig: Path, namespace: str) -> AsyncGenerator[World, None]:
    specs = [
        replace(spec, name=f"e2e-{spec.name}", labels={LABEL: "true"}) for spec in plain_cluster(2)
    ]
    async with HttpClient(read_kubeconfig(str(kubeconfig))) as client:
        try:
            async with simulated_nodes(client, WallClock(), specs, seed=1):
                yield World(client, namespace)
        finally:
            for spec in specs:
                await client.delete(NODE, spec.name)


def play(cluster: Path, namespace: str, story: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        async with _world(cluster, namespace) as world:
            await story(world)

    asyncio.run(main())


def test_jobs_run_to_their_end(cluster: Path, namespace: str) -> None:
    async def story(world: World) -> None:
        failing = {"name": "main", "image": "work", "command": ["sh", "-c", "sleep 0; exit 3"]}
        good = {"completions": 3, "parallelism": 2, "template": {"spec": pod_spec()}}
        bad = {"backoffLimit": 0, "template": {"spec": pod_spec(containers=[failing])}}
        await world.create(JOB, "simulated-good", good)
        await world.create(JOB, "simulated-bad", bad)
        await world.until(JOB, "simulated-good", has_condition("Complete"))
        await world.until(JOB, "simulated-bad", has_condition("Failed"))
        for name in ("simulated-good", "simulated-bad"):
            options = {"propagationPolicy": "Background"}
            await world.client.delete(JOB, name, world.namespace, options=options)

    play(cluster, namespace, story)


def test_pods_become_ready_stop_and_go(cluster: Path, namespace: str) -> None:
    async def story(world: World) -> None:
        await world.create(
            POD,
            "simulated-pod",
            pod_spec(restartPolicy="Always", containers=[{"name": "main", "image": "work"}]),
        )
        await world.until(POD, "simulated-pod", has_condition("Ready"))
        await world.client.delete(POD, "simulated-pod", world.namespace)
        await world.until(POD, "simulated-pod", lambda pod: pod is None)

    play(cluster, namespace, story)


def test_a_drained_node_takes_no_pods_until_it_is_healed(cluster: Path, namespace: str) -> None:
    async def story(world: World) -> None:
        client, clock = world.client, WallClock()
        for name in ("e2e-node-0", "e2e-node-1"):
            await drain(client, clock, name)
        await world.create(POD, "simulated-waits", pod_spec())
        await world.until(POD, "simulated-waits", has_condition("PodScheduled", "False"))
        await heal(client, "e2e-node-1")
        await world.until(
            POD,
            "simulated-waits",
            lambda pod: pod is not None and pod["status"]["phase"] == "Succeeded",
        )
        pod = await client.get(POD, "simulated-waits", world.namespace)
        assert pod["spec"]["nodeName"] == "e2e-node-1"
        await client.delete(POD, "simulated-waits", world.namespace)

    play(cluster, namespace, story)
