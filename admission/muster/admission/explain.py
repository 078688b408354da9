"""
Decisions in words: the only place where the engine's values become sentences.

Every sentence is made of numbers and names that are in the decision, or that a `View` of the State
adds (who holds what). Nothing is decided here, and nothing is left out because it is unpleasant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from muster.admission.amounts import INFINITE, FlavorResource
from muster.admission.conditions import NoQuotaReason, PreemptionReason
from muster.admission.eligibility import (
    AffinityMismatch,
    InvalidAffinity,
    Refusal,
    SelectorMismatch,
    UnknownFlavor,
    UntoleratedTaint,
)
from muster.admission.objects import NodeTerm, Requirement, Taint
from muster.admission.plan import Admit, Aside, Eviction, Grant, Obstacle, Preempt, Requeue, Wait
from muster.admission.queries import Standing, Use, Why
from muster.admission.requests import NANO, quantity_text

USERS_SHOWN_MAX: Final = 3
"""Workloads named as holding what somebody waits for."""

_SECOND_US: Final = 1_000_000


def _nobody(_cluster_queue: str, _pair: FlavorResource) -> Sequence[Use]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What sentences may mention besides the decision itself."""

    users_of: Callable[[str, FlavorResource], Sequence[Use]] = _nobody
    """(ClusterQueue, pair) -> who holds it, greatest first; see `queries.users_of`."""
    name_of: Callable[[str], str] = str
    """How a workload is called, by its key."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence, and what supports it."""

    headline: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.headline} — {'; '.join(self.details)}" if self.details else self.headline


# --- Amounts -------------------------------------------------------------------------------------


