"""
What the sandbox costs: its API server over HTTPS, and the simulated cluster that lives on it.

Rates are per second for which the server's process keeps a core busy: what one core does whose
client keeps up. How many there were by the clock is said beside them. A latency goes from the
moment a write is sent to the moment its event has been read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple, TypeVar

import aiohttp
import orjson

from muster.queue.client.kinds import CRD, JOB, WORKLOAD
from tests.bench.measure import Result, Row, Scale, Stopwatch, Unit
from tests.bench.sandbox_process import Server, sandbox
from tests.queue.api.full_manifests import FULL

ROOT: Final = Path(__file__).resolve().parents[2]
DEFINITION: Final = ROOT / "crds" / "kueue.x-k8s.io_workloads.yaml"
WATCHERS: Final = 20
WRITES_PER_S: Final = 200
CHUNK: Final = 500
PODS_PER_JOB: Final = 100
MIB: Final = 1 << 20

_AT_A_TIME: Final = 16
_POLL_S: Final = 0.2
_WAIT_MAX_S: Final = 300.0
_WORKLOADS: Final = WORKLOAD.path("default")
_JOBS: Final = JOB.path("default")
_JSON: Final = {"Content-Type": "application/json"}
_APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_APPLIED_BY: Final = "?fieldManager=kueue-admission&force=true"

Manifest = dict[str, Any]
T = TypeVar("T")


class Sample(NamedTuple):
    """A Workload, and the status that is applied to it."""

    spec: Manifest
    status: Manifest


def _condition(name: str) -> Manifest:
    return {
        "type": name,
        "status": "True",
        "reason": name,
        "message": "Quota reserved in ClusterQueue all",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }


_RESOURCES: Final = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
_CONTAINER: Final = {
    "name": "main",
    "image": "work:3",
    "args": ["--epochs", "3"],
    "env": [{"name": "A", "value": "b"}, {"name": "C", "value": "d"}],
    "resources": {"requests": _RESOURCES, "limits": {"nvidia.com/gpu": "1"}},
}
_POD_SET: Final = {
    "name": "main",
    "count": 4,
    "template": {
        "metadata": {"labels": {"job": "x"}},
        "spec": {"restartPolicy": "Never", "containers": [_CONTAINER]},
    },
}
_ASSIGNED: Final = {
    "name": "main",
    "count": 4,
    "flavors": dict.fromkeys(_RESOURCES, "default"),
    "resourceUsage": {"cpu": "4", "memory": "4Gi", "nvidia.com/gpu": "4"},
}
TYPICAL: Final = Sample(
    {"queueName": "main", "priority": 5, "podSets": [_POD_SET]},
    {
        "conditions": [_condition("QuotaReserved"), _condition("Admitted")],
        "admission": {"clusterQueue": "all", "podSetAssignments": [_ASSIGNED]},
    },
)
FULLEST: Final = Sample(FULL["Workload"]["spec"], FULL["Workload"]["status"])
"""Every field that there is."""


def rows(scale: Scale) -> list[Row]:
    return [*_starts(scale), *_requests(scale), *_clusters(scale)]


def _starts(scale: Scale) -> list[Row]:
    objects = scale.of(5_000)
    return [
        *(
            Row(
                name=f"sandbox-start-{nodes}-nodes",
                what=f"`muster sandbox up --nodes {nodes}`: from the command to its first line",
                unit=Unit.MILLISECONDS,
                target=1_000,
                excluded="nothing",
                measure=partial(starts, nodes=nodes, runs=scale.runs),
            )
            for nodes in (0, 8)
        ),
        Row(
            name="sandbox-restart",
            what=f"the same with --store FILE, in which are {objects:,} Workloads",
            unit=Unit.MILLISECONDS,
            excluded="nothing",
            measure=partial(restarts, objects=objects, runs=scale.runs),
        ),
    ]


def _requests(scale: Scale) -> list[Row]:
    writes, objects = scale.of(2_000), scale.of(5_000)
    found: list[Row] = []
    samples = (("", TYPICAL, "1 kB"), ("-full", FULLEST, "4 kB, every field set"))
    for suffix, sample, size in samples:
        found += [
            Row(
                name=f"sandbox-create{suffix}",
                what=f"create a Workload ({size}) over HTTPS, by our definition with its rules",
                unit=Unit.PER_SECOND,
                target=1_000,
                excluded="the client",
                measure=partial(creates, sample=sample, writes=writes, runs=scale.runs),
            ),
            Row(
                name=f"sandbox-apply{suffix}",
                what=f"apply the status of such a Workload ({size}) for the first time",
                unit=Unit.PER_SECOND,
                target=800,
                excluded="the client",
                measure=partial(applies, sample=sample, writes=writes, runs=scale.runs),
            ),
        ]
    return [
        *found,
        Row(
            name="sandbox-watch",
            what=f"an event reaches {WATCHERS} watchers, {WRITES_PER_S} writes a second",
            unit=Unit.MILLISECONDS,
            target=5,
            excluded="nothing: it is the time by the clock, the write and the client included",
            measure=partial(watches, writes=scale.of(1_000), runs=scale.runs),
        ),
        Row(
            name="sandbox-list",
            what=f"list {objects:,} Workloads in chunks of {CHUNK}",
            unit=Unit.MILLISECONDS,
            excluded="nothing: it is the time by the clock, the client's included",
            measure=partial(lists, objects=objects, runs=scale.runs),
        ),
    ]


def _clusters(scale: Scale) -> list[Row]:
    nodes, jobs = scale.of(500), scale.of(50)
    pods = jobs * PODS_PER_JOB
    return [
        Row(
            name="sandbox-pods",
            what=f"a pod of a Job is made, bound, run and ended: {pods:,} on {nodes} nodes",
            unit=Unit.MILLISECONDS,
            excluded="the client",
            measure=partial(run_pods, nodes=nodes, jobs=jobs),
        ),
        Row(
            name="sandbox-idle",
            what=f"{nodes} nodes on which {pods:,} pods run: how busy a core is",
            unit=Unit.PERCENT,
            excluded="nothing",
            measure=partial(idles, nodes=nodes, jobs=jobs, period_s=30 / scale.divisor),
        ),
    ]


# --- Starts --------------------------------------------------------------------------------------


def starts(_watch: Stopwatch, *, nodes: int, runs: int) -> Result:
    times_ms = []
    busy_ms = []
    for _ in range(runs):
        with sandbox(f"--nodes={nodes}") as server:
            busy_ms.append(server.cpu_s() * 1_000)
            times_ms.append(server.start_ms)
    return Result(tuple(times_ms), {"starts": runs}, f"{median(busy_ms):.0f} ms of a core")


def restarts(_watch: Stopwatch, *, objects: int, runs: int) -> Result:
    times_ms = []
    found = 0
    with TemporaryDirectory(prefix="muster-") as directory:
        store = f"--store={Path(directory) / 'objects'}"
        with sandbox("--nodes=0", store) as server:
            asyncio.run(_load(server, lambda load: load.create(TYPICAL, _names(objects))))
        for _ in range(runs):
            with sandbox("--nodes=0", store) as server:
                found = asyncio.run(_load(server, Load.count, installs=False))
                times_ms.append(server.start_ms)
    return Result(tuple(times_ms), {"objects": found})


# --- Requests ------------------------------------------------------------------------------------


class Load:
    """Requests to one server."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> bytes:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.request(method, path, data=body, headers=given) as response:
            answer = await response.read()
            assert response.status < 300, answer
            return answer

    async def install(self) -> None:
        """Define Workloads, and wait until they are served."""
        name = "workloads.kueue.x-k8s.io"
        path = f"{CRD.path(name=name)}?fieldManager=bench"
        await self.request("PATCH", path, DEFINITION.read_bytes(), **_APPLY)
        await self.until(self._is_served)

    async def _is_served(self) -> bool:
        async with self.session.get(f"{_WORKLOADS}?limit=1") as response:
            return response.status == 200

    async def until(self, holds: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        async with asyncio.timeout(_WAIT_MAX_S):
            while not await holds():  # noqa: ASYNC110 - of another process
                await asyncio.sleep(_POLL_S)

    async def create(self, sample: Sample, names: Iterable[str]) -> int:
        """Create Workloads, several at a time; return how many."""
        bodies = [orjson.dumps(_workload(name, spec=sample.spec)) for name in names]
        await self._all("POST", [(_WORKLOADS, body) for body in bodies], _JSON)
        return len(bodies)

    async def apply(self, sample: Sample, names: Iterable[str]) -> int:
        """Apply the status of Workloads, several at a time; return how many."""
        requests = [
            (
                f"{_WORKLOADS}/{name}/status{_APPLIED_BY}",
                orjson.dumps(_workload(name, status=sample.status)),
            )
            for name in names
        ]
        await self._all("PATCH", requests, _APPLY)
        return len(requests)

    async def _all(
        self, method: str, requests: list[tuple[str, bytes]], headers: dict[str, str]
    ) -> None:
        waiting = iter(requests)

        async def send() -> None:
            for path, body in waiting:
                await self.request(method, path, body, **headers)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(_AT_A_TIME):
                tasks.create_task(send())

    async def count(self) -> int:
        """Read all Workloads in chunks; return how many there are."""
        continued, found = "", 0
        while True:
            more = f"&continue={continued}" if continued else ""
            page = orjson.loads(await self.request("GET", f"{_WORKLOADS}?limit={CHUNK}{more}"))
            found += len(page["items"])
            continued = page["metadata"].get("continue", "")
            if not continued:
                return found


async def _load(
    server: Server, story: Callable[[Load], Coroutine[Any, Any, T]], *, installs: bool = True
) -> T:
    async with server.session(2 * WATCHERS) as session:
        load = Load(session)
        if installs:
            await load.install()
        return await story(load)


def _names(count: int, first: str = "w") -> list[str]:
    return [f"{first}-{number}" for number in range(count)]


def _workload(name: str, **content: Manifest) -> Manifest:
    return {
        "apiVersion": WORKLOAD.api_version,
        "kind": WORKLOAD.kind,
        "metadata": {"name": name, "namespace": "default", "labels": {"team": "a"}},
        **content,
    }


def creates(_watch: Stopwatch, *, sample: Sample, writes: int, runs: int) -> Result:
    async def story(server: Server, load: Load) -> Result:
        rates = Rates(server)
        for run in range(runs):
            with rates:
                rates.count = await load.create(sample, _names(writes, f"w{run}"))
        return rates.result("created")

    with sandbox("--nodes=0") as server:
        return asyncio.run(_load(server, partial(story, server)))


def applies(_watch: Stopwatch, *, sample: Sample, writes: int, runs: int) -> Result:
    async def story(server: Server, load: Load) -> Result:
        rates = Rates(server)
        for run in range(runs):
            names = _names(writes, f"w{run}")
            await load.create(sample, names)
            with rates:
                rates.count = await load.apply(sample, names)
        return rates.result("applied")

    with sandbox("--nodes=0") as server:
        return asyncio.run(_load(server, partial(story, server)))


class Rates:
    """How many operations a second a server does, of its own time and by the clock."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._busy: list[float] = []
        self._by_clock: list[float] = []
        self.count = 0
        """Of the part that is timed; to be set within."""

    def __enter__(self) -> None:
        self._cpu_s, self._began_s = self._server.cpu_s(), perf_counter()

    def __exit__(self, *_: object) -> None:
        took_s = perf_counter() - self._began_s
        self._busy.append(self.count / max(self._server.cpu_s() - self._cpu_s, 0.01))
        self._by_clock.append(self.count / took_s)

    def result(self, what: str) -> Result:
        each_us = 1_000_000 / median(self._busy)
        detail = f"{each_us:.0f} µs each; by the clock {median(self._by_clock):,.0f} /s"
        return Result(tuple(self._busy), {what: self.count}, detail)


# --- Reads ---------------------------------------------------------------------------------------


def watches(_watch: Stopwatch, *, writes: int, runs: int) -> Result:
    with sandbox("--nodes=0") as server:
        latencies = [
            asyncio.run(_load(server, partial(_latencies_ms, names=_names(writes, f"w{run}"))))
            for run in range(runs)
        ]
    tail_ms = median(quantiles(each, n=100)[-1] for each in latencies)
    detail = f"99 of 100 within {tail_ms:.1f} ms"
    return Result(tuple(map(median, latencies)), {"events": len(latencies[0])}, detail)


async def _latencies_ms(load: Load, names: list[str]) -> list[float]:
    """Create Workloads at a steady rate; return how long each took to every watcher."""
    sent_s: dict[bytes, float] = {}
    found_ms: list[float] = []
    ready = asyncio.Barrier(WATCHERS + 1)

    async def read() -> None:
        version = orjson.loads(await load.request("GET", f"{_WORKLOADS}?limit=1"))["metadata"]
        path = f"{_WORKLOADS}?watch=true&resourceVersion={version['resourceVersion']}"
        async with load.session.get(path) as response:
            await ready.wait()
            for _ in names:
                line = await response.content.readline()
                now_s = perf_counter()
                _, _, rest = line.partition(b'"name":"')
                found_ms.append((now_s - sent_s[rest[: rest.index(b'"')]]) * 1_000)
            # A stream has no end of its own, and a farewell would outlive the loop.
            assert response.connection is not None
            assert response.connection.transport is not None
            response.connection.transport.abort()

    async def write() -> None:
        await ready.wait()
        began_s = perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for number, name in enumerate(names):
                body = orjson.dumps(_workload(name, spec=TYPICAL.spec))
                await asyncio.sleep(max(0, began_s + number / WRITES_PER_S - perf_counter()))
                sent_s[name.encode()] = perf_counter()
                tasks.create_task(load.request("POST", _WORKLOADS, body, **_JSON))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(WATCHERS):
            tasks.create_task(read())
        tasks.create_task(write())
    return found_ms


def lists(_watch: Stopwatch, *, objects: int, runs: int) -> Result:
    async def story(server: Server, load: Load) -> Result:
        await load.create(TYPICAL, _names(objects))
        times_ms, busy_ms = [], []
        found = 0
        for _ in range(runs):
            cpu_s, began_s = server.cpu_s(), perf_counter()
            found = await load.count()
            times_ms.append((perf_counter() - began_s) * 1_000)
            busy_ms.append((server.cpu_s() - cpu_s) * 1_000)
        detail = f"{median(busy_ms):.0f} ms of the server"
        return Result(tuple(times_ms), {"listed": found}, detail)

    with sandbox("--nodes=0") as server:
        return asyncio.run(_load(server, partial(story, server)))


# --- Clusters ------------------------------------------------------------------------------------


def run_pods(_watch: Stopwatch, *, nodes: int, jobs: int) -> Result:
    pods = jobs * PODS_PER_JOB
    with sandbox(f"--nodes={nodes}", "--pod-duration=1s") as server:
        cpu_s, began_s = server.cpu_s(), perf_counter()
        ended = asyncio.run(_load(server, partial(_run, jobs=jobs, field="succeeded")))
        took_s = perf_counter() - began_s
        each_ms = (server.cpu_s() - cpu_s) * 1_000 / pods
    return Result((each_ms,), {"ended": ended}, f"all within {took_s:.0f} s")


def idles(_watch: Stopwatch, *, nodes: int, jobs: int, period_s: float) -> Result:
    with sandbox(f"--nodes={nodes}", "--pod-duration=1h") as server:
        running = asyncio.run(_load(server, partial(_run, jobs=jobs, field="active")))

        async def idle() -> float:
            cpu_s, began_s = server.cpu_s(), perf_counter()
            await asyncio.sleep(period_s)
            return 100 * (server.cpu_s() - cpu_s) / (perf_counter() - began_s)

        share = asyncio.run(idle())
        resident = server.resident_bytes()
    return Result((share,), {"running": running}, f"{resident / MIB:.0f} MiB of memory")


async def _run(load: Load, jobs: int, field: str) -> int:
    """Create Jobs, and wait until all their pods are counted in a field of their status."""
    for name in _names(jobs, "job"):
        await load.request("POST", _JOBS, orjson.dumps(_job(name)), **_JSON)

    async def counted() -> int:
        items = orjson.loads(await load.request("GET", _JOBS))["items"]
        return sum(each.get("status", {}).get(field, 0) for each in items)

    async def all_counted() -> bool:
        return await counted() == jobs * PODS_PER_JOB

    await load.until(all_counted)
    return await counted()


def _job(name: str) -> Manifest:
    container = {"name": "main", "image": "work", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {"name": name},
        "spec": {
            "parallelism": PODS_PER_JOB,
            "completions": PODS_PER_JOB,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
