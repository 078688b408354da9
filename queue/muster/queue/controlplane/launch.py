"""
Start a control plane in a folder, on free ports of the loopback interface, and stop it for sure.

Decides the order of its parts and when it counts as ready. Pods are scheduled, but there is no
kubelet: what pods do then is for others to simulate.
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from muster.queue.controlplane.errors import ControlPlaneError
from muster.queue.controlplane.layout import ADMIN, Layout
from muster.queue.controlplane.server import Server, stop, wait_until_healthy

# The later ones are clients of the API server, and wait for nothing patiently.
_FIRST: Final = ("etcd", "kube-apiserver")
_THEN: Final = ("kube-controller-manager", "kube-scheduler")

_START_MAX_S: Final = 90.0  # for one part; an idle machine needs two
_GRACE_S: Final = 3.0  # with open watches the API server would take a minute
_ATTEMPTS: Final = 3
_PORT_IS_TAKEN: Final = "address already in use"


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A control plane that runs. As a context manager, it stops at the end."""

    url: str
    token: str = field(repr=False)
    """Of a user who may do everything."""
    certificate: Path
    """What the API server proves itself with."""
    kubeconfig: Path
    kubectl: Path
    audit_log: Path | None
    """Of every request one JSON document a line, if asked for."""
    servers: tuple[Server, ...] = field(repr=False)

    def stop(self) -> None:
        """End every process; those that have ended already are no matter."""
        stop(self.servers, _GRACE_S)
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(programs: Path, directory: Path, *, audit_log: bool = False) -> ControlPlane:
    """
    Return a control plane that is ready, run from `programs` with all of its files in `directory`.

    `programs` is what `build` returns, or any folder with programs of the same names. Started again
    in the same `directory` it has its objects of last time. Raises ControlPlaneError, and then
    leaves no process.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _start(programs, directory, audit_log=audit_log)
        except ControlPlaneError as error:
            # A port was free when we looked, and another's when we came.
            if _PORT_IS_TAKEN not in str(error):
                raise
    return _start(programs, directory, audit_log=audit_log)


def _start(programs: Path, directory: Path, *, audit_log: bool) -> ControlPlane:
    layout = Layout(directory, audit_log=audit_log)
    layout.write_files()
    with ExitStack() as undo:
        servers: list[Server] = []
        undo.callback(stop, servers, _GRACE_S)
        for parts in (_FIRST, _THEN):
            for part in parts:
                command = (str(programs / part), *layout.flags[part])
                servers.append(Server(command, directory / f"{part}.log"))
            for part in parts:
                if url := layout.health_urls.get(part):
                    wait_until_healthy(url, layout.certificate, servers, _START_MAX_S)
        layout.write_kubeconfig()
        running = ControlPlane(
            url=layout.url,
            token=layout.tokens[ADMIN],
            certificate=layout.certificate,
            kubeconfig=layout.kubeconfig,
            kubectl=programs / "kubectl",
            audit_log=layout.audit_log,
            servers=tuple(servers),
        )
        atexit.register(running.stop)
        undo.pop_all()
    return running
