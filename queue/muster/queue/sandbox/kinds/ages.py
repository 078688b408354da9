"""How long ago something was, in the two or three figures that kubectl's columns show."""

from __future__ import annotations

from typing import Any, Final

from muster.queue.api.timestamps import TimestampError, parse_timestamp
from muster.queue.sandbox.kinds.resources import Column, Shared

_US: Final = 1_000_000
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "y": 365 * 24 * 3600}

# From the shortest spans on: how many of a unit end them, the unit, and that of the rest.
_SPANS: Final = (
    (2, "m", "s", ""),
    (10, "m", "m", "s"),
    (3, "h", "m", ""),
    (8, "h", "h", "m"),
    (2, "d", "h", ""),
    (8, "d", "d", "h"),
    (2, "y", "d", ""),
    (8, "y", "y", "d"),
)


def short_duration(seconds: int) -> str:
    """Return a span of time; what is yet to come is invalid, but for a difference of clocks."""
    if seconds < -1:
        return "<invalid>"
    spans = ((unit, fine) for n, of, unit, fine in _SPANS if seconds < n * _SECONDS[of])
    unit, fine = next(spans, ("y", ""))
    whole, rest = divmod(max(seconds, 0), _SECONDS[unit])
    parts = rest // _SECONDS[fine] if fine else 0
    return f"{whole}{unit}" + (f"{parts}{fine}" if parts else "")


def age(timestamp: Any, now_us: int) -> str:
    """Return how long ago a timestamp is, as the API writes it."""
    if not timestamp:
        return "<unknown>"
    try:
        then_us = parse_timestamp(timestamp)
    except (TimestampError, TypeError):
        return "<invalid>"
    # Cut towards zero: less than a second ahead is now.
    return short_duration(int((now_us - then_us) / _US))


def age_of(obj: Shared, now_us: int) -> str:
    """Return how long ago an object was created."""
    return age(obj["metadata"].get("creationTimestamp"), now_us)


AGE: Final = Column(
    "Age",
    age_of,
    "When the object was created; set by the server, in UTC. Null for lists.",
    type="date",
)
"""The column of kinds that define none."""
