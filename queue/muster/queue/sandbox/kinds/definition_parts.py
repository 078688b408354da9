"""What is wrong with one version of a CustomResourceDefinition: schema, columns, sub-resources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    too_many,
)
from muster.queue.sandbox.kinds.resources import Shared

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
)
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_SELECTABLE_MAX: Final = 8
_WARNING_MAX: Final = 256
# What the root of a schema may say besides its type if the status has a sub-resource; the real
# server tells of them by the names they have in its sources.
_AT_ROOT: Final = (
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
)
_KEYWORDS_AT_ROOT: Final = {
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
    *(name[0].lower() + name[1:] for name in _AT_ROOT),
}


def has_status(version: Shared) -> bool:
    """Say whether the status of a version is written apart."""
    return (version.get("subresources") or {}).get("status") is not None


def schema_errors(version: Shared, status: bool, path: str) -> Iterator[FieldError]:  # noqa: FBT001
    """Yield the faults of the schema of a version, with or without a status sub-resource."""
    schema: Mapping[str, Any] | None = (version.get("schema") or {}).get("openAPIV3Schema")
    path = f"{path}.openAPIV3Schema"
    if schema is None:
        return
    if status:
        yield from _status_root_errors(schema, path)
    if schema.get("nullable"):
        yield forbidden_field(f"{path}.nullable", "nullable cannot be true at the root")
    # Loaded where it is needed: it takes longer than all the rest.
    from muster.queue.sandbox.schema.structural import structural_errors  # noqa: PLC0415

    yield from structural_errors(schema, path)


def _status_root_errors(schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    where = "if the status subresource is enabled"
    if (given := schema.get("type", "")) not in {"object", ""}:
        why = f'only "object" is allowed as the type at the root of the schema {where}'
        yield invalid_value(f"{path}.type", given, why)
    elif any(value and name not in _KEYWORDS_AT_ROOT for name, value in schema.items()):
        why = f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema {where}"
        yield invalid_value(path, schema, why)


def deprecation_errors(version: Shared, path: str) -> Iterator[FieldError]:
    """Yield the faults of the warning that a deprecated version gives."""
    warning, path = version.get("deprecationWarning"), f"{path}.deprecationWarning"
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid_value(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _WARNING_MAX:
        yield invalid_value(path, warning, f"must be <= {_WARNING_MAX} characters long")
    if not warning:
        yield invalid_value(path, warning, "must not be an empty string")
    odd = next((index for index, letter in enumerate(warning) if not letter.isprintable()), None)
    if odd is not None:
        why = (
            "must only contain printable UTF-8 characters; "
            f"non-printable character found at index {odd}"
        )
        yield invalid_value(path, warning, why)


def subresource_errors(version: Shared, path: str) -> Iterator[FieldError]:
    """Yield the faults of the sub-resources of a version."""
    scale: Shared | None = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        field, text = f"{path}.scale.{name}", scale.get(name, "")
        if not text:
            yield required(field)
        else:
            yield from _below(field, text, (root,), f"under {root[:-1]}")
    if text := scale.get("labelSelectorPath"):
        roots = (".spec.", ".status.")
        field = f"{path}.scale.labelSelectorPath"
        yield from _below(field, text, roots, "under either .spec or .status")


def _below(field: str, text: str, roots: tuple[str, ...], where: str) -> Iterator[FieldError]:
    if not text.startswith("."):
        yield invalid_value(field, text, "must be a simple json path starting with .")
    elif not text.startswith(roots):
        yield invalid_value(field, text, f"should be a json path {where}")


def column_errors(version: Shared, path: str) -> Iterator[FieldError]:
    """Yield the faults of the printer columns of a version."""
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column_errors(column, f"{path}[{index}]")


def _column_errors(column: Shared, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield required(f"{path}.name")
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    given, format_ = column.get("type", ""), column.get("format", "")
    if not given:
        yield required(f"{path}.type", types)
    elif given not in _COLUMN_TYPES:
        yield invalid_value(f"{path}.type", given, types)
    if format_ and format_ not in _COLUMN_FORMATS:
        formats = f"must be one of {','.join(_COLUMN_FORMATS)}"
        yield invalid_value(f"{path}.format", format_, formats)
    text = column.get("jsonPath", "")
    if not text:
        yield required(f"{path}.JSONPath")
    elif not text.startswith("."):
        why = "must be a simple json path starting with ."
        yield invalid_value(f"{path}.JSONPath", text, why)


def selectable_errors(version: Shared, path: str) -> Iterator[FieldError]:
    """Yield the faults of the fields of a version that selectors may name."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: list[str] = []
    for index, selectable in enumerate(version.get("selectableFields") or ()):
        text, field = selectable.get("jsonPath", ""), f"{path}[{index}].jsonPath"
        if not text:
            yield required(field)
            continue
        try:
            found = _field_at(schema, text)
        except _BadPathError as error:
            yield invalid_value(field, text, f"is an invalid path: {error}")
            continue
        if text.startswith(".metadata"):
            yield invalid_value(field, text, "must not point to fields in metadata")
        if found.get("type") not in _SELECTABLE_TYPES:
            why = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            yield invalid_value(field, text, why)
        if text in seen:
            yield duplicate(field, text)
        else:
            seen.append(text)
    if len(seen) > _SELECTABLE_MAX:
        yield too_many(path, len(seen), _SELECTABLE_MAX)


class _BadPathError(Exception):
    """A path to no field of a schema."""


def _field_at(schema: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """Return the schema of the field that a path such as `.spec.color` leads to."""
    tokens = iter(re.findall(r"'(?:\\.|[^'])*'|[.\[\]]|[^.\[\]]+", text))
    for token in tokens:
        if token == "[":  # noqa: S105 - not that kind of token
            raise _BadPathError("array notation is not allowed")
        if token != ".":  # noqa: S105
            raise _BadPathError(f"expected [ or . but got: {token}")
        name = next(tokens, None)
        if name is None:
            raise _BadPathError("unexpected end of JSON path")
        if schema.get("properties"):
            schema = schema["properties"].get(name)
        else:
            schema = schema.get("additionalProperties") or {}
        if not isinstance(schema, Mapping) or not schema:
            raise _BadPathError("does not refer to a valid field")
    return schema
