"""
JSONPath as kubectl and definitions write it: `.spec.parts[?(@.name=="a")].size`.

A path is read once and finds values in any number of documents. What is missing is no value, not
an error; only a path that asks the wrong thing of a document (an index of no list, an order of a
text and a number) fails.

Source: the dialect that Kubernetes documents as "JSONPath Support", without `range` and `end`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import orjson

from muster.queue.sandbox.schema.go import escaped

_Step = Callable[[list[Any]], list[Any]]

_TOKEN: Final = re.compile(
    r"""
    \[\?\((?P<filter>(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^)"'])*)\)\]
    |(?P<recurse>\.\.)(?P<below>\w(?:\\.|[^\s.,\[\]$@{}\\])*)?
    |\[(?P<array>[^\]\n]*)\]
    |\.(?P<field>(?:\\.|[^\s.,\[\]$@{}\\])*)
    |"(?P<text>(?:\\.|[^"\\])*)"
    |'(?P<quoted>(?:\\.|[^'\\])*)'
    |(?P<number>[+-]?[\d.]+)
    |(?P<truth>true|false)\b
    |(?P<here>[ @$])
    """,
    re.VERBOSE,
)
_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?\d*)(?::(-?\d*))?(?::(-?\d*))?")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)")
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class PathError(ValueError):
    """A path that can't be read, or that asks the wrong thing of a document."""


class JsonPath:
    """A path that was read; raises PathError for one that can't be."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps = tuple(_steps(text))

    def find(self, document: Any) -> list[Any]:
        """Return the values found, in order; raises PathError."""
        values = [document]
        for step in self._steps:
            values = step(values)
        return values


def _steps(text: str) -> Iterator[_Step]:
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if not token:
            raise PathError(f"{text!r} can't be read from {text[position:]!r} on")
        yield from _meant(token)
        position = token.end()


def _meant(token: re.Match[str]) -> Iterator[_Step]:
    value = next((each for each in token.groups() if each is not None), "")
    match token.lastgroup:
        case "filter":
            yield _filter(value)
        case "recurse":
            yield _recurse
        case "below":
            yield from (_recurse, _field(_unescaped(token["below"])))
        case "array":
            yield from _brackets(value)
        case "field":
            yield _each if value == "*" else _field(value.replace("\\", ""))
        case "text" | "quoted":
            yield _constant(_unescaped(value))
        case "number":
            yield _constant(_number(value))
        case "truth":
            yield _constant(value == "true")
        case _:
            pass  # a blank, or a sign for what the path is at anyway


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise PathError(f"cannot parse number {text}") from None


def _brackets(text: str) -> Iterator[_Step]:
    parts = text.split(",")
    if len(parts) > 1:
        yield _union([tuple(_brackets(part.strip(" "))) for part in parts])
    elif key := _KEY.fullmatch(text):
        yield from _steps(f".{key[1]}")
    elif text == "*":
        yield _slice(0, None, 1)
    elif indices := _SLICE.fullmatch(text):
        first, last, step = (int(index) if index else None for index in indices.groups())
        if indices[2] is None and first is not None:
            yield _index(first)
        else:
            yield _slice(first or 0, last, 1 if step is None else step)
    else:
        raise PathError(f"invalid array index {text}")


def _field(name: str) -> _Step:
    def step(values: list[Any]) -> list[Any]:
        return [value[name] for value in values if isinstance(value, dict) and name in value]

    return step


def _each(values: list[Any]) -> list[Any]:
    return [child for value in values for child in _children(value)]


def _children(value: Any) -> Iterable[Any]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case _:
            return ()


def _recurse(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if children := list(_children(value)):
            found += [value, *_recurse(children)]
    return found


def _constant(constant: Any) -> _Step:
    return lambda values: [constant for _ in values]


def _union(parts: list[tuple[_Step, ...]]) -> _Step:
    def step(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for part in parts:
            some = values
            for each in part:
                some = each(some)
            found += some
        return found

    return step


def _lists(values: list[Any]) -> Iterator[list[Any]]:
    for value in values:
        if isinstance(value, list):
            yield value
        elif value is not None:
            raise PathError(f"{value!r:.100} is not array or slice")


def _index(index: int) -> _Step:
    def step(values: list[Any]) -> list[Any]:
        try:
            return [value[index] for value in _lists(values)]
        except IndexError:
            raise PathError(f"array index out of bounds: index {index}") from None

    return step


def _slice(first: int, last: int | None, step: int) -> _Step:
    def take(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in _lists(values):
            count = len(value)
            start = first + count if first < 0 else first
            end = count if last is None else last + count if last < 0 else last
            if start == end:
                return found
            if not (0 <= start < count and start < end <= count):
                raise PathError(f"array index out of bounds: {start}:{end}, length {count}")
            if step <= 0:
                raise PathError("step must be > 0")
            found += value[start:end:step]
        return found

    return take


def _filter(text: str) -> _Step:
    comparison = _COMPARISON.fullmatch(text)
    left = JsonPath(comparison[1] if comparison else text)
    right = JsonPath(comparison[3]) if comparison else None
    compares = _OPERATORS.get(comparison[2]) if comparison else None
    if comparison and not compares:
        raise PathError(f"unrecognized filter operator {comparison[2]}")

    def passes(entry: Any) -> bool:
        found = left.find(entry)
        if right is None or compares is None:
            return bool(found)
        bounds = right.find(entry)
        if len(found) > 1 or len(bounds) > 1:
            raise PathError("can only compare one element at a time")
        return bool(found and bounds) and compares(*_comparable(found[0], bounds[0]))

    return lambda values: [each for some in _lists(values) for each in some if passes(each)]


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    if type(left) is not type(right) or not isinstance(left, bool | int | float | str):
        raise PathError(f"{left!r:.100} and {right!r:.100} can't be compared")
    return left, right


# -- found values as text ----------------------------------------------------------------------

# Powers of ten that are written without an exponent.
_POINT_MIN: Final = -4
_POINT_END: Final = 6


def as_text(value: Any) -> str:
    """Return a value as columns and selectors of fields show it."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case None:
            return "<no value>"
        case float():
            return _float_text(value)
        case dict() | list():
            return escaped(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())
        case _:
            return str(value)


def _float_text(value: float) -> str:
    """Return the shortest text, with an exponent from a million on and below 0.0001."""
    number = Decimal(repr(value)).normalize()
    magnitude = number.adjusted()
    if _POINT_MIN <= magnitude < _POINT_END:
        return f"{number:f}"
    sign, digits, _ = number.as_tuple()
    first, *rest = map(str, digits)
    mantissa = f"{first}.{''.join(rest)}" if rest else first
    return f"{'-' if sign else ''}{mantissa}e{magnitude:+03d}"
