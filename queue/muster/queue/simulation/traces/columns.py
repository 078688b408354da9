"""
Traces in columns of our own names, and files whose columns are mapped to them.

    arrival   seconds since the start, or a timestamp
    runtime   seconds, or a duration such as 1h30m
    queue     name of the queue; "default" without it
    priority  whole number, the greatest goes first; 0 without it
    pods      how many pods make the gang; 1 without it
    requests  per pod, as cpu=4,memory=8Gi,nvidia.com/gpu=1, or an object in JSON
    name      what the job is called; its line without it
    started   when it really started, to compare with

Any other name that is mapped is a resource, and its column says how much a pod asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from muster.queue.api.quantities import QuantityError, request_amount
from muster.queue.api.wording import did_you_mean, listed, shown
from muster.queue.manifests.complaints import Complaint, Origin
from muster.queue.simulation.traces.job_trace import Trace, TraceJob, per_pod
from muster.queue.simulation.traces.rows import CellError, Row, Table, checked

REQUIRED: Final = ("arrival", "runtime")
COLUMNS: Final = (*REQUIRED, "queue", "priority", "pods", "requests", "name", "started")
PLAIN_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources without a domain in their name."""

DEFAULT_QUEUE: Final = "default"

Columns = Mapping[str, str]
"""From our name of a column, or a resource, to the name it has in the file."""


class ColumnsError(ValueError):
    """The mapping of columns cannot be used; the message shows what is allowed."""


def parse_columns(text: str) -> Columns:
    """Return the mapping in "arrival=submit_time,runtime=duration". Raises ColumnsError."""
    mapping: dict[str, str] = {}
    for part in text.split(","):
        ours, equals, theirs = (piece.strip() for piece in part.partition("="))
        if not (ours and equals and theirs):
            raise ColumnsError(f"{shown(part)} is not of the form ours=theirs")
        if ours in mapping:
            raise ColumnsError(f"{ours} is given twice")
        if ours not in COLUMNS and ours not in PLAIN_RESOURCES and "/" not in ours:
            hint = did_you_mean(ours, (*COLUMNS, *PLAIN_RESOURCES))
            raise ColumnsError(
                f"there is no column {ours!r}.{hint} Known are {listed(COLUMNS, 'and')}; "
                f"a resource is {listed(PLAIN_RESOURCES)} or has a domain, as nvidia.com/gpu"
            )
        mapping[ours] = theirs
    return mapping


def read(table: Table, mapping: Columns) -> Trace:
    """Return the trace in a table whose columns are named as in `mapping`. Raises ManifestError."""
    named = {ours: mapping.get(ours, ours) for ours in COLUMNS}
    resources = {ours: theirs for ours, theirs in mapping.items() if ours not in COLUMNS}
    complaints = [
        table.missing(theirs, "Say which is which with --columns, as in arrival=submit_time.")
        for ours, theirs in {**named, **resources}.items()
        if theirs not in table.columns and (ours in REQUIRED or ours in mapping)
    ]
    checked(table, complaints)
    jobs: list[TraceJob] = []
    for row in table.rows:
        try:
            jobs.append(_job(row, named, resources))
        except CellError as error:
            complaints.append(table.complaint(row, error))
    if not complaints and not any(job.requests for job in jobs):
        complaints.append(_asks_for_nothing(table))
    checked(table, complaints)
    unread = [name for name in table.columns if name not in (*named.values(), *resources.values())]
    notes = (f"Columns that are not read: {listed(unread, 'and')}.",) if unread else ()
    return Trace(title=table.name, jobs=tuple(jobs), notes=notes)


def _asks_for_nothing(table: Table) -> Complaint:
    message = (
        "no job asks for anything. Give a column of requests (cpu=4,nvidia.com/gpu=1), or say "
        "which column holds which resource, as in --columns nvidia.com/gpu=num_gpu"
    )
    return Complaint(origin=Origin(source=table.name), message=message)


def _job(row: Row, named: Columns, resources: Columns) -> TraceJob:
    amounts = dict(_requests(row, named["requests"]))
    for resource, column in resources.items():
        if row.has(column):
            amounts[resource] = amounts.get(resource, 0) + row.amount(column, resource)
    arrival_us = row.instant_us(named["arrival"])
    recorded_wait_us = None
    if row.has(named["started"]):
        recorded_wait_us = row.instant_us(named["started"]) - arrival_us
        if recorded_wait_us < 0:
            raise CellError(named["started"], "is before the arrival")
    pods = row.whole(named["pods"]) if row.has(named["pods"]) else 1
    if pods == 0:
        raise CellError(named["pods"], "is 0: a job has at least one pod")
    return TraceJob(
        name=row.text(named["name"]) if row.has(named["name"]) else f"job-{row.line}",
        arrival_us=arrival_us,
        runtime_us=row.length_us(named["runtime"]),
        queue=row.text(named["queue"]) if row.has(named["queue"]) else DEFAULT_QUEUE,
        priority=row.integer(named["priority"]) if row.has(named["priority"]) else 0,
        pods=pods,
        requests=per_pod(amounts),
        recorded_wait_us=recorded_wait_us,
    )


def _requests(row: Row, column: str) -> Iterator[tuple[str, int]]:
    if not row.has(column):
        return
    value = row.cells[column]
    given = value.items() if isinstance(value, dict) else _pairs(row.text(column), column)
    for resource, quantity in given:
        try:
            amount = request_amount(resource, quantity)
        except QuantityError as error:
            raise CellError(column, f"{resource}: {error}") from None
        if amount < 0:
            raise CellError(column, f"{resource}: {shown(quantity)} is negative")
        yield resource, amount


def _pairs(text: str, column: str) -> Iterator[tuple[str, str]]:
    for part in text.replace(";", ",").split(","):
        resource, equals, quantity = (piece.strip() for piece in part.partition("="))
        if not (resource and equals and quantity):
            message = f"{shown(part)} is not of the form resource=quantity, as in cpu=4,memory=8Gi"
            raise CellError(column, message)
        yield resource, quantity
