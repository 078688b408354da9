"""
The controllers that a real control plane has, for an API server without any.

    async with simulated_control_plane(client_of, clock, kinds, seed=1):
        ...  # Jobs get pods, pods get nodes, and what is deleted takes its own along
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Final

from muster.queue.client.protocol import Client
from muster.queue.clock import Clock
from muster.queue.simulated.budgets import BudgetController
from muster.queue.simulated.garbage import GarbageCollector, Kinds
from muster.queue.simulated.jobs.controller import JobController
from muster.queue.simulated.jobs.expiry import JobExpiry
from muster.queue.simulated.namespaces import NamespaceController
from muster.queue.simulated.scheduler.controller import SchedulerController

CONTROLLER_MANAGER: Final = "kube-controller-manager"
SCHEDULER: Final = "kube-scheduler"


@asynccontextmanager
async def simulated_control_plane(
    client_of: Callable[[str], Client], clock: Clock, kinds: Kinds, *, seed: int
) -> AsyncGenerator[None, None]:
    """
    Run all controllers inside the context.

    `client_of` returns the client of a field manager; `kinds` all kinds that are served, each in
    one version. Chance comes from `seed` alone. Trouble with the server is waited out.
    """
    rng = Random(seed)  # noqa: S311 - chance, not a secret
    client = client_of(CONTROLLER_MANAGER)
    controllers = (
        JobController(client, clock, rng),
        JobExpiry(client, clock, rng),
        GarbageCollector(client, clock, rng, kinds),
        NamespaceController(client, clock, rng, kinds),
        BudgetController(client, clock, rng),
        SchedulerController(client_of(SCHEDULER), clock, rng),
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.run()) for each in controllers]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
