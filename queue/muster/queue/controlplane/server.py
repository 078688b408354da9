"""
One process of a control plane: how it is started, asked for its health, and ended for sure.

Decides nothing about what it runs. A server gets a pipe as its standard input, and ours end when
the pipe does: that is how they notice that whoever started them was killed.
"""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

from muster.queue.controlplane.errors import ControlPlaneError

_POLL_S: Final = 0.05
_ANSWER_MAX_S: Final = 5.0  # for one question about health
_LINES_TOLD: Final = 8


class Server:
    """A process in a group of its own, whose output goes to a file."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.name = Path(command[0]).name
        self.log = log
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C is for us; we then end it in our order
                )
        except OSError as error:
            raise ControlPlaneError(f"{command[0]} does not start: {error.strerror}") from None

    @property
    def process_id(self) -> int:
        return self._process.pid

    def is_running(self) -> bool:
        return self._process.poll() is None

    def end(self, grace_s: float) -> None:
        """Ask it to end, make it end after `grace_s`, and return when it has."""
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        assert self._process.stdin
        self._process.stdin.close()

    def _signal(self, number: signal.Signals) -> None:
        if self.is_running():  # else the number of its group may be another's by now
            os.killpg(self._process.pid, number)

    def last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join((*lines[-_LINES_TOLD:], f"All it said is in {self.log}"))


def wait_until_healthy(
    url: str, certificate: Path, servers: Sequence[Server], limit_s: float
) -> None:
    """
    Return when `url` answers 200 over TLS that `certificate` proves, while all `servers` run.

    Raises ControlPlaneError, with its last words, when one of them ends or it takes too long.
    """
    deadline_s = time.monotonic() + limit_s
    while not (certificate.exists() and _answers(url, certificate)):
        for server in servers:
            if not server.is_running():
                raise ControlPlaneError(f"{server.name} ended by itself:\n{server.last_words()}")
        if time.monotonic() > deadline_s:
            said = "\n".join(f"{server.name}:\n{server.last_words()}" for server in servers)
            raise ControlPlaneError(f"{url} is not healthy after {limit_s:.0f} s.\n{said}")
        time.sleep(_POLL_S)


def stop(servers: Sequence[Server], grace_s: float) -> None:
    """
    End them all for sure, the last one first: each kindly, and after `grace_s` by force.

    A server is quick to end while those that it was started after still answer it.
    """
    for server in reversed(servers):
        server.end(grace_s)


def _answers(url: str, certificate: Path) -> bool:
    try:
        context = ssl.create_default_context(cafile=str(certificate))
        # A proxy for the outside world has no business on this machine.
        opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
        with opener.open(url, timeout=_ANSWER_MAX_S):
            return True
    except (URLError, TimeoutError, ssl.SSLError, ConnectionError):
        return False
