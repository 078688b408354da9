"""
Kinds that users define: what is made of a CustomResourceDefinition, one resource a version.

The schema of a version says what its objects may be; what else they do, all custom kinds do alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from muster.queue.client.kinds import Kind
from muster.queue.client.refusal import FieldError, invalid_value
from muster.queue.sandbox.kinds.columns import printer_columns, selectable_fields, value_at
from muster.queue.sandbox.kinds.conditions import is_true
from muster.queue.sandbox.kinds.definitions import TERMINATING
from muster.queue.sandbox.kinds.embedded import embedded_errors
from muster.queue.sandbox.kinds.jsonpath import as_text
from muster.queue.sandbox.kinds.metadata import STANDARD_FINALIZERS
from muster.queue.sandbox.kinds.names import label_key
from muster.queue.sandbox.kinds.published import published_schema, schema_name
from muster.queue.sandbox.kinds.resources import (
    Object,
    Path,
    Resource,
    Scale,
    Shared,
    Strategy,
)
from muster.queue.sandbox.kinds.schemas import object_meta
from muster.queue.sandbox.kinds.strategy import put_back
from muster.queue.sandbox.schema.defaulting import fill_defaults
from muster.queue.sandbox.schema.faults import NO_FIELD
from muster.queue.sandbox.schema.node import MISSING, Raw, Schema, compile_definition
from muster.queue.sandbox.schema.uniqueness import duplicates
from muster.queue.sandbox.schema.validation import validate

_REPLICAS_MAX: Final = 2**31 - 1
# An object with such faults may not be what its rules expect: they are not asked.
_BLOCKING: Final = frozenset(
    (
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    )
)
_UNCHECKED: Final = FieldError(
    "FieldValueInvalid",
    NO_FIELD,
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def custom_resources(definition: Shared) -> tuple[Resource, ...]:
    """
    Return a definition's kind in each of its versions, served or not, in their order.

    Its names are those that were accepted, or before that those it asks for.
    """
    accepted = (definition.get("status") or {}).get("acceptedNames") or {}
    complete = accepted.get("plural") and accepted.get("kind")
    names = accepted if complete else definition["spec"]["names"]
    return tuple(
        _resource(definition, version, names) for version in definition["spec"]["versions"]
    )


def served_versions(definition: Shared) -> list[str]:
    """Return the names of the versions that a definition wants to be served."""
    return [each["name"] for each in definition["spec"]["versions"] if each.get("served")]


def storage_version(definition: Shared) -> str:
    """Return the name of the version in which objects are stored."""
    (name,) = (each["name"] for each in definition["spec"]["versions"] if each.get("storage"))
    return str(name)


def _resource(definition: Shared, version: Shared, names: Shared) -> Resource:
    spec = definition["spec"]
    group, name = spec["group"], version["name"]
    namespaced = spec["scope"] == "Namespaced"
    kind = Kind(group, name, names["kind"], names["plural"], namespaced)
    raw = version["schema"]["openAPIV3Schema"]
    schema = compile_definition(raw, object_meta())
    subresources: Shared = version.get("subresources") or {}
    scale = _scale(subresources.get("scale"))
    status = subresources.get("status") is not None
    ends = is_true(definition, TERMINATING)
    strategy = CustomStrategy(schema, status=status, scale=scale)
    return Resource(
        kind=kind,
        singular=names.get("singular") or names["kind"].lower(),
        schema=schema,
        strategy=strategy,
        list_kind=names.get("listKind") or f"{names['kind']}List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=(*(("status",) if status else ()), *(("scale",) if scale else ())),
        columns=printer_columns(version),
        selectable=selectable_fields(version),
        scale=scale,
        schema_name=schema_name(group, name, names["kind"]),
        published=partial(published_schema, definition, name),
        custom=True,
        terminating=ends,
        warning=_deprecation(spec, version),
        description=raw.get("description") or "",
    )


def _scale(paths: Shared | None) -> Scale | None:
    if paths is None:
        return None
    return Scale(
        spec_replicas=_path(paths["specReplicasPath"]),
        status_replicas=_path(paths["statusReplicasPath"]),
        label_selector=_path(paths.get("labelSelectorPath") or ""),
    )


def _path(text: str) -> Path:
    return tuple(text.split(".")[1:])


# -- deprecated versions -----------------------------------------------------------------------

_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def _deprecation(spec: Shared, version: Shared) -> str:
    """Return what every request of a version is warned of, "" for nothing."""
    if not version.get("deprecated"):
        return ""
    if given := version.get("deprecationWarning"):
        return str(given)
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    better = [
        each["name"]
        for each in spec["versions"]
        if each.get("served")
        and not each.get("deprecated")
        and priority(each["name"]) > priority(name)
    ]
    told = f"{group}/{name} {kind} is deprecated"
    return f"{told}; use {group}/{max(better, key=priority)} {kind}" if better else told


def priority(version: str) -> tuple[bool, bool, bool, int, int, tuple[int, ...]]:
    """Return what orders versions: v2 after v1, that after v1beta2, any of these after others."""
    found = _VERSION.fullmatch(version)
    if not found:
        # Of the others the first by alphabet is the best.
        return False, False, False, 0, 0, tuple(-ord(letter) for letter in version)
    major, stage, minor = found.groups()
    return True, stage is None, stage == "beta", int(major), int(minor or 0), ()


# -- objects -----------------------------------------------------------------------------------


class CustomStrategy(Strategy):
    """Of a defined kind in one version."""

    allows_unconditional_update = False

    def __init__(self, schema: Schema, *, status: bool, scale: Scale | None) -> None:
        self._schema = schema
        self._status_schema = schema.properties.get("status") if status else None
        self._has_status = status
        self._scale = scale
        self._has_rules = _has_rules(schema.raw)

    def default(self, obj: Object) -> None:
        fill_defaults(self._schema, obj)

    def prepare_create(self, obj: Object, now: str) -> None:
        if self._has_status:
            obj.pop("status", None)

    def prepare_update(
        self,
        obj: Object,
        old: Shared,
        subresource: str,
        now: str,
    ) -> None:
        if subresource == "status":
            _keep_only_status(obj, old)
        elif self._has_status:
            put_back(obj, old, "status")

    def reset_fields(self, subresource: str) -> Sequence[Path]:
        if subresource == "status":
            return (("metadata",), ("spec",))
        return (("status",),) if self._has_status else ()

    def validate_create(self, obj: Shared) -> list[FieldError]:
        return self._errors(obj, None, "")

    def validate_update(self, obj: Shared, old: Shared, subresource: str) -> list[FieldError]:
        return self._errors(obj, old, subresource)

    def _errors(self, obj: Shared, old: Shared | None, subresource: str) -> list[FieldError]:
        errors = self._schema_errors(obj, old, subresource)
        errors += self._scale_errors(obj, subresource)
        if subresource != "status":
            errors += embedded_errors(self._schema, obj)
        twice = duplicates(self._schema, obj)
        if twice and (old is None or not duplicates(self._schema, old)):
            errors += twice
        if self._has_rules:
            if any(error.reason in _BLOCKING for error in errors):
                return [*errors, _UNCHECKED]
            # Loaded where it is needed: it takes longer than all the rest.
            from muster.queue.sandbox.schema.rules import broken_rules  # noqa: PLC0415

            errors += broken_rules(self._schema, obj, MISSING if old is None else old)
        return errors

    def _schema_errors(self, obj: Shared, old: Shared | None, subresource: str) -> list[FieldError]:
        if subresource != "status":
            return validate(self._schema, obj, MISSING if old is None else old)
        if self._status_schema is None or "status" not in obj:
            return []
        before = MISSING if old is None else old.get("status", MISSING)
        return validate(self._status_schema, obj["status"], before, "status")

    def _scale_errors(self, obj: Shared, subresource: str) -> Iterator[FieldError]:
        if self._scale is None:
            return
        if subresource != "status":
            yield from _count_errors(obj, self._scale.spec_replicas)
        yield from _count_errors(obj, self._scale.status_replicas)
        selector = self._scale.label_selector
        found = value_at(obj, selector) if selector else None
        if found is not None and not isinstance(found, str):
            yield _wrong_type(selector, "", found, "string")

    def warnings(self, obj: Shared, old: Shared | None) -> Iterable[str]:
        known = (old["metadata"].get("finalizers") or ()) if old else ()
        given = obj["metadata"].get("finalizers")
        for finalizer in sorted({*given}) if given else ():
            if finalizer not in known:
                yield from _finalizer_warnings(finalizer)


def _has_rules(raw: Raw) -> bool:
    """Say whether anything in a schema has rules in CEL."""
    children = [*(raw.get("properties") or {}).values()]
    children += [raw.get(name) for name in ("items", "additionalProperties")]
    return bool(raw.get("x-kubernetes-validations")) or any(
        isinstance(child, Mapping) and _has_rules(child) for child in children
    )


def _keep_only_status(obj: Object, old: Shared) -> None:
    """Make an object the old one but for its status and who owns what."""
    metadata, status = obj["metadata"], obj.get("status")
    written = "status" in obj
    obj.clear()
    obj.update(old)
    obj["metadata"] = {
        **old["metadata"],
        **{
            name: metadata[name]
            for name in ("managedFields", "resourceVersion")
            if name in metadata
        },
    }
    if written:
        obj["status"] = status
    else:
        obj.pop("status", None)


def _count_errors(obj: Shared, path: Path) -> Iterator[FieldError]:
    """Yield the faults of a number of replicas."""
    found, field = value_at(obj, path), "." + ".".join(path)
    if found is None:
        return
    if not isinstance(found, int) or isinstance(found, bool):
        yield _wrong_type(path, 0, found, "int64")
    elif found < 0:
        yield invalid_value(field, found, "should be a non-negative integer")
    elif found > _REPLICAS_MAX:
        yield invalid_value(field, found, f"should be less than or equal to {_REPLICAS_MAX}")


def _wrong_type(path: Path, shown: Any, found: Any, wanted: str) -> FieldError:
    field = "." + ".".join(path)
    kinds = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool"}
    kind = kinds.get(type(found), "float64")
    return invalid_value(
        field,
        shown,
        f"{field} accessor error: {as_text(found)} is of the type {kind}, expected {wanted}",
    )


def _finalizer_warnings(finalizer: str) -> Iterator[str]:
    told = f'metadata.finalizers: "{finalizer}"'
    for wrong in label_key(finalizer):
        yield f"{told}: {wrong}"
    if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in finalizer else ""
        yield (
            f"{told}: prefer a domain-qualified finalizer name{path} to avoid accidental "
            "conflicts with other finalizer writers"
        )
