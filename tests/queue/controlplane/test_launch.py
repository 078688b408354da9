"""Starting and stopping: what is written, what is said when it fails, that nothing stays behind."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.queue.controlplane.build import PARTS
from muster.queue.controlplane.errors import ControlPlaneError
from muster.queue.controlplane.launch import start
from muster.queue.controlplane.layout import Layout
from muster.queue.controlplane.server import Server, stop

Install = Callable[[str, str], None]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    directory = tmp_path / "programs"
    directory.mkdir()
    return directory


@pytest.fixture
def install(programs: Path) -> Install:
    """Write a shell script in the place of a part."""

    def write(part: str, script: str) -> None:
        (programs / part).write_text(f"#!/bin/sh\n{script}\n")
        (programs / part).chmod(0o755)

    return write


def test_a_part_that_ends_is_told_with_its_last_words(
    install: Install, programs: Path, tmp_path: Path
) -> None:
    install("etcd", "echo first; seq 20; echo 'cannot go on' >&2; exit 1")
    install("kube-apiserver", "exec sleep 600")

    with pytest.raises(ControlPlaneError) as failure:
        start(programs, tmp_path / "run")

    lines = str(failure.value).splitlines()
    assert lines[0] == "etcd ended by itself:"
    assert lines[-2:] == ["cannot go on", f"All it said is in {tmp_path / 'run/etcd.log'}"]
    assert "first" not in lines


def test_a_part_that_is_missing_is_named(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(ControlPlaneError, match="etcd does not start: No such file"):
        start(programs, tmp_path / "run")


def test_what_runs_already_is_stopped_when_another_part_fails(
    install: Install, programs: Path, tmp_path: Path
) -> None:
    install("etcd", f"trap 'echo stopped > {tmp_path}/etcd; exit' TERM; touch {tmp_path}/etcd\n"
            "while :; do sleep 0.01; done")  # fmt: skip
    install("kube-apiserver", f"until [ -e {tmp_path}/etcd ]; do sleep 0.01; done; exit 1")

    with pytest.raises(ControlPlaneError, match="kube-apiserver ended by itself"):
        start(programs, tmp_path / "run")

    assert (tmp_path / "etcd").read_text() == "stopped\n"


def test_a_port_that_another_has_taken_is_no_failure_yet(
    install: Install, programs: Path, tmp_path: Path
) -> None:
    install("etcd", f"echo try >> {tmp_path}/tries; echo bind: address already in use; exit 1")
    install("kube-apiserver", "exec sleep 600")

    with pytest.raises(ControlPlaneError, match="address already in use"):
        start(programs, tmp_path / "run")

    assert (tmp_path / "tries").read_text() == "try\n" * 3


def test_what_does_not_want_to_end_is_killed(tmp_path: Path) -> None:
    script = f"trap '' TERM; touch {tmp_path}/ready; while :; do sleep 0.01; done"
    server = Server(("/bin/sh", "-c", script), tmp_path / "log")
    while not (tmp_path / "ready").exists():
        assert server.is_running()

    stop([server], grace_s=0.1)
    stop([server], grace_s=0.1)

    assert not server.is_running()


def test_everything_a_server_started_ends_with_it(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    server = Server(("/bin/sh", "-c", f"sleep 60 > {held} & wait"), tmp_path / "log")

    with held.open() as reader:
        stop([server], grace_s=5)

        assert reader.read() == ""  # nobody is left who could write


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "run", audit_log=True)
    layout.write_files()
    return layout


def test_nobody_else_reads_its_secrets(layout: Layout) -> None:
    assert stat.S_IMODE(layout.directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in layout.directory.iterdir()} == {0o600}


def test_there_are_flags_for_every_server(layout: Layout) -> None:
    assert [*layout.flags] == [*PARTS[:-1]]


def test_nobody_listens_beyond_this_machine(layout: Layout) -> None:
    for part, flags in layout.flags.items():
        addresses = [flag for flag in flags if "bind-address" in flag or "listen-" in flag]
        assert addresses, part
        assert all("127.0.0.1" in address for address in addresses), addresses


def test_no_two_listen_on_the_same_port(layout: Layout) -> None:
    ports = [
        flag.rpartition(":" if "://" in flag else "=")[2]
        for flags in layout.flags.values()
        for flag in flags
        if flag.startswith(("--secure-port", "--listen-"))
    ]

    assert len(ports) == len(set(ports)) == 5


def test_there_is_no_audit_log_unless_asked_for(tmp_path: Path) -> None:
    flags = Layout(tmp_path, audit_log=False).flags["kube-apiserver"]

    assert not [flag for flag in flags if flag.startswith("--audit")]
