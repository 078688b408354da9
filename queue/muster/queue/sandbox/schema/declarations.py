"""
The types that expressions see in a schema, and the values that they see in an object.

Objects become message types, so that a field that is not declared is an error; names that are no
identifiers are escaped, as `foo-bar` to `foo__dash__bar`. Of lists in lists, and of lists as values
of maps, only that they are lists is known below an object.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

from google.protobuf import descriptor_pb2, duration_pb2, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool

from muster.queue.sandbox.schema import formats, opaque
from muster.queue.sandbox.schema.expressions import Type
from muster.queue.sandbox.schema.identifiers import escaped
from muster.queue.sandbox.schema.node import Schema

_Convert = Callable[[Any], Any]

_Field = descriptor_pb2.FieldDescriptorProto
_ATTRIBUTES: Final = ("apiVersion", "kind")
_METADATA: Final = Schema(
    {"type": "object", "properties": {"name": {}, "generateName": {}}},
)
_METADATA.properties = {name: Schema({"type": "string"}) for name in ("name", "generateName")}


class Declarations:
    """The types of one definition: ask for those of its nodes, then for the pool of them all."""

    def __init__(self) -> None:
        self._file = descriptor_pb2.FileDescriptorProto(
            name="definition.proto", package=opaque.PACKAGE
        )
        for name in ("struct", "timestamp", "duration"):
            self._file.dependency.append(f"google/protobuf/{name}.proto")
        self._numbers = count(1)
        self._messages: dict[int, str] = {}

    def pool(self) -> DescriptorPool:
        """Return all message types."""
        pool = opaque.new_pool()
        pool.AddSerializedFile(self._file.SerializeToString())
        return pool

    def type_of(self, schema: Schema, *, is_object: bool = False) -> Any:
        """Return the type of a node's values, None if it has none; `is_object`: with metadata."""
        if schema.int_or_string:
            return Type.DYN
        match schema.type:
            case "array" if schema.items is not None:
                entries = self.type_of(schema.items, is_object=schema.items.embedded)
                return None if entries is None else Type.List(entries)
            case "object" if schema.additional is not None:
                values = self.type_of(schema.additional, is_object=schema.additional.embedded)
                return None if values is None else Type.Map(Type.STRING, values)
            case "object":
                return Type(self._message(schema, is_object=is_object))
            case "string":
                return _TEXT_TYPES.get(_format(schema), Type.STRING)
            case name:
                return _SCALAR_TYPES.get(name)

    def _message(self, schema: Schema, *, is_object: bool) -> str:
        if id(schema) not in self._messages:
            name = f"object{next(self._numbers)}"
            self._messages[id(schema)] = f"{opaque.PACKAGE}.{name}"
            message = self._file.message_type.add(name=name)
            names: set[str] = set()
            for field, child in fields_of(schema, is_object=is_object).items():
                # Reserved names are understood both ways after a dot.
                for identifier in dict.fromkeys((escaped(field), field)):
                    if identifier.isidentifier() and identifier not in names:
                        self._add_field(message, identifier, child)
                        names.add(identifier)
        return self._messages[id(schema)]

    def _add_field(
        self, message: descriptor_pb2.DescriptorProto, name: str, schema: Schema
    ) -> None:
        described = self._described(schema, message, name)
        if described is None:
            return
        field = message.field.add(name=name, number=len(message.field) + 1)
        field.label, field.type, type_name = described
        if type_name:
            field.type_name = type_name

    def _described(
        self, schema: Schema, message: descriptor_pb2.DescriptorProto, name: str
    ) -> tuple[Any, Any, str] | None:
        """Return label, type and type name of a field, None for one that has no type."""
        if schema.int_or_string:
            return _Field.LABEL_OPTIONAL, _Field.TYPE_MESSAGE, ".google.protobuf.Value"
        values = schema.items if schema.type == "array" else schema.additional
        if schema.type == "object" and values is None:
            own = f".{self._message(schema, is_object=schema.embedded)}"
            return _Field.LABEL_OPTIONAL, _Field.TYPE_MESSAGE, own
        if schema.type in {"array", "object"}:
            inner = None if values is None else self._described(values, message, name)
            if values is None or inner is None:
                return None
            if _is_collection(values):
                untyped = "ListValue" if schema.type == "array" else "Struct"
                return _Field.LABEL_OPTIONAL, _Field.TYPE_MESSAGE, f".google.protobuf.{untyped}"
            if schema.type == "object":
                inner = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE, _add_entry(message, name, inner)
            return _Field.LABEL_REPEATED, inner[1], inner[2]
        if schema.type == "string" and _format(schema) in _TEXT_FIELDS:
            return _Field.LABEL_OPTIONAL, *_TEXT_FIELDS[_format(schema)]
        if schema.type in _SCALAR_FIELDS:
            return _Field.LABEL_OPTIONAL, _SCALAR_FIELDS[schema.type], ""
        return None


