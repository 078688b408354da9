"""
Queues with quota for the jobs of a trace: those of manifests, or some made for it.

What is made is one cohort: a ClusterQueue for each queue of the trace, one flavor for each kind of
node, and all resources in one group. Queues that own quota take it back from those that borrow it;
queues that own none live on what the others leave idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from muster.admission import events, objects
from muster.admission.amounts import FlavorResource
from muster.queue.api.wording import did_you_mean, listed
from muster.queue.simulation.traces.fleet import Kind
from muster.queue.simulation.traces.job_trace import Trace
from muster.queue.translate.structure import Structure

NAMESPACE: Final = "trace"
"""Where the LocalQueues that are made live."""
COHORT: Final = "everybody"
MODEL_LABEL: Final = "gpu-model"
"""The node label that says the kind of GPU."""

NAMES_SHOWN_MAX: Final = 12


class UnknownQueueError(ValueError):
    """A job goes to a queue that is not there; the message says which are."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """What is there from the start, and where the queues of a trace lead."""

    setup: tuple[events.Event, ...]
    local_queues: dict[str, tuple[str, str]]
    """By the queue's name in the trace: namespace and name of the LocalQueue."""


def of_manifests(structure: Structure, queues: Iterable[str]) -> Quotas:
    """Return the queues of manifests. Raises UnknownQueueError."""
    found = {name: _find(name, structure.local_queues) for name in dict.fromkeys(queues)}
    namespaces = {namespace.name: namespace for namespace in structure.namespaces}
    assumed = [
        events.NamespaceSeen(objects.Namespace(name=name))
        for name in dict.fromkeys(namespace for namespace, _ in found.values())
        if name not in namespaces
    ]
    setup = (*assumed, *structure.quota_events(), *structure.local_queue_events())
    return Quotas(setup, found)


def _find(name: str, local_queues: Sequence[objects.LocalQueue]) -> tuple[str, str]:
    """Find a LocalQueue by "namespace/name", by its name, or by its namespace if that is enough."""
    for matches in (
        [queue for queue in local_queues if queue.key == name],
        [queue for queue in local_queues if queue.name == name],
        [queue for queue in local_queues if queue.namespace == name],
    ):
        if len(matches) == 1:
            return matches[0].namespace, matches[0].name
        if matches:
            keys = [queue.key for queue in matches]
            raise UnknownQueueError(f"{name!r} may be {listed(keys)}: write the namespace too")
    known = [queue.key for queue in local_queues]
    hint = did_you_mean(name, known) or (
        f" There is {listed(sorted(known)[:NAMES_SHOWN_MAX], 'and')}."
        if known
        else " There is none."
    )
    raise UnknownQueueError(f"no LocalQueue is called {name!r}.{hint}")


def made_for(trace: Trace, kinds: Sequence[Kind]) -> Quotas:
    """Return one cohort whose queues own the nodes of these kinds together."""
    queues = sorted(dict.fromkeys(job.queue for job in trace.jobs))
    owners = [queue for queue in queues if queue in trace.owners] or queues
    resources = tuple(
        sorted(dict.fromkeys(resource for kind in kinds for resource in kind.amounts))
    )
    group = objects.ResourceGroup(resources=resources, flavors=tuple(kind.name for kind in kinds))
    setup: list[events.Event] = [
        events.NamespaceSeen(objects.Namespace(name=NAMESPACE)),
        *(events.FlavorSeen(_flavor(kind)) for kind in kinds),
    ]
    for queue in queues:
        owned = Fraction(queue in owners, len(owners))
        setup += _queue_events(queue, owned, group, kinds, last=queue == owners[-1])
    return Quotas(tuple(setup), {queue: (NAMESPACE, queue) for queue in queues})


def _flavor(kind: Kind) -> objects.ResourceFlavor:
    labels = {MODEL_LABEL: kind.name} if kind.gpus else {}
    return objects.ResourceFlavor(name=kind.name, node_labels=labels)


def _queue_events(
    name: str,
    owned: Fraction,
    group: objects.ResourceGroup,
    kinds: Sequence[Kind],
    *,
    last: bool,
) -> Iterator[events.Event]:
    def part(amount: int) -> int:
        even = int(amount * owned)
        # What does not divide goes to the last owner, so that nothing of the fleet is lost.
        return amount - even * (owned.denominator - 1) if last else even

    yield events.ClusterQueueSeen(
        objects.ClusterQueue(
            name=name,
            cohort=COHORT,
            groups=(group,),
            quotas={
                FlavorResource(kind.name, resource): objects.Quota(
                    nominal=part(kind.amounts.get(resource, 0))
                )
                for kind in kinds
                for resource in group.resources
            },
            namespace_selector=objects.LabelSelector(),
            preemption=objects.Preemption(
                within_cluster_queue=objects.PreemptionPolicy.LOWER_PRIORITY,
                reclaim_within_cohort=(
                    objects.PreemptionPolicy.ANY if owned else objects.PreemptionPolicy.NEVER
                ),
            ),
        )
    )
    yield events.LocalQueueSeen(
        objects.LocalQueue(namespace=NAMESPACE, name=name, cluster_queue=name)
    )
