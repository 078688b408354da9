"""
Kubernetes quantities ("500m", "80Gi", "1e3") as exact integers, and back.

`parse_quantity` counts in nano-units, the finest step Kubernetes knows, so no quantity is ever a
float and no two different quantities compare equal. The engine's *amounts* are coarser on purpose:
CPU in milli-cores, everything else in base units. What Kubernetes rounds or caps is rounded or
capped here in the same direction: fractions of a step away from zero, a magnitude beyond the
largest 64-bit integer to that integer.

Text that Kubernetes refuses is refused with a `QuantityError` that shows it, says what is allowed
and guesses what was meant.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from muster.admission.amounts import INFINITE

NANO: Final = 10**9
"""Nano-units in one unit."""

MILLI: Final = 10**6
"""Nano-units in one milli-unit."""

CPU: Final = "cpu"
"""The one resource whose amounts are counted in milli-units."""

QuantityStyle = Literal["decimal", "binary"]
"""Suffixes of a canonical quantity: powers of 1000 (n to E) or of 1024 (Ki to Ei)."""

MAGNITUDE_MAX: Final = INFINITE * NANO
"""Nano-units of the largest quantity; Kubernetes caps there too."""

LENGTH_MAX: Final = 128
"""Characters of the longest text accepted: nobody writes more, and arithmetic stays small."""

_AMOUNT_MIN: Final = -(2**63)
_NUMBER_MAX: Final = 10**100
_DOUBLE_DIGITS: Final = 15  # every decimal number of so many digits survives as a double
_CACHE_MAX: Final = 8192

_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}

_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]*))?|\.(?P<bare>[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[KMGTPE]i|[numkMGTPE])?)"
)

QUANTITY_PATTERN: Final = (
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
)
"""The same grammar for a JSON schema."""

_ALLOWED: Final = (
    "a quantity is a number, optionally followed by one of n u m k M G T P E (powers of 1000), "
    "Ki Mi Gi Ti Pi Ei (powers of 1024) or an exponent such as e3"
)


class QuantityError(ValueError):
    """The value is no quantity; the message shows it, what is allowed and what was likely meant."""


_known: dict[str, int] = {}


def parse_quantity(value: object) -> int:
    """
    Return the nano-units `value` stands for, exactly.

    `value` is text or a number as a JSON or YAML parser returns it. Raises QuantityError.
    """
    if type(value) is str:
        # Manifests repeat a few quantities thousands of times.
        nanos = _known.get(value)
        if nanos is not None:
            return nanos
        nanos = _parse_text(value)
        if len(_known) >= _CACHE_MAX:
            _known.clear()
        _known[value] = nanos
        return nanos
    return _parse_text(quantity_text(value))


def quantity_text(value: object) -> str:
    """Return the text of a quantity that a parser may have read as a number; it is not parsed."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise QuantityError(f"{named(value)} is not a quantity: {_ALLOWED}")
    if isinstance(value, int):
        # Python refuses to print integers of thousands of digits.
        return str(max(-_NUMBER_MAX, min(value, _NUMBER_MAX)))
    text = repr(value)
    if len(re.sub(r"e.*|[^0-9]", "", text).strip("0")) > _DOUBLE_DIGITS:
        # The digits that were written are lost for good.
        raise QuantityError(f"{text} has too many digits for a number; write it as a string")
    return text


