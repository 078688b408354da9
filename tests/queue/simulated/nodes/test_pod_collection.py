"""Pods whose node is no more: each is given time for the node to come back, then removed."""

from muster.queue.client.kinds import NODE, POD
from tests.queue.simulated.sandbox import Sandbox, run

QUARANTINE_S = 40


async def _pod_nowhere(sandbox: Sandbox, name: str) -> None:
    spec = {"nodeName": "nowhere", "containers": [{"name": "main", "image": "any"}]}
    await sandbox.create(POD, {"metadata": {"name": name}, "spec": spec})


async def _lives_s(sandbox: Sandbox, name: str) -> float:
    async def is_gone() -> bool:
        return not await sandbox.exists(POD, name)

    return await sandbox.until(is_gone)


def test_a_pod_on_no_node_is_removed_after_its_time() -> None:
    async def story(sandbox: Sandbox) -> float:
        await _pod_nowhere(sandbox, "orphan")
        return await _lives_s(sandbox, "orphan")

    assert QUARANTINE_S <= run(story) < QUARANTINE_S + 2


def test_a_later_pod_on_the_same_node_is_given_as_much() -> None:
    async def story(sandbox: Sandbox) -> float:
        await _pod_nowhere(sandbox, "first")
        await _lives_s(sandbox, "first")
        await _pod_nowhere(sandbox, "second")
        return await _lives_s(sandbox, "second")

    assert QUARANTINE_S <= run(story) < QUARANTINE_S + 2


def test_a_pod_stays_on_a_node_that_comes_in_time() -> None:
    async def story(sandbox: Sandbox) -> bool:
        await _pod_nowhere(sandbox, "patient")
        await sandbox.clock.sleep(QUARANTINE_S / 2)
        await sandbox.create(NODE, {"metadata": {"name": "nowhere"}})
        await sandbox.clock.sleep(QUARANTINE_S)
        return await sandbox.exists(POD, "patient")

    assert run(story)


def test_a_node_that_came_and_went_starts_the_time_anew() -> None:
    async def story(sandbox: Sandbox) -> float:
        await _pod_nowhere(sandbox, "patient")
        await sandbox.clock.sleep(QUARANTINE_S / 2)
        await sandbox.create(NODE, {"metadata": {"name": "nowhere"}})
        await sandbox.clock.sleep(1)
        await sandbox.delete(NODE, "nowhere")
        return await _lives_s(sandbox, "patient")

    assert QUARANTINE_S <= run(story) < QUARANTINE_S + 2
