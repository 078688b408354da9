"""
OpenAPI v3 as kubectl reads it: the fields of every kind, and what its patches may be.

Only what clients look for is there: the schemas, and for each kind its paths with the operations'
kinds, parameters and media types.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.api.server import patch_types
from muster.queue.sandbox.kinds.resources import Resource
from muster.queue.sandbox.kinds.schemas import components, references

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_ALWAYS: Final = (
    f"{_META}.DeleteOptions",
    f"{_META}.ListMeta",
    f"{_META}.ObjectMeta",
    f"{_META}.Status",
)


class OpenApi:
    """Documents about a catalogue, one for each group and version."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def index(self) -> dict[str, Any]:
        """Return where each document is; its hash changes with it."""
        paths = dict.fromkeys(_root(resource) for resource in self._catalogue)
        return {
            "paths": {
                path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self._hash(path)}"}
                for path in paths
            }
        }

    def _hash(self, path: str) -> str:
        return fingerprint(orjson.dumps(self.document(path)))

    def document(self, path: str) -> dict[str, Any] | None:
        """Return the document at a path such as "apis/batch/v1", None where nothing is served."""
        resources = [each for each in self._catalogue if _root(each) == path]
        if not resources:
            return None
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "1.36"},
            "paths": {
                place: operations
                for resource in resources
                for place, operations in _paths(resource, f"/{path}")
            },
            "components": {"schemas": _schemas(resources)},
        }


def fingerprint(body: bytes) -> str:
    """Return what is the same for the same bytes, and nearly surely only for them."""
    return hashlib.sha256(body).hexdigest()[:32].upper()


def _root(resource: Resource) -> str:
    group, version = resource.kind[:2]
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _schemas(resources: Iterable[Resource]) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    wanted = [*_ALWAYS]
    known = components()
    for resource in resources:
        name = schema_name(resource)
        raw = (
            resource.published()
            if resource.published
            else {"description": resource.description, **known[name]}
        )
        schemas[name] = raw
        schemas[f"{name}List"] = _list_schema(resource, name)
        wanted += references(raw)
    while wanted:
        name = wanted.pop()
        if name not in schemas and name in known:
            schemas[name] = known[name]
            wanted += references(known[name])
    return schemas


def schema_name(resource: Resource) -> str:
    """Return the name of a kind's schema among the components."""
    if resource.schema_name:
        return resource.schema_name
    reverse = ".".join(reversed(resource.kind.group.split(".")))
    return f"{reverse}.{resource.kind.version}.{resource.kind.kind}"


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list_schema(resource: Resource, name: str) -> dict[str, Any]:
    text = {"type": "string"}
    kind = resource.list_kind or f"{resource.kind.kind}List"
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text,
            "kind": text,
            "items": {"type": "array", "items": _reference(name)},
            "metadata": _reference(f"{_META}.ListMeta"),
        },
        "x-kubernetes-group-version-kind": [_gvk(resource) | {"kind": kind}],
    }


def _gvk(resource: Resource) -> dict[str, str]:
    group, version, kind = resource.kind[:3]
    return {"group": group, "kind": kind, "version": version}


def _parameters(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]


_WRITE: Final = _parameters("dryRun", "fieldManager", "fieldValidation")
_LIST: Final = _parameters("labelSelector", "fieldSelector", "limit", "continue", "watch")


def _paths(resource: Resource, root: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    scope = "/namespaces/{namespace}" if resource.kind.namespaced else ""
    collection = f"{root}{scope}/{resource.kind.plural}"
    name = schema_name(resource)
    one, many = _answer(name), _answer(f"{name}List")

    def operation(action: str, answer: Any, **more: Any) -> dict[str, Any]:
        gvk = _gvk(resource)
        return {
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
            "responses": {"200": answer},
            **more,
        }

    body = {"requestBody": {"content": {"*/*": {"schema": _reference(name)}}}}
    patch = {"content": {each: {"schema": {"type": "object"}} for each in patch_types(resource)}}
    yield (
        collection,
        {
            "get": operation("list", many, parameters=_LIST),
            "post": operation("post", one, parameters=_WRITE, **body),
        },
    )
    yield (
        f"{collection}/{{name}}",
        {
            "get": operation("get", one),
            "put": operation("put", one, parameters=_WRITE, **body),
            "patch": operation("patch", one, parameters=_WRITE, requestBody=patch),
            "delete": operation("delete", _answer(f"{_META}.Status")),
        },
    )


def _answer(name: str) -> dict[str, Any]:
    return {"description": "OK", "content": {"application/json": {"schema": _reference(name)}}}
