"""Queues nobody can use, quota that adds up to something else than it seems, dead settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from muster.admission import explain
from muster.admission.activity import why_inactive
from muster.admission.amounts import FlavorResource, plus
from muster.admission.eligibility import selects
from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.core import Namespace
from muster.queue.api.kueue import Cohort, LocalQueue, ResourceFlavor
from muster.queue.api.quantities import quota_amount
from muster.queue.api.quotas import ResourceGroup
from muster.queue.api.wording import did_you_mean
from muster.queue.linting.index import Found, Index
from muster.queue.manifests.complaints import Complaint
from muster.queue.translate.queues import NAME_LABEL, cluster_queue


def warnings(index: Index) -> Iterator[Complaint]:
    """Yield what is strange about quota and queues."""
    for queue in index.of(ClusterQueue):
        yield from _unreachable(index, queue)
        yield from _admits_nothing(index, queue)
        yield from _alone(index, queue)
        yield from _dead_settings(queue)
    for queue in index.of(ClusterQueue):
        for local_queue in index.local_queues_of(queue.name):
            yield from _leads_nowhere(index, local_queue, queue)
    for cohort in index.of(Cohort):
        yield from _empty(index, cohort)
        yield from _adds_up(index, cohort)
    yield from _unused_flavors(index)


# --- ClusterQueues -------------------------------------------------------------------------------


def _unreachable(index: Index, queue: Found[ClusterQueue]) -> Iterator[Complaint]:
    if queue.model.spec.namespace_selector is None:
        message = "is not set, so no namespace may use the queue: {} lets all of them in"
        yield queue.warning("spec.namespaceSelector", message)
    if not index.local_queues_of(queue.name):
        yield queue.warning("", "no LocalQueue leads to it, so nobody can submit to it")


def _admits_nothing(index: Index, queue: Found[ClusterQueue]) -> Iterator[Complaint]:
    """Warn of a queue that is inactive; what is stopped is told of its LocalQueues."""
    structure = index.world.structure
    reason = why_inactive(
        cluster_queue(queue.model),
        {flavor.name: flavor for flavor in structure.flavors},
        {check.name: check for check in structure.checks},
        {topology.name: topology for topology in structure.topologies},
    )
    if reason is not None and reason not in ("Stopped", "Terminating"):
        yield queue.warning("", explain.inactive(reason))


def _alone(index: Index, queue: Found[ClusterQueue]) -> Iterator[Complaint]:
    """Warn of a cohort that exists only because this queue names it: likely a slip."""
    cohort = queue.model.spec.cohort_name
    if cohort is None or any(each.name == cohort for each in index.of(Cohort)):
        return
    if len(index.members(cohort)) == 1:
        others = [name for name in index.cohort_names if name != cohort]
        message = f"nobody else is in cohort {cohort!r}, so there is nobody to borrow from."
        yield queue.warning("spec.cohortName", message + did_you_mean(cohort, others))


def _dead_settings(queue: Found[ClusterQueue]) -> Iterator[Complaint]:
    spec = queue.model.spec
    reclaim = spec.preemption.reclaim_within_cohort
    if spec.cohort_name is None and reclaim != "Never":
        path = "spec.preemption.reclaimWithinCohort"
        yield queue.warning(path, f"{reclaim} has no effect without a cohort")


# --- LocalQueues ---------------------------------------------------------------------------------


def _leads_nowhere(
    index: Index, local_queue: Found[LocalQueue], queue: Found[ClusterQueue]
) -> Iterator[Complaint]:
    stopped = local_queue.model.spec.stop_policy
    if stopped != "None":
        message = f"{stopped}: nothing submitted here is admitted until it is None"
        yield local_queue.warning("spec.stopPolicy", message)
    stopped = queue.model.spec.stop_policy
    if stopped != "None":
        message = f"ClusterQueue {queue.name} is stopped ({stopped}) and admits nothing"
        yield local_queue.warning("spec.clusterQueue", message)
    if _is_excluded(index, local_queue.manifest.namespace or "", queue):
        message = (
            f"the namespaceSelector of ClusterQueue {queue.name} excludes namespace "
            f"{local_queue.manifest.namespace}: nothing submitted here is admitted"
        )
        yield local_queue.warning("spec.clusterQueue", message)


def _is_excluded(index: Index, namespace: str, queue: Found[ClusterQueue]) -> bool:
    """Whether a queue does not let in a namespace, as far as the namespace's labels are known."""
    selector = cluster_queue(queue.model).namespace_selector
    if selector is None:
        return False  # said once, of the queue
    if any(requirement.key != NAME_LABEL for requirement in selector.requirements) and not any(
        each.name == namespace for each in index.of(Namespace)
    ):
        return False
    return not any(
        selects(selector, each.labels)
        for each in index.world.structure.namespaces
        if each.name == namespace
    )


# --- Cohorts -------------------------------------------------------------------------------------


def _empty(index: Index, cohort: Found[Cohort]) -> Iterator[Complaint]:
    if not index.members(cohort.name):
        others = [name for name in index.cohort_names if name != cohort.name]
        message = f"no ClusterQueue or Cohort is in it.{did_you_mean(cohort.name, others)}"
        yield cohort.warning("", message)


def _adds_up(index: Index, cohort: Found[Cohort]) -> Iterator[Complaint]:
    """Warn of a cohort whose quota may be meant as a limit: it comes on top of its members'."""
    members: dict[FlavorResource, int] = {}
    for member in index.members(cohort.name):
        for pair, amount in _nominal(member.model.spec.resource_groups):
            members[pair] = plus(members.get(pair, 0), amount)
    for pair, amount in _nominal(cohort.model.spec.resource_groups):
        theirs = members.get(pair, 0)
        if amount and theirs:
            mine, sum_of_theirs, total = (
                explain.quantity(pair.resource, each)
                for each in (amount, theirs, plus(amount, theirs))
            )
            message = (
                f"its {mine} {pair.resource} of {pair.flavor} come on top of the {sum_of_theirs} "
                f"of its members, {total} in all. Did you mean a limit?"
            )
            yield cohort.warning("spec.resourceGroups", message)


def _nominal(groups: Iterable[ResourceGroup]) -> Iterator[tuple[FlavorResource, int]]:
    for group in groups:
        for flavor in group.flavors:
            for quota in flavor.resources:
                amount = quota_amount(quota.name, quota.nominal_quota)
                yield FlavorResource(flavor.name, quota.name), amount


# --- Flavors -------------------------------------------------------------------------------------


def _unused_flavors(index: Index) -> Iterator[Complaint]:
    used = {
        flavor.name
        for groups in chain(
            (queue.model.spec.resource_groups for queue in index.of(ClusterQueue)),
            (cohort.model.spec.resource_groups for cohort in index.of(Cohort)),
        )
        for group in groups
        for flavor in group.flavors
    }
    for flavor in index.of(ResourceFlavor):
        if flavor.name not in used:
            yield flavor.warning("", "no ClusterQueue or Cohort has quota of it")
