"""
Arithmetic on quantities as they stand in decoded objects: texts in canonical form.

Their style is kept: powers of 1000, of 1024, or an exponent.
"""

from __future__ import annotations

import re
from typing import Any, Final

from muster.queue.api.quantities import MILLI, format_quantity, parse_quantity, quantity_text

_GROUP: Final = 3  # exponents are multiples of it
_FINER: Final = ("n", "u", "e-6", "e-9")


def rounded_amount(amount: str) -> str:
    """Return an amount of a resource, of which a thousandth is the finest, rounded up to one."""
    if not amount.endswith(_FINER):
        return amount
    exact = parse_quantity(amount)
    return _formatted(-(-exact // MILLI) * MILLI, amount)


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
