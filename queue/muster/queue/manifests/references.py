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
from muster.queue.api.registry import ApiObject
from muster.queue.api.wording import did_you_mean, listed
from muster.queue.api.workload import Workload
from muster.queue.manifests.complaints import Complaint
from muster.queue.manifests.loading import Loaded, Manifest

_NAMES_SHOWN_MAX: Final = 8


class Names:
    """The names there are, objects with mistakes included."""

    def __init__(self, loaded: Loaded) -> None:
        self.complete = not loaded.hidden
        """Whether a name that is not here is surely nowhere."""
        self._names: dict[tuple[type[ApiObject], str | None], dict[str, None]] = {}
        for manifest in loaded.manifests:
            self._add(type(manifest.model), manifest.namespace, manifest.model.metadata.name)
        for kind, namespace, name in loaded.broken:
            self._add(kind, namespace, name)

    def _add(self, kind: type[ApiObject], namespace: str | None, name: str) -> None:
        self._names.setdefault((kind, namespace), {})[name] = None

    def of(self, kind: type[ApiObject], namespace: str | None = None) -> Collection[str]:
        """Return the names of one kind, in one namespace if it is a namespaced one."""
        return self._names.get((kind, namespace), {})

    def namespaces_with(self, kind: type[ApiObject], name: str) -> list[str]:
        """Return where an object of this name is, in order."""
        found = self._names.items()
        return sorted(
            str(where) for (each, where), names in found if each is kind and name in names
        )


def check(manifests: Sequence[Manifest], names: Names) -> Iterator[Complaint]:
    """Yield what is wrong between the objects."""
    yield from _taken_twice(manifests)
    if names.complete:
        for manifest in manifests:
            if not manifest.stored:
                yield from _dangling(manifest, names)
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


def _dangling(manifest: Manifest, names: Names) -> Iterator[Complaint]:
    match manifest.model:
        case ClusterQueue() as queue:
            known = names.of(ResourceFlavor)
            for number, group in enumerate(queue.spec.resource_groups):
                for index, flavor in enumerate(group.flavors):
                    path = f"spec.resourceGroups[{number}].flavors[{index}].name"
                    yield from _missing(manifest, path, "ResourceFlavor", flavor.name, known)
            strategy = queue.spec.admission_checks_strategy
            known = names.of(AdmissionCheck)
            for index, rule in enumerate(strategy.admission_checks if strategy else ()):
                path = f"spec.admissionChecksStrategy.admissionChecks[{index}].name"
                yield from _missing(manifest, path, "AdmissionCheck", rule.name, known)
        case ResourceFlavor(spec=spec) if spec.topology_name is not None:
            known = names.of(Topology)
            yield from _missing(
                manifest, "spec.topologyName", "Topology", spec.topology_name, known
            )
        case LocalQueue(spec=spec):
            known = names.of(ClusterQueue)
            if spec.cluster_queue is None:
                yield manifest.complaint("spec.clusterQueue", "is required")
            else:
                path = "spec.clusterQueue"
                yield from _missing(manifest, path, "ClusterQueue", spec.cluster_queue, known)
        case Workload(spec=spec) if spec.queue_name is not None:
            yield from missing_queue(manifest, "spec.queueName", spec.queue_name, names)


def missing_queue(manifest: Manifest, path: str, queue: str, names: Names) -> Iterator[Complaint]:
    """Yield a complaint when the namespace of an object has no LocalQueue of this name."""
    known = names.of(LocalQueue, manifest.namespace)
    if queue in known or not names.complete:
        return
    elsewhere = names.namespaces_with(LocalQueue, queue)
    hint = f" There is one in namespace {listed(elsewhere, 'and')}." if elsewhere else ""
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
    passed: dict[str, None] = {}
    for start in sorted(cohorts):
        path: dict[str, None] = {}
        at: str | None = start
        while at in cohorts and at not in passed:
            path[at] = passed[at] = None
            at = cohorts[at][1]
        if at not in path:
            continue
        cycle = list(path)
        cycle = cycle[cycle.index(at) :]
        if not all(cohorts[name][0].stored for name in cycle):
            first = cycle.index(min(cycle))
            names = [*cycle[first:], *cycle[: first + 1]]
            message = f"the cohorts form a cycle: {' → '.join(_abridged(names))}"
            yield cohorts[names[0]][0].complaint("spec.parentName", message)


def _abridged(names: Sequence[str]) -> Sequence[str]:
    if len(names) <= _NAMES_SHOWN_MAX:
        return names
    left_out = len(names) - _NAMES_SHOWN_MAX + 1
    return [*names[: _NAMES_SHOWN_MAX - 2], f"{left_out} more", names[-1]]
