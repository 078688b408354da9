"""Runs a command as a terminal would, and returns what is seen there."""

from typing import NamedTuple

from click.testing import CliRunner

from muster.queue.cli import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run(*arguments: object, stdin: str | bytes = "") -> Ended:
    """Run `muster` with these arguments; an exception it does not handle is raised."""
    result = CliRunner().invoke(
        main, [str(each) for each in arguments], input=stdin, catch_exceptions=False
    )
    return Ended(result.exit_code, result.stdout, result.stderr)
