"""Revisions, what was, what is too long ago, and who is told."""

from collections.abc import Callable

import orjson
import pytest

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.store.memory import FIRST_REVISION, Change, Outdated, Store
from tests.queue.sandbox.store.objects import OTHERS, THINGS, drop, key, put, thing


def names(store: Store, namespace: str = "", after: tuple[str, str] | None = None) -> list[str]:
    return [each.value["metadata"]["name"] for each in store.select(THINGS, namespace, after)]


def test_revisions_count_the_writes_of_the_whole_store() -> None:
    store = Store()

    revisions = [
        put(store, "a"),
        store.put(key("a", resource=OTHERS), thing("a"), None).revision,
        put(store, "a", "changed"),
        drop(store, "a"),
    ]

    assert revisions == [FIRST_REVISION + each for each in (1, 2, 3, 4)]
    assert store.revision == revisions[-1]


def test_an_object_says_its_revision_and_its_bytes_are_what_it_says() -> None:
    store = Store()

    stored = store.put(key("a"), thing("a"), None)

    assert stored.value["metadata"]["resourceVersion"] == str(stored.revision)
    assert orjson.loads(stored.encoded) == stored.value


def test_a_private_copy_is_nobody_elses() -> None:
    store = Store()
    put(store, "a", "kept")
    stored = store.get(key("a"))
    assert stored is not None

    stored.private()["metadata"]["name"] = "changed"

    assert stored.value["metadata"]["name"] == "a"


def test_a_writer_that_saw_another_state_is_told() -> None:
    store = Store()
    first = store.put(key("a"), thing("a"), None)
    second = store.put(key("a"), thing("a", "changed"), first)

    for name, seen in (("a", first), ("a", None), ("b", first)):
        with pytest.raises(Outdated):
            store.put(key(name), thing(name), seen)
    for name in ("a", "b"):
        with pytest.raises(Outdated):
            store.delete(key(name), first)

    assert store.get(key("a")) is second
    assert store.revision == second.revision
    assert len(store.changes(THINGS, FIRST_REVISION)) == 2


def test_the_last_state_is_at_the_revision_of_the_deletion() -> None:
    store = Store()
    first = store.put(key("a"), thing("a", "kept"), None)

    gone = store.delete(key("a"), first)

    assert gone.value == first.value | {
        "metadata": first.value["metadata"] | {"resourceVersion": str(first.revision + 1)}
    }
    assert store.get(key("a")) is None


def test_the_last_state_may_be_given() -> None:
    store = Store()
    first = store.put(key("a"), thing("a"), None)

    gone = store.delete(key("a"), first, thing("a", "last words"))

    assert gone.value["data"] == "last words"
    assert store.changes(THINGS, first.revision) == [Change(key("a"), first, gone, gone=True)]


def test_objects_are_listed_in_the_order_of_namespace_and_name_as_text() -> None:
    store = Store()
    for namespace, name in (("b", "a"), ("a", "b"), ("a-b", "a"), ("a", "a"), ("", "z")):
        put(store, name, namespace=namespace)

    places = [
        (each.value["metadata"]["namespace"], each.value["metadata"]["name"])
        for each in store.select(THINGS)
    ]

    # "-" comes before "/", so the namespace a-b comes before the namespace a.
    assert places == [("", "z"), ("a-b", "a"), ("a", "a"), ("a", "b"), ("b", "a")]


def test_a_namespace_is_not_one_that_begins_alike() -> None:
    store = Store()
    for namespace in ("a", "a-b", "ab"):
        put(store, f"in-{namespace}", namespace=namespace)

    assert names(store, "a") == ["in-a"]
    assert names(store, "missing") == []


