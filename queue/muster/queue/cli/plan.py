"""`muster plan`: what would be decided about manifests now, and why."""

from __future__ import annotations

import sys

import click
from click.core import ParameterSource

from muster.queue import unsupported
from muster.queue.cli import inputs, plan_document, plan_text, streams
from muster.queue.cli.messages import complaining
from muster.queue.planning import forecast
from muster.queue.translate import policy


@click.command(short_help="Show what would be decided about manifests now.")
@inputs.paths_argument
@inputs.now_option
@click.option(
    "--cycles",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Cycles to go through; between two, evicted workloads stop and give back their quota.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rounds of admission in a cycle; default: until nobody else can be admitted.",
)
@inputs.config_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json", "yaml"]),
    default="table",
    show_default=True,
    help="Form of the answer.",
)
@click.option("--jsonl", is_flag=True, help="Read scenarios from standard input, one a line.")
def plan(  # noqa: PLR0913 - one parameter for each option
    *,
    paths: tuple[str, ...],
    now: str | None,
    cycles: int,
    rounds: int | None,
    config: str | None,
    output: str,
    jsonl: bool,
) -> None:
    """
    Show what would be decided about manifests now, and why.

    PATHs are files and directories (their *.yaml, *.yml and *.json), - is standard input. They may
    hold several documents, Lists, and what `kubectl get -o json` prints. Namespaces that are used
    but not among them are taken to exist.

    With --jsonl the answer is one JSON object a line, for thousands of scenarios in one go.
    """
    if jsonl:
        _refuse_what_scenarios_say_themselves()
        sys.exit(streams.replay_lines(sys.stdin.buffer, sys.stdout.buffer, rounds))
    now_us = inputs.instant(now)
    with complaining("nothing was planned"):
        configuration = inputs.configuration(config)
        world = inputs.world(paths, configuration, now_us)
    found = forecast(world, policy.config(configuration), now_us, cycles=cycles, rounds_max=rounds)
    notes = unsupported.notes(configuration, world)
    if output in ("json", "yaml"):
        answer = plan_document.written(found, world, notes, yaml_form=output == "yaml")
        click.echo(answer, nl=False)
    else:
        for line in plan_text.lines(found, world, notes, wide=output == "wide"):
            click.echo(line)


def _refuse_what_scenarios_say_themselves() -> None:
    context = click.get_current_context()
    of_each_scenario = ("paths", "now", "cycles", "config", "output")
    given = [
        parameter.get_error_hint(context)
        for parameter in context.command.params
        if parameter.name in of_each_scenario
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(
            "--jsonl reads scenarios from standard input, each with its own objects, time, cycles "
            f"and configuration: leave out {', '.join(given)}."
        )
