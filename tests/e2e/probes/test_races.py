"""Several clients at once: who wins, who is told to try again, and that nothing gets lost."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.api import APPLY, JSON_PATCH, Answer, Api, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest, changed

pytestmark = pytest.mark.usefixtures("gadgets")

CLIENTS = 8

AtOnce = Callable[[Callable[[Api, int], Answer]], list[Answer]]


@pytest.fixture(scope="module")
def at_once(cluster: Path) -> Iterator[AtOnce]:
    """Let each of several clients, by its number, ask at the same time; returns the answers."""
    with ExitStack() as stack:
        clients = [stack.enter_context(Api(cluster)) for _ in range(CLIENTS)]
        threads = stack.enter_context(ThreadPoolExecutor(CLIENTS))

        def ask(question: Callable[[Api, int], Answer]) -> list[Answer]:
            return list(threads.map(question, clients, range(CLIENTS)))

        yield ask


def codes(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.code for answer in answers)


def test_a_name_is_given_once(at_once: AtOnce, probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1")

    answers = at_once(lambda client, _: client.create(manifest))

    assert codes(answers) == {201: 1, 409: CLIENTS - 1}
    assert {answer.body.get("reason") for answer in answers} == {None, "AlreadyExists"}


def test_generated_names_differ(at_once: AtOnce, probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1")
    path = place(manifest).rpartition("/")[0]
    body = {"metadata": {"generateName": "many-"}}

    answers = at_once(lambda client, _: client.request("POST", path, body))

    assert len({answer.expect(201)["metadata"]["name"] for answer in answers}) == CLIENTS


def test_a_version_is_replaced_once(at_once: AtOnce, probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))

    answers = at_once(lambda client, n: client.replace(changed(made, {"data.by": str(n)})))

    assert codes(answers) == {200: 1, 409: CLIENTS - 1}
    (winner,) = [str(n) for n, answer in enumerate(answers) if answer.code == 200]
    assert probe.get(made)["data"] == {"by": winner}


@pytest.mark.parametrize("kind", [("ConfigMap", "v1"), GADGET], ids=lambda kind: kind[0])
def test_patches_of_different_fields_all_arrive(
    kind: tuple[str, str], at_once: AtOnce, probe: Probe
) -> None:
    """Nobody asked for a version, so nobody is refused for one."""
    made = probe.create(probe.a(*kind))

    answers = at_once(
        lambda client, n: client.patch(made, {"metadata": {"annotations": {f"n{n}": "x"}}})
    )

    assert codes(answers) == {200: CLIENTS}
    kept = probe.get(made)["metadata"]["annotations"]
    assert kept == {f"n{n}": "x" for n in range(CLIENTS)}


def test_managers_that_apply_different_fields_all_arrive(at_once: AtOnce, probe: Probe) -> None:
    made = probe.create(probe.a(*GADGET, spec={"size": 1}))
    body: Manifest = {key: made[key] for key in ("apiVersion", "kind")}

    def apply(client: Api, n: int) -> Answer:
        applied = {**body, "metadata": {}, "spec": {"options": {f"n{n}": "x"}}}
        query = {"fieldManager": f"m{n}"}
        return client.request("PATCH", place(made), applied, APPLY, **query)

    answers = at_once(apply)

    assert codes(answers) == {200: CLIENTS}
    kept = probe.get(made)
    assert kept["spec"]["options"] == {f"n{n}": "x" for n in range(CLIENTS)}
    assert len(kept["metadata"]["managedFields"]) == 1 + CLIENTS


def test_a_test_and_a_replacement_are_one_step(at_once: AtOnce, probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1", data={"held": "no"}))
    patch = [
        {"op": "test", "path": "/data/held", "value": "no"},
        {"op": "replace", "path": "/data/held", "value": "yes"},
    ]

    answers = at_once(lambda client, _: client.patch(made, patch, JSON_PATCH))

    assert codes(answers) == {200: 1, 422: CLIENTS - 1}


def test_an_object_is_deleted_once(at_once: AtOnce, probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))

    answers = at_once(lambda client, _: client.delete(made))

    assert codes(answers) == {200: 1, 404: CLIENTS - 1}


def test_all_watchers_are_told_the_same(at_once: AtOnce, probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))
    version = made["metadata"]["resourceVersion"]
    at_once(lambda client, n: client.patch(made, {"data": {f"n{n}": "x"}}))

    with ExitStack() as stack:
        watches = [stack.enter_context(probe.watch(made, resourceVersion=version)) for _ in "abc"]
        told = [events.take(CLIENTS) for events in watches]

    assert told[0] == told[1] == told[2]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in told[0]]
    assert versions == sorted(versions)
