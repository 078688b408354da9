"""`--jsonl`: scenarios in, outcomes out, one JSON document a line."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import BinaryIO, Final

import click
import orjson

from muster.queue import scenario
from muster.queue.api.wording import printable

_YOUNG_MAX: Final = 50_000  # objects before a collection; scenarios make many and cycles few


def replay_lines(lines: Iterable[bytes], out: BinaryIO, rounds_max: int | None) -> int:
    """
    Answer every scenario in `lines`; return the exit code.

    A line that cannot be read is told on standard error and answered with an object that names it
    and has an `error`; the lines after it are answered all the same.
    """
    gc.set_threshold(_YOUNG_MAX)
    failed = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            read = scenario.parse(line)
            outcome = scenario.replay(read, rounds_max=rounds_max)
        except scenario.ScenarioError as error:
            failed += 1
            click.echo(printable(f"line {number}: {error}"), err=True)
            outcome = {"line": number, "error": str(error)}
        out.write(orjson.dumps(outcome, option=orjson.OPT_APPEND_NEWLINE))
        out.flush()
    return 2 if failed else 0
