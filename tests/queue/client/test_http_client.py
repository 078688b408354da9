"""What the HTTP client makes of answers, of bad ones above all."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import orjson
import pytest
from aiohttp import web

from muster.queue.client.http_client import HttpClient
from muster.queue.client.kinds import CONFIG_MAP, NODE, POD, Kind
from muster.queue.client.kubeconfig import Access
from muster.queue.client.protocol import Disconnected, Selection, WatchEvent
from muster.queue.client.refusal import Refusal, Subject, not_found
from tests.queue.client.servers import Answer, Loopback, loopback

TOKEN = "t0ken"  # noqa: S105 - opens nothing

Use = Callable[[HttpClient, Loopback], Awaitable[None]]


def play(answer: Answer, use: Use) -> None:
    async def main() -> None:
        async with (
            loopback(answer) as server,
            HttpClient(Access(server=server.url, token=TOKEN)) as client,
        ):
            await use(client, server)

    asyncio.run(main())


def says(body: bytes, status: int = 200) -> Answer:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, status=status)

    return answer


def streams(*parts: bytes, breaks_off: bool = False) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in parts:
            await response.write(part)
            await asyncio.sleep(0)
        if breaks_off:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


def event(kind: str, version: int, name: str = "a", **more: object) -> bytes:
    metadata = {"name": name, "resourceVersion": str(version)}
    return orjson.dumps({"type": kind, "object": {"metadata": metadata, **more}}) + b"\n"


# --- Requests ------------------------------------------------------------------------------------


async def _echo(request: web.Request) -> web.Response:
    body = await request.read()
    told = {
        "asked": f"{request.method} {request.raw_path}",
        "type": request.headers.get("Content-Type") if body else None,
        "body": orjson.loads(body) if body else None,
        "token": request.headers.get("Authorization"),
    }
    return web.Response(body=orjson.dumps(told))


REQUESTS: list[tuple[str, Callable[[HttpClient], Awaitable[object]], str, str | None]] = [
    ("get", lambda c: c.get(POD, "a", "x"), "GET /api/v1/namespaces/x/pods/a", None),
    (
        "names are quoted",
        lambda c: c.get(NODE, "../pods?"),
        "GET /api/v1/nodes/..%2Fpods%3F",
        None,
    ),
    (
        "create a subresource",
        lambda c: c.create(POD, {"a": 1}, "x", name="p", subresource="binding"),
        "POST /api/v1/namespaces/x/pods/p/binding",
        "application/json",
    ),
    (
        "replace",
        lambda c: c.replace(POD, {"metadata": {"name": "p", "namespace": "x"}}),
        "PUT /api/v1/namespaces/x/pods/p",
        "application/json",
    ),
    (
        "merge patch",
        lambda c: c.merge_patch(NODE, "n", {"a": None}, subresource="status"),
        "PATCH /api/v1/nodes/n/status",
        "application/merge-patch+json",
    ),
    (
        "apply",
        lambda c: c.apply(NODE, {"metadata": {"name": "n"}}, manager="m", force=True),
        "PATCH /api/v1/nodes/n?fieldManager=m&force=true",
        "application/apply-patch+yaml",
    ),
    (
        "delete",
        lambda c: c.delete(POD, "p", "x", options={"gracePeriodSeconds": 0}),
        "DELETE /api/v1/namespaces/x/pods/p",
        "application/json",
    ),
]


@pytest.mark.parametrize("ask, asked, content_type", [each[1:] for each in REQUESTS])
def test_requests(
    ask: Callable[[HttpClient], Awaitable[dict[str, object]]], asked: str, content_type: str | None
) -> None:
    async def use(client: HttpClient, _: Loopback) -> None:
        told = await ask(client)
        assert told["asked"] == asked
        assert told["type"] == content_type
        assert told["token"] == f"Bearer {TOKEN}"

    play(_echo, use)


def test_a_page_names_the_kind_of_its_items() -> None:
    body = orjson.dumps(
        {
            "metadata": {"resourceVersion": "7", "continue": "more"},
            "items": [{"metadata": {"name": "a"}}],
        }
    )

    async def use(client: HttpClient, server: Loopback) -> None:
        selection = Selection(namespace="x", labels="a=b,c", fields="d!=")
        page = await client.list(POD, selection, limit=5, continued="t/+")
        assert page.items == [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]
        assert (page.resource_version, page.continued) == ("7", "more")
        query = "labelSelector=a%3Db%2Cc&fieldSelector=d%21%3D&limit=5&continue=t%2F%2B"
        assert server.requests == [f"GET /api/v1/namespaces/x/pods?{query}"]

    play(says(body), use)


def test_a_list_of_nothing_may_be_null() -> None:
    async def use(client: HttpClient, _: Loopback) -> None:
        assert (await client.list(POD)).items == []

    play(says(b'{"metadata": {"resourceVersion": "1"}, "items": null}'), use)


# --- Refusals and worse --------------------------------------------------------------------------


def test_a_status_becomes_the_same_refusal() -> None:
    refused = not_found(Subject("", "pods", "a"))

    async def use(client: HttpClient, _: Loopback) -> None:
        with pytest.raises(Refusal) as caught:
            await client.get(POD, "a", "x")
        assert caught.value.status() == refused.status()

    play(says(orjson.dumps(refused.status()), 404), use)


@pytest.mark.parametrize(
    "status, body", [(502, b"<html>bad gateway</html>"), (302, b""), (500, b"[1]")]
)
def test_whatever_a_proxy_says_is_a_refusal_with_its_code(status: int, body: bytes) -> None:
    async def use(client: HttpClient, _: Loopback) -> None:
        with pytest.raises(Refusal) as caught:
            await client.get(POD, "a", "x")
        assert caught.value.code == status
        assert body.decode() in caught.value.message

    play(says(body, status), use)


@pytest.mark.parametrize("body", [b"<html>log in</html>", b"", b"[]", b'{"a": '])
def test_a_server_that_speaks_something_else_has_not_answered(body: bytes) -> None:
    async def use(client: HttpClient, server: Loopback) -> None:
        with pytest.raises(Disconnected, match="does not answer as an API server does") as caught:
            await client.get(POD, "a", "x")
        assert server.url in str(caught.value)

    play(says(body), use)


def test_nobody_listens() -> None:
    async def main() -> None:
        async with loopback(says(b"{}")) as server:
            url = server.url
        async with HttpClient(Access(server=url)) as client:
            with pytest.raises(Disconnected, match=f"{url} did not answer"):
                await client.get(POD, "a", "x")

    asyncio.run(main())


def test_a_write_that_breaks_off_is_not_repeated() -> None:
    async def use(client: HttpClient, server: Loopback) -> None:
        with pytest.raises(Disconnected):
            await client.create(CONFIG_MAP, {}, "x")
        assert server.requests == ["POST /api/v1/namespaces/x/configmaps"]

    play(streams(b"{", breaks_off=True), use)


# --- Watches -------------------------------------------------------------------------------------


async def _watch(client: HttpClient, kind: Kind = POD) -> list[WatchEvent]:
    return [each async for each in client.watch(kind, resource_version="5")]


def test_events_come_whole_however_they_are_cut() -> None:
    text = event("ADDED", 6) + event("MODIFIED", 7, data="x" * 300_000) + event("BOOKMARK", 9)
    parts = [text[at : at + 50_001] for at in range(0, len(text), 50_001)]

    async def use(client: HttpClient, server: Loopback) -> None:
        events = await _watch(client)
        assert [each.type for each in events] == ["ADDED", "MODIFIED", "BOOKMARK"]
        assert len(events[1].object["data"]) == 300_000
        assert server.requests == [
            "GET /api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=5"
        ]

    play(streams(*parts), use)


def test_an_error_of_the_stream_is_a_refusal() -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    lines = event("ADDED", 6) + orjson.dumps({"type": "ERROR", "object": gone}) + b"\n"

    async def use(client: HttpClient, _: Loopback) -> None:
        watch = client.watch(POD, resource_version="5")
        assert (await anext(watch)).type == "ADDED"
        with pytest.raises(Refusal) as caught:
            await anext(watch)
        assert (caught.value.code, caught.value.message) == (410, "too old")

    play(streams(lines), use)


def test_a_watch_may_be_refused_at_once() -> None:
    async def use(client: HttpClient, _: Loopback) -> None:
        with pytest.raises(Refusal) as caught:
            await _watch(client)
        assert caught.value.code == 403

    play(says(b"{}", 403), use)


@pytest.mark.parametrize("last", [b'{"type": "ADDED", "obj', b"nonsense\n", b'{"type": "ADDED"}\n'])
def test_a_stream_that_breaks_or_babbles_is_a_disconnect(last: bytes) -> None:
    async def use(client: HttpClient, _: Loopback) -> None:
        watch = client.watch(POD, resource_version="5")
        assert (await anext(watch)).type == "ADDED"
        with pytest.raises(Disconnected):
            await anext(watch)

    play(streams(event("ADDED", 6), last, breaks_off=not last.endswith(b"\n")), use)


def test_leaving_a_watch_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(event("ADDED", 6))
        try:
            while True:
                await response.write(b"\n")
                await asyncio.sleep(0.01)
        finally:  # the server ends a request that nobody waits for
            closed.set()

    async def use(client: HttpClient, _: Loopback) -> None:
        async with aclosing(client.watch(POD, resource_version="5")) as watch:
            assert (await anext(watch)).type == "ADDED"
        await asyncio.wait_for(closed.wait(), 10)

    play(answer, use)
