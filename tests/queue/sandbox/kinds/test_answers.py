"""
Built-in kinds behave as on a real server: the same manifests and changes get the same answers.

The answers were recorded; `tests/e2e/test_builtin_answers.py` sees to it that they stay true.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest

from muster.queue.client.kinds import Kind
from muster.queue.client.refusal import Refusal
from muster.queue.clock import LoopClock
from muster.queue.sandbox.api.attributes import User
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.server import MERGE_PATCH, ApiServer
from tests.e2e.builtin_answers import RECORDED, Told, cases, changes, told
from tests.queue.api.manifests import Manifest, changed

EXPECTED: dict[str, Told] = json.loads(RECORDED.read_text(encoding="utf-8"))
KEPT = WriteOptions(user=User("tests", ("system:masters",)), manager="tests")
IN_VAIN = WriteOptions(user=KEPT.user, manager="tests", dry_run=True)


def place(server: ApiServer, manifest: Manifest, subresource: str = "") -> Place:
    group, _, version = manifest["apiVersion"].rpartition("/")
    (resource,) = [
        each
        for each in server.catalogue
        if (each.kind.group, each.kind.version, each.kind.kind)
        == (group, version, manifest["kind"])
    ]
    kind: Kind = resource.kind
    namespace = "default" if kind.namespaced else ""
    return Place(resource, namespace, manifest["metadata"]["name"], subresource)


async def created(server: ApiServer, manifest: Manifest) -> Told:
    try:
        where = place(server, manifest)._replace(name="")
        written = await server.create(where, manifest, IN_VAIN)
    except Refusal as refusal:
        return told(refusal.code, refusal.status())
    return told(201, dict(written.stored.value))


async def replaced(server: ApiServer, manifest: Manifest, subresource: str) -> Told:
    try:
        written = await server.replace(place(server, manifest, subresource), manifest, IN_VAIN)
    except Refusal as refusal:
        return told(refusal.code, refusal.status())
    return told(200, dict(written.stored.value))


async def answers() -> AsyncIterator[tuple[str, Told]]:
    server = ApiServer(LoopClock(1_767_268_800_000_000), Random(1))
    await server.start()
    for file in ("accepted", "refused"):
        for name, manifest in cases(file).items():
            yield f"{file}: {name}", await created(server, manifest)
    for name, entry in cases("changes").items():
        where = place(server, entry["manifest"])
        await server.create(where._replace(name=""), entry["manifest"], KEPT)
        if "status" in entry:
            status = {"status": entry["status"]}
            await server.patch(where._replace(subresource="status"), MERGE_PATCH, status, KEPT)
        made: dict[str, Any] = dict((await server.get(where)).value)
        for change, subresource, each in changes(entry):
            yield f"{name}: {change}", await replaced(server, changed(made, each), subresource)


@pytest.fixture(scope="module")
def found() -> dict[str, Told]:
    async def collect() -> dict[str, Told]:
        return {name: answer async for name, answer in answers()}

    return asyncio.run(collect())


def test_every_case_is_recorded(found: dict[str, Told]) -> None:
    assert found.keys() == EXPECTED.keys()


@pytest.mark.parametrize("case", EXPECTED)
def test_the_sandbox_answers_as_a_real_server(case: str, found: dict[str, Told]) -> None:
    assert found[case] == EXPECTED[case]
