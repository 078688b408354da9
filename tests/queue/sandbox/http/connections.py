"""A server on this machine's loopback, and connections that do as a test says, byte by byte."""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any, NamedTuple, TypeVar

from muster.queue.client.kinds import CONFIG_MAP
from muster.queue.clock import WallClock
from muster.queue.sandbox.local import LocalClient
from muster.queue.sandbox.serving import Serving, serve

T = TypeVar("T")

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{CONFIG_MAPS}?watch=true"
_MAX_S = 30.0
_TICK_S = 0.001


class Answer(NamedTuple):
    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.body)
        return document


class Connection:
    """One TLS connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._token = token

    def send_head(self, method: str, path: str, **headers: object) -> None:
        """Send the beginning of a request, `content_length=3` for `content-length: 3`."""
        lines = [
            f"{method} {path} HTTP/1.1",
            "host: sandbox",
            f"authorization: Bearer {self._token}",
        ]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())

    async def ask(self, method: str, path: str, body: bytes = b"", **headers: object) -> Answer:
        if body:
            headers = {"content_type": "application/json", "content_length": len(body)} | headers
        self.send_head(method, path, **headers)
        self.writer.write(body)
        return await self.answer()

    async def answer(self) -> Answer:
        """Read an answer that says how long it is."""
        code, headers = await self.head()
        length = int(headers.get("content-length", 0))
        return Answer(code, headers, await self.reader.readexactly(length))

    async def head(self) -> tuple[int, dict[str, str]]:
        """Read the status and the headers of an answer."""
        status, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        pairs = (line.partition(": ") for line in lines if line)
        return int(status.split()[1]), {name.lower(): value for name, _, value in pairs}

    async def chunk(self) -> bytes:
        """Read a part of a stream, b"" at its proper end."""
        size = int(await self.reader.readline(), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def watch(self, path: str = WATCH) -> None:
        """Begin a watch; its events are to be read as chunks."""
        self.send_head("GET", path)
        code, headers = await self.head()
        assert (code, headers["transfer-encoding"]) == (200, "chunked")

    async def events(self) -> list[dict[str, Any]]:
        """Read all that is left of a watch."""
        stream = b""
        while part := await self.chunk():
            stream += part
        return [json.loads(line) for line in stream.splitlines()]

    async def is_cut(self) -> bool:
        """Read whatever there is; say whether it ends before its proper end."""
        try:
            while await self.chunk():
                pass
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            return True
        return False

    async def close(self) -> None:
        self.writer.transport.abort()
        await asyncio.wait([asyncio.ensure_future(self.writer.wait_closed())])


class Local:
    """A server on a port of its own."""

    def __init__(self, serving: Serving, leftover: AsyncExitStack) -> None:
        self.leftover = leftover
        """Closed when the server has ended."""
        self.serving = serving
        self.server = serving.server
        self.client = LocalClient(serving.server, "tests")
        self.port = int(serving.url.rpartition(":")[2])
        self.trust = ssl.create_default_context(cadata=serving.certificate.decode())

    @asynccontextmanager
    async def connected(self, **options: Any) -> AsyncIterator[Connection]:
        """Be connected; the connection is reset in the end."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.trust, **options
        )
        connection = Connection(reader, writer, self.serving.token)
        try:
            yield connection
        finally:
            await connection.close()

    async def is_well(self) -> bool:
        """Say whether somebody else is served."""
        async with self.connected() as connection:
            return (await connection.ask("GET", CONFIG_MAPS)).code == 200

    async def create(self, name: str, **data: str) -> dict[str, Any]:
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        return await self.client.create(CONFIG_MAP, manifest | {"data": data}, "default")

    @property
    def watches(self) -> int:
        return len(self.server.watches._open)


def run(story: Callable[[Local], Awaitable[T]], *, within_s: float = _MAX_S) -> T:
    """
    Run a story on a fresh server and return what it returns.

    When the server has ended, nothing is left of it; that it ends is to take `within_s` at most.
    """

    async def told() -> T:
        async with AsyncExitStack() as leftover:
            async with serve(WallClock(), Random(1)) as serving:
                local = Local(serving, leftover)
                async with asyncio.timeout(_MAX_S):
                    result = await story(local)
                started_s = time.monotonic()
            ended_s = time.monotonic()
            assert ended_s - started_s < within_s
            assert local.watches == 0
        # What never got as far as a connection, its handshake being unfinished, ends by itself.
        await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})
        return result

    return asyncio.run(told())


async def until(holds: Callable[[], bool]) -> None:
    """Let others go on until something is so."""
    for _ in range(round(_MAX_S / _TICK_S)):
        if holds():
            return
        await asyncio.sleep(_TICK_S)
    raise AssertionError
