"""An informer against a server that misbehaves: no change is missed, and the server is spared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import orjson
import pytest
from aiohttp import web

from muster.queue.client.http_client import HttpClient
from muster.queue.client.informer import RETRY_FIRST_S, RETRY_LONGEST_S, Informer, Key
from muster.queue.client.kinds import CONFIG_MAP
from muster.queue.client.kubeconfig import Access
from tests.queue.client.clocks import ImpatientClock
from tests.queue.client.servers import loopback

Object = dict[str, Any]


def found(name: str, version: int, uid: str = "") -> Object:
    return {"metadata": {"name": name, "resourceVersion": str(version), "uid": uid or f"u-{name}"}}


def page(*items: Object, version: int, more: str = "") -> Object:
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(items)}


def event(kind: str, item: Object) -> Object:
    return {"type": kind, "object": item}


def status(code: int) -> Object:
    return {"kind": "Status", "code": code, "message": "no", "reason": "Expired"}


GONE = event("ERROR", status(410))


class Script:
    """A server that gives one prepared answer after another, then a watch without an end."""

    def __init__(self, *answers: Object | list[Object]) -> None:
        self.asked: list[dict[str, str]] = []
        self.done = asyncio.Event()
        self._answers = iter(answers)

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.query))
        answer = next(self._answers, None)
        if isinstance(answer, dict):
            return web.Response(body=orjson.dumps(answer), status=answer.get("code", 200))
        response = web.StreamResponse()
        await response.prepare(request)
        for line in answer or ():
            await response.write(orjson.dumps(line) + b"\n")
        if answer is None:
            self.done.set()
            await asyncio.Event().wait()
        return response


class Played:
    """What an informer told and slept while a script was played."""

    def __init__(self, script: Script, informer: Informer, clock: ImpatientClock) -> None:
        self.script = script
        self.objects = informer.objects
        self.clock = clock
        self.told: list[str] = []
        informer.listen(lambda change: self.told.append(_told(change.key, change.old, change.new)))


def _told(key: Key, old: Object | None, new: Object | None) -> str:
    versions = [each["metadata"]["resourceVersion"] if each else "-" for each in (old, new)]
    return f"{key} {'>'.join(versions)}"


@asynccontextmanager
async def _playing(script: Script) -> AsyncGenerator[Played, None]:
    clock = ImpatientClock()
    async with loopback(script) as server, HttpClient(Access(server=server.url)) as client:
        informer = Informer(client, CONFIG_MAP, clock, Random(1))
        played = Played(script, informer, clock)
        running = asyncio.create_task(informer.run())
        try:
            yield played
        finally:
            running.cancel()


def play(*answers: Object | list[Object]) -> Played:
    async def main() -> Played:
        async with _playing(Script(*answers)) as played:
            await asyncio.wait_for(played.script.done.wait(), 10)
            return played

    return asyncio.run(main())


def asked_versions(played: Played) -> list[str]:
    """Return what each watch began at, "list" for each list."""
    return [each.get("resourceVersion", "list") for each in played.script.asked]


def test_lists_in_parts_then_follows() -> None:
    played = play(
        page(found("a", 1), version=9, more="next"),
        page(found("b", 2), version=9),
        [
            event("MODIFIED", found("a", 10)),
            event("DELETED", found("b", 11)),
            event("ADDED", found("c", 12)),
        ],
    )

    assert played.told == ["a ->1", "b ->2", "a 1>10", "b 11>-", "c ->12"]
    assert list(played.objects) == [Key("", "a"), Key("", "c")]
    assert [each.get("continue") for each in played.script.asked[:2]] == [None, "next"]
    assert asked_versions(played) == ["list", "list", "9", "12"]


def test_goes_on_from_a_bookmark_without_listing() -> None:
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "50"}})
    played = play(page(version=9), [bookmark])
    assert asked_versions(played) == ["list", "9", "50"]
    assert played.told == []


def test_tells_what_happened_while_it_could_not_watch() -> None:
    played = play(
        page(found("kept", 1), found("gone", 2), found("changed", 3), version=9),
        [GONE],
        page(found("kept", 1), found("changed", 20), found("new", 21), version=30),
    )

    assert played.told[3:] == ["gone 2>-", "changed 3>20", "new ->21"]
    assert asked_versions(played) == ["list", "9", "list", "30"]


def test_tells_another_object_of_the_same_name_apart() -> None:
    played = play(
        page(found("a", 1, uid="first"), version=9),
        [GONE],
        page(found("a", 20, uid="second"), version=30),
    )
    assert played.told == ["a ->1", "a 1>-", "a ->20"]


def test_an_event_seen_before_changes_nothing() -> None:
    played = play(
        page(found("a", 5), version=5),
        [event("ADDED", found("a", 5)), event("DELETED", found("b", 6))],
    )
    assert played.told == ["a ->5"]


def test_a_list_that_expires_between_its_parts_is_read_in_one() -> None:
    played = play(
        page(found("a", 1), version=9, more="next"),
        status(410),
        page(found("b", 2), version=12),
    )
    assert played.told == ["b ->2"]
    assert [each.get("limit") for each in played.script.asked] == ["500", "500", None, None]


@pytest.mark.parametrize(
    "answer", [status(500), status(403), [], [GONE]], ids=["500", "403", "ends at once", "gone"]
)
def test_waits_longer_each_time_and_then_goes_on(answer: Object | list[Object]) -> None:
    lists_again = answer == [GONE]
    failures = [
        each for _ in range(8) for each in ([answer, page(version=9)] if lists_again else [answer])
    ]
    played = play(page(version=9), *failures)

    slept = played.clock.slept_s
    dues = [min(RETRY_LONGEST_S, RETRY_FIRST_S * 2**power) for power in range(8)]
    assert len(slept) == 8
    assert all(due / 2 <= each <= due for each, due in zip(slept, dues, strict=True))
    assert len({round(each / due, 3) for each, due in zip(slept, dues, strict=True)}) > 1


def test_forgets_failures_once_it_hears_something() -> None:
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "50"}})
    played = play(page(version=9), status(500), status(500), [bookmark], status(500))
    assert len(played.clock.slept_s) == 3
    assert played.clock.slept_s[2] <= RETRY_FIRST_S


def test_synced_is_set_once_all_parts_are_there() -> None:
    async def main() -> None:
        script = Script(status(500), page(found("a", 1), version=9))
        async with loopback(script) as server, HttpClient(Access(server=server.url)) as client:
            informer = Informer(client, CONFIG_MAP, ImpatientClock(), Random(1))
            assert not informer.synced.is_set()
            running = asyncio.create_task(informer.run())
            await asyncio.wait_for(informer.synced.wait(), 10)
            assert list(informer.objects) == [Key("", "a")]
            running.cancel()

    asyncio.run(main())
