"""
Regular expressions as definitions write them, which is in the syntax of RE2.

Python's differ in little: `$` here is the very end of a text, and classes are those of ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache


class PatternError(ValueError):
    """The text is no regular expression; the message says what is wrong with it."""


def search(pattern: str) -> Callable[[str], object]:
    """Return what finds a match of `pattern` in a text. Raises PatternError."""
    return _compiled(pattern).search


def matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Yield all matches of `pattern` in a text. Raises PatternError."""
    return _compiled(pattern).finditer(text)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_translated(pattern), re.ASCII)
    except re.error as error:
        raise PatternError(f"error parsing regexp: {error}") from error


def _translated(pattern: str) -> str:
    """Return the pattern in Python's syntax."""
    parts: list[str] = []
    in_class = False
    index = 0
    while index < len(pattern):
        character = pattern[index]
        if character == "\\":
            pair = pattern[index : index + 2]
            parts.append({r"\z": r"\Z", r"\Z": r"\\Z"}.get(pair, pair))
            index += 2
            continue
        if in_class:
            in_class = character != "]"
            if pattern.startswith("[:", index) and (named := _CLASS.match(pattern, index)):
                parts.append(_CLASSES[named[1]])
                index = named.end()
                in_class = True
                continue
        elif character == "[":
            in_class = True
            opening = re.match(r"\[\^?\]?", pattern[index:])
            assert opening is not None
            parts.append(opening[0].replace("]", r"\]"))
            index += opening.end()
            continue
        elif character == "$":
            character = r"\Z"
        parts.append(character)
        index += 1
    return "".join(parts)


_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CLASS = re.compile(r"\[:(" + "|".join(_CLASSES) + r"):\]")
