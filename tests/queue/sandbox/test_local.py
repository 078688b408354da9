"""The client in the same process: what it is handed, what it hands over, and its watches."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from muster.queue.client.kinds import CONFIG_MAP, NAMESPACE, POD
from muster.queue.client.protocol import Selection, WatchEvent
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.api import watching
from muster.queue.sandbox.kinds.resources import Object
from tests.queue.sandbox.api.servers import NS, Served, config_map, refused, run


def names(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"].get("name", "")) for event in events]


async def watch(served: Served, since: str, count: int) -> list[WatchEvent]:
    """Return the first events of a watch."""
    selection = Selection(namespace=NS)
    events: list[WatchEvent] = []
    async with aclosing(
        served.client.watch(CONFIG_MAP, selection, resource_version=since)
    ) as stream:
        async for event in stream:
            events.append(event)
            if len(events) == count:
                break
    return events


def test_what_is_handed_over_stays_the_callers() -> None:
    async def story(served: Served) -> None:
        manifest = config_map("x", data={"a": "1"}, metadata={"namespace": NS})
        before = config_map("x", data={"a": "1"}, metadata={"namespace": NS})

        await served.client.create(CONFIG_MAP, manifest, NS)
        assert manifest == before
        await served.client.replace(CONFIG_MAP, manifest)
        assert manifest == before
        await served.client.apply(CONFIG_MAP, manifest, manager="other", force=True)
        assert manifest == before
        manifest["data"]["a"] = "2"
        assert (await served.get("x"))["data"] == {"a": "1"}

    run(story)


def test_what_a_client_writes_is_under_its_name() -> None:
    async def story(served: Served) -> None:
        await served.client_of("one").create(CONFIG_MAP, config_map("x", data={"a": "1"}), NS)
        manifest = config_map("x", data={"b": "2"}, metadata={"namespace": NS})
        await served.client_of("two").apply(CONFIG_MAP, manifest, manager="three", force=False)

        stored = await served.get("x")

        owners = [
            (each["manager"], each["operation"]) for each in stored["metadata"]["managedFields"]
        ]
        assert sorted(owners) == [("one", "Update"), ("three", "Apply")]

    run(story)


def test_a_list_comes_in_chunks_of_one_state() -> None:
    async def story(served: Served) -> None:
        for name in ("a", "b", "c", "d", "e"):
            await served.create(name)
        selection = Selection(namespace=NS)
        first = await served.client.list(CONFIG_MAP, selection, limit=2)
        await served.delete("d")
        await served.create("bb")
        listed, page = [*first.items], first
        while page.continued:
            page = await served.client.list(
                CONFIG_MAP, selection, limit=2, continued=page.continued
            )
            listed += page.items
            assert page.resource_version == first.resource_version

        assert [each["metadata"]["name"] for each in listed] == ["a", "b", "c", "d", "e"]

    run(story)


def test_refusals_are_those_of_the_server() -> None:
    async def story(served: Served) -> None:
        missing = await refused(served.get("x"))
        assert (missing.code, missing.message) == (404, 'configmaps "x" not found')
        unknown = await refused(served.client.get(CONFIG_MAP._replace(plural="tables"), "x", NS))
        assert unknown.code == 404
        binding: Object = {"target": {"kind": "Node", "name": "x"}}
        unbound = await refused(
            served.client.create(POD, binding, NS, name="missing", subresource="binding")
        )
        assert unbound.code == 404

    run(story)


def test_a_watch_tells_what_is_new() -> None:
    async def story(served: Served) -> list[WatchEvent]:
        since = (await served.client.list(CONFIG_MAP)).resource_version
        watching_it = asyncio.create_task(watch(served, since, 3))
        await served.create("x")
        await served.patch("x", {"data": {"a": "1"}})
        await served.delete("x")
        return await watching_it

    assert names(run(story)) == [("ADDED", "x"), ("MODIFIED", "x"), ("DELETED", "x")]


def test_who_leaves_a_watch_is_forgotten() -> None:
    async def story(served: Served) -> None:
        since = (await served.client.list(CONFIG_MAP)).resource_version
        await served.create("x")
        await watch(served, since, 1)
        assert not served.server.watches._open

        waiting = asyncio.create_task(watch(served, since, 2))
        await asyncio.sleep(1)
        assert len(served.server.watches._open) == 1
        waiting.cancel()
        await asyncio.wait({waiting})
        assert not served.server.watches._open

    run(story)


def test_a_watch_brings_bookmarks() -> None:
    async def story(served: Served) -> list[WatchEvent]:
        since = (await served.client.list(CONFIG_MAP)).resource_version
        return await watch(served, since, 2)

    assert names(run(story)) == [("BOOKMARK", ""), ("BOOKMARK", "")]


def test_a_watch_from_too_long_ago_is_refused() -> None:
    async def story(served: Served) -> Refusal:
        return await refused(watch(served, "1", 1))

    assert run(story).code == 410


def test_the_watch_of_a_slow_reader_ends_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BEHIND_MAX", 3)

    async def story(served: Served) -> list[tuple[str, str]]:
        since = (await served.client.list(CONFIG_MAP)).resource_version
        events: list[WatchEvent] = []
        stream: Any = served.client.watch(
            CONFIG_MAP, Selection(namespace=NS), resource_version=since
        )
        async with aclosing(stream):
            await served.create("first")
            events.append(await anext(stream))
            for number in range(10):
                await served.create(f"x-{number}")
            events += [event async for event in stream]
        return names(events)

    told = run(story)

    assert (
        told
        == [("ADDED", "first"), *(("ADDED", f"x-{number}") for number in range(10))][: len(told)]
    )
    assert len(told) <= 4


# -- deletion ------------------------------------------------------------------------------------


def test_finalizers_hold_an_object_until_the_last_is_gone() -> None:
    async def story(served: Served) -> None:
        finalizers = ["example.com/one", "example.com/two"]
        await served.create("x", metadata={"finalizers": finalizers})
        since = (await served.client.list(CONFIG_MAP)).resource_version

        marked = await served.delete("x")
        assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
        await asyncio.sleep(10)
        assert (await served.delete("x"))["metadata"] == marked["metadata"]
        added = await refused(
            served.patch("x", {"metadata": {"finalizers": [*finalizers, "example.com/new"]}})
        )
        assert added.code == 422
        await served.patch("x", {"metadata": {"finalizers": finalizers[:1]}})
        assert (await served.get("x"))["metadata"]["finalizers"] == finalizers[:1]
        await served.patch("x", {"metadata": {"finalizers": None}})

        assert (await refused(served.get("x"))).code == 404
        told = await watch(served, since, 3)
        assert names(told) == [("MODIFIED", "x"), ("MODIFIED", "x"), ("DELETED", "x")]

    run(story)


def pod(name: str, **spec: Any) -> Object:
    containers = [{"name": "main", "image": "work"}]
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
    return manifest | {"spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    "spec, asked, grace_s, goes_at",
    [
        ({}, {}, 30, "2026-01-01T00:00:30Z"),
        ({"terminationGracePeriodSeconds": 5}, {}, 5, "2026-01-01T00:00:05Z"),
        ({}, {"gracePeriodSeconds": 60}, 60, "2026-01-01T00:01:00Z"),
    ],
)
def test_a_pod_on_a_node_has_its_grace(
    spec: Object, asked: Object, grace_s: int, goes_at: str
) -> None:
    async def story(served: Served) -> None:
        client = served.client
        await client.create(POD, pod("x", nodeName="node", **spec), NS)

        marked = await client.delete(POD, "x", NS, options=asked)
        assert marked["metadata"]["deletionGracePeriodSeconds"] == grace_s
        assert marked["metadata"]["deletionTimestamp"] == goes_at
        longer = await client.delete(POD, "x", NS, options={"gracePeriodSeconds": 100})
        assert longer["metadata"]["deletionGracePeriodSeconds"] == grace_s
        shorter = await client.delete(POD, "x", NS, options={"gracePeriodSeconds": 1})
        assert shorter["metadata"]["deletionGracePeriodSeconds"] == 1
        await client.delete(POD, "x", NS, options={"gracePeriodSeconds": 0})
        assert (await refused(client.get(POD, "x", NS))).code == 404

    run(story)


def test_a_pod_on_no_node_goes_at_once() -> None:
    async def story(served: Served) -> None:
        await served.client.create(POD, pod("x"), NS)
        await served.client.delete(POD, "x", NS)
        assert (await refused(served.client.get(POD, "x", NS))).code == 404

    run(story)


def test_a_namespace_that_ends_takes_nothing_new() -> None:
    async def story(served: Served) -> None:
        await served.create("x")
        ending = await served.client.delete(NAMESPACE, NS)
        assert ending["status"]["phase"] == "Terminating"

        refusal = await refused(served.create("y"))
        assert (refusal.code, refusal.causes[0]["reason"]) == (403, "NamespaceTerminating")
        assert (await served.patch("x", {"data": {"a": "1"}}))["data"] == {"a": "1"}
        await served.delete("x")

    run(story)
