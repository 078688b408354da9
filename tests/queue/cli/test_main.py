"""The command itself: help at once, no traceback, a quiet end."""

import json
import shlex
import signal
import subprocess
import sys

import pytest

from muster.queue.cli import COMMANDS, INTERRUPTED
from tests.queue.cli.running import run
from tests.queue.test_scenario import a_scenario

MUSTER = (sys.executable, "-c", "from muster.queue.cli import main; main()")
HEAVY = ("numpy", "pydantic", "yaml", "muster.admission")


def started(*arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*MUSTER, *arguments], text=True, stdin=pipe, stdout=pipe, stderr=pipe)


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_command(option: str) -> None:
    ended = run(option)

    assert ended.code == 0
    for name, command in COMMANDS.items():
        assert f"  {name}" in ended.out
        assert command.help in " ".join(ended.out.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    ended = run(name, "--help")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: main {name} ")


def test_an_unknown_command_is_refused() -> None:
    ended = run("paln")

    assert ended.code == 2
    assert "No such command 'paln'" in ended.err


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from muster.queue.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ended.stdout.endswith("[]\n")


def test_an_interrupt_ends_it_quietly() -> None:
    with started("plan", "--jsonl") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("{}\n")
        process.stdin.flush()
        process.stdout.readline()  # by now it waits for the next line
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()

    assert process.returncode == INTERRUPTED
    assert told.startswith("line 1: ")
    assert told.count("\n") == 1, "it tells of the first line, and nothing else"


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    with started("plan", "--jsonl") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(json.dumps(a_scenario()))
        process.stdin.close()
        told = process.stderr.read()

    assert process.returncode == 1
    assert told == ""


@pytest.mark.parametrize(
    "closed, code, told",
    [
        ("plan - <&-", 2, "is empty: expected Kubernetes objects"),
        ("plan --jsonl <&-", 0, ""),
        ("plan - <<< '{}' 2>&-", 2, ""),
        ("plan - <<< $'apiVersion: v1\\nkind: Secret' >&-", 0, ""),
        ("plan - <<< $'apiVersion: v1\\nkind: Secret' > /dev/full", 1, "No space left on device"),
    ],
)
def test_streams_that_are_closed_or_full(closed: str, code: int, told: str) -> None:
    command = f"{shlex.join(MUSTER)} {closed}"
    ended = subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, text=True, check=False
    )

    assert ended.returncode == code
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr
