"""
What is wrong with an object, said to the person who wrote it.

Validators collect everything they find in `Problems` and raise once, so that one run shows every
mistake. `describe` turns a ValidationError into `Problem`s: a path as in the manifest, and a
message that shows the value, says what is allowed and guesses what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails

from muster.queue.api.schema import PATTERNS_IN_WORDS, Location, custom_error
from muster.queue.api.wording import did_you_mean, shown, unknown_field


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in one object."""

    path: str
    """Where, as in "spec.resourceGroups[0].flavors[1].name"; empty for the object itself."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Problems:
    """Mistakes found so far in one object or a part of it."""

    __slots__ = ("_errors",)

    def __init__(self) -> None:
        self._errors: list[InitErrorDetails] = []

    def add(self, location: Location, message: str) -> None:
        """Record `message` at `location`, which is relative to the validated part."""
        error = custom_error("problem", message)
        self._errors.append(InitErrorDetails(type=error, loc=location, input=None))

    def raise_if_any(self) -> None:
        """Raise everything recorded as one ValidationError."""
        if self._errors:
            raise ValidationError.from_exception_data("object", self._errors)


class Trust(Enum):
    """How much is known about an object, given to pydantic as the validation context."""

    STORED = "stored"
    """It was accepted before, by whatever rules applied then: check its form only."""


Model = TypeVar("Model", bound=BaseModel)


def cross_check(check: Callable[[Model, Problems], None]) -> Any:
    """
    Make a method that records problems between fields a validator of its model.

    These are the rules that the API enforces with webhooks and CEL when an object is written. They
    are not applied to objects that are stored already (`Trust.STORED`): a controller has to work
    with those, and refusing them would help nobody.
    """
    return _validator(check, unless=Trust.STORED)


def structure_check(check: Callable[[Model, Problems], None]) -> Any:
    """Make a method a validator that always applies, because code relies on what it checks."""
    return _validator(check, unless=None)


def _validator(check: Callable[[Model, Problems], None], *, unless: Trust | None) -> Any:
    def validate(self: Model, info: ValidationInfo) -> Model:
        if unless is None or info.context is not unless:
            problems = Problems()
            check(self, problems)
            problems.raise_if_any()
        return self

    validate.__doc__ = check.__doc__
    return model_validator(mode="after")(validate)


# --- From pydantic's errors ----------------------------------------------------------------------


def describe(error: ValidationError, model: type[BaseModel]) -> tuple[Problem, ...]:
    """Return what is wrong with an object that was read as `model`, field by field."""
    found = error.errors(include_url=False)
    places = [details["loc"] for details in found]
    return tuple(_problem(details, model) for details in found if not _follows(details, places))


def _follows(details: ErrorDetails, places: Iterable[Location]) -> bool:
    """Whether a list only seems too short, because entries of it are wrong."""
    place = details["loc"]
    return details["type"] == "too_short" and any(
        len(other) > len(place) and other[: len(place)] == place for other in places
    )


def path_of(location: Location) -> str:
    """Return a location as it is written in Kubernetes: "spec.podSets[0].name"."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif "." in step or "/" in step:
            path += f"[{step}]"  # a label or resource name
        else:
            path += f".{step}" if path else step
    return path


def _problem(details: ErrorDetails, model: type[BaseModel]) -> Problem:
    location = details["loc"]
    if details["type"] == "invalid_key":
        message = f"{shown(details['input'])} is not the name of a field: put it in quotes"
        return Problem(path_of(location[:-1]), message)
    if location[-1:] == ("[key]",):
        location = location[:-1]
    elif location and isinstance(name := location[-1], str):
        known = _fields_at(model, location[:-1])
        if known and name not in known:
            return Problem(path_of(location[:-1]), unknown_field(name, known))
    say = _WORDS.get(details["type"])
    message = say(details["input"], details.get("ctx", {})) if say else details["msg"]
    return Problem(path_of(location), message)


