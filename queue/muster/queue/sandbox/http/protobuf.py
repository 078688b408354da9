"""
Objects of built-in kinds in protocol buffers, as typed clients send them: to what they are in JSON.

What a field holds is in the schema of its kind, and under which number it goes in `field_numbers`.
Such a client writes zeros and empty texts for all that isn't set; they are dropped where those of
JSON are, on the way that both take from here. Bodies are read only: answers are in JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

import orjson

from muster.queue.sandbox.http import wire
from muster.queue.sandbox.http.wire import LENGTH, VARINT, Field, Message, Read, WireError
from muster.queue.sandbox.kinds.resources import Object
from muster.queue.sandbox.kinds.schemas import field_numbers
from muster.queue.sandbox.schema.node import Schema
from muster.queue.sandbox.schema.parsing import is_too_deep

MAGIC: Final = b"k8s\0"

_COMPILED: Final = "protobuf"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TIME_S: Final = -62_135_596_800
"""A time that isn't set: the first instant of the year 1."""


class Envelope(NamedTuple):
    """What a body says of the object in it, "" where it doesn't, and the object's bytes."""

    kind: str
    api_version: str
    content: bytes


def open_envelope(body: bytes) -> Envelope:
    """Return what is in a body; raises WireError."""
    if not body:
        raise WireError("empty data")
    if not body.startswith(MAGIC):
        expected = " ".join(map(str, MAGIC))
        raise WireError(
            f"provided data does not appear to be a protobuf message, expected prefix [{expected}]"
        )
    if len(body) == len(MAGIC):
        raise WireError("empty body")
    found = _ENVELOPE.read(body, len(MAGIC), len(body), None)
    head = found.get("typeMeta", {})
    return Envelope(head.get("kind", ""), head.get("apiVersion", ""), found.get("raw", b""))


def decode_content(content: bytes, schema: Schema) -> Object:
    """Return an object of a built-in type but for its kind and version; raises WireError."""
    try:
        decoded = _message(schema).read(content, 0, len(content), None)
    except RecursionError:
        raise WireError("exceeded max depth") from None
    if is_too_deep(decoded):
        raise WireError("exceeded max depth")
    return decoded


_ENVELOPE: Final = Message(
    "Unknown",
    Field(
        "typeMeta",
        LENGTH,
        Message(
            "TypeMeta", Field("apiVersion", LENGTH, wire.text), Field("kind", LENGTH, wire.text)
        ).read,
    ),
    Field("raw", LENGTH, wire.raw),
)


def _message(schema: Schema) -> Message:
    """Return how a built-in type with fields is read."""
    known: Message | None = schema.compiled.get(_COMPILED)
    if known is None:
        # Known before its fields are: types contain themselves.
        known = schema.compiled[_COMPILED] = Message(_type_name(schema))
        _fill(known, schema, field_numbers()[schema.name])
    return known


def _fill(message: Message, schema: Schema, numbers: Mapping[str, Any]) -> None:
    """Add the fields of a type to a message, or some of them."""
    for number, name in numbers.items():
        if isinstance(name, Mapping):
            inline = Message(_type_name(schema))
            _fill(inline, schema, name)
            field = Field("", LENGTH, inline.read)
        else:
            field = _field(name, schema.properties[name], within=schema)
        message.add(int(number), field)


def _field(name: str, schema: Schema, *, within: Schema) -> Field:
    """Return a field of a type, as its own schema has it."""
    if schema.items is not None:
        return _field(name, schema.items, within=within)._replace(repeated=True)
    if schema.additional is not None:
        return Field(name, LENGTH, _map(schema.additional, within))
    if not schema.name:
        return Field(name, *_SCALARS[schema.type, schema.raw.get("format", "")])
    type_name = _type_name(schema)
    if type_name in _SPECIAL:
        return Field(name, LENGTH, _SPECIAL[type_name])
    if type_name in _ALTERNATIVES:
        return Field(name, LENGTH, _ALTERNATIVES[type_name](within))
    return Field(name, LENGTH, _message(schema).read)


def _type_name(schema: Schema) -> str:
    return schema.name.rpartition(".")[2]


_SCALARS: Final[Mapping[tuple[str, str], tuple[int, Read]]] = {
    ("boolean", ""): (VARINT, wire.boolean),
    ("integer", "int32"): (VARINT, wire.int32),
    ("integer", "int64"): (VARINT, wire.int64),
    ("number", "double"): (wire.FIXED64, wire.double),
    ("string", ""): (LENGTH, wire.text),
    ("string", "byte"): (LENGTH, wire.base64),
}


