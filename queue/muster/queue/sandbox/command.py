"""What `muster sandbox up` does: all parts together, until the process is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from muster.queue.clock import WallClock
from muster.queue.sandbox.cluster import simulated_cluster
from muster.queue.sandbox.serving import serve
from muster.queue.sandbox.session import Record, Session, write_private
from muster.queue.simulated.cluster_file import NodeSpec


async def run(
    session: Session,
    *,
    specs: Sequence[NodeSpec],
    port: int,
    store: Path | None,
    kubeconfig: Path | None,
    tell: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT; raises SessionError, StoreFileError and OSError."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    with session.held():
        async with serve(WallClock(), Random(), port=port, store=store) as serving:  # noqa: S311
            path = (kubeconfig or session.kubeconfig).absolute()
            write_private(path, serving.kubeconfig())
            session.tell(Record(os.getpid(), serving.url, str(path), "sandbox", str(store or "")))
            async with simulated_cluster(serving.server, WallClock(), specs, seed=0):
                tell(f"The sandbox is ready at {serving.url}, with {len(specs)} nodes. Next:\n")
                tell(f"  export KUBECONFIG={path}\n  kubectl get nodes\n")
                await ended.wait()
