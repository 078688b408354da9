"""What is wrong with a value, collected while walking down and told once its place is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from muster.queue.client.refusal import FieldError, invalid_value

Place = Sequence[str | int]
"""Steps to a value: names of fields, keys of maps, indices of lists."""

NO_FIELD: Final = "<nil>"
"""Where faults are told that belong to no field."""


class Fault:
    """One thing that is wrong with a value: where, seen from the value that is judged, and what."""

    __slots__ = ("place", "tell")

    def __init__(self, tell: Callable[[str], FieldError]) -> None:
        self.tell = tell
        """From the path of the faulty value, as in "spec.items[0]", to the error."""
        self.place: list[str | int] = []
        """The steps to the faulty value, the last one first."""


Check = Callable[[Any, list[Fault]], None]
"""Adds to the faults found what is wrong with a value."""


def body_fault(detail: str, value: Any = "") -> Fault:
    """Return a fault that says what the value "should" be, and shows it."""
    return Fault(lambda path: invalid_value(path, value, f"{path} in body {detail}"))


def object_fault(detail: str) -> Fault:
    """Return a fault of a value as a whole: it is told of no field, but names it."""
    return Fault(
        lambda path: FieldError(
            "FieldValueInvalid", NO_FIELD, f'Invalid value: "": "{path}" {detail}'
        )
    )


def path(place: Place) -> str:
    """Return the path of the value at a place, which has the last step first."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in reversed(place)]
    return "".join(steps).removeprefix(".")


def step_out(faults: list[Fault], since: int, step: str | int) -> int:
    """Put a step before the places of the faults from `since` on, and return how many there are."""
    for fault in faults[since:]:
        fault.place.append(step)
    return len(faults)
