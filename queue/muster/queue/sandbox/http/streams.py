"""Watches over HTTP: lines of JSON for as long as somebody reads them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import orjson
from aiohttp import web

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.api.watching import Watch, WatchOptions, gone
from muster.queue.sandbox.http.answers import Answers
from muster.queue.sandbox.http.negotiation import JSON
from muster.queue.sandbox.http.rendering import Renderer

_LIFE_S: Final = 1800
"""How long a watch lasts whose client doesn't say; it then begins another one."""
_STALLED_MAX_S: Final = 60.0
"""How long a client may leave what it was sent unread, when no more fits into the connection."""
_GONE: Final = 410


class Streams:
    """Writes the events of watches."""

    def __init__(self, server: ApiServer, answers: Answers) -> None:
        self._server = server
        self._answers = answers

    async def watch(
        self,
        request: web.BaseRequest,
        place: Place,
        options: WatchOptions,
        renderer: Renderer,
        limit_s: int,
    ) -> web.StreamResponse:
        """Write events until the client goes, `limit_s` are over, or it reads too slowly."""
        headers = {**self._answers.headers(), "Content-Type": JSON}
        response = web.StreamResponse(headers=headers)
        try:
            watch = self._server.watch(place.resource, place.namespace, options)
        except Refusal as refusal:
            if refusal.code != _GONE:
                raise
            # As the real server: the stream begins well, and ends with the first event.
            await response.prepare(request)
            await response.write(orjson.dumps(gone(refusal)) + b"\n")
            return response
        watch.when_cut_off = lambda: _abort(request)
        try:
            await response.prepare(request)
            await self._write(response, watch, renderer, options, limit_s or _LIFE_S)
        except TimeoutError:
            _abort(request)
        except Refusal as refusal:  # of a conversion
            await response.write(orjson.dumps(gone(refusal)) + b"\n")
        finally:
            self._server.watches.stop(watch)
        return response

    async def _write(
        self,
        response: web.StreamResponse,
        watch: Watch,
        renderer: Renderer,
        options: WatchOptions,
        limit_s: int,
    ) -> None:
        watches, loop = self._server.watches, asyncio.get_running_loop()
        ends_at = loop.time() + limit_s
        is_first, is_over = True, False
        while not (watch.ended or is_over):
            with suppress(TimeoutError):
                async with asyncio.timeout_at(ends_at):
                    await watch.wait()
            events = watch.take()
            is_over = loop.time() >= ends_at
            if is_over and options.bookmarks:
                events.append(watches.bookmark(watch.resource))
            lines = []
            for event in await watches.read(watch, events):
                lines.append(renderer.event(event, first=is_first))
                is_first = False
            if lines:
                async with asyncio.timeout(_STALLED_MAX_S):
                    await response.write(b"".join(lines))


def _abort(request: web.BaseRequest) -> None:
    if request.transport:
        request.transport.abort()
