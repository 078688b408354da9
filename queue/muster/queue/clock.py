"""
Time as an argument: what tells it, and what waits for it to pass.

Whoever needs the time is given a `Clock`. In a process that serves people it is the wall clock; a
simulation runs its event loop on virtual time (`VirtualLoop`), where nothing ever waits: when no
task can go on, the clock jumps to the next instant at which one can. A simulated day then takes as
long as its events take to handle, and passes the same way in every run.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Final, Protocol

_US: Final = 1_000_000


class Clock(Protocol):
    """What time it is, and a way to wait."""

    def now_us(self) -> int:
        """Return the microseconds since 1970, UTC."""

    async def sleep(self, duration_s: float) -> None:
        """Return after that many seconds have passed on this clock."""


class WallClock:
    """The time of this machine."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)


class LoopClock:
    """The time of the running event loop, counted from an instant: virtual where the loop is."""

    def __init__(self, epoch_us: int) -> None:
        self._epoch_us = epoch_us

    def now_us(self) -> int:
        return self._epoch_us + round(asyncio.get_running_loop().time() * _US)

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)


class _NeverWaits(selectors.SelectSelector):
    """A selector that lets virtual time pass where another one would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            # Nothing is planned and nobody can wake the loop but another thread: wait for it.
            return super().select(None)
        if not ready and timeout:
            self.now_s += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time starts at 0 and passes only when no task can go on."""

    def __init__(self) -> None:
        self._virtual = _NeverWaits()
        super().__init__(self._virtual)
        # Timers due within this are due now. The default, a nanosecond, is nothing next to half a
        # year in seconds: there, timers would never be due.
        self._clock_resolution = 1e-7

    def time(self) -> float:
        return self._virtual.now_s
