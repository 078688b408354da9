"""
What manifests say about each other: names that are taken twice, names that nobody has.

Objects that come from a cluster are taken as they are (see `Manifest.stored`): there, a queue
without its flavor is a fact to be planned with, not a slip of the person who asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.kueue import AdmissionCheck, Cohort, LocalQueue, ResourceFlavor, Topology
from muster.queue.api.problems import did_you_mean, listed
from muster.queue.api.registry import ApiObject
from muster.queue.api.workload import Workload
from muster.queue.manifests.complaints import Complaint
from muster.queue.manifests.loading import Manifest

_NAMES_SHOWN_MAX: Final = 8


def check(manifests: Sequence[Manifest]) -> Iterator[Complaint]:
    """Yield what is wrong between the objects."""
    yield from _taken_twice(manifests)
    known = names(manifests)
    for manifest in manifests:
        if not manifest.stored:
            yield from _dangling(manifest, known)
    yield from _cohort_cycles(manifests)


def _taken_twice(manifests: Iterable[Manifest]) -> Iterator[Complaint]:
    first: dict[tuple[type[ApiObject], str | None, str], Manifest] = {}
    for manifest in manifests:
        key = (type(manifest.model), manifest.namespace, manifest.model.metadata.name)
        other = first.setdefault(key, manifest)
        if other is not manifest:
            message = f"the name is taken: see {other.origin}"
            yield manifest.complaint("metadata.name", message)


# --- Names that nobody has -----------------------------------------------------------------------

Names = dict[tuple[type[ApiObject], str | None], list[str]]
"""Names by kind and namespace."""


def names(manifests: Iterable[Manifest]) -> Names:
    """Return the names that are there."""
    found: Names = {}
    for manifest in manifests:
        key = (type(manifest.model), manifest.namespace)
        found.setdefault(key, []).append(manifest.model.metadata.name)
    return found


def _dangling(manifest: Manifest, there: Names) -> Iterator[Complaint]:
    match manifest.model:
        case ClusterQueue() as queue:
            known = there.get((ResourceFlavor, None), [])
            for number, group in enumerate(queue.spec.resource_groups):
                for index, flavor in enumerate(group.flavors):
                    path = f"spec.resourceGroups[{number}].flavors[{index}].name"
                    yield from _missing(manifest, path, "ResourceFlavor", flavor.name, known)
            strategy = queue.spec.admission_checks_strategy
            known = there.get((AdmissionCheck, None), [])
            for index, rule in enumerate(strategy.admission_checks if strategy else ()):
                path = f"spec.admissionChecksStrategy.admissionChecks[{index}].name"
                yield from _missing(manifest, path, "AdmissionCheck", rule.name, known)
        case ResourceFlavor(spec=spec) if spec.topology_name is not None:
            known = there.get((Topology, None), [])
            yield from _missing(
                manifest, "spec.topologyName", "Topology", spec.topology_name, known
            )
        case LocalQueue(spec=spec):
            known = there.get((ClusterQueue, None), [])
            if spec.cluster_queue is None:
                yield manifest.complaint("spec.clusterQueue", "is required")
            else:
                path = "spec.clusterQueue"
                yield from _missing(manifest, path, "ClusterQueue", spec.cluster_queue, known)
        case Workload(spec=spec) if spec.queue_name is not None:
            yield from missing_queue(manifest, "spec.queueName", spec.queue_name, there)


def missing_queue(manifest: Manifest, path: str, queue: str, there: Names) -> Iterator[Complaint]:
    """Yield a complaint when the namespace of an object has no LocalQueue of this name."""
    known = there.get((LocalQueue, manifest.namespace), [])
    if queue in known:
        return
    elsewhere = [
        str(namespace)
        for (kind, namespace), found in there.items()
        if kind is LocalQueue and queue in found
    ]
    hint = f" There is one in namespace {listed(sorted(elsewhere), 'and')}." if elsewhere else ""
    kind = f"LocalQueue in namespace {manifest.namespace}"
    yield from _missing(manifest, path, kind, queue, known, hint)


def _missing(
    manifest: Manifest, path: str, kind: str, name: str, known: Collection[str], hint: str = ""
) -> Iterator[Complaint]:
    if name not in known:
        hint = did_you_mean(name, known) or hint or _known_names(known)
        yield manifest.complaint(path, f"no {kind} is called {name!r}.{hint}")


def _known_names(known: Collection[str]) -> str:
    if not known:
        return " There is none."
    shown = sorted(known)[:_NAMES_SHOWN_MAX]
    more = len(known) - len(shown)
    return f" There is {listed([*shown, f'{more} more'] if more else shown, 'and')}."


# --- Cohorts -------------------------------------------------------------------------------------


def _cohort_cycles(manifests: Iterable[Manifest]) -> Iterator[Complaint]:
    """Yield one complaint for each cycle of cohorts, at the cohort whose name comes first."""
    cohorts: dict[str, tuple[Manifest, str | None]] = {}
    for manifest in manifests:
        if isinstance(manifest.model, Cohort):
            parent = manifest.model.spec.parent_name
            cohorts[manifest.model.metadata.name] = (manifest, parent)
    reported: list[frozenset[str]] = []
    for start in sorted(cohorts):
        path = [start]
        while (parent := cohorts[path[-1]][1]) in cohorts and parent not in path:
            assert parent is not None
            path.append(parent)
        if parent == start and not all(cohorts[name][0].stored for name in path):
            members = frozenset(path)
            if members not in reported:
                reported.append(members)
                message = f"the cohorts form a cycle: {' → '.join([*path, start])}"
                yield cohorts[start][0].complaint("spec.parentName", message)
