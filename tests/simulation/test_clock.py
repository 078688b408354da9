"""Virtual time: one order for everything."""

from muster.queue.simulation.clock import Clock


def test_happenings_come_in_the_order_of_time_then_of_planning() -> None:
    clock, seen = Clock(), list[str]()
    for at_us, name in ((5, "c"), (3, "a"), (5, "d"), (3, "b")):
        clock.plan(at_us, seen.append, name)

    clock.advance(5)

    assert clock.run_due()
    assert seen == ["a", "b", "c", "d"]


def test_nothing_happens_before_its_time() -> None:
    clock, seen = Clock(), list[str]()
    clock.plan(5, seen.append, "late")

    clock.advance(4)

    assert not clock.run_due()
    assert (seen, clock.next_us) == ([], 5)


def test_what_is_planned_for_the_past_is_due_at_once() -> None:
    clock, seen = Clock(10), list[str]()
    clock.plan(10, lambda: clock.plan(3, seen.append, "overdue"))

    assert clock.run_due()

    assert seen == ["overdue"]
    assert clock.now_us == 10
