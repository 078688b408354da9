"""What becomes of requests about a kind while its definition changes or goes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from muster.queue.client.kinds import CRD, POD, Kind
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.kinds.resources import Object, Shared
from tests.queue.sandbox.api.servers import NS, Served, refused, run

WIDGET = Kind("example.com", "v1", "Widget", "widgets", namespaced=True)
OLD_WIDGET = WIDGET._replace(version="v1alpha1")
RULE = {
    "operations": ["CREATE"],
    "apiGroups": ["example.com"],
    "apiVersions": ["*"],
    "resources": ["widgets"],
}


def a_version(name: str, *, storage: bool) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
    }


def a_definition(*versions: Object) -> Object:
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [*versions],
        },
    }


def a_widget(name: str, kind: Kind = WIDGET) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}


async def define(served: Served, *versions: Object) -> None:
    await served.client.create(CRD, a_definition(*versions))
    await asyncio.sleep(1)


async def go(served: Served) -> None:
    await served.client.delete(CRD, "widgets.example.com")
    await asyncio.sleep(2)


async def create_slowly(served: Served, meanwhile: Callable[[Served], Awaitable[None]]) -> Refusal:
    """Return why an object isn't made while its webhook is asked something else happens."""

    async def review(_: Shared) -> Mapping[str, Any]:
        await meanwhile(served)
        return {"allowed": True}

    await served.add_webhook("Validating", review, rules=[RULE])
    return await refused(served.client.create(WIDGET, a_widget("x"), NS))


def test_what_is_created_while_its_definition_goes_is_not_left_behind() -> None:
    async def story(served: Served) -> tuple[int, int]:
        await define(served, a_version("v1", storage=True))
        refusal = await create_slowly(served, go)
        return refusal.code, served.server.store.count("widgets.example.com")

    assert run(story) == (404, 0)


def test_what_is_created_late_does_not_keep_a_definition_from_going() -> None:
    async def story(served: Served) -> tuple[int, str]:
        await define(served, a_version("v1", storage=True))
        held = a_widget("held")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await served.client.create(WIDGET, held, NS)
        refusal = await create_slowly(served, go)
        await served.client.merge_patch(WIDGET, "held", {"metadata": {"finalizers": None}}, NS)
        await asyncio.sleep(2)
        gone = await refused(served.client.get(CRD, "widgets.example.com"))
        return refusal.code, gone.reason

    assert run(story) == (403, "NotFound")


def test_a_version_can_go_in_which_an_object_is_still_stored_but_the_object_is_lost() -> None:
    async def story(served: Served) -> tuple[int, str]:
        new, old = a_version("v1", storage=True), a_version("v1alpha1", storage=True)
        await define(served, {**new, "storage": False}, old)
        await served.client.create(OLD_WIDGET, a_widget("x", OLD_WIDGET), NS)
        name = "widgets.example.com"
        both = {"spec": {"versions": [new, {**old, "storage": False}]}}
        await served.client.merge_patch(CRD, name, both)
        stored = {"status": {"storedVersions": ["v1"]}}
        await served.client.merge_patch(CRD, name, stored, subresource="status")
        await served.client.merge_patch(CRD, name, {"spec": {"versions": [new]}})
        await served.client.create(WIDGET, a_widget("y"), NS)
        refusal = await refused(served.client.get(WIDGET, "x", NS))
        return refusal.code, refusal.message

    why = "request to convert CR from an invalid group/version: example.com/v1alpha1"
    assert run(story) == (500, why)


@pytest.mark.parametrize("name", ["binding", "eviction"])
def test_what_is_sent_to_a_subresource_is_read_by_its_schema(name: str) -> None:
    async def story(served: Served) -> tuple[int, str]:
        body = {"metadata": "x"}
        asking = served.client.create(POD, body, NS, name="x", subresource=name)
        refusal = await refused(asking)
        return refusal.code, refusal.message

    code, message = run(story)

    assert code == 400
    assert f"cannot be handled as a {name.capitalize()}: json: cannot unmarshal string" in message
