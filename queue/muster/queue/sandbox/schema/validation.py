"""
Judges an object by the keywords of its definition's schema, in the words of a real server.

What was invalid before and is unchanged is let pass: `validate` compares with the old object where
the two can be correlated, which is through fields, keys of maps, and entries of "map" lists. Rules
in CEL and the uniqueness of list entries are judged elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from muster.queue.client.refusal import (
    FieldError,
    invalid_value,
    not_supported,
    quoted,
    required,
    shown,
    too_long,
    too_many,
    type_invalid,
)
from muster.queue.sandbox.schema import alternatives, formats, patterns
from muster.queue.sandbox.schema.correlation import same, unchanged
from muster.queue.sandbox.schema.faults import NO_FIELD, Check, Fault, body_fault, path, step_out
from muster.queue.sandbox.schema.node import MISSING, Raw, Schema

_COMPILED: Final = "validate"
_INT64_MAX: Final = 2**63 - 1
_INT32_MAX: Final = 2**31 - 1


def validate(schema: Schema, value: Any, old: Any = MISSING, field: str = "") -> list[FieldError]:
    """
    Return what is wrong with `value`, and was not so in `old`, the value that it replaces.

    `field` is where the value stands in its object, if it isn't the object.
    """
    check = _compiled(schema)
    faults: list[Fault] = []
    if check is not None:
        check(value, faults)
    if old is not MISSING:
        faults = [each for each in faults if not unchanged(schema, value, old, each.place)]
    return [_within(field, each.tell(path(each.place))) for each in faults]


def _compiled(schema: Schema) -> Check | None:
    if _COMPILED not in schema.compiled:
        schema.compiled[_COMPILED] = compile_check(schema.raw)
    check: Check | None = schema.compiled[_COMPILED]
    return check


def _within(field: str, error: FieldError) -> FieldError:
    if not field or error.field == NO_FIELD:
        return error
    return error._replace(field=f"{field}.{error.field}" if error.field else field)


def compile_check(raw: Raw) -> Check | None:
    """Return what judges values by a schema and all in it, None if any value will do."""
    check_type = _type_check(raw)
    checks = [
        check
        for check in (
            check_type,
            alternatives.compile_check(raw, compile_check),
            _text_check(raw),
            _format_check(raw),
            _number_check(raw),
            _list_check(raw),
            _enum_check(raw),
            _object_check(raw),
        )
        if check is not None
    ]
    if len(checks) <= 1:
        return checks[0] if checks else None
    every = tuple(checks)
    # Most objects and lists are where there are to be some.
    beside_type = tuple(check for check in checks if check is not check_type)
    usual: type | None = _CONTAINERS.get(raw.get("type") or "")
    accepts = _acceptance(raw)

    def check_value(value: Any, faults: list[Fault]) -> None:
        if value.__class__ is usual:
            for check in beside_type:
                check(value, faults)
            return
        if accepts is not None and accepts(value):
            return
        if value.__class__ is int and not _fits(value):
            value = float(value)
        for check in every:
            check(value, faults)

    return check_value


_CONTAINERS: Final[Mapping[str, type]] = {"object": dict, "array": list}


def _acceptance(raw: Raw) -> Callable[[Any], object] | None:
    """Return what quickly tells that a scalar is valid, None where there is no such shortcut."""
    if raw.keys() & {"allOf", "anyOf", "oneOf", "not", "multipleOf"}:
        return None
    if raw.get("type") == "string":
        least, most = raw.get("minLength", 0), raw.get("maxLength", 2**63)
        if raw.get("enum"):
            texts = frozenset(each for each in raw["enum"] if isinstance(each, str))
            if least or "maxLength" in raw or raw.get("pattern") or raw.get("format"):
                return None
            return lambda value: value.__class__ is str and value in texts
        if raw.get("format") and formats.check_of(raw["format"]):
            return None
        if not raw.get("pattern"):
            return lambda value: value.__class__ is str and least <= len(value) <= most
        matches = patterns.search(raw["pattern"])
        return lambda value: (
            value.__class__ is str and least <= len(value) <= most and matches(value)
        )
    if raw.get("type") == "integer" and not raw.keys() & {"enum", *_EXCLUSIVE}:
        greatest = _INT32_MAX if raw.get("format") == "int32" else _INT64_MAX
        low = max(-greatest - 1, int(raw.get("minimum", -greatest - 1)))
        high = min(greatest, int(raw.get("maximum", greatest)))
        return lambda value: value.__class__ is int and low <= value <= high
    return None


_EXCLUSIVE: Final = ("exclusiveMinimum", "exclusiveMaximum")

# -- types -------------------------------------------------------------------------------------

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def type_of(value: Any) -> str:
    """Return the JSON type of a value, a whole number being an integer."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer" if _fits(value) else "number"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


