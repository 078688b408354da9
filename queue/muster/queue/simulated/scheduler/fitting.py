"""Say whether a pod fits on a node, in the words of the real scheduler, and how well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from muster.admission.eligibility import selects
from muster.admission.objects import Taint
from muster.queue.simulated.scheduler.accounts import NodeAccount, NodeOffer, PlacedPod
from muster.queue.simulated.scheduler.demands import Demand, NodeTerm
from muster.queue.simulated.taints import is_disliked, keeps_off

BEST: Final = 100
_TAINT_WEIGHT: Final = 3
_AFFINITY_WEIGHT: Final = 2
_CORDON: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_NAME_FIELD: Final = "metadata.name"


class Rejection(NamedTuple):
    """Why a pod cannot run on a node now."""

    reasons: tuple[str, ...]
    preemption_helps: bool
    """Whether it might if the node had fewer pods."""


class Score(NamedTuple):
    """How good a node is for a pod that fits, before it is compared with the others."""

    free: int
    """How much of cpu and memory stays free, 0 to 100."""
    unwelcome: int
    """Taints of effect PreferNoSchedule that the pod does not tolerate."""
    preference: int
    """Weights of the preferred node affinity that the node meets."""


def judge(
    demand: Demand, account: NodeAccount, expected: Iterable[PlacedPod] = ()
) -> Rejection | Score:
    """
    Judge one existing node for one pod.

    `expected` are pods on their way to the node, for which room has to stay.
    """
    offer = account.offer
    assert offer is not None, "only nodes that exist are judged"
    if rejection := _static_rejection(demand, account.name, offer):
        return rejection
    if expected:
        account = account.copy()
        for placed in expected:
            account.add(placed)
    return _full(demand, account, offer) or _score(demand, account, offer)


def _static_rejection(demand: Demand, name: str, offer: NodeOffer) -> Rejection | None:
    """Reject a node for what it is, whoever else is on it."""
    if not _is_candidate(demand, name):
        return _never("node(s) didn't satisfy plugin(s) [NodeAffinity]")
    if offer.unschedulable and keeps_off(_CORDON, demand.tolerations):
        return _never("node(s) were unschedulable")
    if any(keeps_off(taint, demand.tolerations) for taint in offer.taints):
        return _never("node(s) had untolerated taint(s)")
    if not is_wanted(demand, name, offer):
        return _never("node(s) didn't match Pod's node affinity/selector")
    return None


def is_wanted(demand: Demand, name: str, offer: NodeOffer) -> bool:
    """Whether a node is one of those that a pod chooses from, by selector and affinity."""
    required = demand.required
    return all(offer.labels.get(key) == value for key, value in demand.node_selector) and (
        required is None or any(_meets(term, name, offer) for term in required)
    )


def _never(reason: str) -> Rejection:
    return Rejection((reason,), preemption_helps=False)


def _is_candidate(demand: Demand, name: str) -> bool:
    """Whether any term of the required affinity, by the names it lists, could mean the node."""
    if not demand.required:
        return True
    return any(
        all(
            name in each.values
            for each in term.fields.requirements
            if each.key == _NAME_FIELD and each.operator == "In"
        )
        for term in demand.required
    )


def _meets(term: NodeTerm, name: str, offer: NodeOffer) -> bool:
    if not term.labels.requirements and not term.fields.requirements:
        return False
    return selects(term.labels, offer.labels) and selects(term.fields, {_NAME_FIELD: name})


def _full(demand: Demand, account: NodeAccount, offer: NodeOffer) -> Rejection | None:
    """Reject a node for the pods that it has."""
    if demand.ports and any(
        mine.conflicts(taken)
        for placed in account.pods.values()
        for taken in placed.demand.ports
        for mine in demand.ports
    ):
        reason = "node(s) didn't have free ports for the requested pod ports"
        return Rejection((reason,), preemption_helps=True)
    reasons = []
    helps = True
    allocatable = offer.allocatable
    if len(account.pods) >= allocatable.get("pods", 0):
        reasons.append("Too many pods")
    for resource, amount in demand.requests:
        available = allocatable.get(resource, 0)
        if amount > available - account.used[resource]:
            reasons.append(f"Insufficient {resource}")
            helps = helps and amount <= available
    return Rejection(tuple(reasons), helps) if reasons else None


def _score(demand: Demand, account: NodeAccount, offer: NodeOffer) -> Score:
    shares = []
    for place, resource in enumerate(("cpu", "memory")):
        if available := offer.allocatable.get(resource, 0):
            free = available - account.comparable[place] - demand.comparable[place]
            shares.append(max(free, 0) * BEST // available)
    return Score(
        free=sum(shares) // len(shares) if shares else 0,
        unwelcome=sum(
            taint.effect == "PreferNoSchedule" and is_disliked(taint, demand.tolerations)
            for taint in offer.taints
        ),
        preference=sum(
            weight for weight, term in demand.preferred if _meets(term, account.name, offer)
        ),
    )


def best(scores: dict[str, Score]) -> str:
    """Return the name of the best node; of equals, the first by name."""
    unwelcome_max = max(score.unwelcome for score in scores.values())
    preference_max = max(score.preference for score in scores.values())

    def rank(name: str) -> tuple[int, str]:
        free, unwelcome, preference = scores[name]
        total = free
        if unwelcome_max:
            total += _TAINT_WEIGHT * (BEST - unwelcome * BEST // unwelcome_max)
        if preference_max:
            total += _AFFINITY_WEIGHT * (preference * BEST // preference_max)
        return (-total, name)

    return min(scores, key=rank)


def availability(nodes: int, reasons: Counter[str]) -> str:
    """Say how many nodes stand against a pod for which reasons."""
    told = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{nodes} nodes are available: {', '.join(told)}."
