"""
Words that messages to people have in common: values, lists of names, and what was probably meant.

Texts only: nothing here knows what an object or a mistake is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

_VALUE_LENGTH_MAX: Final = 60
_NAMES_SHOWN_MAX: Final = 12
_NUMBER_SHOWN_MAX: Final = 10**40


def shown(value: object) -> str:
    """Return `value` as it may appear in a message: quoted if text, cut when long."""
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, int) and abs(value) >= _NUMBER_SHOWN_MAX:
        text = "a number of many digits"  # Python refuses to print thousands of them
    elif isinstance(value, str | int | float):
        text = repr(value)
    elif isinstance(value, Mapping):
        text = "a mapping"
    else:
        text = "a list"
    return text if len(text) <= _VALUE_LENGTH_MAX else f"{text[: _VALUE_LENGTH_MAX - 1]}…"


def printable(line: str) -> str:
    """Spell out what could move the cursor of a terminal, or break the line."""
    if line.isprintable():
        return line
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in line
    )


def listed(names: Iterable[str], conjunction: str = "or") -> str:
    """Return "a, b or c"."""
    *head, last = names
    return f"{', '.join(head)} {conjunction} {last}" if head else last


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" with a leading space, or nothing when no name is close."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def unknown_field(name: str, known: Iterable[str]) -> str:
    """Return the message for a field that does not exist."""
    names = sorted(known)
    hint = did_you_mean(name, names)
    if not hint and len(names) <= _NAMES_SHOWN_MAX:
        hint = f" Known here: {', '.join(names)}." if names else ""
    return f"unknown field {shown(name)}.{hint}"
