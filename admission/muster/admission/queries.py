"""
Questions about a State that decisions do not ask: who uses what, and where everybody else stands.

For people and reports. Answers are frozen values; nothing here changes the State, which has to be
settled, and nothing is remembered between two questions.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from muster.admission import lifecycle
from muster.admission.amounts import FlavorResource
from muster.admission.cohorts import below
from muster.admission.conditions import QUOTA_RESERVED
from muster.admission.lifecycle import Phase
from muster.admission.objects import StopPolicy
from muster.admission.pending import Place
from muster.admission.records import Holder, Item, Queue
from muster.admission.state import State

# --- Use -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What one workload holds of one flavor and resource."""

    workload: str
    cluster_queue: str
    amount: int
    evicting: bool


def users_of(state: State, cluster_queue: str, pair: FlavorResource) -> tuple[Use, ...]:
    """Return who holds quota of `pair` that a ClusterQueue could have used, greatest first."""
    queue = state.queues.get(cluster_queue)
    if queue is None:
        return ()
    uses = [
        Use(
            workload=holder.item.workload.key,
            cluster_queue=member.name,
            amount=holder.pairs[pair],
            evicting=holder.evicting,
        )
        for member in below(queue.root)
        if isinstance(member, Queue)
        for holder in holders(member)
        if holder.pairs.get(pair)
    ]
    return tuple(sorted(uses, key=lambda use: (-use.amount, use.workload)))


def holders(queue: Queue) -> Iterator[Holder]:
    """Yield the workloads that hold quota of a queue, those being evicted first."""
    yield from queue.evicting
    yield from queue.holders


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUse:
    """How much of one flavor and resource a ClusterQueue has and uses."""

    flavor: str
    resource: str
    nominal: int
    used: int
    potential: int
    """The most it could use with everything else idle."""

    @property
    def borrowed(self) -> int:
        return max(0, self.used - self.nominal)


def quota_use(state: State, cluster_queue: str) -> tuple[QuotaUse, ...]:
    """Return what a ClusterQueue has and uses of all it declares, in the order it is declared."""
    queue = state.queues[cluster_queue]
    cells = (queue.cell(pair) for pair in queue.spec.quotas)
    return tuple(
        QuotaUse(
            flavor=cell.pair.flavor,
            resource=cell.pair.resource,
            nominal=cell.nominal,
            used=cell.used,
            potential=cell.potential,
        )
        for cell in cells
    )


# --- Standing ------------------------------------------------------------------------------------


class Why(Enum):
    """Why no plan says anything about a workload that holds no quota."""

    BEHIND = "behind"
    """It is in the heap; `other` is in front of all, "" if it is itself."""
    SAME_SHAPE = "same shape"
    """`other`, which asks for exactly the same, was looked at in its stead."""
    PARKED = "parked"
    """It was set aside earlier, and nothing has happened since that could help."""
    BACKING_OFF = "backing off"
    """It may not be tried before `until_us`, or before something happens if that is None."""
    GATED = "gated"
    """`names` are the admission gates in the way."""
    INACTIVE = "inactive"
    """Its spec says that it is not to run."""
    ON_HOLD = "on hold"
    """Its job is not complete, or asked for a pause."""
    NO_LOCAL_QUEUE = "no LocalQueue"
    """There is none of the name in `names`."""
    LOCAL_QUEUE_STOPPED = "LocalQueue stopped"
    NO_CLUSTER_QUEUE = "no ClusterQueue"
    """Its LocalQueue leads to the one in `names`, which does not exist."""
    CLUSTER_QUEUE_INACTIVE = "ClusterQueue inactive"
    """`names` has the queue and the reason of its condition Active."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a workload stands that a plan does not mention."""

    workload: str
    cluster_queue: str | None
    why: Why
    other: str = ""
    names: tuple[str, ...] = ()
    until_us: int | None = None


def standings(state: State, decided: Container[str], now_us: int) -> tuple[Standing, ...]:
    """
    Return where everybody stands who is not among `decided` (workload keys), in the order of keys.

    Left out is who holds quota and who has finished. The plans that decided must be accepted.
    """
    return tuple(
        _standing(state, item, decided, now_us)
        for key, item in sorted(state.items.items())
        if key not in decided
        and not item.status.is_true(QUOTA_RESERVED)
        and lifecycle.phase(item.workload, item.status) is not Phase.FINISHED
    )


def _standing(state: State, item: Item, decided: Container[str], now_us: int) -> Standing:
    local_queue = state.local_queues.get(f"{item.workload.namespace}/{item.workload.local_queue}")
    queue = None if local_queue is None else state.queues.get(local_queue.cluster_queue)
    found = Standing(
        workload=item.workload.key,
        cluster_queue=None if queue is None else queue.name,
        why=Why.PARKED,
    )
    obstacle = _own_obstacle(state, item)
    if obstacle is not None:
        return replace(found, why=obstacle, names=item.workload.gated_by)
    if local_queue is None:
        return replace(found, why=Why.NO_LOCAL_QUEUE, names=(item.workload.local_queue,))
    if queue is None:
        return replace(found, why=Why.NO_CLUSTER_QUEUE, names=(local_queue.cluster_queue,))
    if local_queue.stop_policy is not StopPolicy.NONE or local_queue.terminating:
        return replace(found, why=Why.LOCAL_QUEUE_STOPPED, names=(local_queue.key,))
    if not queue.active:
        reason = queue.inactive_reason or "CohortCycle"
        return replace(found, why=Why.CLUSTER_QUEUE_INACTIVE, names=(queue.name, reason))
    if not lifecycle.backoff_expired(item.status, now_us):
        return replace(found, why=Why.BACKING_OFF, until_us=item.status.requeue_at_us)
    if item.place is Place.HEAP:
        head = _head(queue)
        return replace(found, why=Why.BEHIND, other="" if head == item.workload.key else head)
    twin = _twin(item, decided)
    return replace(found, why=Why.SAME_SHAPE, other=twin) if twin else found


def _own_obstacle(state: State, item: Item) -> Why | None:
    """Return what is in a workload's own way, whatever its queue."""
    workload = item.workload
    if not workload.active:
        return Why.INACTIVE
    if workload.gated_by:
        return Why.GATED if state.config.gates.admission_gated_by else None
    return None if lifecycle.may_queue(workload, item.status) else Why.ON_HOLD


def _twin(item: Item, decided: Container[str]) -> str:
    """Return a workload of the same shape that was looked at, "" if there is none."""
    members = () if item.group is None else item.group.parked
    return next((each.workload.key for each in members if each.workload.key in decided), "")


def _head(queue: Queue) -> str:
    heads = queue.pending.heads
    return heads[0][0][-1] if heads else ""
