"""
Judges the keywords of a schema in a definition one by one, and compiles its rules.

Which keywords there may be, which go together, what the keys of "map" lists need, and what is
written in rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from muster.queue.client.refusal import (
    FieldError,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from muster.queue.sandbox.schema.expressions import ExpressionError, uses_old_self
from muster.queue.sandbox.schema.go import escaped
from muster.queue.sandbox.schema.node import Raw, Schema
from muster.queue.sandbox.schema.rules import Checkers, compile_message, compile_rule

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = (
    "id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref",
)  # fmt: skip
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_ATTRIBUTES: Final = ("apiVersion", "kind", "metadata")
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_RULES: Final = "x-kubernetes-validations"


class _Place(NamedTuple):
    """Where a schema stands, and what holds of all there."""

    path: str
    node: Schema | None
    """Its compiled node, None where rules are not compiled."""
    no_default: str = ""
    """Why there may be no defaults."""
    in_metadata: bool = False
    uncorrelated: str = ""
    """The list around it whose entries have no old value."""

    def below(self, step: str, node: Schema | None) -> _Place:
        return self._replace(path=f"{self.path}.{step}", node=node)


def has_unsupported(raw: Raw) -> bool:
    """Tell whether there is a keyword anywhere that no structural schema has."""
    if any(raw.get(keyword) for keyword in _UNSUPPORTED) or isinstance(raw.get("items"), list):
        return True
    return any(
        has_unsupported(child) for child, _ in _children(raw, _Place("", None), is_root=False)
    )


def keyword_errors(raw: Raw, path: str, root: Schema | None) -> list[FieldError]:
    """Return what is wrong; rules are compiled for the nodes of `root`, unless it is None."""
    errors: list[FieldError] = []
    of_rules: list[FieldError] = []
    checkers = None if root is None else _Rules(Checkers(root), of_rules)
    _judge(raw, _Place(path, root), errors, checkers, is_root=True)
    return errors + of_rules


def _judge(
    raw: Raw,
    place: _Place,
    errors: list[FieldError],
    rules: _Rules | None,
    *,
    is_root: bool = False,
) -> None:
    known = len(errors)
    errors += _own_errors(raw, place)
    for child, where in _children(raw, place, is_root=is_root):
        _judge(child, where, errors, rules)
    errors += _list_errors(raw, place.path)
    for index, rule in enumerate(raw.get(_RULES) or ()):
        errors += _rule_form(raw, rule, f"{place.path}.{_RULES}[{index}]")
    if rules is not None and place.node is not None and len(errors) == known:
        rules.judge(raw, place)


def _children(raw: Raw, place: _Place, *, is_root: bool) -> Iterator[tuple[Raw, _Place]]:
    node = place.node
    additional, items = raw.get("additionalProperties"), raw.get("items")
    if isinstance(additional, Mapping):
        where = place.below("additionalProperties", node.additional if node else None)
        if place.in_metadata:
            why = "inside additionalProperties applying to object metadata"
            where = where._replace(no_default=why)
        yield additional, where
    for name, child in (raw.get("properties") or {}).items():
        where = place.below(f"properties[{name}]", node.properties.get(name) if node else None)
        if (is_root or raw.get("x-kubernetes-embedded-resource")) and name in _ATTRIBUTES:
            no_default = f"in top-level {name}" if is_root else where.no_default
            where = where._replace(in_metadata=True, no_default=no_default)
        yield child, where
    for step, child in _combined(raw):
        yield child, place.below(step, None)
    if isinstance(items, Mapping):
        where = place.below("items", node.items if node else None)
        if raw.get(_LIST_TYPE) != "map" and not place.uncorrelated:
            where = where._replace(uncorrelated=place.path)
        yield items, where


def _combined(raw: Raw) -> Iterator[tuple[str, Raw]]:
    if isinstance(raw.get("not"), Mapping):
        yield "not", raw["not"]
    for keyword in ("allOf", "oneOf", "anyOf"):
        for index, child in enumerate(raw.get(keyword) or ()):
            yield f"{keyword}[{index}]", child


def _own_errors(raw: Raw, place: _Place) -> Iterator[FieldError]:
    path, given = place.path, raw.get("type") or ""
    if given and given not in _TYPES:
        yield not_supported(f"{path}.type", given, _TYPES)
    if given == "null":
        why = "type cannot be set to null, use nullable as an alternative"
        yield forbidden_field(f"{path}.type", why)
    if raw.get("default") is not None and place.no_default:
        yield forbidden_field(f"{path}.default", f"must not be set {place.no_default}")
    for keyword in _UNSUPPORTED:
        if raw.get(keyword):
            yield forbidden_field(f"{path}.{keyword}", f"{keyword} is not supported")
    if isinstance(raw.get("items"), list):
        yield forbidden_field(f"{path}.items", "items must be a schema object and not an array")
    yield from _flag_errors(raw, place)
    for keyword, wanted, allowed in (
        (_MAP_TYPE, "object", ("atomic", "granular")),
        (_LIST_TYPE, "array", ("atomic", "set", "map")),
    ):
        yield from _collection_type_errors(raw, path, keyword, wanted, allowed)


def _flag_errors(raw: Raw, place: _Place) -> Iterator[FieldError]:
    path = place.path
    if place.in_metadata and raw.get("x-kubernetes-embedded-resource"):
        why = "must not be used inside of resource meta"
        yield forbidden_field(f"{path}.x-kubernetes-embedded-resource", why)
    if raw.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden_field(f"{path}.uniqueItems", why)
    additional = raw.get("additionalProperties")
    if raw.get("properties") and additional is not None and additional is not True:
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden_field(f"{path}.additionalProperties", why)
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        place_of = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield invalid_value(place_of, value=False, detail="must be true or undefined")


def _collection_type_errors(
    raw: Raw, path: str, keyword: str, wanted: str, allowed: tuple[str, ...]
) -> Iterator[FieldError]:
    value, given = raw.get(keyword), raw.get("type") or ""
    if value is None:
        return
    if given != wanted:
        why = f"must be {wanted} if {keyword} is specified"
        place = f"{path}.type"
        yield invalid_value(place, given, why) if given else required(place, why)
    if value not in allowed:
        yield not_supported(f"{path}.{keyword}", value, allowed)


def _list_errors(raw: Raw, path: str) -> Iterator[FieldError]:
    list_type, items = raw.get(_LIST_TYPE), raw.get("items")
    items = items if isinstance(items, Mapping) else {}
    if list_type == "set" and raw.get("type") == "array":
        why = f"must be atomic as item of a list with {_LIST_TYPE}=set"
        if items.get("type") == "array" and items.get(_LIST_TYPE) not in {None, "atomic"}:
            yield invalid_value(f"{path}.items.{_LIST_TYPE}", items[_LIST_TYPE], why)
        if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
            yield invalid_value(f"{path}.items.{_MAP_TYPE}", items.get(_LIST_TYPE), why)
    yield from _key_errors(raw, items, path)
    if list_type in {"set", "map"} and items.get("nullable"):
        why = f"cannot be nullable when {_LIST_TYPE} is {list_type}"
        yield forbidden_field(f"{path}.items.nullable", why)
    if list_type == "map":
        yield from _key_property_errors(raw, items, path)


def _key_errors(raw: Raw, items: Raw, path: str) -> Iterator[FieldError]:
    list_type, keys = raw.get(_LIST_TYPE), raw.get(_LIST_KEYS) or ()
    place = f"{path}.{_LIST_TYPE}"
    if keys and list_type != "map":
        why = f"must be map if {_LIST_KEYS} is non-empty"
        yield required(place, why) if list_type is None else invalid_value(place, list_type, why)
    if list_type != "map":
        return
    place = f"{path}.{_LIST_KEYS}"
    if not keys:
        yield required(place, f"must not be empty if {_LIST_TYPE} is map")
    if "items" not in raw:
        yield required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
    if items.get("type") == "object":
        yield from _named_key_errors(items, keys, path)
    elif items:
        why = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid_value(f"{path}.items.type", items.get("type") or "", why)


def _named_key_errors(items: Raw, keys: Sequence[str], path: str) -> Iterator[FieldError]:
    place = f"{path}.{_LIST_KEYS}"
    for index, key in enumerate(keys):
        known = (items.get("properties") or {}).get(key)
        if known is None:
            yield invalid_value(place, list(keys), "entries must all be names of item properties")
        elif known.get("type") in {"array", "object"}:
            why = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid_value(f"{path}.items.properties[{key}].type", items["type"], why)
        if key in keys[:index]:
            yield invalid_value(place, list(keys), "must not contain duplicate entries")


def _key_property_errors(raw: Raw, items: Raw, path: str) -> Iterator[FieldError]:
    this = f"this property is in {_LIST_KEYS}, so it"
    for key in raw.get(_LIST_KEYS) or ():
        known = (items.get("properties") or {}).get(key)
        if known is None:
            continue
        place = f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and known.get("default") is None:
            yield required(
                f"{place}.default", f"{this} must have a default or be a required property"
            )
        if known.get("nullable"):
            yield forbidden_field(f"{place}.nullable", f"{this} cannot be nullable")


# -- rules -------------------------------------------------------------------------------------


def _rule_form(raw: Raw, rule: Raw, path: str) -> Iterator[FieldError]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_value(f"{path}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip():
        yield invalid_value(f"{path}.message", message, "must not contain line breaks")
    elif "\n" in text and not message.strip():
        why = "message must be specified if rule contains line breaks"
        yield required(f"{path}.message", why)
    made = rule.get("messageExpression") or ""
    if made and not made.strip():
        why = "messageExpression must be non-empty if specified"
        yield required(f"{path}.messageExpression", why)
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        yield not_supported(f"{path}.reason", rule["reason"], _REASONS)
    if rule.get("fieldPath"):
        yield from _field_path_errors(raw, rule["fieldPath"], f"{path}.fieldPath")


def _field_path_errors(raw: Raw, field: str, path: str) -> Iterator[FieldError]:
    if not field.strip():
        yield invalid_value(path, field, "must be non-empty if specified")
    if "\n" in field:
        yield invalid_value(path, field, "must not contain line breaks")
    if not _leads_to_field(raw, field):
        yield invalid_value(path, field, "must be a valid path")


_STEP: Final = re.compile(r"\.(?P<name>[^.\[\]']+)|\['(?P<key>(?:\\.|[^'\\])*)'\]")


def _leads_to_field(raw: Raw, path: str) -> bool:
    """Tell whether a path such as `.a['b']` is that of a field of a schema."""
    at = 0
    known: Any = raw
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or not isinstance(known, Mapping):
            return False
        name = step["name"] if step["key"] is None else re.sub(r"\\(.)", r"\1", step["key"])
        if known.get("properties"):
            known = known["properties"].get(name)
        else:
            known = known.get("additionalProperties")
        if not isinstance(known, Mapping):
            return False
        at = step.end()
    return True


class _Rules:
    """Compiles rules and keeps what is wrong with them."""

    def __init__(self, checkers: Checkers, errors: list[FieldError]) -> None:
        self._checkers = checkers
        self._errors = errors

    def judge(self, raw: Raw, place: _Place) -> None:
        """Compile the rules of one node."""
        assert place.node is not None
        if raw.get(_RULES) and not self._checkers.knows(place.node):
            why = "failed to construct type information for x-kubernetes-validations rules: "
            why += "unable to convert structural schema to CEL declarations"
            told = f"Internal error: internal error: {why}"
            self._errors.append(FieldError("InternalError", f"{place.path}.{_RULES}", told))
            return
        for index, rule in enumerate(raw.get(_RULES) or ()):
            self._errors += self._compile(rule, place, f"{place.path}.{_RULES}[{index}]")

    def _compile(self, rule: Raw, place: _Place, path: str) -> Iterator[FieldError]:
        assert place.node is not None
        compiles = False
        try:
            checker = self._checkers.of(place.node, rule)
            compile_rule({"rule": rule["rule"]}, checker)
            compiles = True
        except ExpressionError as error:
            yield _uncompiled(f"{path}.rule", rule, "compilation failed", str(error))
            checker = None
        if rule.get("messageExpression") and checker is not None:
            try:
                compile_message(rule, checker)
            except ExpressionError as error:
                why = "messageExpression compilation failed"
                yield _uncompiled(f"{path}.messageExpression", rule, why, str(error))
        if compiles and uses_old_self(rule["rule"]):
            if place.uncorrelated:
                why = "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                yield invalid_value(f"{path}.rule", rule["rule"], why + place.uncorrelated)
        elif rule.get("optionalOldSelf") is not None:
            why = "may not be set if oldSelf is not used in rule"
            yield invalid_value(f"{path}.optionalOldSelf", rule["optionalOldSelf"], why)


def _uncompiled(path: str, rule: Raw, failed: str, why: str) -> FieldError:
    shown = {
        "Rule": rule["rule"],
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    text = escaped(orjson.dumps(shown).decode())
    # Errors of compilation have their place in the text; what is wrong with a type does not.
    detail = f"{failed}: {why}" if why.startswith("ERROR: ") else why
    return FieldError("FieldValueInvalid", path, f"Invalid value: {text}: {detail}")
