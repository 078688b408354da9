"""`muster sandbox`: a small cluster on this machine, started, looked at, disturbed and ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from muster.queue.cli.messages import fail
from muster.queue.sandbox.session import Session, SessionError, default_directory
from muster.queue.sandbox.store.sqlite import StoreFileError


@click.group(short_help="Run a small Kubernetes cluster on this machine.")
def sandbox() -> None:
    """A small Kubernetes API with simulated nodes that run Jobs: kubectl works on it."""


@sandbox.command()
@click.option("--nodes", type=click.IntRange(min=0), default=8, show_default=True, metavar="N")
@click.option(
    "--gpus-per-node", type=click.IntRange(min=0), default=8, show_default=True, metavar="N"
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: a free one.")
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep all objects in this file, also from one start to the next.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the kubeconfig there.",
)
def up(
    *, nodes: int, gpus_per_node: int, port: int, store: Path | None, kubeconfig: Path | None
) -> None:
    """Start it, and serve until Ctrl-C."""
    # It takes a moment to import: not for `muster sandbox status`.
    from muster.queue.sandbox.command import run  # noqa: PLC0415
    from muster.queue.simulated.cluster_file import plain_cluster  # noqa: PLC0415

    session = Session(default_directory())
    specs = plain_cluster(nodes, gpus_per_node)
    try:
        asyncio.run(
            run(
                session, specs=specs, port=port, store=store, kubeconfig=kubeconfig, tell=click.echo
            )
        )
    except (SessionError, StoreFileError) as error:
        fail(str(error))


@sandbox.command()
def status() -> None:
    """Say whether it runs, and where."""
    record = Session(default_directory()).running()
    if record is None:
        fail("No sandbox runs: start one with `muster sandbox up`.")
    click.echo(f"A {record.kind} runs at {record.url}\nexport KUBECONFIG={record.kubeconfig}")


@sandbox.command()
def down() -> None:
    """End it."""
    try:
        if not Session(default_directory()).end():
            fail("No sandbox runs.")
    except SessionError as error:
        fail(str(error))
    click.echo("The sandbox has ended.")
