"""
A request that an API server refused: the Status object it answers with, as an exception.

Whoever refuses raises it, whoever is refused catches it, with or without HTTP in between. The
words and codes are those of Kubernetes' API conventions, so that what people know how to read, and
what programs compare, stays the same.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

_UNPROCESSABLE: Final = 422
_SHOWN_MAX: Final = 10_000
_FRACTION_MIN: Final = 2**63


class Cause(NamedTuple):
    """One reason among several, and the field it is about."""

    reason: str
    message: str
    field: str = ""

    def manifest(self) -> dict[str, str]:
        named = zip(self._fields, self, strict=True)
        return {name: value for name, value in named if value}


@dataclass(slots=True)
class Refusal(Exception):  # noqa: N818 - it is a refusal; an error is only one kind of it
    """A Status of failure: HTTP code, reason, message and what it is about."""

    code: int
    reason: str
    message: str
    details: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    """What is said besides, in headers where there is HTTP."""

    def __str__(self) -> str:
        return self.message

    @property
    def causes(self) -> list[Mapping[str, str]]:
        """The causes among the details: mappings of reason, message and field."""
        causes: list[Mapping[str, str]] = (self.details or {}).get("causes") or []
        return causes

    def status(self) -> dict[str, Any]:
        """Return the Status object that says it."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = dict(self.details)
        status["code"] = self.code
        return status

    @classmethod
    def of(cls, code: int, status: object) -> Refusal:
        """Read the body of an answer with that code; anything but a Status is shown as it is."""
        if isinstance(status, dict) and status.get("kind") == "Status":
            return cls(
                status.get("code") or code,
                status.get("reason") or "",
                status.get("message") or "",
                status.get("details"),
            )
        return cls(code, "", f"{code} {http.client.responses.get(code, '')}: {status!s:.1000}")


class ignoring:  # noqa: N801 - read as a function, like contextlib.suppress
    """Passes over what is refused for a reason, such as NotFound of what is to go anyway."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: object, _traceback: object) -> bool:
        return isinstance(error, Refusal) and error.reason == self._reason


class Subject(NamedTuple):
    """What a request is about, as the details of its Status name it: a resource or a kind."""

    group: str
    kind: str
    """The plural of a resource, or its kind in refusals of a field."""
    name: str = ""

    @property
    def qualified(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def details(self, causes: Iterable[Cause] = ()) -> dict[str, Any]:
        details: dict[str, Any] = {
            name: value
            for name, value in (("name", self.name), ("group", self.group), ("kind", self.kind))
            if value
        }
        if listed := [cause.manifest() for cause in causes]:
            details["causes"] = listed
        return details


# -- one factory for each reason of the API conventions ---------------------------------------


def not_found(subject: Subject) -> Refusal:
    message = f'{subject.qualified} "{subject.name}" not found'
    return Refusal(404, "NotFound", message, subject.details())


def no_such_path() -> Refusal:
    """Nothing is served there."""
    message = "the server could not find the requested resource"
    return Refusal(404, "NotFound", message, {})


def already_exists(subject: Subject) -> Refusal:
    message = f'{subject.qualified} "{subject.name}" already exists'
    return Refusal(409, "AlreadyExists", message, subject.details())


def conflict(subject: Subject, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {subject.qualified} "{subject.name}": {why}'
    return Refusal(409, "Conflict", message, subject.details())


def forbidden(subject: Subject, why: str, causes: Iterable[Cause] = ()) -> Refusal:
    named = f'{subject.qualified} "{subject.name}"' if subject.name else subject.qualified
    message = f"{named} is forbidden: {why}"
    return Refusal(403, "Forbidden", message, subject.details(causes))


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> Refusal:
    """What was asked for is too old to be known."""
    return Refusal(410, "Expired", message)


def too_large(limit: int) -> Refusal:
    message = f"Request entity too large: limit is {limit}"
    return Refusal(413, "RequestEntityTooLarge", message)


def too_many_requests(message: str, causes: Iterable[Cause] = ()) -> Refusal:
    details = {"causes": [cause.manifest() for cause in causes]}
    return Refusal(429, "TooManyRequests", message, details if details["causes"] else None)


def method_not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, {})


def not_acceptable(allowed: Iterable[str]) -> Refusal:
    message = f"only the following media types are accepted: {', '.join(allowed)}"
    return Refusal(406, "NotAcceptable", message)


def unsupported_media_type(allowed: Iterable[str]) -> Refusal:
    listed = ", ".join(allowed)
    message = (
        f"the body of the request was in an unknown format - accepted media types include: {listed}"
    )
    return Refusal(415, "UnsupportedMediaType", message)


def internal_error(message: str) -> Refusal:
    details = {"causes": [Cause("", message).manifest()]}
    return Refusal(500, "InternalError", f"Internal error occurred: {message}", details)


def not_implemented(sentence: str) -> Refusal:
    """Something that Kubernetes does and this server doesn't: say so rather than answer wrongly."""
    return Refusal(501, "NotImplemented", sentence)


