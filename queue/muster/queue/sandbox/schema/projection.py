"""
Finds which parts of a value some expressions look at, so that only those are handed to them.

Handing a value over costs as much as its size, and a rule at the root of a large object looks at
little of it. What is left out can't be asked about: where that is not sure, everything is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

_TEXT: Final = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_LOOK: Final = re.compile(
    r"(?P<call>\b(?:has|size)\s*\(\s*)?(?<![.\w])(?:self|oldSelf)\b"
    r"(?P<path>(?:\s*\.\s*[A-Za-z_]\w*(?![\w]|\s*\())*)(?P<size>\s*\.\s*size\s*\(\s*\))?(?P<end>\s*\))?"
)
_RAW_TEXT: Final = re.compile(r"[rR][bB]?['\"]|'''|\"\"\"")

_Project = Callable[[Any], Any]


class _Part:
    """What is looked at of one value: all of it, or some fields, or only that it is there."""

    __slots__ = ("fields", "size", "whole")

    def __init__(self) -> None:
        self.whole = False
        self.size = False
        self.fields: dict[str, _Part] = {}


def projection(expressions: Iterable[str]) -> _Project | None:
    """Return what leaves out of `self` what no expression looks at, None to keep all of it."""
    root = _Part()
    for expression in expressions:
        if _RAW_TEXT.search(expression):
            return None
        text = _TEXT.sub("''", expression)
        for look in _LOOK.finditer(text):
            _add(root, look)
    return None if root.whole or root.size else _compile(root)


def _add(part: _Part, look: re.Match[str]) -> None:
    names = re.findall(r"\w+", look["path"])
    is_call = look["call"] is not None and look["end"] is not None
    if names and is_call and look["call"].startswith("has"):
        for name in names:
            part = _field(part, name)
        return
    for index, name in enumerate(names):
        if "__" in name:
            names = names[:index]  # it may be escaped
            is_call = False
            break
    else:
        is_call = is_call or look["size"] is not None
    for name in names:
        part = _field(part, name)
    if is_call:
        part.size = True
    else:
        part.whole = True


def _field(part: _Part, name: str) -> _Part:
    return part.fields.setdefault(name, _Part())


def _compile(part: _Part) -> _Project:
    fields = {name: None if child.whole else _compile(child) for name, child in part.fields.items()}
    keeps_size = part.size

    def project(value: Any) -> Any:
        if value.__class__ is dict:
            kept = {
                name: value[name] if inner is None else inner(value[name])
                for name, inner in fields.items()
                if name in value
            }
            if keeps_size and len(kept) != len(value):
                return value
            return kept
        if value.__class__ is list:
            return [None] * len(value) if keeps_size else []
        return value

    return project
