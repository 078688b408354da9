"""Webhooks that answer in this process, and requests to ask them about."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from itertools import count
from typing import Any, TypeVar

from muster.queue.client.kinds import CONFIG_MAP, Kind
from muster.queue.clock import LoopClock, VirtualLoop
from muster.queue.sandbox.api.attributes import Attributes, User
from muster.queue.sandbox.api.https import Caller
from muster.queue.sandbox.api.webhooks import Webhooks
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared, Strategy
from muster.queue.sandbox.kinds.schemas import object_meta
from muster.queue.sandbox.schema.node import compile_definition

T = TypeVar("T")
Answer = Callable[[Shared], Mapping[str, Any]]
"""Makes the `response` to a `request`, but for the uid."""

CALLER = User("ann", ("admins",))
WIDGET = Kind("example.com", "v1", "Widget", "widgets", namespaced=True)
_FREE = compile_definition(
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, object_meta()
)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def resource(kind: Kind) -> Resource:
    return Resource(kind=kind, singular=kind.kind.lower(), schema=_FREE, strategy=Strategy())


CONFIG_MAPS = resource(CONFIG_MAP)
WIDGETS = resource(WIDGET)
NEW_WIDGETS = resource(WIDGET._replace(version="v2"))


def an_object(of: Resource = CONFIG_MAPS, **content: Any) -> Object:
    metadata = {"name": "x", "namespace": "ns"}
    return {"apiVersion": of.kind.api_version, "kind": of.kind.kind, "metadata": metadata} | content


def a_request(of: Resource = CONFIG_MAPS, **changes: Any) -> Attributes:
    """Return the creation of an object, or what `changes` make of that."""
    facts: dict[str, Any] = {
        "resource": of,
        "operation": "CREATE",
        "user": CALLER,
        "namespace": "ns",
        "name": "x",
        "object": an_object(of),
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return Attributes(**{**facts, **changes})


def a_rule(**changes: Any) -> Object:
    anything = {
        "operations": ["*"],
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "resources": ["*"],
    }
    return {**anything, **changes}


def a_hook(name: str, **changes: Any) -> Object:
    return {
        "name": name,
        "clientConfig": {"url": f"https://{name}"},
        "rules": [a_rule()],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1"],
        **changes,
    }


def patch(*operations: Object) -> Object:
    """Return the part of an answer that is a patch."""
    return {
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(operations).encode()).decode(),
    }


def setting(field: str, value: Any) -> Answer:
    """Return what sets a field of the object."""
    return lambda _: {"allowed": True, **patch({"op": "add", "path": field, "value": value})}


def allow(_: Shared) -> Mapping[str, Any]:
    return {"allowed": True}


def deny(_: Shared) -> Mapping[str, Any]:
    return {"allowed": False}


async def rename(obj: Shared, to: Resource) -> Shared:
    """Convert an object as kinds without a conversion do."""
    return {**obj, "apiVersion": to.kind.api_version}


class World:
    """Webhooks, what they answer, and what they were asked."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self.asked: list[tuple[str, Shared]] = []
        self.handlers: dict[str, Callable[[Shared], Awaitable[Mapping[str, Any]]]] = {}
        uids = (f"uid-{number}" for number in count(1))
        self.webhooks = Webhooks(
            Caller(LoopClock(0), self.handlers),
            labels_of=lambda namespace: (labels or {}).get(namespace, {}),
            versions_of=lambda of: [
                each for each in (WIDGETS, NEW_WIDGETS, CONFIG_MAPS) if each.key == of.key
            ],
            convert=rename,
            new_uid=lambda: next(uids),
        )

    @property
    def names(self) -> list[str]:
        """Return who was asked, in order."""
        return [name for name, _ in self.asked]

    def review(self, name: str, answer: Callable[[Shared], Mapping[str, Any]]) -> None:
        """Have a webhook answer whole reviews."""

        async def handle(review: Shared) -> Mapping[str, Any]:
            self.asked.append((name, review["request"]))
            return answer(review)

        self.handlers[f"https://{name}"] = handle

    def answer(self, name: str, answer: Answer) -> None:
        self.review(
            name,
            lambda review: {
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "response": {"uid": review["request"]["uid"], **answer(review["request"])},
            },
        )

    def configure(self, kind: str, name: str, *hooks: Object) -> None:
        configuration = {
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": list(hooks),
        }
        self.webhooks.changed(configuration)

    def add(self, kind: str, name: str, answer: Answer, **changes: Any) -> None:
        """Have one webhook in a configuration of the same name."""
        self.answer(name, answer)
        self.configure(kind, name, a_hook(name, **changes))

    def mutate(self, request: Attributes) -> tuple[Object, list[str]]:
        return run(self.webhooks.mutate(request))

    def validate(self, request: Attributes) -> list[str]:
        return run(self.webhooks.validate(request))
