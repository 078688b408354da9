"""What the volumes of a pod may be, and how its containers may mount them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from muster.queue.sandbox.kinds.metadata import not_found
from muster.queue.sandbox.kinds.names import dns_label, label_key
from muster.queue.sandbox.kinds.quantities import nanos
from muster.queue.sandbox.kinds.resources import Shared

Volumes = Mapping[str, Shared]
"""The volumes of a pod that are sound, by name."""

_MODE_MAX: Final = 0o777
_MODE_SAYS: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_ONE_TYPE: Final = "may not specify more than 1 volume type"
_HOST_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_OF_VOLUMES: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_RESOURCES: Final = tuple(
    f"{kind}.{name}"
    for kind in ("limits", "requests")
    for name in ("cpu", "ephemeral-storage", "memory")
)
_TOKEN_MIN_S: Final = 600
_TOKEN_MAX_S: Final = 1 << 32


def volumes_errors(
    place: str, volumes: Sequence[Shared], known: dict[str, Shared]
) -> list[FieldError]:
    """Return what is wrong with the volumes of a pod; put those that are sound into `known`."""
    errors: list[FieldError] = []
    for index, volume in enumerate(volumes):
        at = f"{place}[{index}]"
        found = [*_source_errors(at, volume)]
        name = volume["name"]
        if not name:
            found.append(required(f"{at}.name"))
        found += [invalid_value(f"{at}.name", name, each) for each in dns_label(name) if name]
        if name in known:
            found.append(duplicate(f"{at}.name", name))
        if not found:
            known[name] = volume
        errors += found
    return errors


def _source_errors(place: str, volume: Shared) -> Iterator[FieldError]:
    types = [name for name in volume if name != "name"]
    if not types:
        yield required(place, "must specify a volume type")
        return
    for extra in types[1:]:
        yield forbidden_field(f"{place}.{extra}", _ONE_TYPE)
    check = _CHECKS.get(types[0])
    if check is not None:
        yield from check(f"{place}.{types[0]}", volume[types[0]])


def _empty_errors(place: str, source: Shared) -> Iterator[FieldError]:
    if nanos(source.get("sizeLimit", "0")) < 0:
        detail = "SizeLimit field must be a valid resource quantity"
        yield forbidden_field(f"{place}.sizeLimit", detail)


def _downward_errors(place: str, source: Shared) -> Iterator[FieldError]:
    yield from _mode_errors(f"{place}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        yield from _file_errors(place, item)


def _claim_errors(place: str, source: Shared) -> Iterator[FieldError]:
    if not source.get("claimName"):
        yield required(f"{place}.claimName")


def _host_path_errors(place: str, source: Shared) -> Iterator[FieldError]:
    if not source["path"]:
        yield required(f"{place}.path")
    yield from _backstep_errors(f"{place}.path", source["path"])
    if source.get("type", "") not in _HOST_TYPES:
        yield not_supported(f"{place}.type", source["type"], _HOST_TYPES)


def _nfs_errors(place: str, source: Shared) -> Iterator[FieldError]:
    for name in ("server", "path"):
        if not source[name]:
            yield required(f"{place}.{name}")
    if source["path"] and not source["path"].startswith("/"):
        yield invalid_value(f"{place}.path", source["path"], "must be an absolute path")


def _keys_errors(place: str, source: Shared, name: str) -> Iterator[FieldError]:
    if not source.get(name):
        yield required(f"{place}.{name}")
    yield from _mode_errors(f"{place}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items") or ()):
        yield from _key_errors(f"{place}.items[{index}]", item)


def _secret_errors(place: str, source: Shared) -> Iterator[FieldError]:
    yield from _keys_errors(place, source, "secretName")


def _config_errors(place: str, source: Shared) -> Iterator[FieldError]:
    yield from _keys_errors(place, source, "name")


def _key_errors(place: str, item: Shared) -> Iterator[FieldError]:
    for name in ("key", "path"):
        if not item[name]:
            yield required(f"{place}.{name}")
    yield from _local_path_errors(f"{place}.path", item["path"])
    yield from _mode_errors(f"{place}.mode", item.get("mode"))


def _mode_errors(place: str, mode: int | None) -> Iterator[FieldError]:
    if mode is not None and not 0 <= mode <= _MODE_MAX:
        yield invalid_value(place, mode, _MODE_SAYS)


def _file_errors(place: str, item: Shared) -> Iterator[FieldError]:
    if not item["path"]:
        yield required(f"{place}.path")
    yield from _local_path_errors(f"{place}.path", item["path"])
    reference, amount = item.get("fieldRef"), item.get("resourceFieldRef")
    if reference is not None:
        yield from field_reference_errors(f"{place}.fieldRef", reference, _OF_VOLUMES)
        if amount is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid_value(place, "resource", detail)
    elif amount is not None:
        if not amount.get("containerName"):
            yield required(f"{place}.resourceFieldRef.containerName")
        else:
            yield from resource_reference_errors(f"{place}.resourceFieldRef", amount)
    else:
        yield required(place, "one of fieldRef and resourceFieldRef is required")
    yield from _mode_errors(f"{place}.mode", item.get("mode"))


def field_reference_errors(
    place: str, reference: Shared, allowed: Sequence[str]
) -> Iterator[FieldError]:
    """Yield what is wrong with a reference to a field of the pod itself."""
    path = reference["fieldPath"]
    if not path:
        yield required(f"{place}.fieldPath")
        return
    name, bracket, subscript = path.partition("['")
    if bracket and subscript.endswith("']"):
        key = subscript.removesuffix("']")
        if name not in {"metadata.annotations", "metadata.labels"}:
            yield invalid_value(place, name, "does not support subscript")
            return
        for detail in label_key(key.lower() if name.endswith("annotations") else key):
            yield invalid_value(place, key, detail)
    elif path not in allowed:
        known = path.startswith(("metadata.", "spec.", "status.")) and path in {
            *_OF_VOLUMES,
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.hostIP",
            "status.hostIPs",
            "status.podIP",
            "status.podIPs",
        }
        if known:
            yield not_supported(f"{place}.fieldPath", path, sorted(allowed))
        else:
            detail = f"error converting fieldPath: field label not supported: {path}"
            yield invalid_value(f"{place}.fieldPath", path, detail)


def resource_reference_errors(place: str, reference: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with a reference to what a container asks for."""
    resource = reference["resource"]
    if not resource:
        yield required(f"{place}.resource")
    elif resource not in _RESOURCES and not resource.startswith(
        ("limits.hugepages-", "requests.hugepages-")
    ):
        yield not_supported(f"{place}.resource", resource, _RESOURCES)


