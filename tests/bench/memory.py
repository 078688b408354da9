"""
What the engine's state holds in memory: resident memory of a process before and after it is built.

    python -m tests.bench.memory QUEUES WORKLOADS

prints the difference in bytes, the Workloads themselves included, for each is an object of its own.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.bench.inputs import Layout, World
from tests.bench.measure import Result, Row, Scale, Stopwatch, Unavailable, Unit

ROOT = Path(__file__).resolve().parents[2]
STATM = Path("/proc/self/statm")
MIB = 1 << 20


def rows(scale: Scale) -> list[Row]:
    queues, workloads = scale.of(1_000), scale.of(50_000)
    return [
        Row(
            name="memory",
            what=f"the engine's state: {queues:,} CQs, {workloads:,} workloads, half waiting",
            unit=Unit.MEBIBYTES,
            peer=(690, 1_150),
            target=400,
            excluded="the interpreter and its modules; the peer's figure has a copy of all objects",
            measure=partial(memory, queues=queues, workloads=workloads, runs=scale.runs),
        )
    ]


def memory(_watch: Stopwatch, *, queues: int, workloads: int, runs: int) -> Result:
    if not STATM.exists():
        raise Unavailable("Resident memory is read from /proc, which is not there.")
    command = [sys.executable, "-m", "tests.bench.memory", str(queues), str(workloads)]
    values = [
        int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
        / MIB
        for _ in range(runs)
    ]
    return Result(tuple(values), {"workloads": workloads})


def main() -> None:
    queues, workloads = (int(argument) for argument in sys.argv[1:])
    before = _resident_bytes()
    world = build(queues, workloads)
    gc.collect()
    print(_resident_bytes() - before)
    assert len(world.state.items) == workloads


def build(queues: int, workloads: int) -> World:
    """Return a world whose queues are full, with one Workload waiting for each that runs."""
    layout = Layout(cohorts=-(-queues // 100), queues_per_cohort=min(queues, 100))
    each = workloads // queues
    world = World()
    world.add_queues(layout, cpus=each - each // 2)
    for queue in layout.queues:
        for _ in range(each - each // 2):
            world.add_running(queue)
        for _ in range(each // 2):
            world.add_waiting(queue)
    world.settle()
    return world


def _resident_bytes() -> int:
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
