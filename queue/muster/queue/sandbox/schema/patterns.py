"""
Regular expressions as definitions write them, which is in the syntax of RE2.

Most are the same in Python, which is faster, but for `$`, here the very end of a text, and classes
of characters, which are those of ASCII. What has no equivalent is left to RE2 itself, and so is
what Python might take forever for: it tries all ways to match a text, where RE2 never goes back.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from muster.queue.sandbox.schema import re2


class PatternError(ValueError):
    """The text is no regular expression; the message says what is wrong with it."""


def search(pattern: str) -> Callable[[str], object]:
    """Return what tells whether `pattern` matches anywhere in a text. Raises PatternError."""
    compiled = _compiled(pattern)
    if compiled is None or _has_many_ways(pattern):
        return partial(_linear, pattern)

    def found(text: str) -> object:
        return compiled.search(text) if len(text) <= _LENGTH_MAX else re2.matches(pattern, text)

    return found


def matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Yield all matches of `pattern` in a text. Raises PatternError."""
    compiled = _compiled(pattern)
    if compiled is None or _repeats_choices(_skeleton(pattern)):
        raise PatternError(f"where {pattern!r} matches can't be told here, only whether it does")
    return compiled.finditer(text)


def _linear(pattern: str, text: str) -> bool:
    """Ask RE2, which takes a moment even for short texts; those come again and again."""
    return _asked(pattern, text) if len(text) <= _LENGTH_MAX else re2.matches(pattern, text)


_asked = lru_cache(maxsize=10_000)(re2.matches)


@lru_cache(maxsize=1024)
def _has_many_ways(pattern: str) -> bool:
    """Tell whether there may be too many ways in which a short text matches to try them all."""
    skeleton = _skeleton(pattern)
    repetitions = sum(map(skeleton.count, "*+{"))
    choices = sum(map(skeleton.count, "?|"))
    return repetitions > _REPETITIONS_MAX or choices > _CHOICES_MAX or _repeats_choices(skeleton)


def _skeleton(pattern: str) -> str:
    """Return a pattern with one letter for all that matches one letter."""
    return _LETTER.sub("x", pattern).replace("(?:", "(")


def _repeats_choices(skeleton: str) -> bool:
    """Tell whether a group is repeated that may match in several ways: then they multiply."""
    openings: list[int] = []
    for index, character in enumerate(skeleton):
        if character == "(":
            openings.append(index)
        elif character == ")" and openings:
            group = skeleton[openings.pop() : index]
            if skeleton[index + 1 : index + 2] in {"*", "+", "{"} and _CHOICE.search(group):
                return True
    return False


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return Python's equivalent, None where there is none."""
    try:
        re2.matches(pattern, "")
    except re2.RE2Error as error:
        raise PatternError(f"error parsing regexp: {error}") from error
    if _WITHOUT_EQUIVALENT.search(pattern):
        return None
    try:
        with warnings.catch_warnings(action="error"):
            return re.compile(_translated(pattern), re.ASCII)
    except (re.error, FutureWarning, RecursionError, OverflowError):
        return None


_LENGTH_MAX = 64
_REPETITIONS_MAX = 3
_CHOICES_MAX = 8
_LETTER = re.compile(r"\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]])*\]", re.DOTALL)
_CHOICE = re.compile(r"[*+?{|]")

# Classes of Unicode, quotations, flags that RE2 alone has, groups named its way.
_WITHOUT_EQUIVALENT = re.compile(r"\\[pPQECA0-9]|\(\?[^:P]|\(\?P[^<]|\[:\^")


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
