"""Jobs and nodes stay right whatever is lost or late, and however often a controller dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing, suppress
from random import Random

import pytest

from muster.queue.client.kinds import JOB, POD
from muster.queue.client.protocol import Selection
from muster.queue.simulated.jobs.controller import JobController
from muster.queue.simulated.jobs.pods import TRACKING_FINALIZER
from muster.queue.simulated.node_specs import plain_cluster
from muster.queue.simulated.scheduler.controller import SchedulerController
from tests.queue.simulated.faults import FaultyClient
from tests.queue.simulated.sandbox import NAMESPACE_NAME, Manifest, Sandbox, run

MANAGER = "example.com/faulty"
JOBS = ("plain", "indexed", "each")


async def live_and_die(sandbox: Sandbox, chance: Random) -> None:
    """Run one Job controller after the other, each for some seconds."""
    while True:
        client = FaultyClient(sandbox.client, sandbox.clock, chance, rate=0.2)
        controller = JobController(client, sandbox.clock, chance, manager=MANAGER)
        life = asyncio.create_task(controller.run())
        try:
            await sandbox.clock.sleep(chance.uniform(0.5, 20))
        finally:
            life.cancel()
            with suppress(asyncio.CancelledError):
                await life


async def watch_ends(sandbox: Sandbox, ends: dict[str, tuple[str, str]]) -> None:
    """Write down job and phase of each pod that ends while it is still to be counted."""
    everywhere = Selection(namespace=NAMESPACE_NAME)
    watch = sandbox.client.watch(POD, everywhere, resource_version="0")
    async with aclosing(watch):
        async for event in watch:
            if event.type == "BOOKMARK":
                continue
            metadata = event.object["metadata"]
            phase = event.object["status"]["phase"]
            is_counted = TRACKING_FINALIZER in metadata.get("finalizers", ())
            if phase in {"Succeeded", "Failed"} and is_counted:
                ends.setdefault(metadata["uid"], (metadata["labels"]["job-name"], phase))


@pytest.mark.parametrize("seed", range(8))
def test_each_pod_counts_once(seed: int) -> None:
    async def story(sandbox: Sandbox) -> tuple[list[Manifest], list[tuple[str, str]]]:
        ends: dict[str, tuple[str, str]] = {}
        chance = Random(seed)
        tasks = [
            asyncio.create_task(watch_ends(sandbox, ends)),
            asyncio.create_task(live_and_die(sandbox, chance)),
        ]
        annotations = {"sim.muster.dev/duration": "15s", "sim.muster.dev/failure-rate": "0.3"}
        common = {
            "managedBy": MANAGER,
            "parallelism": 4,
            "completions": 9,
            "backoffLimit": 1000,
            "annotations": annotations,
        }
        await sandbox.job("plain", **common)
        await sandbox.job("indexed", completionMode="Indexed", **common)
        await sandbox.job("each", completionMode="Indexed", backoffLimitPerIndex=9, **common)
        for name in JOBS:
            await sandbox.until_condition(JOB, name, "Complete", within_s=7200)
        for task in tasks:
            task.cancel()
        return await sandbox.all(JOB), list(ends.values())

    jobs, ends = run(story, plain_cluster(2), seed=seed)
    for job in jobs:
        name, status = job["metadata"]["name"], job["status"]
        assert status["succeeded"] == 9
        assert status.get("failed", 0) == ends.count((name, "Failed")), name
        assert status["uncountedTerminatedPods"] == {}
    assert ends.count(("plain", "Succeeded")) == 9


def test_what_is_not_seen_yet_is_not_done_again() -> None:
    async def story(sandbox: Sandbox) -> None:
        client = FaultyClient(sandbox.client, sandbox.clock, Random(1), pod_lag_s=3)
        controller = JobController(client, sandbox.clock, Random(1), manager=MANAGER)
        life = asyncio.create_task(controller.run())
        annotations = {"sim.muster.dev/duration": "1h"}
        common = {"managedBy": MANAGER, "annotations": annotations}
        await sandbox.job("a", parallelism=8, completions=8, **common)
        await sandbox.clock.sleep(30)
        await sandbox.patch(JOB, "a", {"spec": {"parallelism": 3}})
        await sandbox.clock.sleep(60)
        life.cancel()
        reasons = await sandbox.reasons("a")
        assert reasons.count("SuccessfulCreate") == 8
        assert reasons.count("SuccessfulDelete") == 5
        assert (await sandbox.get(JOB, "a"))["status"]["active"] == 3

    run(story, plain_cluster(2))


def test_every_pod_is_placed_in_the_end_and_no_node_is_full_twice() -> None:
    async def story(sandbox: Sandbox) -> None:
        client = FaultyClient(sandbox.client, sandbox.clock, Random(1), rate=0.3, pod_lag_s=1)
        controller = SchedulerController(client, sandbox.clock, Random(1), name="faulty")
        life = asyncio.create_task(controller.run())
        await sandbox.job(
            "a",
            parallelism=40,
            completions=40,
            annotations={"sim.muster.dev/duration": "20s"},
            container={"resources": {"limits": {"nvidia.com/gpu": "1"}}},
            pod={"schedulerName": "faulty"},
        )

        async def is_over() -> bool:
            pods = await sandbox.pods("a")
            running = Counter(
                pod["spec"].get("nodeName")
                for pod in pods
                if pod["status"]["phase"] not in {"Succeeded", "Failed"}
            )
            assert all(count <= 8 for node, count in running.items() if node), running
            return len(pods) == 40 and not running

        await sandbox.until(is_over)
        life.cancel()

    run(story, plain_cluster(2, 8))
