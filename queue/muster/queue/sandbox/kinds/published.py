"""
The schemas of custom kinds as the server publishes them in OpenAPI v3.

A definition leaves out what every object has; clients such as `kubectl explain` want it said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from muster.queue.sandbox.kinds.resource import Shared

_CONVENTIONS: Final = (
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
)
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_API_VERSION: Final = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should "
    "convert recognized schemas to the latest internal value, and may reject unrecognized values. "
    f"{_CONVENTIONS}#resources"
)
_KIND: Final = (
    "Kind is a string value representing the REST resource this object represents. Servers may "
    "infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. "
    f"{_CONVENTIONS}#types-kinds"
)
_EMBEDDED_API_VERSION: Final = (
    "apiVersion defines the versioned schema of this representation of an object. "
    f"{_CONVENTIONS}#resources"
)
_EMBEDDED_KIND: Final = (
    "kind is a string value representing the type of this object. In CamelCase. "
    f"{_CONVENTIONS}#types-kinds"
)


def published_schema(definition: Shared, version: str) -> dict[str, Any]:
    """Return the component that describes a kind in one of the versions of its definition."""
    spec = definition["spec"]
    (given,) = (each["schema"] for each in spec["versions"] if each["name"] == version)
    schema = _completed(given["openAPIV3Schema"])
    schema["properties"] = {
        **schema.get("properties", {}),
        **_object_properties(_API_VERSION, _KIND),
    }
    names = {"group": spec["group"], "kind": spec["names"]["kind"], "version": version}
    return {**schema, "x-kubernetes-group-version-kind": [names]}


def schema_name(group: str, version: str, kind: str) -> str:
    """Return the name of that component, such as "io.x-k8s.kueue.v1beta2.Workload"."""
    return ".".join((*reversed(group.split(".")), version, kind))


def _object_properties(api_version: str, kind: str) -> dict[str, Any]:
    return {
        "apiVersion": {"description": api_version, "type": "string"},
        "kind": {"description": kind, "type": "string"},
        "metadata": {
            "description": f"Standard object's metadata. {_CONVENTIONS}#metadata",
            "allOf": [{"$ref": f"#/components/schemas/{_METADATA}"}],
        },
    }


def _completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with what its extensions imply."""
    schema = dict(given)
    if "properties" in schema:
        schema["properties"] = {
            name: _completed(below) for name, below in schema["properties"].items()
        }
    for name in ("items", "additionalProperties"):
        if isinstance(below := schema.get(name), Mapping):
            schema[name] = _completed(below)
    if schema.get("x-kubernetes-int-or-string") and not schema.get("anyOf"):
        schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if schema.get("x-kubernetes-embedded-resource"):
        schema["properties"] = {
            **schema.get("properties", {}),
            **_object_properties(_EMBEDDED_API_VERSION, _EMBEDDED_KIND),
        }
        needed = schema.get("required") or ()
        schema["required"] = list(dict.fromkeys((*needed, "kind", "apiVersion")))
    return schema
