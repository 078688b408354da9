"""Everything but workloads, as engine values, in the order in which a State should hear of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from muster.admission import events, objects
from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.core import Namespace
from muster.queue.api.kueue import AdmissionCheck, Cohort, LocalQueue, ResourceFlavor, Topology
from muster.queue.api.registry import ApiObject
from muster.queue.translate import queues

Model = TypeVar("Model", bound=ApiObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Namespaces, quota and queues."""

    namespaces: tuple[objects.Namespace, ...]
    checks: tuple[objects.AdmissionCheck, ...]
    topologies: tuple[objects.Topology, ...]
    flavors: tuple[objects.ResourceFlavor, ...]
    cohorts: tuple[objects.Cohort, ...]
    cluster_queues: tuple[objects.ClusterQueue, ...]
    local_queues: tuple[objects.LocalQueue, ...]

    def quota_events(self) -> Iterator[events.Event]:
        """Yield what brings a State to know all but LocalQueues."""
        yield from map(events.NamespaceSeen, self.namespaces)
        yield from map(events.CheckSeen, self.checks)
        yield from map(events.TopologySeen, self.topologies)
        yield from map(events.FlavorSeen, self.flavors)
        yield from map(events.CohortSeen, self.cohorts)
        yield from map(events.ClusterQueueSeen, self.cluster_queues)

    def local_queue_events(self) -> Iterator[events.Event]:
        """Yield what opens the ClusterQueues to namespaces."""
        yield from map(events.LocalQueueSeen, self.local_queues)


def structure(models: Iterable[ApiObject]) -> Structure:
    """Return the structure among `models`, each kind in the order given."""
    found = tuple(models)

    def of(kind: type[Model]) -> Iterator[Model]:
        return (model for model in found if isinstance(model, kind))

    return Structure(
        namespaces=tuple(map(queues.namespace, of(Namespace))),
        checks=tuple(map(queues.admission_check, of(AdmissionCheck))),
        topologies=tuple(map(queues.topology, of(Topology))),
        flavors=tuple(map(queues.resource_flavor, of(ResourceFlavor))),
        cohorts=tuple(map(queues.cohort, of(Cohort))),
        cluster_queues=tuple(map(queues.cluster_queue, of(ClusterQueue))),
        local_queues=tuple(map(queues.local_queue, of(LocalQueue))),
    )
