"""The work list, on virtual time: what is worked on when, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise
from random import Random

import pytest

from muster.queue.client.protocol import Disconnected
from muster.queue.client.refusal import bad_request
from muster.queue.client.work import RETRY_FIRST_S, RETRY_LONGEST_S, WorkQueue
from muster.queue.clock import LoopClock, VirtualLoop

_US = 1_000_000
Work = Callable[[str], Awaitable[None]]


class Bench:
    """A queue on virtual time; `worked` says what was begun, and at which second."""

    def __init__(self) -> None:
        self.clock = LoopClock(0)
        self.queue: WorkQueue[str] = WorkQueue(self.clock, Random(1))
        self.worked: list[tuple[str, float]] = []

    async def note(self, key: str) -> None:
        self.worked.append((key, self.clock.now_us() / _US))

    async def work_for(self, seconds: float, work: Work | None = None, workers: int = 2) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.queue.run(work or self.note, workers=workers), seconds)


def play(story: Callable[[Bench], Awaitable[None]]) -> None:
    async def main() -> None:
        await story(Bench())

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def test_a_key_waits_once_and_in_order() -> None:
    async def story(bench: Bench) -> None:
        for key in ("b", "a", "b", "c"):
            bench.queue.add(key)
        await bench.work_for(1)
        assert bench.worked == [("b", 0), ("a", 0), ("c", 0)]

    play(story)


def test_the_earliest_of_several_delays_counts() -> None:
    async def story(bench: Bench) -> None:
        bench.queue.add_after("a", 30)
        bench.queue.add_after("b", 20)
        bench.queue.add_after("a", 10)
        bench.queue.add_after("b", 25)
        bench.queue.add_after("c", 0)
        await bench.work_for(100)
        assert bench.worked == [("c", 0), ("a", 10), ("b", 20)]

    play(story)


def test_an_earlier_delay_wakes_up_who_sleeps_for_a_later_one() -> None:
    async def story(bench: Bench) -> None:
        bench.queue.add_after("late", 50)

        async def interrupt() -> None:
            await asyncio.sleep(5)
            bench.queue.add_after("early", 1)

        await asyncio.gather(bench.work_for(100), interrupt())
        assert bench.worked == [("early", 6), ("late", 50)]

    play(story)


def test_a_key_has_one_worker_and_is_looked_at_again_when_added_meanwhile() -> None:
    async def story(bench: Bench) -> None:
        active = 0

        async def work(key: str) -> None:
            nonlocal active
            active += 1
            assert active == 1
            await bench.note(key)
            if len(bench.worked) == 1:
                bench.queue.add(key)
                bench.queue.add(key)
            await asyncio.sleep(10)
            active -= 1

        bench.queue.add("a")
        await bench.work_for(100, work, workers=5)
        assert bench.worked == [("a", 0), ("a", 10)]

    play(story)


def test_workers_share_the_keys() -> None:
    async def story(bench: Bench) -> None:
        async def work(key: str) -> None:
            await bench.note(key)
            await asyncio.sleep(10)

        for key in "abcd":
            bench.queue.add(key)
        await bench.work_for(100, work, workers=3)
        assert bench.worked == [("a", 0), ("b", 0), ("c", 0), ("d", 10)]

    play(story)


@pytest.mark.parametrize("error", [bad_request("no"), Disconnected("gone")])
def test_failures_are_tried_again_later_each_time_until_one_succeeds(error: Exception) -> None:
    async def story(bench: Bench) -> None:
        failures = 16

        async def work(key: str) -> None:
            await bench.note(key)
            if len(bench.worked) <= failures:
                raise error

        bench.queue.add("a")
        await bench.work_for(10_000, work)
        instants = [at for _, at in bench.worked]
        delays = [later - at for at, later in pairwise(instants)]
        dues = [min(RETRY_LONGEST_S, RETRY_FIRST_S * 2**power) for power in range(failures)]
        assert len(delays) == failures
        assert all(due / 2 <= delay <= due + 1e-6 for delay, due in zip(delays, dues, strict=True))

        bench.worked.clear()
        failures = 1
        bench.queue.add("a")
        await bench.work_for(100, work)
        assert bench.worked[1][1] - bench.worked[0][1] <= RETRY_FIRST_S

    play(story)


def test_a_fault_of_the_work_itself_ends_the_run() -> None:
    async def story(bench: Bench) -> None:
        async def work(_: str) -> None:
            raise ZeroDivisionError

        bench.queue.add("a")
        with pytest.raises(ExceptionGroup) as caught:
            await bench.work_for(1, work)
        assert isinstance(caught.value.exceptions[0], ZeroDivisionError)

    play(story)


def test_work_that_waits_for_nothing_lets_others_have_their_turn() -> None:
    async def story(bench: Bench) -> None:
        turns: list[str] = []

        async def other() -> None:
            while True:
                turns.append("other")
                await asyncio.sleep(0)

        async def work(key: str) -> None:
            turns.append(key)

        for number in range(100):
            bench.queue.add(str(number))
        waiting = asyncio.create_task(other())
        running = asyncio.create_task(bench.queue.run(work, workers=1))
        for _ in range(150):
            await asyncio.sleep(0)
        running.cancel()
        waiting.cancel()
        first, last = turns.index("0"), turns.index("99")
        assert turns[first:last].count("other") >= 99

    play(story)
