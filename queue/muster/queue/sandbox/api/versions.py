"""
Objects are stored in one version and served in all: from one to the other and back.

Where the version is the one that is stored, which is nearly always, this costs nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import orjson

from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.kinds.resources import Object, Resource
from muster.queue.sandbox.store.memory import Stored

Convert = Callable[[Sequence[Object], str], Awaitable[list[Object]]]
"""Return objects, which may be changed, in another version of their group."""


async def _rename(objects: Sequence[Object], api_version: str) -> list[Object]:
    return [{**obj, "apiVersion": api_version} for obj in objects]


class Versions:
    """Converts between the versions that the catalogue has of a resource."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._converters: dict[str, Convert] = {}

    def convert_by(self, key: str, convert: Convert | None) -> None:
        """Convert the objects of a resource this way from now on; None changes apiVersion alone."""
        if convert:
            self._converters[key] = convert
        else:
            self._converters.pop(key, None)

    async def read(self, resource: Resource, stored: Stored) -> Stored:
        """Return a stored object in the version of `resource`."""
        if stored.value["apiVersion"] == resource.kind.api_version:
            return stored
        return (await self.read_all(resource, [stored]))[0]

    async def read_all(self, resource: Resource, stored: list[Stored]) -> list[Stored]:
        """Return stored objects in the version of `resource`, in their order."""
        wanted = resource.kind.api_version
        others = [each for each in stored if each.value["apiVersion"] != wanted]
        if not others:
            return stored
        convert = self._converters.get(resource.key, _rename)
        converted = await convert([each.private() for each in others], wanted)
        results = iter(
            Stored(obj, orjson.dumps(obj), each.revision)
            for obj, each in zip(converted, others, strict=True)
        )
        return [each if each.value["apiVersion"] == wanted else next(results) for each in stored]

    async def write(self, resource: Resource, obj: Object) -> Object:
        """Return an object of the version of `resource` as it is to be stored."""
        storage = self._catalogue.storage(resource.key)
        if storage is None or storage.kind.api_version == obj.get("apiVersion"):
            return obj
        convert = self._converters.get(resource.key, _rename)
        return (await convert([orjson.loads(orjson.dumps(obj))], storage.kind.api_version))[0]
