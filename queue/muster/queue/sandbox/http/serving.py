"""The listening socket: one port on loopback, TLS, and an end for sure."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

from aiohttp import web

from muster.queue.sandbox.http.handler import BODY_BYTES_MAX, Handler

HOST: Final = "127.0.0.1"
_GRACE_S: Final = 1.0


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
            client_max_size=BODY_BYTES_MAX,
            handler_cancellation=True,
            keepalive_timeout=600,
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