def named(value: object) -> str:
    """Return what a value of the wrong kind is called in a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return "nothing" if value is None else repr(value)


def _parse_text(text: str) -> int:
    match = _QUANTITY.fullmatch(text) if len(text) <= LENGTH_MAX else None
    if match is None:
        raise QuantityError(_refusal(text))
    fraction = match["fraction"] or match["bare"] or ""
    digits = int((match["whole"] or "") + fraction)
    if digits == 0:
        return 0
    # value = digits * 1024**power * 10**exponent nano-units
    exponent = 9 - len(fraction)
    power = 0
    if match["exponent"] is not None:
        exponent += int(match["exponent"])
    elif (suffix := match["suffix"] or "") in _BINARY:
        power = _BINARY[suffix]
    else:
        exponent += _DECIMAL[suffix]
    # Beyond twice the longest text the answer is the cap or one nano-unit; do not compute it.
    exponent = max(-2 * LENGTH_MAX, min(exponent, 2 * LENGTH_MAX))
    scale: int = 10 ** abs(exponent)
    nanos: int = digits * 1024**power
    nanos = nanos * scale if exponent >= 0 else -(-nanos // scale)
    nanos = min(nanos, MAGNITUDE_MAX)
    return -nanos if match["sign"] == "-" else nanos


def _refusal(text: str) -> str:
    """Say why `text` is no quantity and what it was likely meant to be."""
    if text == "":
        return f"an empty string is not a quantity: {_ALLOWED}"
    if len(text) > LENGTH_MAX:
        return f"{text[:20]!r}… is not a quantity: it is longer than {LENGTH_MAX} characters"
    hint = _intention(text)
    return f"{text!r} is not a quantity: {hint or _ALLOWED}"


def _intention(text: str) -> str | None:
    squeezed = re.sub(r"\s+", "", text)
    if squeezed != text:
        meant = squeezed if _QUANTITY.fullmatch(squeezed) else None
        rest = f"did you mean {meant}?" if meant else _intention(squeezed)
        return f"remove the space; {rest}" if rest else None
    ungrouped = re.sub("[_,]", "", text)
    if ungrouped != text and _QUANTITY.fullmatch(ungrouped):
        return f"digits are not grouped; did you mean {ungrouped}?"
    # "1K", "80GB", "80gb", "80GiB" and "80g" are how people say it elsewhere.
    spelling = re.fullmatch(
        r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?P<prefix>[kmgtpe])(?P<binary>i?)b?",
        text,
        re.IGNORECASE,
    )
    if spelling is None:
        return None
    number, prefix = spelling["number"], spelling["prefix"].upper()
    if spelling["binary"]:
        return f"did you mean {number}{prefix}i?"
    decimal = f"{number}{'k' if prefix == 'K' else prefix}"
    power = "KMGTPE".index(prefix) + 1
    thousands, twos = (f"{base}{f'^{power}' if power > 1 else ''}" for base in (1000, 1024))
    return f"did you mean {decimal} (x {thousands}) or {number}{prefix}i (x {twos})?"


def format_quantity(nanos: int, style: QuantityStyle = "decimal") -> str:
    """
    Return the canonical text of `nanos` nano-units, as Kubernetes prints it.

    The largest suffix that needs no fraction is taken. Binary suffixes serve whole numbers from
    1024 up; anything else is printed in the decimal style.
    """
    if style == "binary" and nanos % NANO == 0 and abs(nanos) >= 1024 * NANO:
        units = nanos // NANO
        suffix = ""
        for candidate in _BINARY:
            if units % 1024:
                break
            units //= 1024
            suffix = candidate
        return f"{units}{suffix}"
    if nanos == 0:
        return "0"
    mantissa = nanos
    suffix = "n"
    for candidate in list(_DECIMAL)[1:]:
        if mantissa % 1000:
            break
        mantissa //= 1000
        suffix = candidate
    return f"{mantissa}{suffix}"


def style_of(resource: str) -> QuantityStyle:
    """Return how amounts of `resource` are written: bytes in powers of 1024, the rest of 1000."""
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        return "binary"
    return "decimal"


def _round_up(resource: str, nanos: int) -> int:
    unit = MILLI if resource == CPU else NANO
    return -(-nanos // unit) if nanos >= 0 else nanos // unit


def quota_amount(resource: str, quantity: object) -> int:
    """
    Return the engine's amount for a quota of `quantity`; what no 64-bit integer holds is INFINITE.

    CPU comes in milli-cores and is unlimited from the number of cores whose milli-cores overflow.
    """
    nanos = parse_quantity(quantity)
    limit = INFINITE // 1000 * NANO if resource == CPU else INFINITE * NANO
    return INFINITE if nanos >= limit else _round_up(resource, nanos)


def request_amount(resource: str, quantity: object) -> int:
    """Return the engine's amount for a request of `quantity`, clamped to 64 bits."""
    return max(_AMOUNT_MIN, min(_round_up(resource, parse_quantity(quantity)), INFINITE))


def amount_quantity(resource: str, amount: int) -> str:
    """Return the canonical quantity of an engine's amount: 1500 of cpu is "1500m"."""
    return format_quantity(amount * (MILLI if resource == CPU else NANO), style_of(resource))
