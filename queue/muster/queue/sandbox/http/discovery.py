"""What is served, told to clients: the discovery documents of the present catalogue."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final

from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.kinds.resources import Resource

AGGREGATED_TYPE: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
# The same; programs should not mind their order, but then it costs nothing to keep it.
_CUSTOM_VERBS: Final = (
    *("delete", "deletecollection", "get", "list"),
    *("patch", "create", "update", "watch"),
)
_EVERYBODY: Final = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]


class _Part:
    """A sub-resource: its verbs, and its kind where that is another one."""

    def __init__(self, *verbs: str, kind: tuple[str, str, str] | None = None) -> None:
        self.verbs = verbs
        self.kind = kind


_PARTS: Final = {
    "binding": _Part("create", kind=("", "v1", "Binding")),
    "eviction": _Part("create", kind=("policy", "v1", "Eviction")),
    "finalize": _Part("update"),
    "scale": _Part("get", "patch", "update", kind=("autoscaling", "v1", "Scale")),
    "status": _Part("get", "patch", "update"),
}


def served_verbs(resource: Resource) -> list[str]:
    """Return what may be asked about objects of a kind."""
    if resource.answer:
        return ["create"]
    if resource.kind.plural == "namespaces" and not resource.kind.group:
        return [verb for verb in _VERBS if verb != "deletecollection"]
    return [*(_CUSTOM_VERBS if resource.custom else _VERBS)]


def verbs(resource: Resource) -> list[str]:
    """Return what can be done with objects of a kind, as clients are told."""
    going = {"create", "patch", "update"} if resource.terminating else set()
    return [verb for verb in served_verbs(resource) if verb not in going]


def part_verbs(subresource: str) -> tuple[str, ...]:
    """Return what can be done with a sub-resource."""
    return _PARTS[subresource].verbs


def version_order(version: str) -> tuple[Any, ...]:
    """Return what sorts versions as the API prefers them: v2, v1, v1beta2, v1beta1, v1alpha1."""
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if not found:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return (stage, -int(found[1]), -int(found[3] or 0), version)


class Discovery:
    """Documents about a catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def groups(self) -> dict[str, list[str]]:
        """Return the versions by group, the preferred one first; "" is the core group."""
        found: dict[str, dict[str, None]] = {}
        for resource in self._catalogue:
            found.setdefault(resource.kind.group, {})[resource.kind.version] = None
        return {group: sorted(found[group], key=version_order) for group in found}

    def core_versions(self) -> dict[str, Any]:
        return {
            "kind": "APIVersions",
            "versions": self.groups()[""],
            "serverAddressByClientCIDRs": _EVERYBODY,
        }

    def group_list(self) -> dict[str, Any]:
        groups = self.groups()
        return {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [_group(name, groups[name]) for name in groups if name],
        }

    def group(self, name: str) -> dict[str, Any] | None:
        versions = self.groups().get(name) if name else None
        return (
            {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None
        )

    def resources(self, group: str, version: str) -> dict[str, Any] | None:
        """Return the APIResourceList of a version, None where it isn't served."""
        if not self._catalogue.serves(group, version):
            return None
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": [
                entry
                for resource in self._of(group, version)
                for entry in (self._resource(resource), *_parts(resource))
            ],
        }

    def aggregated(self, *, core: bool) -> dict[str, Any]:
        """Return all groups with all their resources: the core group alone, or all others."""
        groups = self.groups()
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": [
                {
                    "metadata": {"name": name, "creationTimestamp": None}
                    if name
                    else {"creationTimestamp": None},
                    "versions": [
                        {
                            "version": version,
                            "resources": [_discovered(each) for each in self._of(name, version)],
                            "freshness": "Current",
                        }
                        for version in groups[name]
                    ],
                }
                for name in groups
                if core is not bool(name)
            ],
        }

    def _resource(self, resource: Resource) -> dict[str, Any]:
        entry = _resource(resource)
        if storage := self._catalogue.storage(resource.stored_as or resource.key):
            entry["storageVersionHash"] = _storage_hash(storage)
        return entry

    def _of(self, group: str, version: str) -> Iterable[Resource]:
        found = (each for each in self._catalogue if each.kind[:2] == (group, version))
        return sorted(found, key=lambda resource: resource.kind.plural)


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _resource(resource: Resource) -> dict[str, Any]:
    kind = resource.kind
    entry: dict[str, Any] = {
        "name": kind.plural,
        "singularName": resource.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _storage_hash(storage: Resource) -> str:
    """Return what tells clients that objects have come to be stored in another version."""
    kind = storage.kind
    told = f"{kind.group}/{kind.version}/{kind.kind}".encode()
    return base64.b64encode(hashlib.sha256(told).digest()[:8]).decode()


def _parts(resource: Resource) -> Iterable[dict[str, Any]]:
    kind = resource.kind
    for name in sorted(resource.subresources):
        part = _PARTS[name]
        entry: dict[str, Any] = {
            "name": f"{kind.plural}/{name}",
            "singularName": "",
            "namespaced": kind.namespaced,
        }
        if part.kind:
            group, version, own = part.kind
            if (group, version) != kind[:2]:
                entry |= {"group": group, "version": version}
            entry["kind"] = own
        else:
            entry["kind"] = kind.kind
        yield {**entry, "verbs": list(part.verbs)}


def _discovered(resource: Resource) -> dict[str, Any]:
    kind = resource.kind
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    parts = []
    for name in sorted(resource.subresources):
        part = _PARTS[name]
        group, version, own = part.kind or kind[:3]
        answer = {"group": group, "version": version, "kind": own}
        parts.append({"subresource": name, "responseKind": answer, "verbs": list(part.verbs)})
    if parts:
        entry["subresources"] = parts
    return entry