def _add_entry(
    message: descriptor_pb2.DescriptorProto, field: str, value: tuple[Any, Any, str]
) -> str:
    """Add the type of a map's entries to the message that holds the map, and return its name."""
    camel = "".join(part[:1].upper() + part[1:] for part in field.split("_"))
    entry = message.nested_type.add(name=f"{camel}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    held = entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL, type=value[1])
    if value[2]:
        held.type_name = value[2]
    return f".{opaque.PACKAGE}.{message.name}.{entry.name}"


def fields_of(schema: Schema, *, is_object: bool) -> Mapping[str, Schema]:
    """Return the fields that expressions see."""
    if not is_object:
        return schema.properties
    plain = dict.fromkeys(_ATTRIBUTES, Schema({"type": "string"}))
    return {**schema.properties, **plain, "metadata": _METADATA}


def _is_collection(schema: Schema) -> bool:
    return not schema.int_or_string and (schema.type == "array" or schema.additional is not None)


def _format(schema: Schema) -> str:
    return schema.raw.get("format") or ""


_SCALAR_TYPES: Final = {"boolean": Type.BOOL, "integer": Type.INT, "number": Type.DOUBLE}
_TEXT_TYPES: Final = {
    "byte": Type.BYTES,
    "duration": Type.DURATION,
    "date": Type.TIMESTAMP,
    "date-time": Type.TIMESTAMP,
}
_SCALAR_FIELDS: Final = {
    "boolean": _Field.TYPE_BOOL,
    "integer": _Field.TYPE_INT64,
    "number": _Field.TYPE_DOUBLE,
    "string": _Field.TYPE_STRING,
}
_TIME_FIELD: Final = (_Field.TYPE_MESSAGE, ".google.protobuf.Timestamp")
_TEXT_FIELDS: Final[Mapping[str, tuple[Any, str]]] = {
    "byte": (_Field.TYPE_BYTES, ""),
    "duration": (_Field.TYPE_MESSAGE, ".google.protobuf.Duration"),
    "date": _TIME_FIELD,
    "date-time": _TIME_FIELD,
}


# -- values ------------------------------------------------------------------------------------

_COMPILED: Final = "convert"


def converter(schema: Schema) -> _Convert | None:
    """Return what makes the values that expressions see, None if they see them as they are."""
    if _COMPILED not in schema.compiled:
        schema.compiled[_COMPILED] = None if schema.name else _compile(schema)
    convert: _Convert | None = schema.compiled[_COMPILED]
    return convert


def _compile(schema: Schema) -> _Convert | None:
    match schema.type:
        case "number":
            return lambda value: float(value) if value.__class__ is int else value
        case "string":
            parse = _PARSERS.get(_format(schema))
            return None if parse is None else _attempting(parse)
        case "array" if schema.items is not None:
            convert = converter(schema.items)
            return None if convert is None else _list_converter(convert)
        case "object":
            return _object_converter(schema)
        case _:
            return None


def _list_converter(convert: _Convert) -> _Convert:
    def convert_list(value: Any) -> Any:
        return [convert(item) for item in value] if value.__class__ is list else value

    return convert_list


def _object_converter(schema: Schema) -> _Convert | None:
    converters = {
        name: convert
        for name, child in schema.properties.items()
        if (convert := converter(child)) is not None
    }
    rest = None if schema.additional is None else converter(schema.additional)
    renamed = {name: escaped(name) for name in schema.properties if escaped(name) not in {name, ""}}
    nullable = [name for name, child in schema.properties.items() if child.nullable]
    if not converters and rest is None and not renamed and not nullable:
        return None

    def convert_object(value: Any) -> Any:
        if value.__class__ is not dict:
            return value
        converted = dict(value)
        for name, field in value.items():
            convert = converters.get(name, rest)
            if convert is not None:
                converted[name] = convert(field)
        for name, identifier in renamed.items():
            if name in converted:
                converted[identifier] = converted[name]
        for name in nullable:
            if name in value and value[name] is None:
                del converted[name]  # as if it weren't there
        return converted

    return convert_object


def _attempting(parse: _Convert) -> _Convert:
    def attempt(value: Any) -> Any:
        if value.__class__ is not str:
            return value
        try:
            return parse(value)
        except ValueError:
            return value  # it breaks its format, which validation says

    return attempt


def _timestamp(text: str) -> timestamp_pb2.Timestamp:
    moment = datetime.fromisoformat(text.upper())
    return timestamp_pb2.Timestamp(
        seconds=int(moment.timestamp() // 1), nanos=moment.microsecond * 1000
    )


def _date(text: str) -> timestamp_pb2.Timestamp:
    return _timestamp(f"{text}T00:00:00Z")


def _duration(text: str) -> duration_pb2.Duration:
    span = timedelta(microseconds=formats.duration_us(text))
    duration = duration_pb2.Duration()
    duration.FromTimedelta(span)
    return duration


_PARSERS: Final[Mapping[str, _Convert]] = {
    "byte": lambda text: base64.b64decode(text, validate=True),
    "duration": _duration,
    "date": _date,
    "date-time": _timestamp,
}
