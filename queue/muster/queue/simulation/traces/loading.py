"""From a file to a trace: which format it is in is told by its columns."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from muster.queue.manifests import sources
from muster.queue.manifests.complaints import Complaint, ManifestError, Origin
from muster.queue.simulation.traces import columns, presets, rows, slurm
from muster.queue.simulation.traces.columns import Columns
from muster.queue.simulation.traces.job_trace import Trace


def load(path: str, mapping: Columns, stdin: BinaryIO) -> Trace:
    """
    Return the trace in a file; "-" is standard input. Raises ManifestError.

    `mapping` says which columns are which; without it, published formats are recognised.
    """
    table = load_table(path, stdin)
    if slurm.is_slurm(table):
        return slurm.read(table, mapping)
    preset = presets.preset_of(table)
    if preset is not None and not mapping:
        return presets.read(table, preset)
    return columns.read(table, mapping)


def load_table(path: str, stdin: BinaryIO) -> rows.Table:
    """Return the rows of a file. Raises ManifestError."""
    if path != "-" and Path(path).is_dir():
        message = "is a directory: name the file with the rows"
        raise ManifestError([Complaint(origin=Origin(source=path), message=message)])
    [source] = sources.read([path], stdin)
    if isinstance(source, Complaint):
        raise ManifestError([source])
    return rows.table(source)
