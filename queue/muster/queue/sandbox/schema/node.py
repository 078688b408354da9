"""
The schema of one field, compiled: what it holds, how its lists and maps merge, what fills it.

Built-in kinds and definitions have the same nodes, so pruning, defaulting, validation, patches and
field ownership need to know one thing only. Nodes are shared and may contain themselves (the kind
of definitions does); they never change once they are made.

Sources: structural schemas and `x-kubernetes-*` extensions of the Kubernetes API conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

Raw = Mapping[str, Any]
"""A schema as OpenAPI v3 writes it."""


class Missing:
    """The type of `MISSING`, which stands where there is no value (null is a value)."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


class Schema:
    """One node; attributes are read directly, by code that runs for every request."""

    __slots__ = (
        "additional",
        "compiled",
        "default",
        "embedded",
        "int_or_string",
        "items",
        "list_keys",
        "list_type",
        "map_type",
        "name",
        "nullable",
        "patch_merge_key",
        "patch_strategies",
        "preserves_unknown",
        "properties",
        "raw",
        "type",
    )

    type: str
    """object, array, string, integer, number, boolean; "" for any value."""
    properties: dict[str, Schema]
    additional: Schema | None
    """Of the values of a map with free keys."""
    items: Schema | None
    list_type: Literal["atomic", "set", "map"]
    list_keys: tuple[str, ...]
    """What tells the entries of a "map" list apart."""
    map_type: Literal["granular", "atomic"]
    """Of objects and maps: whether owners share it by field."""
    default: Any
    """MISSING without; never to be handed out itself if it is an object or a list."""
    nullable: bool
    int_or_string: bool
    preserves_unknown: bool
    """Unknown fields stay."""
    embedded: bool
    """A whole object with apiVersion, kind and metadata."""
    patch_strategies: tuple[str, ...]
    """Of strategic merge patches: "merge", "replace", "retainKeys"."""
    patch_merge_key: str
    raw: Raw
    """What it was made of, for the keywords that only validation reads."""
    name: str
    """Of the component of a built-in type, such as "io.k8s.api.core.v1.Pod"; else ""."""
    compiled: dict[str, Any]
    """What the modules that walk objects made of this node, each under a name of its own."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.name = ""
        self.compiled = {}
        self.type = raw.get("type") or ""
        self.properties = {}
        self.additional = None
        self.items = None
        self.list_type = raw.get("x-kubernetes-list-type") or "atomic"
        self.list_keys = tuple(raw.get("x-kubernetes-list-map-keys") or ())
        self.map_type = raw.get("x-kubernetes-map-type") or "granular"
        self.default = raw.get("default", MISSING)
        self.nullable = bool(raw.get("nullable"))
        self.int_or_string = bool(raw.get("x-kubernetes-int-or-string"))
        self.preserves_unknown = bool(raw.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded = bool(raw.get("x-kubernetes-embedded-resource"))
        strategy = raw.get("x-kubernetes-patch-strategy") or ""
        self.patch_strategies = tuple(strategy.split(",")) if strategy else ()
        self.patch_merge_key = raw.get("x-kubernetes-patch-merge-key") or ""

    def field(self, name: str) -> Schema | None:
        """Return the schema of a field or of a map's value, None where nothing is known of it."""
        return self.properties.get(name) or self.additional

    def key_of(self, entry: Mapping[str, Any]) -> tuple[Any, ...]:
        """
        Return what tells an entry of a "map" list apart, defaults filled in.

        A key that is missing and has no default is None.
        """
        return tuple([self._key(entry, name) for name in self.list_keys])

    def _key(self, entry: Mapping[str, Any], name: str) -> Any:
        if name in entry:
            return entry[name]
        known = self.items.properties.get(name) if self.items else None
        return None if known is None or known.default is MISSING else known.default


ANYTHING: Final = Schema({"x-kubernetes-preserve-unknown-fields": True})
"""For what nothing is known of: everything stays, maps are shared by field, lists are atomic."""

