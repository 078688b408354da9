"""
What is wrong with a CustomResourceDefinition, field by field.

The real server moves what all versions have in common (schema, sub-resources, columns, selectable
fields) to the top before it looks at it, so its refusals name `spec.validation` where the manifest
has `spec.versions[0].schema`. They are named the same here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from muster.queue.client.refusal import (
    FieldError,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from muster.queue.sandbox.kinds.conditions import is_true
from muster.queue.sandbox.kinds.definition_parts import (
    column_errors,
    deprecation_errors,
    has_status,
    schema_errors,
    selectable_errors,
    subresource_errors,
)
from muster.queue.sandbox.kinds.metadata import unchanged
from muster.queue.sandbox.kinds.names import dns_1035_label, dns_subdomain
from muster.queue.sandbox.kinds.resources import Shared
from muster.queue.sandbox.kinds.webhook_clients import client_config_errors, review_versions_errors

APPROVED: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"

# What a version may have besides its schema, and what judges it.
_PARTS: Final[Mapping[str, Callable[[Shared, str], Iterator[FieldError]]]] = {
    "subresources": subresource_errors,
    "additionalPrinterColumns": column_errors,
    "selectableFields": selectable_errors,
}


def definition_errors(definition: Shared, old: Shared | None) -> list[FieldError]:
    """Return what is wrong with a definition, as the successor of another if there is one."""
    spec = definition["spec"]
    return [
        *(_name_errors(definition) if old is None else ()),
        *_spec_errors(spec),
        *(_immutable_errors(spec, old) if old else ()),
        *_status_errors(definition),
        *_stored_version_errors(definition),
        *_approval_errors(definition, old),
        *_preserving_errors(spec),
    ]


def status_errors(definition: Shared) -> list[FieldError]:
    """Return what is wrong with the status of a definition alone."""
    return [*_status_errors(definition)]


def _name_errors(definition: Shared) -> Iterator[FieldError]:
    name = definition["metadata"].get("name", "")
    spec = definition["spec"]
    if name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _spec_errors(spec: Shared) -> Iterator[FieldError]:
    group = spec.get("group", "")
    if not group:
        yield required("spec.group")
    elif wrong := dns_subdomain(group):
        yield invalid_value("spec.group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")
    yield from _one_of("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    versions: Sequence[Shared] = spec.get("versions") or ()
    yield from _missing_schemas(versions)
    for index, version in enumerate(versions):
        yield from _version_errors(spec, index, version)
    yield from _version_list_errors(versions)
    yield from _required_names(spec["names"])
    yield from _names_errors(spec["names"], "spec.names")
    if versions:
        yield from _shared_errors(versions)
    yield from _conversion_errors(spec)


def _one_of(field: str, value: str, allowed: Sequence[str]) -> Iterator[FieldError]:
    if not value:
        yield required(field)
    elif value not in allowed:
        yield not_supported(field, value, allowed)


# -- versions ----------------------------------------------------------------------------------


def _is_shared(versions: Sequence[Shared], name: str) -> bool:
    """Say whether all versions have the same part of that name, or none has."""
    first = versions[0].get(name)
    return all(version.get(name) == first for version in versions)


def _missing_schemas(versions: Sequence[Shared]) -> Iterator[FieldError]:
    for index, version in enumerate(versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")


def _version_errors(spec: Shared, index: int, version: Shared) -> Iterator[FieldError]:
    versions, path = spec["versions"], f"spec.versions[{index}]"
    name = version.get("name", "")
    if wrong := dns_1035_label(name):
        yield invalid_value(f"{path}.name", name, ",".join(wrong))
    yield from deprecation_errors(version, path)
    if not _is_shared(versions, "schema"):
        yield from schema_errors(version, has_status(version), f"{path}.schema")
    for part, errors in _PARTS.items():
        if not _is_shared(versions, part):
            yield from errors(version, f"{path}.{part}")


def _version_list_errors(versions: Sequence[Shared]) -> Iterator[FieldError]:
    names = [version.get("name", "") for version in versions]
    if len(dict.fromkeys(names)) < len(names):
        yield invalid_value("spec.versions", list(versions), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        yield invalid_value("spec.versions", list(versions), why)
    if names and (wrong := dns_1035_label(names[0])):
        yield invalid_value("spec.version", names[0], ",".join(wrong))


def _shared_errors(versions: Sequence[Shared]) -> Iterator[FieldError]:
    """Yield the faults of what all versions have in common."""
    first = versions[0]
    if _is_shared(versions, "schema"):
        status = any(has_status(version) for version in versions)
        yield from schema_errors(first, status, "spec.validation")
    for part, errors in _PARTS.items():
        if _is_shared(versions, part):
            yield from errors(first, f"spec.{part}")


# -- names -------------------------------------------------------------------------------------


def _required_names(names: Shared) -> Iterator[FieldError]:
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield required(f"spec.names.{name}")


def _names_errors(names: Shared, path: str) -> Iterator[FieldError]:
    for name in ("plural", "singular"):
        value = names.get(name, "")
        if value and (wrong := dns_1035_label(value)):
            yield invalid_value(f"{path}.{name}", value, ",".join(wrong))
    for name in ("kind", "listKind"):
        value = names.get(name, "")
        if value and (wrong := dns_1035_label(value.lower())):
            why = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            yield invalid_value(f"{path}.{name}", value, why)
    yield from _labels_errors(names, path, "shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        why = "kind and listKind may not be the same"
        yield invalid_value(f"{path}.listKind", names["listKind"], why)
    yield from _labels_errors(names, path, "categories")


def _labels_errors(names: Shared, path: str, field: str) -> Iterator[FieldError]:
    for index, value in enumerate(names.get(field) or ()):
        if wrong := dns_1035_label(value):
            yield invalid_value(f"{path}.{field}[{index}]", value, ",".join(wrong))


# -- conversion --------------------------------------------------------------------------------


def _conversion_errors(spec: Shared) -> Iterator[FieldError]:
    conversion: Shared = spec.get("conversion") or {}
    path, strategy = "spec.conversion", conversion.get("strategy", "")
    webhook: Mapping[str, Any] = conversion.get("webhook") or {}
    if not conversion:
        return
    if spec.get("preserveUnknownFields") and strategy != "None":
        why = "must be None if spec.preserveUnknownFields is true"
        yield invalid_value(f"{path}.strategy", strategy, why)
    yield from _one_of(f"{path}.strategy", strategy, ("None", "Webhook"))
    versions = webhook.get("conversionReviewVersions") or ()
    if strategy != "Webhook":
        unwanted = "should not be set when strategy is not set to Webhook"
        if webhook.get("clientConfig") is not None:
            yield forbidden_field(f"{path}.webhookClientConfig", unwanted)
        if versions:
            yield forbidden_field(f"{path}.conversionReviewVersions", unwanted)
        return
    if webhook.get("clientConfig") is None:
        why = "required when strategy is set to Webhook"
        yield required(f"{path}.webhookClientConfig", why)
    else:
        yield from client_config_errors(webhook["clientConfig"], f"{path}.webhookClientConfig")
    yield from review_versions_errors(versions, f"{path}.conversionReviewVersions")


# -- the rest ----------------------------------------------------------------------------------


def _immutable_errors(spec: Shared, old: Shared) -> Iterator[FieldError]:
    before, names, names_before = old["spec"], spec["names"], old["spec"]["names"]
    if is_true(old, "Established"):
        yield from unchanged("spec.scope", spec.get("scope"), before.get("scope"))
        yield from unchanged("spec.names.kind", names.get("kind"), names_before.get("kind"))
    yield from unchanged("spec.group", spec.get("group"), before.get("group"))
    yield from unchanged("spec.names.plural", names.get("plural"), names_before.get("plural"))


def _status_errors(definition: Shared) -> Iterator[FieldError]:
    accepted = (definition.get("status") or {}).get("acceptedNames") or {}
    yield from _names_errors(accepted, "status.acceptedNames")


def _stored_version_errors(definition: Shared) -> Iterator[FieldError]:
    path = "status.storedVersions"
    stored: Sequence[str] = (definition.get("status") or {}).get("storedVersions") or ()
    if not stored:
        yield invalid_value(path, None, "must have at least one stored version")
        return
    versions = definition["spec"].get("versions") or ()
    for version in versions:
        if version.get("storage") and version["name"] not in stored:
            why = f"must have the storage version {version['name']}"
            yield invalid_value(path, stored, why)
    present = [version["name"] for version in versions]
    for index, name in enumerate(stored):
        if name not in present:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            yield invalid_value(f"{path}[{index}]", name, why)


def approval(definition: Shared) -> tuple[str, str] | None:
    """
    Return whether the definition of a group that is Kubernetes' own was approved, and what is said.

    The first is the reason of the condition that shows it; None for all other groups.
    """
    group: str = definition["spec"].get("group", "")
    if not any(group == each or group.endswith(f".{each}") for each in _PROTECTED):
        return None
    annotation = (definition["metadata"].get("annotations") or {}).get(APPROVED, "")
    needed = f'protected groups must have approval annotation "{APPROVED}"'
    if not annotation:
        return "MissingAnnotation", f"{needed}, {_SEE}"
    if annotation.startswith("unapproved"):
        return "UnapprovedAnnotation", f'not approved: "{annotation}"'
    url = urlsplit(annotation)
    if url.scheme and url.netloc:
        return "ApprovedAnnotation", f"approved in {annotation}"
    either = 'with either a URL or a reason starting with "unapproved"'
    return "InvalidAnnotation", f"{needed} {either}, {_SEE}"


def _approval_errors(definition: Shared, old: Shared | None) -> Iterator[FieldError]:
    told = approval(definition)
    if told is None:
        return
    before = approval(old) if old else None
    if before is not None and before[0] == told[0]:
        return
    field = f"metadata.annotations[{APPROVED}]"
    if told[0] == "MissingAnnotation":
        yield required(field, told[1])
    elif told[0] == "InvalidAnnotation":
        yield invalid_value(field, definition["metadata"]["annotations"][APPROVED], told[1])


def _preserving_errors(spec: Shared) -> Iterator[FieldError]:
    if spec.get("preserveUnknownFields"):
        why = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield invalid_value("spec.preserveUnknownFields", True, why)
