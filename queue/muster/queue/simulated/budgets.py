"""
Keep the status of disruption budgets true, so that evictions are allowed or not as they say.

Only an integer `minAvailable` can be counted here. What a part of the pods is, or how many may be
unavailable, depends on how many there should be, which only controllers with a scale can say, and
Jobs have none. Such a budget allows nothing and says why, as on a real cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Final

from muster.queue.client.informer import Change, Informer, Key
from muster.queue.client.kinds import DISRUPTION_BUDGET, POD
from muster.queue.client.labels import matches_labels
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.conditions import condition, dated, is_true
from muster.queue.simulated.revising import revise

_ALLOWED: Final = "DisruptionAllowed"
_OVER: Final = ("Succeeded", "Failed")


def budget_status(budget: Manifest, pods: Iterable[Manifest], now_us: int) -> dict[str, Any]:
    """Return the status that a budget should have, by the pods of its namespace."""
    guarded = [pod for pod in pods if _is_guarded(pod, budget)]
    wanted = budget["spec"].get("minAvailable")
    why = "" if isinstance(wanted, int) else _uncountable(guarded)
    if not isinstance(wanted, int):
        guarded, wanted = [], 0
    healthy = sum(map(_is_healthy, guarded))
    allowed = max(0, healthy - wanted) if guarded else 0
    generation = budget["metadata"].get("generation", 0)
    told = {
        "type": _ALLOWED,
        "status": str(allowed > 0),
        "reason": "SyncFailed" if why else "SufficientPods" if allowed else "InsufficientPods",
        "message": why,
        "observedGeneration": generation,
    }
    return {
        "expectedPods": len(guarded),
        "currentHealthy": healthy,
        "desiredHealthy": wanted,
        "disruptionsAllowed": allowed,
        "observedGeneration": generation,
        "conditions": [dated(told, condition(budget, _ALLOWED), now_us)],
    }


def _is_guarded(pod: Manifest, budget: Manifest) -> bool:
    selector: Mapping[str, Any] | None = budget["spec"].get("selector")
    if selector is None or (pod.get("status") or {}).get("phase") in _OVER:
        return False
    return matches_labels(selector, pod["metadata"].get("labels") or {})


def _is_healthy(pod: Manifest) -> bool:
    return is_true(pod, "Ready") and "deletionTimestamp" not in pod["metadata"]


def _uncountable(pods: Iterable[Manifest]) -> str:
    """Return why nobody knows how many of these pods there should be; "" if there are none."""
    for pod in pods:
        for owner in pod["metadata"].get("ownerReferences") or ():
            if owner.get("controller"):
                group, slash, _ = owner["apiVersion"].rpartition("/")
                resource = f"{owner['kind'].lower()}s{'.' if slash else ''}{group}"
                return f"{resource} does not implement the scale subresource"
    return ""


class BudgetController:
    """Counts the pods of all budgets."""

    def __init__(self, client: Client, clock: Clock, rng: Random) -> None:
        self._client = client
        self._clock = clock
        self._budgets = Informer(client, DISRUPTION_BUDGET, clock, rng)
        self._pods = Informer(client, POD, clock, rng)
        self._budgets.listen(self._budget_changed)
        self._pods.listen(self._pod_changed)
        self._queue: WorkQueue[Key] = WorkQueue(clock, rng)

    async def run(self) -> None:
        """Count until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._budgets.run())
            tasks.create_task(self._pods.run())
            await self._pods.synced.wait()
            tasks.create_task(self._queue.run(self._sync, workers=1))

    def _budget_changed(self, change: Change) -> None:
        if change.new is not None:
            self._queue.add(change.key)

    def _pod_changed(self, change: Change) -> None:
        for key, budget in self._budgets.objects.items():
            if key.namespace == change.key.namespace and any(
                pod is not None and _is_guarded(pod, budget) for pod in (change.old, change.new)
            ):
                self._queue.add(key)

    async def _sync(self, key: Key) -> None:
        budget = self._budgets.objects.get(key)
        if budget is None:
            return

        def revision(latest: Manifest) -> dict[str, Any] | None:
            pods = (pod for at, pod in self._pods.objects.items() if at.namespace == key.namespace)
            status = budget_status(latest, pods, self._clock.now_us())
            return None if latest.get("status") == status else {"status": status}

        await revise(self._client, DISRUPTION_BUDGET, budget, revision, subresource="status")
