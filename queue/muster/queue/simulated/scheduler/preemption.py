"""
Choose whom a pod that fits nowhere displaces.

Victims have a lower priority and are all on one node, as few and as unimportant as will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from muster.queue.simulated.scheduler.accounts import NodeAccount, Tenant
from muster.queue.simulated.scheduler.demands import Demand
from muster.queue.simulated.scheduler.fitting import Rejection, judge

_PRIORITY_SHIFT = 2**31
"""Makes every priority positive, so that fewer victims always sum up to less."""

Expected = Callable[[str], Iterable[Tenant]]
"""Returns the pods for which room has to stay on a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Displacement:
    """A node on which a pod fits once its victims are gone."""

    node: str
    victims: tuple[Tenant, ...]
    """The most important first."""

    @property
    def harm(self) -> tuple[int, int, int, int, str]:
        priorities = [victim.demand.priority for victim in self.victims]
        top = max(priorities)
        started_us = min(
            victim.started_us for victim in self.victims if victim.demand.priority == top
        )
        # Of equals, those whose work is the youngest lose the least.
        harm = sum(each + _PRIORITY_SHIFT for each in priorities)
        return (top, harm, len(self.victims), -started_us, self.node)


def displace(
    demand: Demand, accounts: Iterable[NodeAccount], expected: Expected
) -> tuple[Displacement | None, Mapping[str, tuple[str, ...]]]:
    """Return the least harmful displacement on these nodes, and why the other nodes offer none."""
    found = []
    reasons: dict[str, tuple[str, ...]] = {}
    for account in accounts:
        answer = _victims(demand, account, list(expected(account.name)))
        if isinstance(answer, Displacement):
            found.append(answer)
        else:
            reasons[account.name] = answer
    return min(found, key=lambda each: each.harm, default=None), reasons


def _victims(
    demand: Demand, account: NodeAccount, expected: list[Tenant]
) -> Displacement | tuple[str, ...]:
    displaceable = [
        tenant for tenant in account.tenants.values() if tenant.demand.priority < demand.priority
    ]
    if not displaceable:
        return ("No preemption victims found for incoming pod",)
    trial = account.copy()
    for tenant in displaceable:
        trial.remove(tenant.uid)
    verdict = judge(demand, trial, expected)
    if isinstance(verdict, Rejection):
        return verdict.reasons
    victims = []
    for tenant in sorted(displaceable, key=lambda tenant: tenant.importance):
        trial.add(tenant)
        if isinstance(judge(demand, trial, expected), Rejection):
            trial.remove(tenant.uid)
            victims.append(tenant)
    assert victims, "the pod did not fit beside all of them"
    return Displacement(node=account.name, victims=tuple(victims))


def is_waiting_for_victims(demand: Demand, account: NodeAccount) -> bool:
    """Whether pods that were preempted for such a pod are still leaving its node."""
    return any(
        tenant.is_preempted and tenant.demand.priority < demand.priority
        for tenant in account.tenants.values()
    )
