"""
CustomResourceDefinitions as objects: what is filled, kept apart, refused and warned of.

What a definition leads to, kinds that are served or not, is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from muster.queue.client.refusal import FieldError
from muster.queue.sandbox.kinds.definition_form import definition_errors, status_errors
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import StatusStrategy
from muster.queue.sandbox.kinds.webhook_clients import fill_client_config

FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
"""Keeps a definition until all objects of its kind are gone."""
TERMINATING: Final = "Terminating"
_TEXT_FORMATS: Final = frozenset(
    (
        *("bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac"),
        *("uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13", "creditcard", "ssn"),
        *("hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime"),
        *("k8sshortname", "k8slongname"),
    )
)
_FORMATS: Final[Mapping[str, frozenset[str]]] = {
    "": _TEXT_FORMATS,
    "string": _TEXT_FORMATS,
    "integer": frozenset(("int32", "int64")),
    "number": frozenset(("float", "double")),
}


class DefinitionStrategy(StatusStrategy):
    """The strategy of CustomResourceDefinitions."""

    generation = True
    allows_unconditional_update = False

    def fill(self, obj: Object) -> None:
        spec = obj["spec"]
        names: dict[str, Any] = spec["names"]
        if not names.get("singular"):
            names["singular"] = names.get("kind", "").lower()
        if not names.get("listKind") and names.get("kind"):
            names["listKind"] = f"{names['kind']}List"
        conversion = spec.setdefault("conversion", {"strategy": "None"})
        fill_client_config((conversion.get("webhook") or {}).get("clientConfig") or {})

    def new_status(self, obj: Shared) -> Object:
        return {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _with_storage(obj, []) or None,
        }

    def prepare_update(self, obj: Object, old: Shared, subresource: str, now: str) -> None:
        super().prepare_update(obj, old, subresource, now)
        if not subresource:
            status = obj.get("status") or {}
            stored = _with_storage(obj, status.get("storedVersions") or [])
            obj["status"] = {**status, "storedVersions": stored}

    def validate_create(self, obj: Shared) -> list[FieldError]:
        return definition_errors(obj, None)

    def validate_update(self, obj: Shared, old: Shared, subresource: str) -> list[FieldError]:
        return status_errors(obj) if subresource else definition_errors(obj, old)

    def warnings(self, obj: Shared, old: Shared | None) -> Iterable[str]:
        known = list(_odd_formats(old["spec"])) if old else []
        for odd in _odd_formats(obj["spec"]):
            if odd not in known:
                yield f'unrecognized format "{odd}"'

    def prepare_deletion(self, obj: Object) -> None:
        metadata, status = obj["metadata"], obj.get("status") or {}
        finalizers = metadata.get("finalizers") or []
        if FINALIZER in finalizers:
            return
        metadata["finalizers"] = [*finalizers, FINALIZER]
        pending = {
            "type": TERMINATING,
            "status": "True",
            "lastTransitionTime": metadata["deletionTimestamp"],
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; "
            "CustomResource deletion will begin soon",
        }
        # Unlike with any other kind, there is no grace and nothing to count.
        metadata.pop("deletionGracePeriodSeconds", None)
        metadata["generation"] -= 1
        obj["status"] = {**status, "conditions": [*(status.get("conditions") or ()), pending]}


def _with_storage(definition: Shared, stored: list[str]) -> list[str]:
    """Return stored versions, with that in which new objects will be stored."""
    for version in definition["spec"].get("versions") or ():
        if version.get("storage"):
            return stored if version["name"] in stored else [*stored, version["name"]]
    return stored


def _odd_formats(spec: Shared) -> Iterator[str]:
    """Yield the formats in the schemas of a definition that mean nothing."""
    seen: list[Any] = []
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        # A schema that all versions share is looked at once.
        if isinstance(schema, Mapping) and schema not in seen:
            seen.append(schema)
            yield from _odd_formats_below(schema)


def _odd_formats_below(schema: Mapping[str, Any]) -> Iterator[str]:
    form = schema.get("format")
    if form and form.replace("-", "") not in _FORMATS.get(schema.get("type") or "", ()):
        yield form
    for name in ("items", "not", "additionalProperties"):
        if isinstance(below := schema.get(name), Mapping):
            yield from _odd_formats_below(below)
    for name in ("allOf", "anyOf", "oneOf"):
        for below in schema.get(name) or ():
            yield from _odd_formats_below(below)
    for below in (schema.get("properties") or {}).values():
        yield from _odd_formats_below(below)
