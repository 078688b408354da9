"""
RFC 3339 timestamps ("2026-01-01T12:00:00Z") as integer microseconds since the epoch, and back.

Microseconds are the finest step the API writes (MicroTime). Nothing here reads a clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CACHE_MAX: Final = 8192

# fromisoformat() reads much more than RFC 3339: week dates, missing seconds, missing zones.
_RFC3339: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


class TimestampError(ValueError):
    """The value is no timestamp; the message shows it and what is allowed."""


_known: dict[str, int] = {}


def parse_timestamp(text: str) -> int:
    """Return the microseconds since the epoch; finer digits are cut. Raises TimestampError."""
    try:
        return _known[text]
    except KeyError:
        micros = _parse(text)
    if len(_known) >= _CACHE_MAX:
        _known.clear()
    _known[text] = micros
    return micros


def _parse(text: str) -> int:
    if _RFC3339.fullmatch(text):
        try:
            # In UTC, so that what is read can be written: a zone may lead out of the years.
            moment = datetime.fromisoformat(text.upper()).astimezone(UTC)
            return (moment - _EPOCH) // _MICROSECOND
        except (ValueError, OverflowError):
            pass
    raise TimestampError(
        f"{text!r} is not a timestamp: write date, time and zone as in 2026-01-31T12:00:00Z"
    )


def format_timestamp(micros: int) -> str:
    """Return RFC 3339 text in UTC; whole seconds carry no fraction, as in the API."""
    moment = _EPOCH + micros * _MICROSECOND
    return moment.replace(tzinfo=None).isoformat() + "Z"


def format_second(micros: int) -> str:
    """Return an instant as `metav1.Time` writes it: in whole seconds; a fraction is cut."""
    return format_timestamp(micros - micros % 1_000_000)


def format_micro_time(micros: int) -> str:
    """Return an instant as `metav1.MicroTime` writes it: always with six digits."""
    return (_EPOCH + micros * _MICROSECOND).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
