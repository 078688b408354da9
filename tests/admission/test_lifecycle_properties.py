"""What holds in every life, however the events fall: long random lives, checked at every step."""

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission.config import Config, PodsReadyPolicy
from muster.admission.lifecycle import (
    HOLDS_QUOTA,
    TRANSITIONS,
    CheckChanged,
    Deactivated,
    Effect,
    Event,
    Phase,
    Reactivated,
    backoff_expired,
    may_queue,
    next_deadline,
    phase,
    step,
)
from muster.admission.objects import Status, Workload
from tests.admission.builders import SECOND_US, a_workload
from tests.admission.test_lifecycle_table import EVENTS

CONFIG = Config(pods_ready=PodsReadyPolicy(timeout_s=30, recovery_timeout_s=10, backoff_limit=2))

DEADLINES_MAX = 10
"""What happens by itself in a row, before only the outside can go on."""


@dataclass
class Witness:
    """Lives a life and keeps its own, independent books of it."""

    workload: Workload = field(default_factory=lambda: a_workload(max_execution_s=100))
    status: Status = field(default_factory=Status)
    now_us: int = 0
    holds: bool = False
    evictions: int = 0

    def say(self, event: Event) -> None:
        if (phase(self.workload, self.status), type(event)) not in TRANSITIONS:
            return
        if isinstance(event, CheckChanged):
            event = CheckChanged(replace(event.check, since_us=self.now_us))
        before = self.status
        after, effects = step(self.workload, before, event, now_us=self.now_us, config=CONFIG)
        self.status = after
        self.look(before, after)
        self.keep_books(before, after, effects)

    def look(self, before: Status, after: Status) -> None:
        """No condition changes its time without its status, nor its status without the time."""
        for name, condition in after.conditions.items():
            old = before.conditions.get(name)
            kept = old is not None and old.status is condition.status
            assert condition.since_us == (old.since_us if old and kept else self.now_us)
        if after.requeue_at_us is not None:
            assert after.requeue_at_us >= (before.requeue_at_us or 0)
        assert [check.name for check in after.checks] == sorted(c.name for c in after.checks)

    def keep_books(self, before: Status, after: Status, effects: tuple[Effect, ...]) -> None:
        now_in = phase(self.workload, after)
        if before.admission is None and after.admission is not None:
            self.holds = True
        if Effect.RELEASE_QUOTA in effects:
            assert self.holds, "released what it did not hold"
            self.holds = False
        assert self.holds == (now_in in HOLDS_QUOTA)
        assert (after.admission is not None) == self.holds or now_in is Phase.FINISHED
        self.evictions += after.is_true("Evicted") and not before.is_true("Evicted")
        assert sum(count.count for count in after.evictions) == self.evictions

    def switch(self) -> None:
        self.workload = replace(self.workload, active=not self.workload.active)
        self.say(Reactivated() if self.workload.active else Deactivated())

    def let_it_happen(self) -> None:
        """Say whatever is due by itself, until nothing is."""
        said: list[Event] = []
        while deadline := next_deadline(self.workload, self.status, CONFIG):
            if deadline[0] > self.now_us:
                return
            said.append(deadline[1])
            assert len(said) < DEADLINES_MAX, f"never at rest: {said}"
            self.say(deadline[1])


moves = st.one_of(
    st.sampled_from(EVENTS),
    st.sampled_from(["switch", "let it happen"]),
    st.integers(0, 60).map(lambda seconds: seconds * SECOND_US),
)


@settings(max_examples=300)
@given(life=st.lists(moves, max_size=40))
def test_no_life_breaks_the_rules(life: list[Event | str | int]) -> None:
    witness = Witness()
    for move in life:
        match move:
            case int():
                witness.now_us += move
            case "switch":
                witness.switch()
            case "let it happen":
                witness.let_it_happen()
            case _:
                assert not isinstance(move, str)
                witness.say(move)


@settings(max_examples=200)
@given(life=st.lists(moves, max_size=25))
def test_a_life_left_alone_comes_to_rest(life: list[Event | str | int]) -> None:
    """With nothing from outside, time brings every life where only the outside can move it."""
    witness = Witness()
    for move in life:
        match move:
            case int() | str():
                witness.now_us += SECOND_US
            case _:
                witness.say(move)
    said: list[Event] = []
    while deadline := next_deadline(witness.workload, witness.status, CONFIG):
        said.append(deadline[1])
        assert len(said) < DEADLINES_MAX, f"never at rest: {said}"
        witness.now_us = max(witness.now_us, deadline[0])
        witness.say(deadline[1])

    now_in = phase(witness.workload, witness.status)
    if now_in is Phase.PENDING:
        assert may_queue(witness.workload, witness.status)
        assert backoff_expired(witness.status, witness.now_us)
