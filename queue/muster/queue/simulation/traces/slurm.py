"""
Job records of Slurm: what `sacct --parsable2 --allocations` prints.

A useful call is

    sacct -a -X -P -S 2026-01-01 -o JobID,Partition,Submit,Start,ElapsedRaw,ReqTRES,Priority

Each job becomes a gang with one pod a node. Jobs that never ran have no run time and are left out,
as are job steps.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from muster.queue.api.quantities import QuantityError, request_amount
from muster.queue.api.wording import shown
from muster.queue.simulation.experiment import notes_on
from muster.queue.simulation.traces.columns import Columns
from muster.queue.simulation.traces.job_trace import Trace, TraceJob, per_pod
from muster.queue.simulation.traces.presets import GPU
from muster.queue.simulation.traces.rows import SECOND_US, CellError, Row, Table, checked

MARKS: Final = ("JobID", "Submit")
"""Columns by which the format is recognised."""

ELAPSED: Final = ("ElapsedRaw", "Elapsed")
TRES: Final = ("ReqTRES", "AllocTRES")
"""Where the resources stand: what was asked for counts, if it is known."""
QUEUES: Final = ("Partition", "Account")

DIGITS_MAX: Final = 9
"""Digits of the largest count."""

NEVER: Final = ("Unknown", "None", "N/A")
"""Instants that have not come."""

_ELAPSED: Final = re.compile(
    r"(?:(?P<days>[0-9]{1,5})-)?(?:(?P<hours>[0-9]{1,4}):)?(?P<minutes>[0-9]{1,4}):"
    r"(?P<seconds>[0-9]{2})(?:\.[0-9]+)?"
)


def is_slurm(table: Table) -> bool:
    """Whether the columns are those of job records."""
    return all(column in table.columns for column in MARKS)


def read(table: Table, mapping: Columns) -> Trace:
    """Return the trace in the records; `mapping` may name another column for the queue."""
    queue = mapping.get("queue") or _first(table, QUEUES)
    complaints = [
        table.missing(column, f"Add it to the -o of sacct: {why}.")
        for column, why in (
            (_first(table, ELAPSED), "it is how long a job ran"),
            (_first(table, TRES), "it is what a job asked for"),
            (queue, "it is the queue of a job"),
        )
        if column not in table.columns
    ]
    checked(table, complaints)
    jobs: list[TraceJob] = []
    left_out: Counter[str] = Counter()
    for row in table.rows:
        try:
            reason = _why_left_out(row, table)
            if reason is None:
                jobs.append(_job(row, table, queue))
            else:
                left_out[reason] += 1
        except CellError as error:
            complaints.append(table.complaint(row, error))
    checked(table, complaints)
    return Trace(title=table.name, jobs=tuple(jobs), notes=notes_on(left_out))


def _first(table: Table, columns: tuple[str, ...]) -> str:
    """Return the first of the columns that is there, else the first of all."""
    return next((column for column in columns if column in table.columns), columns[0])


def _why_left_out(row: Row, table: Table) -> str | None:
    """Say what a record is that stands for no job that ran."""
    if "." in row.text("JobID"):
        return "job steps"
    if _elapsed_us(row, _first(table, ELAPSED)) == 0:
        return "jobs that never ran"
    if _resources_column(row, table) is None:
        return "jobs without resources"
    return None


def _resources_column(row: Row, table: Table) -> str | None:
    return next((name for name in TRES if name in table.columns and row.has(name)), None)


def _job(row: Row, table: Table, queue: str) -> TraceJob:
    submitted_us = row.instant_us("Submit")
    started = row.has("Start") and row.text("Start") not in NEVER
    column = _resources_column(row, table)
    assert column is not None
    amounts, nodes = _resources(row, column)
    return TraceJob(
        name=row.text("JobID"),
        arrival_us=submitted_us,
        runtime_us=_elapsed_us(row, _first(table, ELAPSED)),
        queue=row.text(queue),
        priority=row.whole("Priority") if row.has("Priority") else 0,
        pods=nodes,
        requests=per_pod({name: -(-amount // nodes) for name, amount in amounts.items()}),
        recorded_wait_us=max(0, row.instant_us("Start") - submitted_us) if started else None,
    )


def _elapsed_us(row: Row, column: str) -> int:
    text = row.text(column)
    if text.isdecimal():
        return row.whole(column) * SECOND_US
    match = _ELAPSED.fullmatch(text)
    if match is None:
        raise CellError(column, f"{shown(text)} is not [days-]hours:minutes:seconds")
    days, hours, minutes, seconds = (int(match[name] or 0) for name in _ELAPSED.groupindex)
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND_US


def _resources(row: Row, column: str) -> tuple[dict[str, int], int]:
    """Return the amounts of the whole job, and the number of its nodes."""
    amounts: dict[str, int] = {}
    typed_gpus = 0
    nodes = 1
    for part in row.text(column).split(","):
        name, _, value = part.partition("=")
        match name:
            case "cpu":
                amounts["cpu"] = _whole(value, column, part) * 1000
            case "mem":
                amounts["memory"] = _memory(value, column)
            case "node":
                nodes = max(1, _whole(value, column, part))
            case "gres/gpu":
                amounts[GPU] = _whole(value, column, part)
            case _ if name.startswith("gres/gpu:"):
                typed_gpus += _whole(value, column, part)
            case _:
                pass  # billing, licences, energy: nothing that has a quota here
    if typed_gpus and GPU not in amounts:
        amounts[GPU] = typed_gpus
    return amounts, nodes


def _whole(text: str, column: str, part: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > DIGITS_MAX:
        raise CellError(column, f"{shown(part)} is not of the form name=number")
    return int(text)


def _memory(text: str, column: str) -> int:
    """Return bytes; Slurm's K, M, G and T are powers of 1024, and M is meant without one."""
    quantity = f"{text}i" if text[-1:] in ("K", "M", "G", "T", "P") else f"{text}Mi"
    try:
        return request_amount("memory", quantity)
    except QuantityError as error:
        raise CellError(column, f"mem={text}: {error}") from None
