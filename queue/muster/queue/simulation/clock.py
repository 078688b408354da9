"""
Virtual time: what is to happen when, in one order for all.

Instants are integer microseconds. Of two happenings at one instant the one that was planned first
comes first, so a simulation is the same in every run. Time moves only when it is told to.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class Clock:
    """The current instant and everything planned for later ones."""

    __slots__ = ("_planned", "_sequence", "now_us")

    def __init__(self, now_us: int = 0) -> None:
        self.now_us = now_us
        self._planned: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sequence = 0

    def plan(self, at_us: int, happening: Callable[..., None], *arguments: Any) -> None:
        """Have `happening(*arguments)` called at `at_us`; an instant in the past is due now."""
        self._sequence += 1
        heappush(self._planned, (at_us, self._sequence, happening, arguments))

    @property
    def next_us(self) -> int | None:
        """The instant of the next happening, None when nothing is planned."""
        return self._planned[0][0] if self._planned else None

    def advance(self, to_us: int) -> None:
        """Let time pass until `to_us`; happenings due by then wait for `run_due`."""
        assert to_us >= self.now_us, "time does not run backwards"
        self.now_us = to_us

    def run_due(self) -> bool:
        """Call everything due by now, also what is planned meanwhile; say if there was anything."""
        planned = self._planned
        if not planned or planned[0][0] > self.now_us:
            return False
        while planned and planned[0][0] <= self.now_us:
            _, _, happening, arguments = heappop(planned)
            happening(*arguments)
        return True
