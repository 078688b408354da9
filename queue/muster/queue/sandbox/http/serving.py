"""The listening socket: one port on loopback, TLS, and an end for sure."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.web_protocol import RequestHandler

from muster.queue.sandbox.http.handler import BODY_BYTES_MAX, Handler

HOST: Final = "127.0.0.1"
_GRACE_S: Final = 1.0
_KEPT_S: Final = 600.0
"""How long an idle connection is kept."""


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: asyncio.Task[None],
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(
        message, payload, protocol, writer, task, loop, client_max_size=BODY_BYTES_MAX
    )


class Listener:
    """Serves a handler until it is closed."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._runner: web.ServerRunner | None = None
        self.port = 0

    async def start(self, port: int, context: ssl.SSLContext | None) -> None:
        """Listen on a port, 0 for a free one. Raises OSError when it is taken."""
        server = web.Server(
            self._handler,
            request_factory=_request,
            handler_cancellation=True,
            keepalive_timeout=_KEPT_S,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=_GRACE_S)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, port, ssl_context=context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        if self._runner:
            async with asyncio.timeout(2 * _GRACE_S):
                await self._runner.cleanup()
