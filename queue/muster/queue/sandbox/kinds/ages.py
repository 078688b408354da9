"""How long ago something was, in the two or three figures that kubectl's columns show."""

from __future__ import annotations

from typing import Any, Final

from muster.queue.api.timestamps import TimestampError, parse_timestamp
from muster.queue.sandbox.kinds.resources import Column, Shared

_US: Final = 1_000_000
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY


def short_duration(seconds: int) -> str:
    """Return a span of time; what is yet to come is invalid, but for a difference of clocks."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two(seconds: int, unit: int, name: str, part: int, part_name: str) -> str:
    whole, rest = divmod(seconds, unit)
    return f"{whole}{name}" + (f"{rest // part}{part_name}" if rest // part else "")


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


def _age_of(obj: Shared, now_us: int) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now_us)


AGE: Final = Column(
    name="Age",
    type="date",
    description="When the object was created; set by the server, in UTC. Null for lists.",
    value=_age_of,
)
"""The column of kinds that define none."""
