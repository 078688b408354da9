"""
What the strategies of built-in kinds have in common.

An object comes into form first, as a server in Go would give it back; then its kind fills what may
be left out. Kinds with a status keep it apart: a write of the object leaves it alone, and a write
of the status leaves the rest alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from muster.queue.client.refusal import FieldError
from muster.queue.sandbox.kinds.canonical import canonicalize
from muster.queue.sandbox.kinds.metadata import standard_finalizers_errors
from muster.queue.sandbox.kinds.resources import Object, Path, Shared, Strategy


class BuiltInStrategy(Strategy):
    """The strategy of a kind without a status; by itself, of one with no rules of its own."""

    generation = False
    standard_finalizers = True
    """Its finalizers without a domain must be those that Kubernetes knows."""

    def __init__(self, component: str) -> None:
        """With the name of the kind's schema, such as "io.k8s.api.core.v1.Pod"."""
        self._component = component

    def default(self, obj: Object) -> None:
        canonicalize(obj, self._component)
        self.fill(obj)

    def fill(self, obj: Object) -> None:
        """Fill what may be left out of an object in canonical form."""

    def validate_create(self, obj: Shared) -> list[FieldError]:
        return [*self._metadata_errors(obj), *self.create_errors(obj)]

    def validate_update(self, obj: Shared, old: Shared, subresource: str) -> list[FieldError]:
        return [*self._metadata_errors(obj), *self.update_errors(obj, old, subresource)]

    def _metadata_errors(self, obj: Shared) -> Iterable[FieldError]:
        finalizers = obj["metadata"].get("finalizers") or ()
        return standard_finalizers_errors(finalizers) if self.standard_finalizers else ()

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        """Return what is wrong with a new object, besides its metadata."""
        return ()

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        """Return what is wrong with an object as the successor of another: as with a new one."""
        return self.create_errors(obj)


class CountedStrategy(BuiltInStrategy):
    """The strategy of a kind that has a metadata.generation: it stays 1 without `generation`."""

    def prepare_create(self, obj: Object, now: str) -> None:
        obj["metadata"]["generation"] = 1


class StatusStrategy(BuiltInStrategy):
    """The strategy of a kind with a `status` sub-resource."""

    def prepare_create(self, obj: Object, now: str) -> None:
        obj["status"] = self.new_status(obj)

    def new_status(self, obj: Shared) -> Object:
        """Return the status of a new object."""
        return {}

    def prepare_update(self, obj: Object, old: Shared, subresource: str, now: str) -> None:
        put_back(obj, old, "spec" if subresource == "status" else "status")

    def reset_fields(self, subresource: str) -> Sequence[Path]:
        return (("spec",),) if subresource == "status" else (("status",),)


def put_back(obj: Object, old: Shared, name: str) -> None:
    """Make one field of an object what it was."""
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def entries(obj: Shared, *path: str) -> Sequence[Any]:
    """Return the list at a path, empty where there is none."""
    found: Any = obj
    for name in path:
        found = found.get(name)
        if not found:
            return ()
    result: Sequence[Any] = found
    return result


def part(obj: Shared, *path: str) -> Shared:
    """Return the mapping at a path, empty where there is none."""
    found: Any = obj
    for name in path:
        found = found.get(name)
        if not found:
            return {}
    result: Shared = found
    return result
