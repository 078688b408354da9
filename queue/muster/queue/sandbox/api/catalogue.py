"""
What is served now: built-in kinds from the start, custom ones as definitions come and go.

Nothing else knows whether a kind is served. `revision` changes with the catalogue, so that what is
made of it, such as discovery documents, can be kept until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muster.queue.client.kinds import Kind
from muster.queue.client.refusal import no_such_path
from muster.queue.sandbox.kinds.resources import Resource


class Catalogue:
    """Resources by group, version and plural."""

    def __init__(self, builtin: Iterable[Resource]) -> None:
        self._resources: dict[tuple[str, str, str], Resource] = {}
        self._storage: dict[str, Resource] = {}
        self.revision = 0
        for resource in builtin:
            self._resources[_place(resource.kind)] = resource
            # The first version of a kind that is listed is the one that is stored.
            if not resource.answer:
                self._storage.setdefault(resource.key, resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version, plural))

    def of(self, kind: Kind) -> Resource:
        """Return what serves a kind; raises Refusal 404 for none."""
        if resource := self._resources.get(_place(kind)):
            return resource
        raise no_such_path()

    def storage(self, key: str) -> Resource | None:
        """Return the version in which objects of a resource are stored."""
        return self._storage.get(key)

    def stored(self) -> Iterator[Resource]:
        """Yield each resource once, in the version in which it is stored."""
        yield from self._storage.values()

    def serves(self, group: str, version: str) -> bool:
        return any(place[:2] == (group, version) for place in self._resources)

    def replace(self, key: str, resources: Iterable[Resource], storage: Resource | None) -> None:
        """Serve these versions of a custom resource from now on, and no others."""
        for place, known in [*self._resources.items()]:
            if known.key == key:
                del self._resources[place]
        for resource in resources:
            self._resources[_place(resource.kind)] = resource
        if storage:
            self._storage[key] = storage
        else:
            self._storage.pop(key, None)
        self.revision += 1


def _place(kind: Kind) -> tuple[str, str, str]:
    return kind.group, kind.version, kind.plural
