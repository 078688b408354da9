"""How many disruptions a budget allows, by the pods that it guards."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from muster.queue.client.kinds import DISRUPTION_BUDGET
from muster.queue.simulated.budgets import budget_status
from muster.queue.simulated.node_specs import plain_cluster
from tests.queue.simulated.sandbox import Manifest, Sandbox, run

NOW_US = 1_767_225_600_000_000
GUARDED = {"app": "train"}
JOB_OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True}


def a_budget(**spec: Any) -> Manifest:
    selector = {"selector": {"matchLabels": GUARDED}}
    return {"metadata": {"name": "b", "generation": 3}, "spec": {**selector, **spec}}


def a_pod(
    *, ready: bool = True, phase: str = "Running", labels: Any = GUARDED, **metadata: Any
) -> Manifest:
    condition = {"type": "Ready", "status": str(ready)}
    status = {"phase": phase, "conditions": [condition]}
    return {"metadata": {"labels": labels, **metadata}, "status": status}


READY = a_pod()


@pytest.mark.parametrize(
    "wanted, pods, counted",
    [
        (1, [], (0, 0, 0)),
        (1, [READY], (1, 1, 0)),
        (1, [READY, READY], (2, 2, 1)),
        (0, [READY], (1, 1, 1)),
        (2, [READY], (1, 1, 0)),
        (1, [READY, a_pod(ready=False)], (2, 1, 0)),
        (1, [READY, a_pod(deletionTimestamp="2026-01-01T00:00:00Z")], (2, 1, 0)),
        (1, [READY, a_pod(phase="Succeeded")], (1, 1, 0)),
        (1, [READY, a_pod(labels={"app": "other"})], (1, 1, 0)),
    ],
)
def test_pods_that_are_ready_beyond_the_minimum_may_go(
    wanted: int, pods: list[Manifest], counted: tuple[int, int, int]
) -> None:
    status = budget_status(a_budget(minAvailable=wanted), pods, NOW_US)

    names = ("expectedPods", "currentHealthy", "disruptionsAllowed")
    assert tuple(status[name] for name in names) == counted
    assert (status["desiredHealthy"], status["observedGeneration"]) == (wanted, 3)
    (condition,) = status["conditions"]
    allowed = counted[2] > 0
    assert condition["status"] == str(allowed)
    assert condition["reason"] == ("SufficientPods" if allowed else "InsufficientPods")


@pytest.mark.parametrize("spec", [{"maxUnavailable": 1}, {"minAvailable": "50%"}], ids=str)
def test_nobody_may_go_where_nobody_can_count(spec: Manifest) -> None:
    status = budget_status(a_budget(**spec), [a_pod(ownerReferences=[JOB_OWNER])], NOW_US)

    assert (status["expectedPods"], status["disruptionsAllowed"]) == (0, 0)
    (condition,) = status["conditions"]
    assert condition["reason"] == "SyncFailed"
    assert condition["message"] == "jobs.batch does not implement the scale subresource"


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    budget = a_budget(minAvailable=1)
    budget["status"] = budget_status(budget, [READY], NOW_US)

    later = budget_status(budget, [READY], NOW_US + 60_000_000)
    changed = budget_status(budget, [READY, READY], NOW_US + 60_000_000)

    assert later == budget["status"]
    assert changed["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:01:00Z"


def test_a_budget_follows_the_pods_as_they_come_and_go() -> None:
    async def story(sandbox: Sandbox) -> None:
        selector = {"matchLabels": {"job-name": "train"}}
        budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
        await sandbox.create(DISRUPTION_BUDGET, budget)

        def counts(expected: int, allowed: int) -> Callable[[], Awaitable[bool]]:
            async def holds() -> bool:
                status = (await sandbox.get(DISRUPTION_BUDGET, "b")).get("status") or {}
                told = (status.get("expectedPods"), status.get("disruptionsAllowed"))
                return told == (expected, allowed)

            return holds

        await sandbox.until(counts(0, 0))
        await sandbox.job("train", parallelism=3, completions=3)
        await sandbox.until(counts(3, 2))
        await sandbox.until(counts(0, 0))

    run(story, plain_cluster(2))
