"""Lengths of time as people write them ("90s", "1h30m"), as integer microseconds, and back."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

UNITS_US: Final = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""Microseconds in each unit, by the suffix it is written with."""

DURATION_MAX_US: Final = 10_000 * 365 * UNITS_US["d"]

_PART: Final = re.compile(
    r"(?P<whole>[0-9]{1,18})(?:\.(?P<fraction>[0-9]{1,9}))?(?P<unit>us|ms|[smhd])"
)
_ALLOWED: Final = 'a duration is a number with a unit, as in "90s", "5m", "1h30m", "250ms" or "2d"'


class DurationError(ValueError):
    """The text is no duration; the message shows it, what is allowed and what was likely meant."""


def parse_duration(text: str) -> int:
    """Return the microseconds that `text` stands for; fractions of one are cut off."""
    squeezed = text.strip()
    total_us = position = 0
    for part in _PART.finditer(squeezed):
        if part.start() != position:
            break
        position = part.end()
        unit_us = UNITS_US[part["unit"]]
        total_us += int(part["whole"]) * unit_us
        if part["fraction"]:
            total_us += int(part["fraction"]) * unit_us // 10 ** len(part["fraction"])
    if not squeezed or position != len(squeezed):
        raise DurationError(f"{text[:40]!r} is not a duration: {_hint(squeezed) or _ALLOWED}")
    if total_us > DURATION_MAX_US:
        raise DurationError(f"{text[:40]!r} is longer than 10000 years")
    return total_us


def _hint(text: str) -> str | None:
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return f'say the unit: "{text}s" for seconds, "{text}m" for minutes'
    if text.startswith("-"):
        return "it cannot be negative"
    packed = re.sub(r"\s+", "", text)
    for long, short in (
        ("hours?|hrs?", "h"),
        ("minutes?|mins?", "m"),
        ("seconds?|secs?", "s"),
        ("days?", "d"),
    ):
        packed = re.sub(long, short, packed, flags=re.IGNORECASE)
    if packed != text and all(
        _PART.fullmatch(part) for part in re.findall(r"[0-9.]+[a-z]+", packed)
    ):
        return f'did you mean "{packed}"?'
    return None


def short(duration_us: int) -> str:
    """Return a duration for people, with two units at the most: "1h 30m", "12.5 s", "250 ms"."""
    if duration_us < UNITS_US["ms"]:
        return "0" if duration_us == 0 else f"{duration_us} us"
    if duration_us < UNITS_US["s"]:
        return f"{duration_us // 1000} ms"
    if duration_us < 2 * UNITS_US["m"] and duration_us % UNITS_US["m"]:
        tenths = (duration_us + 50_000) // 100_000
        return f"{tenths // 10}.{tenths % 10} s" if tenths % 10 else f"{tenths // 10} s"
    units = [(unit, UNITS_US[unit]) for unit in ("d", "h", "m", "s")]
    for (large, large_us), (small, small_us) in pairwise(units):
        if duration_us >= large_us:
            whole, rest = divmod(duration_us, large_us)
            part = rest // small_us
            return f"{whole}{large} {part}{small}" if part else f"{whole}{large}"
    raise AssertionError("everything from a minute up is some minutes")
