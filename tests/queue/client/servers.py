"""A web server on this machine that answers as a test says, and counts what it is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Loopback:
    """Where the server is, and the requests so far as "METHOD path?query"."""

    url: str
    requests: list[str] = field(default_factory=list)


@asynccontextmanager
async def loopback(answer: Answer) -> AsyncGenerator[Loopback, None]:
    """Serve on a free port while inside."""
    server = Loopback("")

    async def handle(request: web.Request) -> web.StreamResponse:
        server.requests.append(f"{request.method} {request.raw_path}")
        return await answer(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()
