"""Messages in protocol buffers, written by the numbers of their fields."""

import struct
from collections.abc import Iterator, Mapping
from typing import Any

MAGIC = b"k8s\0"

Numbered = Mapping[int, Any]
"""
A message by the numbers of its fields: integers and booleans, texts, bytes, floats, or messages.

A list is as many fields of one number.
"""


def message(fields: Numbered) -> bytes:
    """Return the bytes of a message."""
    return b"".join(
        field(number, value) for number, values in fields.items() for value in each(values)
    )


def field(number: int, value: Any) -> bytes:
    """Return one field."""
    match value:
        case int():
            return varint(number << 3) + varint(value % 2**64)
        case float():
            return varint(number << 3 | 1) + struct.pack("<d", value)
        case str():
            return field(number, value.encode())
        case bytes():
            return varint(number << 3 | 2) + varint(len(value)) + value
        case _:
            return field(number, message(value))


def each(values: Any) -> Iterator[Any]:
    """Yield the values of a list, and any other value as it is."""
    if isinstance(values, list):
        yield from values
    else:
        yield values


def varint(number: int) -> bytes:
    """Return a number of at least 0."""
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*digits, number))


def envelope(kind: str, api_version: str, content: Numbered | bytes) -> bytes:
    """Return the body of a request with an object."""
    raw = content if isinstance(content, bytes) else message(content)
    return MAGIC + message({1: {1: api_version, 2: kind}, 2: raw, 3: "", 4: ""})
