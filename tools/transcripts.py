"""Write into the docs what the commands shown there really print.

    python3 tools/transcripts.py [FILE.md ...]

A fenced block of the language `console` that holds lines such as `$ muster plan examples/x` is a
transcript: each such command runs at the root of the repository, in a terminal of 100 columns
without colours, and what it prints replaces what stood below it. Blocks without a `muster`
command stay as they are. `tests/test_docs.py` fails where a transcript is out of date.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS_MAX = 60
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ "


def main() -> None:
    """Rewrite the files named on the command line, or all documents."""
    for path in [Path(name) for name in sys.argv[1:]] or documents():
        text = path.read_text(encoding="utf-8")
        current = rewritten(text)
        if current != text:
            path.write_text(current, encoding="utf-8")
            print(f"wrote {path}")


def documents() -> list[Path]:
    """Every document that people read: the README and all of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def rewritten(text: str) -> str:
    """The document with every transcript made anew."""
    return BLOCK.sub(lambda block: f"```console\n{transcript(block[1])}```", text)


def transcript(body: str) -> str:
    """The lines of one block, made anew when it shows a `muster` command."""
    commands = [line[len(PROMPT) :] for line in body.splitlines() if line.startswith(PROMPT)]
    if not any(command.startswith("muster ") for command in commands):
        return body
    return "\n".join(f"{PROMPT}{command}\n{output(command)}" for command in commands)


def output(command: str) -> str:
    """What a command line prints, errors included, in the order a terminal would show it."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    return subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=environment,
        check=False,  # a transcript may well show how a mistake is reported
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
    ).stdout


if __name__ == "__main__":
    main()
