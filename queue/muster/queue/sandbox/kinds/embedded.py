"""What is wrong with whole objects within objects of defined kinds: their kind and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from muster.queue.client.refusal import FieldError, invalid_value, required
from muster.queue.sandbox.kinds.metadata import metadata_errors
from muster.queue.sandbox.kinds.names import dns_1035_label, path_segment
from muster.queue.sandbox.kinds.resources import Shared
from muster.queue.sandbox.schema.node import Schema, has_embedded

_SOME_NAME: Final = {"name": "any"}
_API_VERSION: Final = re.compile(r"[^/]*(/[^/]*)?")


def embedded_errors(schema: Schema, value: Any, path: str = "") -> Iterator[FieldError]:
    """Yield the faults of all objects embedded in a value that stands at a path."""
    if schema.name or not (schema.embedded or has_embedded(schema)):
        return
    if isinstance(value, dict):
        if schema.embedded:
            yield from _errors(value, path)
        for name, child in value.items():
            if name in schema.properties:
                place = f"{path}.{name}" if path else name
                yield from embedded_errors(schema.properties[name], child, place)
            elif schema.additional:
                yield from embedded_errors(schema.additional, child, f"{path}[{name}]")
    elif isinstance(value, list) and schema.items:
        for index, item in enumerate(value):
            yield from embedded_errors(schema.items, item, f"{path}[{index}]")


def _errors(obj: Shared, path: str) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        field, value = f"{path}.{name}", obj.get(name)
        if name not in obj:
            yield required(field)
        elif not isinstance(value, str):
            yield invalid_value(field, value, "must be a string")
        elif not value:
            yield invalid_value(field, value, "must not be empty")
        elif name == "apiVersion" and not _API_VERSION.fullmatch(value):
            yield invalid_value(field, value, f"unexpected GroupVersion string: {value}")
        elif name == "kind" and (wrong := dns_1035_label(value.lower())):
            why = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            yield invalid_value(field, value, why)
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        named = {"metadata": {**metadata, **({} if metadata.get("name") else _SOME_NAME)}}
        namespaced = bool(metadata.get("namespace"))
        for error in metadata_errors(named, namespaced=namespaced, name_rule=path_segment):
            yield error._replace(field=f"{path}.{error.field}")