FIELDLESS: Final = Schema({})
"""For values of `additionalProperties: true`: scalars, lists, and objects that have no fields."""


def compile_definition(raw: Raw, object_meta: Schema) -> Schema:
    """
    Compile the schema of a version in a CustomResourceDefinition.

    It, and objects embedded in it, have apiVersion, kind and `metadata` even where it doesn't say.
    """
    root = _compile_structural(raw, object_meta)
    _complete_object(root, object_meta)
    return root


def _compile_structural(raw: Raw, object_meta: Schema) -> Schema:
    node = Schema(raw)
    for name, child in (raw.get("properties") or {}).items():
        node.properties[name] = _compile_structural(child, object_meta)
    if isinstance(additional := raw.get("additionalProperties"), Mapping):
        node.additional = _compile_structural(additional, object_meta)
    elif additional:
        node.additional = FIELDLESS
    if isinstance(items := raw.get("items"), Mapping):
        node.items = _compile_structural(items, object_meta)
    if node.embedded:
        _complete_object(node, object_meta)
    return node


_HAS_EMBEDDED: Final = "has embedded"


def has_embedded(schema: Schema) -> bool:
    """Tell whether objects are embedded anywhere below a value, that of a definition."""
    if _HAS_EMBEDDED not in schema.compiled:
        below = [*schema.properties.values(), schema.additional, schema.items]
        # Built-in schemas, as of metadata, have none; and they may contain themselves.
        schema.compiled[_HAS_EMBEDDED] = any(
            not child.name and (child.embedded or has_embedded(child)) for child in below if child
        )
    return bool(schema.compiled[_HAS_EMBEDDED])


_TEXT: Final = Schema({"type": "string"})


def _complete_object(node: Schema, object_meta: Schema) -> None:
    node.properties.setdefault("apiVersion", _TEXT)
    node.properties.setdefault("kind", _TEXT)
    # What a definition says of metadata only limits name and generateName: validation reads it.
    node.properties["metadata"] = object_meta


class BuiltIn:
    """Schemas of built-in kinds, compiled from OpenAPI components when they are asked for."""

    def __init__(self, components: Mapping[str, Raw]) -> None:
        self._components = components
        self._known: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        """Return the schema of a component, such as "io.k8s.api.core.v1.Pod"."""
        if name not in self._known:
            raw = self._components[name]
            node = self._known[name] = Schema(raw)
            node.name = name
            self._fill(node, raw)
        return self._known[name]

    def _compile(self, raw: Raw) -> Schema:
        reference = raw.get("$ref") or next(
            (part["$ref"] for part in raw.get("allOf") or () if "$ref" in part), None
        )
        if reference is None:
            node = Schema(raw)
            self._fill(node, raw)
            return node
        target = self[reference.rsplit("/", 1)[-1]]
        extras = {key: value for key, value in raw.items() if key not in {"$ref", "allOf"}}
        if not extras.keys() - {"default"}:
            return target  # built-in kinds are not filled from their schema
        node = Schema({**target.raw, **extras})
        node.name = target.name
        # Shared, so that it also holds what is filled in later where kinds contain themselves.
        node.properties = target.properties
        node.additional, node.items = target.additional, target.items
        node.preserves_unknown = target.preserves_unknown
        return node

    def _fill(self, node: Schema, raw: Raw) -> None:
        for name, child in (raw.get("properties") or {}).items():
            node.properties[name] = self._compile(child)
        additional = raw.get("additionalProperties")
        if isinstance(additional, Mapping):
            node.additional = self._compile(additional)
        if isinstance(items := raw.get("items"), Mapping):
            node.items = self._compile(items)
        node.int_or_string = raw.get("format") == "int-or-string"
        if not node.properties and node.additional is None and node.type in {"object", ""}:
            node.preserves_unknown = node.type == "object" or not raw.get("oneOf")
