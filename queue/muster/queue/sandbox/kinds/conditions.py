"""Conditions: finding them in a status, and what is wrong with those of the common form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from muster.queue.sandbox.kinds.metadata import negative, rule_errors
from muster.queue.sandbox.kinds.names import label_key, pattern_error
from muster.queue.sandbox.kinds.resources import Shared
from muster.queue.sandbox.kinds.strategy import entries

_STATUSES: Final = ("False", "True", "Unknown")
_REASON_MAX: Final = 1024
_MESSAGE_MAX: Final = 32 * 1024
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_SAYS: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of"
    " alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
)


def condition(obj: Shared, name: str) -> Shared:
    """Return the condition of this type that an object has, or an empty one."""
    return next((each for each in entries(obj, "status", "conditions") if each["type"] == name), {})


def is_true(obj: Shared, name: str) -> bool:
    """Say whether an object has a condition that holds."""
    return condition(obj, name).get("status") == "True"


def conditions_errors(place: str, conditions: Sequence[Shared]) -> Iterator[FieldError]:
    """Yield what is wrong with a list of conditions."""
    seen: dict[str, None] = {}
    for index, condition in enumerate(conditions):
        if condition["type"] in seen:
            yield duplicate(f"{place}[{index}].type", condition["type"])
        seen[condition["type"]] = None
        yield from _condition_errors(f"{place}[{index}]", condition)


def _condition_errors(place: str, condition: Shared) -> Iterator[FieldError]:
    yield from rule_errors(f"{place}.type", condition["type"], label_key)
    if condition["status"] not in _STATUSES:
        yield not_supported(f"{place}.status", condition["status"], _STATUSES)
    yield from negative(f"{place}.observedGeneration", condition.get("observedGeneration"))
    if not condition.get("lastTransitionTime"):
        yield required(f"{place}.lastTransitionTime")
    reason = condition["reason"]
    if not reason:
        yield required(f"{place}.reason")
    elif not re.fullmatch(_REASON, reason):
        examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
        detail = pattern_error(_REASON_SAYS, _REASON, *examples)
        yield invalid_value(f"{place}.reason", reason, detail)
    if len(reason) > _REASON_MAX:
        yield too_long(f"{place}.reason", _REASON_MAX)
    if len(condition["message"]) > _MESSAGE_MAX:
        yield too_long(f"{place}.message", _MESSAGE_MAX)
