"""
What can happen to a `State`: every event that `State.apply` takes.

Objects are reported as seen (new or changed, always whole) or gone. Seeing the same object twice
changes nothing, so a shell that lost track may report everything again.
"""

from __future__ import annotations

from dataclasses import dataclass

from muster.admission import objects
from muster.admission.plan import CyclePlan


@dataclass(frozen=True, slots=True)
class NamespaceSeen:
    namespace: objects.Namespace


@dataclass(frozen=True, slots=True)
class NamespaceGone:
    name: str


@dataclass(frozen=True, slots=True)
class FlavorSeen:
    flavor: objects.ResourceFlavor


@dataclass(frozen=True, slots=True)
class FlavorGone:
    name: str


@dataclass(frozen=True, slots=True)
class TopologySeen:
    topology: objects.Topology


@dataclass(frozen=True, slots=True)
class TopologyGone:
    name: str


@dataclass(frozen=True, slots=True)
class CheckSeen:
    check: objects.AdmissionCheck


@dataclass(frozen=True, slots=True)
class CheckGone:
    name: str


@dataclass(frozen=True, slots=True)
class CohortSeen:
    cohort: objects.Cohort


@dataclass(frozen=True, slots=True)
class CohortGone:
    name: str


@dataclass(frozen=True, slots=True)
class ClusterQueueSeen:
    cluster_queue: objects.ClusterQueue


@dataclass(frozen=True, slots=True)
class ClusterQueueGone:
    name: str


@dataclass(frozen=True, slots=True)
class LocalQueueSeen:
    local_queue: objects.LocalQueue


@dataclass(frozen=True, slots=True)
class LocalQueueGone:
    key: str


@dataclass(frozen=True, slots=True)
class WorkloadSeen:
    workload: objects.Workload
    status: objects.Status


@dataclass(frozen=True, slots=True)
class WorkloadGone:
    key: str


@dataclass(frozen=True, slots=True)
class PlanAccepted:
    """A plan is being carried out: what it admits counts from now on, what it evicts is leaving."""

    plan: CyclePlan


@dataclass(frozen=True, slots=True)
class WriteFailed:
    """A decision about a workload could not be written; it is as if it had not been made."""

    key: str
    status: objects.Status


@dataclass(frozen=True, slots=True)
class Swept:
    """Give everything that was set aside in the tree of a ClusterQueue another try."""

    cluster_queue: str


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Back-offs may have ended."""


ObjectEvent = (
    NamespaceSeen
    | NamespaceGone
    | FlavorSeen
    | FlavorGone
    | TopologySeen
    | TopologyGone
    | CheckSeen
    | CheckGone
    | CohortSeen
    | CohortGone
    | ClusterQueueSeen
    | ClusterQueueGone
    | LocalQueueSeen
    | LocalQueueGone
)
"""Something about an object that is not a workload."""

Event = ObjectEvent | WorkloadSeen | WorkloadGone | PlanAccepted | WriteFailed | Swept | TimePassed
