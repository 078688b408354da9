"""kubectl, as people use it, with the rights of a kubeconfig."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.queue.api.manifests import Manifest

DONE_MAX_S = 60.0


class Kubectl:
    """Runs kubectl in one namespace."""

    def __init__(self, program: Path, kubeconfig: Path, cache: Path, namespace: str) -> None:
        self._command = (
            str(program),
            f"--kubeconfig={kubeconfig}",
            f"--cache-dir={cache}",
            f"--namespace={namespace}",
        )

    def __call__(self, *arguments: str, given: Manifest | None = None) -> str:
        """Return what it prints; it must succeed and complain of nothing."""
        done = self._run(arguments, given)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def tells(self, *arguments: str, given: Manifest | None = None) -> str:
        """Return what it prints and tells besides; it must succeed."""
        done = self._run(arguments, given)
        assert done.returncode == 0, done
        return done.stdout + done.stderr

    def fails(self, *arguments: str, given: Manifest | None = None) -> str:
        """Return what it complains of; it must fail."""
        done = self._run(arguments, given)
        assert done.returncode == 1, done
        return done.stderr.strip()

    def differs(self, given: Manifest) -> str:
        """Return the difference between a manifest and what there is; there must be one."""
        done = self._run(("diff", "-f-"), given)
        assert done.returncode == 1, done
        return done.stdout

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Run a kubectl until the end of the block, or for `DONE_MAX_S` at most."""
        command = (*self._command, *arguments)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            end = threading.Timer(DONE_MAX_S, process.kill)
            end.start()
            try:
                yield process
            finally:
                end.cancel()
                process.terminate()

    def _run(
        self, arguments: tuple[str, ...], given: Manifest | None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (*self._command, *arguments),
            input=None if given is None else yaml.dump(given),
            capture_output=True,
            text=True,
            check=False,
            timeout=DONE_MAX_S,
        )
