"""
What every API model is made of: the base classes, the scalar types, the markers for the CRDs.

Models refuse what the API server would refuse: unknown fields, numbers written as text, values out
of range. Attributes are snake_case, the wire is camelCase, and only the wire's names are read.
Quantities and timestamps stay the text they were written as, checked; `quantities` and
`timestamps` turn them into integers.

A marker in `Annotated` changes nothing about parsing. It says what the generated CRD must add:
how server-side apply merges a list or map, and which CEL rules the API server enforces.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    Strict,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from muster.queue.api.quantities import (
    QUANTITY_PATTERN,
    QuantityError,
    named,
    parse_quantity,
    quantity_text,
)
from muster.queue.api.timestamps import TimestampError, parse_timestamp

T = TypeVar("T")

Location = tuple[str | int, ...]
"""Where in an object: names of fields and indexes of lists, from the outside in."""

NESTING_MAX: Final = 64
"""Levels of an object that are searched for nulls: twice as many as any kind has."""


def custom_error(kind: str, message: str) -> PydanticCustomError:
    """Return an error of the type `kind` whose text is `message`, braces and all."""
    return PydanticCustomError(kind, "{message}", {"message": message})


# --- Markers for the generated CRDs --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule of the API server; one that mentions oldSelf constrains updates."""

    cel: str
    message: str

    def to_schema(self) -> dict[str, str]:
        return {"rule": self.cel, "message": self.message}


@dataclass(frozen=True, slots=True, eq=False)
class Keywords:
    """Keywords that the schema of the annotated type has besides what pydantic derives."""

    extra: Mapping[str, Any]

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(core), **self.extra}


ATOMIC_LIST: Final = Keywords({"x-kubernetes-list-type": "atomic"})
"""A list that is replaced as a whole."""
ATOMIC_MAP: Final = Keywords({"x-kubernetes-map-type": "atomic"})
"""A map that is replaced as a whole."""
API_DEFAULT: Final = Keywords({"x-api-default": True})
"""The API server writes this default down; other defaults only say how an absent field reads."""


