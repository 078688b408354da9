"""
What a trace says: jobs with an arrival, a run time and requests, in whatever file they stood.

Readers of formats make a `Trace`; `assemble` gives it queues with quota.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """One job; instants and lengths in microseconds, amounts as the engine counts them."""

    name: str
    arrival_us: int
    runtime_us: int
    queue: str
    priority: int = 0
    priority_class: str = ""
    pods: int = 1
    requests: tuple[tuple[str, int], ...] = ()
    """Per pod, in the order of resource names, none of them 0."""
    models: tuple[str, ...] = ()
    """The kinds of GPU it accepts; none means any."""
    recorded_wait_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    title: str
    jobs: tuple[TraceJob, ...]
    owners: tuple[str, ...] = ()
    """Queues that own the quota made for this trace, others living on what they leave idle; none
    means that all own the same part."""
    notes: tuple[str, ...] = ()


def per_pod(amounts: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Return requests in canonical form."""
    return tuple(sorted((resource, amount) for resource, amount in amounts.items() if amount))
