"""What a write comes to when others write while a webhook is asked about it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from random import Random
from typing import Any

import pytest

from muster.queue.client.kinds import CONFIG_MAP, NAMESPACE
from muster.queue.client.protocol import Selection
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.api.attributes import User
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.reading import ListOptions
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.local import LocalClient
from tests.queue.sandbox.api.servers import NS, Served, config_map, refused, run

SLOW = "slow"
SLOW_S = 5

Ask = Callable[[LocalClient], Coroutine[Any, Any, Any]]


def race(ask: Ask, *meanwhile: Callable[[Served], Awaitable[Any]], there: bool = True) -> Object:
    """
    Have a client ask that has to wait for a webhook, and others do something at each wait.

    Returns the object in the end, {} for none. Raises what the client is refused.
    """

    async def story(served: Served) -> Object:
        others = list(meanwhile)

        async def review(request: Shared) -> Mapping[str, Any]:
            if request["userInfo"]["username"] == SLOW:
                await asyncio.sleep(SLOW_S)
                if others:
                    await others.pop(0)(served)
            return {"allowed": True}

        await served.add_webhook("Validating", review)
        if there:
            await served.create("x", data={"a": "1"})
        await ask(served.client_of(SLOW))
        assert not others, "the client should have asked again"
        try:
            return await served.get("x")
        except Refusal:
            return {}

    return run(story)


def conflict(ask: Ask, *meanwhile: Callable[[Served], Awaitable[Any]], there: bool = True) -> str:
    """Return the reason why a client that has to wait is refused."""
    with pytest.raises(Refusal) as refusal:
        race(ask, *meanwhile, there=there)
    return refusal.value.reason


def quick_patch(served: Served) -> Awaitable[Object]:
    return served.patch("x", {"data": {"quick": "yes"}})


def quick_delete(served: Served) -> Awaitable[Object]:
    return served.delete("x")


def quick_create(served: Served) -> Awaitable[Object]:
    return served.create("x", data={"quick": "yes"})


def slow_patch(client: LocalClient) -> Coroutine[Any, Any, Object]:
    return client.merge_patch(CONFIG_MAP, "x", {"data": {"slow": "yes"}}, NS)


def slow_apply(client: LocalClient) -> Coroutine[Any, Any, Object]:
    manifest = config_map("x", data={"slow": "yes"}, metadata={"namespace": NS})
    return client.apply(CONFIG_MAP, manifest, manager=SLOW, force=False)


def slow_create(client: LocalClient) -> Coroutine[Any, Any, Object]:
    return client.create(CONFIG_MAP, config_map("x", data={"slow": "yes"}), NS)


def slow_delete(client: LocalClient) -> Coroutine[Any, Any, Object]:
    return client.delete(CONFIG_MAP, "x", NS)


async def slow_replace(client: LocalClient) -> Object:
    manifest = config_map("x", data={"slow": "yes"}, metadata={"namespace": NS})
    return await client.replace(CONFIG_MAP, manifest)


async def slow_replace_of_a_state(client: LocalClient) -> Object:
    seen = await client.get(CONFIG_MAP, "x", NS)
    return await client.replace(CONFIG_MAP, seen | {"data": {"slow": "yes"}})


async def slow_patch_of_a_state(client: LocalClient) -> Object:
    seen = await client.get(CONFIG_MAP, "x", NS)
    change = {"metadata": {"resourceVersion": seen["metadata"]["resourceVersion"]}, "data": {}}
    return await client.merge_patch(CONFIG_MAP, "x", change | {"data": {"slow": "yes"}}, NS)


async def slow_delete_of_a_state(client: LocalClient) -> Object:
    seen = await client.get(CONFIG_MAP, "x", NS)
    conditions = {"resourceVersion": seen["metadata"]["resourceVersion"]}
    return await client.delete(CONFIG_MAP, "x", NS, options={"preconditions": conditions})


def test_a_patch_is_made_again_of_what_is_there_then() -> None:
    stored = race(slow_patch, quick_patch)

    assert stored["data"] == {"a": "1", "quick": "yes", "slow": "yes"}


def test_an_object_is_applied_again_to_what_is_there_then() -> None:
    stored = race(slow_apply, quick_patch)

    assert stored["data"] == {"a": "1", "quick": "yes", "slow": "yes"}
    owners = {each["manager"]: each["operation"] for each in stored["metadata"]["managedFields"]}
    assert owners == {"tests": "Update", SLOW: "Apply"}


def test_an_object_replaces_whatever_is_there_if_it_names_no_state() -> None:
    stored = race(slow_replace, quick_patch, quick_patch)

    assert stored["data"] == {"slow": "yes"}


@pytest.mark.parametrize(
    "ask", [slow_replace_of_a_state, slow_patch_of_a_state, slow_delete_of_a_state]
)
def test_a_write_of_a_state_is_not_one_of_another(ask: Ask) -> None:
    assert conflict(ask, quick_patch) == "Conflict"


@pytest.mark.parametrize("ask", [slow_patch, slow_replace, slow_delete])
def test_what_was_deleted_meanwhile_is_not_found(ask: Ask) -> None:
    assert conflict(ask, quick_delete) == "NotFound"


def test_what_was_deleted_meanwhile_is_made_by_who_applies_it() -> None:
    stored = race(slow_apply, quick_delete)

    assert stored["data"] == {"slow": "yes"}


def test_a_name_is_given_once() -> None:
    assert conflict(slow_create, quick_create, there=False) == "AlreadyExists"


def test_what_was_made_meanwhile_is_changed_by_who_applies_it() -> None:
    stored = race(slow_apply, quick_create, there=False)

    assert stored["data"] == {"quick": "yes", "slow": "yes"}


def test_what_was_changed_meanwhile_is_deleted_all_the_same() -> None:
    assert race(slow_delete, quick_patch) == {}


def test_what_never_rests_is_given_up() -> None:
    def change(number: int) -> Callable[[Served], Awaitable[Object]]:
        return lambda served: served.patch("x", {"data": {"quick": str(number)}})

    changes = [change(number) for number in range(100)]

    assert conflict(slow_patch, *changes) == "Conflict"
    assert conflict(slow_delete, *changes) == "Conflict"


def test_deleting_many_goes_on_when_others_delete_as_well() -> None:
    async def delete_all(client: LocalClient) -> None:
        server, options = client._server, client._options
        resource = server.catalogue.of(CONFIG_MAP)
        await server.delete_all(resource, NS, ListOptions(), {}, options)
        assert (await client.list(CONFIG_MAP, Selection(namespace=NS))).items == []

    assert race(delete_all, quick_delete) == {}


def test_a_namespace_that_began_to_end_meanwhile_takes_nothing_new() -> None:
    def end(served: Served) -> Awaitable[Object]:
        return served.client.delete(NAMESPACE, NS)

    assert conflict(slow_create, end, there=False) == "Forbidden"
    assert conflict(slow_apply, end, there=False) == "Forbidden"
    assert race(slow_patch, end)["data"] == {"a": "1", "slow": "yes"}  # one that is changed may be


# -- generated names -----------------------------------------------------------------------------


class Dice(Random):
    """Chance that first throws the same suffixes as before."""

    def __init__(self, suffixes: Sequence[str]) -> None:
        super().__init__(1)
        self._suffixes = list(suffixes)

    def choices(self, population: Any, weights: Any = None, **options: Any) -> list[Any]:
        if self._suffixes:
            return list(self._suffixes.pop(0))
        return super().choices(population, weights, **options)


async def generate(client: LocalClient) -> str:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "many-"}}
    made = await client.create(CONFIG_MAP, manifest, NS)
    name: str = made["metadata"]["name"]
    return name


def test_a_generated_name_that_is_taken_is_generated_again() -> None:
    async def story(served: Served) -> list[str]:
        return [await generate(served.client) for _ in range(3)]

    names = run(story, chance=Dice(["aaaaa", "aaaaa", "bbbbb", "bbbbb", "aaaaa", "ccccc"]))

    assert names == ["many-aaaaa", "many-bbbbb", "many-ccccc"]


def test_names_that_are_all_taken_are_given_up() -> None:
    async def story(served: Served) -> str:
        await generate(served.client)
        return (await refused(generate(served.client))).reason

    assert run(story, chance=Dice(["aaaaa"] * 100)) == "AlreadyExists"


def test_a_name_that_was_asked_for_is_not_replaced_by_another() -> None:
    async def story(served: Served) -> tuple[str, str]:
        await served.create("x")
        manifest = config_map("x", metadata={"generateName": "many-"})
        refusal = await refused(served.client.create(CONFIG_MAP, manifest, NS))
        return refusal.reason, refusal.message

    assert run(story) == ("AlreadyExists", 'configmaps "x" already exists')


def test_names_are_generated_anew_for_two_at_once() -> None:
    async def story(served: Served) -> list[str]:
        async def review(_: Shared) -> Mapping[str, Any]:
            await asyncio.sleep(SLOW_S)
            return {"allowed": True}

        await served.add_webhook("Validating", review)
        return await asyncio.gather(*(generate(served.client) for _ in range(2)))

    names = run(story, chance=Dice(["aaaaa", "aaaaa", "bbbbb"]))

    assert sorted(names) == ["many-aaaaa", "many-bbbbb"]


# -- dry runs ------------------------------------------------------------------------------------


def test_a_dry_run_stores_nothing_and_tells_nobody() -> None:
    async def story(served: Served) -> None:
        await served.create("x", data={"a": "1"}, metadata={"finalizers": ["example.com/keep"]})
        store = served.server.store
        before = (
            store.revision,
            {each.encoded for each in store.select(served.place().key.resource)},
        )
        told: list[Any] = []
        store.watch(served.place().key.resource, told.append)
        server, place = served.server, served.place("x")
        dry = WriteOptions(user=User("ann", ()), manager="dry", dry_run=True)
        merge = "application/merge-patch+json"

        made = await server.create(served.place(), config_map("y"), dry)
        patched = await server.patch(place, merge, {"data": {"b": "2"}}, dry)
        replaced = await server.replace(place, config_map("x", data={"c": "3"}), dry)
        applied = await server.apply(place, config_map("x", data={"d": "4"}), dry)
        marked = await server.delete(place, {}, dry)
        freed = await server.patch(place, merge, {"metadata": {"finalizers": None}}, dry)

        assert (made.created, "resourceVersion" in made.stored.value["metadata"]) == (True, False)
        assert patched.stored.value["data"] == {"a": "1", "b": "2"}
        assert replaced.stored.value["data"] == {"c": "3"}
        assert applied.stored.value["data"] == {"a": "1", "d": "4"}
        assert "deletionTimestamp" in marked.stored.value["metadata"]
        assert "finalizers" not in freed.stored.value["metadata"]
        after = store.revision, {each.encoded for each in store.select(place.key.resource)}
        assert after == before
        assert told == []

    run(story)