@dataclass(frozen=True, slots=True, eq=False)
class ListMap:
    """A list whose items are told apart by the attributes `keys`, and merged by them."""

    keys: tuple[str, ...]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._refuse_twins, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        keys = [to_camel(key) for key in self.keys]
        return {
            **handler(core),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": keys,
        }

    def _refuse_twins(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(items) > 1:
            identify = attrgetter(*self.keys)
            _refuse_repetition([identify(item) for item in items], (to_camel(self.keys[0]),))
        return items


@dataclass(frozen=True, slots=True, eq=False)
class ListSet:
    """A list of distinct scalars, merged as a set."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._refuse_twins, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(core), "x-kubernetes-list-type": "set"}

    def _refuse_twins(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        _refuse_repetition(items, ())
        return items


def _refuse_repetition(names: Sequence[Any], below: tuple[str, ...]) -> None:
    """Raise one error for each of `names` that is listed before; `below` is where its name is."""
    if len(set(names)) == len(names):
        return
    first: dict[Any, int] = {}
    errors: list[InitErrorDetails] = []
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            error = custom_error("duplicate", f"{name!r} is listed twice, first at [{first[name]}]")
            errors.append(InitErrorDetails(type=error, loc=(index, *below), input=name))
    raise ValidationError.from_exception_data("list", errors)


def rules(*cel: Rule) -> Keywords:
    """Attach CEL rules to one field."""
    return Keywords({"x-kubernetes-validations": [rule.to_schema() for rule in cel]})


# --- Base classes --------------------------------------------------------------------------------


class ApiModel(BaseModel):
    """A part of an API object in which every field is known; an unknown one is an error."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
    )

    CEL: ClassVar[tuple[Rule, ...]] = ()
    """Rules the API server enforces on this object; the model's validators say the same."""
    ACCEPTED: ClassVar[frozenset[str]] = frozenset()
    """Fields that exist besides the declared ones; they are accepted but not interpreted."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        for name, description in field_descriptions(cls).items():
            schema["properties"][to_camel(name)]["description"] = description
        if cls.CEL:
            schema["x-kubernetes-validations"] = [rule.to_schema() for rule in cls.CEL]
        return schema


class StatusModel(ApiModel):
    """A part of an object that controllers write: fields of newer or older versions are dropped."""

    model_config = ConfigDict(extra="ignore")


def field_descriptions(model: type[ApiModel]) -> dict[str, str]:
    """
    Return the docstrings under the fields of `model`, from its source.

    Pydantic can read them too, but does so for every class when it is made, which is a third of the
    time a command takes to start; they are needed for the CRDs only.
    """
    found: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if issubclass(kind, ApiModel) and kind is not ApiModel:
            definition = _class_definitions(kind.__module__)[kind.__name__]
            for statement, following in pairwise(definition.body):
                match statement, following:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ) if name in model.model_fields:
                        found[name] = inspect.cleandoc(text)
    return found


@cache
def _class_definitions(module: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


Model = TypeVar("Model", bound=ApiModel)


def read(model: type[Model], document: Mapping[str, Any], *, context: object = None) -> Model:
    """
    Return `document` as a `model`. Raises pydantic's ValidationError.

    Null counts as absent, as in the API: it is what YAML makes of a field that is left empty.
    """
    try:
        return model.model_validate(document, context=context)
    except ValidationError as error:
        found = error.errors(include_context=False)
        if not any(each["input"] is None for each in found):
            raise
    # A field that does not exist is a slip with any value: {cpu: 1,000} has the field "000".
    unknown = frozenset(
        each["loc"]
        for each in found
        if each["type"] == "extra_forbidden" or each["input"] is not None
    )
    without = _without_nulls(document, NESTING_MAX, but=unknown)
    return model.model_validate(without, context=context)


def _without_nulls(value: Any, levels: int, *, but: frozenset[Location], at: Location = ()) -> Any:
    if levels and isinstance(value, dict):
        return {
            key: _without_nulls(item, levels - 1, but=but, at=(*at, key))
            for key, item in value.items()
            if item is not None or (*at, key) in but
        }
    if levels and isinstance(value, list):
        return [
            _without_nulls(item, levels - 1, but=but, at=(*at, index))
            for index, item in enumerate(value)
        ]
    return value


# --- Containers ----------------------------------------------------------------------------------

Items = Annotated[tuple[T, ...], Strict(strict=False)]
"""A list of the wire, as a tuple: immutable, and free when empty."""


def empty_map() -> Any:
    """Return the field definition of a map that is empty by default."""
    return Field(default_factory=dict)


# --- Numbers -------------------------------------------------------------------------------------

_INT32 = Keywords({"format": "int32"})

Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1), _INT32]
Int64 = Annotated[int, Keywords({"format": "int64"})]
Count = Annotated[int, Field(ge=0, le=2**31 - 1), _INT32]
"""A 32-bit number of things, zero included."""
Positive = Annotated[int, Field(ge=1, le=2**31 - 1), _INT32]
"""A 32-bit number of things, at least one."""


# --- Names ---------------------------------------------------------------------------------------

_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
SUBDOMAIN_PATTERN: Final = f"^{_SUBDOMAIN}$"
DNS_LABEL_PATTERN: Final = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
LABEL_KEY_PATTERN: Final = f"^({_SUBDOMAIN}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
LABEL_VALUE_PATTERN: Final = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"

PATTERNS_IN_WORDS: Final[Mapping[str, str]] = {
    SUBDOMAIN_PATTERN: (
        "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
    ),
    DNS_LABEL_PATTERN: (
        "lower-case letters, digits and '-', beginning and ending with a letter or digit"
    ),
    LABEL_KEY_PATTERN: (
        "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, "
        "optionally after a DNS name and '/'"
    ),
    LABEL_VALUE_PATTERN: (
        "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
    ),
}
"""What each pattern allows, for messages."""

ObjectReference = Annotated[str, StringConstraints(max_length=253, pattern=SUBDOMAIN_PATTERN)]
"""The name of an object of another kind: a DNS subdomain."""
DnsLabel = Annotated[str, StringConstraints(max_length=63, pattern=DNS_LABEL_PATTERN)]

PLAIN_STRING: Final = WithJsonSchema({"type": "string"})
"""What the CRDs say of strings whose form they leave to webhooks, as the API always did."""

LabelKey = Annotated[
    str, StringConstraints(max_length=317, pattern=LABEL_KEY_PATTERN), PLAIN_STRING
]
LabelValue = Annotated[
    str, StringConstraints(max_length=63, pattern=LABEL_VALUE_PATTERN), PLAIN_STRING
]
ResourceName = LabelKey
"""The name of a resource, such as cpu or nvidia.com/gpu: written like a label's key."""

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


# --- Quantities and timestamps -------------------------------------------------------------------


def _quantity(value: object) -> str:
    try:
        text = value if isinstance(value, str) else quantity_text(value)
        parse_quantity(text)
    except QuantityError as error:
        raise custom_error("quantity", str(error)) from None
    return text


def _timestamp(value: object) -> str:
    if isinstance(value, datetime):
        # YAML parsers read an unquoted timestamp as a date and time, some without its zone.
        value = value.isoformat().removesuffix("+00:00") + ("" if value.utcoffset() else "Z")
    if not isinstance(value, str):
        raise custom_error("timestamp", f"{named(value)} is not a timestamp: write text")
    try:
        parse_timestamp(value)
    except TimestampError as error:
        raise custom_error("timestamp", str(error)) from None
    return value


Quantity = Annotated[
    str,
    PlainValidator(_quantity),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": QUANTITY_PATTERN,
            "x-kubernetes-int-or-string": True,
        }
    ),
]
"""The text of a quantity, as it was written; a number is turned into text."""

Quantities = dict[ResourceName, Quantity]
"""Quantities by resource name."""

Timestamp = Annotated[
    str,
    PlainValidator(_timestamp),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""The text of an RFC 3339 timestamp."""
