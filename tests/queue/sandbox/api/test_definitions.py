"""How kinds come to be served, share names, change and go."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from muster.queue.client.kinds import CRD
from muster.queue.client.refusal import conflict
from muster.queue.clock import LoopClock
from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.api.definitions import KEY, Definitions, Hands
from muster.queue.sandbox.api.versions import Convert, Versions
from muster.queue.sandbox.kinds.conditions import condition, is_true
from muster.queue.sandbox.kinds.definitions import DefinitionStrategy
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared
from muster.queue.sandbox.kinds.schemas import component_of
from muster.queue.sandbox.store.memory import Key, Store
from tests.queue.api.manifests import NOON, Manifest, changed
from tests.queue.sandbox.api.hooks import run
from tests.queue.sandbox.kinds.definitions import SPEC, a_definition, another_version, named

WIDGETS = "widgets.example.com"


class World:
    """A store, what is served of it, and who changes it on behalf of the definitions."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        self.catalogue = Catalogue(())
        self.versions = Versions(self.catalogue)
        self.unserved: list[str] = []
        self.refusals = 0
        hands = Hands(self._update, self._delete_all, self._unserve)
        self.definitions = Definitions(
            self.store, self.catalogue, self.versions, hands, self._converter, LoopClock(0)
        )

    async def _update(self, name: str, change: Callable[[Object], None]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise conflict(self.resource("v1").subject(name), "somebody was faster")
        key = Key(KEY, "", name)
        seen = self.store.get(key)
        assert seen
        obj = seen.private()
        change(obj)
        stored = self.store.put(key, obj, seen)
        if "deletionTimestamp" in obj["metadata"] and not obj["metadata"].get("finalizers"):
            self.store.delete(key, stored)

    async def _delete_all(self, resource: Resource) -> None:
        for stored in [*self.store.select(resource.key)]:
            metadata = stored.value["metadata"]
            if not metadata.get("finalizers"):
                self.store.delete(
                    Key(resource.key, metadata["namespace"], metadata["name"]), stored
                )

    def _unserve(self, resource: Resource) -> None:
        self.unserved.append(resource.kind.version)

    def _converter(self, _: Shared, resources: Sequence[Resource]) -> Convert:
        assert resources

        async def convert(objects: Sequence[Object], api_version: str) -> list[Object]:
            return [{**obj, "apiVersion": api_version, "converted": True} for obj in objects]

        return convert

    def resource(self, version: str) -> Resource:
        found = self.catalogue.find("example.com", version, "widgets")
        assert found
        return found

    @property
    def served(self) -> list[str]:
        return [f"{each.kind.plural}/{each.kind.version}" for each in self.catalogue]

    def find(self, name: str = WIDGETS) -> Object | None:
        stored = self.store.get(Key(KEY, "", name))
        return stored.private() if stored else None

    def get(self, name: str = WIDGETS) -> Object:
        found = self.find(name)
        assert found
        return found

    async def put(self, definition: Object) -> Object:
        """Store a definition, and let everybody do what it leads to."""
        key = Key(KEY, "", definition["metadata"]["name"])
        self.store.put(key, changed(definition, {}), self.store.get(key))
        await self.definitions.settle()
        return self.get(key.name)

    async def change(self, changes: Manifest) -> Object:
        return await self.put(changed(self.get(), changes))

    async def delete(self, name: str = WIDGETS) -> None:
        marks = {"metadata.deletionTimestamp": NOON, "metadata.generation": 2}
        definition = changed(self.get(name), marks)
        DefinitionStrategy(component_of(CRD)).prepare_deletion(definition)
        key = Key(KEY, "", name)
        self.store.put(key, definition, self.store.get(key))
        await self.definitions.settle()

    def add_object(self, name: str = "a", **content: Any) -> Key:
        key = Key(WIDGETS, "ns", name)
        metadata = {"name": name, "namespace": "ns", **content.pop("metadata", {})}
        obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, **content}
        self.store.put(key, obj, None)
        return key


