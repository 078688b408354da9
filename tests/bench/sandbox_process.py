"""
A sandbox in a process of its own, as `muster sandbox up` starts it, and sessions that load it.

Where there are several cores the server has one to itself, and the client keeps to the others. What
the server takes is read from /proc, so that neither a slow client nor a busy neighbour counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

import aiohttp

from muster.queue.client.kubeconfig import read_kubeconfig
from tests.bench.measure import Unavailable

PROC: Final = Path("/proc")
_UP: Final = (sys.executable, "-c", "from muster.queue.cli import main; main()", "sandbox", "up")
_END_MAX_S: Final = 30.0
_LAST_WORDS_MAX: Final = 2_000


@dataclass(frozen=True)
class Server:
    """A sandbox that runs."""

    process_id: int
    kubeconfig: Path
    start_ms: float
    """From the start of the command to its first line."""

    def cpu_s(self) -> float:
        """Return how long it has kept a core busy so far."""
        fields = self._read("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        return int(self._read("statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def _read(self, name: str) -> str:
        return (PROC / str(self.process_id) / name).read_text(encoding="utf-8")

    def session(self, connections: int) -> aiohttp.ClientSession:
        """Return a session of so many connections with it; needs a running loop."""
        access = read_kubeconfig(str(self.kubeconfig))
        assert access.trust is not None, "it has a certificate"
        return aiohttp.ClientSession(
            access.server,
            connector=aiohttp.TCPConnector(limit=connections, ssl=access.trust),
            headers={"Authorization": f"Bearer {access.token}", "User-Agent": "bench"},
        )


@contextmanager
def sandbox(*options: str) -> Iterator[Server]:
    """Run one until the context is left; raises Unavailable where it can't be measured."""
    if not (PROC / "self" / "stat").exists():
        raise Unavailable("CPU time of another process is read from /proc, which is not there.")
    with TemporaryDirectory(prefix="muster-") as directory:
        home = Path(directory)
        kubeconfig, log = home / "kubeconfig", home / "log"
        began_s = monotonic()
        with (
            log.open("wb") as errors,
            subprocess.Popen(
                (*_UP, *options, f"--kubeconfig={kubeconfig}"),
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "XDG_STATE_HOME": directory},  # apart from the user's own
            ) as process,
        ):
            try:
                assert process.stdout is not None
                said = process.stdout.readline()
                start_ms = (monotonic() - began_s) * 1_000
                assert said, log.read_text(encoding="utf-8")[-_LAST_WORDS_MAX:]
                with _cores_apart(process.pid):
                    yield Server(process.pid, kubeconfig, start_ms)
            finally:
                process.terminate()
                try:
                    process.wait(_END_MAX_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise


@contextmanager
def _cores_apart(server_id: int) -> Iterator[None]:
    """Give a process a core that this one leaves alone, where there are cores to choose from."""
    if not hasattr(os, "sched_setaffinity") or len(cores := sorted(os.sched_getaffinity(0))) < 2:
        yield
        return
    *ours, its = cores
    os.sched_setaffinity(server_id, {its})
    os.sched_setaffinity(0, ours)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
