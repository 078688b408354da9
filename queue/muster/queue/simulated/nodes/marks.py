"""Marks on the nodes that we simulate, by which everybody can see them and make them fail."""

from __future__ import annotations

from typing import Final

from muster.queue.client.protocol import Manifest

SIMULATED: Final = "sim.muster.dev/node"
"""A label of every simulated node; its value says nothing."""
FAILED: Final = "sim.muster.dev/failed"
"""An annotation: while a node has it, with any value, nothing is heard of the node."""


def is_simulated(node: Manifest) -> bool:
    """Whether a node is one of ours."""
    return SIMULATED in (node["metadata"].get("labels") or {})


def is_failed(node: Manifest) -> bool:
    """Whether somebody has made the node fail."""
    return FAILED in (node["metadata"].get("annotations") or {})