def quantity(resource: str, amount: int) -> str:
    """Return an amount as people write it: 1500m of cpu, 4Gi of memory."""
    if amount >= INFINITE:
        return "unlimited"
    return quantity_text(resource, amount * (NANO // 1000 if resource == "cpu" else NANO))


def grants(given: Iterable[Grant]) -> str:
    """Return "h100: 8 nvidia.com/gpu (4 borrowed), 16 cpu"; flavors apart by semicolons."""
    by_flavor: dict[str, list[str]] = {}
    for grant in given:
        text = f"{quantity(grant.resource, grant.amount)} {grant.resource}"
        if grant.borrowed:
            text += f" ({quantity(grant.resource, grant.borrowed)} borrowed)"
        by_flavor.setdefault(grant.flavor, []).append(text)
    return "; ".join(f"{flavor}: {', '.join(texts)}" for flavor, texts in by_flavor.items())


# --- Admitted and preempted ----------------------------------------------------------------------


def admitted(decision: Admit) -> Explanation:
    """Say what a workload was given."""
    given = grants(decision.grants) or "nothing that is counted"
    if not decision.required_checks:
        return Explanation(f"admitted by {decision.cluster_queue} with {given}")
    checks = ", ".join(decision.required_checks)
    return Explanation(
        f"quota reserved in {decision.cluster_queue}: {given}",
        (f"starts once these admission checks are ready: {checks}",),
    )


def preempted(eviction: Eviction, preemptor: Preempt, view: View, now_us: int) -> Explanation:
    """Say for whom and why a workload has to make room."""
    who = view.name_of(preemptor.workload)
    details = [_victim_reason(eviction, preemptor)]
    if eviction.already_asked:
        details.append("it was asked to stop before")
    if eviction.ends_by_us is not None:
        left_s = max(0, eviction.ends_by_us - now_us) // _SECOND_US
        details.append(f"it is left to finish, which is expected within {left_s} s")
    return Explanation(f"makes room for {who}", tuple(details))


def _victim_reason(eviction: Eviction, preemptor: Preempt) -> str:
    mine, theirs = preemptor.cluster_queue, eviction.cluster_queue
    match eviction.reason:
        case PreemptionReason.IN_CLUSTER_QUEUE:
            if eviction.priority == preemptor.priority:
                return f"same queue, same priority {preemptor.priority}, but newer"
            return f"same queue, priority {eviction.priority} below {preemptor.priority}"
        case PreemptionReason.IN_COHORT_RECLAMATION:
            if _is_beyond_its_own(preemptor, eviction):
                mine = f"the cohort of {mine}"
            return f"{theirs} uses more than its quota, and {mine} takes its own back"
        case PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING:
            return (
                f"{theirs} uses more than its quota, and {mine} borrows in its place: "
                f"priority {eviction.priority} below {preemptor.priority}"
            )
        case PreemptionReason.IN_COHORT_FAIR_SHARING:
            return f"{theirs} has more than its fair share compared with {mine}"
        case unknown:
            assert_never(unknown)


def _is_beyond_its_own(preemptor: Preempt, eviction: Eviction) -> bool:
    """Whether the preemptor will borrow what the victim holds, so that its cohort reclaims it."""
    held = tuple((grant.flavor, grant.resource) for grant in eviction.amounts)
    return any(
        grant.borrowed and (grant.flavor, grant.resource) in held for grant in preemptor.grants
    )


def preempting(decision: Preempt, view: View) -> Explanation:
    """Say whom a workload waits for, and what it gets then."""
    victims = [view.name_of(eviction.workload) for eviction in decision.evictions]
    verb = "has" if len(victims) == 1 else "have"
    return Explanation(
        f"starts when {_listed(victims)} {verb} stopped", (f"then gets {grants(decision.grants)}",)
    )


# --- Waiting -------------------------------------------------------------------------------------

_HEADLINES: Final = {
    NoQuotaReason.NO_MATCHING_FLAVOR: "no flavor takes its pods",
    NoQuotaReason.EXCEEDS_MAX_QUOTA: "can never fit as it is",
    NoQuotaReason.WAITING_FOR_QUOTA: "waits for quota",
    NoQuotaReason.WAITING_FOR_PREEMPTED_WORKLOADS: "waits for preempted workloads to stop",
    NoQuotaReason.TOPOLOGY_PLACEMENT_FAILED: "cannot be placed",
    NoQuotaReason.MISCONFIGURED: "cannot be admitted as things are set up",
    NoQuotaReason.PENDING_EVALUATION: "is not looked at",
}


def waiting(decision: Wait, view: View) -> Explanation:
    """Say what a workload lacks, on which flavor, and who has it."""
    headline = _headline(decision)
    if decision.detail:
        return Explanation(headline, (decision.detail,))
    if decision.requeue is Requeue.FAILED_AFTER_NOMINATION:
        return Explanation(
            headline,
            ("it would fit alone, but workloads before it took the room; it stays in line",),
        )
    if decision.requeue is Requeue.PENDING_PREEMPTION:
        return Explanation(headline, ("their quota is promised to others first",))
    details = list(_obstacles(decision, view))
    if decision.requeue is Requeue.NO_CANDIDATES:
        details.append("nobody may be preempted for it")
    if decision.aside is Aside.HEAP:
        details.append("it stays first in line")
    return Explanation(headline, tuple(details))


def _headline(decision: Wait) -> str:
    """
    Return what it comes down to.

    The reason judges the last look, which may have begun behind flavors found to be full before;
    what was found is the whole truth.
    """
    reason = decision.reason
    found = decision.obstacles
    undeclared = [obstacle for obstacle in found if not obstacle.flavor]
    lacking = [o for o in found if o.flavor and o.refusal is None and o.missing]
    if reason is NoQuotaReason.NO_MATCHING_FLAVOR and undeclared:
        reason = NoQuotaReason.MISCONFIGURED
    elif reason is NoQuotaReason.NO_MATCHING_FLAVOR and lacking:
        hopeless = all(obstacle.asked > obstacle.potential for obstacle in lacking)
        reason = NoQuotaReason.EXCEEDS_MAX_QUOTA if hopeless else NoQuotaReason.WAITING_FOR_QUOTA
    return _HEADLINES.get(reason, f"waits ({reason})")


def _obstacles(decision: Wait, view: View) -> Iterator[str]:
    several = len(dict.fromkeys(obstacle.pod_set for obstacle in decision.obstacles)) > 1
    for obstacle in decision.obstacles:
        text = _obstacle(decision.cluster_queue, obstacle, view)
        yield f"pod set {obstacle.pod_set}, {text}" if several else text


def _obstacle(cluster_queue: str, obstacle: Obstacle, view: View) -> str:
    if obstacle.refusal is not None:
        return f"{obstacle.flavor}: {refusal(obstacle.refusal)}"
    resource = obstacle.resource
    asked = quantity(resource, obstacle.asked)
    if not obstacle.flavor:
        return f"asks {asked} {resource}, of which the queue has no quota"
    if obstacle.asked > obstacle.potential:
        most = quantity(resource, obstacle.potential)
        return (
            f"{obstacle.flavor}: asks {asked} {resource}, the queue can never use more than {most}"
        )
    free = quantity(resource, max(0, obstacle.free))
    most = quantity(resource, obstacle.potential)
    own = ""
    if obstacle.nominal < obstacle.potential:
        own = f" (own quota {quantity(resource, obstacle.nominal)})"
    text = f"{obstacle.flavor}: needs {asked} {resource}, {free} free of {most}{own}"
    users = view.users_of(cluster_queue, FlavorResource(obstacle.flavor, resource))
    return f"{text}; {_users(resource, users, view)}" if users else text


def _users(resource: str, users: Sequence[Use], view: View) -> str:
    total = sum(use.amount for use in users)
    named = [
        f"{view.name_of(use.workload)} {quantity(resource, use.amount)}"
        + (" (leaving)" if use.evicting else "")
        for use in users[:USERS_SHOWN_MAX]
    ]
    more = len(users) - len(named)
    if more:
        named.append(f"{more} more")
    return f"{quantity(resource, total)} in use by {', '.join(named)}"


# --- Refusals ------------------------------------------------------------------------------------


def refusal(found: Refusal) -> str:
    """Say why pods may not run on the nodes of a flavor."""
    match found:
        case UnknownFlavor():
            return "no such ResourceFlavor"
        case UntoleratedTaint(taint):
            return f"its pods do not tolerate the taint {_taint(taint)}"
        case SelectorMismatch(key, wanted, has):
            return f"its pods want {key}={wanted}, the flavor has {key}={has}"
        case AffinityMismatch(terms):
            return f"its pods want {' or '.join(map(_term, terms))}"
        case InvalidAffinity(requirement, flaw):
            return f"the node affinity on {requirement.key} is invalid: {flaw}"
        case unknown:
            assert_never(unknown)


def _taint(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _term(term: NodeTerm) -> str:
    return " and ".join(map(_requirement, term))


def _requirement(requirement: Requirement) -> str:
    values = ", ".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{requirement.key} in ({values})"
        case "NotIn":
            return f"{requirement.key} not in ({values})"
        case "Exists":
            return f"{requirement.key} to exist"
        case "DoesNotExist":
            return f"{requirement.key} not to exist"
        case "Gt":
            return f"{requirement.key} > {values}"
        case _:
            return f"{requirement.key} < {values}"


# --- Who was not looked at -----------------------------------------------------------------------

_STANDINGS: Final = {
    Why.PARKED: "set aside until something changes that could help it",
    Why.GATED: "held back by admission gates: {all}",
    Why.INACTIVE: "is deactivated (spec.active is false)",
    Why.ON_HOLD: "is on hold until its job is complete",
    Why.NO_LOCAL_QUEUE: "its namespace has no LocalQueue {0!r}",
    Why.LOCAL_QUEUE_STOPPED: "LocalQueue {0} is stopped",
    Why.NO_CLUSTER_QUEUE: "its LocalQueue leads to ClusterQueue {0!r}, which does not exist",
}


_INACTIVE: Final = {
    "FlavorNotFound": "a ResourceFlavor it names is missing",
    "AdmissionCheckNotFound": "an AdmissionCheck it names is missing",
    "AdmissionCheckInactive": "an AdmissionCheck it names has no controller that is ready",
    "TopologyNotFound": "the Topology of one of its ResourceFlavors is missing",
    "MultipleMultiKueueAdmissionChecks": "it has several checks of MultiKueue",
    "MultiKueueAdmissionCheckAppliedPerFlavor": "its check of MultiKueue is for some flavors only",
    "MultiKueueWithProvisioningRequest": "MultiKueue does not go with provisioning requests",
}


def inactive(reason: str) -> str:
    """Say that a ClusterQueue admits nothing, by the reason of its condition Active."""
    meaning = _INACTIVE.get(reason)
    return f"admits nothing ({reason}: {meaning})" if meaning else f"admits nothing ({reason})"


def standing(found: Standing, view: View, now_us: int) -> Explanation:
    """Say why nothing was decided about a workload."""
    match found.why:
        case Why.CLUSTER_QUEUE_INACTIVE:
            name, reason = found.names
            return Explanation(f"ClusterQueue {name} {inactive(reason)}")
        case Why.BEHIND:
            if not found.other:
                return Explanation("is next in line")
            return Explanation(f"waits behind {view.name_of(found.other)}")
        case Why.SAME_SHAPE:
            return Explanation(f"waits like {view.name_of(found.other)}, which asks for the same")
        case Why.BACKING_OFF:
            if found.until_us is None:
                return Explanation("was evicted and may not queue yet")
            left_s = max(0, found.until_us - now_us) // _SECOND_US
            return Explanation(f"backs off for another {left_s} s")
        case Why.NO_LOCAL_QUEUE if not any(found.names):
            return Explanation("names no LocalQueue")
        case why:
            text = _STANDINGS[why].format(*found.names, all=", ".join(found.names))
            return Explanation(text)


def _listed(names: Sequence[str]) -> str:
    *head, last = names
    return f"{', '.join(head)} and {last}" if head else last
