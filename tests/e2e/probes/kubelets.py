"""
Nodes that run what is placed on them: our simulated kubelets, beside the API server of any cluster.

They are a process of their own, `python -m tests.e2e.probes.kubelets KUBECONFIG LABEL NAME...`,
that ends with its input: whoever starts them cannot leave them behind.
"""

import asyncio
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from muster.queue.client.http_client import HttpClient
from muster.queue.client.kubeconfig import read_kubeconfig
from muster.queue.clock import WallClock
from muster.queue.simulated.node_specs import NodeSpec
from muster.queue.simulated.nodes.cluster import simulated_nodes
from tests.e2e.probes.nodes import CAPACITY

READY: Final = "ready"
READY_MAX_S: Final = 30.0
END_MAX_S: Final = 10.0
POD_DURATION_US: Final = 500_000


@contextmanager
def kubelets(kubeconfig: str, label: str, names: Sequence[str]) -> Iterator[None]:
    """Run nodes of these names, with a label "probe", until the end of the block."""
    command = (sys.executable, "-m", __name__, kubeconfig, label, *names)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            spoken, _, _ = select.select([process.stdout], [], [], READY_MAX_S)
            assert spoken, "no kubelet is ready"
            assert process.stdout.readline().strip() == READY
            yield
        finally:
            process.stdin.close()
            try:
                process.wait(END_MAX_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


async def run(kubeconfig: str, label: str, names: Sequence[str]) -> None:
    specs = [
        NodeSpec(name=name, address=f"192.0.2.{number}", labels={"probe": label}, capacity=CAPACITY)
        for number, name in enumerate(names, 1)
    ]
    async with (
        HttpClient(read_kubeconfig(kubeconfig)) as client,
        simulated_nodes(client, WallClock(), specs, seed=1, pod_duration_us=POD_DURATION_US),
    ):
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
