"""
A world read from manifests: queues with their quota, and the workloads that jobs amount to.

`read_world` is for everything that works offline. It refuses manifests with mistakes in them
(`ManifestError` has all of them) and otherwise returns engine values, ready for a State. What is no
business of a queue is counted and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO, Final, TypeAlias

from muster.admission import events, objects
from muster.admission.conditions import FINISHED
from muster.queue.api.batch import Job
from muster.queue.api.configuration import Configuration
from muster.queue.api.core import LimitRange, Pod, PriorityClass, RuntimeClass
from muster.queue.api.kueue import AdmissionCheck, LocalQueue, WorkloadPriorityClass
from muster.queue.api.meta import CoreCondition, ObjectMeta
from muster.queue.api.registry import ApiObject
from muster.queue.api.workload import Workload
from muster.queue.manifests import references
from muster.queue.manifests.complaints import Complaint, ManifestError
from muster.queue.manifests.loading import Loaded, Manifest, load
from muster.queue.translate import policy, workloads
from muster.queue.translate.jobs import (
    GROUP_LABEL,
    QUEUE_LABEL,
    JobProblem,
    MissingClass,
    workload_of_job,
    workload_of_pod,
)
from muster.queue.translate.pods import PodRules, limit_ranges, overheads
from muster.queue.translate.priorities import Priorities, priorities
from muster.queue.translate.queues import NAME_LABEL
from muster.queue.translate.structure import Structure, structure
from muster.queue.translate.workloads import Birth

DEFAULT_LOCAL_QUEUE: Final = "default"
"""The LocalQueue of jobs that name none, in namespaces that have one of this name."""

Submitted: TypeAlias = Workload | Job | Pod
"""What a workload may be made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that was read, as engine values in reading order."""

    structure: Structure
    workloads: tuple[events.WorkloadSeen, ...]
    submitted: Mapping[str, Submitted]
    """By workload key: the object that the workload was made from."""
    manifests: tuple[Manifest, ...]
    """Every object that was read, with its origin."""
    left_out: Mapping[str, int]
    """What decides nothing here, counted in words: "ConfigMap", "finished Job", …"""

    def name_of(self, key: str) -> str:
        """Return "namespace/name" of the object behind a workload, by its key."""
        model = self.submitted[key]
        return f"{model.metadata.namespace or 'default'}/{model.metadata.name}"

    def events(self) -> Iterator[events.Event]:
        """Yield what makes a State know this world; queues first, so that back-offs hold."""
        return chain(
            self.structure.quota_events(), self.structure.local_queue_events(), self.workloads
        )


def read_world(
    paths: Iterable[str], stdin: BinaryIO, configuration: Configuration, now_us: int
) -> World:
    """
    Return the world behind `paths`; `now_us` is when objects without a creation were created.

    Raises ManifestError.
    """
    loaded = load(paths, stdin)
    names = references.Names(loaded)
    complaints = [*loaded.complaints, *references.check(loaded.manifests, names)]
    reader = _Reader(loaded, names, configuration, now_us)
    seen = list(reader.workloads())
    complaints += reader.complaints
    if complaints:
        raise ManifestError(complaints)
    return World(
        structure=_with_namespaces(
            _with_controllers(structure(reader.models), loaded.manifests), seen
        ),
        workloads=tuple(seen),
        submitted=reader.submitted,
        manifests=tuple(loaded.manifests),
        left_out=reader.left_out,
    )


def _with_namespaces(found: Structure, seen: Iterable[events.WorkloadSeen]) -> Structure:
    """Assume that namespaces which are used exist, with no labels but their name."""
    declared = {namespace.name for namespace in found.namespaces}
    used = chain(
        (queue.namespace for queue in found.local_queues),
        (event.workload.namespace for event in seen),
    )
    assumed = tuple(
        objects.Namespace(name=name, labels={NAME_LABEL: name})
        for name in dict.fromkeys(used)
        if name not in declared
    )
    return replace(found, namespaces=found.namespaces + assumed)


def _with_controllers(found: Structure, manifests: Iterable[Manifest]) -> Structure:
    """Assume that admission checks which no cluster has seen yet will have a controller."""
    unseen = {
        manifest.model.metadata.name
        for manifest in manifests
        if isinstance(manifest.model, AdmissionCheck)
        and not manifest.stored
        and not manifest.model.status.conditions
    }
    checks = tuple(
        replace(check, active=True) if check.name in unseen else check for check in found.checks
    )
    return replace(found, checks=checks)


class _Reader:
    """Makes workloads of whatever was submitted."""

    def __init__(
        self, loaded: Loaded, names: references.Names, configuration: Configuration, now_us: int
    ) -> None:
        self.models: list[ApiObject] = [manifest.model for manifest in loaded.manifests]
        self.left_out: Counter[str] = Counter(loaded.ignored)
        self.submitted: dict[str, Submitted] = {}
        self.complaints: list[Complaint] = []
        self._manifests = loaded.manifests
        self._now_us = now_us
        self._rules = PodRules(
            limit_ranges=limit_ranges(m for m in self.models if isinstance(m, LimitRange)),
            overheads=overheads(m for m in self.models if isinstance(m, RuntimeClass)),
            counting=policy.counting_rules(configuration.resources),
        )
        self._priorities = _priorities(self.models)
        self._names = names
        self._represented = {
            (owner.kind, manifest.namespace, owner.name)
            for manifest in loaded.manifests
            if isinstance(manifest.model, Workload)
            for owner in manifest.model.metadata.owner_references
        }

    def workloads(self) -> Iterator[events.WorkloadSeen]:
        for number, manifest in enumerate(self._manifests, start=1):
            model = manifest.model
            if not isinstance(model, Workload | Job | Pod):
                continue
            # Among objects that no API server has named, the order of reading is that of creation.
            birth = Birth(uid=f"{number:08d}", created_us=self._now_us)
            event = (
                self._of_workload(model, birth)
                if isinstance(model, Workload)
                else self._of_job(manifest, model, birth)
            )
            if event is not None:
                self.submitted[event.workload.key] = model
                yield event

    def _of_workload(self, model: Workload, birth: Birth) -> events.WorkloadSeen | None:
        status = workloads.status(model)
        if status.is_true(FINISHED):
            self.left_out["finished Workload"] += 1
            return None
        workload = workloads.workload(model, self._rules, birth)
        return events.WorkloadSeen(workload, status)

    def _of_job(
        self, manifest: Manifest, model: Job | Pod, birth: Birth
    ) -> events.WorkloadSeen | None:
        reason = self._why_left_out(manifest, model)
        queue = self._queue_of(model.metadata, manifest.namespace)
        if reason is not None or queue is None:
            self.left_out[reason or f"{model.kind} without a queue name"] += 1
            return None
        if QUEUE_LABEL in model.metadata.labels and not manifest.stored:
            path = f"metadata.labels[{QUEUE_LABEL}]"
            self.complaints += references.missing_queue(manifest, path, queue, self._names)
        try:
            if isinstance(model, Job):
                workload = workload_of_job(model, queue, self._rules, self._priorities, birth)
            else:
                workload = workload_of_pod(model, queue, self._rules, self._priorities, birth)
        except MissingClass as problem:
            known = self._names.of(problem.kind)
            if self._names.complete and problem.name not in known:
                self.complaints.append(manifest.complaint(problem.path, problem.message))
            return None
        except JobProblem as problem:
            self.complaints.append(manifest.complaint(problem.path, problem.message))
            return None
        return events.WorkloadSeen(workload, objects.Status())

    def _why_left_out(self, manifest: Manifest, model: Job | Pod) -> str | None:
        key = (model.kind, manifest.namespace, model.metadata.name)
        if key in self._represented:
            return f"{model.kind} that has a Workload"
        if isinstance(model, Job):
            return "finished Job" if _ended(model.status.conditions) else None
        if model.metadata.owner_references:
            return "Pod of another object"
        if GROUP_LABEL in {**model.metadata.labels, **model.metadata.annotations}:
            return "Pod of a pod group"
        if model.status.phase in ("Succeeded", "Failed"):
            return "finished Pod"
        return None

    def _queue_of(self, metadata: ObjectMeta, namespace: str | None) -> str | None:
        queue = metadata.labels.get(QUEUE_LABEL)
        if not queue and DEFAULT_LOCAL_QUEUE in self._names.of(LocalQueue, namespace):
            return DEFAULT_LOCAL_QUEUE
        return queue or None


def _priorities(models: Iterable[ApiObject]) -> Priorities:
    found = list(models)
    return priorities(
        (model for model in found if isinstance(model, WorkloadPriorityClass)),
        (model for model in found if isinstance(model, PriorityClass)),
    )


def _ended(conditions: Iterable[CoreCondition]) -> bool:
    return any(each.type in ("Complete", "Failed") and each.status == "True" for each in conditions)
