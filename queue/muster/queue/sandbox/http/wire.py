"""
The wire format of protocol buffers: from bytes to the fields of a message by their names.

What fields a message has, and what their values mean, say those who make a `Message`. Unknown
numbers are passed over and a message that comes in pieces is put together, as the format has it.
Every byte is looked at once for each message that it is in, and none is copied but into a value.

Source: https://protobuf.dev/programming-guides/encoding/. Errors are in the words of Go programs.
"""

from __future__ import annotations

import re
import struct
from base64 import b64encode
from collections.abc import Callable
from math import isfinite
from typing import Any, Final, NamedTuple

VARINT, FIXED64, LENGTH, _GROUP, _GROUP_END, _FIXED32 = range(6)
"""How the end of a value is found: its last byte is less than 128, 8 bytes, a length before it."""

_FIXED_BYTES: Final = {FIXED64: 8, _FIXED32: 4}
_UINT64_MAX: Final = 2**64 - 1
_SHIFT_MAX: Final = 64
_MORE: Final = 0x80
_INTEGRAL_MAX: Final = 1e21
_INVALID: Final = re.compile("[\udc80-\udcff]")

Read = Callable[[bytes, int, int, Any], Any]
"""From some bytes, where a value begins and ends in them, and the value so far (None) to it."""


class WireError(ValueError):
    """Bytes that can't be read; the message says why."""


class Field(NamedTuple):
    """What stands under one number."""

    name: str
    """"" for a message whose fields stand in the object around it."""
    wire: int
    read: Read
    repeated: bool = False


class Message:
    """What is known of one type."""

    __slots__ = ("_by_tag", "_name", "_names")

    def __init__(self, name: str, *fields: Field) -> None:
        self._name = name
        self._names: dict[int, str] = {}
        """Of fields, by their numbers."""
        self._by_tag: dict[int, Field] = {}
        for number, field in enumerate(fields, 1):
            self.add(number, field)

    def add(self, number: int, field: Field) -> None:
        """Let a field stand under a number."""
        self._names[number] = field.name
        self._by_tag[number << 3 | field.wire] = field
        if field.repeated and field.wire != LENGTH:
            self._by_tag[number << 3 | LENGTH] = Field(field.name, LENGTH, _packed(field))

    def read(self, data: bytes, at: int, end: int, present: Any) -> dict[str, Any]:
        """Add the fields in a part of `data` to an object, or to a new one; raises WireError."""
        into: dict[str, Any] = {} if present is None else present
        by_tag = self._by_tag
        while at < end:
            start = at
            tag, at = (data[at], at + 1) if data[at] < _MORE else _varint(data, at, end)
            field = by_tag.get(tag)
            if field is None:
                self._check_unknown(tag)
                at = _skipped(data, start, end)
                continue
            name, wire, read, repeated = field
            at, stop = _extent(data, at, end, wire)
            if repeated:
                into.setdefault(name, []).append(read(data, at, stop, None))
            elif name:
                into[name] = read(data, at, stop, into.get(name))
            else:
                read(data, at, stop, into)
            at = stop
        return into

    def _check_unknown(self, tag: int) -> None:
        """See that there may be a field of a tag that is none of ours."""
        number, wire = tag >> 3, tag & 7
        if wire == _GROUP_END:
            raise WireError(f"proto: {self._name}: wiretype end group for non-group")
        if not number:
            raise WireError(f"proto: {self._name}: illegal tag 0 (wire type {tag})")
        if number in self._names:
            name = self._names[number]
            shown = "ObjectMeta" if name == "metadata" else name[:1].upper() + name[1:]
            raise WireError(f"proto: wrong wireType = {wire} for field {shown}")


def _packed(field: Field) -> Read:
    """Return what adds all the values that are in one piece."""

    def read(data: bytes, at: int, end: int, present: Any) -> list[Any]:
        values = [] if present is None else present
        while at < end:
            at, stop = _extent(data, at, end, field.wire)
            values.append(field.read(data, at, stop, None))
            at = stop
        return values

    return read


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    value = shift = 0
    while shift < _SHIFT_MAX:
        if at >= end:
            raise WireError("unexpected EOF")
        byte = data[at]
        at += 1
        if byte < _MORE:
            return (value | byte << shift) & _UINT64_MAX, at
        value |= (byte - _MORE) << shift
        shift += 7
    raise WireError("proto: integer overflow")


def _extent(data: bytes, at: int, end: int, wire: int) -> tuple[int, int]:
    """Return where a value begins and ends."""
    if wire == LENGTH:
        if at < end and data[at] < _MORE:
            length, at = data[at], at + 1
        else:
            length, at = _varint(data, at, end)
        if length > _UINT64_MAX >> 1:
            raise WireError("proto: negative length found during unmarshaling")
        stop = at + length
    elif wire == VARINT:
        _, stop = _varint(data, at, end)
    elif wire in _FIXED_BYTES:
        stop = at + _FIXED_BYTES[wire]
    else:
        raise WireError(f"proto: illegal wireType {wire}")
    if stop > end:
        raise WireError("unexpected EOF")
    return at, stop


def _skipped(data: bytes, at: int, end: int) -> int:
    """Return where a field ends, with all that is in it if it is a group."""
    depth = 0
    while True:
        tag, at = _varint(data, at, end)
        wire = tag & 7
        if wire == _GROUP:
            depth += 1
        elif wire == _GROUP_END:
            depth -= 1
        else:
            _, at = _extent(data, at, end, wire)
        if not depth:
            return at


# -- values ----------------------------------------------------------------------------------------


def text(data: bytes, at: int, end: int, _present: Any) -> str:
    """Return a text; each byte that is no part of one shows as U+FFFD."""
    value = data[at:end]
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _INVALID.sub("\ufffd", value.decode(errors="surrogateescape"))


def raw(data: bytes, at: int, end: int, _present: Any) -> bytes:
    """Return bytes."""
    return data[at:end]


def base64(data: bytes, at: int, end: int, _present: Any) -> str:
    """Return bytes as JSON has them."""
    return b64encode(data[at:end]).decode()


def boolean(data: bytes, at: int, end: int, _present: Any) -> bool:
    """Return whether a number is not 0."""
    return _varint(data, at, end)[0] != 0


def int32(data: bytes, at: int, end: int, _present: Any) -> int:
    """Return the number in the lower 32 bits."""
    value = _varint(data, at, end)[0] & 0xFFFF_FFFF
    return value - 2**32 if value >> 31 else value


def int64(data: bytes, at: int, end: int, _present: Any) -> int:
    """Return a number of 64 bits."""
    value = _varint(data, at, end)[0]
    return value - 2**64 if value >> 63 else value


def double(data: bytes, at: int, _end: int, _present: Any) -> float:
    """Return a number, an int for a whole one as JSON has it; raises WireError if it is none."""
    value: float = struct.unpack_from("<d", data, at)[0]
    if not isfinite(value):
        raise WireError(f"json: unsupported value: {value}")
    return int(value) if value.is_integer() and abs(value) < _INTEGRAL_MAX else value