_WHOLE_MAX: Final = 2**53 - 1


def _fits(value: int) -> bool:
    """Tell whether an integer has no more than 64 bits; a larger one is a number like others."""
    return -_INT64_MAX - 1 <= value <= _INT64_MAX


def _is_whole(value: float) -> bool:
    return abs(value) <= _WHOLE_MAX and value.is_integer()


def _type_check(raw: Raw) -> Check | None:
    wanted = "integer,string" if raw.get("x-kubernetes-int-or-string") else raw.get("type") or ""
    if not wanted:
        return None
    types = tuple(type_ for name in wanted.split(",") for type_ in _TYPES[name])
    nullable = bool(raw.get("nullable"))
    format_ = _known_format(raw)

    def check_type(value: Any, faults: list[Fault]) -> None:
        if value.__class__ in types:
            if value.__class__ is not int or float in types or _fits(value):
                return
        elif value is None and nullable:
            return
        if value.__class__ is float and int in types and _is_whole(value):
            return
        said, given = wanted, type_of(value)
        if format_ and value is not None:
            # So it is: where there is a format it is looked at instead of the type.
            if value.__class__ is str or value.__class__ is list:
                if int not in types:
                    return
            else:
                said, given = format_, _WIDTHS.get(given, "")
        faults.append(Fault(lambda path: _mistyped(path, said, given)))

    return check_type


_WIDTHS: Final = {"integer": "int64", "number": "float64"}


def _known_format(raw: Raw) -> str:
    """Return the format that a schema demands, "" for one that its type doesn't have."""
    name: str = raw.get("format") or ""
    match raw.get("type"):
        case "integer":
            return name if name in {"int32", "int64"} else ""
        case "number":
            return name if name in {"float", "double"} else ""
        case None | "" | "string":
            return name if name and formats.check_of(name) else ""
        case _:
            return ""


def _mistyped(path: str, wanted: str, given: str) -> FieldError:
    return type_invalid(path, given, f"{path} in body must be of type {wanted}: {quoted(given)}")


# -- scalars -----------------------------------------------------------------------------------


def _text_check(raw: Raw) -> Check | None:
    least, most = raw.get("minLength", 0), raw.get("maxLength", 2**63)
    pattern = raw.get("pattern") or ""
    if not least and "maxLength" not in raw and not pattern:
        return None
    matches = patterns.search(pattern) if pattern else None

    def check_text(value: Any, faults: list[Fault]) -> None:
        if value.__class__ is not str:
            return
        if len(value) > most:
            faults.append(Fault(lambda path: too_long(path, most)))
        elif len(value) < least:
            faults.append(body_fault(f"should be at least {least} chars long", value))
        elif matches is not None and not matches(value):
            faults.append(body_fault(f"should match '{pattern}'", value))

    return check_text


def _format_check(raw: Raw) -> Check | None:
    name = "" if raw.get("type") in _WIDTHS else _known_format(raw)
    has_format = formats.check_of(name) if name else None
    if has_format is None:
        return None

    def check_format(value: Any, faults: list[Fault]) -> None:
        if value.__class__ is str and not has_format(value):
            faults.append(Fault(lambda path: _mistyped(path, name, value)))

    return check_format


def _number_check(raw: Raw) -> Check | None:
    type_, format_ = raw.get("type"), raw.get("format")
    least, most, factor = raw.get("minimum"), raw.get("maximum"), raw.get("multipleOf")
    if type_ not in {"integer", "number"} and (least, most, factor) == (None, None, None):
        return None
    greatest = _INT32_MAX if format_ == "int32" else _INT64_MAX
    suffix = f"with format {format_}" if format_ in {"int32", "int64"} else "(default format)"
    above, below = raw.get("exclusiveMinimum"), raw.get("exclusiveMaximum")

    def check_number(value: Any, faults: list[Fault]) -> None:
        if value.__class__ is not int and value.__class__ is not float:
            return
        if type_ == "integer" and (
            (value.__class__ is float and not _is_whole(value))
            or not -greatest - 1 <= value <= greatest
        ):
            faults.append(Fault(lambda path: _beyond_width(path, suffix)))
        # Integers are compared with the whole part of a bound.
        bound = int if value.__class__ is int else float
        if factor is not None:
            _check_factor(value, bound(factor), faults)
        if least is not None and (value <= bound(least) if above else value < bound(least)):
            than = "greater than" if above else "greater than or equal to"
            faults.append(body_fault(f"should be {than} {shown(bound(least))}", value))
        if most is not None and (value >= bound(most) if below else value > bound(most)):
            than = "less than" if below else "less than or equal to"
            faults.append(body_fault(f"should be {than} {shown(bound(most))}", value))

    return check_number


