"""
How long workloads of a shape run, learned from those that have finished.

A victim that will be done sooner than it could be stopped need not be stopped: pods have a grace
period, and an eviction throws their work away. The estimate is the longest of the runs seen, plus a
quarter; a run that lasts longer than that has refuted it and is given no more time.
"""

from __future__ import annotations

RUNS_MIN = 1
"""Runs that must have been seen before anything is expected."""


class RunRecord:
    """Runs of one shape in one queue; times in microseconds."""

    __slots__ = ("count", "longest_us")

    def __init__(self) -> None:
        self.count = 0
        self.longest_us = 0

    def note(self, run_us: int) -> None:
        """Remember a run that came to its end."""
        self.count += 1
        self.longest_us = max(self.longest_us, run_us)

    @property
    def expected_us(self) -> int | None:
        """How long such a run lasts at the most, as far as is known."""
        if self.count < RUNS_MIN:
            return None
        return self.longest_us + self.longest_us // 4
