"""Durations as the Go ecosystem writes them ("90s", "1h30m") as timedeltas, to the microsecond."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from muster.queue.api.wording import shown

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5, the micro sign
    "μs": 10**3,  # U+03BC, the Greek letter, which Go reads as well
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART: Final = re.compile(
    r"(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>ns|us|µs|μs|ms|s|m|h)"
)
_NANOSECONDS_MAX: Final = 2**63 - 1
_LENGTH_MAX: Final = 64


class DurationError(ValueError):
    """The text is no duration; the message shows it and what is allowed."""


def parse_duration(text: str) -> timedelta:
    """Return the duration; what is finer than a microsecond is cut. Raises DurationError."""
    signed = re.fullmatch(r"([+-]?)(.+)", text) if len(text) <= _LENGTH_MAX else None
    sign, rest = signed.groups() if signed else ("", "")
    if rest == "0":
        return timedelta(0)
    nanoseconds = position = 0
    while part := _PART.match(rest, position):
        unit, fraction = _UNITS[part["unit"]], part["fraction"] or ""
        nanoseconds += int(part["whole"] or 0) * unit
        nanoseconds += int(fraction or 0) * unit // 10 ** len(fraction)
        position = part.end()
    if position == 0 or position < len(rest) or nanoseconds > _NANOSECONDS_MAX:
        hint = f"; did you mean {text}s?" if rest.isdecimal() else ""
        raise DurationError(f"{shown(text)} is not a duration: write it as in 90s or 1h30m{hint}")
    duration = timedelta(microseconds=nanoseconds // 1000)
    return -duration if sign == "-" else duration


def format_duration(duration: timedelta) -> str:
    """Return the text of a duration, as Go prints it without trailing zeros: "1h30m", "1.5s"."""
    micros = duration // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, fraction = divmod(micros, 10**6)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    decimals = f".{fraction:06d}".rstrip("0") if fraction else ""
    parts = [
        f"{hours}h" if hours else "",
        f"{minutes}m" if minutes else "",
        f"{seconds}{decimals}s" if seconds or fraction else "",
    ]
    return sign + "".join(parts) if any(parts) else "0s"
