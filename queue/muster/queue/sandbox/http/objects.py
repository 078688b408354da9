"""The verbs over HTTP: from a request about objects to what is asked of the server, and back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from aiohttp import web

from muster.queue.client.refusal import bad_request, unsupported_media_type
from muster.queue.sandbox.api.attributes import User
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import (
    WriteOptions,
    boolean,
    first,
    integer,
    write_options,
)
from muster.queue.sandbox.api.reading import ListOptions
from muster.queue.sandbox.api.server import APPLY_PATCH, ApiServer, patch_types
from muster.queue.sandbox.api.watching import WatchOptions
from muster.queue.sandbox.api.writing import Written
from muster.queue.sandbox.http.answers import Answers
from muster.queue.sandbox.http.bodies import (
    media_type_of,
    read_delete_options,
    read_object,
    read_patch,
)
from muster.queue.sandbox.http.negotiation import JSON, YAML, Form
from muster.queue.sandbox.http.rendering import Renderer
from muster.queue.sandbox.http.streams import Streams
from muster.queue.sandbox.http.tables import Table
from muster.queue.sandbox.store.memory import Stored

Query = dict[str, list[str]]

ADMIN: Final = User("admin", ("system:masters", "system:authenticated"), uid="admin")
"""Whoever has the token."""


class Asked(NamedTuple):
    """One request about objects."""

    request: web.BaseRequest
    place: Place
    query: Query
    form: Form
    limit_s: int
    """How long a watch may last, 0 for as long as the server likes."""

    def options(self, kind: str, *, apply: bool = False) -> WriteOptions:
        """Return how something is to be written, as CreateOptions and so on have it."""
        agent = self.request.headers.get("User-Agent", "")
        query = {} if kind == "DeleteOptions" else self.query
        return write_options(query, ADMIN, agent, kind, apply=apply)

    @property
    def warnings(self) -> Sequence[str]:
        """What is said to every request about a resource."""
        warning = self.place.resource.warning
        return (warning,) if warning else ()


Verb = Callable[[Asked], Awaitable[web.StreamResponse]]


class Objects:
    """Carries out verbs, by the names that discovery has for them."""

    def __init__(self, server: ApiServer, answers: Answers) -> None:
        self._server = server
        self._answers = answers
        self._streams = Streams(server, answers)
        self.verbs: dict[str, Verb] = {
            "create": self._create,
            "delete": self._delete,
            "deletecollection": self._delete_all,
            "get": self._get,
            "list": self._list,
            "patch": self._patch,
            "update": self._replace,
            "watch": self._watch,
        }

    async def _get(self, asked: Asked) -> web.Response:
        return self._shown(asked, await self._server.get(asked.place))

    async def _list(self, asked: Asked) -> web.Response:
        query = asked.query
        options = ListOptions(
            labels=first(query, "labelSelector"),
            fields=first(query, "fieldSelector"),
            limit=integer(query, "limit") or 0,
            continued=first(query, "continue"),
            resource_version=first(query, "resourceVersion"),
            match=first(query, "resourceVersionMatch"),
            initial_events="sendInitialEvents" in query,
        )
        place = asked.place
        listing = await self._server.list(place.resource, place.namespace, options)
        body = self._renderer(asked).many(listing)
        return self._answers.answer(200, body, _media_type(asked), asked.warnings)

    async def _watch(self, asked: Asked) -> web.StreamResponse:
        query = asked.query
        initial = boolean(query, "sendInitialEvents") if "sendInitialEvents" in query else None
        options = WatchOptions(
            labels=first(query, "labelSelector"),
            fields=first(query, "fieldSelector"),
            resource_version=first(query, "resourceVersion"),
            match=first(query, "resourceVersionMatch"),
            bookmarks=boolean(query, "allowWatchBookmarks"),
            initial_events=initial,
        )
        renderer = self._renderer(asked)
        return await self._streams.watch(
            asked.request, asked.place, options, renderer, asked.limit_s
        )

    async def _create(self, asked: Asked) -> web.Response:
        options = asked.options("CreateOptions")
        body, faults = await read_object(asked.request, asked.place)
        written = await self._server.create(asked.place, body, options.with_faults(faults))
        if asked.place.subresource:
            return self._answers.success(201, warnings=written.warnings)
        return self._shown_written(asked, written)

    async def _replace(self, asked: Asked) -> web.Response:
        options = asked.options("UpdateOptions")
        body, faults = await read_object(asked.request, asked.place)
        written = await self._server.replace(asked.place, body, options.with_faults(faults))
        return self._shown_written(asked, written)

    async def _patch(self, asked: Asked) -> web.Response:
        media_type = media_type_of(asked.request)
        allowed = patch_types(asked.place.resource)
        if media_type not in allowed:
            raise unsupported_media_type(allowed)
        is_apply = media_type == APPLY_PATCH
        options = asked.options("PatchOptions", apply=is_apply)
        patch, faults = await read_patch(asked.request, media_type)
        if is_apply and faults and options.field_validation == "Strict":
            raise bad_request(f"error strict decoding YAML: {', '.join(faults)}")
        options = options.with_faults(faults)
        written = await self._server.patch(asked.place, media_type, patch, options)
        return self._shown_written(asked, written)

    async def _delete(self, asked: Asked) -> web.Response:
        place = asked.place
        wanted = await read_delete_options(asked.request, asked.query)
        deleted = await self._server.delete(place, wanted, asked.options("DeleteOptions"))
        if deleted.gone and not place.resource.strategy.graceful:
            details = place.subject.details()
            details["uid"] = deleted.stored.value["metadata"]["uid"]
            return self._answers.success(200, details, deleted.warnings)
        return self._shown(asked, deleted.stored, warnings=deleted.warnings)

    async def _delete_all(self, asked: Asked) -> web.Response:
        place = asked.place
        wanted = await read_delete_options(asked.request, asked.query)
        selection = ListOptions(
            labels=first(asked.query, "labelSelector"),
            fields=first(asked.query, "fieldSelector"),
        )
        options = asked.options("DeleteOptions")
        listing = await self._server.delete_all(
            place.resource, place.namespace, selection, wanted, options
        )
        body = self._renderer(asked).many(listing)
        return self._answers.answer(200, body, _media_type(asked), asked.warnings)

    # -- what is shown -------------------------------------------------------------------------

    def _renderer(self, asked: Asked) -> Renderer:
        table = None
        if asked.form.shape == "Table":
            include = first(asked.query, "includeObject") or "Metadata"
            table = Table(asked.place.resource, include, self._server.clock.now_us())
        return Renderer(asked.place.resource, asked.form, table)

    def _shown_written(self, asked: Asked, written: Written) -> web.Response:
        code = 201 if written.created else 200
        return self._shown(asked, written.stored, code, written.warnings)

    def _shown(
        self, asked: Asked, stored: Stored, code: int = 200, warnings: Sequence[str] = ()
    ) -> web.Response:
        body = self._renderer(asked).one(stored)
        return self._answers.answer(code, body, _media_type(asked), (*asked.warnings, *warnings))


def _media_type(asked: Asked) -> str:
    return YAML if asked.form.yaml else JSON
