"""`muster simulate`: reads its input, runs it, shows the result in the form that was asked for."""

from __future__ import annotations

import gc

import click
import orjson

from muster.queue.simulation.document import document
from muster.queue.simulation.report import report_of
from muster.queue.simulation.runner import Options, Runner
from muster.queue.simulation.traces.builtin import builtin


@click.command(short_help="Play jobs on a virtual clock and tell what happens.")
@click.option("--trace")
@click.option("--charge-engine-time", is_flag=True)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def simulate(*, trace: str, charge_engine_time: bool, output: str) -> None:
    """Play jobs through the engine on a virtual clock and tell what happens."""
    experiment = builtin(trace)
    runner = Runner(experiment, Options(charge_engine_time=charge_engine_time))
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    report = report_of(runner.run())
    click.echo(orjson.dumps(document(report), option=orjson.OPT_INDENT_2).decode())