def scenario(test: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test of a coroutine in a world of its own."""

    def on_virtual_time() -> None:
        async def in_a_world() -> None:
            await test(World())

        run(in_a_world())

    on_virtual_time.__name__ = test.__name__
    return on_virtual_time


@scenario
async def test_a_definition_is_established(world: World) -> None:
    definition = await world.put(a_definition())

    assert definition["status"] == {
        "acceptedNames": definition["spec"]["names"],
        "conditions": [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "storedVersions": ["v1"],
    }
    assert world.served == ["widgets/v1"]


@scenario
async def test_a_settled_definition_is_left_alone(world: World) -> None:
    before = await world.put(a_definition())

    after = await world.put(before)

    assert after["status"] == before["status"]
    assert world.store.revision == int(after["metadata"]["resourceVersion"])


@scenario
async def test_definitions_of_an_earlier_life_are_served(world: World) -> None:
    await world.put(a_definition())

    assert World(world.store).served == ["widgets/v1"]


@scenario
async def test_only_some_versions_are_served(world: World) -> None:
    first = {**another_version("v1"), "storage": True, "served": False}
    await world.put(a_definition({"spec.versions": [first, another_version("v2")]}))

    assert world.served == ["widgets/v2"]
    storage = world.catalogue.storage(WIDGETS)
    assert storage
    assert storage.kind.version == "v1"


@scenario
async def test_the_approval_of_a_group_is_told(world: World) -> None:
    approved = {"api-approved.kubernetes.io": "unapproved, for a test"}
    definition = await world.put(
        a_definition({"spec.group": "example.k8s.io", "metadata.annotations": approved})
    )

    told = condition(definition, "KubernetesAPIApprovalPolicyConformant")
    assert (told["status"], told["reason"]) == ("False", "UnapprovedAnnotation")


TAKEN: list[tuple[Manifest, str, str]] = [
    ({"kind": "Widget"}, "KindConflict", '"Widget" is already in use'),
    ({"listKind": "WidgetList"}, "ListKindConflict", '"WidgetList" is already in use'),
    ({"kind": "Widget", "listKind": "WidgetList"}, "ListKindConflict", '"WidgetList" is already'),
    ({"singular": "widget"}, "SingularConflict", '"widget" is already in use'),
    ({"singular": "widgets"}, "SingularConflict", '"widgets" is already in use'),
    ({"shortNames": ["w"]}, "ShortNamesConflict", '"w" is already in use'),
    (
        {"shortNames": ["w", "g", "widget"]},
        "ShortNamesConflict",
        '["w" is already in use, "widget" is already in use]',
    ),
]


@pytest.mark.parametrize("names, reason, message", TAKEN, ids=[reason for _, reason, _ in TAKEN])
def test_a_name_belongs_to_who_had_it_first(names: Manifest, reason: str, message: str) -> None:
    async def in_a_world() -> None:
        world = World()
        await world.put(a_definition({"spec.names.shortNames": ["w"]}))
        second = named("gadgets")
        second["spec"]["names"] |= names

        refused = await world.put(second)

        told = condition(refused, "NamesAccepted")
        assert (told["status"], told["reason"]) == ("False", reason)
        assert told["message"].startswith(message)
        established = condition(refused, "Established")
        assert (established["status"], established["reason"]) == ("False", "NotAccepted")
        assert world.served == ["widgets/v1"]
        assert refused["status"]["acceptedNames"]["plural"] == "gadgets"

        await world.delete()
        assert world.served == ["gadgets/v1"]
        assert (
            world.get("gadgets.example.com")["status"]["acceptedNames"] == second["spec"]["names"]
        )

    run(in_a_world())


@scenario
async def test_groups_share_no_names(world: World) -> None:
    await world.put(a_definition())
    other = {"metadata.name": "widgets.example.org", "spec.group": "example.org"}

    second = await world.put(a_definition(other))

    assert is_true(second, "Established")


@scenario
async def test_an_established_definition_stays_so(world: World) -> None:
    await world.put(a_definition({"spec.names.shortNames": ["w"]}))
    await world.put(named("gadgets"))
    gadgets = world.get("gadgets.example.com")

    refused = await world.put(changed(gadgets, {"spec.names.shortNames": ["w"]}))

    assert condition(refused, "NamesAccepted")["reason"] == "ShortNamesConflict"
    assert is_true(refused, "Established")
    found = world.catalogue.find("example.com", "v1", "gadgets")
    assert found
    assert found.short_names == ()


@scenario
async def test_a_version_that_is_no_longer_served_ends_its_watches(world: World) -> None:
    await world.put(a_definition({"spec.versions[1]": another_version()}))
    assert world.served == ["widgets/v1", "widgets/v2"]

    await world.change({"spec.versions[1].served": False})

    assert world.served == ["widgets/v1"]
    assert world.unserved == ["v2"]


@scenario
async def test_a_status_alone_changes_nothing_that_is_served(world: World) -> None:
    await world.put(a_definition())
    before, revision = world.resource("v1"), world.catalogue.revision

    await world.change({"metadata.labels": {"a": "b"}})

    assert world.resource("v1") is before
    assert world.catalogue.revision == revision


@scenario
async def test_objects_are_told_as_their_definition_is_now(world: World) -> None:
    await world.put(a_definition())
    key = world.add_object(spec={"color": "red", "count": 1})
    before = world.store.get(key)
    assert before

    fields = {"count": {"type": "integer"}, "new": {"type": "string", "default": "x"}}
    await world.change({f"{SPEC}.properties": fields})

    after = world.store.get(key)
    assert after
    assert after.value["spec"] == {"count": 1, "new": "x"}
    assert after.revision == before.revision
    assert before.value["spec"] == {"color": "red", "count": 1}


@scenario
async def test_objects_are_converted_as_their_definition_says(world: World) -> None:
    await world.put(a_definition({"spec.versions[1]": another_version()}))
    stored = world.store.get(world.add_object())
    assert stored

    read = await world.versions.read(world.resource("v2"), stored)

    assert read.value == {**stored.value, "apiVersion": "example.com/v2", "converted": True}


# -- the end -----------------------------------------------------------------------------------


@scenario
async def test_a_definition_goes_with_its_objects(world: World) -> None:
    await world.put(a_definition())
    key = world.add_object()

    await world.delete()

    assert world.store.get(key) is None
    assert world.find() is None
    assert world.served == []
    assert world.unserved == ["v1"]


@scenario
async def test_a_definition_waits_for_the_last_object(world: World) -> None:
    await world.put(a_definition())
    key = world.add_object(metadata={"finalizers": ["example.com/wait"]})

    await world.delete()

    waiting = condition(world.get(), "Terminating")
    assert (waiting["status"], waiting["reason"]) == ("True", "InstanceDeletionInProgress")
    assert world.served == ["widgets/v1"]
    last = world.store.get(key)
    assert last
    world.store.delete(key, last)
    await world.definitions.settle()
    assert world.find() is None


@scenario
async def test_others_may_hold_a_definition_longer(world: World) -> None:
    await world.put(a_definition({"metadata.finalizers": ["example.com/hold"]}))

    await world.delete()

    held = world.get()
    assert held["metadata"]["finalizers"] == ["example.com/hold"]
    gone = condition(held, "Terminating")
    assert (gone["status"], gone["reason"]) == ("False", "InstanceDeletionCompleted")


@scenario
async def test_a_definition_that_was_never_served_just_goes(world: World) -> None:
    await world.put(a_definition())
    await world.put(named("gadgets", {"spec.names.kind": "Widget"}))

    await world.delete("gadgets.example.com")

    assert world.find("gadgets.example.com") is None
    assert world.served == ["widgets/v1"]


@scenario
async def test_who_is_refused_tries_again(world: World) -> None:
    await world.put(a_definition())
    world.refusals = 2

    await world.delete()

    assert world.find() is None
    assert asyncio.get_running_loop().time() == 2.0


@scenario
async def test_it_settles_what_changes_while_it_runs(world: World) -> None:
    running = asyncio.create_task(world.definitions.run())
    key = Key(KEY, "", WIDGETS)
    world.store.put(key, a_definition(), None)

    await asyncio.sleep(1)

    assert is_true(world.get(), "Established")
    running.cancel()
