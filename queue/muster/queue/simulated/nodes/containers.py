"""One container of a pod, as its kubelet knows it: what state it is in and since when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from muster.queue.simulated.nodes.behaviour import FOREVER_US, Run

_US: Final = 1_000_000
_BACKOFF_FIRST_US: Final = 10 * _US
_BACKOFF_LONGEST_US: Final = 300 * _US
_BACKOFF_DOUBLINGS_MAX: Final = 10
_FORGIVEN_US: Final = 600 * _US
"""A container that ran for so long restarts as if it had never crashed."""

KILLED: Final = 137
TERMINATED: Final = 143


class Role(Enum):
    INIT = "init"
    """Runs to its end before the next one starts."""
    SIDECAR = "sidecar"
    """Starts like an init container and goes on as long as the main ones."""
    MAIN = "main"


@dataclass(frozen=True, slots=True)
class Termination:
    """How one run ended; instants in microseconds since 1970."""

    started_us: int
    finished_us: int
    exit_code: int


@dataclass(slots=True)
class Container:
    """
    Waiting, running or terminated: `started_us` is set from running on, `ended` at the end.

    `resume_us` is when a waiting container that has crashed starts again.
    """

    name: str
    image: str
    role: Role
    restarts_on: Callable[[int], bool]
    """Whether it starts again after ending with an exit code."""
    plan: Callable[[int], Run] = field(repr=False)
    """What the run after so many restarts will be."""
    readiness_delay_us: int = 0
    restarts: int = 0
    crashes: int = 0
    """Restarts that count for the back-off."""
    started_us: int | None = None
    run: Run | None = None
    resume_us: int | None = None
    ended: Termination | None = None
    """How the current run ended."""
    previous: Termination | None = None
    """How the run before it ended."""

    @property
    def has_started(self) -> bool:
        """Whether it runs, or did once."""
        return self.started_us is not None or self.restarts > 0

    @property
    def is_running(self) -> bool:
        return self.started_us is not None and self.ended is None

    @property
    def has_succeeded(self) -> bool:
        return self.ended is not None and self.ended.exit_code == 0

    @property
    def ends_us(self) -> int:
        """When the current run ends by itself."""
        if self.started_us is None or self.run is None or self.ended is not None:
            return FOREVER_US
        return min(FOREVER_US, self.started_us + self.run.duration_us)

    @property
    def ready_us(self) -> int:
        """When the current run is ready, or was."""
        return FOREVER_US if self.started_us is None else self.started_us + self.readiness_delay_us

    def is_ready(self, now_us: int) -> bool:
        return self.is_running and self.ready_us <= now_us

    def start(self, at_us: int) -> None:
        self.started_us = at_us
        self.run = self.plan(self.restarts)
        self.resume_us = None

    def start_if_due(self, now_us: int) -> None:
        """Start a container that waits, at the end of its back-off if there is one."""
        at_us = now_us if self.resume_us is None else self.resume_us
        if self.started_us is None and at_us <= now_us:
            self.start(at_us)

    def end(self, at_us: int, exit_code: int, *, for_good: bool) -> None:
        """End the current run; unless `for_good`, plan the next one if the policy wants it."""
        assert self.started_us is not None, "only what runs can end"
        ended = Termination(self.started_us, at_us, exit_code)
        if for_good or not self.restarts_on(exit_code):
            self.ended = ended
            return
        self.crash(ended)

    def crash(self, ended: Termination) -> None:
        """Wait for the next run: none the first time, then longer each time."""
        if ended.finished_us - ended.started_us >= _FORGIVEN_US:
            self.crashes = 0
        delay_us = 0
        if self.crashes:
            doublings = min(self.crashes - 1, _BACKOFF_DOUBLINGS_MAX)
            delay_us = min(_BACKOFF_LONGEST_US, _BACKOFF_FIRST_US << doublings)
        self.previous, self.ended, self.started_us, self.run = ended, None, None, None
        self.crashes += 1
        self.restarts += 1
        self.resume_us = ended.finished_us + delay_us


def restarts(policy: str, rules: Sequence[Mapping[str, Any]] = ()) -> Callable[[int], bool]:
    """Return after which exit codes a container restarts: by its rules, else by a policy."""

    def restart(exit_code: int) -> bool:
        for rule in rules:
            codes = rule["exitCodes"]
            if (exit_code in codes["values"]) == (codes["operator"] == "In"):
                return bool(rule["action"] == "Restart")
        return policy == "Always" or (policy == "OnFailure" and exit_code != 0)

    return restart


def is_sidecar(container: Mapping[str, Any]) -> bool:
    """Whether an init container runs beside the main ones."""
    return container.get("restartPolicy") == "Always"
