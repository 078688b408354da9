"""
A sandbox that runs: the API server behind its port, with a kubeconfig that leads there.

`serve` holds for as long as it does, in the event loop of the caller and on the caller's clock;
what simulates a cluster on top of it is not its business.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from muster.queue.client.kubeconfig_text import kubeconfig
from muster.queue.clock import Clock
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.http.handler import Handler
from muster.queue.sandbox.http.serving import HOST, Listener
from muster.queue.sandbox.http.tls import make_identity
from muster.queue.sandbox.store.sqlite import SqliteJournal

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Serving:
    """An API server that answers."""

    server: ApiServer
    url: str
    token: str = field(repr=False)
    certificate: bytes = field(repr=False)
    """Of the server and of its authority, in PEM."""

    def kubeconfig(self) -> str:
        """Return the kubeconfig of a user who may do everything."""
        authority = base64.b64encode(self.certificate).decode()
        return kubeconfig(self.url, self.token, {"certificate-authority-data": authority})


@asynccontextmanager
async def serve(
    clock: Clock, chance: Random, *, port: int = 0, store: Path | None = None
) -> AsyncIterator[Serving]:
    """
    Serve the API on a port of the loopback interface, 0 for a free one.

    Objects are kept in the file `store` if there is one, else in memory. Raises OSError when the
    port is taken and StoreFileError when the file can't be used.
    """
    async with AsyncExitStack() as undo:
        server = ApiServer(clock, chance, SqliteJournal(store) if store else None)
        undo.push_async_callback(server.close)
        await server.start()
        token = secrets.token_urlsafe()
        identity = make_identity(clock.now_us())
        listener = Listener(Handler(server, token))
        await listener.start(port, identity.context())
        undo.push_async_callback(listener.close)
        undo.callback(server.watches.end_all)  # else their readers would hold up the end
        running = asyncio.create_task(server.run())
        running.add_done_callback(_log_fault)
        undo.push_async_callback(_end, running)
        yield Serving(server, f"https://{HOST}:{listener.port}", token, identity.certificate)


def _log_fault(task: asyncio.Task[None]) -> None:
    """Tell at once of what would else come to light in the end alone."""
    if not task.cancelled() and (fault := task.exception()):
        _LOG.critical("the sandbox no longer serves new definitions", exc_info=fault)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
