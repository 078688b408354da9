"""
Judges the schema in a definition: what a real server refuses of one, in its words.

First whether it is structural, then its defaults, then each keyword, and last its rules, which are
compiled. What rules may cost is not estimated, so a rule that a real server finds too expensive is
accepted here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from muster.queue.client.refusal import FieldError, forbidden_field, invalid_value, required
from muster.queue.sandbox.schema import patterns
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.schema.expressions import ExpressionError
from muster.queue.sandbox.schema.keywords import has_unsupported, keyword_errors
from muster.queue.sandbox.schema.node import ANYTHING, MISSING, Raw, Schema, compile_definition
from muster.queue.sandbox.schema.pruning import compiled as pruner
from muster.queue.sandbox.schema.rules import broken_rules
from muster.queue.sandbox.schema.uniqueness import duplicates
from muster.queue.sandbox.schema.validation import validate

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_COMBINING: Final = ("anyOf", "allOf", "oneOf")
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_EITHER: Final = "x-kubernetes-int-or-string"
_RULES: Final = "x-kubernetes-validations"

# What may not stand in a schema that only adds to another, and what is said of it.
_NOT_NESTED: Final[Mapping[str, str]] = {
    "type": "empty",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    _PRESERVES: "false",
    _EMBEDDED: "false",
    _EITHER: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
}


def structural_errors(raw: Raw, path: str) -> list[FieldError]:
    """Return what is wrong with a schema that stands at a path, as `spec...openAPIV3Schema`."""
    if has_unsupported(raw):
        return keyword_errors(raw, path, None)
    errors = sorted([*_form(raw, _ROOT, path), *_incomplete(raw, raw, path, path)], key=str)
    root = None
    if not errors:
        root = compile_definition(raw, ANYTHING)
        errors = list(_defaults(root, path, is_root=True))
    return errors + keyword_errors(raw, path, None if errors else root)


# -- the form of structural schemas ------------------------------------------------------------


def _form(raw: Raw, level: str, path: str) -> Iterator[FieldError]:
    items = raw.get("items")
    if raw.get("type") == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, Mapping):
        yield from _form(items, _ITEM, f"{path}.items")
    for name, child in (raw.get("properties") or {}).items():
        yield from _form(child, _FIELD, f"{path}.properties[{name}]")
    additional = raw.get("additionalProperties")
    if additional is not None and level == _ROOT:
        yield forbidden_field(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, Mapping):
        yield from _form(additional, _FIELD, f"{path}.additionalProperties")
    if raw.get(_EITHER):
        for keyword in (_PRESERVES, _EMBEDDED):
            if raw.get(keyword):
                why = f"must be false if {_EITHER} is true"
                yield invalid_value(f"{path}.{keyword}", value=True, detail=why)
    yield from _combined(raw, path, may_have_rules=False)
    yield from _type_form(raw, level, path)
    yield from _object_form(raw, level, path)


def _type_form(raw: Raw, level: str, path: str) -> Iterator[FieldError]:
    given = raw.get("type") or ""
    place = f"{path}.type"
    if raw.get(_EMBEDDED) and given != "object":
        why = f"must be object if {_EMBEDDED} is true"
        yield invalid_value(place, given, why) if given else required(place, why)
    elif not given and not raw.get(_EITHER) and not raw.get(_PRESERVES):
        yield required(place, f"must not be empty {level}")
    if level == _ROOT and given not in {"", "object"}:
        yield invalid_value(place, given, "must be object at the root")


def _object_form(raw: Raw, level: str, path: str) -> Iterator[FieldError]:
    properties = raw.get("properties") or {}
    embedded = raw.get(_EMBEDDED)
    if embedded and raw.get("additionalProperties") is not None:
        why = f"must not be used if {_EMBEDDED} is set"
        yield forbidden_field(f"{path}.additionalProperties", why)
    if level == _ROOT or embedded:
        for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            given = (properties.get(name) or {}).get("type") or ""
            if name in properties and given != wanted:
                place = f"{path}.properties[{name}].type"
                yield invalid_value(place, given, f"must be {wanted}")
    if level == _ROOT and "metadata" in properties:
        yield from _metadata_form(properties["metadata"], f"{path}.properties[metadata]")
    if embedded and not raw.get(_PRESERVES) and not properties:
        why = f"must not be empty if {_EMBEDDED} is true without {_PRESERVES}"
        yield required(f"{path}.properties", why)


def _metadata_form(raw: Raw, path: str) -> Iterator[FieldError]:
    allowed = {"name", "generateName"}
    rest = {name for name, value in raw.items() if value} - {"type", "properties", "default"}
    if rest or (raw.get("properties") or {}).keys() - allowed:
        why = "must not specify anything other than name and generateName"
        yield forbidden_field(path, f"{why}, but metadata is implicitly specified")


def _combined(raw: Raw, path: str, *, may_have_rules: bool) -> Iterator[FieldError]:
    """Yield the faults of the schemas that a schema combines, and of its pattern."""
    for keyword in _COMBINING:
        if keyword == "anyOf" and raw.get(keyword) == _INT_OR_STRING:
            continue
        for index, branch in enumerate(raw.get(keyword) or ()):
            place = f"{path}.{keyword}[{index}]"
            if keyword == "allOf" and index == 0 and branch.get("anyOf") == _INT_OR_STRING:
                branch = {name: branch[name] for name in branch if name != "anyOf"}  # noqa: PLW2901
            yield from _nested(branch, place, may_have_rules=may_have_rules)
    if isinstance(raw.get("not"), Mapping):
        yield from _nested(raw["not"], f"{path}.not", may_have_rules=False)
    if raw.get("pattern"):
        try:
            patterns.search(raw["pattern"])
        except patterns.PatternError as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            yield invalid_value(f"{path}.pattern", raw["pattern"], why)


def _nested(raw: Raw, path: str, *, may_have_rules: bool) -> Iterator[FieldError]:
    yield from _combined(raw, path, may_have_rules=may_have_rules)
    if isinstance(raw.get("items"), Mapping):
        yield from _nested(raw["items"], f"{path}.items", may_have_rules=may_have_rules)
    properties = raw.get("properties") or {}
    for name, child in properties.items():
        yield from _nested(child, f"{path}.properties[{name}]", may_have_rules=may_have_rules)
    if raw.get("additionalProperties") is not None:
        why = "must be undefined to be structural"
        yield forbidden_field(f"{path}.additionalProperties", why)
    for keyword, state in _NOT_NESTED.items():
        value = raw.get(keyword)
        if value or (keyword == "default" and value is not None):
            yield forbidden_field(f"{path}.{keyword}", f"must be {state} to be structural")
    if raw.get(_RULES) and not may_have_rules:
        yield forbidden_field(f"{path}.{_RULES}", "must be empty to be structural")
    if "metadata" in properties:
        why = "must not be specified in a nested context"
        yield forbidden_field(f"{path}.properties[metadata]", why)


def _incomplete(raw: Raw | None, added: Raw, path: str, place: str) -> Iterator[FieldError]:
    """Yield what the combined schemas speak of, but the schema itself does not declare."""
    branches = [
        (branch, f"{place}.{keyword}[{index}]")
        for keyword in ("allOf", "anyOf", "oneOf")
        for index, branch in enumerate(added.get(keyword) or ())
    ]
    if isinstance(added.get("not"), Mapping):
        branches.append((added["not"], f"{place}.not"))
    for branch, where in branches:
        yield from _undeclared(raw, branch, path, where)


def _undeclared(raw: Raw | None, added: Raw, path: str, place: str) -> Iterator[FieldError]:
    if raw is None:
        yield required(path, f"because it is defined in {place}")
        return
    yield from _incomplete(raw, added, path, place)
    items = raw.get("items")
    if isinstance(added.get("items"), Mapping):
        declared = items if isinstance(items, Mapping) else None
        yield from _undeclared(declared, added["items"], f"{path}.items", f"{place}.items")
    for name, child in (added.get("properties") or {}).items():
        step = f"properties[{name}]"
        known = (raw.get("properties") or {}).get(name)
        yield from _undeclared(known, child, f"{path}.{step}", f"{place}.{step}")


# -- defaults ----------------------------------------------------------------------------------


def _defaults(node: Schema, path: str, *, is_root: bool = False) -> Iterator[FieldError]:
    if node.default is not MISSING and node.default is not None:
        yield from _default_errors(node, f"{path}.default")
    if node.items is not None:
        yield from _defaults(node.items, f"{path}.items")
    for name, child in node.properties.items():
        if child is ANYTHING or (is_root and name in {"apiVersion", "kind", "metadata"}):
            continue
        yield from _defaults(child, f"{path}.properties[{name}]")


def _default_errors(node: Schema, path: str) -> Iterator[FieldError]:
    default = node.default
    if _has_unknown(node, default):
        yield invalid_value(path, default, "must not have unknown fields")
    errors: Sequence[FieldError] = validate(node, default, MISSING, path)
    if not errors and not duplicates(node, default):
        try:
            errors = broken_rules(node, default, default) or broken_rules(node, default)
        except ExpressionError:
            return  # which is told of the rule itself
        errors = [each._replace(field=_joined(path, each.field)) for each in errors]
    yield from errors


def _has_unknown(node: Schema, default: Any) -> bool:
    unknown: list[str] = []
    pruner(node)(copied(default), unknown)
    return bool(unknown)


def _joined(path: str, field: str) -> str:
    return path if field == "<nil>" else f"{path}.{field}"
