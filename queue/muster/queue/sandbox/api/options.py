"""What a request asks for besides its object: the query of a write, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from muster.queue.client.refusal import (
    FieldError,
    Subject,
    bad_request,
    forbidden_field,
    invalid,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from muster.queue.sandbox.api.attributes import Operation, User
from muster.queue.sandbox.schema.decoding import DecodingError

MANAGER_LENGTH_MAX: Final = 128
FIELD_VALIDATIONS: Final = ("Ignore", "Strict", "Warn")
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_UINT64_MAX: Final = 2**64 - 1
_DIGITS_MAX: Final = 21
"""More than any number of 64 bits has."""
_NO: Final = ("", "0", "f", "false")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How an object is to be written."""

    user: User
    manager: str = ""
    """Who comes to own the fields: `fieldManager`, else what the User-Agent begins with."""
    named_manager: bool = False
    """The request said so itself, which server-side apply demands."""
    dry_run: bool = False
    field_validation: str = ""
    """Ignore, Strict or Warn, as which "" counts."""
    force: bool = False
    faults: tuple[str, ...] = ()
    """What is wrong with the body although it can be read, such as fields given twice."""

    def with_faults(self, faults: Sequence[str]) -> WriteOptions:
        """Return these for a body with such faults."""
        return replace(self, faults=(*self.faults, *faults)) if faults else self

    def complaints(self, unknown: Iterable[str]) -> list[str]:
        """
        Return what to warn of in a body with such unknown fields, and the faults it has besides.

        Raises DecodingError if there may be none.
        """
        if self.field_validation == "Ignore":
            return []
        told = [*self.faults, *(f'unknown field "{name}"' for name in unknown)]
        if told and self.field_validation == "Strict":
            raise DecodingError(f"strict decoding error: {', '.join(told)}")
        return told

    def manifest(self, operation: Operation) -> dict[str, Any]:
        """Return it as the API writes it, for reviews: a patch creates or updates."""
        kind = f"{operation.capitalize()}Options"
        options: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
        if self.dry_run:
            options["dryRun"] = ["All"]
        if self.named_manager:
            options["fieldManager"] = self.manager
        if self.field_validation:
            options["fieldValidation"] = self.field_validation
        return options


def write_options(
    query: Mapping[str, list[str]], user: User, user_agent: str, kind: str, *, apply: bool = False
) -> WriteOptions:
    """Read them from a query; raises Refusal 400 and 422 as the real server does."""
    errors: list[FieldError] = []
    dry_run = query.get("dryRun", [])
    if any(value != "All" for value in dry_run):
        errors.append(not_supported("dryRun", dry_run, ["All"]))
    manager = first(query, "fieldManager")
    if apply and not manager:
        errors.append(required("fieldManager", "is required for apply patch"))
    if len(manager) > MANAGER_LENGTH_MAX:
        errors.append(too_long("fieldManager", MANAGER_LENGTH_MAX))
    elif not manager.isprintable():
        at = next(at for at, letter in enumerate(manager) if not letter.isprintable())
        why = f"invalid character U+{ord(manager[at]):04X} (at position {at})"
        errors.append(invalid_value("fieldManager", manager, why))
    validation = first(query, "fieldValidation")
    if validation and validation not in FIELD_VALIDATIONS:
        errors.append(not_supported("fieldValidation", validation, ["", *FIELD_VALIDATIONS]))
    force = boolean(query, "force")
    if force and not apply and kind == "PatchOptions":
        errors.append(forbidden_field("force", "may not be specified for non-apply patch"))
    if errors:
        raise invalid(Subject("meta.k8s.io", kind), errors)
    return WriteOptions(
        user=user,
        manager=manager or user_agent.partition("/")[0][:MANAGER_LENGTH_MAX] or "unknown",
        named_manager=bool(manager),
        dry_run=bool(dry_run),
        field_validation=validation,
        force=force,
    )


def first(query: Mapping[str, list[str]], name: str) -> str:
    """Return the first value of a parameter, "" without."""
    values = query.get(name)
    return values[0] if values else ""


def boolean(query: Mapping[str, list[str]], name: str) -> bool:
    """Return a parameter that is on or off: whatever isn't plainly no is yes."""
    return first(query, name).lower() not in _NO


def integer(query: Mapping[str, list[str]], name: str) -> int | None:
    """Return a parameter that is a number, None without; raises Refusal 400."""
    text = first(query, name)
    if not text:
        return None
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    number = _bounded(text)
    if not _INT64_MIN <= number <= _INT64_MAX:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


def revision_of(version: str) -> int:
    """Return the revision that a resource version stands for; raises ValueError."""
    if not re.fullmatch(r"[0-9]+", version):
        raise ValueError(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    number = _bounded(version)
    if number > _UINT64_MAX:
        raise ValueError(f'strconv.ParseUint: parsing "{version}": value out of range')
    return number


def _bounded(digits: str) -> int:
    """Return a number; one far beyond 64 bits is cut to another one beyond them."""
    sign = digits[:1] if digits[:1] in {"+", "-"} else ""
    return int(sign + (digits.removeprefix(sign).lstrip("0")[:_DIGITS_MAX] or "0"))
