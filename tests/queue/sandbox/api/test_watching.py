"""What a watcher is told: selections, bookmarks, where it may begin, and how it ends."""

import asyncio
from typing import Any

import pytest

from muster.queue.client.kinds import CONFIG_MAP, NAMESPACE
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.api import watching
from muster.queue.sandbox.api.watching import Watch, WatchOptions
from tests.queue.sandbox.api.servers import NS, Served, run

OPEN = "metadata.name!=hidden"


def begin(served: Served, namespace: str = NS, **options: Any) -> Watch:
    if "initial_events" in options:
        options["match"] = "NotOlderThan"
    elif "resource_version" not in options:
        options["resource_version"] = str(served.server.store.revision)
    resource = served.server.catalogue.of(CONFIG_MAP)
    return served.server.watch(resource, namespace, WatchOptions(**options))


def told(watch: Watch) -> list[tuple[str, str]]:
    """Return what is new, as types and names."""
    return [(event.type, event.stored.value["metadata"].get("name", "")) for event in watch.take()]


def label(value: str | None) -> dict[str, Any]:
    return {"metadata": {"labels": {"show": value}}}


def test_a_selection_makes_objects_come_and_go() -> None:
    async def story(served: Served) -> None:
        await served.create("old", **label("yes"))
        watch = begin(served, labels="show=yes")

        await served.create("x", **label("no"))
        assert told(watch) == []
        shown = await served.patch("x", label("yes"))
        assert told(watch) == [("ADDED", "x")]
        await served.patch("x", {"data": {"a": "1"}})
        assert told(watch) == [("MODIFIED", "x")]
        hidden = await served.patch("x", label("no") | {"data": {"a": "2"}})
        (gone,) = watch.take()
        # As it was when it was last seen, at the revision at which it left.
        assert (gone.type, gone.stored.value["data"]) == ("DELETED", {"a": "1"})
        revision = gone.stored.value["metadata"]["resourceVersion"]
        assert revision == hidden["metadata"]["resourceVersion"]
        assert revision > shown["metadata"]["resourceVersion"]
        await served.delete("x")
        assert told(watch) == []
        await served.delete("old")
        assert told(watch) == [("DELETED", "old")]

    run(story)


def test_a_watch_is_about_one_namespace_or_all() -> None:
    async def story(served: Served) -> None:
        one, all_of_them = begin(served), begin(served, "")
        elsewhere = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y"}}

        await served.create("x")
        await served.client.create(CONFIG_MAP, elsewhere, "default")

        assert told(one) == [("ADDED", "x")]
        assert told(all_of_them) == [("ADDED", "x"), ("ADDED", "y")]

    run(story)


def test_a_watch_goes_on_where_a_list_ended() -> None:
    async def story(served: Served) -> None:
        await served.create("before")
        page = await served.client.list(CONFIG_MAP)
        await served.create("x")
        await served.patch("x", {"data": {"a": "1"}})
        await served.delete("before")

        watch = begin(served, resource_version=page.resource_version)
        await served.delete("x")

        assert told(watch) == [
            ("ADDED", "x"),
            ("MODIFIED", "x"),
            ("DELETED", "before"),
            ("DELETED", "x"),
        ]

    run(story)


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_from_anywhere_begins_with_what_there_is(version: str) -> None:
    async def story(served: Served) -> None:
        for name in ("b", "a", "hidden"):
            await served.create(name)

        watch = begin(served, resource_version=version, fields=OPEN)
        await served.create("c")

        assert told(watch) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]

    run(story)


def test_initial_events_end_with_a_bookmark() -> None:
    async def story(served: Served) -> None:
        await served.create("x")

        watch = begin(served, initial_events=True, bookmarks=True)
        await served.create("y")

        first, bookmark, second = watch.take()
        assert (first.type, bookmark.type, second.type) == ("ADDED", "BOOKMARK", "ADDED")
        assert bookmark.stored.value["metadata"] == {
            "resourceVersion": first.stored.value["metadata"]["resourceVersion"],
            "annotations": {"k8s.io/initial-events-end": "true"},
        }

    run(story)


def test_no_initial_events_are_none() -> None:
    async def story(served: Served) -> None:
        await served.create("x")

        watch = begin(served, initial_events=False)
        await served.create("y")

        assert told(watch) == [("ADDED", "y")]

    run(story)


def test_bookmarks_come_every_minute_to_who_wants_them() -> None:
    async def story(served: Served) -> None:
        wants, wants_not = begin(served, bookmarks=True), begin(served)
        await served.client.create(
            NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        )

        await asyncio.sleep(150)

        assert wants_not.take() == []
        bookmarks = wants.take()
        assert [event.type for event in bookmarks] == ["BOOKMARK", "BOOKMARK"]
        assert bookmarks[0].stored.value == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(served.server.store.revision)},
        }

    run(story)


@pytest.mark.parametrize(
    "version, code, reason",
    [("1", 410, "Expired"), ("new", 400, "BadRequest"), ("-5", 400, "BadRequest")],
)
def test_some_revisions_are_no_beginning(version: str, code: int, reason: str) -> None:
    async def story(served: Served) -> Refusal:
        with pytest.raises(Refusal) as refusal:
            begin(served, resource_version=version)
        assert not served.server.watches._open
        return refusal.value

    refusal = run(story)

    assert (refusal.code, refusal.reason) == (code, reason)


def test_a_reader_that_falls_behind_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BEHIND_MAX", 3)

    async def story(served: Served) -> None:
        slow, quick = begin(served), begin(served)
        cut: list[str] = []
        slow.when_cut_off = lambda: cut.append("slow")
        seen = []
        for number in range(5):
            await served.create(f"x-{number}")
            seen += told(quick)

        assert (slow.closed, quick.closed, cut) == (True, False, ["slow"])
        # What it is told has no gaps: only the end is missing.
        assert told(slow) == seen[:3]
        assert len(seen) == 5

    run(story)


def test_a_bookmark_may_be_the_last_straw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BEHIND_MAX", 1)

    async def story(served: Served) -> None:
        slow, quick = begin(served, bookmarks=True), begin(served, bookmarks=True)
        await served.create("x")
        quick.take()

        await asyncio.sleep(61)

        assert (slow.closed, quick.closed) == (True, False)

    run(story)


@pytest.mark.parametrize("end", ["stop", "end_of", "end_all"])
def test_a_watch_that_ended_wakes_its_reader_and_is_told_nothing(end: str) -> None:
    async def story(served: Served) -> None:
        watch, watches = begin(served), served.server.watches
        waiting = asyncio.create_task(watch.wait())
        await asyncio.sleep(0)
        assert not waiting.done()

        match end:
            case "stop":
                watches.stop(watch)
            case "end_of":
                watches.end_of(watch.resource)
            case _:
                watches.end_all()
        await asyncio.wait_for(waiting, 1)
        await served.create("x")

        assert watch.closed
        assert watch.take() == []
        assert watch not in watches._open

    run(story)