def _map(values: Schema, within: Schema) -> Read:
    """Return what adds one entry to a map."""
    value = _field("value", values, within=within)
    if value.repeated:
        # A list can't be the value of a map: there is a message around it.
        around = Message("Items", value._replace(name="items"))
        value = Field("value", LENGTH, _converted(around, lambda found: found.get("items", [])))
    entry = Message("Entry", Field("key", LENGTH, wire.text), value)

    def add(data: bytes, at: int, end: int, present: Any) -> Object:
        found = entry.read(data, at, end, None)
        known: Object = {} if present is None else present
        # What is missing has the value of no bytes.
        known[found.get("key", "")] = (
            found["value"] if "value" in found else value.read(b"", 0, 0, None)
        )
        return known

    return add


# -- types that are something else in JSON ---------------------------------------------------------


def _converted(message: Message, convert: Callable[[Object], Any]) -> Read:
    """Return what reads a message and makes something of its fields."""

    def read(data: bytes, at: int, end: int, _present: Any) -> Any:
        return convert(message.read(data, at, end, None))

    return read


def _time(found: Object, *, micro: bool) -> str | None:
    seconds = found.get("seconds", 0)
    if not found or seconds == _NO_TIME_S:
        return None
    micros = found.get("nanos", 0) // 1000 if micro else 0
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=micros)
    except OverflowError:
        raise WireError("Time.MarshalJSON: year outside of range [0,9999]") from None
    shown = moment.replace(tzinfo=None).isoformat(timespec="microseconds" if micro else "seconds")
    return f"{shown}Z"


def _int_or_string(found: Object) -> Any:
    return found.get("strVal", "") if found.get("type") else found.get("intVal", 0)


def _json(found: Object) -> Any:
    if not found.get("raw"):
        return None
    try:
        return orjson.loads(found["raw"])
    except orjson.JSONDecodeError as error:
        raise WireError(f"json: {error}") from None


_TIMESTAMP: Final = Message(
    "Timestamp", Field("seconds", VARINT, wire.int64), Field("nanos", VARINT, wire.int32)
)
_RAW: Final = _converted(Message("Raw", Field("raw", LENGTH, wire.raw)), _json)


def _schema_or_bool(schema: Schema) -> Read:
    allows = Field("allows", VARINT, wire.boolean)
    message = Message("JSONSchemaPropsOrBool", allows, _nested(schema))
    return _converted(message, lambda found: found.get("schema", found.get("allows", False)))


def _schema_or_list(schema: Schema) -> Read:
    schemas = _nested(schema)._replace(name="schemas", repeated=True)
    message = Message("JSONSchemaPropsOrArray", _nested(schema), schemas)
    return _converted(message, lambda found: found.get("schemas") or found.get("schema"))


def _schema_or_names(schema: Schema) -> Read:
    names = Field("names", LENGTH, wire.text, repeated=True)
    message = Message("JSONSchemaPropsOrStringArray", _nested(schema), names)
    return _converted(message, lambda found: found.get("names") or found.get("schema"))


def _nested(schema: Schema) -> Field:
    """Return the field with the schema that may stand in a definition's schema."""
    return Field("schema", LENGTH, _message(schema).read)


_SPECIAL: Final[Mapping[str, Read]] = {
    "CustomResourceSubresourceStatus": Message("CustomResourceSubresourceStatus").read,
    "FieldsV1": _RAW,
    "IntOrString": _converted(
        Message(
            "IntOrString",
            Field("type", VARINT, wire.int64),
            Field("intVal", VARINT, wire.int32),
            Field("strVal", LENGTH, wire.text),
        ),
        _int_or_string,
    ),
    "JSON": _RAW,
    "MicroTime": _converted(_TIMESTAMP, partial(_time, micro=True)),
    "Quantity": _converted(
        Message("Quantity", Field("string", LENGTH, wire.text)),
        lambda found: found.get("string", "0"),
    ),
    "Time": _converted(_TIMESTAMP, partial(_time, micro=False)),
}
_ALTERNATIVES: Final[Mapping[str, Callable[[Schema], Read]]] = {
    "JSONSchemaPropsOrArray": _schema_or_list,
    "JSONSchemaPropsOrBool": _schema_or_bool,
    "JSONSchemaPropsOrStringArray": _schema_or_names,
}
