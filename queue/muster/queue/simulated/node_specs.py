"""
What is known of a node before it is simulated: its name, address, labels, capacity and taints.

Where nodes differ, a file describes them; those that are all alike are made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final

NODES_MAX: Final = 5_000
GPU: Final = "nvidia.com/gpu"
HOSTNAME: Final = "kubernetes.io/hostname"

DEFAULT_CAPACITY: Final = {
    "cpu": "128",
    "memory": "1Ti",
    "ephemeral-storage": "4Ti",
    "pods": "110",
}
"""What a node has of the resources that its group says nothing about."""

_FIRST_ADDRESS: Final = IPv4Address("10.0.0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """One node to be simulated."""

    name: str
    address: str
    """Its IP address, which nothing listens on."""
    labels: Mapping[str, str]
    capacity: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...] = ()


def plain_cluster(nodes: int, gpus_per_node: int = 0) -> tuple[NodeSpec, ...]:
    """Return that many equal nodes, 0 to NODES_MAX, called node-0, node-1 and so on."""
    gpus = {GPU: str(gpus_per_node)} if gpus_per_node else {}
    return tuple(
        NodeSpec(
            name=f"node-{index}",
            address=address(place),
            labels={},
            capacity={**DEFAULT_CAPACITY, **gpus},
        )
        for place, index in enumerate(indexes(nodes))
    )


def indexes(count: int) -> Iterator[str]:
    """Yield 0, 1 and so on at equal length, so that they sort as they are counted."""
    width = len(str(count - 1))
    return (f"{index:0{width}}" for index in range(count))


def address(place: int) -> str:
    """Return the IP address of a node by its place in the cluster."""
    return str(_FIRST_ADDRESS + place)
