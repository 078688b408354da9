"""Watches without HTTP: what their readers are told, and when they end."""

from contextlib import aclosing

from muster.queue.client.kinds import CONFIG_MAP
from tests.queue.sandbox.api.servers import Served, run


def test_what_happened_before_the_end_of_a_watch_is_told_to_who_was_busy() -> None:
    async def story(served: Served) -> list[str]:
        start = str(served.server.store.revision)
        await served.create("a")
        async with aclosing(served.client.watch(CONFIG_MAP, resource_version=start)) as watch:
            first = await anext(watch)
            await served.create("b")
            served.server.watches.end_all()
            events = [first, *[event async for event in watch]]
        return [event.object["metadata"]["name"] for event in events]

    assert run(story) == ["a", "b"]
