"""
Exact integer amounts of resources, and the one value that stands for "no limit".

An *amount* is an int: CPU in milli-cores, everything else in base units (bytes, devices, pods).
`INFINITE` is an unlimited quota. Quotas are combined with the saturating operations below;
usage is always finite, so the hot path may use plain `+`, `-` and `<=` on it.

Source: the quota algebra of the Kueue API, "unlimited" being the largest 64-bit integer.
"""

from __future__ import annotations

from typing import NamedTuple

INFINITE = 2**63 - 1
"""An unlimited amount. It equals itself and is greater than every other amount."""


class FlavorResource(NamedTuple):
    """The pair that quota is counted in, for example ("h100", "nvidia.com/gpu")."""

    flavor: str
    resource: str


def plus(a: int, b: int) -> int:
    """Return a + b; unlimited if either is."""
    if a >= INFINITE or b >= INFINITE:
        return INFINITE
    return min(a + b, INFINITE)


def minus(a: int, b: int) -> int:
    """Return a - b; unlimited stays so, but unlimited minus unlimited is 0."""
    if b >= INFINITE:
        return 0 if a >= INFINITE else -INFINITE
    if a >= INFINITE:
        return INFINITE
    return a - b
