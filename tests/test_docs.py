"""The docs show what the program prints, and their links lead somewhere."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tools import transcripts

LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")

documents = pytest.mark.parametrize(
    "path", transcripts.documents(), ids=lambda path: str(path.relative_to(transcripts.ROOT))
)


@documents
def test_transcripts_are_what_the_program_prints(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == transcripts.rewritten(text), "run `make docs`"


@documents
def test_links_lead_to_a_file(path: Path) -> None:
    links = LINK.findall(path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
PROMISE = re.compile(r"It prints `([^`]*)`")


def test_the_program_in_the_docs_of_the_sandbox_runs() -> None:
    text = (transcripts.ROOT / "docs/tasks/sandbox.md").read_text(encoding="utf-8")
    (program,) = PROGRAM.findall(text)
    (promised,) = PROMISE.findall(text)

    done = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    start, _, end = promised.partition("...")
    assert done.stdout.startswith(start)
    assert done.stdout.endswith(f"{end}\n")


def test_a_stale_transcript_is_made_anew() -> None:
    text = "```console\n$ muster --version\nold\n$ muster x 2>&1 | head -n 1\n```\n"
    assert transcripts.rewritten(text) == (
        "```console\n"
        "$ muster --version\n"
        f"muster, version {version('muster-queue')}\n"
        "\n"
        "$ muster x 2>&1 | head -n 1\n"
        "Usage: muster [OPTIONS] COMMAND [ARGS]...\n"
        "```\n"
    )


@pytest.mark.parametrize(
    "text", ["```console\n$ make demo\nx\n```\n", "```text\n$ muster x\n```\n"]
)
def test_other_blocks_stay(text: str) -> None:
    assert transcripts.rewritten(text) == text
