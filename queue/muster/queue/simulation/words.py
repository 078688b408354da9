"""
What a simulation adds to the engine's explanations: gangs, lenders, and work that is lost.

Sentences of decisions come from `muster.admission.explain`; what is here names the shape of a gang
and says from whom a queue borrows. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Final

from muster.admission import explain, objects
from muster.admission.amounts import FlavorResource
from muster.admission.explain import View, quantity
from muster.admission.plan import Admit, Eviction, Grant, Preempt, Wait
from muster.admission.records import Queue
from muster.admission.state import State

LENDERS_NAMED_MAX: Final = 3


def short_name(resource: str) -> str:
    """Return a resource without its vendor: "gpu" for "nvidia.com/gpu"."""
    return resource.rpartition("/")[2]


def amount(resource: str, value: int) -> str:
    """Return an amount for people: "8 gpu", "64 cpu", "512Gi memory"."""
    return f"{quantity(resource, value)} {short_name(resource)}"


def listed(parts: Sequence[str]) -> str:
    """Return "a, b and c"."""
    *head, last = parts
    return f"{', '.join(head)} and {last}" if head else last


def gang(workload: objects.Workload) -> str:
    """Return the shape of a gang: "4 pods x 2 gpu"."""
    return " + ".join(_pod_set(pod_set) for pod_set in workload.pod_sets)


def _pod_set(pod_set: objects.PodSet) -> str:
    each = ", ".join(amount(resource, value) for resource, value in pod_set.requests)
    count = "1 pod" if pod_set.count == 1 else f"{pod_set.count} pods"
    return f"{count} x {each}" if each else count


def given(grants: Iterable[Grant]) -> str:
    """Return amounts by flavor: "8 gpu and 64 cpu of h100"."""
    by_flavor: dict[str, list[str]] = {}
    for grant in grants:
        by_flavor.setdefault(grant.flavor, []).append(amount(grant.resource, grant.amount))
    return ", ".join(f"{listed(found)} of {flavor}" for flavor, found in by_flavor.items())


# --- Admissions ----------------------------------------------------------------------------------


def admission(admit: Admit, workload: objects.Workload, state: State) -> str:
    """Say on what a job starts and whose quota it is; `state` is the one after the admission."""
    admitted = sum(assigned.count for assigned in admit.admission.pod_sets)
    asked = sum(pod_set.count for pod_set in workload.pod_sets)
    pods = f"{admitted} of its {gang(workload)}" if admitted < asked else gang(workload)
    if not admit.grants:
        return f"starts {pods}, which ask for nothing that has a quota"
    return f"starts {pods} on {_flavors(admit.grants)}, {_ownership(admit, state)}"


def _flavors(grants: Iterable[Grant]) -> str:
    resources: dict[str, list[str]] = {}
    for grant in grants:
        resources.setdefault(grant.flavor, []).append(short_name(grant.resource))
    if len(resources) == 1:
        return next(iter(resources))
    return listed([f"{flavor} ({', '.join(names)})" for flavor, names in resources.items()])


def _ownership(admit: Admit, state: State) -> str:
    queue = state.queues[admit.cluster_queue]
    borrowed = [grant for grant in admit.grants if grant.borrowed]
    if borrowed:
        return f"borrows {listed([_loan(grant, queue, state) for grant in borrowed])}"
    cells = [queue.cell(FlavorResource(g.flavor, g.resource)) for g in admit.grants]
    used = [
        f"{quantity(cell.pair.resource, cell.used)} of {amount(cell.pair.resource, cell.nominal)}"
        for cell in cells
    ]
    return f"within quota ({queue.name}: {', '.join(used)})"


def _loan(grant: Grant, queue: Queue, state: State) -> str:
    lenders = list(_lenders(grant, queue, state))
    return (
        f"{amount(grant.resource, grant.borrowed)} from "
        f"{listed(lenders) if lenders else 'the cohort'}"
    )


def _lenders(grant: Grant, queue: Queue, state: State) -> Iterator[str]:
    """Yield the queues of the tree with most of their own quota idle."""
    pair = FlavorResource(grant.flavor, grant.resource)
    idle = [
        (cell.used - cell.nominal, other.name, cell)
        for other in state.queues.values()
        if other.root is queue.root and (cell := other.cells.get(pair)) is not None
        if cell.used < cell.nominal
    ]
    for _, name, cell in nsmallest(LENDERS_NAMED_MAX, idle, key=lambda found: found[:2]):
        used, nominal = quantity(pair.resource, cell.used), quantity(pair.resource, cell.nominal)
        yield f"{name} (uses {used} of {nominal})"


# --- Preemptions and refusals --------------------------------------------------------------------


def preemption(preempt: Preempt, eviction: Eviction, view: View, now_us: int) -> str:
    """Say who has to go, with how much, and by which right."""
    because, *more = explain.preempted(eviction, preempt, view, now_us).details
    victim = f"{view.name_of(eviction.workload)} ({given(eviction.amounts)})"
    if eviction.ends_by_us is not None:
        return f"waits for {victim}: {'; '.join(more)}"
    return f"preempts {victim}: {because}"


def refusal(wait: Wait, view: View) -> str:
    """Say what a job waits for."""
    return str(explain.waiting(wait, view))
