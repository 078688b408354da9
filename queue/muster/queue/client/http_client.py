"""
The client of an API server on the network: one session of kept connections, JSON both ways.

It asks each thing once and tells what came back: it never retries, waits or caches. (Only a request
that may be repeated, and met a connection that the server had just closed, is sent again on a
fresh one, as HTTP has it.) Whoever asks knows better what a failure means.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

import aiohttp
import orjson
from yarl import URL

from muster.queue.client.kinds import Kind
from muster.queue.client.kubeconfig import Access
from muster.queue.client.protocol import (
    EVERYTHING,
    Disconnected,
    Manifest,
    Page,
    Selection,
    WatchEvent,
)
from muster.queue.client.refusal import Refusal

CONNECT_MAX_S: Final = 10.0
ANSWER_MAX_S: Final = 60.0
"""Servers give up on a request after a minute, too."""
SILENCE_MAX_S: Final = 70.0
"""A watch that brings nothing for so long is dead: servers send a bookmark every minute."""
CONNECTIONS_MAX: Final = 128
"""Requests at one time, watches included; more wait for their turn."""

_JSON: Final = {"Content-Type": "application/json"}
_MERGE_PATCH: Final = {"Content-Type": "application/merge-patch+json"}
_APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_ERROR_MIN: Final = 300  # redirects, too: a token is not for whoever they lead to

_Query = Mapping[str, str]


class HttpClient:
    """A `Client` of the server behind `access`; an async context manager. Needs a running loop."""

    def __init__(self, access: Access) -> None:
        self._server = access.server
        self._server_name = access.server_name or None
        headers = {
            "Accept": "application/json",
            # Unpacking costs both sides more than a near network does.
            "Accept-Encoding": "identity",
            "User-Agent": "muster",
        }
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        self._answer_timeout = aiohttp.ClientTimeout(total=ANSWER_MAX_S, connect=CONNECT_MAX_S)
        self._watch_timeout = aiohttp.ClientTimeout(
            total=None, connect=CONNECT_MAX_S, sock_read=SILENCE_MAX_S
        )
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=CONNECTIONS_MAX, ssl=True if access.trust is None else access.trust
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            proxy=access.proxy or None,
            timeout=self._answer_timeout,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; requests under way end as Disconnected."""
        await self._session.close()

    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> dict[str, Any]:
        return await self._request("GET", _path(kind, namespace, name, subresource))

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        continued: str = "",
    ) -> Page:
        query = _selecting(selection)
        if limit:
            query["limit"] = str(limit)
        if continued:
            query["continue"] = continued
        answer = await self._request("GET", _path(kind, selection.namespace), query)
        metadata = answer["metadata"]
        # The items of a list say neither apiVersion nor kind, those of a watch do.
        named = {"apiVersion": kind.api_version, "kind": kind.kind}
        items = [named | item for item in answer["items"] or ()]
        return Page(items, metadata["resourceVersion"], metadata.get("continue", ""))

    async def watch(
        self, kind: Kind, selection: Selection = EVERYTHING, *, resource_version: str
    ) -> AsyncGenerator[WatchEvent, None]:
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            **_selecting(selection),
        }
        url = self._url(_path(kind, selection.namespace), query)
        try:
            async with self._session.get(
                url,
                timeout=self._watch_timeout,
                allow_redirects=False,
                server_hostname=self._server_name,
            ) as response:
                if response.status >= _ERROR_MIN:
                    raise _refusal(response.status, await response.read())
                rest = b""
                async for part in response.content.iter_any():
                    *lines, rest = (rest + part).split(b"\n")
                    for line in lines:
                        if line:
                            yield self._event(line)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._disconnected(error) from error

    async def create(
        self,
        kind: Kind,
        manifest: Manifest,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
    ) -> dict[str, Any]:
        path = _path(kind, namespace, name, subresource)
        return await self._request("POST", path, body=manifest)

    async def replace(
        self, kind: Kind, manifest: Manifest, *, subresource: str = ""
    ) -> dict[str, Any]:
        return await self._request("PUT", _path_of(kind, manifest, subresource), body=manifest)

    async def merge_patch(
        self,
        kind: Kind,
        name: str,
        patch: Manifest,
        namespace: str = "",
        *,
        subresource: str = "",
    ) -> dict[str, Any]:
        path = _path(kind, namespace, name, subresource)
        return await self._request("PATCH", path, body=patch, headers=_MERGE_PATCH)

    async def apply(
        self, kind: Kind, manifest: Manifest, *, manager: str, force: bool, subresource: str = ""
    ) -> dict[str, Any]:
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        path = _path_of(kind, manifest, subresource)
        return await self._request("PATCH", path, query, body=manifest, headers=_APPLY)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        options: Manifest | None = None,
    ) -> dict[str, Any]:
        return await self._request("DELETE", _path(kind, namespace, name), body=options)

    async def _request(
        self,
        method: str,
        path: str,
        query: _Query | None = None,
        *,
        body: Manifest | None = None,
        headers: Mapping[str, str] = _JSON,
    ) -> dict[str, Any]:
        try:
            async with self._session.request(
                method,
                self._url(path, query),
                data=None if body is None else orjson.dumps(body),
                headers=None if body is None else headers,
                allow_redirects=False,
                server_hostname=self._server_name,
            ) as response:
                content = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._disconnected(error) from error
        if response.status >= _ERROR_MIN:
            raise _refusal(response.status, content)
        return self._document(content)

    def _url(self, path: str, query: _Query | None) -> URL:
        text = f"{self._server}{path}?{urlencode(query)}" if query else f"{self._server}{path}"
        return URL(text, encoded=True)

    def _event(self, line: bytes) -> WatchEvent:
        event = self._document(line)
        try:
            kind, found = event["type"], event["object"]
        except KeyError:
            raise self._foreign(line) from None
        if kind == "ERROR":
            raise Refusal.of(found.get("code", 500), found)
        return WatchEvent(kind, found)

    def _document(self, content: bytes) -> dict[str, Any]:
        try:
            document = orjson.loads(content)
        except orjson.JSONDecodeError:
            raise self._foreign(content) from None
        if not isinstance(document, dict):
            raise self._foreign(content)
        return document

    def _foreign(self, content: bytes) -> Disconnected:
        shown = content[:100].decode(errors="replace")
        return Disconnected(f"{self._server} does not answer as an API server does: {shown!r}")

    def _disconnected(self, error: Exception) -> Disconnected:
        why = str(error) or type(error).__name__
        return Disconnected(f"{self._server} did not answer: {why}")


def _path(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    return kind.path(quote(namespace, safe=""), quote(name, safe=""), subresource)


def _path_of(kind: Kind, manifest: Manifest, subresource: str) -> str:
    metadata = manifest["metadata"]
    return _path(kind, metadata.get("namespace", ""), metadata["name"], subresource)


def _selecting(selection: Selection) -> dict[str, str]:
    query = {}
    if selection.labels:
        query["labelSelector"] = selection.labels
    if selection.fields:
        query["fieldSelector"] = selection.fields
    return query


def _refusal(code: int, content: bytes) -> Refusal:
    try:
        return Refusal.of(code, orjson.loads(content))
    except orjson.JSONDecodeError:
        return Refusal.of(code, content.decode(errors="replace"))
