"""
A client of a server in the same process: the same requests and answers, without HTTP.

Objects that it hands out are those that the server holds, so whoever changes one breaks more than
his own work; objects that it is given are copied.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import orjson

from muster.queue.client.kinds import Kind
from muster.queue.client.protocol import EVERYTHING, Manifest, Page, Selection, WatchEvent
from muster.queue.sandbox.api.attributes import User
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.reading import ListOptions
from muster.queue.sandbox.api.server import MERGE_PATCH, ApiServer
from muster.queue.sandbox.api.watching import WatchOptions
from muster.queue.sandbox.kinds.resources import Object


class LocalClient:
    """A `Client` of one server, with a name by which it owns the fields that it writes."""

    def __init__(self, server: ApiServer, manager: str) -> None:
        self._server = server
        user = User(manager, ("system:masters", "system:authenticated"))
        self._options = WriteOptions(user=user, manager=manager)

    def _place(self, kind: Kind, namespace: str, name: str, subresource: str = "") -> Place:
        return Place(self._server.catalogue.of(kind), namespace, name, subresource)

    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> dict[str, Any]:
        return (await self._server.get(self._place(kind, namespace, name, subresource))).value

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        continued: str = "",
    ) -> Page:
        resource = self._server.catalogue.of(kind)
        options = ListOptions(
            labels=selection.labels, fields=selection.fields, limit=limit, continued=continued
        )
        listing = await self._server.list(resource, selection.namespace, options)
        items = [stored.value for stored in listing.items]
        return Page(items, str(listing.revision), listing.continued)

    async def watch(
        self, kind: Kind, selection: Selection = EVERYTHING, *, resource_version: str
    ) -> AsyncGenerator[WatchEvent, None]:
        resource = self._server.catalogue.of(kind)
        options = WatchOptions(
            labels=selection.labels,
            fields=selection.fields,
            resource_version=resource_version,
            bookmarks=True,
        )
        watch = self._server.watch(resource, selection.namespace, options)
        try:
            while not watch.ended:
                await watch.wait()
                for event in await self._server.watches.read(watch, watch.take()):
                    yield WatchEvent(event.type, event.stored.value)
        finally:
            self._server.watches.stop(watch)

    async def create(
        self,
        kind: Kind,
        manifest: Manifest,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
    ) -> dict[str, Any]:
        place = self._place(kind, namespace, name, subresource)
        return (await self._server.create(place, _copy(manifest), self._options)).stored.value

    async def replace(
        self, kind: Kind, manifest: Manifest, *, subresource: str = ""
    ) -> dict[str, Any]:
        place = self._place_of(kind, manifest, subresource)
        return (await self._server.replace(place, _copy(manifest), self._options)).stored.value

    async def merge_patch(
        self,
        kind: Kind,
        name: str,
        patch: Manifest,
        namespace: str = "",
        *,
        subresource: str = "",
    ) -> dict[str, Any]:
        place = self._place(kind, namespace, name, subresource)
        written = await self._server.patch(place, MERGE_PATCH, _copy(patch), self._options)
        return written.stored.value

    async def apply(
        self, kind: Kind, manifest: Manifest, *, manager: str, force: bool, subresource: str = ""
    ) -> dict[str, Any]:
        options = WriteOptions(user=self._options.user, manager=manager, force=force)
        place = self._place_of(kind, manifest, subresource)
        return (await self._server.apply(place, _copy(manifest), options)).stored.value

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", *, options: Manifest | None = None
    ) -> dict[str, Any]:
        place = self._place(kind, namespace, name)
        return (await self._server.delete(place, options or {}, self._options)).stored.value

    def _place_of(self, kind: Kind, manifest: Manifest, subresource: str) -> Place:
        metadata = manifest["metadata"]
        return self._place(kind, metadata.get("namespace", ""), metadata["name"], subresource)


def _copy(manifest: Manifest) -> Object:
    copy: Object = orjson.loads(orjson.dumps(manifest))
    return copy
