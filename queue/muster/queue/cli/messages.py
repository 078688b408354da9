"""How a command fails: a message on standard error and an exit code, never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import click

from muster.queue.manifests.complaints import ManifestError, told

BAD_INPUT: Final = 2
"""Exit code when the user's files or arguments are wrong."""


@contextmanager
def complaining(consequence: str) -> Iterator[None]:
    """Turn a ManifestError into a report that ends with "N problems: " and its consequence."""
    try:
        yield
    except ManifestError as error:
        for line in told(error.complaints):
            click.echo(line, err=True)
        count = len(error.complaints)
        noun = "problem" if count == 1 else "problems"
        fail(f"{count} {noun}: {consequence}.")


def fail(message: str) -> NoReturn:
    """Say what is wrong and end."""
    click.echo(message, err=True)
    try:
        sys.stdout.flush()
    except OSError:  # what is wrong may be the output itself
        discard_output()
    raise SystemExit(BAD_INPUT)


def discard_output() -> None:
    """Let standard output lead nowhere, so that nothing tries to write to it again at the end."""
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process