@pytest.mark.parametrize(
    "after, left",
    [
        (("ns", "b"), ["c"]),
        (("ns", "bb"), ["c"]),  # the place itself may be gone
        (("ns", "c"), []),
        (("a", "z"), ["a", "b", "c"]),
        (("z", "a"), []),
    ],
)
def test_a_list_goes_on_after_a_place(after: tuple[str, str], left: list[str]) -> None:
    store = Store()
    for name in ("c", "a", "b"):
        put(store, name)

    assert names(store, "ns", after) == left
    assert names(store, "", after) == left


def test_an_earlier_list_is_as_it_was() -> None:
    store = Store()
    put(store, "kept")
    put(store, "changed", "before")
    then = put(store, "gone")
    put(store, "changed", "after")
    drop(store, "gone")
    put(store, "new")

    was = {
        each.value["metadata"]["name"]: each.value["data"] for each in store.select_at(THINGS, then)
    }

    assert was == {"kept": "", "changed": "before", "gone": ""}


@pytest.mark.parametrize(
    "ask",
    [lambda store, at: [*store.select_at(THINGS, at)], lambda store, at: store.changes(THINGS, at)],
)
def test_what_is_compacted_is_gone(ask: Callable[[Store, int], list[object]]) -> None:
    store = Store(history_max=3)
    for number in range(5):
        put(store, "a", str(number))

    assert len(ask(store, store.revision - 3))
    with pytest.raises(Refusal) as refused:
        ask(store, store.revision - 4)

    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_the_writes_of_one_resource_do_not_compact_another() -> None:
    store = Store(history_max=3)
    before = put(store, "a")
    for number in range(10):
        place = key("a", resource=OTHERS)
        store.put(place, thing("a", str(number)), store.get(place))

    assert store.changes(THINGS, before) == []
    with pytest.raises(Refusal):
        store.changes(OTHERS, before)


def test_there_is_no_time_before_the_first_revision() -> None:
    store = Store()

    with pytest.raises(Refusal):
        store.changes(THINGS, FIRST_REVISION - 1)
    assert store.changes(THINGS, FIRST_REVISION) == []


def test_what_is_no_longer_served_has_no_history() -> None:
    store = Store()
    before = put(store, "a")

    put(store, "a", "changed")
    store.forget(THINGS)

    with pytest.raises(Refusal):
        store.changes(THINGS, before)
    assert store.changes(THINGS, store.revision) == []


def test_watchers_are_told_in_order_until_they_leave() -> None:
    store = Store()
    told: list[tuple[str, int]] = []
    end_first = store.watch(THINGS, lambda change: told.append(("first", change.new.revision)))
    store.watch(THINGS, lambda change: told.append(("second", change.new.revision)))
    store.watch(OTHERS, lambda change: told.append(("other", change.new.revision)))

    one = put(store, "a")
    end_first()
    end_first()
    two = drop(store, "a")

    assert told == [("first", one), ("second", one), ("second", two)]


def test_a_watcher_finds_in_the_store_what_it_is_told() -> None:
    store = Store()
    found: list[bool] = []
    store.watch(THINGS, lambda change: found.append(store.get(change.key) is change.new))

    put(store, "a")

    assert found == [True]


def test_a_watcher_may_leave_while_it_is_told() -> None:
    store = Store()
    told: list[int] = []

    def once(change: Change) -> None:
        told.append(change.new.revision)
        end()

    end = store.watch(THINGS, once)
    store.watch(THINGS, lambda change: told.append(-change.new.revision))

    revision = put(store, "a")
    put(store, "b")

    assert told == [revision, -revision, -revision - 1]


def test_an_object_that_is_told_in_another_form_has_not_changed() -> None:
    store = Store()
    seen = store.put(key("a"), thing("a"), None)
    told: list[Change] = []
    store.watch(THINGS, told.append)

    store.restate(key("a"), {**seen.value, "kind": "Thing2"}, seen)

    now = store.get(key("a"))
    assert now is not None
    assert (now.value["kind"], now.revision, store.revision) == (
        "Thing2",
        seen.revision,
        seen.revision,
    )
    assert orjson.loads(now.encoded) == now.value
    assert told == store.changes(THINGS, seen.revision) == []
