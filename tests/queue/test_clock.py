"""Virtual time: it passes at once, in order, and only when there is nothing else to do."""

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.clock import LoopClock, VirtualLoop, WallClock

T = TypeVar("T")

EPOCH_US = 1_767_225_600_000_000
DAY_S = 24 * 3600


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


async def now() -> float:
    return asyncio.get_running_loop().time()


def test_virtual_time_begins_at_zero_and_stands_still_while_there_is_work() -> None:
    async def story() -> list[float]:
        times = [await now()]
        for _ in range(100):
            await asyncio.sleep(0)
        return [*times, await now()]

    assert run(story()) == [0, 0]


def test_ten_years_take_no_time() -> None:
    started = time.monotonic()

    async def story() -> float:
        for _ in range(3650):
            await asyncio.sleep(DAY_S + 0.1)
        return await now()

    assert run(story()) == pytest.approx(3650 * (DAY_S + 0.1))
    assert time.monotonic() - started < 5


def test_one_sleep_may_be_longer_than_a_selector_can_wait() -> None:
    async def story() -> float:
        await asyncio.sleep(100 * DAY_S)
        return await now()

    assert run(story()) == pytest.approx(100 * DAY_S)


@given(st.lists(st.integers(0, 10**9), max_size=20))
def test_sleepers_wake_in_the_order_of_their_times(durations_us: list[int]) -> None:
    async def story() -> list[tuple[int, int]]:
        woken: list[tuple[int, int]] = []
        clock = LoopClock(0)

        async def sleeper(duration_us: int) -> None:
            await clock.sleep(duration_us / 1_000_000)
            woken.append((duration_us, clock.now_us()))

        async with asyncio.TaskGroup() as group:
            for duration_us in durations_us:
                group.create_task(sleeper(duration_us))
        return woken

    woken = run(story())

    assert [slept for slept, _ in woken] == sorted(durations_us)
    assert all(abs(at - slept) <= 1 for slept, at in woken)


def test_sleepers_of_one_instant_wake_at_it_and_in_the_same_order_in_every_run() -> None:
    async def story() -> list[int]:
        woken: list[int] = []

        async def sleeper(number: int) -> None:
            await asyncio.sleep(60)
            assert await now() == 60
            woken.append(number)

        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(sleeper(number))
        return woken

    first = run(story())

    assert sorted(first) == [*range(50)]
    assert run(story()) == first


def test_two_runs_are_alike() -> None:
    async def story() -> list[tuple[str, float]]:
        seen: list[tuple[str, float]] = []
        queue: asyncio.Queue[str] = asyncio.Queue()

        async def producer(name: str, period_s: float) -> None:
            for _ in range(20):
                await asyncio.sleep(period_s)
                await queue.put(name)

        async def consumer() -> None:
            while True:
                seen.append((await queue.get(), await now()))

        consuming = asyncio.create_task(consumer())
        await asyncio.gather(*(producer(str(each), each * 0.1) for each in range(1, 8)))
        await asyncio.sleep(0)
        consuming.cancel()
        return seen

    first = run(story())

    assert len(first) == 7 * 20
    assert run(story()) == first


def test_a_timeout_comes_at_its_time() -> None:
    async def story() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        return await now()

    assert run(story()) == 3600


def test_what_is_done_before_its_timeout_is_done() -> None:
    async def story() -> float:
        async with asyncio.timeout(3600):
            await asyncio.sleep(3599.9)
        return await now()

    assert run(story()) == pytest.approx(3599.9)


def test_the_past_is_now() -> None:
    async def story() -> float:
        await asyncio.sleep(-5)
        asyncio.get_running_loop().call_at(-1, lambda: None)
        await asyncio.sleep(0)
        return await now()

    assert run(story()) == 0


def test_a_thread_wakes_a_loop_that_has_nothing_to_wait_for() -> None:
    async def story() -> tuple[str, float]:
        proceed = threading.Event()
        work = asyncio.ensure_future(asyncio.to_thread(proceed.wait, 30))
        asyncio.get_running_loop().call_soon(proceed.set)
        assert await work
        return await asyncio.to_thread(lambda: "done"), await now()

    assert run(story()) == ("done", 0)


def test_a_thread_is_heard_while_time_passes() -> None:
    async def story() -> None:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(heard.set))
        thread.start()
        for _ in range(1_000_000):
            if heard.is_set():
                break
            await asyncio.sleep(1)
        assert heard.is_set()
        thread.join()

    run(story())


def test_the_clock_of_a_loop_counts_from_its_epoch() -> None:
    async def story() -> list[int]:
        clock = LoopClock(EPOCH_US)
        times = [clock.now_us()]
        for duration_s in (0, 1.5, 0.000001, DAY_S):
            await clock.sleep(duration_s)
            times.append(clock.now_us())
        return [each - EPOCH_US for each in times]

    assert run(story()) == [0, 0, 1_500_000, 1_500_001, DAY_S * 1_000_000 + 1_500_001]


def test_the_clock_of_a_loop_is_exact_after_a_day_of_ticks() -> None:
    async def story() -> int:
        clock = LoopClock(0)
        for _ in range(DAY_S):
            await clock.sleep(0.1)
        return clock.now_us()

    assert abs(run(story()) - DAY_S * 100_000) <= 1


def test_the_wall_clock_is_that_of_the_machine() -> None:
    clock = WallClock()

    async def story() -> tuple[int, int]:
        before = clock.now_us()
        await clock.sleep(0.001)
        return before, clock.now_us()

    before_us = time.time_ns() // 1000
    start_us, end_us = asyncio.run(story())

    assert before_us <= start_us
    assert end_us - start_us >= 900
    assert end_us <= time.time_ns() // 1000
