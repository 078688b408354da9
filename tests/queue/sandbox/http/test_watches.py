"""Watches over HTTP: how they end, who is cut off, and that no event is lost."""

import asyncio
import time
from typing import Any

import pytest

from muster.queue.client.kinds import CONFIG_MAP, CRD, Kind
from muster.queue.sandbox.api import watching
from tests.queue.sandbox.http.connections import CONFIG_MAPS, WATCH, Local, run, until
from tests.queue.sandbox.kinds.definitions import a_definition, another_version

WIDGET = Kind("example.com", "v1", "Widget", "widgets", namespaced=True)


async def watching_since_now(local: Local) -> str:
    page = await local.client.list(CONFIG_MAP)
    return f"{WATCH}&resourceVersion={page.resource_version}"


def test_the_end_of_the_server_is_the_end_of_its_watches_and_quick() -> None:
    async def story(local: Local) -> None:
        path = await watching_since_now(local)
        for _ in range(30):
            connection = await local.leftover.enter_async_context(local.connected())
            await connection.watch(path)
        await local.create("x")

    run(story, within_s=1)


def test_watchers_see_a_proper_end() -> None:
    async def story(local: Local) -> list[dict[str, Any]]:
        async with local.connected() as connection:
            await connection.watch(await watching_since_now(local))
            await local.create("x")
            local.server.watches.end_all()
            return await connection.events()

    assert [event["type"] for event in run(story)] == ["ADDED"]


def test_a_watcher_that_goes_is_forgotten() -> None:
    async def story(local: Local) -> None:
        async with local.connected() as stays:
            await stays.watch()
            for _ in range(5):
                async with local.connected() as goes:
                    await goes.watch()
                    assert local.watches == 2
                await until(lambda: local.watches == 1)
            await local.create("x")
            local.server.watches.end_all()
            assert [event["type"] for event in await stays.events()] == ["ADDED"]

    run(story)


def test_a_watch_lasts_as_long_as_it_was_asked_to() -> None:
    async def story(local: Local) -> float:
        async with local.connected() as connection:
            started_s = time.monotonic()
            await connection.watch(f"{await watching_since_now(local)}&timeoutSeconds=1")
            assert await connection.events() == []
            assert local.watches == 0
            # The connection is good for the next request.
            assert (await connection.ask("GET", CONFIG_MAPS)).code == 200
            return time.monotonic() - started_s

    assert 1 <= run(story) < 5


def test_no_event_is_lost_at_the_end() -> None:
    """The last bookmark says from where to go on: all that was before must have been told."""

    async def story(local: Local) -> None:
        async with local.connected() as connection:
            path = await watching_since_now(local)
            await connection.watch(f"{path}&timeoutSeconds=1&allowWatchBookmarks=true")
            written: list[int] = []

            async def write() -> None:
                while True:
                    made = await local.create(f"x-{len(written)}")
                    written.append(int(made["metadata"]["resourceVersion"]))
                    await asyncio.sleep(0)

            writing = asyncio.create_task(write())
            events = await connection.events()
            writing.cancel()
            await asyncio.wait({writing})

            *told, last = (int(each["object"]["metadata"]["resourceVersion"]) for each in events)
            assert [each["type"] for each in events[-2:]] == ["ADDED", "BOOKMARK"]
            assert told == [each for each in written if each <= last]
            assert len(told) > 10

    run(story)


def test_a_slow_reader_is_cut_off_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BEHIND_MAX", 50)

    async def story(local: Local) -> None:
        path = await watching_since_now(local)
        async with local.connected(limit=2**16) as slow, local.connected() as quick:
            await slow.watch(path)
            await quick.watch(path)
            told = 0
            while local.watches == 2:
                await local.create(f"x-{told}", data="x" * 500_000)
                told += 1
                event = await quick.chunk()
                assert b"ADDED" in event[:20]
                assert told < 1000, "nobody is cut off"
            assert await slow.is_cut()
            assert told > 50

    run(story)


def test_a_slow_reader_does_not_hold_up_the_end() -> None:
    async def story(local: Local) -> None:
        path = await watching_since_now(local)
        slow = await local.leftover.enter_async_context(local.connected(limit=2**16))
        await slow.watch(path)
        for number in range(30):
            await local.create(f"x-{number}", data="x" * 900_000)
            await asyncio.sleep(0)

    run(story, within_s=2)


def test_what_can_not_be_converted_ends_a_watch_in_words() -> None:
    conversion = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"url": "https://127.0.0.1:1/convert"},
            "conversionReviewVersions": ["v1"],
        },
    }
    definition = a_definition(
        {"spec.versions[1]": another_version(), "spec.conversion": conversion}
    )
    del definition["status"]

    async def story(local: Local) -> list[dict[str, Any]]:
        await local.client.create(CRD, definition)
        catalogue = local.server.catalogue
        await until(lambda: bool(catalogue.find("example.com", "v2", "widgets")))
        async with local.connected() as connection:
            await connection.watch("/apis/example.com/v2/widgets?watch=true")
            widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}}
            await local.client.create(WIDGET, widget, "default")
            return await connection.events()

    events = run(story)

    assert [event["type"] for event in events] == ["ERROR"]
    assert events[0]["object"]["code"] == 500
    assert "conversion webhook" in events[0]["object"]["message"]
