"""Asking webhooks over the network, or in this process, and giving up."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from muster.queue.clock import LoopClock, WallClock
from muster.queue.sandbox.api.https import ANSWER_BYTES_MAX, Caller, CallFailed
from muster.queue.sandbox.http.tls import Identity, make_identity
from muster.queue.sandbox.kinds.resources import Shared
from tests.queue.sandbox.api.hooks import run

IDENTITY = make_identity(WallClock().now_us())


def bundle(identity: Identity = IDENTITY) -> str:
    return base64.b64encode(identity.certificate).decode()


@asynccontextmanager
async def served(answer: web.Response | None) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """Serve one answer, None for none at all; yields the URL and the requests seen."""
    seen: list[web.Request] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, web.BaseRequest)
        await request.read()
        seen.append(request)  # type: ignore[arg-type]
        if answer is None:
            assert request.transport
            request.transport.abort()
            return web.Response()
        # A response is good for one request.
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=IDENTITY.context())
        await site.start()
        (address,) = runner.addresses
        yield f"https://127.0.0.1:{address[1]}/hook", seen
    finally:
        await runner.cleanup()


async def ask(client_config: Shared, timeout_s: int = 5) -> Mapping[str, Any]:
    caller = Caller(WallClock())
    try:
        return await caller.ask(client_config, {"a": 1}, timeout_s)
    finally:
        await caller.close()


async def failure(client_config: Shared) -> str:
    with pytest.raises(CallFailed) as failed:
        await ask(client_config)
    return str(failed.value)


def test_a_webhook_is_asked() -> None:
    async def scenario() -> None:
        async with served(web.json_response({"b": 2})) as (url, seen):
            assert await ask({"url": url, "caBundle": bundle()}) == {"b": 2}
            (request,) = seen
            assert request.method == "POST"
            assert request.path_qs == "/hook?timeout=5s"
            assert request.content_type == "application/json"
            assert await request.read() == b'{"a":1}'

    asyncio.run(scenario())


def test_connections_are_kept() -> None:
    async def scenario() -> None:
        async with served(web.json_response({})) as (url, seen):
            caller = Caller(WallClock())
            for _ in range(2):
                await caller.ask({"url": url, "caBundle": bundle()}, {}, 5)
            await caller.close()
            first, second = seen
            assert first.transport is second.transport

    asyncio.run(scenario())


REFUSALS: list[tuple[web.Response, str]] = [
    (web.Response(status=404), "the server could not find the requested resource"),
    (web.Response(status=503), "the server is currently unable to handle the request"),
    (
        web.Response(status=500, text='oh "no"'),
        r'an error on the server ("oh \"no\"") has prevented the request from succeeding',
    ),
    (
        web.json_response({}, status=500),
        'an error on the server ("unknown") has prevented the request from succeeding',
    ),
    (web.json_response({"kind": "Status", "message": "hm"}, status=500), "hm"),
    (web.Response(status=403, text="not you"), "not you"),
    (
        web.Response(status=302, headers={"Location": "/other"}),
        "the server responded with the status code 302 but did not return more information",
    ),
    (web.Response(text="hello"), "couldn't get version/kind; json parse error: "),
    (web.json_response([]), "couldn't get version/kind; json parse error: "),
    (
        web.Response(content_type="application/json"),
        "0-length response with status code: 200 and content type: application/json",
    ),
    (web.Response(body=b" " * (ANSWER_BYTES_MAX + 1)), "the answer is longer than 3145728 bytes"),
]


@pytest.mark.parametrize("answer, told", REFUSALS, ids=[told for _, told in REFUSALS])
def test_an_answer_may_be_none(answer: web.Response, told: str) -> None:
    async def scenario() -> None:
        async with served(answer) as (url, _):
            assert (await failure({"url": url, "caBundle": bundle()})).startswith(told)

    asyncio.run(scenario())


@pytest.mark.parametrize("authorities", ["", bundle(make_identity(WallClock().now_us()))])
def test_a_webhook_must_be_trusted(authorities: str) -> None:
    async def scenario() -> None:
        async with served(web.json_response({})) as (url, seen):
            assert await failure({"url": url, "caBundle": authorities}) == (
                f'Post "{url}?timeout=5s": tls: failed to verify certificate: '
                "x509: certificate signed by unknown authority"
            )
            assert seen == []

    asyncio.run(scenario())


def test_authorities_must_be_readable() -> None:
    async def scenario() -> None:
        told = await failure({"url": "https://127.0.0.1", "caBundle": "Zm9v"})
        assert told == "unable to load root certificates from caBundle"

    asyncio.run(scenario())


def test_nobody_may_be_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        told = asyncio.run(failure({"url": f"https://127.0.0.1:{port}/hook"}))

    assert told == (
        f'Post "https://127.0.0.1:{port}/hook?timeout=5s": '
        f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    )


def test_a_webhook_may_hang_up() -> None:
    async def scenario() -> None:
        async with served(None) as (url, _):
            told = await failure({"url": url, "caBundle": bundle()})
            assert told.startswith(f'Post "{url}?timeout=5s": ')

    asyncio.run(scenario())


def test_a_webhook_may_take_too_long() -> None:
    async def scenario() -> None:
        clock = LoopClock(0)

        async def slow(_: Shared) -> Mapping[str, Any]:
            await clock.sleep(3)
            return {}

        caller = Caller(clock, {"https://slow": slow})
        with pytest.raises(CallFailed) as failed:
            await caller.ask({"url": "https://slow"}, {}, 2)
        assert str(failed.value) == 'Post "https://slow?timeout=2s": context deadline exceeded'
        assert clock.now_us() == 2_000_000
        assert await caller.ask({"url": "https://slow"}, {}, 4) == {}

    run(scenario())
