"""
What a decision is: frozen values, with the numbers behind them and no prose (see `explain`).

A `CyclePlan` names workloads and queues, never engine records, so it can be stored, compared,
replayed, or handed to whoever performs it. `State.apply` accepts it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from muster.admission.conditions import NoQuotaReason, PreemptionReason
from muster.admission.eligibility import Refusal
from muster.admission.objects import Admission
from muster.admission.records import ScanProgress


class Requeue(StrEnum):
    """Why a workload goes back to its queue; decides whether it is looked at again at once."""

    GENERIC = "generic"
    NAMESPACE_MISMATCH = "namespace mismatch"
    NO_FIT = "no fit"
    NO_CANDIDATES = "no candidates"
    PENDING_PREEMPTION = "pending preemption"
    FAILED_AFTER_NOMINATION = "failed after nomination"


class Aside(StrEnum):
    """Where a workload that was not admitted waits."""

    HEAP = "heap"
    """Looked at again in the next round."""
    PARKED = "parked"
    """Set aside until something changes."""
    GROUP_PARKED = "group parked"
    """Set aside with all workloads of its shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An amount of a flavor and resource that was given; `borrowed` of it is beyond nominal."""

    flavor: str
    resource: str
    amount: int
    borrowed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """What stood in the way on one flavor: a refusal of the pods, or a lack of one resource."""

    pod_set: str
    flavor: str
    resource: str = ""
    refusal: Refusal | None = None
    asked: int = 0
    free: int = 0
    """What the queue could have used; negative after quota cuts."""
    nominal: int = 0
    potential: int = 0
    """The most the queue could ever use."""
    candidates: bool = False
    """Whether evictions could have helped, if only somebody might be evicted."""

    @property
    def missing(self) -> int:
        return max(0, self.asked - max(0, self.free))


@dataclass(frozen=True, slots=True, kw_only=True)
class Admit:
    workload: str
    uid: str
    revision: int = field(default=0, repr=False)
    """What it was like when this was decided; it is void once that has changed."""
    cluster_queue: str
    admission: Admission
    grants: tuple[Grant, ...]
    level: int
    required_checks: tuple[str, ...] = ()
    """Admission checks that must be ready before the workload may start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """A victim of one preemption."""

    workload: str
    uid: str
    revision: int = field(default=0, repr=False)
    cluster_queue: str
    reason: PreemptionReason
    priority: int
    amounts: tuple[Grant, ...]
    already_asked: bool = False
    """It was being evicted before; nothing is to be written."""
    ends_by_us: int | None = None
    """It is left to finish, which is expected by this time; nothing is to be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempt:
    """Take quota back for a workload, which starts once its victims have stopped."""

    workload: str
    uid: str
    revision: int = field(default=0, repr=False)
    cluster_queue: str
    priority: int
    evictions: tuple[Eviction, ...]
    grants: tuple[Grant, ...]
    level: int
    aside: Aside = Aside.HEAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    workload: str
    uid: str
    revision: int = field(default=0, repr=False)
    cluster_queue: str
    reason: NoQuotaReason
    requeue: Requeue
    aside: Aside
    obstacles: tuple[Obstacle, ...] = ()
    detail: str = ""
    """A fact that is not a number: the unmet selector, the failed check, the invalid request."""
    grants: tuple[Grant, ...] = ()
    """What it would be given if there were room."""
    progress: ScanProgress | None = field(default=None, repr=False)


Decision = Admit | Preempt | Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePlan:
    decisions: tuple[Decision, ...]
    """At most one per workload, in the order in which they were made."""
    rounds: int
    """How many times the heads of the queues were looked at."""
    now_us: int
    exhausted: bool = True
    """Whether the last round changed nothing, so that only an event can bring more."""
    looked_at: tuple[LookedAt, ...] = field(default=(), repr=False)


class LookedAt(NamedTuple):
    """A queue that was looked at, and what had last happened to it then."""

    queue: str
    swept: int
    stirred: int
    steady: bool
    """Whether its tree was left as it was in the end, down to where flavor scans would start."""
