"""
Traces of production clusters that people have, in the columns in which they were published.

A format is recognised by its columns. What the file leaves unsaid is taken for granted here, and
said in the notes of the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from muster.queue.manifests.complaints import Complaint
from muster.queue.simulation.traces.job_trace import Trace, TraceJob, per_pod
from muster.queue.simulation.traces.rows import CellError, Row, Table, checked

GPU: Final = "nvidia.com/gpu"
GPU_MILLI: Final = "gpu-milli"
"""Thousandths of a GPU, where pods share one."""
MEBIBYTE: Final = 2**20


@dataclass(frozen=True, slots=True)
class Preset:
    """A published format."""

    name: str
    columns: tuple[str, ...]
    """The columns that are read, by which the format is recognised."""
    job: Callable[[Row], TraceJob]
    owners: tuple[str, ...] = ()
    notes: Callable[[Table], tuple[str, ...]] = lambda _table: ()


# --- openb: pods of a GPU cluster that are latency sensitive or best effort ----------------------

LATENCY_SENSITIVE: Final = "ls"
BEST_EFFORT: Final = "be"


def _openb_job(row: Row) -> TraceJob:
    created_us = row.instant_us("creation_time")
    deleted_us = row.instant_us("deletion_time")
    scheduled = row.has("scheduled_time")
    started_us = row.instant_us("scheduled_time") if scheduled else created_us
    if not created_us <= started_us <= deleted_us:
        raise CellError("scheduled_time", "is not between creation_time and deletion_time")
    gpus = row.whole("num_gpu")
    return TraceJob(
        name=row.text("name"),
        arrival_us=created_us,
        runtime_us=deleted_us - started_us,
        queue=BEST_EFFORT if row.text("qos") == "BE" else LATENCY_SENSITIVE,
        requests=per_pod(
            {
                "cpu": row.whole("cpu_milli"),
                "memory": row.whole("memory_mib") * MEBIBYTE,
                GPU_MILLI: gpus * row.whole("gpu_milli"),
            }
        ),
        models=tuple(row.text("gpu_spec").split("|")) if row.has("gpu_spec") else (),
        recorded_wait_us=started_us - created_us if scheduled else None,
    )


def _openb_notes(table: Table) -> tuple[str, ...]:
    never = sum(not row.has("scheduled_time") for row in table.rows)
    if not never:
        return ()
    told = (
        f"Pods that were never scheduled where the trace was recorded ({never}) run here for as "
        "long as they waited there."
    )
    return (told,)


# --- philly: gangs of one virtual cluster --------------------------------------------------------


def _philly_job(row: Row) -> TraceJob:
    return TraceJob(
        name=f"job-{row.text('job_id')}",
        arrival_us=row.instant_us("submit_time"),
        runtime_us=row.length_us("duration"),
        queue="philly",
        pods=max(1, row.whole("num_gpu")),
        requests=per_pod({GPU: min(1, row.whole("num_gpu"))}),
    )


# --- spot: high-priority jobs, and spot jobs on what they leave idle -----------------------------


def _spot_job(row: Row) -> TraceJob:
    kind = row.text("job_type")
    if kind not in ("HP", "Spot"):
        raise CellError("job_type", f"{kind!r} is neither HP nor Spot")
    return TraceJob(
        name=row.text("job_name"),
        arrival_us=row.instant_us("submit_time"),
        runtime_us=row.length_us("duration"),
        queue=kind.lower(),
        pods=max(1, row.whole("worker_num")),
        requests=per_pod(
            {"cpu": row.amount("cpu_request", "cpu"), GPU: row.amount("gpu_request", GPU)}
        ),
        models=tuple(row.text("gpu_model").split("|")) if row.has("gpu_model") else (),
    )


PRESETS: Final = (
    Preset(
        "openb",
        (
            "name",
            "cpu_milli",
            "memory_mib",
            "num_gpu",
            "gpu_milli",
            "gpu_spec",
            "qos",
            "creation_time",
            "deletion_time",
            "scheduled_time",
        ),
        _openb_job,
        owners=(LATENCY_SENSITIVE,),
        notes=_openb_notes,
    ),
    Preset("philly", ("job_id", "submit_time", "num_gpu", "duration"), _philly_job),
    Preset(
        "spot",
        (
            "job_name",
            "gpu_model",
            "cpu_request",
            "gpu_request",
            "worker_num",
            "submit_time",
            "duration",
            "job_type",
        ),
        _spot_job,
        owners=("hp",),
    ),
)
"""The formats that are recognised."""


def preset_of(table: Table) -> Preset | None:
    """Return the format of a table, None when it is none of these."""
    for preset in PRESETS:
        if all(column in table.columns for column in preset.columns):
            return preset
    return None


def read(table: Table, preset: Preset) -> Trace:
    """Return the trace in a table of a published format. Raises ManifestError."""
    jobs: list[TraceJob] = []
    complaints: list[Complaint] = []
    for row in table.rows:
        try:
            jobs.append(preset.job(row))
        except CellError as error:
            complaints.append(table.complaint(row, error))
    checked(table, complaints)
    return Trace(
        title=table.name, jobs=tuple(jobs), owners=preset.owners, notes=preset.notes(table)
    )
