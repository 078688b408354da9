"""
The one sandbox of a user: where its files are, whether it runs, and how to end it from elsewhere.

A sandbox holds a lock on the record that it wrote itself, for as long as its process lives. So a
record that a killed process left behind misleads nobody, no other process is ever signalled by
mistake, and looking never gets in the way of a start.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

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
    nodes: int
    """How many of them are simulated."""
    store: str = ""
    """The file that keeps its objects, "" for none."""
    kubectl: str = ""
    """The kubectl that comes with it, "" for none."""

    def announcement(self) -> str:
        """Return what is said when it is ready: where it is, and what to type next."""
        what = "A real control plane" if self.real else "The sandbox"
        counted = {0: "no nodes", 1: "1 simulated node"}
        nodes = counted.get(self.nodes, f"{self.nodes} simulated nodes")
        lines = [f"{what} is ready at {self.url}, with {nodes}.", "", "In another terminal:", ""]
        lines.append(f"  export KUBECONFIG={shlex.quote(self.kubeconfig)}")
        if self.kubectl:
            lines.append(f"  alias kubectl={shlex.quote(self.kubectl)}")
        lines += [
            "  kubectl get nodes",
            "  kubectl create job hello --image=busybox -- sleep 5",
            "  kubectl get pods --watch",
            "",
        ]
        return "\n".join(lines)


Tell = Callable[[Record], None]


class Session:
    """The folder of a sandbox."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.kubeconfig = directory / "kubeconfig"
        self._record = directory / "record.json"
        self._lock = directory / "lock"

    @contextmanager
    def held(self) -> Iterator[Tell]:
        """
        Be the one sandbox of this folder; raises SessionError if there is one already.

        Yields what says that it is ready, to be called once.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as told, self._lock.open("w") as lock:
            if not _locked(lock, fcntl.LOCK_EX):
                raise SessionError.is_running()
            try:
                yield lambda record: told.enter_context(self._tell(record))
            finally:
                self._record.unlink(missing_ok=True)

    @contextmanager
    def _tell(self, record: Record) -> Iterator[None]:
        unfinished = self._record.with_suffix(".unfinished")
        with unfinished.open("wb") as file:
            is_ours = _locked(file, fcntl.LOCK_EX)
            assert is_ours, "it is new, and nobody else makes one"
            file.write(orjson.dumps(asdict(record)))
            file.flush()
            unfinished.replace(self._record)
            yield

    def running(self) -> Record | None:
        """Return what is known of the sandbox that runs here, None if none is ready."""
        with ExitStack() as stack:
            file = self._open_record(stack)
            return _record_in(file) if file else None

    def _open_record(self, stack: ExitStack) -> BinaryIO | None:
        try:
            return stack.enter_context(self._record.open("rb"))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def end(self) -> bool:
        """End the sandbox that runs here and wait for it; says whether there was one."""
        with ExitStack() as stack:
            file = self._open_record(stack)
            record = _record_in(file) if file else None
            if not (file and record):
                return False
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(record.process_id, signal.SIGTERM)
            deadline_s = time.monotonic() + _GRACE_S
            while not _locked(file, fcntl.LOCK_SH):
                if time.monotonic() > deadline_s:
                    raise SessionError(
                        f"the sandbox does not end: its process is {record.process_id}, its log "
                        f"{self.log}"
                    )
                time.sleep(_POLL_S)
            return True


def _locked(file: IO[Any], how: int) -> bool:
    """Lock a file until it is closed, unless another process has locked it."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _record_in(file: BinaryIO) -> Record | None:
    """Return a record if whoever wrote it still runs."""
    return None if _locked(file, fcntl.LOCK_SH) else Record(**orjson.loads(file.read()))


def default_directory() -> Path:
    """Return the folder of the user's sandbox, below `$XDG_STATE_HOME`."""
    given = os.environ.get("XDG_STATE_HOME")
    state = Path(given) if given else Path.home() / ".local/state"
    return state.absolute() / "muster" / "sandbox"


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read, whole or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600, exist_ok=False)  # no link that somebody else has put there
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
