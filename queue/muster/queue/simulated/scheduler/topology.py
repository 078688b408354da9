"""
Where a pod may be because of where other pods are: near some, apart from others, evenly spread.

Unlike everything else about a node, this changes with pods on other nodes, so it is worked out for
one pod at a time. One thing differs from the real scheduler: pods that are only expected on a node,
once others have made room for them, do not count here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from muster.admission.eligibility import selects
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.scheduler.accounts import Accounts, NodeAccount, NodeOffer, PlacedPod
from muster.queue.simulated.scheduler.demands import Demand, PodTerm, Spread
from muster.queue.simulated.scheduler.fitting import Rejection, is_wanted
from muster.queue.simulated.taints import keeps_off

_NEAR = "node(s) didn't match pod affinity rules"
_APART = "node(s) didn't match pod anti-affinity rules"
_REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"
_SPREAD = "node(s) didn't match pod topology spread constraints"

Check = Callable[[NodeOffer], Rejection | None]
"""Returns why other pods keep a pod off a node."""
_Domain = tuple[str, str]
"""A topology key and one of its values."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The pod that is to be placed."""

    namespace: str
    labels: dict[str, str]
    demand: Demand


def arrival(pod: Manifest, demand: Demand) -> Arrival:
    """Read what other pods look at in a pod."""
    metadata = pod["metadata"]
    return Arrival(metadata["namespace"], metadata.get("labels", {}), demand)


def checks(subject: Arrival, accounts: Accounts, without: Collection[str] = ()) -> list[Check]:
    """Return what to check of each node, in order; `without` are uids of pods to leave out."""
    demand = subject.demand
    found: list[Check] = []
    if demand.spread:
        found += [_spread_check(subject, each, accounts, without) for each in demand.spread]
    if demand.near:
        found.append(_near_check(subject, accounts, without))
    if demand.apart:
        found.append(_apart_check(subject, accounts, without))
    if repelled := _repelled(subject, accounts, without):
        found.append(_outside(repelled, _REPELLED))
    return found


def _present(accounts: Accounts, without: Collection[str]) -> Iterator[tuple[NodeOffer, PlacedPod]]:
    for account in accounts:
        if account.offer is not None:
            for placed in account.pods.values():
                if placed.uid not in without:
                    yield account.offer, placed


def _domain(term: PodTerm, offer: NodeOffer) -> _Domain | None:
    value = offer.labels.get(term.topology_key)
    return None if value is None else (term.topology_key, value)


def _matches(term: PodTerm, namespace: str, labels: dict[str, str]) -> bool:
    if term.namespaces is not None and namespace not in term.namespaces:
        return False
    return selects(term.selector, labels)


def _outside(domains: Collection[_Domain], reason: str) -> Check:
    def check(offer: NodeOffer) -> Rejection | None:
        is_inside = any(offer.labels.get(key) == value for key, value in domains)
        return Rejection((reason,), preemption_helps=True) if is_inside else None

    return check


def _near_check(subject: Arrival, accounts: Accounts, without: Collection[str]) -> Check:
    terms = subject.demand.near
    # A pod counts only if it is what all terms look for.
    friends = [
        offer
        for offer, placed in _present(accounts, without)
        if all(_matches(term, placed.namespace, placed.labels) for term in terms)
    ]
    domains = {_domain(term, offer) for offer in friends for term in terms}
    # The first of a group that wants to be together may go anywhere.
    is_first = not any(domain is not None for domain in domains) and all(
        _matches(term, subject.namespace, subject.labels) for term in terms
    )

    def check(offer: NodeOffer) -> Rejection | None:
        here = [_domain(term, offer) for term in terms]
        if all(each is not None and (is_first or each in domains) for each in here):
            return None
        return Rejection((_NEAR,), preemption_helps=False)

    return check


def _apart_check(subject: Arrival, accounts: Accounts, without: Collection[str]) -> Check:
    domains = {
        domain: None
        for offer, placed in _present(accounts, without)
        for term in subject.demand.apart
        if _matches(term, placed.namespace, placed.labels)
        and (domain := _domain(term, offer)) is not None
    }
    return _outside(domains, _APART)


def _repelled(
    subject: Arrival, accounts: Accounts, without: Collection[str]
) -> dict[_Domain, None]:
    """Return the domains where a pod is that does not want the new one near."""
    domains: dict[_Domain, None] = {}
    for account, placed in accounts.repellers():
        if placed.uid in without or account.offer is None:
            continue
        for term in placed.demand.apart:
            if _matches(term, subject.namespace, subject.labels):
                domain = _domain(term, account.offer)
                if domain is not None:
                    domains[domain] = None
    return domains


# -- spread -----------------------------------------------------------------------------------


def _spread_check(
    subject: Arrival, spread: Spread, accounts: Accounts, without: Collection[str]
) -> Check:
    counts: Counter[str] = Counter()
    keys = [each.topology_key for each in subject.demand.spread]
    for account in accounts:
        offer = account.offer
        if offer is None or not _is_counted(subject, spread, account, offer, keys):
            continue
        counts[offer.labels[spread.topology_key]] += sum(
            not placed.is_leaving
            and placed.uid not in without
            and placed.namespace == subject.namespace
            and selects(spread.selector, placed.labels)
            for placed in account.pods.values()
        )
    least = min(counts.values(), default=0)
    if len(counts) < spread.domains_min:
        least = 0
    itself = selects(spread.selector, subject.labels)

    def check(offer: NodeOffer) -> Rejection | None:
        value = offer.labels.get(spread.topology_key)
        if value is None:
            reason = f"{_SPREAD} (missing required label)"
            return Rejection((reason,), preemption_helps=False)
        if counts.get(value, 0) + itself - least > spread.skew_max:
            return Rejection((_SPREAD,), preemption_helps=True)
        return None

    return check


def _is_counted(
    subject: Arrival,
    spread: Spread,
    account: NodeAccount,
    offer: NodeOffer,
    keys: Iterable[str],
) -> bool:
    """Whether the domain of a node is one over which the pods are spread."""
    demand = subject.demand
    if not all(key in offer.labels for key in keys):
        return False
    if spread.honors_affinity and not is_wanted(demand, account.name, offer):
        return False
    return not spread.honors_taints or not any(
        keeps_off(taint, demand.tolerations) for taint in offer.taints
    )
