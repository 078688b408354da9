"""Arguments and options that several commands share, and what they mean."""

from __future__ import annotations

import gc
import sys
import time

import click
from pydantic import ValidationError

from muster.queue.api.configuration import (
    Configuration,
    ConfigurationKindError,
    parse_configuration,
)
from muster.queue.api.problems import describe
from muster.queue.api.timestamps import TimestampError, parse_timestamp
from muster.queue.manifests.complaints import Complaint, ManifestError, Origin
from muster.queue.manifests.parsing import SyntaxProblem, parse
from muster.queue.manifests.sources import Source, read, read_file
from muster.queue.world import World, read_world

_EMPTY = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}

paths_argument = click.argument("paths", nargs=-1, metavar="PATH...")
config_option = click.option("--config", metavar="FILE", help="Configuration file to decide by.")
now_option = click.option(
    "--now", metavar="TIME", help="Time to decide at, as in 2026-01-31T12:00:00Z; default: now."
)


def instant(text: str | None) -> int:
    """Return `--now` in microseconds since the epoch."""
    if text is None:
        return time.time_ns() // 10**9 * 10**6
    try:
        return parse_timestamp(text)
    except TimestampError as error:
        raise click.BadParameter(str(error), param_hint="--now") from None


def world(paths: tuple[str, ...], configuration: Configuration, now_us: int) -> World:
    """Return the world behind the paths of a command. Raises ManifestError."""
    if not paths:
        raise click.UsageError(
            "Missing argument 'PATH...': name files or directories of manifests, "
            "or - for standard input."
        )
    # What is read stays: looking for garbage while it grows would cost as much as reading it.
    gc.disable()
    try:
        return read_world(paths, sys.stdin.buffer, configuration, now_us)
    finally:
        gc.freeze()
        gc.enable()


def configuration(path: str | None) -> Configuration:
    """Return the configuration in a file, the defaults without one. Raises ManifestError."""
    if path is None:
        return parse_configuration(_EMPTY)
    [source] = read([path], sys.stdin.buffer) if path == "-" else [read_file(path)]
    if isinstance(source, Complaint):
        raise ManifestError([source])
    return _parsed(source)


def _parsed(source: Source) -> Configuration:
    def wrong(message: str, *, path: str = "", line: int | None = None) -> Complaint:
        origin = Origin(source=source.name)
        return Complaint(origin=origin, path=path, message=message, line=line)

    try:
        documents = [each for each in parse(source.text, is_json=source.is_json) if each.value]
    except SyntaxProblem as problem:
        raise ManifestError([wrong(problem.message, line=problem.line)]) from None
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise ManifestError([wrong("expected one document, of kind Configuration")])
    [document] = documents
    flaws = [wrong(flaw.message, line=flaw.line) for flaw in document.flaws]
    try:
        found = parse_configuration(document.value)
    except ConfigurationKindError as error:
        flaws.append(wrong(str(error)))
    except ValidationError as error:
        flaws += [
            wrong(problem.message, path=problem.path, line=document.line_of(problem.path))
            for problem in describe(error, Configuration)
        ]
    else:
        if not flaws:
            return found
    raise ManifestError(flaws)
