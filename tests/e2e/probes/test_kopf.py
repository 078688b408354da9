"""An operator written with kopf: handlers, finalizers, daemons, and webhooks that it manages."""

import asyncio
import base64
import threading
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import kopf
import pytest

from muster.queue.sandbox.http.tls import make_identity
from tests.e2e.api import Api
from tests.e2e.probes.definitions import GROUP, INTEGER, STRING, a_thing, an_object, defined
from tests.e2e.probes.probe import Probe, eventually, is_code
from tests.queue.api.manifests import Manifest

FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
WITHIN_S = 30.0
POLL_S = 0.01


class Told:
    """What handlers tell of objects, for whoever waits for it."""

    def __init__(self) -> None:
        self._told: dict[str, list[str]] = {}
        self._more = threading.Condition()

    def tell(self, event: str, name: str) -> None:
        with self._more:
            self._told.setdefault(name, []).append(event)
            self._more.notify_all()

    def until(self, wanted: str, name: str) -> list[str]:
        """Return all that is told of an object, once it has what is wanted."""
        with self._more:
            seen = self._told.setdefault(name, [])
            assert self._more.wait_for(lambda: wanted in seen, WITHIN_S), seen
            return [*seen]


class Operator(NamedTuple):
    """An operator that runs: the kind that it minds, and what its handlers tell."""

    things: Manifest
    told: Told


def settings_of(api: Api, registry: kopf.OperatorRegistry) -> kopf.OperatorSettings:
    """Return settings of an operator with the rights of the tests."""

    @kopf.on.login(registry=registry)
    def login(**_: Any) -> kopf.ConnectionInfo:
        authority = api.trust.get_ca_certs(binary_form=True)
        certificates = b"".join(
            b"-----BEGIN CERTIFICATE-----\n"
            + base64.encodebytes(each)
            + b"-----END CERTIFICATE-----\n"
            for each in authority
        )
        return kopf.ConnectionInfo(
            server=api.server.geturl(),
            ca_data=base64.b64encode(certificates).decode(),
            token=api.headers["Authorization"].removeprefix("Bearer "),
        )

    settings = kopf.OperatorSettings()
    settings.posting.enabled = True
    settings.scanning.disabled = True
    return settings


@contextmanager
def running(
    namespace: str, registry: kopf.OperatorRegistry, settings: kopf.OperatorSettings
) -> Iterator[None]:
    """Run an operator in a thread of its own."""
    ready, stop = threading.Event(), threading.Event()
    operator = kopf.operator(
        registry=registry,
        settings=settings,
        namespaces=[namespace],
        standalone=True,
        ready_flag=ready,
        stop_flag=stop,
    )
    thread = threading.Thread(target=asyncio.run, args=(_to_the_end(operator),))
    thread.start()
    try:
        assert ready.wait(WITHIN_S)
        yield
    finally:
        stop.set()
        thread.join(WITHIN_S)
        assert not thread.is_alive()


async def _to_the_end(operator: Awaitable[None]) -> None:
    """Run an operator until its connections are closed, which takes longer than it says."""
    await operator
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    async with asyncio.timeout(WITHIN_S):
        while len(selector.get_map()) > 1:  # noqa: ASYNC110 - nobody tells when only the loop's own is left
            await asyncio.sleep(POLL_S)


