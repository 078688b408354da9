"""What `muster sandbox up` does: all parts together, until the process is told to end."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from muster.queue.clock import WallClock
from muster.queue.sandbox.cluster import simulated_cluster
from muster.queue.sandbox.serving import serve
from muster.queue.sandbox.session import Record, Session, write_private
from muster.queue.simulated.node_specs import NodeSpec
from muster.queue.simulated.nodes.cluster import simulated_nodes

Tell = Callable[[str], None]

_SEED: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked for."""

    specs: Sequence[NodeSpec]
    kubeconfig: Path
    """Where to write the kubeconfig."""
    pod_duration_us: int
    """How long a container of a Job runs when nobody says otherwise."""
    port: int = 0
    store: Path | None = None
    real: bool = False
    """On a real control plane instead of the sandbox's API server."""
    audit_log: Path | None = None
    """Where a real control plane is to write what it is asked."""


async def run(session: Session, order: Order, tell: Tell) -> None:
    """
    Be the sandbox of a session until SIGTERM, SIGINT or SIGHUP; `tell` hears how far the start is.

    Raises SessionError, StoreFileError, ControlPlaneError and OSError.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            loop.add_signal_handler(number, ended.set)
    with session.held() as tell_ready:
        running = _real(order, tell) if order.real else _sandbox(order)
        try:
            async with running as (url, kubectl):
                record = Record(
                    process_id=os.getpid(),
                    url=url,
                    kubeconfig=str(order.kubeconfig),
                    real=order.real,
                    nodes=len(order.specs),
                    store=str(order.store.absolute()) if order.store else "",
                    kubectl=kubectl,
                )
                tell_ready(record)
                tell(record.announcement())
                await ended.wait()
        finally:
            order.kubeconfig.unlink(missing_ok=True)


_Running = tuple[str, str]
"""URL, and the kubectl that comes with it, "" for none."""


@asynccontextmanager
async def _sandbox(order: Order) -> AsyncIterator[_Running]:
    clock = WallClock()
    serving = serve(clock, Random(), port=order.port, store=order.store)  # noqa: S311 - uids
    async with serving as served:
        write_private(order.kubeconfig, served.kubeconfig())
        cluster = simulated_cluster(
            served.server,
            clock,
            order.specs,
            seed=_SEED,
            pod_duration_us=order.pod_duration_us,
        )
        async with cluster:
            yield served.url, ""


@asynccontextmanager
async def _real(order: Order, tell: Tell) -> AsyncIterator[_Running]:
    # The sandbox, which is to start at once, needs none of these.
    from muster.queue.client.http_client import HttpClient  # noqa: PLC0415
    from muster.queue.client.kubeconfig import read_kubeconfig  # noqa: PLC0415
    from muster.queue.controlplane.build import build  # noqa: PLC0415
    from muster.queue.controlplane.launch import start  # noqa: PLC0415

    programs = await asyncio.to_thread(build, tell)
    with TemporaryDirectory(prefix="muster-") as directory:
        running = await asyncio.to_thread(
            start, programs, Path(directory), audit_log=order.audit_log is not None
        )
        with running as control_plane, _shown(control_plane.audit_log, order.audit_log):
            write_private(order.kubeconfig, control_plane.kubeconfig.read_text(encoding="utf-8"))
            async with HttpClient(read_kubeconfig(str(order.kubeconfig))) as client:
                nodes = simulated_nodes(
                    client,
                    WallClock(),
                    order.specs,
                    seed=_SEED,
                    pod_duration_us=order.pod_duration_us,
                )
                async with nodes:
                    yield control_plane.url, str(control_plane.kubectl)


@contextmanager
def _shown(log: Path | None, wanted: Path | None) -> Iterator[None]:
    """Have a log of a control plane where it is wanted, while it is written and afterwards."""
    if not (log and wanted):
        yield
        return
    wanted.unlink(missing_ok=True)
    wanted.symlink_to(log)
    try:
        yield
    finally:
        wanted.unlink()
        shutil.copyfile(log, wanted)
