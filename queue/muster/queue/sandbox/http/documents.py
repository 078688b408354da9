"""
The documents at fixed paths: discovery, OpenAPI, the version.

They are kept as bytes until the catalogue changes.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from muster.queue.client.refusal import Refusal, no_such_path, not_implemented
from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.http.discovery import AGGREGATED_TYPE, Discovery
from muster.queue.sandbox.http.negotiation import JSON, wants_aggregated
from muster.queue.sandbox.http.openapi import OpenApi, fingerprint

KUBERNETES_VERSION: Final = "v1.36.3"
"""Whose behaviour the sandbox follows."""
_MAJOR, _MINOR = KUBERNETES_VERSION.removeprefix("v").split(".")[:2]

BUILTIN_GROUPS: Final = (
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
)
"""Groups of a real server, of which this one leaves out all or some kinds."""
LEFT_OUT: Final = {
    "": (
        "endpoints",
        "persistentvolumeclaims",
        "persistentvolumes",
        "replicationcontrollers",
        "resourcequotas",
        "services",
    ),
    "admissionregistration.k8s.io": (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    ),
    "authentication.k8s.io": ("tokenreviews",),
    "batch": ("cronjobs",),
}
"""Resources of a real server that are left out of groups that are served."""

_PROTOBUF_V2: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# What kubectl asks about kinds that version 3 doesn't know; there are no more of them in version 2.
# Field 1 is the version, 2 the information with title and version, 8 the paths.
_NOTHING_MORE: Final = b"\x0a\x032.0\x12\x12\x0a\x0aKubernetes\x12\x041.36\x42\x00"


class Document(NamedTuple):
    """One document; the tag is another one whenever the document is."""

    body: bytes
    media_type: str
    tag: str = ""


class Documents:
    """What is found at paths that lead to no objects."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._discovery = Discovery(catalogue)
        self._open_api = OpenApi(catalogue)
        self._known: dict[tuple[tuple[str, ...], bool], Document] = {}
        self._revision = catalogue.revision

    def version(self) -> dict[str, str]:
        return {
            "major": _MAJOR,
            "minor": _MINOR,
            "gitVersion": f"{KUBERNETES_VERSION}+muster-sandbox",
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "",
            "compiler": "",
            "platform": "",
        }

    def find(self, parts: list[str], accept: str) -> Document | None:
        """Return the document at a path, None where there is none."""
        if parts == ["openapi", "v2"] and "proto-openapi" in accept:
            return Document(_NOTHING_MORE, _PROTOBUF_V2)
        if self._revision != self._catalogue.revision:
            self._known.clear()
            self._revision = self._catalogue.revision
        key = tuple(parts), wants_aggregated(accept)
        if key in self._known:
            return self._known[key]
        document = self._make(parts, aggregated=key[1])
        if document is not None:  # of paths where there is none, there is no end
            self._known[key] = document
        return document

    def _make(self, parts: list[str], *, aggregated: bool) -> Document | None:
        if aggregated and parts in (["api"], ["apis"]):
            body = orjson.dumps(self._discovery.aggregated(core=parts == ["api"]))
            return Document(body, AGGREGATED_TYPE, f'"{fingerprint(body)}"')
        found = self._find(parts)
        if found is None:
            return None
        body = orjson.dumps(found)
        tag = f'"{fingerprint(body)}"' if parts[:1] == ["openapi"] else ""
        return Document(body, JSON, tag)

    def _find(self, parts: list[str]) -> dict[str, Any] | None:
        match parts:
            case []:
                return {"paths": ["/api", "/apis", "/openapi/v3", "/readyz", "/version"]}
            case ["api"]:
                return self._discovery.core_versions()
            case ["apis"]:
                return self._discovery.group_list()
            case ["api", version]:
                return self._discovery.resources("", version)
            case ["apis", group]:
                return self._discovery.group(group)
            case ["apis", group, version]:
                return self._discovery.resources(group, version)
            case ["openapi", *rest]:
                return self._find_open_api(rest)
            case _:
                return None

    def _find_open_api(self, parts: list[str]) -> dict[str, Any] | None:
        match parts:
            case ["v2"]:
                raise not_implemented("OpenAPI is served in version 3 only, at /openapi/v3")
            case ["v3"]:
                return self._open_api.index()
            case ["v3", *rest]:
                return self._open_api.document("/".join(rest))
            case _:
                return None

    def refusal_of(self, method: str, parts: list[str]) -> Refusal | None:
        """Return what is said of a path where nothing is; None for that there is no such page."""
        match parts:
            case ["api", "v1", *rest]:
                return _refusal_in("", method, rest)
            case ["api", *_]:
                return no_such_path()
            case ["apis", group, version, *rest] if group in BUILTIN_GROUPS:
                if self._catalogue.serves(group, version):
                    return _refusal_in(group, method, rest)
                return _left_out(f"{group}/{version}")
            case _:
                return None


def _refusal_in(group: str, method: str, rest: list[str]) -> Refusal:
    """
    Return what is said of a path in a group that is served.

    Clients that only look for objects go on when they hear that there is no such resource.
    """
    if rest[:1] == ["namespaces"]:
        rest = rest[2:]
    if method != "GET" and rest and rest[0] in LEFT_OUT.get(group, ()):
        return _left_out(f"{rest[0]}.{group}" if group else rest[0])
    return no_such_path()


def _left_out(what: str) -> Refusal:
    return not_implemented(
        f"the sandbox doesn't serve {what}: it has what runs Jobs, and nobody there to act on "
        "anything else"
    )
