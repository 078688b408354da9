"""
The one sandbox of a user: where its files are, whether it runs, and how to end it from elsewhere.

A lock that the sandbox's process holds says that it runs; so a record that a killed process left
behind misleads nobody, and no other process is ever signalled by mistake.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

_POLL_S: Final = 0.05
_GRACE_S: Final = 10.0


class SessionError(Exception):
    """What was asked for is not possible now; the message says why, and what to do."""

    @classmethod
    def is_running(cls) -> SessionError:
        return cls(
            "A sandbox runs already: see `muster sandbox status`, or end it with "
            "`muster sandbox down`."
        )


@dataclass(frozen=True, slots=True)
class Record:
    """What others may know of a sandbox that runs."""

    process_id: int
    url: str
    kubeconfig: str
    real: bool
    """It is a real control plane."""
    store: str = ""
    """The file that keeps its objects, "" for none."""
    kubectl: str = ""
    """The kubectl that comes with it, "" for none."""


class Session:
    """The folder of a sandbox."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.kubeconfig = directory / "kubeconfig"
        self._record = directory / "record.json"
        self._lock = directory / "lock"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be the one sandbox of this folder; raises SessionError if there is one already."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SessionError.is_running() from None
            try:
                yield
            finally:
                self._record.unlink(missing_ok=True)

    def tell(self, record: Record) -> None:
        """Say that the sandbox is ready; `held` must be entered."""
        unfinished = self._record.with_suffix(".unfinished")
        unfinished.write_bytes(orjson.dumps(asdict(record)))
        unfinished.replace(self._record)

    def running(self) -> Record | None:
        """Return what is known of the sandbox that runs here, None if there is none."""
        if not self._is_held():
            return None
        try:
            return Record(**orjson.loads(self._record.read_bytes()))
        except FileNotFoundError:
            return None

    def _is_held(self) -> bool:
        try:
            with self._lock.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        return False

    def end(self) -> bool:
        """End the sandbox that runs here and wait for it; says whether there was one."""
        record = self.running()
        if record is None:
            return False
        os.kill(record.process_id, signal.SIGTERM)
        deadline_s = time.monotonic() + _GRACE_S
        while self._is_held():
            if time.monotonic() > deadline_s:
                raise SessionError(
                    f"the sandbox does not end: its process is {record.process_id}, its log "
                    f"{self.log}"
                )
            time.sleep(_POLL_S)
        return True


def default_directory() -> Path:
    """Return the folder of the user's sandbox, below `$XDG_STATE_HOME`."""
    given = os.environ.get("XDG_STATE_HOME")
    state = Path(given) if given else Path.home() / ".local/state"
    return state.absolute() / "muster" / "sandbox"


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read, whole or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
