"""
Values that expressions pass on without looking into them: quantities, addresses, versions, formats.

They are messages that hold a text, since that is what CEL lets pass through.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from google.protobuf import descriptor_pb2, duration_pb2, message_factory, struct_pb2, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool

PACKAGE: Final = "kubernetes"
NAMES: Final = ("Quantity", "URL", "IP", "CIDR", "Semver", "NamedFormat")
_TEXT_FIELD: Final = "text__"


def new_pool() -> DescriptorPool:
    """Return message types with these among them, to add others to."""
    pool = DescriptorPool()
    for module in (struct_pb2, timestamp_pb2, duration_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(name="functions.proto", package=PACKAGE)
    for name in NAMES:
        file.message_type.add(name=name).field.add(
            name=_TEXT_FIELD,
            number=1,
            type=descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
            label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
        )
    pool.AddSerializedFile(file.SerializeToString())
    return pool


@cache
def _message(name: str) -> Any:
    return message_factory.GetMessageClass(new_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


def made(name: str, text: object) -> Any:
    """Return a value of that type."""
    return _message(name)(**{_TEXT_FIELD: str(text)})


def text_of(message: Any) -> str:
    """Return what a value holds."""
    text: str = getattr(message, _TEXT_FIELD)
    return text


def kind_of(message: Any) -> str:
    """Return the name of a value's type."""
    name: str = message.DESCRIPTOR.name
    return name
