"""
Quantities of built-in objects in the one form that the API gives back: "1000m" becomes "1".

The style is kept: powers of 1000, of 1024, or an exponent. Nothing here decides whether a quantity
makes sense where it stands.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from muster.queue.api.quantities import MILLI, format_quantity, parse_quantity, quantity_text

_GROUP: Final = 3  # exponents are multiples of it


@lru_cache(8192)
def canonical_quantity(text: str) -> str:
    """Return a valid quantity in canonical form; raises QuantityError."""
    return _formatted(parse_quantity(text), text)


@lru_cache(8192)
def canonical_amount(text: str) -> str:
    """Return the same for an amount of a resource, which is in thousandths at the finest."""
    nanos = parse_quantity(text)
    rounded = -(-nanos // MILLI) * MILLI if nanos >= 0 else nanos // MILLI * MILLI
    return _formatted(rounded, text)


def nanos(value: Any) -> int:
    """Return the nano-units of a quantity as it stands in an object; raises QuantityError."""
    return parse_quantity(quantity_text(value))


def sum_of(amounts: list[str]) -> str:
    """Return the sum of valid quantities, in the style of the first that is not 0."""
    if not amounts:
        return "0"
    style = next((each for each in amounts if nanos(each)), amounts[0])
    return _formatted(sum(nanos(each) for each in amounts), style)


def _formatted(nanos: int, like: str) -> str:
    """Return a number of nano-units in the style of a text."""
    if like.endswith("i"):
        return format_quantity(nanos, "binary")
    if re.search("[eE][+-]?[0-9]", like):
        return _with_exponent(nanos)
    return format_quantity(nanos)


def _with_exponent(nanos: int) -> str:
    if nanos == 0:
        return "0"
    exponent = -9
    while nanos % 10**_GROUP == 0:
        nanos //= 10**_GROUP
        exponent += _GROUP
    return f"{nanos}e{exponent}" if exponent else str(nanos)
