"""
What the metadata of an object of any kind may be, at its creation and afterwards.

The one path that every write takes calls these for built-in and custom kinds alike. They read, and
change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from muster.queue.client.refusal import (
    FieldError,
    forbidden_field,
    invalid_value,
    required,
    shown,
    too_long,
)
from muster.queue.sandbox.kinds.names import (
    NameRule,
    dns_label,
    generated,
    label_key,
    label_value,
)
from muster.queue.sandbox.kinds.resources import Shared

IMMUTABLE: Final = "field is immutable"
ANNOTATIONS_MAX: Final = 256 * 1024
"""Bytes of all keys and values."""
_MANAGER_MAX: Final = 128
_NEVER_CHANGING: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_OPPOSITE_FINALIZERS: Final = ("foregroundDeletion", "orphan")
STANDARD_FINALIZERS: Final = (*_OPPOSITE_FINALIZERS, "kubernetes")
"""Those that need no domain."""


def metadata_errors(obj: Shared, *, namespaced: bool, name_rule: NameRule) -> list[FieldError]:
    """Return what is wrong with the metadata of an object, whose name has been generated."""
    metadata = obj.get("metadata") or {}
    return [
        *_name_errors(metadata, name_rule),
        *_namespace_errors(metadata, namespaced=namespaced),
        *negative("metadata.generation", metadata.get("generation")),
        *_content_errors(metadata, finalizers=True),
    ]


def metadata_update_errors(obj: Shared, old: Shared) -> list[FieldError]:
    """Return what is wrong with the metadata of an object as the successor of another."""
    return [*_update_errors(obj["metadata"], old["metadata"])]


def _update_errors(metadata: Shared, old: Shared) -> Iterator[FieldError]:
    finalizers = metadata.get("finalizers") or ()
    if "deletionTimestamp" in old:
        known = old.get("finalizers") or ()
        if added := sorted({each for each in finalizers if each not in known}):
            listed = ", ".join(f'"{each}"' for each in added)
            yield forbidden_field(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new"
                f" finalizers []string{{{listed}}}",
            )
    if not metadata.get("resourceVersion"):
        place = "metadata.resourceVersion"
        yield invalid_value(place, "", "must be specified for an update")
    if metadata.get("generation", 0) < old.get("generation", 0):
        place = "metadata.generation"
        yield invalid_value(place, metadata.get("generation", 0), "must not be decremented")
    for name in _NEVER_CHANGING:
        yield from unchanged(f"metadata.{name}", metadata.get(name), old.get(name))
    yield from _content_errors(metadata, finalizers=False)


def _name_errors(metadata: Shared, name_rule: NameRule) -> Iterator[FieldError]:
    if prefix := metadata.get("generateName"):
        for detail in generated(name_rule, prefix):
            yield invalid_value("metadata.generateName", prefix, detail)
    name = metadata.get("name")
    if not name:
        yield required("metadata.name", "name or generateName is required")
        return
    yield from rule_errors("metadata.name", name, name_rule)


def _namespace_errors(metadata: Shared, *, namespaced: bool) -> Iterator[FieldError]:
    namespace = metadata.get("namespace")
    if not namespaced:
        if namespace:
            yield forbidden_field("metadata.namespace", "not allowed on this type")
    elif not namespace:
        yield required("metadata.namespace")
    else:
        yield from rule_errors("metadata.namespace", namespace, dns_label)


def _content_errors(metadata: Shared, *, finalizers: bool) -> Iterator[FieldError]:
    if labels := metadata.get("labels"):
        yield from labels_errors("metadata.labels", labels)
    if annotations := metadata.get("annotations"):
        yield from annotations_errors("metadata.annotations", annotations)
    if owners := metadata.get("ownerReferences"):
        yield from _owners_errors("metadata.ownerReferences", owners)
    if finalizers and metadata.get("finalizers"):
        yield from _finalizers_errors("metadata.finalizers", metadata["finalizers"])
    for index, entry in enumerate(metadata.get("managedFields") or ()):
        yield from _manager_errors(f"metadata.managedFields[{index}]", entry)


def labels_errors(place: str, labels: Mapping[str, str]) -> Iterator[FieldError]:
    """Yield what is wrong with a mapping of labels; all of it is at one place."""
    for key, value in labels.items():
        yield from rule_errors(place, key, label_key)
        yield from rule_errors(place, value, label_value)


def annotations_errors(place: str, annotations: Mapping[str, str]) -> Iterator[FieldError]:
    """Yield what is wrong with a mapping of annotations, whose keys may have upper case domains."""
    size = 0
    for key, value in annotations.items():
        size += len(key.encode()) + len(value.encode())
        for detail in label_key(key.lower()):
            yield invalid_value(place, key, detail)
    if size > ANNOTATIONS_MAX:
        yield too_long(place, ANNOTATIONS_MAX)


def _owners_errors(place: str, owners: Iterable[Shared]) -> Iterator[FieldError]:
    controller = ""
    for owner in owners:
        if not owner.get("apiVersion"):
            yield invalid_value(f"{place}.apiVersion", "", "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid_value(f"{place}.{name}", "", "must not be empty")
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            detail = "/v1, Kind=Event is disallowed from being an owner"
            yield invalid_value(place, owner, detail)
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                yield invalid_value(
                    place,
                    list(owners),
                    "Only one reference can have Controller set to true. Found "
                    f'"true" in references for {controller} and {this}',
                )
            else:
                controller = this


def _finalizers_errors(place: str, finalizers: Iterable[str]) -> Iterator[FieldError]:
    for each in finalizers:
        yield from rule_errors(place, each, label_key)
    if all(each in finalizers for each in _OPPOSITE_FINALIZERS):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid_value(place, list(finalizers), detail)


def standard_finalizers_errors(finalizers: Iterable[str]) -> Iterator[FieldError]:
    """Yield the finalizers of a built-in object that have no domain and are not standard ones."""
    for index, name in enumerate(finalizers):
        if "/" not in name and name not in STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid_value(f"metadata.finalizers[{index}]", name, detail)


def _manager_errors(place: str, entry: Shared) -> Iterator[FieldError]:
    if entry.get("operation") not in {"Apply", "Update"}:
        detail = "must be `Apply` or `Update`"
        yield invalid_value(f"{place}.operation", entry.get("operation", ""), detail)
    if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
        yield invalid_value(f"{place}.fieldsType", entry["fieldsType"], "must be `FieldsV1`")
    if len(entry.get("manager", "")) > _MANAGER_MAX:
        yield too_long(f"{place}.manager", _MANAGER_MAX)


# -- said of fields of any kind ----------------------------------------------------------------


def rule_errors(place: str, text: str, rule: NameRule) -> Iterator[FieldError]:
    """Yield what is wrong with a text by a rule for names, keys and the like."""
    for detail in rule(text):
        yield invalid_value(place, text, detail)


def unchanged(place: str, value: Any, old: Any) -> Iterator[FieldError]:
    """Yield that a field may not change, if it does."""
    if value != old:
        yield invalid_value(place, value, IMMUTABLE)


def negative(place: str, value: int | None) -> Iterator[FieldError]:
    """Yield that a number is less than nothing, if it is."""
    if value is not None and value < 0:
        yield invalid_value(place, value, "must be greater than or equal to 0")


def not_found(place: str, value: Any) -> FieldError:
    """Return that a field names something that is not there."""
    return FieldError("FieldValueNotFound", place, f"Not found: {shown(value)}")


def selector_errors(place: str, selector: Shared | None) -> Iterator[FieldError]:
    """Yield what is wrong with a selector of labels."""
    if not selector:
        return
    yield from labels_errors(f"{place}.matchLabels", selector.get("matchLabels") or {})
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        yield from requirement_errors(f"{place}.matchExpressions[{index}]", each)


def requirement_errors(
    place: str, requirement: Shared, *, compares: bool = False, values: bool = True
) -> Iterator[FieldError]:
    """
    Yield what is wrong with one requirement of a selector.

    With `compares` it may ask for more or less than a number; without `values`, these may be
    anything.
    """
    given: Sequence[str] = requirement.get("values") or ()
    match requirement.get("operator", ""):
        case "In" | "NotIn":
            if not given:
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                yield required(f"{place}.values", detail)
        case "Exists" | "DoesNotExist":
            if given:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield forbidden_field(f"{place}.values", detail)
        case "Gt" | "Lt" if compares:
            if len(given) != 1:
                detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                yield required(f"{place}.values", detail)
        case operator:
            yield invalid_value(f"{place}.operator", operator, "not a valid selector operator")
    yield from rule_errors(f"{place}.key", requirement.get("key", ""), label_key)
    for index, value in enumerate(given if values else ()):
        yield from rule_errors(f"{place}.values[{index}]", value, label_value)