def _fields_at(model: type[BaseModel], location: Location) -> frozenset[str]:
    """Return the names of the fields an object at `location` may have; none if it is free-form."""
    types: list[Any] = [model]
    for step in location:
        types = [child for parent in types for child in _children(parent, step)]
    return frozenset(name for kind in types for name in _field_names(kind))


def _field_names(kind: Any) -> Iterator[str]:
    for candidate in _flattened(kind):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            for name, field in candidate.model_fields.items():
                yield field.alias or name
            yield from getattr(candidate, "ACCEPTED", ())  # known, but not interpreted


def _children(kind: Any, step: str | int) -> Iterator[Any]:
    for candidate in _flattened(kind):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            for name, field in candidate.model_fields.items():
                if step == (field.alias or name):
                    yield field.annotation
        elif get_origin(candidate) is tuple and isinstance(step, int):
            yield get_args(candidate)[0]
        elif get_origin(candidate) is dict and isinstance(step, str):
            yield get_args(candidate)[1]


def _flattened(kind: Any) -> Iterator[Any]:
    """Look through Annotated, Optional and type aliases."""
    origin = get_origin(kind)
    if origin is None or origin in {tuple, dict, Literal}:
        yield kind
    else:
        for argument in get_args(kind):
            yield from _flattened(argument)


def _wrong_type(value: Any, wanted: str) -> str:
    return "must not be empty" if value is None else f"{shown(value)} is not {wanted}"


def _not_text(value: Any, _context: Mapping[str, Any]) -> str:
    if not isinstance(value, bool | int | float):
        return _wrong_type(value, "text")
    return f'{shown(value)} is not text: put it in quotes, "{shown(value)}"'


def _not_a_number(value: Any, _context: Mapping[str, Any]) -> str:
    quoted = isinstance(value, str) and value.lstrip("+-").isdecimal()
    return _wrong_type(value, "a whole number") + (": remove the quotes" if quoted else "")


def _not_a_bool(value: Any, _context: Mapping[str, Any]) -> str:
    quoted = value in ("true", "false")
    return _wrong_type(value, "true or false") + (": remove the quotes" if quoted else "")


def _not_a_choice(value: Any, context: Mapping[str, Any]) -> str:
    expected = str(context["expected"])
    hint = did_you_mean(value, re.findall("'([^']+)'", expected)) if isinstance(value, str) else ""
    return f"{shown(value)} is not allowed: use {expected}.{hint}"


def _not_matching(value: Any, context: Mapping[str, Any]) -> str:
    pattern = context["pattern"]
    return f"{shown(value)} is not allowed: use {PATTERNS_IN_WORDS.get(pattern, pattern)}"


def _entries(_value: Any, context: Mapping[str, Any]) -> str:
    allowed = (
        f"at most {context['max_length']} are allowed"
        if "max_length" in context
        else f"at least {context['min_length']} must be there"
    )
    return f"has {context['actual_length']} entries, {allowed}"


_WORDS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], str]]] = {
    "missing": lambda _value, _context: "is required",
    "string_type": _not_text,
    "string_unicode": lambda value, _context: f"{shown(value)} is not text: half a character",
    "int_type": _not_a_number,
    "int_parsing_size": lambda value, _context: f"{shown(value)} is too large",
    "bool_type": _not_a_bool,
    "literal_error": _not_a_choice,
    "string_pattern_mismatch": _not_matching,
    "string_too_long": lambda value, context: (
        f"{shown(value)} has {len(value)} characters, at most {context['max_length']} are allowed"
    ),
    "string_too_short": lambda _value, _context: "must not be empty",
    "too_long": _entries,
    "too_short": _entries,
    "greater_than_equal": lambda value, context: (
        f"{shown(value)} is too small: at least {context['ge']}"
    ),
    "less_than_equal": lambda value, context: (
        f"{shown(value)} is too large: at most {context['le']}"
    ),
    "tuple_type": lambda value, _context: _wrong_type(value, "a list"),
    "dict_type": lambda value, _context: _wrong_type(value, "a mapping of keys to values"),
    "model_type": lambda value, _context: _wrong_type(value, "a mapping of fields to values"),
    "model_attributes_type": lambda value, _context: _wrong_type(value, "a mapping"),
}
