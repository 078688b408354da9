"""
Hours in the life of a simulated cluster, as a digest of all that happened on it.

Run as a program with a seed, hours, a number of Jobs and one of nodes, it prints what came of them,
so that runs of different processes can be compared.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple, TypeVar

from muster.queue.client.kinds import JOB
from muster.queue.clock import LoopClock, VirtualLoop
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.cluster import simulated_cluster
from muster.queue.sandbox.local import LocalClient
from muster.queue.sandbox.store.memory import FIRST_REVISION, Change, Journal
from muster.queue.simulated.node_specs import plain_cluster

T = TypeVar("T")

EPOCH_US = 1_767_225_600_000_000
HOUR_S = 3600


@asynccontextmanager
async def cluster(
    nodes: int, *, seed: int = 0, journal: Journal | None = None
) -> AsyncIterator[ApiServer]:
    """Have a cluster of plain nodes, all of whose chance comes from the seed."""
    clock = LoopClock(EPOCH_US)
    server = ApiServer(clock, Random(seed), journal)
    await server.start()
    serving = asyncio.create_task(server.run())
    try:
        async with simulated_cluster(server, clock, plain_cluster(nodes, 8), seed=seed):
            yield server
    finally:
        serving.cancel()
        await asyncio.wait({serving})
        await server.close()


def run(story: Callable[[], Awaitable[T]]) -> T:
    """Run a story on virtual time."""

    async def told() -> T:
        return await story()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(told())


def job(name: str, **spec: Any) -> dict[str, Any]:
    """Return a Job with pods that need a GPU; `annotations` say how they go."""
    annotations = spec.pop("annotations", {})
    container = {
        "name": "main",
        "image": "work",
        "resources": {"limits": {"nvidia.com/gpu": spec.pop("gpus", 1)}},
    }
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template, **spec},
    }


class Day(NamedTuple):
    """What came of a day."""

    ended: dict[str, int]
    """How many Jobs ended with which condition."""
    pods_run: int
    took_s: int
    """Of virtual time."""
    writes: int
    digest: str
    """Of every change of every object, in order."""


class _Diary:
    """Follows all changes of a cluster."""

    def __init__(self, server: ApiServer) -> None:
        self.digest = sha256()
        self.pods = 0
        self.ended: dict[str, str] = {}
        """The conditions with which Jobs ended."""
        self.news = asyncio.Event()
        for resource in server.catalogue.stored():
            server.store.watch(resource.key, self.follow)

    def follow(self, change: Change) -> None:
        self.digest.update(change.new.encoded + (b"-" if change.gone else b"+"))
        value = change.new.value
        if value["kind"] == "Pod":
            self.pods += change.old is None
        elif value["kind"] == "Job":
            for condition in value.get("status", {}).get("conditions") or ():
                if condition["type"] in {"Complete", "Failed"}:
                    self.ended[value["metadata"]["name"]] = condition["type"]
                    self.news.set()

    async def until_ended(self, jobs: int) -> None:
        while len(self.ended) < jobs:
            await self.news.wait()
            self.news.clear()


async def day(seed: int, hours: int, jobs: int, nodes: int) -> Day:
    """Submit Jobs of all kinds during some hours, and see the last one end."""
    async with cluster(nodes, seed=seed) as server:
        diary, client, chance = _Diary(server), LocalClient(server, "tests"), Random(seed)
        for number in range(jobs):
            await asyncio.sleep(chance.expovariate(jobs / (hours * HOUR_S)))
            manifest = job(
                f"job-{number}",
                parallelism=chance.randint(1, 4),
                completions=chance.randint(1, 6),
                backoffLimit=chance.choice([0, 6]),
                gpus=chance.choice([1, 2, 8]),
                annotations={
                    "sim.muster.dev/duration": f"{chance.randint(1, 3600)}s",
                    "sim.muster.dev/failure-rate": "0.05",
                },
            )
            await client.create(JOB, manifest, "default")
        await diary.until_ended(jobs)
        return Day(
            ended=dict(Counter(diary.ended.values())),
            pods_run=diary.pods,
            took_s=round(asyncio.get_running_loop().time()),
            writes=server.store.revision - FIRST_REVISION,
            digest=diary.digest.hexdigest(),
        )


if __name__ == "__main__":
    seed, hours, jobs, nodes = map(int, sys.argv[1:])
    sys.stdout.write(f"{run(lambda: day(seed, hours, jobs, nodes))}\n")
