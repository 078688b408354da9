"""
Nominate one workload: the flavors it would get, and whose eviction it would need.

Reads a scene, changes nothing. What comes out is an `Entry` for the rest of the round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from muster.admission import fair_victims, victims
from muster.admission.assign import Assigner, Assignment, FindVictims, Mode
from muster.admission.conditions import NoQuotaReason
from muster.admission.eligibility import selects
from muster.admission.objects import CheckState
from muster.admission.outlook import Outlook
from muster.admission.plan import Requeue
from muster.admission.quota import Cell
from muster.admission.records import Item, Queue, ScanProgress
from muster.admission.scene import Scene
from muster.admission.victims import Victim

if TYPE_CHECKING:
    from muster.admission.compile import Request
    from muster.admission.state import State


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a workload is not even considered."""

    reason: NoQuotaReason
    requeue: Requeue
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A head of a queue, nominated."""

    item: Item
    queue: Queue
    is_preemptor: bool = False
    rejection: Rejection | None = None
    request: Request | None = None
    assignment: Assignment | None = None
    victims: tuple[Victim, ...] = ()
    progress: ScanProgress | None = None
    mode: Mode = Mode.NO_FIT
    level: int = 0
    usage: tuple[tuple[Cell, int], ...] = field(default=())
    """What it would take; nothing when no flavors were found."""


def nominate(state: State, outlook: Outlook, item: Item) -> Entry:
    queue = item.queue
    assert queue is not None
    rejection = _rejection(state, item, queue)
    if rejection is not None:
        return Entry(item=item, queue=queue, rejection=rejection)
    progress = outlook.progress_of(item)
    if progress is not None and _outdated(outlook, item, queue, progress):
        progress = None
    resume = progress.last_tried if progress is not None else ()
    return _nominate_in(state, outlook, outlook.scene(), item, queue, resume, None)


def renominate(state: State, outlook: Outlook, scene: Scene, entry: Entry) -> Entry:
    """Nominate again in another scene, for the flavors nominated before."""
    assert entry.assignment is not None
    pinned = [result.flavors() for result in entry.assignment.pod_sets]
    return _nominate_in(state, outlook, scene, entry.item, entry.queue, (), pinned)


def _rejection(state: State, item: Item, queue: Queue) -> Rejection | None:
    """Return the first reason for which a workload is not considered, in the peer's order."""
    for check in item.status.checks:
        if check.state in (CheckState.RETRY, CheckState.REJECTED):
            detail = f"admission check {check.name} is in state {check.state}"
            return Rejection(NoQuotaReason.PENDING_EVALUATION, Requeue.GENERIC, detail)
    namespace = state.namespaces.get(item.workload.namespace)
    if namespace is None:
        detail = f"namespace {item.workload.namespace} does not exist"
        return Rejection(NoQuotaReason.MISCONFIGURED, Requeue.GENERIC, detail)
    if not selects(queue.spec.namespace_selector, namespace.labels):
        detail = f"the namespaceSelector of ClusterQueue {queue.name} excludes {namespace.name}"
        return Rejection(NoQuotaReason.MISCONFIGURED, Requeue.NAMESPACE_MISMATCH, detail)
    if item.workload.problem is not None:
        return Rejection(NoQuotaReason.MISCONFIGURED, Requeue.GENERIC, item.workload.problem)
    if any(pod_set.topology is not None for pod_set in item.workload.pod_sets):
        detail = "topology requests are not supported yet"
        return Rejection(NoQuotaReason.TOPOLOGY_PLACEMENT_FAILED, Requeue.NO_FIT, detail)
    return None


def _outdated(outlook: Outlook, item: Item, queue: Queue, progress: ScanProgress) -> bool:
    if outlook.config.gates.flavor_fungibility_preserve_scan_progress:
        group = item.group
        if group is not None and group.shape != progress.shape:
            return True
        if progress.cycle >= outlook.cycle - 1:
            return False
    return queue.generation > progress.generation


def _nominate_in(
    state: State,
    outlook: Outlook,
    scene: Scene,
    item: Item,
    queue: Queue,
    resume: Sequence[Mapping[str, int]],
    pinned: Sequence[Mapping[str, str]] | None,
) -> Entry:
    find = fair_victims.find_victims if scene.config.fair else victims.find_victims
    assigner = Assigner(scene, item, queue, find, resume=resume, pinned=pinned)
    counts = state.counts(item)
    request = state.request(item, counts)
    assignment = assigner.assign(request)
    chosen = _targets(scene, item, queue, assignment, find)
    if assignment.mode is not Mode.FIT and not chosen and scene.config.gates.partial_admission:
        smaller = _partial(state, scene, item, queue, assigner, find)
        if smaller is not None:
            request, assignment, chosen = smaller
    assert item.group is not None
    return Entry(
        item=item,
        queue=queue,
        is_preemptor=outlook.is_preemptor(item),
        request=request,
        assignment=assignment,
        victims=chosen,
        progress=ScanProgress(
            assignment.last_tried, item.group.shape, queue.generation, outlook.cycle
        ),
        mode=assignment.mode,
        level=assignment.level,
        usage=() if assignment.mode is Mode.NO_FIT else assignment.usage,
    )


def _targets(
    scene: Scene, item: Item, queue: Queue, assignment: Assignment, find: FindVictims
) -> tuple[Victim, ...]:
    if assignment.mode is not Mode.PREEMPT:
        return ()
    return find(scene, item, queue, assignment.preempting, assignment.usage)


def _partial(
    state: State,
    scene: Scene,
    item: Item,
    queue: Queue,
    assigner: Assigner,
    find: FindVictims,
) -> tuple[Request, Assignment, tuple[Victim, ...]] | None:
    """Search for the largest counts, between minimum and full, that fit or fit after evictions."""
    pod_sets = item.workload.pod_sets
    deltas = [0 if p.min_count is None else max(0, p.count - p.min_count) for p in pod_sets]
    total = sum(deltas)
    if not total:
        return None
    found: tuple[Request, Assignment, tuple[Victim, ...]] | None = None
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = tuple(
            p.count - delta * middle // total for p, delta in zip(pod_sets, deltas, strict=True)
        )
        request = state.request(item, counts)
        assignment = assigner.assign(request)
        chosen = _targets(scene, item, queue, assignment, find)
        if assignment.mode is Mode.FIT or chosen:
            found, high = (request, assignment, chosen), middle
        else:
            low = middle + 1
    return found
