"""
JSON and YAML texts as API servers read them, and what is wrong with them.

A field given twice is no error: the last one counts, and its place is told besides the value.
Errors are in the words of the real server, as far as they don't depend on its own types.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

DEPTH_MAX: Final = 200
"""How many objects and lists may be in each other."""
_WRITABLE_DEPTH_MAX: Final = 254
"""How many can be written as bytes: what is kept or told of an object is some levels deeper."""
_INT64_MIN: Final = -(2**63)
_UINT64_MAX: Final = 2**64 - 1
_DIGITS_MAX: Final = 20
"""Of an integer in 64 bits, with its sign."""

_KEY_EXPECTED: Final = "looking for beginning of object key string"
# What Python's parser misses, and how the real one says so.
_EXPECTATIONS: Final[Mapping[str, str]] = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": _KEY_EXPECTED,
    "Illegal trailing comma before end of object": _KEY_EXPECTED,
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Expecting ',' delimiter": "after object key:value pair",
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}


class ParseError(ValueError):
    """A text that can't be read; the message says where and why."""


def parse_json(body: bytes) -> tuple[Any, list[str]]:
    """Return the value of a text and `duplicate field "a.b"` for each; raises ParseError."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _parse_slowly(body)
    if body.count(b"{") + body.count(b"[") > DEPTH_MAX and is_too_deep(value):
        raise _too_deep(body)
    if orjson.dumps(value) == body.rstrip():  # it is in the least space, so each key once
        return value, []
    # Each key has a quote and a colon, so as many of them as keys means that none is missing.
    if body.count(b'":') == _count_keys(value):
        return value, []
    return _parse_slowly(body)


def is_too_deep(value: Any) -> bool:
    """Tell whether a value of JSON, of any depth, has more levels than there may be."""
    for _ in range(_WRITABLE_DEPTH_MAX - DEPTH_MAX):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True
    return False


def _too_deep(body: bytes) -> ParseError:
    return ParseError(f"invalid character '{body.lstrip()[:1].decode()}' exceeded max depth")


def _count_keys(value: Any) -> int:
    if value.__class__ is dict:
        count = len(value)
        for part in value.values():
            if part.__class__ is dict or part.__class__ is list:
                count += _count_keys(part)
        return count
    return sum(map(_count_keys, value)) if value.__class__ is list else 0


class _Repeating(dict[str, Any]):
    """An object whose text has some fields more than once."""

    repeated: tuple[str, ...] = ()


def _parse_slowly(body: bytes) -> tuple[Any, list[str]]:
    text = body.decode(errors="replace")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_float,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise ParseError(_explained(error, text)) from None
    except RecursionError:
        raise _too_deep(body) from None
    if is_too_deep(plain := _plain(value)):
        raise _too_deep(body)
    faults = [f'duplicate field "{place.lstrip(".")}"' for place in _repetitions(value, "")]
    return plain, faults


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ParseError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _integer(text: str) -> int | float:
    if len(text) <= _DIGITS_MAX and in_64_bits(number := int(text)):
        return number
    return _float(text)


def in_64_bits(number: int) -> bool:
    """Tell whether it is no float to API servers, which is what all larger numbers are."""
    return _INT64_MIN <= number <= _UINT64_MAX


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = _Repeating(pairs)
    if len(found) == len(pairs):
        return dict(pairs)
    counts = Counter(name for name, _ in pairs)
    found.repeated = tuple(name for name in found if counts[name] > 1)
    return found


def _repetitions(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value, _Repeating):
            yield from (f"{place}.{name}" for name in value.repeated)
        for name, child in value.items():
            yield from _repetitions(child, f"{place}.{name}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _repetitions(child, f"{place}[{index}]")


def _plain(value: Any) -> Any:
    """Return a value as orjson would: without our marks, without halves of characters."""
    match value:
        case dict():
            return {_plain(name): _plain(child) for name, child in value.items()}
        case list():
            return [_plain(child) for child in value]
        case str():
            if value.isascii():
                return value
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case _:
            return value


def _refuse_constant(name: str) -> None:
    raise ParseError(f"invalid character '{name[0]}' looking for beginning of value")


def _explained(error: json.JSONDecodeError, text: str) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    character = text[error.pos]
    shown = repr(character) if character.isprintable() else f"'\\x{ord(character):02x}'"
    return f"invalid character {shown} {_EXPECTATIONS.get(error.msg, error.msg)}"


def parse_yaml(body: bytes) -> tuple[Any, list[str]]:
    """
    Return the value of the first document of a text, {} for none, and its repeated keys.

    These are told as `line 7: key "a" already set in map`. JSON is YAML. Raises ParseError.
    """
    if body[:1] == b"{":
        try:
            return parse_json(body)
        except ParseError:
            pass  # as YAML it may still have a meaning
    # Loaded where it is needed: most programs send JSON.
    from muster.queue.sandbox.schema.yaml_documents import parse_document  # noqa: PLC0415

    return parse_document(body)
