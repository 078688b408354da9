"""
Choose whom a pod that fits nowhere displaces.

Victims have a lower priority and are all on one node, as few and as unimportant as will do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from muster.queue.simulated.scheduler.accounts import NodeAccount, PlacedPod
from muster.queue.simulated.scheduler.demands import Demand
from muster.queue.simulated.scheduler.fitting import Rejection, Score

_PRIORITY_SHIFT = 2**31
"""Makes every priority positive, so that fewer victims always sum up to less."""

Verdict: TypeAlias = Rejection | Score
Trial = Callable[[NodeAccount, Collection[str]], Verdict]
"""Judges a node as its account says; the uids are those of pods that it leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Displacement:
    """A node on which a pod fits once its victims are gone."""

    node: str
    victims: tuple[PlacedPod, ...]
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
    demand: Demand, accounts: Iterable[NodeAccount], trial: Trial
) -> tuple[Displacement | None, Mapping[str, tuple[str, ...]]]:
    """Return the least harmful displacement on these nodes, and why the other nodes offer none."""
    found = []
    reasons: dict[str, tuple[str, ...]] = {}
    for account in accounts:
        answer = _victims(demand, account, trial)
        if isinstance(answer, Displacement):
            found.append(answer)
        else:
            reasons[account.name] = answer
    return min(found, key=lambda each: each.harm, default=None), reasons


def _victims(demand: Demand, account: NodeAccount, trial: Trial) -> Displacement | tuple[str, ...]:
    displaceable = [
        placed for placed in account.pods.values() if placed.demand.priority < demand.priority
    ]
    if not displaceable:
        return ("No preemption victims found for incoming pod",)
    imagined = account.copy()
    gone = {placed.uid: placed for placed in displaceable}
    for uid in gone:
        imagined.remove(uid)
    verdict = trial(imagined, gone)
    if isinstance(verdict, Rejection):
        return verdict.reasons
    for placed in sorted(displaceable, key=lambda placed: placed.importance):
        imagined.add(placed)
        del gone[placed.uid]
        if isinstance(trial(imagined, gone), Rejection):
            imagined.remove(placed.uid)
            gone[placed.uid] = placed
    assert gone, "the pod did not fit beside all of them"
    return Displacement(node=account.name, victims=tuple(gone.values()))


def is_waiting_for_victims(demand: Demand, account: NodeAccount) -> bool:
    """Whether pods that were preempted for such a pod are still leaving its node."""
    return any(
        placed.is_preempted and placed.demand.priority < demand.priority
        for placed in account.pods.values()
    )
