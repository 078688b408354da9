"""
Manifests of `kueue.x-k8s.io/v1beta1` as v1beta2 objects.

`upgrade` renames what was renamed, drops what no longer exists and says what it dropped. It is a
pure function on parsed documents: what is wrong in the old document is still wrong in the new one
and is refused by the models. Documents of other groups and versions pass through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from muster.queue.api.assignments import Domain, compress

OLD: Final = "kueue.x-k8s.io/v1beta1"
NEW: Final = "kueue.x-k8s.io/v1beta2"

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A document of the current version, and what the author of the old one should know."""

    document: Document
    notes: tuple[str, ...] = ()


def upgrade(document: Document) -> Upgrade:
    """Return `document` in the current version; the argument is not changed."""
    if document.get("apiVersion") != OLD:
        return Upgrade(document)
    notes: list[str] = []
    new = {**document, "apiVersion": NEW}
    for part in ("spec", "status"):
        convert = _CONVERSIONS.get((str(document.get("kind")), part))
        if convert is not None and isinstance(document.get(part), dict):
            new[part] = convert(dict(document[part]), notes)
    return Upgrade(new, tuple(notes))


# Each conversion gets a copy of the spec or status that it may change. What has not the expected
# form is left alone: the models say what is wrong with it.


def _cluster_queue_spec(spec: Document, notes: list[str]) -> Document:
    if "cohort" in spec:
        spec.setdefault("cohortName", spec.pop("cohort"))
        notes.append("spec.cohort is now spec.cohortName")
    checks = spec.pop("admissionChecks", None)
    if isinstance(checks, list) and checks:
        if "admissionChecksStrategy" in spec:
            notes.append("spec.admissionChecks is dropped: admissionChecksStrategy is set")
        else:
            spec["admissionChecksStrategy"] = {
                "admissionChecks": [{"name": name} for name in checks]
            }
            notes.append("spec.admissionChecks is now spec.admissionChecksStrategy")
    fungibility = spec.get("flavorFungibility")
    if isinstance(fungibility, dict):
        spec["flavorFungibility"] = {
            field: _may_stop_search(field, value, notes) for field, value in fungibility.items()
        }
    return spec


def _may_stop_search(field: str, value: object, notes: list[str]) -> object:
    if (field, value) not in (("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")):
        return value
    notes.append(f"spec.flavorFungibility.{field}: {value} is now MayStopSearch")
    return "MayStopSearch"


def _cluster_queue_status(status: Document, _notes: list[str]) -> Document:
    status.pop("pendingWorkloadsStatus", None)
    return status


def _local_queue_status(status: Document, _notes: list[str]) -> Document:
    status.pop("flavors", None)
    if "flavorUsage" in status:
        status.setdefault("flavorsUsage", status.pop("flavorUsage"))
    return status


def _admission_check_spec(spec: Document, notes: list[str]) -> Document:
    if spec.pop("retryDelayMinutes", None) is not None:
        notes.append("spec.retryDelayMinutes no longer exists and is dropped")
    return spec


_PRIORITY_CLASSES: Final[Mapping[str, tuple[str, str]]] = {
    "kueue.x-k8s.io/workloadpriorityclass": ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}


def _workload_spec(spec: Document, notes: list[str]) -> Document:
    name = spec.pop("priorityClassName", None)
    source = spec.pop("priorityClassSource", None)
    if name and (found := _PRIORITY_CLASSES.get(str(source))):
        group, kind = found
        spec.setdefault("priorityClassRef", {"group": group, "kind": kind, "name": name})
        notes.append("spec.priorityClassName and priorityClassSource are now priorityClassRef")
    elif name or source:
        notes.append(
            "spec.priorityClassName and priorityClassSource are dropped: the source must be one of "
            + ", ".join(_PRIORITY_CLASSES)
        )
    return spec


def _workload_status(status: Document, _notes: list[str]) -> Document:
    misspelt = status.pop("accumulatedPastExexcutionTimeSeconds", None)
    if misspelt is not None:
        status.setdefault("accumulatedPastExecutionTimeSeconds", misspelt)
    admission = status.get("admission")
    if isinstance(admission, dict) and isinstance(admission.get("podSetAssignments"), list):
        status["admission"] = {
            **admission,
            "podSetAssignments": [_assignment(each) for each in admission["podSetAssignments"]],
        }
    return status


def _assignment(assignment: object) -> object:
    """Write the list of topology domains in slices."""
    if not isinstance(assignment, dict):
        return assignment
    topology = assignment.get("topologyAssignment")
    if not isinstance(topology, dict) or not isinstance(topology.get("domains"), list):
        return assignment
    levels = topology.get("levels")
    domains = [_domain(each, levels) for each in topology["domains"]]
    if not isinstance(levels, list) or None in domains:
        return assignment
    slices = compress(levels, [each for each in domains if each is not None])
    return {**assignment, "topologyAssignment": slices}


def _domain(domain: object, levels: object) -> Domain | None:
    match domain, levels:
        case {"values": [*values], "count": int(count)}, [*names] if len(values) == len(names):
            return tuple(map(str, values)), count
    return None


_CONVERSIONS: Final[Mapping[tuple[str, str], Callable[[Document, list[str]], Document]]] = {
    ("AdmissionCheck", "spec"): _admission_check_spec,
    ("ClusterQueue", "spec"): _cluster_queue_spec,
    ("ClusterQueue", "status"): _cluster_queue_status,
    ("LocalQueue", "status"): _local_queue_status,
    ("Workload", "spec"): _workload_spec,
    ("Workload", "status"): _workload_status,
}
