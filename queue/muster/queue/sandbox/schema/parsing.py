"""
JSON and YAML texts as API servers read them, and what is wrong with them.

A field given twice is no error: the last one counts, and its place is told besides the value.
Errors are in the words of the real server, as far as they don't depend on its own types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

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
    if _is_rendered(value, body):
        return value, []
    # Each key has a quote and a colon, so as many of them as keys means that none is missing.
    if body.count(b'":') == _count_keys(value):
        return value, []
    return _parse_slowly(body)


def _is_rendered(value: Any, body: bytes) -> bool:
    """Tell whether a text is how its value is written in the least space, so each key once."""
    try:
        return orjson.dumps(value) == body.rstrip()
    except orjson.JSONEncodeError:  # an integer of more than 64 bits
        return False


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
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ParseError(_explained(error, text)) from None
    except RecursionError:
        character = text.lstrip()[0]
        raise ParseError(f"invalid character '{character}' exceeded max depth") from None
    faults = [f'duplicate field "{place.lstrip(".")}"' for place in _repetitions(value, "")]
    return _plain(value), faults


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = _Repeating(pairs)
    if len(found) == len(pairs):
        return dict(pairs)
    names = [name for name, _ in pairs]
    found.repeated = tuple(name for name in found if names.count(name) > 1)
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
