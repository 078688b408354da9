"""
What a simulated container does: how long it runs, how it ends, how it takes being stopped.

Annotations of the pod say so; where they are silent, the container's own command does as far as it
is plain (`sleep 30; exit 1`), and else the defaults. Nothing is ever executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple

from muster.queue.api.wording import shown, unknown_field
from muster.queue.simulation.durations import UNITS_US, DurationError, parse_duration

PREFIX: Final = "sim.muster.dev/"
DURATION: Final = f"{PREFIX}duration"
EXIT_CODE: Final = f"{PREFIX}exit-code"
FAILURE_RATE: Final = f"{PREFIX}failure-rate"
START_DELAY: Final = f"{PREFIX}start-delay"
READINESS_DELAY: Final = f"{PREFIX}readiness-delay"
TERMINATION: Final = f"{PREFIX}termination"

FOREVER_US: Final = 2**62
"""The duration of a container that runs until it is stopped."""

_KNOWN: Final = (DURATION, EXIT_CODE, FAILURE_RATE, START_DELAY, READINESS_DELAY, TERMINATION)
_FOREVER: Final = "forever"
_EXIT_CODE_MAX: Final = 255
_RATE: Final = re.compile(r"(0|1)?(\.[0-9]{1,9})?")

_SLEEP: Final = re.compile(
    r"\bsleep\s+(?:(?P<count>[0-9]{1,15}(?:\.[0-9]{1,9})?)(?P<unit>[smhd]?)|inf)"
)
_EXIT: Final = re.compile(r"\bexit\s+(?P<code>[0-9]{1,3})\s*[\"']?$")


class BehaviourError(ValueError):
    """Annotations that nothing can be made of; the message says all that is wrong with them."""


class Run(NamedTuple):
    """One run of a container, as planned."""

    duration_us: int
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the annotations of a pod say of its main containers; durations in microseconds."""

    duration_us: int | None = None
    """None: what the command says, or the default."""
    exit_code: int | None = None
    """None: what the command says, or 0."""
    failure_rate: float | None = None
    """The chance that a run fails (with `exit_code`, or 1); None: it ends as said, every time."""
    start_delay_us: int = 0
    """From the moment the pod is bound until its first container starts."""
    readiness_delay_us: int = 0
    """From the start of a container until it is ready."""
    termination_us: int = 0
    """From SIGTERM until a container ends, if its grace period is not over before."""


def read_behaviour(annotations: Mapping[str, str]) -> Behaviour:
    """Read the annotations of a pod. Raises BehaviourError."""
    reader = _Reader(annotations)
    behaviour = Behaviour(
        duration_us=reader.duration(DURATION, forever=True),
        exit_code=reader.exit_code(),
        failure_rate=reader.rate(),
        start_delay_us=reader.duration(START_DELAY) or 0,
        readiness_delay_us=reader.duration(READINESS_DELAY) or 0,
        termination_us=reader.duration(TERMINATION) or 0,
    )
    problems = [*reader.problems, *_unknown(annotations)]
    if problems:
        raise BehaviourError("; ".join(problems))
    return behaviour


def plan_run(
    behaviour: Behaviour, container: Mapping[str, Any], chance: Random, default_duration_us: int
) -> Run:
    """Return what the next run of a main container will be."""
    command = _of_command(container, default_duration_us)
    duration_us, exit_code = command
    if behaviour.duration_us is not None:
        duration_us = behaviour.duration_us
    if behaviour.exit_code is not None:
        exit_code = behaviour.exit_code
    if behaviour.failure_rate is not None:
        fails = chance.random() < behaviour.failure_rate
        exit_code = (exit_code or 1) if fails else 0
    return Run(duration_us, exit_code)


def plan_init_run(container: Mapping[str, Any]) -> Run:
    """Return what each run of an init container will be: as its command says, or nothing."""
    return _of_command(container, 0)


def _of_command(container: Mapping[str, Any], default_duration_us: int) -> Run:
    words = [*container.get("command", ()), *container.get("args", ())]
    text = " ".join(words).strip()
    duration_us = default_duration_us
    if sleep := _SLEEP.search(text):
        duration_us = FOREVER_US
        if sleep["count"]:
            duration_us = min(
                FOREVER_US, round(float(sleep["count"]) * UNITS_US[sleep["unit"] or "s"])
            )
    exit_code = 0
    if words[-1:] == ["false"]:
        exit_code = 1
    elif end := _EXIT.search(text):
        exit_code = int(end["code"]) & _EXIT_CODE_MAX
    return Run(duration_us, exit_code)


def _unknown(annotations: Mapping[str, str]) -> Iterator[str]:
    for name in annotations:
        if name.startswith(PREFIX) and name not in _KNOWN:
            yield unknown_field(name, _KNOWN).replace("field", "annotation", 1)


class _Reader:
    """Reads annotations one by one, and keeps what is wrong with them."""

    def __init__(self, annotations: Mapping[str, str]) -> None:
        self.problems: list[str] = []
        self._annotations = annotations

    def duration(self, name: str, *, forever: bool = False) -> int | None:
        text = self._annotations.get(name)
        if text is None:
            return None
        if forever and text == _FOREVER:
            return FOREVER_US
        try:
            return parse_duration(text)
        except DurationError as error:
            self.problems.append(f"{name}: {error}" + (f', or "{_FOREVER}"' if forever else ""))
            return None

    def exit_code(self) -> int | None:
        text = self._annotations.get(EXIT_CODE)
        if text is None:
            return None
        if text.isascii() and text.isdecimal() and int(text[:4]) <= _EXIT_CODE_MAX:
            return int(text[:4])
        self.problems.append(
            f"{EXIT_CODE}: {shown(text)} is not an exit code: a whole number from 0 to "
            f"{_EXIT_CODE_MAX}"
        )
        return None

    def rate(self) -> float | None:
        text = self._annotations.get(FAILURE_RATE)
        if text is None:
            return None
        if text and _RATE.fullmatch(text) and float(text) <= 1:
            return float(text)
        self.problems.append(
            f"{FAILURE_RATE}: {shown(text)} is not a rate: a number from 0 to 1, as in 0.05"
        )
        return None
