"""
Decisions in plain sentences, with their numbers.

Every sentence is made from the values of one decision and from who used what when it was taken;
nothing is decided or recomputed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from muster.admission import objects
from muster.admission.amounts import FlavorResource
from muster.admission.eligibility import (
    AffinityMismatch,
    InvalidAffinity,
    Refusal,
    SelectorMismatch,
    UnknownFlavor,
    UntoleratedTaint,
)
from muster.admission.plan import Admit, Eviction, Grant, Obstacle, Preempt, Wait
from muster.admission.victims import VictimReason
from muster.queue.api.quantities import amount_quantity
from muster.queue.simulation.decisions import Share, Standing

Standings = Mapping[FlavorResource, Standing]


def short_name(resource: str) -> str:
    """Return a resource without its vendor: "gpu" for "nvidia.com/gpu"."""
    return resource.rpartition("/")[2]


def amount(resource: str, value: int) -> str:
    """Return an amount for people: "8 gpu", "64 cpu", "512Gi memory"."""
    return f"{amount_quantity(resource, value)} {short_name(resource)}"


def pods(workload: objects.Workload) -> str:
    """Return the shape of a gang: "4 pods x 2 gpu"."""
    return " + ".join(_pod_set(pod_set) for pod_set in workload.pod_sets)


def _pod_set(pod_set: objects.PodSet) -> str:
    each = ", ".join(amount(resource, value) for resource, value in pod_set.requests)
    return f"{pod_set.count} {'pod' if pod_set.count == 1 else 'pods'}{f' x {each}' if each else ''}"


def grants(given: Iterable[Grant]) -> str:
    """Return amounts by flavor: "8 gpu and 64 cpu of h100"."""
    by_flavor: dict[str, list[str]] = {}
    for grant in given:
        by_flavor.setdefault(grant.flavor, []).append(amount(grant.resource, grant.amount))
    return ", ".join(f"{listed(found)} of {flavor}" for flavor, found in by_flavor.items())


def listed(parts: Sequence[str]) -> str:
    """Return "a, b and c"."""
    *head, last = parts
    return f"{', '.join(head)} and {last}" if head else last


# --- Admissions ----------------------------------------------------------------------------------


def admission(admit: Admit, standings: Standings, workload: objects.Workload) -> str:
    """Say on what a job starts and whose quota it is."""
    admitted = sum(assigned.count for assigned in admit.admission.pod_sets)
    asked = sum(pod_set.count for pod_set in workload.pod_sets)
    gang = f"{admitted} of its {pods(workload)}" if admitted < asked else pods(workload)
    if not admit.grants:
        return f"starts {gang}, which ask for nothing that has a quota"
    return f"starts {gang} on {_flavors(admit.grants)}, {_ownership(admit, standings)}"


def _flavors(given: Iterable[Grant]) -> str:
    resources: dict[str, list[str]] = {}
    for grant in given:
        resources.setdefault(grant.flavor, []).append(short_name(grant.resource))
    if len(resources) == 1:
        return next(iter(resources))
    return listed([f"{flavor} ({', '.join(names)})" for flavor, names in resources.items()])


def _ownership(admit: Admit, standings: Standings) -> str:
    borrowed = [grant for grant in admit.grants if grant.borrowed]
    if borrowed:
        return listed([_loan(grant, standings) for grant in borrowed])
    used = [
        f"{amount_quantity(pair.resource, own.used)} of {amount(pair.resource, own.nominal)}"
        for pair, own in ((pair, standing.own) for pair, standing in standings.items())
    ]
    return f"in the quota of {admit.cluster_queue} ({', '.join(used)} now used)"


def _loan(grant: Grant, standings: Standings) -> str:
    standing = standings.get(FlavorResource(grant.flavor, grant.resource))
    what = "all" if grant.borrowed == grant.amount else amount(grant.resource, grant.borrowed)
    if standing is None or not standing.owners:
        return f"{what} borrowed from the cohort"
    lenders = listed([_idle(share, grant.resource) for share in standing.owners])
    return f"{what} borrowed from {lenders}"


def _idle(share: Share, resource: str) -> str:
    used = amount_quantity(resource, share.used)
    return f"{share.queue} (which uses {used} of {amount_quantity(resource, share.nominal)})"


# --- Preemptions ---------------------------------------------------------------------------------


def preemption(preempt: Preempt, eviction: Eviction, standings: Standings) -> str:
    """Say who has to go, with how much, and by which right."""
    if eviction.ends_by_us is not None:
        return (
            f"waits for {eviction.workload} ({grants(eviction.amounts)}), which may be preempted "
            "but, as others of its kind, should be done any moment"
        )
    return (
        f"preempts {eviction.workload} ({grants(eviction.amounts)}): "
        f"{_right(preempt, eviction, standings)}"
    )


def _right(preempt: Preempt, eviction: Eviction, standings: Standings) -> str:
    theirs, ours = eviction.cluster_queue, preempt.cluster_queue
    match eviction.reason:
        case VictimReason.IN_CLUSTER_QUEUE:
            return f"same queue, and priority {eviction.priority} under {preempt.priority}"
        case VictimReason.IN_COHORT_RECLAMATION:
            return f"{theirs} borrows{_excess(theirs, standings)}, and {ours} takes back its own"
        case VictimReason.IN_COHORT_FAIR_SHARING:
            return f"{theirs} has more than its fair share{_excess(theirs, standings)}"
        case VictimReason.IN_COHORT_RECLAIM_WHILE_BORROWING:
            return (
                f"{theirs} borrows{_excess(theirs, standings)}, and priority "
                f"{eviction.priority} is under {preempt.priority}"
            )
        case _:
            assert_never(eviction.reason)


def _excess(queue: str, standings: Standings) -> str:
    beyond = [
        amount(pair.resource, share.borrowed)
        for pair, standing in standings.items()
        for share in (*standing.users, standing.own)
        if share.queue == queue and share.borrowed
    ]
    return f" {listed(list(dict.fromkeys(beyond)))}" if beyond else ""


# --- Refusals ------------------------------------------------------------------------------------


def refusal(wait: Wait, standings: Standings, workload: objects.Workload) -> str:
    """Say what a job waits for: what is missing where, and who has it."""
    if not wait.obstacles:
        return f"waits ({wait.reason}){f': {wait.detail}' if wait.detail else ''}"
    whole = " whole" if sum(pod_set.count for pod_set in workload.pod_sets) > 1 else ""
    lacks = [obstacle for obstacle in wait.obstacles if obstacle.refusal is None]
    told = "; ".join(dict.fromkeys(_obstacle(obstacle) for obstacle in wait.obstacles))
    return f"waits{whole}: {told}{_in_use(lacks, standings)}"


def _obstacle(obstacle: Obstacle) -> str:
    if obstacle.refusal is not None:
        return f"{obstacle.flavor} is out, {_refused(obstacle.refusal)}"
    resource = obstacle.resource
    asked = amount(resource, obstacle.asked)
    if not obstacle.flavor:
        return f"asks {asked}, of which the queue has no quota"
    if obstacle.asked > obstacle.potential:
        most = amount_quantity(resource, obstacle.potential)
        return f"asks {asked} of {obstacle.flavor}, and the queue can never have more than {most}"
    free = amount_quantity(resource, max(0, obstacle.free))
    missing = amount_quantity(resource, obstacle.missing)
    return f"asks {asked} of {obstacle.flavor}, {free} free, {missing} missing"


def _in_use(lacks: Sequence[Obstacle], standings: Standings) -> str:
    pairs = {FlavorResource(o.flavor, o.resource): None for o in lacks if o.asked <= o.potential}
    if len(pairs) != 1:
        return ""
    (pair,) = pairs
    standing = standings.get(pair)
    if standing is None or not standing.users:
        return ""
    users = [_use(share, pair.resource) for share in standing.users]
    return f"; in use: {listed(users)}"


def _use(share: Share, resource: str) -> str:
    used = amount_quantity(resource, share.used)
    return f"{share.queue} {used} (owns {amount_quantity(resource, share.nominal)})"


def _refused(refused: Refusal) -> str:
    match refused:
        case UnknownFlavor(flavor):
            return f"no ResourceFlavor is named {flavor}"
        case UntoleratedTaint(taint):
            value = f"={taint.value}" if taint.value else ""
            return f"its nodes have the taint {taint.key}{value}:{taint.effect}"
        case SelectorMismatch(key, wanted, has):
            return f"the pods want nodes with {key}={wanted}, not {has}"
        case AffinityMismatch():
            return "the node affinity of the pods excludes it"
        case InvalidAffinity(_, flaw):
            return f"the node affinity of the pods is invalid: {flaw}"
        case _:
            assert_never(refused)
