"""What an administrator writes, as engine values: flavors, queues, cohorts, checks, namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from muster.admission import objects
from muster.admission.amounts import FlavorResource
from muster.queue.api.cluster_queue import ClusterQueue, ClusterQueuePreemption, ClusterQueueSpec
from muster.queue.api.core import Namespace
from muster.queue.api.kueue import AdmissionCheck, Cohort, LocalQueue, ResourceFlavor, Topology
from muster.queue.api.meta import LabelSelector, is_true
from muster.queue.api.pods import Toleration
from muster.queue.api.quantities import NANO, parse_quantity, quota_amount
from muster.queue.api.quotas import FairSharing, ResourceGroup

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that every namespace has, with its own name."""


def namespace(model: Namespace) -> objects.Namespace:
    """Return a namespace, which always has its own name as a label."""
    labels = {**model.metadata.labels, NAME_LABEL: model.metadata.name}
    return objects.Namespace(name=model.metadata.name, labels=labels)


def resource_flavor(model: ResourceFlavor) -> objects.ResourceFlavor:
    """Return a flavor with the labels and taints of its nodes."""
    spec = model.spec
    return objects.ResourceFlavor(
        name=model.metadata.name,
        node_labels=spec.node_labels,
        node_taints=tuple(objects.Taint(t.key, t.value, t.effect) for t in spec.node_taints),
        tolerations=tolerations(spec.tolerations),
        topology=spec.topology_name,
    )


def tolerations(models: Iterable[Toleration]) -> tuple[objects.Toleration, ...]:
    """Return tolerations of pods or flavors."""
    return tuple(objects.Toleration(t.key, t.operator, t.value, t.effect) for t in models)


def topology(model: Topology) -> objects.Topology:
    """Return the levels of a topology, from the widest down."""
    levels = tuple(level.node_label for level in model.spec.levels)
    return objects.Topology(name=model.metadata.name, levels=levels)


def admission_check(model: AdmissionCheck) -> objects.AdmissionCheck:
    """Return a check; it is active when its controller says so."""
    return objects.AdmissionCheck(
        name=model.metadata.name,
        controller=model.spec.controller_name,
        active=is_true(model.status.conditions, "Active"),
    )


def cohort(model: Cohort) -> objects.Cohort:
    """Return a node of the cohort tree with the quota of its own."""
    return objects.Cohort(
        name=model.metadata.name,
        parent=model.spec.parent_name or None,
        quotas=_quotas(model.spec.resource_groups),
        weight=_weight(model.spec.fair_sharing),
    )


def local_queue(model: LocalQueue) -> objects.LocalQueue:
    """Return a LocalQueue; one without a ClusterQueue leads nowhere."""
    return objects.LocalQueue(
        namespace=model.metadata.namespace or "default",
        name=model.metadata.name,
        cluster_queue=model.spec.cluster_queue or "",
        stop_policy=objects.StopPolicy(model.spec.stop_policy),
        terminating=model.metadata.deletion_timestamp is not None,
    )


def cluster_queue(model: ClusterQueue) -> objects.ClusterQueue:
    """Return a ClusterQueue with its quotas and rules."""
    spec = model.spec
    return objects.ClusterQueue(
        name=model.metadata.name,
        cohort=spec.cohort_name or None,
        groups=tuple(
            objects.ResourceGroup(
                resources=group.covered_resources,
                flavors=tuple(flavor.name for flavor in group.flavors),
            )
            for group in spec.resource_groups
        ),
        quotas=_quotas(spec.resource_groups),
        strategy=objects.QueueingStrategy(spec.queueing_strategy),
        namespace_selector=_selector(spec.namespace_selector),
        preemption=_preemption(spec.preemption),
        fungibility=_fungibility(spec),
        checks=_checks(spec),
        stop_policy=objects.StopPolicy(spec.stop_policy),
        weight=_weight(spec.fair_sharing),
        terminating=model.metadata.deletion_timestamp is not None,
    )


def _quotas(groups: Iterable[ResourceGroup]) -> Mapping[FlavorResource, objects.Quota]:
    def limit(resource: str, text: str | None) -> int | None:
        return None if text is None else quota_amount(resource, text)

    return {
        FlavorResource(flavor.name, quota.name): objects.Quota(
            nominal=quota_amount(quota.name, quota.nominal_quota),
            borrowing_limit=limit(quota.name, quota.borrowing_limit),
            lending_limit=limit(quota.name, quota.lending_limit),
        )
        for group in groups
        for flavor in group.flavors
        for quota in flavor.resources
    }


def _weight(fair_sharing: FairSharing | None) -> Fraction:
    return Fraction(parse_quantity(fair_sharing.weight), NANO) if fair_sharing else Fraction(1)


def _selector(model: LabelSelector | None) -> objects.LabelSelector | None:
    if model is None:
        return None
    labels = [objects.Requirement(key, "In", (value,)) for key, value in model.match_labels.items()]
    expressions = [
        objects.Requirement(e.key, e.operator, e.values) for e in model.match_expressions
    ]
    return objects.LabelSelector((*labels, *expressions))


def _preemption(model: ClusterQueuePreemption) -> objects.Preemption:
    borrow = model.borrow_within_cohort
    return objects.Preemption(
        within_cluster_queue=objects.PreemptionPolicy(model.within_cluster_queue),
        reclaim_within_cohort=objects.PreemptionPolicy(model.reclaim_within_cohort),
        borrow_within_cohort=borrow.policy != "Never",
        borrow_max_priority=borrow.max_priority_threshold,
    )


def _fungibility(spec: ClusterQueueSpec) -> objects.FlavorFungibility:
    model = spec.flavor_fungibility
    return objects.FlavorFungibility(
        try_next_when_borrowing=model.when_can_borrow == "TryNextFlavor",
        try_next_when_preempting=model.when_can_preempt == "TryNextFlavor",
        prefer_preemption_over_borrowing=model.preference == "PreemptionOverBorrowing",
    )


def _checks(spec: ClusterQueueSpec) -> tuple[objects.CheckRule, ...]:
    strategy = spec.admission_checks_strategy
    if strategy is None:
        return ()
    return tuple(
        objects.CheckRule(check=rule.name, on_flavors=rule.on_flavors)
        for rule in strategy.admission_checks
    )
