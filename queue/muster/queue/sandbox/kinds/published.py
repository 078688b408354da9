"""
The schemas of custom kinds as the server publishes them in OpenAPI v3.

A definition leaves out what every object has; clients such as `kubectl explain` want it said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from muster.queue.sandbox.kinds.resources import Shared

_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_OBJECT_PROPERTIES: Final[Mapping[str, Any]] = {
    "apiVersion": {"description": "Group and version of the kind.", "type": "string"},
    "kind": {"description": "The kind of the object.", "type": "string"},
    "metadata": {
        "description": "Name, labels and all else that every object has.",
        "allOf": [{"$ref": f"#/components/schemas/{_METADATA}"}],
    },
}


def published_schema(definition: Shared, version: str) -> dict[str, Any]:
    """Return the component that describes a kind in one of the versions of its definition."""
    spec = definition["spec"]
    (given,) = (each["schema"] for each in spec["versions"] if each["name"] == version)
    schema = _completed(given["openAPIV3Schema"])
    schema["properties"] = {**schema.get("properties", {}), **_OBJECT_PROPERTIES}
    names = {"group": spec["group"], "kind": spec["names"]["kind"], "version": version}
    return {**schema, "x-kubernetes-group-version-kind": [names]}


def schema_name(group: str, version: str, kind: str) -> str:
    """Return the name of that component, such as "io.x-k8s.kueue.v1beta2.Workload"."""
    return ".".join((*reversed(group.split(".")), version, kind))


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
        schema["properties"] = {**schema.get("properties", {}), **_OBJECT_PROPERTIES}
        needed = schema.get("required") or ()
        schema["required"] = list(dict.fromkeys((*needed, "kind", "apiVersion")))
    return schema
