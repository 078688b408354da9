"""A Workload that lives through events at given seconds, so that a test reads as a story."""

from dataclasses import replace
from typing import Any

from muster.admission.config import Config
from muster.admission.lifecycle import (
    Effect,
    Event,
    JobStopped,
    Phase,
    QuotaReserved,
    next_deadline,
    phase,
    step,
)
from muster.admission.objects import Status, Workload
from tests.admission.builders import SECOND_US, a_workload, an_admission


class Life:
    def __init__(
        self, *, config: Config | None = None, status: Status | None = None, **named: Any
    ) -> None:
        self.config = config or Config()
        self.workload: Workload = a_workload(**named)
        self.status = status or Status()

    def say(self, event: Event, at_s: int) -> tuple[Effect, ...]:
        self.status, effects = step(
            self.workload, self.status, event, now_us=at_s * SECOND_US, config=self.config
        )
        return effects

    def admit(self, at_s: int, *checks: str) -> tuple[Effect, ...]:
        return self.say(QuotaReserved(an_admission(), checks), at_s)

    def stop(self, at_s: int) -> tuple[Effect, ...]:
        return self.say(JobStopped(), at_s)

    def set_active(self, active: bool) -> None:
        self.workload = replace(self.workload, active=active)

    def wait(self) -> tuple[int, tuple[Effect, ...]]:
        """Let time pass until something happens by itself; return when, in seconds, and what."""
        deadline = self.deadline()
        assert deadline is not None, "nothing will ever happen"
        at_s, event = deadline
        return at_s, self.say(event, at_s)

    def deadline(self) -> tuple[int, Event] | None:
        """When something happens by itself, in seconds, and what."""
        deadline = next_deadline(self.workload, self.status, self.config)
        return None if deadline is None else (deadline[0] // SECOND_US, deadline[1])

    def phase(self) -> Phase:
        return phase(self.workload, self.status)

    def holds_quota(self) -> bool:
        return self.status.admission is not None

    def condition(self, name: str) -> tuple[bool, str, int] | None:
        """Its status, its reason and since when, in seconds."""
        found = self.status.conditions.get(name)
        if found is None:
            return None
        return found.status, found.reason, found.since_us // SECOND_US
