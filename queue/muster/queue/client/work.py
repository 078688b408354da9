"""
The work list of a level-triggered controller: keys of what has to be looked at, now or later.

A key waits at most once and is worked on by one worker at a time; if it is added meanwhile, it is
worked on once more. What was refused or not answered is tried again, later each time. What the work
is, the queue doesn't know.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final, Generic, TypeVar

from muster.queue.client.backoff import backoff_s
from muster.queue.client.protocol import Disconnected
from muster.queue.client.refusal import Refusal
from muster.queue.clock import Clock

RETRY_FIRST_S: Final = 0.01
RETRY_LONGEST_S: Final = 60.0

_US: Final = 1_000_000
_NAP_MAX_S: Final = 3600.0
_LOG: Final = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """Keys to work on. `add` and `add_after` may be called at any time, also before `run`."""

    def __init__(self, clock: Clock, rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._dirty: set[K] = set()
        """What has to be looked at: in `_ready`, or as soon as its worker is done with it."""
        self._active: set[K] = set()
        self._failures: dict[K, int] = {}
        self._later: list[tuple[int, int, K]] = []
        """A heap of instants in microseconds; the count between keeps keys from being compared."""
        self._due_us: dict[K, int] = {}
        """When each key that waits in `_later` is due; other entries of it are void."""
        self._count = count()
        self._nap: asyncio.Task[None] | None = None

    def add(self, key: K) -> None:
        """Work on `key` soon, at least once from now on."""
        if key not in self._dirty:
            self._dirty.add(key)
            if key not in self._active:
                self._ready.put_nowait(key)

    def add_after(self, key: K, delay_s: float) -> None:
        """Work on `key` after that many seconds, or before: the earliest of several counts."""
        if delay_s <= 0:
            self.add(key)
            return
        due_us = self._clock.now_us() + round(delay_s * _US)
        if due_us >= self._due_us.get(key, due_us + 1):
            return
        self._due_us[key] = due_us
        heappush(self._later, (due_us, next(self._count), key))
        if self._nap is not None and self._later[0][0] == due_us:
            self._nap.cancel()

    async def run(self, work: Callable[[K], Awaitable[None]], *, workers: int) -> None:
        """
        Work on keys, on up to `workers` of them at once, until cancelled.

        A Refusal or Disconnected from `work` means to try again later; anything else ends the run.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._wait_for_the_later())
            for _ in range(workers):
                tasks.create_task(self._work(work))

    async def _work(self, work: Callable[[K], Awaitable[None]]) -> None:
        while True:
            key = await self._ready.get()
            self._dirty.discard(key)
            self._active.add(key)
            try:
                await work(key)
            except (Refusal, Disconnected) as error:
                self._try_again(key, error)
            else:
                self._failures.pop(key, None)
            self._active.discard(key)
            if key in self._dirty:
                self._ready.put_nowait(key)
            # Work in one process may never wait for anything, and others have work, too.
            await self._clock.sleep(0)

    def _try_again(self, key: K, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay_s = backoff_s(failures, self._rng, first_s=RETRY_FIRST_S, longest_s=RETRY_LONGEST_S)
        _LOG.info("%s again in %.2f s: %s", key, delay_s, error)
        self.add_after(key, delay_s)

    async def _wait_for_the_later(self) -> None:
        while True:
            now_us = self._clock.now_us()
            while self._later and self._later[0][0] <= now_us:
                due_us, _, key = heappop(self._later)
                if self._due_us.get(key) == due_us:
                    del self._due_us[key]
                    self.add(key)
            delay_s = _NAP_MAX_S
            if self._later:
                delay_s = min(delay_s, (self._later[0][0] - now_us) / _US)
            # An earlier key ends the nap by cancelling it.
            self._nap = asyncio.ensure_future(self._clock.sleep(delay_s))
            try:
                await asyncio.wait([self._nap])
            finally:
                self._nap.cancel()
