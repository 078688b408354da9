"""`muster plan`: what would be decided about manifests now, and why."""

from __future__ import annotations

import sys

import click

from muster.queue.cli import streams


@click.command(short_help="Show what would be decided about manifests now.")
@click.option(
    "--jsonl", is_flag=True, help="Read scenarios, one a line; print outcomes, one a line."
)
@click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="Rounds of a decision.")
def plan(*, jsonl: bool, rounds: int | None) -> None:
    """Show what would be decided about manifests now, and why."""
    if jsonl:
        sys.exit(streams.replay_lines(sys.stdin.buffer, sys.stdout.buffer, rounds))
