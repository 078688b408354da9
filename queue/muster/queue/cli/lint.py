"""`muster lint`: what is legal in manifests, but surely not meant."""

from __future__ import annotations

import click

from muster.queue import unsupported
from muster.queue.cli import inputs
from muster.queue.cli.messages import complaining
from muster.queue.linting import lint as find
from muster.queue.manifests.complaints import told
from muster.queue.translate import policy

FOUND_SOMETHING = 1
"""Exit code under --strict when there are warnings."""


@click.command(short_help="Warn of what is legal in manifests, but surely not meant.")
@inputs.paths_argument
@inputs.config_option
@click.option("--strict", is_flag=True, help="End with exit code 1 when there is a warning.")
def lint(*, paths: tuple[str, ...], config: str | None, strict: bool) -> None:
    """
    Warn of what is legal in manifests, but surely not meant.

    For instance: a queue that nobody can use, quota on a flavor that no node matches (when there
    are nodes among the manifests), a workload that can never fit. Mistakes end with exit code 2,
    warnings with 0, or 1 with --strict.
    """
    with complaining("nothing was checked"):
        configuration = inputs.configuration(config)
        world = inputs.world(paths, configuration, now_us=0)
        warnings = list(unsupported.in_configuration(configuration, config or ""))
        warnings += find(world, policy.config(configuration))
    for line in told(warnings):
        click.echo(line)
    count = len(warnings)
    objects = len(world.manifests)
    noun = "warning" if count == 1 else "warnings"
    click.echo(f"{count or 'No'} {noun} about {objects} objects.")
    if warnings and strict:
        raise SystemExit(FOUND_SOMETHING)
