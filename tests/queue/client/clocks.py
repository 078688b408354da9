"""A clock for tests that talk to a real socket: sleeping on it takes no time, and is noted."""

from __future__ import annotations

import asyncio

_US = 1_000_000


class ImpatientClock:
    """Time passes only by sleeping, at once."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []
        self._now_us = 0

    def now_us(self) -> int:
        return self._now_us

    async def sleep(self, duration_s: float) -> None:
        self.slept_s.append(duration_s)
        self._now_us += round(duration_s * _US)
        await asyncio.sleep(0)
