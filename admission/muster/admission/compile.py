"""
What a group of workloads asks of one ClusterQueue, worked out once.

Which resource group covers which requested resource, in which order resources are looked at, which
flavors the pods may run on at all, and which cells would be charged: none of it depends on usage,
so it is computed when a group is first looked at and kept until the queue or a flavor changes. What
is left for each decision is to compare amounts (`assign`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from muster.admission import objects
from muster.admission.amounts import INFINITE, FlavorResource
from muster.admission.eligibility import Refusal, UnknownFlavor, ineligibility
from muster.admission.quota import Cell
from muster.admission.records import Queue

PODS = "pods"


@dataclass(frozen=True, slots=True)
class Option:
    """One flavor for all requested resources of a resource group."""

    flavor: str
    refusal: Refusal | None
    cells: tuple[Cell, ...]
    """One per requested resource, in the order of `Choice.resources`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A flavor to be chosen for the requested resources of one resource group."""

    resources: tuple[str, ...]
    amounts: tuple[int, ...]
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A requested resource that no resource group of the queue covers."""

    resource: str
    amount: int


@dataclass(frozen=True, slots=True)
class PodSetRequest:
    name: str
    count: int
    steps: tuple[Choice | Undeclared, ...]
    """In the order in which the peer visits resources."""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything a workload asks of a queue, at given pod counts."""

    pod_sets: tuple[PodSetRequest, ...]
    topology: str | None
    """The first topology request among the pod sets, if there is any."""


def compile_request(
    queue: Queue,
    pod_sets: Sequence[objects.PodSet],
    counts: Sequence[int],
    flavors: Mapping[str, objects.ResourceFlavor],
    *,
    ignore_undeclared: bool,
) -> Request:
    """
    Return what the pod sets of a shape ask of a queue, with `counts` pods in each.

    A pod set of which no pod is left to run asks for nothing but `pods`, whatever its count.
    """
    compiled = []
    for pod_set, count in zip(pod_sets, counts, strict=True):
        scale = count if pod_set.count else 0
        totals = {name: min(amount * scale, INFINITE) for name, amount in pod_set.requests}
        if PODS in queue.group_of:
            totals[PODS] = count
        steps = _steps(queue, pod_set, totals, flavors, ignore_undeclared=ignore_undeclared)
        compiled.append(PodSetRequest(name=pod_set.name, count=count, steps=steps))
    topology = next((p.topology for p in pod_sets if p.topology is not None), None)
    return Request(pod_sets=tuple(compiled), topology=topology)


def _steps(
    queue: Queue,
    pod_set: objects.PodSet,
    totals: Mapping[str, int],
    flavors: Mapping[str, objects.ResourceFlavor],
    *,
    ignore_undeclared: bool,
) -> tuple[Choice | Undeclared, ...]:
    steps: list[Choice | Undeclared] = []
    done: list[objects.ResourceGroup] = []
    for resource in sorted(totals, key=visiting_order):
        group = queue.group_of.get(resource)
        if group is None:
            if totals[resource] > 0 and not ignore_undeclared:
                steps.append(Undeclared(resource, totals[resource]))
        elif group not in done:
            done.append(group)
            # The first resource visited comes first: scan progress is read under its name.
            resources = [resource]
            resources += [name for name in group.resources if name in totals and name != resource]
            steps.append(
                Choice(
                    resources=tuple(resources),
                    amounts=tuple(totals[name] for name in resources),
                    options=tuple(
                        _option(queue, pod_set, flavor, resources, flavors)
                        for flavor in group.flavors
                    ),
                )
            )
    return tuple(steps)


def _option(
    queue: Queue,
    pod_set: objects.PodSet,
    name: str,
    resources: Sequence[str],
    flavors: Mapping[str, objects.ResourceFlavor],
) -> Option:
    flavor = flavors.get(name)
    return Option(
        flavor=name,
        refusal=UnknownFlavor(name) if flavor is None else ineligibility(pod_set, flavor),
        cells=tuple(queue.cell(FlavorResource(name, resource)) for resource in resources),
    )


@lru_cache(maxsize=1024)
def visiting_order(resource: str) -> tuple[int, str]:
    """
    Return the sort key by which resources of a pod set are visited: the 64-bit FNV-1a hash.

    The order matters for which failure is met first and under which name scan progress is kept, so
    it is the peer's.
    """
    digest = 0xCBF29CE484222325
    for byte in resource.encode():
        digest = ((digest ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return digest, resource
