"""
Nominate one workload: the flavors it would get, and whose eviction it would need.

Reads a scene, changes nothing. What comes out is an `Entry` for the rest of the round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from muster.admission import fair_victims, victims
from muster.admission.assign import Assigner, Assignment, Mode
from muster.admission.conditions import NoQuotaReason
from muster.admission.eligibility import selector_flaw, selects, unmet
from muster.admission.objects import CheckState, Namespace
from muster.admission.outlook import Outlook
from muster.admission.plan import Requeue
from muster.admission.quota import Cell, Imagined, release_all
from muster.admission.records import Item, LastTried, Queue, ScanProgress, Victim, scan_start
from muster.admission.scene import Scene
from muster.admission.victims import Requests

if TYPE_CHECKING:
    from muster.admission.state import State


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a workload is not even considered."""

    reason: NoQuotaReason
    requeue: Requeue
    detail: str


class Entry(NamedTuple):
    """A head of a queue, nominated."""

    item: Item
    queue: Queue
    is_preemptor: bool = False
    rejection: Rejection | None = None
    assignment: Assignment | None = None
    victims: tuple[Victim, ...] = ()
    scanned_from: LastTried = ()
    """Where its flavor scan started."""
    progress: ScanProgress | None = None
    """Where the scan stopped."""
    mode: Mode = Mode.NO_FIT
    level: int = 0
    usage: tuple[tuple[Cell, int], ...] = ()
    """What it would take; nothing when no flavors were found."""


def nominate(state: State, outlook: Outlook, item: Item) -> Entry:
    """Nominate the head of a queue in the world as the decision has left it."""
    queue = item.queue
    assert queue is not None
    rejection = _rejection(state, item, queue)
    if rejection is not None:
        return Entry(item=item, queue=queue, rejection=rejection)
    progress = outlook.progress_of(item)
    if progress is not None and _outdated(outlook, item, queue, progress):
        progress = None
    resume = scan_start(progress)
    return _nominate_in(state, outlook, outlook.scene(), item, resume, None)


def renominate(state: State, outlook: Outlook, scene: Scene, entry: Entry) -> Entry:
    """Nominate again in another scene, for the flavors nominated before."""
    assert entry.assignment is not None
    pinned = [result.flavors() for result in entry.assignment.pod_sets]
    again = _nominate_in(state, outlook, scene, entry.item, (), pinned)
    return again._replace(scanned_from=entry.scanned_from)


def _rejection(state: State, item: Item, queue: Queue) -> Rejection | None:
    """Return the first reason for which a workload is not considered, in the peer's order."""
    for check in item.status.checks:
        if check.state in (CheckState.RETRY, CheckState.REJECTED):
            detail = f"admission check {check.name} is in state {check.state}"
            return Rejection(NoQuotaReason.PENDING_EVALUATION, Requeue.GENERIC, detail)
    if queue.cyclic:
        detail = f"the cohorts above ClusterQueue {queue.name} are their own ancestors"
        return Rejection(NoQuotaReason.SUSPENDED, Requeue.GENERIC, detail)
    namespace = state.namespaces.get(item.workload.namespace)
    if namespace is None:
        detail = f"namespace {item.workload.namespace} does not exist"
        return Rejection(NoQuotaReason.MISCONFIGURED, Requeue.GENERIC, detail)
    selector = queue.spec.namespace_selector
    if not selects(selector, namespace.labels):
        detail = _why_not_selected(queue, namespace)
        return Rejection(NoQuotaReason.MISCONFIGURED, Requeue.NAMESPACE_MISMATCH, detail)
    if item.workload.problem is not None:
        return Rejection(NoQuotaReason.MISCONFIGURED, Requeue.GENERIC, item.workload.problem)
    if state.request(item).topology is not None:
        detail = "topology requests are not supported yet"
        return Rejection(NoQuotaReason.TOPOLOGY_PLACEMENT_FAILED, Requeue.NO_FIT, detail)
    return None


