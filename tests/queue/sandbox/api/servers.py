"""A server in this process on virtual time, and webhooks of it that answer as a test says."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any, TypeVar

from muster.queue.client.kinds import CONFIG_MAP, NAMESPACE, Kind
from muster.queue.client.refusal import Refusal
from muster.queue.clock import LoopClock, VirtualLoop
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.https import Handler
from muster.queue.sandbox.api.server import ApiServer
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.local import LocalClient
from muster.queue.sandbox.store.memory import Journal
from tests.queue.sandbox.api.hooks import a_hook

T = TypeVar("T")

EPOCH_US = 1_767_225_600_000_000
NS = "work"
WEBHOOKS = {
    kind: Kind(
        "admissionregistration.k8s.io",
        "v1",
        f"{kind}WebhookConfiguration",
        f"{kind.lower()}webhookconfigurations",
        namespaced=False,
    )
    for kind in ("Mutating", "Validating")
}

Review = Callable[[Shared], Awaitable[Mapping[str, Any]]]
"""Answers the `request` of a review with a `response`, but for the uid."""


class Served:
    """A server with one namespace, a client of it, and its webhooks."""

    def __init__(self, server: ApiServer, handlers: dict[str, Handler]) -> None:
        """`handlers` are those that the server knows of."""
        self.server = server
        self.client = LocalClient(server, "tests")
        self._handlers = handlers

    def client_of(self, manager: str) -> LocalClient:
        return LocalClient(self.server, manager)

    async def create(self, name: str, **content: Any) -> Object:
        """Create a ConfigMap."""
        return await self.client.create(CONFIG_MAP, config_map(name, **content), NS)

    async def get(self, name: str) -> Object:
        return await self.client.get(CONFIG_MAP, name, NS)

    async def patch(self, name: str, patch: Shared) -> Object:
        return await self.client.merge_patch(CONFIG_MAP, name, patch, NS)

    async def delete(self, name: str, **options: Any) -> Object:
        return await self.client.delete(CONFIG_MAP, name, NS, options=options)

    def place(self, name: str = "", kind: Kind = CONFIG_MAP) -> Place:
        resource = self.server.catalogue.of(kind)
        return Place(resource, NS if kind.namespaced else "", name)

    async def add_webhook(self, kind: str, review: Review, **changes: Any) -> None:
        """Have a webhook asked about ConfigMaps."""
        name = f"{kind.lower()}.example.com"

        async def handle(question: Shared) -> Mapping[str, Any]:
            response = {"uid": question["request"]["uid"], **await review(question["request"])}
            return {
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "response": response,
            }

        self._handlers[f"https://{name}"] = handle
        rule = {
            "operations": ["*"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
        }
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": kind.lower()},
            "webhooks": [a_hook(name, **{"rules": [rule], **changes})],
        }
        await self.client.create(WEBHOOKS[kind], configuration)


def config_map(name: str, **content: Any) -> Object:
    metadata = {"name": name, **content.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def run(
    story: Callable[[Served], Awaitable[T]],
    *,
    chance: Random | None = None,
    journal: Journal | None = None,
) -> T:
    """Run a story on a fresh server on virtual time; return what it returns."""

    async def told() -> T:
        handlers: dict[str, Handler] = {}
        server = ApiServer(LoopClock(EPOCH_US), chance or Random(1), journal, handlers)
        await server.start()
        running = asyncio.create_task(server.run())
        try:
            served = Served(server, handlers)
            if not server.store.get(served.place(NS, NAMESPACE).key):
                namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}}
                await served.client.create(NAMESPACE, namespace)
            return await story(served)
        finally:
            running.cancel()
            await asyncio.wait({running})
            await server.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(told())


async def refused(asking: Awaitable[object]) -> Refusal:
    """Return the refusal of a request."""
    try:
        await asking
    except Refusal as refusal:
        return refusal
    raise AssertionError("it was not refused")