def handle(registry: kopf.OperatorRegistry, plural: str, told: Told) -> None:
    """Let every handler that kopf has tell of itself."""

    @kopf.on.create(GROUP, "v1", plural, id="created", registry=registry)
    def created(body: kopf.Body, spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> dict[str, int]:
        told.tell("created", str(body.meta.name))
        kopf.info(body, reason="Handled", message="as it should be")
        patch.status["phase"] = "Created"
        return {"doubled": 2 * int(spec.get("size", 0))}

    @kopf.on.update(GROUP, "v1", plural, id="updated", registry=registry)
    def updated(name: str, diff: kopf.Diff, **_: Any) -> None:
        told.tell(f"updated {'.'.join(diff[0].field)}", name)

    @kopf.on.field(GROUP, "v1", plural, field="spec.word", id="changed", registry=registry)
    def changed(name: str, old: Any, new: Any, **_: Any) -> None:
        told.tell(f"changed {old} {new}", name)

    @kopf.on.delete(GROUP, "v1", plural, id="deleted", registry=registry)
    def deleted(name: str, **_: Any) -> None:
        told.tell("deleted", name)

    @kopf.on.event(GROUP, "v1", plural, id="seen", registry=registry)
    def seen(event: kopf.RawEvent, name: str, **_: Any) -> None:
        told.tell(f"event {event['type']}", name)

    @kopf.timer(GROUP, "v1", plural, interval=0.1, id="ticked", registry=registry)
    def ticked(name: str, **_: Any) -> None:
        told.tell("ticked", name)

    @kopf.daemon(GROUP, "v1", plural, id="minded", registry=registry)
    async def minded(name: str, stopped: kopf.DaemonStopped, **_: Any) -> None:
        told.tell("minded", name)
        await stopped.wait()
        told.tell("left", name)


@pytest.fixture(scope="module")
def operator(api: Api, namespace: str) -> Iterator[Operator]:
    told = Told()
    keep = {"x-kubernetes-preserve-unknown-fields": True}
    changes = {
        "spec.versions[0].schema.openAPIV3Schema.properties.status": {"type": "object", **keep}
    }
    with defined(
        api,
        namespace,
        an_object(size=INTEGER, word=STRING),
        changes,
        subresources={"status": {}},
    ) as things:
        registry = kopf.OperatorRegistry()
        settings = settings_of(api, registry)
        handle(registry, things["spec"]["names"]["plural"], told)
        with running(namespace, registry, settings):
            yield Operator(things, told)


@pytest.fixture
def handled(operator: Operator, probe: Probe) -> Iterator[Manifest]:
    """An object that the operator has handled; it goes before the operator does."""
    made = probe.create(a_thing(probe, operator.things, spec={"size": 2, "word": "a"}))
    last = "kopf.zalando.org/last-handled-configuration"
    yield probe.until(made, lambda now: last in now["metadata"].get("annotations", {}))
    probe.delete(made)
    probe.until_gone(made)


def test_a_new_object_is_handled(handled: Manifest) -> None:
    assert handled["status"] == {"phase": "Created", "created": {"doubled": 4}}
    assert handled["metadata"]["finalizers"] == [FINALIZER]
    annotations = handled["metadata"]["annotations"]
    assert '"word":"a"' in annotations["kopf.zalando.org/last-handled-configuration"]


def test_a_change_is_handled(handled: Manifest, operator: Operator, probe: Probe) -> None:
    name = handled["metadata"]["name"]

    probe.api.patch(handled, {"spec": {"word": "b"}}).expect(200)

    operator.told.until("updated spec.word", name)
    seen = operator.told.until("changed a b", name)
    assert seen.count("created") == 1


def test_an_end_is_handled(handled: Manifest, operator: Operator, probe: Probe) -> None:
    name = handled["metadata"]["name"]
    operator.told.until("minded", name)

    probe.delete(handled).expect(200)
    probe.until_gone(handled)

    seen = operator.told.until("event DELETED", name)
    assert {"deleted", "left"} <= {*seen}


def test_events_are_seen(handled: Manifest, operator: Operator) -> None:
    seen = operator.told.until("event MODIFIED", handled["metadata"]["name"])

    assert next(each for each in seen if each.startswith("event")) == "event ADDED"


def test_timers_and_daemons_run(handled: Manifest, operator: Operator) -> None:
    for wanted in ("ticked", "minded"):
        operator.told.until(wanted, handled["metadata"]["name"])


def test_what_is_handled_is_told_as_an_event(handled: Manifest, probe: Probe) -> None:
    event = probe.until_event(handled, "Handled")

    assert event["involvedObject"]["uid"] == handled["metadata"]["uid"]
    assert (event["type"], event["message"]) == ("Normal", "as it should be")
    assert event["source"]["component"] == "kopf"


@pytest.fixture(scope="module")
def guarded(
    api: Api, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Manifest]:
    """A kind whose objects an operator looks at before they are stored."""
    identity = make_identity(time.time_ns() // 1000)
    directory: Path = tmp_path_factory.mktemp("kopf")
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    certificate.write_bytes(identity.certificate)
    key.write_bytes(identity.key)
    with defined(api, namespace, an_object(size=INTEGER, word=STRING)) as things:
        plural = things["spec"]["names"]["plural"]
        registry = kopf.OperatorRegistry()
        settings = settings_of(api, registry)
        settings.admission.managed = f"{plural}.kopf.muster.dev"
        settings.admission.server = kopf.WebhookServer(
            addr="127.0.0.1", certfile=certificate, pkeyfile=key, cafile=certificate
        )

        @kopf.on.validate(GROUP, "v1", plural, id="bounds", registry=registry)
        def bounds(spec: kopf.Spec, warnings: list[str], **_: Any) -> None:
            if spec.get("size", 0) > 5:
                raise kopf.AdmissionError("too large", code=422)
            if spec.get("size", 0) > 3:
                warnings.append("rather large")

        @kopf.on.mutate(GROUP, "v1", plural, id="fill", registry=registry)
        def fill(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
            if "word" not in spec:
                patch.spec["word"] = "filled"

        with running(namespace, registry, settings):
            trial = a_thing(Probe(api, namespace), things, spec={"size": 6})
            eventually(lambda: api.create(trial, dryRun="All"), is_code(422))
            yield things


def test_an_operator_changes_an_object(guarded: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, guarded, spec={"size": 1}))

    assert made["spec"] == {"size": 1, "word": "filled"}


def test_an_operator_refuses_an_object(guarded: Manifest, probe: Probe) -> None:
    answer = probe.api.create(a_thing(probe, guarded, spec={"size": 6}))

    assert answer.code == 422
    assert answer.message.endswith("denied the request: too large")


def test_an_operator_warns_of_an_object(guarded: Manifest, probe: Probe) -> None:
    answer = probe.api.create(a_thing(probe, guarded, spec={"size": 4}))

    answer.expect(201)
    assert answer.warnings == ('299 - "rather large"',)