def _projected_errors(place: str, source: Shared) -> Iterator[FieldError]:
    yield from _mode_errors(f"{place}.defaultMode", source.get("defaultMode"))
    paths: dict[str, None] = {}
    for index, part in enumerate(source.get("sources") or ()):
        at = f"{place}.sources[{index}]"
        if len(part) > 1:
            yield forbidden_field(at, "may not specify more than 1 volume type")
        for kind, projection in part.items():
            yield from _projection_errors(f"{at}.{kind}", kind, projection)
            if kind == "serviceAccountToken" and not projection["path"]:
                yield required(f"{place}.path")
            for path in _paths(projection):
                if path in paths:
                    name = projection.get("name", "")
                    yield invalid_value(place, name, "conflicting duplicate paths")
                paths[path] = None


def _projection_errors(place: str, kind: str, projection: Shared) -> Iterator[FieldError]:
    if kind in {"secret", "configMap"}:
        yield from _keys_errors(place, projection, "name")
    elif kind == "downwardAPI":
        for item in projection.get("items") or ():
            yield from _file_errors(place, item)
    elif kind == "serviceAccountToken":
        yield from _token_errors(place, projection)


def _paths(projection: Shared) -> Iterator[str]:
    if path := projection.get("path"):
        yield path
    for item in projection.get("items") or ():
        if item.get("path"):
            yield item["path"]


def _token_errors(place: str, token: Shared) -> Iterator[FieldError]:
    seconds = token.get("expirationSeconds", _TOKEN_MIN_S)
    if seconds < _TOKEN_MIN_S:
        detail = "may not specify a duration less than 10 minutes"
        yield invalid_value(f"{place}.expirationSeconds", seconds, detail)
    elif seconds > _TOKEN_MAX_S:
        detail = "may not specify a duration larger than 2^32 seconds"
        yield invalid_value(f"{place}.expirationSeconds", seconds, detail)
    if token["path"]:
        yield from _local_path_errors(f"{place}.path", token["path"])


def _local_path_errors(place: str, path: str) -> Iterator[FieldError]:
    yield from _descending_path_errors(place, path)
    if path.startswith("..") and not path.startswith("../"):
        yield invalid_value(place, path, "must not start with '..'")


def _descending_path_errors(place: str, path: str) -> Iterator[FieldError]:
    if path.startswith("/"):
        yield invalid_value(place, path, "must be a relative path")
    yield from _backstep_errors(place, path)


def _backstep_errors(place: str, path: str) -> Iterator[FieldError]:
    if ".." in path.split("/"):
        yield invalid_value(place, path, "must not contain '..'")


_CHECKS: Final[Mapping[str, Callable[[str, Shared], Iterator[FieldError]]]] = {
    "configMap": _config_errors,
    "downwardAPI": _downward_errors,
    "emptyDir": _empty_errors,
    "hostPath": _host_path_errors,
    "nfs": _nfs_errors,
    "persistentVolumeClaim": _claim_errors,
    "projected": _projected_errors,
    "secret": _secret_errors,
}


# -- mounts ------------------------------------------------------------------------------------


def mounts_errors(place: str, mounts: Sequence[Shared], volumes: Volumes) -> Iterator[FieldError]:
    """Yield what is wrong with the volume mounts of a container."""
    paths: dict[str, None] = {}
    for index, mount in enumerate(mounts):
        at = f"{place}[{index}]"
        name, path = mount["name"], mount["mountPath"]
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if not path:
            yield required(f"{at}.mountPath")
        if path in paths:
            yield invalid_value(f"{at}.mountPath", path, "must be unique")
        paths[path] = None
        below, expression = mount.get("subPath"), mount.get("subPathExpr")
        if below:
            yield from _descending_path_errors(f"{place}.subPath", below)
        if expression:
            if below:
                detail = "subPathExpr and subPath are mutually exclusive"
                yield invalid_value(f"{at}.subPathExpr", expression, detail)
            yield from _descending_path_errors(f"{place}.subPathExpr", expression)
        propagation = mount.get("mountPropagation", "None")
        if propagation not in _PROPAGATIONS:
            yield not_supported(f"{place}.mountPropagation", propagation, _PROPAGATIONS)
