"""
One HTTP request: who asks, what for, and the answer in the form they want.

Every refusal is a Status object with the code of the real server; a fault of ours is logged and
answered with 500, and takes nothing else down.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final
from urllib.parse import parse_qs, unquote
from uuid import UUID

import orjson
from aiohttp import web

from muster.queue.client.refusal import (
    Refusal,
    bad_request,
    internal_error,
    method_not_allowed,
    no_such_path,
    not_implemented,
    too_large,
    unauthorized,
    unsupported_media_type,
)
from muster.queue.sandbox.api.attributes import User
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import boolean, first, integer, write_options
from muster.queue.sandbox.api.reading import ListOptions
from muster.queue.sandbox.api.server import APPLY_PATCH, ApiServer, patch_types
from muster.queue.sandbox.api.watching import Watch, WatchOptions, gone
from muster.queue.sandbox.api.writing import Written
from muster.queue.sandbox.http.bodies import (
    media_type_of,
    read_delete_options,
    read_object,
    read_patch,
)
from muster.queue.sandbox.http.discovery import verbs
from muster.queue.sandbox.http.documents import Documents
from muster.queue.sandbox.http.negotiation import JSON, YAML, Form, form_of
from muster.queue.sandbox.http.rendering import Renderer
from muster.queue.sandbox.http.requests import Target, target_of
from muster.queue.sandbox.http.tables import Table
from muster.queue.sandbox.store.memory import Stored

Query = dict[str, list[str]]

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
_ADMIN: Final = User("admin", ("system:masters", "system:authenticated"), uid="admin")
_WATCH_S: Final = 1800
_NOT_SERVED: Final = {
    "attach": "there are no containers to attach to: pods of the sandbox are simulated",
    "exec": "there are no containers to run a command in: pods of the sandbox are simulated",
    "log": "there are no logs: pods of the sandbox are simulated",
    "portforward": "there are no ports to forward: pods of the sandbox are simulated",
    "proxy": "there is nothing to proxy to: pods and nodes of the sandbox are simulated",
    "resize": "pods of the sandbox can't be resized while they run",
    "ephemeralcontainers": "pods of the sandbox take no containers while they run",
    "token": "service accounts of the sandbox have no tokens",
}
_PUBLIC: Final = ("/healthz", "/livez", "/readyz", "/version")
_TEXT: Final = "text/plain; charset=utf-8"
_LOG: Final = logging.getLogger(__name__)


class Handler:
    """Answers requests; one for the whole server."""

    def __init__(self, server: ApiServer, token: str) -> None:
        self._server = server
        self._authorization = f"Bearer {token}".encode()
        self._documents = Documents(server.catalogue)
        self._chance = Random(0)  # noqa: S311 - audit ids only have to differ

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Refusal as refusal:
            return self._refused(refusal)
        except web.HTTPRequestEntityTooLarge:
            return self._refused(too_large(BODY_BYTES_MAX))
        except ConnectionError:
            raise  # whoever asked has gone
        except Exception:  # noqa: BLE001 - it is logged, and must take nothing else down
            _LOG.exception("%s %s", request.method, request.raw_path)
            return self._refused(internal_error("a fault of the sandbox; its log says more"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.raw_path.partition("?")[0]
        if not self._is_known(request):
            if path in _PUBLIC and "Authorization" not in request.headers:
                return self._plain(path)
            raise unauthorized()
        parts = [unquote(part) for part in path.split("/") if part]
        match parts:
            case ["api", _, _, *_]:
                target = target_of(self._server.catalogue, ["", *parts[1:]])
            case ["apis", _, _, _, *_]:
                target = target_of(self._server.catalogue, parts[1:])
            case _:
                return self._document(request, parts)
        if target is None:
            return self._unknown(parts)
        return await self._objects(request, target)

    def _is_known(self, request: web.BaseRequest) -> bool:
        given = request.headers.get("Authorization", "").encode()
        return hmac.compare_digest(given, self._authorization)

    # -- what is no object ---------------------------------------------------------------------

    def _plain(self, path: str) -> web.Response:
        if path == "/version":
            return self._respond(200, orjson.dumps(self._documents.version()))
        return self._respond(200, b"ok", _TEXT)

    def _document(self, request: web.BaseRequest, parts: list[str]) -> web.Response:
        if request.method != "GET":
            raise method_not_allowed()
        if f"/{'/'.join(parts)}" in _PUBLIC:
            return self._plain(f"/{parts[0]}")
        found = self._documents.find(parts, request.headers.get("Accept", ""))
        if found is None:
            return self._unknown(parts)
        if found.tag and request.headers.get("If-None-Match") == found.tag:
            response = self._respond(304, b"", found.media_type)
        else:
            response = self._respond(200, found.body, found.media_type)
        if found.tag:
            response.headers["Etag"] = found.tag
        return response

    def _unknown(self, parts: list[str]) -> web.Response:
        if refusal := self._documents.refusal_of(parts):
            raise refusal
        return self._respond(404, b"404 page not found\n", _TEXT)

    # -- objects -------------------------------------------------------------------------------

    async def _objects(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        _check_part(target)
        query: Query = {}
        if request.query_string:
            query = parse_qs(request.query_string, keep_blank_values=True)
        form = form_of(request.headers.get("Accept", ""))
        limit_s = integer(query, "timeoutSeconds") or _WATCH_S
        place = Place(target.resource, target.namespace, target.name, target.subresource)
        if target.resource.answer and request.method != "POST":
            raise method_not_allowed()
        match request.method:
            case "GET" if target.name:
                return await self._get(place, query, form)
            case "GET" if "watch" in query and boolean(query, "watch"):
                return await self._watch(request, place, query, form, limit_s)
            case "GET":
                return await self._list(place, query, form)
            case "POST" if not target.name or target.subresource in {"binding", "eviction"}:
                return await self._create(request, place, query, form)
            case "PUT" if target.name:
                return await self._replace(request, place, query, form)
            case "PATCH" if target.name:
                return await self._patch(request, place, query, form)
            case "DELETE" if target.name:
                return await self._delete(request, place, query, form)
            case "DELETE" if "deletecollection" in verbs(target.resource) and (
                target.namespace or not target.resource.kind.namespaced
            ):
                return await self._delete_all(request, place, query, form)
            case _:
                raise method_not_allowed()

    async def _get(self, place: Place, query: Query, form: Form) -> web.Response:
        stored = await self._server.get(place)
        return self._shown(place, query, form, stored)

    async def _list(self, place: Place, query: Query, form: Form) -> web.Response:
        options = ListOptions(
            labels=first(query, "labelSelector"),
            fields=first(query, "fieldSelector"),
            limit=integer(query, "limit") or 0,
            continued=first(query, "continue"),
            resource_version=first(query, "resourceVersion"),
            match=first(query, "resourceVersionMatch"),
            initial_events="sendInitialEvents" in query,
        )
        listing = await self._server.list(place.resource, place.namespace, options)
        body = self._renderer(place, query, form).many(listing)
        return self._respond(200, body, form=form, warnings=_warnings(place))

    async def _create(
        self, request: web.BaseRequest, place: Place, query: Query, form: Form
    ) -> web.Response:
        _check_scope(place)
        options = write_options(query, _ADMIN, _agent(request), "CreateOptions")
        body, faults = await read_object(request, place.resource)
        options = options.with_faults(faults)
        written = await self._server.create(place, body, options)
        if place.subresource:
            return self._respond(201, _success(201), warnings=written.warnings)
        return self._shown_written(place, query, form, written)

    async def _replace(
        self, request: web.BaseRequest, place: Place, query: Query, form: Form
    ) -> web.Response:
        _check_scope(place)
        options = write_options(query, _ADMIN, _agent(request), "UpdateOptions")
        body, faults = await read_object(request, place.resource)
        options = options.with_faults(faults)
        written = await self._server.replace(place, body, options)
        return self._shown_written(place, query, form, written)

    async def _patch(
        self, request: web.BaseRequest, place: Place, query: Query, form: Form
    ) -> web.Response:
        _check_scope(place)
        media_type = media_type_of(request)
        allowed = patch_types(place.resource)
        if media_type not in allowed:
            raise unsupported_media_type(allowed)
        is_apply = media_type == APPLY_PATCH
        options = write_options(query, _ADMIN, _agent(request), "PatchOptions", apply=is_apply)
        patch, faults = await read_patch(request, media_type)
        if is_apply and faults and options.field_validation == "Strict":
            raise bad_request(f"error strict decoding YAML: {', '.join(faults)}")
        options = options.with_faults(faults)
        written = await self._server.patch(place, media_type, patch, options)
        return self._shown_written(place, query, form, written)

    async def _delete(
        self, request: web.BaseRequest, place: Place, query: Query, form: Form
    ) -> web.Response:
        _check_scope(place)
        asked = await read_delete_options(request, query)
        options = write_options({}, _ADMIN, _agent(request), "DeleteOptions")
        deleted = await self._server.delete(place, asked, options)
        warnings = deleted.warnings
        if deleted.gone and not place.resource.strategy.graceful:
            subject = place.subject.details()
            subject["uid"] = deleted.stored.value["metadata"]["uid"]
            return self._respond(200, _success(None, subject), warnings=warnings)
        return self._shown(place, query, form, deleted.stored, warnings=warnings)

    async def _delete_all(
        self, request: web.BaseRequest, place: Place, query: Query, form: Form
    ) -> web.Response:
        asked = await read_delete_options(request, query)
        selection = ListOptions(
            labels=first(query, "labelSelector"), fields=first(query, "fieldSelector")
        )
        options = write_options({}, _ADMIN, _agent(request), "DeleteOptions")
        listing = await self._server.delete_all(
            place.resource, place.namespace, selection, asked, options
        )
        return self._respond(200, self._renderer(place, query, form).many(listing), form=form)

    # -- watches -------------------------------------------------------------------------------

    async def _watch(
        self, request: web.BaseRequest, place: Place, query: Query, form: Form, limit_s: int
    ) -> web.StreamResponse:
        initial = boolean(query, "sendInitialEvents") if "sendInitialEvents" in query else None
        options = WatchOptions(
            labels=first(query, "labelSelector"),
            fields=first(query, "fieldSelector"),
            resource_version=first(query, "resourceVersion"),
            match=first(query, "resourceVersionMatch"),
            bookmarks=boolean(query, "allowWatchBookmarks"),
            initial_events=initial,
        )
        renderer = self._renderer(place, query, form)
        response = web.StreamResponse(headers={**self._headers(), "Content-Type": JSON})
        try:
            watch = self._server.watch(place.resource, place.namespace, options)
        except Refusal as refusal:
            if refusal.code != 410:  # noqa: PLR2004 - Gone is told within the stream
                raise
            await response.prepare(request)
            await response.write(orjson.dumps(gone(refusal)) + b"\n")
            return response
        watch.when_cut_off = lambda: _abort(request)
        try:
            await response.prepare(request)
            async with asyncio.timeout(limit_s):
                await self._stream(response, watch, renderer)
        except TimeoutError:
            if options.bookmarks:
                event = self._server.watches.bookmark(place.resource)
                await response.write(renderer.event(event, first=False))
        finally:
            self._server.watches.stop(watch)
        return response

    async def _stream(self, response: web.StreamResponse, watch: Watch, renderer: Renderer) -> None:
        is_first = True
        while not watch.closed:
            await watch.wait()
            if events := await self._server.watches.read(watch, watch.take()):
                lines = []
                for event in events:
                    lines.append(renderer.event(event, first=is_first))
                    is_first = False
                await response.write(b"".join(lines))

    # -- answers -------------------------------------------------------------------------------

    def _renderer(self, place: Place, query: Query, form: Form) -> Renderer:
        table = None
        if form.shape == "Table":
            include = first(query, "includeObject") or "Metadata"
            table = Table(place.resource, include, self._server.clock.now_us())
        return Renderer(place.resource, form, table)

    def _shown_written(
        self, place: Place, query: Query, form: Form, written: Written
    ) -> web.Response:
        code = 201 if written.created else 200
        return self._shown(place, query, form, written.stored, code, written.warnings)

    def _shown(
        self,
        place: Place,
        query: Query,
        form: Form,
        stored: Stored,
        code: int = 200,
        warnings: Sequence[str] = (),
    ) -> web.Response:
        body = self._renderer(place, query, form).one(stored)
        return self._respond(code, body, form=form, warnings=(*_warnings(place), *warnings))

    def _respond(
        self,
        code: int,
        body: bytes,
        media_type: str = JSON,
        *,
        form: Form | None = None,
        warnings: Sequence[str] = (),
    ) -> web.Response:
        if form and form.yaml:
            media_type = YAML
        response = web.Response(body=body, status=code, headers=self._headers())
        response.headers["Content-Type"] = media_type
        for warning in warnings:
            response.headers.add("Warning", f'299 - "{_quoted(warning)}"')
        return response

    def _headers(self) -> dict[str, str]:
        return {
            "Audit-Id": str(UUID(int=self._chance.getrandbits(128), version=4)),
            "Cache-Control": "no-cache, private",
        }

    def _refused(self, refusal: Refusal) -> web.Response:
        body = orjson.dumps(refusal.status())
        response = self._respond(refusal.code, body, warnings=refusal.warnings)
        if seconds := (refusal.details or {}).get("retryAfterSeconds"):
            response.headers["Retry-After"] = str(seconds)
        return response


def _abort(request: web.BaseRequest) -> None:
    if request.transport:
        request.transport.abort()


def _agent(request: web.BaseRequest) -> str:
    return request.headers.get("User-Agent", "")


def _check_part(target: Target) -> None:
    """See that a sub-resource is served."""
    part = target.subresource
    if not part:
        return
    if part not in target.resource.subresources or target.more:
        if sentence := _NOT_SERVED.get(part):
            raise not_implemented(sentence)
        raise no_such_path()


def _check_scope(place: Place) -> None:
    if place.resource.kind.namespaced and not place.namespace:
        raise method_not_allowed()


def _warnings(place: Place) -> Sequence[str]:
    """Return what is said to every request about a resource."""
    return (place.resource.warning,) if place.resource.warning else ()


def _success(code: int | None, details: Mapping[str, Any] | None = None) -> bytes:
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
    }
    if details:
        status["details"] = details
    if code:
        status["code"] = code
    return orjson.dumps(status)


def _quoted(text: str) -> str:
    cleaned = "".join(each if each.isprintable() else " " for each in text)
    return cleaned.replace("\\", "\\\\").replace('"', '\\"')