# -- refusals of fields ------------------------------------------------------------------------


class FieldError(NamedTuple):
    """One fault of one field of an object; make it with one of the functions below."""

    reason: str
    """Of the cause, such as `FieldValueInvalid`."""
    field: str
    """The place, as in `spec.containers[0].name`."""
    message: str
    """Everything but the place."""

    @property
    def cause(self) -> Cause:
        return Cause(self.reason, self.message, self.field)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def shown(value: object) -> str:
    """Return a value of an object as refusals show it."""
    match value:
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case str():
            return quoted(value[:_SHOWN_MAX])
        case float():
            return _shown_float(value)
        case int() if not -_FRACTION_MIN <= value < _FRACTION_MIN:
            return _shown_float(float(value))  # which is what a number so large is read as
        case dict() | list():
            import orjson  # noqa: PLC0415 - rare

            shown = orjson.dumps(_whole(value), option=orjson.OPT_SORT_KEYS)
            return shown.decode()[:_SHOWN_MAX]
        case _:
            return str(value)


_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})
_DIGITS_MAX: Final = 6


def quoted(text: str) -> str:
    """Return a text in quotation marks, on one line."""
    return f'"{text.translate(_ESCAPES)}"'


def _shown_float(value: float) -> str:
    mantissa, _, exponent = f"{value:e}".partition("e")
    if -5 < int(exponent) < _DIGITS_MAX:  # noqa: PLR2004 - where exponents begin to be shown
        return str(value).removesuffix(".0")
    mantissa = repr(value / 10.0 ** int(exponent)) if "e" not in repr(value) else repr(value)
    return f"{mantissa.partition('e')[0].removesuffix('.0')}e{int(exponent):+03d}"


def _whole(value: Any) -> Any:
    """Return a document in which whole numbers have no fraction."""
    match value:
        case dict():
            return {name: _whole(field) for name, field in value.items()}
        case list():
            return [_whole(item) for item in value]
        case float() if value.is_integer() and abs(value) < _FRACTION_MIN:
            return int(value)
        case _:
            return value


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, "Required value" + (detail and f": {detail}"))


def invalid_value(field: str, value: object, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def type_invalid(field: str, value: object, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def not_supported(field: str, value: object, allowed: Iterable[str]) -> FieldError:
    listed = ", ".join(f'"{each}"' for each in allowed)
    message = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return FieldError("FieldValueNotSupported", field, message)


def duplicate(field: str, value: object) -> FieldError:
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def forbidden_field(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}")


def too_long(field: str, limit: int, unit: str = "bytes") -> FieldError:
    message = f"Too long: may not be more than {limit} {unit}"
    return FieldError("FieldValueTooLong", field, message)


def too_many(field: str, count: int, limit: int) -> FieldError:
    items = "item" if limit == 1 else "items"
    message = f"Too many: {count}: must have at most {limit} {items}"
    return FieldError("FieldValueTooMany", field, message)


def invalid(subject: Subject, errors: Iterable[FieldError]) -> Refusal:
    """Refuse an object for all its faults at once; `subject.kind` is its kind, not the plural."""
    listed = list(errors)
    texts = list(dict.fromkeys(map(str, listed)))
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f'{subject.qualified} "{subject.name}" is invalid: {told}'
    causes = (error.cause for error in listed)
    return Refusal(_UNPROCESSABLE, "Invalid", message, subject.details(causes))
