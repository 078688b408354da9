"""From the arguments of `muster simulate` to the experiment they describe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import click

from muster.admission.config import Config
from muster.queue import unsupported
from muster.queue.api.configuration import Configuration
from muster.queue.api.quantities import QuantityError, quota_amount
from muster.queue.api.wording import did_you_mean, listed
from muster.queue.cli import inputs
from muster.queue.cli.messages import fail
from muster.queue.simulation import submissions
from muster.queue.simulation.experiment import Experiment, shuffled
from muster.queue.simulation.traces import assemble, builtin, fleet, loading, quotas
from muster.queue.simulation.traces.columns import Columns, ColumnsError, parse_columns
from muster.queue.simulation.traces.fleet import Kind
from muster.queue.simulation.traces.job_trace import Trace
from muster.queue.translate import policy
from muster.queue.world import World

FLAVOR = "default"
"""The flavor of quota that is given on the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What was asked for, as far as it says what to simulate."""

    paths: tuple[str, ...]
    trace: str | None
    columns: str | None
    nodes: str | None
    fleet: Fraction | None
    quota: str | None
    runs_for_us: int | None
    seed: int | None
    configuration: Configuration


def experiment(arguments: Arguments) -> Experiment:
    """Return the experiment. Raises ManifestError; ends the process when arguments clash."""
    _check(arguments)
    config = policy.config(arguments.configuration)
    found = _of_trace(arguments, config) if arguments.trace else _of_manifests(arguments, config)
    return found if arguments.seed is None else shuffled(found, arguments.seed)


def _check(arguments: Arguments) -> None:
    built_in = arguments.trace in builtin.LOADS
    if not arguments.trace or built_in:
        for option, value in (
            ("--columns", arguments.columns),
            ("--nodes", arguments.nodes),
            ("--quota", arguments.quota),
        ):
            if value is not None:
                raise click.UsageError(f"{option} says something about the file of a --trace.")
    if arguments.fleet is not None and arguments.nodes is None:
        raise click.UsageError("--fleet takes a part of the nodes in a file: give --nodes too.")
    if arguments.trace and arguments.runs_for_us is not None:
        raise click.UsageError("--runs-for is for manifests: a trace says how long its jobs run.")
    if built_in and arguments.paths:
        raise click.UsageError(f"Trace {arguments.trace} has its own queues: leave out the paths.")


def _of_manifests(arguments: Arguments, config: Config) -> Experiment:
    if not arguments.paths:
        raise click.UsageError(
            "Nothing to simulate: name files or directories of manifests, or give a --trace."
        )
    world = inputs.world(arguments.paths, arguments.configuration, 0)
    title = " ".join(arguments.paths)
    found = submissions.experiment_of(world, config, title, runs_for_us=arguments.runs_for_us)
    return _noted(found, arguments, world)


def _noted(found: Experiment, arguments: Arguments, world: World | None = None) -> Experiment:
    """Return the experiment with notes on what is not supported yet."""
    notes = unsupported.notes(arguments.configuration, world)
    return replace(found, notes=(*found.notes, *notes))


def _of_trace(arguments: Arguments, config: Config) -> Experiment:
    name = arguments.trace
    assert name is not None
    if name in builtin.LOADS:
        return _noted(replace(builtin.builtin(name), config=config), arguments)
    if name in builtin.NEEDS_TOPOLOGY:
        fail(
            f"Trace {name!r} asks for racks and blocks, and topology-aware placement is not there "
            f"yet. Available are {listed(sorted(builtin.LOADS), 'and')}."
        )
    if name != "-" and not Path(name).exists():
        known = (*sorted(builtin.LOADS), *_files_beside(Path(name)))
        hint = did_you_mean(name, known) or f" Built in are {listed(sorted(builtin.LOADS), 'and')}."
        fail(f"There is no trace and no file called {name!r}.{hint}")
    trace = loading.load(name, _columns(arguments.columns), sys.stdin.buffer)
    _check_quota(arguments)
    world = None
    if arguments.paths:
        world = inputs.world(arguments.paths, arguments.configuration, 0)
    found = assemble.experiment_of(trace, _quotas(arguments, trace, world), config)
    return _noted(found, arguments, world)


def _files_beside(path: Path) -> Iterator[str]:
    if path.parent.is_dir():
        yield from sorted(str(path.parent / child.name) for child in path.parent.iterdir())


def _columns(text: str | None) -> Columns:
    if text is None:
        return {}
    try:
        return parse_columns(text)
    except ColumnsError as error:
        raise click.BadParameter(str(error), param_hint="--columns") from None


def _check_quota(arguments: Arguments) -> None:
    given = [
        option
        for option, value in (
            ("manifests", arguments.paths),
            ("--nodes", arguments.nodes),
            ("--quota", arguments.quota),
        )
        if value
    ]
    if len(given) != 1:
        said = f"{listed(given, 'and')} all say" if given else "Nothing says"
        raise click.UsageError(
            f"{said} how much quota there is. Give one of: manifests with the queues of the trace, "
            "a file of --nodes, or a --quota such as nvidia.com/gpu=64."
        )


def _quotas(arguments: Arguments, trace: Trace, world: World | None) -> quotas.Quotas:
    if world is not None:
        try:
            return quotas.of_manifests(world.structure, (job.queue for job in trace.jobs))
        except quotas.UnknownQueueError as error:
            fail(f"{trace.title}: {error}")
    if arguments.nodes:
        nodes = fleet.read(loading.load_table(arguments.nodes, sys.stdin.buffer))
        return quotas.made_for(trace, fleet.kinds(nodes, arguments.fleet or Fraction(1)))
    assert arguments.quota is not None
    return quotas.made_for(trace, [_kind(arguments.quota)])


def _kind(text: str) -> Kind:
    amounts: dict[str, int] = {}
    for part in text.split(","):
        resource, _, quantity = (piece.strip() for piece in part.partition("="))
        if not (resource and quantity):
            message = f"{part!r} is not of the form resource=quantity, as in nvidia.com/gpu=64"
            raise click.BadParameter(message, param_hint="--quota")
        try:
            amounts[resource] = quota_amount(resource, quantity)
        except QuantityError as error:
            raise click.BadParameter(f"{resource}: {error}", param_hint="--quota") from None
    return Kind(FLAVOR, 1, amounts)