def _beyond_width(path: str, suffix: str) -> FieldError:
    detail = f"Checked value must be of type integer {suffix} in {path}"
    return FieldError("FieldValueInvalid", NO_FIELD, f'Invalid value: "": {detail}')


def _check_factor(value: float, factor: float, faults: list[Fault]) -> None:
    if factor <= 0:
        told = "factor MultipleOf declared for {} must be positive: " + shown(factor)
        faults.append(Fault(lambda path: invalid_value(path, factor, told.format(path))))
    elif value % factor if isinstance(value, int) else not _is_whole(value / factor):
        faults.append(body_fault(f"should be a multiple of {shown(factor)}", value))


def _enum_check(raw: Raw) -> Check | None:
    allowed = raw.get("enum")
    if not allowed:
        return None
    names = [each if isinstance(each, str) else _json(each) for each in allowed]
    texts = frozenset(each for each in allowed if isinstance(each, str))
    others = [each for each in allowed if not isinstance(each, str) and each is not None]

    def check_enum(value: Any, faults: list[Fault]) -> None:
        if value.__class__ is str:
            if value in texts:
                return
        elif any(_equals(value, each) for each in others):
            return
        faults.append(Fault(lambda path: not_supported(path, value, names)))

    return check_enum


def _equals(value: Any, allowed: Any) -> bool:
    if value.__class__ is float and allowed.__class__ is int and math.isfinite(value):
        return int(value) == allowed  # so it is: the fraction is no matter
    if value.__class__ is int and allowed.__class__ is float:
        return bool(value == allowed)
    return same(value, allowed)


def _json(value: Any) -> str:
    import orjson  # noqa: PLC0415 - rare

    return orjson.dumps(value).decode()


# -- lists and objects -------------------------------------------------------------------------


def _list_check(raw: Raw) -> Check | None:
    items = raw.get("items")
    check_item = compile_check(items) if isinstance(items, Mapping) else None
    least, most = raw.get("minItems"), raw.get("maxItems")
    if check_item is None and least is None and most is None:
        return None

    def check_list(value: Any, faults: list[Fault]) -> None:
        if value.__class__ is not list:
            return
        if check_item is not None:
            known = len(faults)
            for index, item in enumerate(value):
                check_item(item, faults)
                if len(faults) != known:
                    known = step_out(faults, known, index)
        count = len(value)
        if least is not None and count < least:
            faults.append(body_fault(f"should have at least {least} items", count))
        if most is not None and count > most:
            faults.append(Fault(lambda path: too_many(path, count, most)))

    return check_list


def _object_check(raw: Raw) -> Check | None:
    checks = {
        name: check
        for name, child in (raw.get("properties") or {}).items()
        if (check := compile_check(child)) is not None
    }
    accepted = {
        name: accepts
        for name, child in (raw.get("properties") or {}).items()
        if (accepts := _acceptance(child)) is not None
    }
    additional = raw.get("additionalProperties")
    check_rest = compile_check(additional) if isinstance(additional, Mapping) else None
    needed = tuple(raw.get("required") or ())
    least, most = raw.get("minProperties"), raw.get("maxProperties")
    bounded = least is not None or most is not None
    if not (checks or check_rest or needed or bounded):
        return None

    def check_object(value: Any, faults: list[Fault]) -> None:
        if value.__class__ is not dict:
            return
        if bounded:
            _check_size(value, least, most, faults)
        known = len(faults)
        for name, field in value.items():
            accepts = accepted.get(name)
            if accepts is not None and accepts(field):
                continue
            check = checks.get(name, check_rest)
            if check is not None:
                check(field, faults)
                if len(faults) != known:
                    known = step_out(faults, known, name)
        faults += [_missing(name) for name in needed if name not in value]

    return check_object


def _check_size(
    value: Mapping[str, Any], least: int | None, most: int | None, faults: list[Fault]
) -> None:
    count = len(value)
    if least is not None and count < least:
        faults.append(body_fault(f"should have at least {least} properties", count))
    if most is not None and count > most:
        limit = most
        faults.append(Fault(lambda path: too_many(path, count, limit)))


def _missing(name: str) -> Fault:
    return Fault(lambda path: required(f"{path}.{name}" if path else name))
