"""
One decision: who starts now, who must make room, who waits and why.

`decide(state, now_us)` is the only entry point, and it changes nothing. It works in rounds. A round
is one cycle of Kueue, the peer: take the head of every queue, nominate flavors and victims for each
against the world as it stands, put them in order, then process them one by one, each seeing what
the ones before it took. Rounds repeat, on what the rounds before have decided, until one changes
nothing; `rounds_max=1` gives exactly the peer's cycle.

Invariants: what is admitted together fits together; a workload is a victim of at most one preemptor
in a round; nobody is evicted for a workload that would not fit afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from muster.admission.assign import Mode
from muster.admission.conditions import NoQuotaReason
from muster.admission.nominate import Entry, nominate, renominate
from muster.admission.objects import PreemptionPolicy, QueueingStrategy
from muster.admission.order import Tournament, classical_order
from muster.admission.outlook import Outlook
from muster.admission.plan import Aside, CyclePlan, Decision, LookedAt, Preempt, Requeue, Wait
from muster.admission.quota import Imagined, available, book, book_all, release_all
from muster.admission.records import Holder, Queue, ScanProgress, Tree, scan_start
from muster.admission.verdicts import admission_of, admit, preempt, wait

if TYPE_CHECKING:
    from muster.admission.state import State

SCAN_ROUNDS_MAX = 64
"""Rounds in a row that may do nothing but move a flavor scan on."""

AT_ONCE = (Requeue.PENDING_PREEMPTION, Requeue.FAILED_AFTER_NOMINATION)
"""Reasons for which a BestEffortFIFO workload stays in the heap."""

GROUP_WIDE = (Requeue.NO_FIT, Requeue.NO_CANDIDATES)
"""Reasons that hold for every workload of the same shape."""


def decide(
    state: State, now_us: int, *, rounds_max: int | None = None, heads_max: int | None = None
) -> CyclePlan:
    """
    Return what should happen now; apply it with `state.apply(PlanAccepted(plan))`.

    `rounds_max` overrides the configuration's. With `heads_max`, trees are left for the next
    decision, and rounds not begun, once so many heads are looked at: who is admitted can start
    while the rest is decided. Times are microseconds since the epoch.
    """
    state.settle(now_us)
    limit = rounds_max if rounds_max is not None else state.config.rounds_max
    course = _Course(state, now_us, heads_max)
    while course.goes_on and (limit is None or course.rounds < limit):
        course.go_on()
    return course.plan()


class _Course:
    """The rounds of one decision."""

    def __init__(self, state: State, now_us: int, heads_max: int | None) -> None:
        self._state = state
        self._heads_max = heads_max
        self._queues, self._left_over = state.queues_to_look_at(heads_max)
        self._outlook = Outlook(state.config, now_us, state.cycle)
        self._decisions: dict[str, Decision] = {}
        #: The queues to look at next.
        self._going = self._queues
        #: Trees that were not left as they were.
        self._restless: dict[Tree, None] = {}
        self._looks = 0
        self._scans = 0
        self.rounds = 0

    @property
    def goes_on(self) -> bool:
        return bool(self._going) and self._scans <= SCAN_ROUNDS_MAX

    def go_on(self) -> None:
        """Look at the heads once more, unless there are none or too many."""
        for queue in self._going:
            self._restless.pop(queue.tree, None)
        heads = self._outlook.heads(self._going)
        too_many = self._heads_max is not None and self._looks + len(heads) > self._heads_max
        if heads and self._looks and too_many:
            self._leave(self._going)
            return
        self._outlook.cycle += 1
        entries = [nominate(self._state, self._outlook, head) for head in heads]
        # To be evicted a workload must run first: such a tree is left to the next decision.
        self._leave(e.queue for e in entries if any(not v.holder.is_booked for v in e.victims))
        entries = [entry for entry in entries if entry.queue.tree not in self._restless]
        if not entries:
            self._going = []
            return
        self._looks += len(heads)
        self.rounds += 1
        self._process(entries)

    def _process(self, entries: list[Entry]) -> None:
        this_round = _Round(self._state, self._outlook)
        this_round.process(entries)
        for key, decision in this_round.decisions.items():
            self._decisions[key] = _merged(self._decisions.pop(key, None), decision)
        # Trees have nothing to do with each other: where nothing moved, nothing will.
        moving = this_round.moved | this_round.scanned
        self._restless.update(moving | this_round.rescanned)
        self._going = [queue for queue in self._going if queue.tree in moving]
        self._scans = 0 if this_round.moved else self._scans + 1

    def _leave(self, queues: Iterable[Queue]) -> None:
        """Leave the trees of these queues to the next decision."""
        trees = dict.fromkeys(queue.tree for queue in queues)
        if trees:
            self._left_over = True
            self._restless.update(trees)
            self._going = [queue for queue in self._going if queue.tree not in trees]

    def plan(self) -> CyclePlan:
        """Return what was decided."""
        asleep = self.rounds > 0 and any(queue.tree.later for queue in self._queues)
        return CyclePlan(
            decisions=tuple(self._decisions.values()),
            rounds=self.rounds,
            now_us=self._outlook.now_us,
            exhausted=not (self._going or self._left_over or asleep),
            looked_at=tuple(
                LookedAt(q.name, q.tree.swept, q.tree.stirred, steady=q.tree not in self._restless)
                for q in self._queues
            ),
        )


def _merged(earlier: Decision | None, later: Decision) -> Decision:
    """
    Keep what earlier rounds have found out.

    Victims are asked only once, and the flavors that an earlier round looked at stand in the way
    as much as those of the last one.
    """
    match earlier, later:
        case Preempt(), Preempt():
            asked = {eviction.workload: eviction for eviction in earlier.evictions}
            asked |= {e.workload: e for e in later.evictions if not e.already_asked}
            fresh = {e.workload: e for e in later.evictions}
            return replace(later, evictions=tuple({**fresh, **asked}.values()))
        case Preempt(), _:
            return earlier
        case Wait(), Wait():
            again = {(o.pod_set, o.flavor): None for o in later.obstacles}
            kept = tuple(o for o in earlier.obstacles if (o.pod_set, o.flavor) not in again)
            return replace(later, obstacles=kept + later.obstacles) if kept else later
        case _:
            return later


class _Round:
    """Processes the entries of one round."""

    def __init__(self, state: State, outlook: Outlook) -> None:
        self._state = state
        self._outlook = outlook
        self._gates = outlook.config.gates
        self.decisions: dict[str, Decision] = {}
        self.moved: dict[Tree, None] = {}
        """Trees in which anybody was admitted, evicted, or set aside."""
        self.scanned: dict[Tree, None] = {}
        """Trees in which a flavor scan got further and has flavors left to try."""
        self.rescanned: dict[Tree, None] = {}
        """Trees in which a flavor scan will start elsewhere next time."""
        #: Usage as this round fills it up, victims still in place …
        self._usage = Imagined(outlook.usage)
        #: … and with the victims of this round gone.
        self._freed = Imagined(outlook.usage)
        self._victims: dict[Holder, None] = {}
        self._admitted: list[Holder] = []

    def process(self, entries: list[Entry]) -> None:
        for entry in self._in_order(entries):
            self._process(entry)
        # Not before: until here the outlook is what both usages of the round are laid over.
        for holder in self._admitted:
            self._outlook.admit(holder)

    def _in_order(self, entries: list[Entry]) -> Iterator[Entry]:
        config = self._outlook.config
        if not config.fair:
            yield from classical_order(entries, config)
            return
        # Who got no flavors takes nothing from anybody: its turn does not matter.
        hopeless = [entry for entry in entries if not entry.usage]
        yield from classical_order(hopeless, config)
        yield from Tournament([e for e in entries if e.usage], self._usage, config)

    def _process(self, entry: Entry) -> None:
        if entry.rejection is not None:
            self._send_back(entry, entry.rejection.requeue, entry.rejection.reason)
            return
        fits = self._fits(entry)
        deferred = False
        overlapping = any(victim.holder in self._victims for victim in entry.victims)
        if overlapping and self._gates.recompute_assignment_upon_preemption_targets_overlap:
            scene = self._outlook.scene().without(self._victims, self._freed)
            entry = renominate(self._state, self._outlook, scene, entry)
            deferred = entry.mode is Mode.FIT
            overlapping = any(victim.holder in self._victims for victim in entry.victims)
            fits = self._fits(entry)
        if entry.mode is Mode.NO_FIT:
            assert entry.assignment is not None
            self._send_back(entry, Requeue.NO_FIT, entry.assignment.no_fit_reason())
        elif entry.mode is Mode.PREEMPT and not entry.victims:
            self._reserve(entry)
            self._send_back(entry, Requeue.NO_CANDIDATES, NoQuotaReason.WAITING_FOR_QUOTA)
        elif deferred:
            self._book(entry)
            self._await_victims(entry)
            reason = NoQuotaReason.WAITING_FOR_PREEMPTED_WORKLOADS
            self._send_back(entry, Requeue.PENDING_PREEMPTION, reason)
        elif overlapping or not fits:
            self._send_back(entry, Requeue.FAILED_AFTER_NOMINATION, NoQuotaReason.WAITING_FOR_QUOTA)
        elif entry.victims:
            self._preempt(entry)
        else:
            self._admit(entry)

    def _fits(self, entry: Entry) -> bool:
        """Whether the entry fits once its victims, and all chosen before, are gone."""
        view = self._freed
        if entry.victims:
            view = Imagined(view)
            for victim in entry.victims:
                if victim.holder not in self._victims:
                    release_all(view, victim.holder.usage)
        return all(amount <= max(0, available(view, cell)) for cell, amount in entry.usage)

    def _book(self, entry: Entry) -> None:
        book_all(self._usage, entry.usage)
        book_all(self._freed, entry.usage)

    def _reserve(self, entry: Entry) -> None:
        """
        Keep room for a workload that waits although nobody may be evicted for it.

        Not where it may reclaim from anybody: its own quota comes back whenever it asks for it.
        """
        reclaims = entry.queue.spec.preemption.reclaim_within_cohort
        preferred = self._gates.prioritize_preemptor_workloads and entry.is_preemptor
        if reclaims is PreemptionPolicy.ANY and not preferred:
            return
        for cell, amount in entry.usage:
            room = cell.nominal - self._usage[cell]
            if entry.level > 0:
                limit = cell.borrowing_limit
                reserved = amount if limit is None else min(amount, room + limit)
            else:
                reserved = min(amount, room)
            reserved = max(0, reserved)
            book(self._usage, cell, reserved)
            book(self._freed, cell, reserved)

    def _admit(self, entry: Entry) -> None:
        self._book(entry)
        item, queue = entry.item, entry.queue
        assert entry.assignment is not None
        holder = Holder(item, queue, entry.usage, self._outlook.now_us, evicting=False)
        self.moved[queue.tree] = None
        self.decisions[item.workload.key] = admit(entry, admission_of(entry), self._outlook.usage)
        self._admitted.append(holder)

    def _preempt(self, entry: Entry) -> None:
        self._book(entry)
        patience_us = self._outlook.config.patience_us
        asked_before = dict(self._outlook.evicting)
        ending: dict[Holder, int] = {}
        for victim in entry.victims:
            holder = victim.holder
            self._victims[holder] = None
            release_all(self._freed, holder.usage)
            end_us = holder.ends_by_us(self._outlook.now_us, patience_us) if patience_us else None
            if end_us is not None:
                ending[holder] = end_us
            elif not holder.evicting and holder not in self._outlook.evicting:
                self._outlook.evict(holder)
                self.moved[entry.queue.tree] = None
        self._await_victims(entry)
        self._remember_scan(entry, None)
        aside = self._settle_place(entry, Requeue.PENDING_PREEMPTION)
        decision = preempt(entry, aside, ending, asked_before, self._outlook.usage)
        self.decisions[entry.item.workload.key] = decision

    def _await_victims(self, entry: Entry) -> None:
        sticky = entry.queue.spec.strategy is QueueingStrategy.BEST_EFFORT_FIFO
        self._outlook.await_victims(entry.item, entry.victims, sticky=sticky)

    def _send_back(self, entry: Entry, requeue: Requeue, reason: NoQuotaReason) -> None:
        item = entry.item
        if requeue is Requeue.PENDING_PREEMPTION:
            self._remember_scan(entry, None)
        elif entry.progress is not None:
            keep = self._gates.flavor_fungibility_preserve_scan_progress
            failed_late = requeue is Requeue.FAILED_AFTER_NOMINATION
            self._remember_scan(entry, None if failed_late and not keep else entry.progress)
        aside = self._settle_place(entry, requeue)
        self.decisions[item.workload.key] = wait(
            entry, reason, requeue, aside, self._outlook.progress_of(item), self._outlook.usage
        )

    def _remember_scan(self, entry: Entry, progress: ScanProgress | None) -> None:
        """Keep where the flavor scan stopped, or forget it, and note if the next one differs."""
        start = scan_start(progress)
        if not entry.scanned_from:
            self._outlook.scanned_anew[entry.item] = None
        if start != entry.scanned_from:
            self.rescanned[entry.queue.tree] = None
            # A scan that was resumed from an earlier decision says nothing of the flavors before.
            if start or entry.item not in self._outlook.scanned_anew:
                self.scanned[entry.queue.tree] = None
        self._outlook.progress[entry.item] = progress

    def _settle_place(self, entry: Entry, requeue: Requeue) -> Aside:
        """Say where a workload that was not admitted waits, and put it there."""
        item, queue = entry.item, entry.queue
        progress = self._outlook.progress_of(item)
        at_once = (
            requeue is not Requeue.NAMESPACE_MISMATCH
            if queue.spec.strategy is QueueingStrategy.STRICT_FIFO
            else requeue in AT_ONCE
        )
        if self._state.backoff_is_over(item, self._outlook.now_us) and (
            at_once or (progress is not None and progress.untried_flavors)
        ):
            return Aside.HEAP
        self.moved[queue.tree] = None
        whole_group = (
            requeue in GROUP_WIDE
            and self._gates.scheduling_equivalence_hashing
            and queue.spec.strategy is QueueingStrategy.BEST_EFFORT_FIFO
        )
        self._outlook.park(item, whole_group=whole_group)
        return Aside.GROUP_PARKED if whole_group else Aside.PARKED
