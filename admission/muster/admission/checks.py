"""
Admission checks of one Workload: which it needs, and what their states say together.

A check is a second opinion that another controller gives after quota was reserved. Nothing here
changes a Workload: `reservation` acts on what the checks say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from muster.admission.objects import Admission, Check, CheckState, ClusterQueue

SECOND_US: Final = 1_000_000


def required_checks(cluster_queue: ClusterQueue, admission: Admission | None) -> tuple[str, ...]:
    """Return the names of the checks a Workload needs, sorted.

    Before a reservation nobody knows the flavors, so only checks that cover every flavor of the
    queue count; after it, those that cover an assigned one. A Workload that was given no flavor
    needs no check.
    """
    flavors = tuple(flavor for group in cluster_queue.groups for flavor in group.flavors)
    if admission is None:
        names = [
            rule.check
            for rule in cluster_queue.checks
            if not rule.on_flavors or all(flavor in rule.on_flavors for flavor in flavors)
        ]
    else:
        assigned = [flavor for pods in admission.pod_sets for flavor in pods.flavors.values()]
        names = [
            rule.check
            for rule in cluster_queue.checks
            if any(flavor in (rule.on_flavors or flavors) for flavor in assigned)
        ]
    return tuple(sorted(names))


def with_check(checks: tuple[Check, ...], check: Check) -> tuple[Check, ...]:
    """Put one check in, in place of the old one of that name."""
    return _in_name_order([*(old for old in checks if old.name != check.name), check])


def with_missing(checks: tuple[Check, ...], names: Sequence[str], now_us: int) -> tuple[Check, ...]:
    """Add the named checks that are not there yet as Pending; return the same tuple if none."""
    if not names:
        return checks
    carried = [check.name for check in checks]
    missing = [Check(name=name, since_us=now_us) for name in names if name not in carried]
    return _in_name_order([*checks, *missing]) if missing else checks


def exactly(checks: tuple[Check, ...], names: Sequence[str], now_us: int) -> tuple[Check, ...]:
    """Keep the named checks, add the missing ones as Pending, drop the others."""
    kept = tuple(check for check in checks if check.name in names)
    return with_missing(kept, names, now_us)


def reset(checks: tuple[Check, ...], now_us: int) -> tuple[Check, ...]:
    """Make every check Pending: it has to pass again for the next reservation."""
    if all(check.state is CheckState.PENDING for check in checks):
        return checks
    return tuple(
        check
        if check.state is CheckState.PENDING
        else replace(
            check,
            state=CheckState.PENDING,
            since_us=now_us,
            retries=check.retries + (check.state is CheckState.RETRY),
            message=f"Reset to Pending after eviction. Previously: {check.state}",
        )
        for check in checks
    )


def all_ready(checks: tuple[Check, ...]) -> bool:
    """Say whether every check passed; true when there is none."""
    return all(check.state is CheckState.READY for check in checks)


def in_state(checks: tuple[Check, ...], state: CheckState) -> list[Check]:
    """Return the checks in one state, in name order."""
    return [check for check in checks if check.state is state]


def retry_at_us(retrying: list[Check]) -> int:
    """Return the instant before which checks in state Retry ask not to be tried again."""
    return max(check.since_us + (check.requeue_after_s or 0) * SECOND_US for check in retrying)


def _in_name_order(checks: Iterable[Check]) -> tuple[Check, ...]:
    return tuple(sorted(checks, key=lambda check: check.name))
