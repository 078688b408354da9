"""
CustomResourceDefinitions, generated from the models: `python -m muster.queue.api.crds crds/`.

Pydantic derives a JSON schema from a model; the API server wants a *structural* one, in which every
value has one type and nothing is referenced. This module rewrites the first into the second. What
JSON schema cannot say (merge keys, CEL rules, defaults the server fills in) the models carry as
markers, see `schema`.

Only v1beta2 is served and stored, so no conversion is declared. Serving v1beta1 besides takes a
conversion webhook for the kinds that `v1beta1` converts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel

from muster.queue.api.registry import KINDS, Kind

Schema = dict[str, Any]

HEADER: Final = "# Generated from the API models by `make crds`; edit those, not this file.\n"


# --- From JSON schema to structural schema -------------------------------------------------------

# JSON schema's keywords that mean the same to the API server, in the order they are written.
_KEYWORDS: Final = (
    "description",
    "type",
    "format",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    "anyOf",
    "properties",
    "additionalProperties",
    "items",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
)


def structural_schema(model: type[BaseModel]) -> Schema:
    """Return the structural schema of `model`: references inlined, one type for every value."""
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.get("$defs", {}))


def _structural(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    schema = _inlined(schema, definitions)
    if schema.get("x-kubernetes-int-or-string"):
        pass  # the one alternative of types that the API server knows
    elif not schema.get("type"):
        schema = {"x-kubernetes-preserve-unknown-fields": True, **schema}
    if not schema.pop("x-api-default", False):
        schema.pop("default", None)
    elif isinstance(schema["default"], dict):
        schema["default"] = {}  # the defaults of the fields follow by themselves
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if "items" in schema:
        schema["items"] = _structural(schema["items"], definitions)
    if "properties" in schema:
        schema["properties"] = {
            name: _structural(field, definitions) for name, field in schema["properties"].items()
        }
    others = schema.pop("additionalProperties", False)
    if others is True:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    elif others:
        schema["additionalProperties"] = _structural(others, definitions)
    return {keyword: schema[keyword] for keyword in _KEYWORDS if keyword in schema}


def _inlined(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Replace a reference, or the choice between something and null, by what it stands for."""
    schema = dict(schema)
    if "$ref" in schema:
        name = schema.pop("$ref").rpartition("/")[2]
        return {**_inlined(definitions[name], definitions), **schema}
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        del schema["anyOf"]
        return {**_inlined(choices[0], definitions), **schema}
    return schema


# --- What the models do not say ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A column that kubectl prints; a wide one with `-o wide` only."""

    name: str
    json_path: str
    type: str = "string"
    wide: bool = False

    def to_manifest(self) -> Schema:
        column: Schema = {"jsonPath": self.json_path, "name": self.name, "type": self.type}
        return {**column, "priority": 1} if self.wide else column


_PENDING: Final = Column("Pending Workloads", ".status.pendingWorkloads", "integer")
_ADMITTED_PATH: Final = ".status.admittedWorkloads"

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "ClusterQueue": (
        Column("Cohort", ".spec.cohortName"),
        Column("Strategy", ".spec.queueingStrategy", wide=True),
        _PENDING,
        Column("Admitted Workloads", _ADMITTED_PATH, "integer", wide=True),
    ),
    "LocalQueue": (
        Column("ClusterQueue", ".spec.clusterQueue"),
        _PENDING,
        Column("Admitted Workloads", _ADMITTED_PATH, "integer"),
    ),
    "Workload": (
        Column("Queue", ".spec.queueName"),
        Column("Reserved in", ".status.admission.clusterQueue"),
        Column("Admitted", ".status.conditions[?(@.type=='Admitted')].status"),
        Column("Finished", ".status.conditions[?(@.type=='Finished')].status"),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ),
    "WorkloadPriorityClass": (Column("Value", ".value", "integer"),),
}

SHORT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "AdmissionCheck": ("ac",),
    "ClusterQueue": ("cq",),
    "Cohort": ("co",),
    "LocalQueue": ("queue", "queues", "lq"),
    "ResourceFlavor": ("flavor", "flavors", "rf"),
    "Topology": ("topo",),
    "Workload": ("kwl", "kueueworkload", "kueueworkloads"),
    "WorkloadPriorityClass": ("wpc",),
}

SELECTABLE_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "Workload": (".status.admission.clusterQueue",),
}


# --- Definitions ---------------------------------------------------------------------------------


def definition(group: str, version: str, name: str, kind: Kind) -> Schema:
    """Return the CustomResourceDefinition of one kind."""
    schema = structural_schema(kind.model)
    # The API server knows these three better than any schema may say.
    schema["properties"].update(
        apiVersion={"type": "string"}, kind={"type": "string"}, metadata={"type": "object"}
    )
    required = [field for field in schema.pop("required") if field not in _OBJECT_FIELDS]
    if required:
        schema["required"] = required

    served: Schema = {"name": version, "served": True, "storage": True}
    served["schema"] = {"openAPIV3Schema": schema}
    if "status" in schema["properties"]:
        served["subresources"] = {"status": {}}
    if columns := COLUMNS.get(name):
        served["additionalPrinterColumns"] = [column.to_manifest() for column in columns]
    if fields := SELECTABLE_FIELDS.get(name):
        served["selectableFields"] = [{"jsonPath": path} for path in fields]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{group}"},
        "spec": {
            "group": group,
            "names": {
                "kind": name,
                "listKind": f"{name}List",
                "plural": kind.plural,
                "shortNames": list(SHORT_NAMES[name]),
                "singular": name.lower(),
            },
            "scope": kind.scope,
            "versions": [served],
        },
    }


_OBJECT_FIELDS: Final = ("apiVersion", "kind", "metadata")


def definitions() -> Iterator[tuple[str, Schema]]:
    """Yield a file name and a definition for each of our kinds."""
    for (api_version, name), kind in KINDS.items():
        group, _, version = api_version.rpartition("/")
        if name in SHORT_NAMES and group:
            yield f"{group}_{kind.plural}.yaml", definition(group, version, name, kind)


class _Dumper(yaml.SafeDumper):
    """Writes the same value twice instead of referring to it by an anchor."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def render(manifest: Schema) -> str:
    """Return the text of a definition's file."""
    text: str = yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    return HEADER + text


def main(arguments: list[str]) -> int:
    """Write one file a kind into the directory named by the only argument."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m muster.queue.api.crds DIRECTORY\n")
        return 2
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    for file_name, manifest in definitions():
        (directory / file_name).write_text(render(manifest), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
