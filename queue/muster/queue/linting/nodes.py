"""Quota compared with nodes; nothing is said when no nodes are among the manifests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from muster.admission.amounts import FlavorResource, plus
from muster.admission.explain import quantity
from muster.queue.api.core import Node
from muster.queue.api.kueue import ResourceFlavor
from muster.queue.api.quantities import request_amount
from muster.queue.linting.index import Found, Index
from muster.queue.manifests.complaints import Complaint
from muster.queue.world import World


def warnings(index: Index) -> Iterator[Complaint]:
    """Yield flavors with quota that no node can back."""
    nodes = [found.model for found in index.of(Node)]
    if not nodes:
        return
    totals = _quota(index.world)
    for flavor in index.of(ResourceFlavor):
        mine = {pair.resource: amount for pair, amount in totals.items() if pair[0] == flavor.name}
        if mine:
            yield from _compared(flavor, mine, nodes)


def _quota(world: World) -> dict[FlavorResource, int]:
    """Return how much quota there is of each flavor and resource, over all queues and cohorts."""
    totals: dict[FlavorResource, int] = {}
    structure = world.structure
    for quotas in chain(
        (queue.quotas for queue in structure.cluster_queues),
        (cohort.quotas for cohort in structure.cohorts),
    ):
        for pair, quota in quotas.items():
            totals[pair] = plus(totals.get(pair, 0), quota.nominal)
    return {pair: amount for pair, amount in totals.items() if amount}


def _compared(
    flavor: Found[ResourceFlavor], quota: dict[str, int], nodes: Sequence[Node]
) -> Iterator[Complaint]:
    labels = flavor.model.spec.node_labels
    matching = [node for node in nodes if labels.items() <= node.metadata.labels.items()]
    if not matching:
        wanted = ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
        message = f"there is quota of it, but no node has {wanted}"
        yield flavor.warning("spec.nodeLabels", message)
        return
    for resource, amount in sorted(quota.items()):
        there = sum(
            request_amount(resource, node.status.allocatable.get(resource, "0"))
            for node in matching
        )
        if amount > there:
            message = (
                f"there is quota for {quantity(resource, amount)} {resource}, but the nodes with "
                f"its labels have {quantity(resource, there)}"
            )
            yield flavor.warning("", message)
