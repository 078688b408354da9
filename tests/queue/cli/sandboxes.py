"""A sandbox of a user's own: `muster sandbox up` in another process, all else in this one."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import pytest

from tests.queue.cli.running import Ended, run

_UP: Final = (sys.executable, "-c", "from muster.queue.cli import main; main()", "sandbox", "up")
_LAST_LINE: Final = "  kubectl get pods --watch\n"
_MAX_S: Final = 60


class Home:
    """A user's state folder, and the commands that work on it."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.directory = state / "muster" / "sandbox"
        self.kubeconfig = self.directory / "kubeconfig"

    def run(self, *arguments: object) -> Ended:
        """Run `muster sandbox ARGUMENTS` until it ends."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(self.state))
            return run("sandbox", *arguments)

    def start(
        self, *arguments: object, stdout: int | IO[str] = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start `muster sandbox up ARGUMENTS` in another process."""
        return subprocess.Popen(
            [*_UP, *map(str, arguments)],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_STATE_HOME": str(self.state)},
        )

    @contextmanager
    def up(self, *arguments: object) -> Iterator["Up"]:
        """Have a sandbox in the foreground of another process; it is killed if it doesn't end."""
        with self.start(*arguments) as process:
            try:
                yield Up(process)
            finally:
                process.kill()


class Up:
    """A sandbox that has said that it is ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout
        self.greeting = ""
        for line in process.stdout:
            self.greeting += line
            if line == _LAST_LINE:
                break
        found = re.search(r"https://\S+:\d+", self.greeting)
        assert found, self.greeting + end_of(process).err
        self.url = found[0]

    def end(self) -> Ended:
        """Wait for its end; return what it has said since it was ready."""
        return end_of(self.process)


def end_of(process: subprocess.Popen[str]) -> Ended:
    out, err = process.communicate(timeout=_MAX_S)
    return Ended(process.returncode, out, err)
