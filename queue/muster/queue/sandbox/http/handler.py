"""
One HTTP request: who asks, what for, and who answers.

Every refusal is a Status object with the code of the real server; a fault of ours is logged and
answered with 500, and takes nothing else down.
"""

from __future__ import annotations

import hmac
import logging
from typing import Final
from urllib.parse import parse_qs, unquote

import orjson
from aiohttp import web

from muster.queue.client.refusal import (
    Refusal,
    internal_error,
    method_not_allowed,
    no_such_path,
    not_implemented,
    too_large,
    unauthorized,
)
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import boolean, integer
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.http.answers import TEXT, Answers
from muster.queue.sandbox.http.discovery import part_verbs, served_verbs
from muster.queue.sandbox.http.documents import Documents
from muster.queue.sandbox.http.negotiation import form_of
from muster.queue.sandbox.http.objects import Asked, Objects, Query
from muster.queue.sandbox.http.requests import Target, target_of

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
_PUBLIC: Final = ("/healthz", "/livez", "/readyz", "/version")
_ELSEWHERE: Final = {
    "attach": "there are no containers to attach to: pods of the sandbox are simulated",
    "exec": "there are no containers to run a command in: pods of the sandbox are simulated",
    "log": "there are no logs: pods of the sandbox are simulated",
    "portforward": "there are no ports to forward: pods of the sandbox are simulated",
    "proxy": "there is nothing to proxy to: pods and nodes of the sandbox are simulated",
    "resize": "pods of the sandbox can't be resized while they run",
    "ephemeralcontainers": "pods of the sandbox take no containers while they run",
    "token": "service accounts of the sandbox have no tokens",
}
"""Sub-resources of a real server, and why they are not served."""
_LOG: Final = logging.getLogger(__name__)


class Handler:
    """Answers requests; one for the whole server."""

    def __init__(self, server: ApiServer, token: str) -> None:
        self._catalogue = server.catalogue
        self._authorization = f"Bearer {token}".encode()
        self._answers = Answers()
        self._documents = Documents(server.catalogue)
        self._objects = Objects(server, self._answers)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Refusal as refusal:
            return self._answers.refusal(refusal)
        except web.HTTPRequestEntityTooLarge:
            return self._answers.refusal(too_large(BODY_BYTES_MAX))
        except ConnectionError:
            raise  # whoever asked has gone
        except Exception:  # noqa: BLE001 - it is logged, and must take nothing else down
            _LOG.exception("%s %s", request.method, request.raw_path)
            fault = internal_error("a fault of the sandbox; its log says more")
            return self._answers.refusal(fault)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        if not self._is_known(request):
            if path in _PUBLIC and "Authorization" not in request.headers:
                return self._public(path)
            raise unauthorized()
        parts = [unquote(part) for part in path.split("/") if part]
        match parts:
            case ["api", _, _, *_]:
                target = target_of(self._catalogue, ["", *parts[1:]])
            case ["apis", _, _, _, *_]:
                target = target_of(self._catalogue, parts[1:])
            case _:
                return self._document(request, parts)
        if target is None:
            return self._unknown(request, parts)
        asked, verb = _asked(request, target, query)
        return await self._objects.verbs[verb](asked)

    def _is_known(self, request: web.BaseRequest) -> bool:
        given = request.headers.get("Authorization", "").encode(errors="surrogateescape")
        return hmac.compare_digest(given, self._authorization)

    def _public(self, path: str) -> web.Response:
        if path == "/version":
            return self._answers.answer(200, orjson.dumps(self._documents.version()))
        return self._answers.answer(200, b"ok", TEXT)

    def _document(self, request: web.BaseRequest, parts: list[str]) -> web.Response:
        if request.method != "GET":
            raise method_not_allowed()
        if (path := f"/{'/'.join(parts)}") in _PUBLIC:
            return self._public(path)
        found = self._documents.find(parts, request.headers.get("Accept", ""))
        if found is None:
            return self._unknown(request, parts)
        if found.tag and request.headers.get("If-None-Match") == found.tag:
            response = self._answers.answer(304, b"", found.media_type)
        else:
            response = self._answers.answer(200, found.body, found.media_type)
        if found.tag:
            response.headers["Etag"] = found.tag
        return response

    def _unknown(self, request: web.BaseRequest, parts: list[str]) -> web.Response:
        if refusal := self._documents.refusal_of(request.method, parts):
            raise refusal
        return self._answers.no_page()


def _asked(request: web.BaseRequest, target: Target, text: str) -> tuple[Asked, str]:
    """Return a request about objects and its verb; raises Refusal for one that isn't allowed."""
    _check_part(target)
    query: Query = parse_qs(text, keep_blank_values=True) if text else {}
    verb = _verb(request.method, target, query)
    if verb not in _allowed(target):
        raise method_not_allowed()
    place = Place(target.resource, target.namespace, target.name, target.subresource)
    form = form_of(request.headers.get("Accept", ""))
    limit_s = integer(query, "timeoutSeconds") or 0
    return Asked(request, place, query, form, limit_s), verb


def _verb(method: str, target: Target, query: Query) -> str:
    match method:
        case "GET" if target.name:
            return "get"
        case "GET":
            return "watch" if "watch" in query and boolean(query, "watch") else "list"
        case "POST" if target.subresource or not target.name:
            return "create"
        case "PUT" if target.name:
            return "update"
        case "PATCH" if target.name:
            return "patch"
        case "DELETE":
            return "delete" if target.name else "deletecollection"
        case _:
            return ""


def _allowed(target: Target) -> list[str]:
    """Return the verbs that make sense where a request leads to."""
    resource = target.resource
    if target.subresource:
        # Deletion is refused in words of its own.
        return [*part_verbs(target.subresource), *(["delete"] if resource.custom else [])]
    if resource.kind.namespaced and not target.namespace:
        return ["list", "watch"]
    return served_verbs(resource)


def _check_part(target: Target) -> None:
    """See that a sub-resource is served."""
    part = target.subresource
    if not part:
        return
    if part not in target.resource.subresources or target.more:
        if sentence := _ELSEWHERE.get(part):
            raise not_implemented(sentence)
        raise no_such_path()
