"""`muster simulate`: reads its input, runs it, shows the result in the form that was asked for."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final

import click
import orjson

from muster.admission.plan import CyclePlan
from muster.admission.state import State
from muster.queue.cli import inputs, simulate_input, simulate_text
from muster.queue.cli.messages import complaining, fail
from muster.queue.cli.parameters import Duration, Part
from muster.queue.simulation.decisions import DecisionLog
from muster.queue.simulation.document import document
from muster.queue.simulation.experiment import Experiment
from muster.queue.simulation.history import History
from muster.queue.simulation.page import page
from muster.queue.simulation.picture import picture
from muster.queue.simulation.report import Report, report_of
from muster.queue.simulation.runner import EndlessPreemptionError, Options, Runner

OUTPUT: Final = click.Path(dir_okay=False, path_type=Path)

TOLD_MAX: Final = 100
"""Jobs up to which it is told in words what happened to each."""
LONG: Final = 2_000
"""Jobs from which on a bar shows how far a simulation is."""


@click.command(short_help="Play jobs on a virtual clock and tell what happens.")
@inputs.paths_argument
@click.option("--trace", metavar="NAME|FILE", help="Jobs to play: a built-in trace, or a file.")
@click.option("--columns", metavar="MAP", help="Which columns of the file are which.")
@click.option("--nodes", metavar="FILE", help="Make the quota of a trace from these nodes.")
@click.option("--fleet", type=Part(), metavar="PART", help="Part of the nodes to use, as in 1/3.")
@click.option("--quota", metavar="AMOUNTS", help="Quota of a trace, as in nvidia.com/gpu=64.")
@click.option("--runs-for", type=Duration(), metavar="TIME", help="Run time of jobs without one.")
@click.option(
    "--grace",
    type=Duration(),
    default=0,
    metavar="TIME",
    help="How long an evicted job takes to stop; default: no time.",
)
@click.option("--until", type=Duration(), metavar="TIME", help="Stop at this time from the start.")
@click.option("--seed", type=int, metavar="N", help="Shuffle jobs that arrive at one instant.")
@click.option(
    "--rounds", type=click.IntRange(min=1), metavar="N", help="Rounds of admission in a decision."
)
@click.option(
    "--charge-engine-time",
    is_flag=True,
    help="Let the measured time of decisions pass on the virtual clock.",
)
@inputs.config_option
@click.option("--html", type=OUTPUT, metavar="FILE", help="Write a page to look around in there.")
@click.option("--svg", type=OUTPUT, metavar="FILE", help="Write a picture there.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the answer.",
)
def simulate(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    trace: str | None,
    columns: str | None,
    nodes: str | None,
    fleet: Fraction | None,
    quota: str | None,
    runs_for: int | None,
    grace: int,
    until: int | None,
    seed: int | None,
    rounds: int | None,
    charge_engine_time: bool,
    config: str | None,
    html: Path | None,
    svg: Path | None,
    output: str,
) -> None:
    """
    Play jobs through the engine on a virtual clock and tell what happens.

    PATHs are manifests of queues and jobs. Annotations of a Job or Workload say when it arrives
    (muster.dev/arrives-after: 5m) and how long it runs (muster.dev/runs-for: 1h30m).

    With --trace the jobs come from a file instead: CSV or JSON lines, what `sacct -P` prints, or
    one of the built-in traces baseline and large-scale. The PATHs then hold just the queues.

    The same input always gives the same answer, unless engine time is charged.
    """
    with complaining("nothing was simulated"):
        experiment = simulate_input.experiment(
            simulate_input.Arguments(
                paths=paths,
                trace=trace,
                columns=columns,
                nodes=nodes,
                fleet=fleet,
                quota=quota,
                runs_for_us=runs_for,
                seed=seed,
                configuration=inputs.configuration(config),
            )
        )
    options = Options(
        charge_engine_time=charge_engine_time,
        grace_us=grace,
        rounds_max=rounds,
        until_us=None if until is None else experiment.start_us + until,
    )
    told = html is not None or (output == "table" and len(experiment.jobs) <= TOLD_MAX)
    try:
        report, log = _played(experiment, options, told=told)
    except EndlessPreemptionError as error:
        fail(f"{error}.")
    if html is not None:
        _written(html, page(report, log.entries))
    if svg is not None:
        _written(svg, picture(report))
    if output == "json":
        click.echo(orjson.dumps(document(report), option=orjson.OPT_INDENT_2).decode())
    else:
        for line in simulate_text.lines(report, log.entries, engine=charge_engine_time):
            click.echo(line)


def _written(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{path} cannot be written: {(error.strerror or str(error)).lower()}")


def _played(experiment: Experiment, options: Options, *, told: bool) -> tuple[Report, DecisionLog]:
    log = DecisionLog(experiment)
    _spare_the_collector()
    with _progress(experiment) as shown:

        def observe(at_us: int, plan: CyclePlan, state: State) -> None:
            if told:
                log(at_us, plan, state)
            shown(runner.history)

        runner = Runner(experiment, options, observe=observe)
        history = runner.run()
    return report_of(history), log


def _spare_the_collector() -> None:
    """Keep the collector of cycles from walking over what was loaded again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@contextmanager
def _progress(experiment: Experiment) -> Iterator[Callable[[History], None]]:
    """Show on a terminal how many jobs have finished, when there are many."""
    if len(experiment.jobs) < LONG or not sys.stderr.isatty():
        yield lambda _history: None
        return
    # A tenth of a second to import, for long runs only.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TimeElapsedColumn,
    )

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, auto_refresh=False, transient=True) as progress:
        task = progress.add_task("jobs finished", total=len(experiment.jobs))
        every = max(1, len(experiment.jobs) // 200)
        shown = 0

        def update(history: History) -> None:
            nonlocal shown
            if history.finished - shown >= every:
                shown = history.finished
                progress.update(task, completed=shown, refresh=True)

        yield update
