"""
Everything the engine can raise, and whose problem it is.

* InvariantError        our bug; carries what is needed to reproduce it
  - IllegalTransition   an event that cannot happen in the phase a Workload is in

Being out of quota is not in this list, and neither are objects that make no sense: both end in a
decision that says so.
"""

from __future__ import annotations

from collections.abc import Sequence


class InvariantError(Exception):
    """Something the engine takes for granted is not so: a bug of ours, never the user's."""


class IllegalTransition(InvariantError):  # noqa: N818 - named for what happened, like the phases
    """A Workload was told of an event that its phase does not allow."""

    def __init__(self, *, workload: str, phase: str, event: str, story: Sequence[str]) -> None:
        self.workload = workload
        self.phase = phase
        self.event = event
        self.story = tuple(story)
        told = "; ".join(self.story) or "(nothing yet)"
        super().__init__(
            f"Workload {workload!r} is {phase}, where {event} cannot happen. Its story: {told}."
        )
