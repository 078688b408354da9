"""How long a Job waits before it replaces failed pods: 10 s, twice as long each time, ≤ 10 min."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from muster.queue.client.protocol import Manifest
from muster.queue.simulated.jobs import pods as pod_facts

_FIRST_US: Final = 10_000_000
_MAX_US: Final = 600_000_000


class Backoff(NamedTuple):
    """The failures since the last success. It lives in the controller, not in the API."""

    failures: int = 0
    last_us: int = 0

    def after(self, succeeded: Iterable[Manifest], failed: Iterable[Manifest]) -> Backoff:
        """Return what it is after more pods have ended."""
        successes = [pod_facts.finished_us(pod) for pod in succeeded]
        failures = [pod_facts.finished_us(pod) for pod in failed]
        if successes:
            failures = [each for each in failures if each > max(successes)]
            return Backoff(len(failures), max(failures, default=0))
        if failures:
            return Backoff(self.failures + len(failures), max(failures))
        return self

    def over_us(self) -> int:
        """Return the instant from which pods may be replaced."""
        if not self.failures:
            return 0
        # Beyond so many failures it is the longest anyway.
        doublings = min(self.failures - 1, 10)
        return self.last_us + min(_FIRST_US << doublings, _MAX_US)


NO_BACKOFF: Final = Backoff()


def index_backoff(failed: Manifest) -> Backoff:
    """Return the backoff of one index, told by the last pod that failed for it."""
    earlier = pod_facts.failures(failed) + pod_facts.ignored_failures(failed)
    return Backoff(earlier + 1, pod_facts.finished_us(failed))
