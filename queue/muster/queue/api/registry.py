"""
Which kinds of objects are read, and as what.

`parse_object` is the door for everything that comes from a file or a cluster: it upgrades objects
of an older version, finds the model and validates. It never looks at more than one object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from muster.queue.api import v1beta1
from muster.queue.api.batch import Job
from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.core import LimitRange, Namespace, Node, Pod, PriorityClass, RuntimeClass
from muster.queue.api.kueue import (
    AdmissionCheck,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    WorkloadPriorityClass,
)
from muster.queue.api.problems import Trust
from muster.queue.api.schema import read
from muster.queue.api.wording import did_you_mean, shown
from muster.queue.api.workload import Workload

ApiObject: TypeAlias = (
    AdmissionCheck
    | ClusterQueue
    | Cohort
    | Job
    | LimitRange
    | LocalQueue
    | Namespace
    | Node
    | Pod
    | PriorityClass
    | ResourceFlavor
    | RuntimeClass
    | Topology
    | Workload
    | WorkloadPriorityClass
)

Scope = Literal["Cluster", "Namespaced"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that is interpreted."""

    model: type[ApiObject]
    plural: str
    scope: Scope


KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    (v1beta1.NEW, "AdmissionCheck"): Kind(AdmissionCheck, "admissionchecks", "Cluster"),
    (v1beta1.NEW, "ClusterQueue"): Kind(ClusterQueue, "clusterqueues", "Cluster"),
    (v1beta1.NEW, "Cohort"): Kind(Cohort, "cohorts", "Cluster"),
    (v1beta1.NEW, "LocalQueue"): Kind(LocalQueue, "localqueues", "Namespaced"),
    (v1beta1.NEW, "ResourceFlavor"): Kind(ResourceFlavor, "resourceflavors", "Cluster"),
    (v1beta1.NEW, "Topology"): Kind(Topology, "topologies", "Cluster"),
    (v1beta1.NEW, "Workload"): Kind(Workload, "workloads", "Namespaced"),
    (v1beta1.NEW, "WorkloadPriorityClass"): Kind(
        WorkloadPriorityClass, "workloadpriorityclasses", "Cluster"
    ),
    ("batch/v1", "Job"): Kind(Job, "jobs", "Namespaced"),
    ("node.k8s.io/v1", "RuntimeClass"): Kind(RuntimeClass, "runtimeclasses", "Cluster"),
    ("scheduling.k8s.io/v1", "PriorityClass"): Kind(PriorityClass, "priorityclasses", "Cluster"),
    ("v1", "LimitRange"): Kind(LimitRange, "limitranges", "Namespaced"),
    ("v1", "Namespace"): Kind(Namespace, "namespaces", "Cluster"),
    ("v1", "Node"): Kind(Node, "nodes", "Cluster"),
    ("v1", "Pod"): Kind(Pod, "pods", "Namespaced"),
}
"""Interpreted kinds by apiVersion and kind."""

# Kinds of the same groups that exist but decide nothing here.
_OTHER_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "batch": frozenset({"CronJob"}),
    "kueue.x-k8s.io": frozenset(
        {"MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig"}
    ),
    "node.k8s.io": frozenset(),
    "scheduling.k8s.io": frozenset({"PodGroup", "Workload"}),
    "": frozenset(
        {
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        }
    ),
}


class KindError(ValueError):
    """The document cannot be read as an object: its apiVersion or kind is not one of KINDS."""


class NotAnObjectError(KindError):
    """The document has no apiVersion or no kind."""


class UnknownKindError(KindError):
    """The apiVersion or kind exists nowhere; likely a slip."""


class UninterpretedKindError(KindError):
    """The kind belongs to somebody else, or decides nothing here: the caller may skip it."""


def parse_object(document: object, *, stored: bool = False) -> ApiObject:
    """
    Return the object that a parsed manifest describes.

    With `stored`, the object is known to have passed the API server, so only its form is checked:
    see `problems.cross_check`. Raises pydantic's ValidationError (`problems.describe` puts it into
    words) or a KindError.
    """
    if not isinstance(document, Mapping):
        raise NotAnObjectError(f"{shown(document)} is not an object: write fields and values")
    current = v1beta1.upgrade(dict(document)).document
    model = kind_of(current).model
    return read(model, current, context=Trust.STORED if stored else None)


def kind_of(document: Mapping[str, Any]) -> Kind:
    """Return the kind of a document in the current version, or raise a KindError."""
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
        raise NotAnObjectError("apiVersion and kind are required: both must be text")
    found = KINDS.get((api_version, kind))
    if found is not None:
        return found
    group = api_version.rpartition("/")[0]
    versions = [version for version, known in KINDS if known == kind]
    if group not in _OTHER_KINDS:
        # Others have a Job or a Topology, too: only a group that looks like one of these is a slip.
        hint = did_you_mean(api_version, versions or [version for version, _ in KINDS])
        if hint:
            raise UnknownKindError(f"there is no group of apiVersion {shown(api_version)}.{hint}")
        raise UninterpretedKindError(f"{kind} of {api_version} is not interpreted")
    if kind in _OTHER_KINDS[group]:
        raise UninterpretedKindError(f"{kind} of {api_version} is not interpreted")
    if versions:
        raise UnknownKindError(f"{kind} is read as {versions[0]}, not {api_version}")
    known = [name for version, name in KINDS if version.rpartition("/")[0] == group]
    raise UnknownKindError(
        f"{api_version} has no kind {shown(kind)}."
        + (did_you_mean(kind, known) or f" Known here: {', '.join(known)}.")
    )
