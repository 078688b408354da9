"""Workloads that can never start, as the engine sees them: each is decided about with no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.admission import events, explain
from muster.admission.conditions import QUOTA_RESERVED, NoQuotaReason
from muster.admission.config import Config
from muster.admission.cycle import decide
from muster.admission.objects import QueueingStrategy, Status
from muster.admission.plan import Aside, Wait
from muster.admission.queries import Why, standings
from muster.admission.state import State
from muster.queue.api.batch import Job
from muster.queue.api.core import Pod
from muster.queue.api.wording import did_you_mean
from muster.queue.linting.index import Found, Index
from muster.queue.manifests.complaints import Complaint
from muster.queue.translate.jobs import QUEUE_LABEL

HOPELESS: Final = (
    NoQuotaReason.EXCEEDS_MAX_QUOTA,
    NoQuotaReason.NO_MATCHING_FLAVOR,
    NoQuotaReason.MISCONFIGURED,
    NoQuotaReason.TOPOLOGY_PLACEMENT_FAILED,
)
"""Reasons that no passing of time removes."""


def warnings(index: Index, config: Config) -> Iterator[Complaint]:
    """Yield jobs that seem to name a queue, and workloads that wait for what cannot come."""
    for job in index.of(Job):
        yield from _nearly_labelled(job)
    for pod in index.of(Pod):
        yield from _nearly_labelled(pod)
    world = index.world
    state = State(config)
    for event in (*world.structure.quota_events(), *world.structure.local_queue_events()):
        state.apply(event, 0)
    manifests = {id(manifest.model): manifest for manifest in world.manifests}
    for seen in world.workloads:
        if seen.status.is_true(QUOTA_RESERVED):
            continue
        manifest = manifests[id(world.submitted[seen.workload.key])]
        message = _hopeless(state, events.WorkloadSeen(seen.workload, Status()))
        if message:
            yield manifest.complaint("", message)


def _nearly_labelled(found: Found[Job] | Found[Pod]) -> Iterator[Complaint]:
    """Warn of a label that may be meant to name the queue."""
    labels = found.model.metadata.labels
    if QUEUE_LABEL in labels:
        return
    for label in labels:
        hint = did_you_mean(label, [QUEUE_LABEL])
        if hint:
            yield found.warning(f"metadata.labels[{label}]", f"names no queue.{hint}")
    if QUEUE_LABEL in found.model.metadata.annotations:
        path = f"metadata.annotations[{QUEUE_LABEL}]"
        yield found.warning(path, "names no queue: only a label does")


def _hopeless(state: State, seen: events.WorkloadSeen) -> str:
    """Return why a workload cannot start even if it is alone; "" if it can."""
    key = seen.workload.key
    state.apply(seen, 0)
    plan = decide(state, 0, rounds_max=1)
    message = ""
    for decision in plan.decisions:
        if isinstance(decision, Wait) and decision.reason in HOPELESS:
            message = f"will never start: {explain.waiting(decision, explain.View())}"
            queue = state.queues[decision.cluster_queue].spec
            strict = queue.strategy is QueueingStrategy.STRICT_FIFO
            if strict and decision.aside is Aside.HEAP:
                message += f"; in StrictFIFO queue {queue.name} it blocks all behind it"
    for standing in standings(state, [d.workload for d in plan.decisions], 0):
        if standing.why in (Why.NO_LOCAL_QUEUE, Why.NO_CLUSTER_QUEUE):
            message = f"will never start: {explain.standing(standing, explain.View(), 0)}"
    state.apply(events.WorkloadGone(key), 0)
    return message
