"""JSON values and their types as messages of a real API server, written in Go, show them."""

from __future__ import annotations

from typing import Any, Final

import orjson


def shown(value: Any) -> str:
    """Return a JSON value as `%v` shows it: `map[a:1 b:[x y]]`."""
    match value:
        case dict():
            return f"map[{' '.join(f'{name}:{shown(value[name])}' for name in sorted(value))}]"
        case list():
            return f"[{' '.join(map(shown, value))}]"
        case str():
            return value
        case None:
            return "<nil>"
        case _:
            return orjson.dumps(value).decode()


_JSON_TYPES: Final = {dict: "object", list: "array", str: "string", bool: "bool"}
_GO_TYPES: Final = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}


def json_type(value: Any) -> str:
    """Return what the JSON type of a value is called, that of null being a number's."""
    return _JSON_TYPES.get(type(value), "number")


def go_type(value: Any) -> str:
    """Return the type that a decoded value has."""
    return _GO_TYPES.get(type(value), "<nil>")


def escaped(text: str) -> str:
    """Escape in a JSON document what could mean something in HTML."""
    for character in "&<>\u2028\u2029":
        if character in text:
            text = text.replace(character, f"\\u{ord(character):04x}")
    return text
