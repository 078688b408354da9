"""
How a row is measured: CPU time of this process, several runs, beside a calibration of the machine.

The engine is one thread that waits for nothing, so on an idle machine CPU time is wall time; on a
busy one it leaves out what the neighbours take. The garbage collector runs inside the measured
parts, tuned as a long-running process tunes it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from cProfile import Profile
from dataclasses import dataclass, field
from enum import Enum
from statistics import median
from time import process_time_ns
from typing import Self

REFERENCE_MS = (89, 107)
"""What the calibration took where the peer's figures were taken, lowest and highest."""


def slower_on_reference(calibration_ms: float) -> float:
    """Return how many times longer a piece of work takes where the peer's figures were taken."""
    return sum(REFERENCE_MS) / 2 / calibration_ms


class Unit(Enum):
    """What a figure counts, and which way it moves on a faster machine."""

    MILLISECONDS = "ms", 1
    PER_SECOND = "/s", -1
    VIRTUAL_SECONDS = "s", 0
    """Mostly the jobs' own time; engine time is scaled when it is charged."""
    MEBIBYTES = "MiB", 0
    TIMES = "x", 0
    EVICTIONS = "evictions", 0
    PERCENT = "%", 1
    """Of one core's time."""

    def __init__(self, label: str, time_exponent: int) -> None:
        self.label = label
        self._time_exponent = time_exponent

    @property
    def more_is_better(self) -> bool:
        return self is Unit.PER_SECOND

    def on_reference(self, value: float, calibration_ms: float) -> float:
        """Return what `value` would be where the peer's figures were taken."""
        return value * slower_on_reference(calibration_ms) ** self._time_exponent


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the inputs are: numbers of queues and workloads are divided by `divisor`."""

    divisor: int = 1
    runs: int = 5
    largest: bool = False
    """Whether to measure also what takes minutes and gigabytes."""

    def of(self, number: int) -> int:
        return max(1, number // self.divisor)

    @property
    def full(self) -> bool:
        """Whether the sizes are those of the peer's figures and the targets."""
        return self.divisor == 1


SMALL = Scale(divisor=25, runs=2)


class Stopwatch:
    """Times what runs inside `with`, one lap each; a profiler, if given, sees just that."""

    def __init__(self, profile: Profile | None = None) -> None:
        self._profile = profile
        self._started_ns = 0
        self.laps_ms: list[float] = []

    def __enter__(self) -> Self:
        if self._profile is not None:
            self._profile.enable()
        self._started_ns = process_time_ns()
        return self

    def __exit__(self, *_: object) -> None:
        self.laps_ms.append((process_time_ns() - self._started_ns) / 1e6)
        if self._profile is not None:
            self._profile.disable()


@dataclass(frozen=True, slots=True)
class Result:
    """What one row gave: a figure for each run, and what was counted in every one of them."""

    values: tuple[float, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    detail: str = ""

    @property
    def median(self) -> float:
        return median(self.values)


class Unavailable(Exception):  # noqa: N818  # a row that can not be measured here is not an error
    """Why a row can not be measured, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    name: str
    what: str
    unit: Unit
    measure: Callable[[Stopwatch], Result]
    peer: tuple[float, float] | None = None
    """The peer's figure, lowest and highest, at full scale."""
    target: float | None = None
    """At full scale, on the machine of the peer's figures."""
    excluded: str
    """What the figure leaves out."""


@dataclass(frozen=True, slots=True)
class Measured:
    row: Row
    result: Result
    calibration_ms: float


def measured(row: Row, profile: Profile | None = None) -> Measured:
    """Measure one row, with a calibration before and one after it."""
    before = calibrate_ms()
    result = row.measure(Stopwatch(profile))
    return Measured(row, result, (before + calibrate_ms()) / 2)


def calibrate_ms() -> float:
    """Return the best of three times that 3,000,000 turns of a plain loop take."""
    return min(_loop_ms() for _ in range(3))


def _loop_ms() -> float:
    started_ns = process_time_ns()
    s = 0
    for i in range(3_000_000):
        s += i & 7
    assert s
    return (process_time_ns() - started_ns) / 1e6


@contextmanager
def settled_heap() -> Iterator[None]:
    """Have the collector leave alone what exists by now, as after the start of a real process."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
