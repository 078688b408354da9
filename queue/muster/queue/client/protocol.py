"""
The one seam between our controllers and an API server: what a client can ask.

Objects are plain JSON documents. Those that a client hands out may be shared: never change one,
build a new one. Every refusal of the server is a `Refusal`; anything that kept the request from
being answered is a `Disconnected`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from muster.queue.client.kinds import Kind

Manifest = Mapping[str, Any]


class Disconnected(Exception):  # noqa: N818 - not a fault of whoever asked
    """No answer: the server is gone, or the connection broke. The request may have been done."""


class Page(NamedTuple):
    """A part of a list, as of one resource version."""

    items: list[dict[str, Any]]
    resource_version: str
    continued: str
    """The token for the next part, "" after the last one."""


class WatchEvent(NamedTuple):
    """One change: ADDED, MODIFIED, DELETED, or BOOKMARK, which carries a resourceVersion alone.

    An ERROR of the stream, such as 410 Expired, is raised as a Refusal instead.
    """

    type: str
    object: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects of a kind: in one namespace ("" for all), by labels and by fields."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


EVERYTHING = Selection()


class Client(Protocol):
    """Requests about objects of any kind; all raise Refusal and Disconnected.

    `namespace` is "" for kinds without; `subresource` is "" for the object itself.
    """

    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> dict[str, Any]: ...

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        continued: str = "",
    ) -> Page: ...

    def watch(
        self, kind: Kind, selection: Selection = EVERYTHING, *, resource_version: str
    ) -> AsyncGenerator[WatchEvent, None]:
        """
        Yield what changes after `resource_version`, with bookmarks, until the server ends it.

        Whoever leaves it early closes it (`contextlib.aclosing`).
        """

    async def create(
        self,
        kind: Kind,
        manifest: Manifest,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
    ) -> dict[str, Any]:
        """Create an object, or with `name` and `subresource` something like a Binding."""

    async def replace(
        self, kind: Kind, manifest: Manifest, *, subresource: str = ""
    ) -> dict[str, Any]: ...

    async def merge_patch(
        self,
        kind: Kind,
        name: str,
        patch: Manifest,
        namespace: str = "",
        *,
        subresource: str = "",
    ) -> dict[str, Any]: ...

    async def apply(
        self, kind: Kind, manifest: Manifest, *, manager: str, force: bool, subresource: str = ""
    ) -> dict[str, Any]:
        """Server-side apply."""

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        options: Manifest | None = None,
    ) -> dict[str, Any]:
        """Delete one object; `options` is a DeleteOptions (preconditions, grace, propagation)."""
