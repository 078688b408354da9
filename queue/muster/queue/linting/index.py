"""The objects of a world by kind, with what belongs together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar, cast

from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.kueue import Cohort, LocalQueue
from muster.queue.api.registry import ApiObject
from muster.queue.manifests.complaints import Complaint
from muster.queue.manifests.loading import Manifest
from muster.queue.world import World

Model = TypeVar("Model", bound=ApiObject)
Member: TypeAlias = "Found[ClusterQueue] | Found[Cohort]"


@dataclass(frozen=True, slots=True)
class Found(Generic[Model]):
    """An object and the manifest it stands in."""

    model: Model
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.model.metadata.name

    def warning(self, path: str, message: str) -> Complaint:
        return self.manifest.complaint(path, message)


class Index:
    """Answers which objects there are without looking through all of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._by_kind: dict[type, list[Found[ApiObject]]] = {}
        for manifest in world.manifests:
            found = Found(manifest.model, manifest)
            self._by_kind.setdefault(type(manifest.model), []).append(found)
        self._local_queues: dict[str, list[Found[LocalQueue]]] = {}
        for local_queue in self.of(LocalQueue):
            leads_to = local_queue.model.spec.cluster_queue or ""
            self._local_queues.setdefault(leads_to, []).append(local_queue)
        self._members: dict[str, list[Member]] = {}
        for queue in self.of(ClusterQueue):
            self._members.setdefault(queue.model.spec.cohort_name or "", []).append(queue)
        for cohort in self.of(Cohort):
            self._members.setdefault(cohort.model.spec.parent_name or "", []).append(cohort)

    def of(self, kind: type[Model]) -> list[Found[Model]]:
        """Return the objects of one kind, in reading order."""
        return cast("list[Found[Model]]", self._by_kind.get(kind, []))

    def local_queues_of(self, queue: str) -> list[Found[LocalQueue]]:
        """Return the LocalQueues that lead to a ClusterQueue."""
        return self._local_queues.get(queue, [])

    def members(self, cohort: str) -> list[Member]:
        """Return the ClusterQueues and cohorts right below a cohort."""
        return self._members.get(cohort, [])

    @property
    def cohort_names(self) -> list[str]:
        """The names of all cohorts, with an object or without, in order."""
        names = {cohort.name for cohort in self.of(Cohort)} | self._members.keys()
        return sorted(names - {""})
