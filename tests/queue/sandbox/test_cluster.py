"""A whole simulated cluster on virtual time: its days, the same in every run, and bad ones."""

import asyncio
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from muster.queue.client.kinds import CONFIG_MAP, JOB, NODE
from muster.queue.client.protocol import Selection
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.local import LocalClient
from muster.queue.sandbox.store.memory import Store
from muster.queue.sandbox.store.sqlite import SqliteJournal
from tests.queue.sandbox.api.servers import Served, refused
from tests.queue.sandbox.api.servers import run as serve
from tests.queue.sandbox.days import HOUR_S, cluster, day, job, run


def test_a_day_of_jobs_runs_to_its_end() -> None:
    result = run(lambda: day(seed=7, hours=24, jobs=40, nodes=1))

    assert sum(result.ended.values()) == 40
    assert result.ended["Complete"] > 20
    assert result.pods_run > 40
    assert result.took_s > 12 * HOUR_S


def test_a_day_is_the_same_in_every_process() -> None:
    seed, hours, jobs, nodes = "7", "1", "20", "4"
    command = (sys.executable, "-m", "tests.queue.sandbox.days", seed, hours, jobs, nodes)
    told = [
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in ("1", "2")
    ]

    assert "digest=" in told[0]
    assert told[0] == told[1]


def test_another_seed_is_another_day() -> None:
    one = run(lambda: day(seed=1, hours=1, jobs=5, nodes=2))
    other = run(lambda: day(seed=2, hours=1, jobs=5, nodes=2))

    assert sum(one.ended.values()) == sum(other.ended.values()) == 5
    assert one.pods_run >= 5
    assert one.took_s > 0.2 * HOUR_S
    assert one.digest != other.digest


def test_the_same_requests_make_the_same_store_byte_by_byte(tmp_path: Path) -> None:
    async def story(served: Served) -> None:
        chance = Random(3)
        for number in range(200):
            name = f"x-{chance.randrange(20)}"
            manifest: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap"}
            change = {"data": {chance.choice("abc"): str(number)}}
            try:
                match chance.randrange(5):
                    case 0:
                        await served.create(name, **change)
                    case 1:
                        metadata = {"generateName": "y-"}
                        await served.client.create(
                            CONFIG_MAP, manifest | {"metadata": metadata} | change, "work"
                        )
                    case 2:
                        await served.patch(name, change)
                    case 3:
                        metadata = {"name": name, "namespace": "work"}
                        await served.client.apply(
                            CONFIG_MAP,
                            manifest | {"metadata": metadata} | change,
                            manager="other",
                            force=True,
                        )
                    case _:
                        await served.delete(name)
            except Refusal:
                pass
            await asyncio.sleep(chance.random())

    contents = []
    for file in ("one", "two"):
        path = tmp_path / file
        serve(story, chance=Random(5), journal=SqliteJournal(path))
        with closing(SqliteJournal(path)) as journal:
            revision, objects = journal.load()
            contents.append((revision, [(key, stored.encoded) for key, stored in objects]))

    assert contents[0] == contents[1]
    assert contents[0][0] > 1100


def test_a_cluster_goes_on_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "objects.db"

    async def before() -> int:
        async with cluster(2, journal=SqliteJournal(path)) as server:
            client = LocalClient(server, "tests")
            await client.create(JOB, job("long", annotations=lasting("2h")), "default")
            await asyncio.sleep(HOUR_S)
            assert (await client.get(JOB, "long", "default"))["status"]["active"] == 1
            return server.store.revision

    async def after() -> int:
        async with cluster(2, journal=SqliteJournal(path)) as server:
            client = LocalClient(server, "tests")
            revision = server.store.revision
            await asyncio.sleep(3 * HOUR_S)
            assert (await client.get(JOB, "long", "default"))["status"]["succeeded"] == 1
            return revision

    ended = run(before)
    assert run(after) >= ended


def test_nodes_of_an_earlier_start_are_gone_and_real_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "objects.db"
    real = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real"}}

    async def before() -> None:
        async with cluster(3, journal=SqliteJournal(path)) as server:
            await LocalClient(server, "tests").create(NODE, real)

    async def after() -> list[str]:
        async with cluster(1, journal=SqliteJournal(path)) as server:
            page = await LocalClient(server, "tests").list(NODE)
            return [node["metadata"]["name"] for node in page.items]

    run(before)
    assert run(after) == ["node-0", "real"]


def lasting(duration: str) -> dict[str, str]:
    return {"sim.muster.dev/duration": duration}


def test_a_cluster_outlives_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    path = tmp_path / "objects.db"

    async def story() -> None:
        journal = SqliteJournal(path)
        execute = journal._database.execute
        async with cluster(2, journal=journal) as server:
            client = LocalClient(server, "tests")
            (pages,) = execute("pragma page_count").fetchone()
            execute(f"pragma max_page_count = {pages + 10}")
            refusal = await refused(_create_jobs(client, 1000))
            assert (refusal.code, "full" in refusal.message) == (500, True)
            await asyncio.sleep(HOUR_S)
            execute("pragma max_page_count = 1000000")
            await client.create(JOB, job("last"), "default")
            await asyncio.sleep(HOUR_S)

            for each in (await client.list(JOB, Selection(namespace="default"))).items:
                assert each["status"]["succeeded"] == 1, each
            for node in (await client.list(NODE)).items:
                conditions = {it["type"]: it["status"] for it in node["status"]["conditions"]}
                assert conditions["Ready"] == "True"
            kept.update(_jobs_in(server.store))

    kept: dict[int, bytes] = {}
    run(story)
    with closing(Store(SqliteJournal(path))) as store:
        assert _jobs_in(store) == kept
    assert len(kept) > 1


async def _create_jobs(client: LocalClient, count: int) -> None:
    for number in range(count):
        await client.create(JOB, job(f"job-{number}"), "default")


def _jobs_in(store: Store) -> dict[int, bytes]:
    return {each.revision: each.encoded for each in store.select("jobs.batch")}
