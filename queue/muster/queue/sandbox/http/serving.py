"""The listening socket: one port on loopback, TLS, and an end for sure."""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import Final

import orjson
from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.http_exceptions import BadHttpMethod
from aiohttp.web_protocol import RequestHandler

from muster.queue.client.refusal import Refusal, method_not_allowed
from muster.queue.sandbox.http.handler import BODY_BYTES_MAX, Handler
from muster.queue.sandbox.http.negotiation import JSON

HOST: Final = "127.0.0.1"
_GRACE_S: Final = 0.4
"""How long requests may still take when the end has come, and once more when they are cancelled."""
_METHOD: Final = re.compile(r"[A-Z]+ /\S* HTTP/1[.][01]")
_LINE_BYTES_MAX: Final = 64 * 1024
"""Of a request's first line and of each header: selectors of a watch can be long."""
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


class _Protocol(RequestHandler):
    """A connection; what is no HTTP is answered as everything else that is refused."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has been sent already")
        is_unknown = isinstance(exc, BadHttpMethod) and message and _METHOD.search(message)
        refusal = (
            method_not_allowed() if is_unknown else Refusal(status, "BadRequest", "Bad Request")
        )
        answer = web.Response(
            body=orjson.dumps(refusal.status()), status=refusal.code, content_type=JSON
        )
        answer.force_close()
        return answer


class _Server(web.Server):
    """Makes such connections."""

    def __call__(self) -> RequestHandler:
        return _Protocol(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=_KEPT_S,
            access_log=None,  # type: ignore[arg-type]  # which is how it is turned off
            auto_decompress=False,  # nor does a real server
            max_line_size=_LINE_BYTES_MAX,
            max_field_size=_LINE_BYTES_MAX,
        )


class Listener:
    """Serves a handler until it is closed."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._runner: web.ServerRunner | None = None
        self.port = 0

    async def start(self, port: int, context: ssl.SSLContext | None) -> None:
        """Listen on a port, 0 for a free one. Raises OSError when it is taken."""
        server = _Server(self._handler, request_factory=_request, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=_GRACE_S)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, port, ssl_context=context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        if self._runner:
            await self._runner.cleanup()
