"""
Nodes as quota: how much of each resource there is of each kind of node.

A kind is a GPU model; nodes without a GPU are one kind too. Node files are recognised by their
columns, as traces are. A part of a fleet is whole nodes, taken evenly from each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from muster.queue.manifests.complaints import Complaint, ManifestError, Origin
from muster.queue.simulation.traces.presets import GPU, GPU_MILLI, MEBIBYTE
from muster.queue.simulation.traces.rows import CellError, Row, Table, checked

CPU_ONLY: Final = "cpu"
"""The kind of nodes without a GPU."""

GPUS: Final = (GPU, GPU_MILLI)


@dataclass(frozen=True, slots=True)
class Node:
    kind: str
    amounts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """Nodes of one GPU model, taken together."""

    name: str
    nodes: int
    amounts: dict[str, int]

    @property
    def gpus(self) -> int:
        return sum(self.amounts.get(resource, 0) for resource in GPUS)


@dataclass(frozen=True, slots=True)
class _Format:
    columns: tuple[str, ...]
    node: Callable[[Row], Node]


def _openb_node(row: Row) -> Node:
    gpus = row.whole("gpu")
    amounts = (
        ("cpu", row.whole("cpu_milli")),
        ("memory", row.whole("memory_mib") * MEBIBYTE),
        (GPU_MILLI, 1000 * gpus),
    )
    return Node(row.text("model").lower() if gpus else CPU_ONLY, amounts)


def _spot_node(row: Row) -> Node:
    gpus = row.whole("gpu_capacity_num")
    amounts = (("cpu", row.whole("cpu_num") * 1000), (GPU, gpus))
    return Node(row.text("gpu_model").lower() if gpus else CPU_ONLY, amounts)


FORMATS: Final = (
    _Format(("sn", "cpu_milli", "memory_mib", "gpu", "model"), _openb_node),
    _Format(("node_name", "gpu_model", "gpu_capacity_num", "cpu_num"), _spot_node),
)


def read(table: Table) -> tuple[Node, ...]:
    """Return the nodes in a table. Raises ManifestError."""
    for known in FORMATS:
        if all(column in table.columns for column in known.columns):
            return _nodes(table, known)
    formats = " or ".join(", ".join(known.columns) for known in FORMATS)
    message = f"is no list of nodes: its columns are {', '.join(table.columns)}; expected {formats}"
    raise ManifestError([Complaint(origin=Origin(source=table.name), message=message)])


def _nodes(table: Table, known: _Format) -> tuple[Node, ...]:
    nodes: list[Node] = []
    complaints: list[Complaint] = []
    for row in table.rows:
        try:
            nodes.append(known.node(row))
        except CellError as error:
            complaints.append(table.complaint(row, error))
    checked(table, complaints)
    return tuple(nodes)


def kinds(nodes: Iterable[Node], part: Fraction) -> tuple[Kind, ...]:
    """
    Return what a part of the nodes amounts to by kind, in the order in which kinds are preferred.

    Nodes without a GPU come first, so that jobs without one leave the others alone; then the most
    plentiful, so that what is scarce stays free for those who cannot do without.
    """
    seen: dict[str, int] = {}
    found: dict[str, Kind] = {}
    for node in nodes:
        number = seen[node.kind] = seen.get(node.kind, 0) + 1
        if int(number * part) == int((number - 1) * part):
            continue
        kind = found.get(node.kind, Kind(node.kind, 0, {}))
        amounts = dict(kind.amounts)
        for resource, amount in node.amounts:
            amounts[resource] = amounts.get(resource, 0) + amount
        found[node.kind] = Kind(node.kind, kind.nodes + 1, amounts)
    return tuple(sorted(found.values(), key=lambda kind: (kind.gpus > 0, -kind.gpus, kind.name)))
