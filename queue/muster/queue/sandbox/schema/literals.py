"""
Texts that fields of built-in kinds hold besides plain ones: quantities, times, bytes.

Each function returns the text as an API server keeps it, and raises ValueError in its words.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from muster.queue.api.quantities import MAGNITUDE_MAX, format_quantity

_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)0*(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)"
)
_DECIMAL: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]+")
_KEPT_DIGITS_MAX: Final = 18
_FINEST: Final = -9
_SCALE_MAX: Final = 300


@lru_cache(maxsize=8192)
def quantity(text: str) -> str:
    """Return the text of a quantity as it is kept: as it was written if that is near canonical."""
    text = text.strip()
    match = _QUANTITY.fullmatch(text)
    if match is None or not text:
        raise ValueError(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    suffix, fraction = match["suffix"], match["fraction"] or ""
    digits = (match["whole"] or "0") + fraction
    if suffix in _BINARY:
        power, exponent = _BINARY[suffix], 0
        if not fraction and _is_kept_binary(digits, power):
            return text
    else:
        if suffix not in _DECIMAL and not _EXPONENT.fullmatch(suffix):
            raise ValueError("unable to parse quantity's suffix")
        power, exponent = 0, _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        if _is_kept_decimal(digits, exponent - len(fraction)):
            return text
    by_exponent = not power and suffix not in _DECIMAL
    kept = _canonical(digits, exponent - len(fraction), power, by_exponent=by_exponent)
    return f"-{kept}" if match["sign"] == "-" and kept != "0" else kept


def _is_kept_decimal(digits: str, scale: int) -> bool:
    return (
        len(digits) <= _KEPT_DIGITS_MAX
        and scale >= _FINEST
        and scale % 3 == 0
        and not digits.endswith("000")
        and digits[0] != "0"
    )


def _is_kept_binary(digits: str, power: int) -> bool:
    precision = 15 - len(digits) - int(power * 3 / 10) - 1
    return precision >= 0 and int(digits) % 8 != 0


def _canonical(digits: str, scale: int, power: int, *, by_exponent: bool) -> str:
    """Return digits * 10**scale * 2**power in the largest suffix that needs no fraction."""
    scale = max(-_SCALE_MAX, min(scale - _FINEST, _SCALE_MAX))
    nanos = int(digits) << power
    nanos = nanos * 10**scale if scale >= 0 else -(-nanos // 10**-scale)
    if power:
        nanos = min(nanos, MAGNITUDE_MAX)
    text = format_quantity(nanos, "binary" if power else "decimal")
    if by_exponent and text[-1] in _DECIMAL:
        return f"{text[:-1]}e{_DECIMAL[text[-1]]}"
    return text


_SECONDS: Final = "2006-01-02T15:04:05Z07:00"
_MICROSECONDS: Final = "2006-01-02T15:04:05.000000Z07:00"

# What a time consists of: pattern, what stands for it in the layout, its name and its range.
_PARTS: Final = (
    (re.compile(r"[0-9]{4}"), "2006", "year", range(10_000)),
    (re.compile(r"-"), "-", "", None),
    (re.compile(r"[0-9]{2}"), "01", "month", range(1, 13)),
    (re.compile(r"-"), "-", "", None),
    (re.compile(r"[0-9]{2}"), "02", "day", range(1, 32)),
    (re.compile(r"T"), "T", "", None),
    (re.compile(r"[0-9]{2}"), "15", "hour", range(24)),
    (re.compile(r":"), ":", "", None),
    (re.compile(r"[0-9]{2}"), "04", "minute", range(60)),
    (re.compile(r":"), ":", "", None),
    (re.compile(r"[0-9]{2}"), "05", "second", range(60)),
)
_EVERY_MONTH_HAS: Final = 28
_OFFSET_HOURS_MAX: Final = 24
_SIX_DIGITS: Final = re.compile(r"\.[0-9]{6}")
_ANY_FRACTION: Final = re.compile(r"(?:[.,][0-9]+)?")
_ZONE: Final = re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}")
_KEPT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z")


@lru_cache(maxsize=1024)
def time(text: str, *, micro: bool) -> str:
    """Return a time in UTC, to the second or microsecond; fractions of a step are dropped."""
    layout = _MICROSECONDS if micro else _SECONDS
    rest = text
    fields: dict[str, int] = {}
    for pattern, element, name, allowed in _PARTS:
        found, rest = _next(pattern, element, text, rest, layout)
        if allowed is not None:
            if int(found) not in allowed:
                raise _out_of_range(text, name)
            fields[name] = int(found)
    fraction_of = _SIX_DIGITS if micro else _ANY_FRACTION
    fraction, rest = _next(fraction_of, ".000000", text, rest, layout)
    zone, rest = _next(_ZONE, "Z07:00", text, rest, layout)
    if rest:
        raise ValueError(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    if zone == "Z" and fields["day"] <= _EVERY_MONTH_HAS and _KEPT.fullmatch(text):
        return text
    offset = _offset(text, zone)
    try:
        moment = datetime(**fields, tzinfo=UTC) - offset
    except (ValueError, OverflowError) as error:
        raise _out_of_range(text, "day") from error
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (fraction if micro else "") + "Z"


def _offset(text: str, zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > _OFFSET_HOURS_MAX:
        raise _out_of_range(text, "time zone offset hour")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


def _out_of_range(text: str, name: str) -> ValueError:
    return ValueError(f"parsing time {_quoted(text)}: {name} out of range")


def _next(
    pattern: re.Pattern[str], element: str, text: str, rest: str, layout: str
) -> tuple[str, str]:
    match = pattern.match(rest)
    if match is None:
        failed = f'cannot parse {_quoted(rest)} as "{element}"'
        raise ValueError(f'parsing time {_quoted(text)} as "{layout}": {failed}')
    return match[0], rest[match.end() :]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_GROUP: Final = 4
_WHOLE_GROUPS: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*")
_LETTERS: Final = re.compile(r"[A-Za-z0-9+/]*")
_BASE64_LINES: Final = re.compile(r"[\r\n]")


def base64(text: str) -> str:
    """Return the base64 of some bytes, line breaks dropped."""
    joined = _BASE64_LINES.sub("", text)
    if _BASE64.fullmatch(joined):
        return joined
    group = _WHOLE_GROUPS.match(joined)
    assert group is not None
    start = group.end()
    letters = _LETTERS.match(joined, start)
    assert letters is not None
    at, length = letters.end(), letters.end() - start
    if at == len(joined):
        at = start  # text that ends in the middle is wrong where its last group of four begins
    elif joined[at] == "=" and length > 1:
        at += 1
        if length == _GROUP - 2 and joined[at : at + 1] == "=":
            at += 1
    raise ValueError(f"illegal base64 data at input byte {at}")