def _why_not_selected(queue: Queue, namespace: Namespace) -> str:
    selector = queue.spec.namespace_selector
    whose = f"the namespaceSelector of ClusterQueue {queue.name}"
    why = selector_flaw(selector)
    if why is not None:
        return f"{whose} is invalid: {why}"
    wanted = unmet(selector, namespace.labels)
    if wanted is None:
        return f"ClusterQueue {queue.name} has no namespaceSelector, so it takes no namespace"
    has = namespace.labels.get(wanted.key)
    found = f"no label {wanted.key}" if has is None else f"{wanted.key}={has}"
    values = f" ({', '.join(wanted.values)})" if wanted.values else ""
    return (
        f"{whose} excludes {namespace.name}: it wants {wanted.key} {wanted.operator}{values}, "
        f"the namespace has {found}"
    )


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
    resume: LastTried,
    pinned: Sequence[Mapping[str, str]] | None,
) -> Entry:
    queue = item.queue
    assert queue is not None
    search = VictimSearch(scene, item, queue, outlook.awaited(item))
    assigner = Assigner(scene, queue, search, resume=resume, pinned=pinned)
    assignment = assigner.assign(state.request(item))
    chosen = _targets(assignment, search)
    if assignment.mode is not Mode.FIT and not chosen and scene.config.gates.partial_admission:
        smaller = _partial(state, item, assigner, search)
        if smaller is not None:
            assignment, chosen = smaller
    assert item.group is not None
    return Entry(
        item=item,
        queue=queue,
        is_preemptor=outlook.is_preemptor(item),
        assignment=assignment,
        victims=chosen,
        scanned_from=resume,
        progress=ScanProgress(
            assignment.last_tried, item.group.shape, queue.generation, outlook.cycle
        ),
        mode=assignment.mode,
        level=assignment.level,
        usage=() if assignment.mode is Mode.NO_FIT else assignment.usage,
    )


class VictimSearch:
    """Finds victims for one workload in one scene; the same question is answered once."""

    def __init__(self, scene: Scene, item: Item, queue: Queue, awaited: tuple[Victim, ...]) -> None:
        self._scene = scene
        self._item = item
        self._queue = queue
        self._awaited = () if any(v.holder in scene.gone for v in awaited) else awaited
        self._find = fair_victims.find_victims if scene.config.fair else victims.find_victims
        self._answers: dict[tuple[Cell | int, ...], tuple[Victim, ...]] = {}

    def __call__(self, preempting: Sequence[Cell], requests: Requests) -> tuple[Victim, ...]:
        question = (*preempting, *(part for request in requests for part in request))
        found = self._answers.get(question)
        if found is None:
            if self._awaited and self._still_enough(requests):
                found = self._awaited
            else:
                found = self._find(self._scene, self._item, self._queue, preempting, requests)
            self._answers[question] = found
        return found

    def _still_enough(self, requests: Requests) -> bool:
        """Whether the victims it waits for already will make enough room once they are gone."""
        view = Imagined(self._scene.view)
        for victim in self._awaited:
            release_all(view, victim.holder.usage)
        return victims.fits(view, requests, borrowing=True)


def _targets(assignment: Assignment, search: VictimSearch) -> tuple[Victim, ...]:
    if assignment.mode is not Mode.PREEMPT:
        return ()
    return search(assignment.preempting, assignment.usage)


def _partial(
    state: State, item: Item, assigner: Assigner, search: VictimSearch
) -> tuple[Assignment, tuple[Victim, ...]] | None:
    """Search for the largest counts, between minimum and full, that fit or fit after evictions."""
    pod_sets = item.workload.pod_sets
    deltas = [0 if p.min_count is None else max(0, p.count - p.min_count) for p in pod_sets]
    total = sum(deltas)
    if not total:
        return None
    found: tuple[Assignment, tuple[Victim, ...]] | None = None
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = tuple(
            p.count - delta * middle // total for p, delta in zip(pod_sets, deltas, strict=True)
        )
        assignment = assigner.assign(state.request(item, counts))
        chosen = _targets(assignment, search)
        if assignment.mode is Mode.FIT or chosen:
            found, high = (assignment, chosen), middle
        else:
            low = middle + 1
    return found
