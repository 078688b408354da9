"""The folder of a sandbox: who is in it, as others see it."""

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from muster.queue.sandbox.session import (
    Record,
    Session,
    SessionError,
    default_directory,
    write_private,
)

HOLDING = """
import os, sys
from pathlib import Path
from muster.queue.sandbox.session import Record, Session

with Session(Path(sys.argv[1])).held() as tell_ready:
    print("held", flush=True)
    sys.stdin.readline()
    tell_ready(Record(os.getpid(), "https://here", "kubeconfig", real=False, nodes=1))
    print("ready", flush=True)
    sys.stdin.readline()
"""


def a_record(process_id: int = 0) -> Record:
    return Record(process_id, "https://here", "kubeconfig", real=False, nodes=3)


def test_a_session_is_seen_from_when_it_is_ready_until_its_end(tmp_path: Path) -> None:
    session, seen = Session(tmp_path / "a" / "b"), Session(tmp_path / "a" / "b")
    assert seen.running() is None

    with session.held() as tell_ready:
        assert seen.running() is None
        tell_ready(a_record())
        assert seen.running() == a_record()
        assert seen.running() == a_record()

    assert seen.running() is None
    assert sorted(each.name for each in session.directory.iterdir()) == ["lock"]


def test_one_is_there_at_a_time(tmp_path: Path) -> None:
    with Session(tmp_path).held() as tell_ready:
        tell_ready(a_record())
        with pytest.raises(SessionError, match="runs already"), Session(tmp_path).held():
            pass
        assert Session(tmp_path).running() == a_record()

    with Session(tmp_path).held():
        pass


def test_looking_does_not_keep_anybody_from_starting(tmp_path: Path) -> None:
    with Session(tmp_path).held() as tell_ready:
        tell_ready(a_record())
        (tmp_path / "record.json").rename(tmp_path / "stale")
    (tmp_path / "stale").rename(tmp_path / "record.json")

    with (tmp_path / "record.json").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        with Session(tmp_path).held() as tell_ready:
            tell_ready(a_record(7))
            assert Session(tmp_path).running() == a_record(7)


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        _fail_in(Session(tmp_path))

    assert Session(tmp_path).running() is None
    assert not (tmp_path / "record.json").exists()


def _fail_in(session: Session) -> None:
    with session.held() as tell_ready:
        tell_ready(a_record())
        raise ZeroDivisionError


def test_what_a_killed_process_left_is_nothing(tmp_path: Path) -> None:
    command = (sys.executable, "-c", HOLDING, str(tmp_path))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        session = Session(tmp_path)
        assert process.stdout.readline() == "held\n"
        assert session.running() is None
        assert session.end() is False
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        record = session.running()
        assert record is not None
        assert record.process_id == process.pid

        process.kill()
        process.wait()

        assert (tmp_path / "record.json").exists()
        assert session.running() is None
        assert session.end() is False
        with session.held():
            assert Session(tmp_path).running() is None
            # The record still speaks of the killed process, and is not that of this one.
            assert Session(tmp_path).end() is False


def test_ending_a_session_waits_for_its_process(tmp_path: Path) -> None:
    command = (sys.executable, "-c", HOLDING, str(tmp_path))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n")
        process.stdin.flush()
        assert [process.stdout.readline(), process.stdout.readline()] == ["held\n", "ready\n"]

        assert Session(tmp_path).end() is True

        with Session(tmp_path).held():
            assert process.wait() != 0


def test_a_private_file_is_private_whatever_was_there(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o666)
    (tmp_path / "kubeconfig.unfinished").touch(0o666)
    before = os.umask(0)
    try:
        write_private(path, "new")
    finally:
        os.umask(before)

    assert path.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["kubeconfig"]


@pytest.mark.parametrize(
    "environment, directory",
    [
        ({"XDG_STATE_HOME": "/state"}, "/state/muster/sandbox"),
        ({"HOME": "/me"}, "/me/.local/state/muster/sandbox"),
        ({"XDG_STATE_HOME": "", "HOME": "/me"}, "/me/.local/state/muster/sandbox"),
    ],
)
def test_the_folder_is_that_of_the_user(
    environment: dict[str, str], directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert default_directory() == Path(directory)


@pytest.mark.parametrize(
    "nodes, said", [(0, "no nodes"), (1, "1 simulated node."), (2, "2 simulated nodes.")]
)
def test_the_announcement_can_be_copied_to_a_shell(nodes: int, said: str) -> None:
    record = Record(1, "https://here", "/it's here", real=True, nodes=nodes, kubectl="/k b/kubectl")

    announcement = record.announcement()

    assert announcement.startswith("A real control plane is ready at https://here")
    assert said in announcement
    assert """export KUBECONFIG='/it'"'"'s here'\n""" in announcement
    assert "alias kubectl='/k b/kubectl'\n" in announcement
