"""The cycle: heads are nominated, ordered, processed one after the other, and put back."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.oracle.assignment import Assigner, Assignment, Pins
from tests.conformance.oracle.quota import Node, Snapshot
from tests.conformance.oracle.reading import Progress, Queue, Tried, Workload, World
from tests.conformance.oracle.values import (
    UNLIMITED,
    Amounts,
    amount,
    minus,
    plus,
    quantity,
    selects,
)
from tests.conformance.oracle.victims import Demand, Victim, drop, search

SECOND = 10**6
PARKING = ("NoFit", "PreemptionNoCandidates")
"""Why a workload is set aside with all that are like it."""


@dataclass
class Entry:
    """The head of a queue in one cycle."""

    queue: Queue
    workload: Workload
    was_preemptor: bool
    assignment: Assignment = field(default_factory=Assignment)
    victims: list[Victim] = field(default_factory=list)

    @property
    def usage(self) -> Amounts:
        return {} if self.assignment.mode == "NoFit" else self.assignment.usage

    @property
    def node(self) -> Node:
        return ("q", self.queue.name)


class Scheduler:
    """Runs cycles on a world and writes into it what is decided."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tree = world.tree
        self.gates = world.gates
        self.cycle = 0
        self.generations = dict.fromkeys(world.queues, 1)
        self.used: dict[str, Amounts] = {name: {} for name in world.queues}
        self.holders: dict[str, list[str]] = {name: [] for name in world.queues}
        for workload in world.workloads.values():
            queue = world.queue_of(workload)
            if queue is not None and workload.queueable:
                queue.heap.append(workload.key)
        for workload in world.workloads.values():
            over = workload.true("Finished") or not workload.active
            if workload.true("QuotaReserved") and not over:
                self._hold(workload)

    def run(self, name: str, cycles: int) -> dict[str, Any]:
        """Run at the most so many cycles, and return the outcome."""
        done = 0
        for number in range(cycles):
            if number > 0:
                self._stop_the_evicted()
                self.world.now += SECOND
            if not any(self.world.queues[each].heap for each in self.tree.active):
                break
            self._run_cycle()
            done += 1
        return self._outcome(name, done)

    def _outcome(self, name: str, cycles: int) -> dict[str, Any]:
        workloads: dict[str, Any] = {}
        for key, workload in sorted(self.world.workloads.items()):
            conditions = {
                kind: [str(each.status), each.reason] for kind, each in workload.conditions.items()
            }
            workloads[key] = {"conditions": conditions}
            if workload.admission:
                workloads[key]["admission"] = workload.admission
        queues = self.world.queues.values()
        return {
            "name": name,
            "cycles": cycles,
            "workloads": workloads,
            "heap": {q.name: sorted(q.heap) for q in queues if q.heap},
            "inadmissible": {q.name: sorted(q.inadmissible) for q in queues if q.inadmissible},
        }

    # --- Quota that is held ----------------------------------------------------------------------

    def _hold(self, workload: Workload) -> None:
        """Count what an admission says, less what pods that are done have given back."""
        admission = workload.admission
        if not admission or admission["clusterQueue"] not in self.world.queues:
            return
        counts = zip(workload.pod_sets, self.world.counts(workload), strict=True)
        running = {pod_set.name: count for pod_set, count in counts}
        total = {pod_set.name: pod_set.count for pod_set in workload.pod_sets}
        usage: Amounts = {}
        for given in admission["podSetAssignments"]:
            name = given["name"]
            count = given.get("count")
            count = total.get(name, 0) if count is None else count
            left = running.get(name, count)
            for resource, text in (given.get("resourceUsage") or {}).items():
                pair = (given["flavors"][resource], resource)
                each = amount(resource, quantity(text))
                each = each // count * left if left < count else each
                usage[pair] = usage.get(pair, 0) + each
        name = admission["clusterQueue"]
        workload.holds_in, workload.usage = name, usage
        self.holders[name].append(workload.key)
        for pair, each in usage.items():
            self.used[name][pair] = self.used[name].get(pair, 0) + each

    def _release(self, workload: Workload) -> None:
        name = workload.holds_in
        if name is not None:
            for pair, each in workload.usage.items():
                self.used[name][pair] -= each
            self.holders[name].remove(workload.key)
            self.generations[name] += 1
        workload.holds_in, workload.usage = None, {}

    # --- Queues ----------------------------------------------------------------------------------

    def _stop_the_evicted(self) -> None:
        for workload in self.world.workloads.values():
            if not (workload.true("QuotaReserved") and workload.true("Evicted")):
                continue
            self._release(workload)
            workload.admission = None
            workload.set("QuotaReserved", "Pending", self.world.now, status=False)
            workload.set("Admitted", "NoReservation", self.world.now, status=False)
            self._push(workload)
            local = self.world.local_queues.get(workload.local_queue)
            if local is not None and local["clusterQueue"] in self.world.queues:
                self._sweep(("q", local["clusterQueue"]))

    def _push(self, workload: Workload) -> None:
        queue = self.world.queue_of(workload)
        if queue is None or not workload.queueable:
            return
        known = not queue.strict and self.world.shape(workload) in queue.failed
        waits = known or not workload.backed_off(self.world.now)
        (queue.inadmissible if waits else queue.heap).append(workload.key)

    def _sweep(self, node: Node) -> None:
        """Look again at everybody who was set aside in a whole tree."""
        if node in self.tree.cyclic:
            return
        for each in self.tree.below(self.tree.root(node)):
            if each[0] == "q":
                self._wake(self.world.queues[each[1]])

    def _wake(self, queue: Queue) -> None:
        queue.failed = set()
        for key in list(queue.inadmissible):
            workload = self.world.workloads[key]
            labels = self.world.namespaces.get(workload.namespace)
            may = labels is not None and selects(queue.spec.get("namespaceSelector"), labels)
            if may and workload.backed_off(self.world.now):
                queue.inadmissible.remove(key)
                queue.heap.append(key)

    def _pop(self, queue: Queue) -> Workload:
        def order(key: str) -> tuple[bool, int, int, str]:
            workload = self.world.workloads[key]
            waited = self.world.timestamp(workload)
            return (queue.sticky != key, -workload.priority, waited, workload.uid)

        key = min(queue.heap, key=order)
        queue.heap.remove(key)
        return self.world.workloads[key]

    # --- One cycle -------------------------------------------------------------------------------

    def _run_cycle(self) -> None:
        self.cycle += 1
        snapshot = Snapshot(self.tree, self.used, self.holders)
        entries: list[Entry] = []
        refused: list[tuple[Entry, str, str]] = []
        for name in sorted(self.tree.active):
            queue = self.world.queues[name]
            if not queue.heap:
                continue
            head = self._pop(queue)
            entry = Entry(queue, head, was_preemptor=queue.preemptor == head.key)
            refusal = self._refusal(entry)
            if refusal is None:
                self._nominate(snapshot, entry)
                entries.append(entry)
            else:
                refused.append((entry, *refusal))
        for each in refused:
            self._put_back(*each)
        if not self.world.fair:
            entries.sort(key=self._classical_order)
        taken: list[Workload] = []
        while entries:
            entry = self._fairest(snapshot, entries) if self.world.fair else entries[0]
            entries.remove(entry)
            self._process(snapshot, entry, taken)
        self._forget_preemptors()

    def _forget_preemptors(self) -> None:
        for queue in self.world.queues.values():
            for key in (queue.preemptor, queue.sticky):
                if key is not None and self.world.workloads[key].holds_in:
                    queue.preemptor = None if queue.preemptor == key else queue.preemptor
                    queue.sticky = None if queue.sticky == key else queue.sticky

    def _refusal(self, entry: Entry) -> tuple[str, str] | None:
        workload, queue = entry.workload, entry.queue
        if any(state in ("Retry", "Rejected") for state in workload.checks.values()):
            return "Generic", "PendingEvaluation"
        if workload.namespace not in self.world.namespaces:
            return "Generic", "Misconfigured"
        labels = self.world.namespaces[workload.namespace]
        if not selects(queue.spec.get("namespaceSelector"), labels):
            return "NamespaceMismatch", "Misconfigured"
        return ("Generic", "Misconfigured") if workload.problem else None

    def _nominate(self, snapshot: Snapshot, entry: Entry) -> None:
        progress = entry.workload.progress
        fresh = progress is not None and not self._outdated(entry, progress)
        self._assign(snapshot, entry, progress.tried if progress and fresh else [], None)

    def _outdated(self, entry: Entry, progress: Progress) -> bool:
        newer = self.generations[entry.queue.name] > progress.generation
        if not self.gates["FlavorFungibilityPreserveScanProgress"]:
            return newer
        if progress.shape != self.world.shape(entry.workload):
            return True
        return newer and progress.cycle < self.cycle - 1

    def _assign(self, snapshot: Snapshot, entry: Entry, resume: Tried, pins: Pins | None) -> None:
        """Find an assignment for all pods or, where fewer are enough, for as many as possible."""
        workload = entry.workload
        counts = self.world.counts(workload)
        whole = [
            {name: min(each * count, UNLIMITED) for name, each in pod_set.requests.items()}
            for pod_set, count in zip(workload.pod_sets, counts, strict=True)
        ]
        assigner = Assigner(self.world, snapshot, entry.queue, workload, resume)

        def attempt(fewer: list[int] | None) -> bool:
            asked, now = whole, counts
            if fewer is not None:
                asked, now = _scaled(whole, counts, fewer), fewer
            assignment = assigner.assign(asked, now, pins)
            victims = self._victims(snapshot, entry, assignment)
            done = assignment.mode == "Fit" or bool(victims)
            if done or fewer is None:
                entry.assignment, entry.victims = assignment, victims
            return done

        if not attempt(None) and self.gates["PartialAdmission"]:
            gaps = [
                0 if p.minimum is None else max(0, p.count - p.minimum) for p in workload.pod_sets
            ]
            low, high, total = 0, sum(gaps) + 1, sum(gaps)
            while total and low < high:
                middle = (low + high) // 2
                pairs = zip(workload.pod_sets, gaps, strict=True)
                if attempt([p.count - gap * middle // total for p, gap in pairs]):
                    high = middle
                else:
                    low = middle + 1

    def _victims(self, snapshot: Snapshot, entry: Entry, assignment: Assignment) -> list[Victim]:
        if assignment.mode != "Preempt":
            return []
        demand = Demand(entry.queue, entry.workload, assignment.preempts, assignment.usage)
        return search(self.world, snapshot, demand)

    # --- Order -----------------------------------------------------------------------------------

    def _by_priority(self, entry: Entry) -> tuple[int, int, str, str]:
        workload = entry.workload
        sorting = self.gates["PrioritySortingWithinCohort"]
        priority = -workload.priority if sorting else 0
        return (priority, self.world.timestamp(workload), workload.uid, workload.key)

    def _goes_first(self, entry: Entry) -> bool:
        return self.gates["PrioritizePreemptorWorkloads"] and entry.was_preemptor

    def _classical_order(self, entry: Entry) -> tuple[object, ...]:
        return (not self._goes_first(entry), entry.assignment.level, *self._by_priority(entry))

    def _fairest(self, snapshot: Snapshot, entries: list[Entry]) -> Entry:
        """Return the winner of the first tree: of each cohort the smallest share goes on."""
        root = self.tree.root(entries[0].node)
        by_node = {entry.node: entry for entry in entries}

        def winner(cohort: Node) -> Entry | None:
            found = []
            for child in self.tree.children[cohort]:
                best = winner(child) if child[0] == "c" else by_node.get(child)
                if best is not None:
                    found.append((self._fair_order(snapshot, child, best), best))
            return min(found, key=lambda each: each[0])[1] if found else None

        return (winner(root) if root[0] == "c" else None) or entries[0]

    def _fair_order(self, snapshot: Snapshot, node: Node, entry: Entry) -> tuple[Any, ...]:
        after = snapshot.copy()
        after.add(entry.queue.name, entry.usage)
        borrows = self.gates["FairSharingPrioritizeNonBorrowing"] and any(
            each > 0 and after.usage(node, pair) > self.tree.subtree_quota(node, pair)
            for pair, each in entry.usage.items()
        )
        order = self._by_priority(entry)
        return (not self._goes_first(entry), borrows, after.share(node), *order)

    # --- Decisions -------------------------------------------------------------------------------

    def _process(self, snapshot: Snapshot, entry: Entry, taken: list[Workload]) -> None:
        """Decide about one entry; `taken` are the victims of those before it."""
        fits = _fits(snapshot, entry, taken)
        overlaps = _overlaps(entry, taken)
        deferred = False
        if overlaps and self.gates["RecomputeAssignmentUponPreemptionTargetsOverlap"]:
            after = snapshot.copy()
            for victim in taken:
                drop(after, victim)
            self._assign(after, entry, [], [each.flavors for each in entry.assignment.pod_sets])
            deferred = entry.assignment.mode == "Fit"
            overlaps = _overlaps(entry, taken)
            fits = _fits(snapshot, entry, taken)
        if entry.assignment.mode == "NoFit":
            self._put_back(entry, "NoFit", entry.assignment.reason)
        elif entry.assignment.mode == "Preempt" and not entry.victims:
            self._claim(snapshot, entry)
            self._put_back(entry, "PreemptionNoCandidates", "WaitingForQuota")
        elif deferred:
            snapshot.add(entry.queue.name, entry.usage)
            self._put_back(entry, "PendingPreemption", "WaitingForPreemptedWorkloads")
        elif overlaps or not fits:
            self._put_back(entry, "FailedAfterNomination", "WaitingForQuota")
        else:
            taken += [each for each, _ in entry.victims if each not in taken]
            snapshot.add(entry.queue.name, entry.usage)
            if entry.victims:
                self._evict(entry.victims)
                self._put_back(entry, "PendingPreemption", "WaitingForPreemptedWorkloads")
            else:
                self._admit(entry)

    def _claim(self, snapshot: Snapshot, entry: Entry) -> None:
        """Hold quota back for who finds no victims, unless it may reclaim it at any time."""
        any_time = entry.queue.policy("reclaimWithinCohort") == "Any"
        if any_time and not self._goes_first(entry):
            return
        claimed: Amounts = {}
        for pair, each in entry.usage.items():
            own = self.tree.own(entry.node, pair)
            room = minus(own.nominal, snapshot.usage(entry.node, pair))
            if entry.assignment.level == 0:
                claimed[pair] = max(0, min(each, room))
            elif own.borrowing is None:
                claimed[pair] = each
            else:
                claimed[pair] = max(0, min(each, plus(room, own.borrowing)))
        snapshot.add(entry.queue.name, claimed)

    def _evict(self, victims: Iterable[Victim]) -> None:
        for victim, reason in victims:
            if not victim.true("Evicted"):
                victim.checks = dict.fromkeys(victim.checks, "Pending")
                victim.set("Evicted", "Preempted", self.world.now, status=True)
                victim.set("Preempted", reason, self.world.now, status=True)

    def _admit(self, entry: Entry) -> None:
        workload, queue, now = entry.workload, entry.queue, self.world.now
        workload.admission = {
            "clusterQueue": queue.name,
            "podSetAssignments": [
                {
                    "name": given.name,
                    "flavors": given.flavors,
                    "resourceUsage": {
                        resource: f"{each}m" if resource == "cpu" else str(each)
                        for resource, each in given.usage.items()
                    },
                    "count": given.count,
                }
                for given in entry.assignment.pod_sets
            ],
        }
        workload.set("QuotaReserved", "QuotaReserved", now, status=True)
        workload.progress = None
        for condition in ("Evicted", "Preempted"):
            if workload.true(condition):
                workload.set(condition, "QuotaReserved", now, status=False)
        used = [flavor for g in entry.assignment.pod_sets for flavor in g.flavors.values()]
        needed = [name for name, on in queue.checks if any(f in used for f in on or queue.flavors)]
        if all(name in workload.checks for name in needed):
            ready = all(state == "Ready" for state in workload.checks.values())
            workload.set("Admitted", "Admitted", now, status=ready)
        self._hold(workload)

    def _put_back(self, entry: Entry, why: str, reason: str) -> None:
        workload, queue, now = entry.workload, entry.queue, self.world.now
        self._remember(entry, why)
        workload.admission = None
        if workload.true("Admitted"):
            workload.set("Admitted", "NoReservation", now, status=False)
        told = reason if self.gates["UnadmittedWorkloadsObservability"] else "Pending"
        workload.set("QuotaReserved", told, now, status=False)
        again = why in ("FailedAfterNomination", "PendingPreemption")
        if queue.strict:
            again = why != "NamespaceMismatch"
        if workload.progress is not None:
            again = again or any(i != -1 for each in workload.progress.tried for i in each.values())
        if again and workload.backed_off(now):
            queue.heap.append(workload.key)
            return
        queue.inadmissible.append(workload.key)
        hashing = self.gates["SchedulingEquivalenceHashing"]
        if hashing and not queue.strict and why in PARKING:
            self._park(queue, workload)

    def _remember(self, entry: Entry, why: str) -> None:
        """Note where the search for flavors goes on, and who waits for victims."""
        workload, queue = entry.workload, entry.queue
        if why == "PendingPreemption":
            workload.progress = None
            queue.preemptor = workload.key
            queue.sticky = None if queue.strict else workload.key
        elif why in (*PARKING, "FailedAfterNomination"):
            kept = why in PARKING or self.gates["FlavorFungibilityPreserveScanProgress"]
            workload.progress = Progress(
                tried=entry.assignment.tried,
                shape=self.world.shape(workload),
                generation=self.generations[queue.name],
                cycle=self.cycle,
            )
            workload.progress = workload.progress if kept else None

    def _park(self, queue: Queue, workload: Workload) -> None:
        """Set everybody aside who is like a workload that was."""
        shape = self.world.shape(workload)
        queue.failed.add(shape)
        for key in list(queue.heap):
            if self.world.shape(self.world.workloads[key]) == shape:
                queue.heap.remove(key)
                queue.inadmissible.append(key)


def _scaled(
    whole: list[dict[str, int]], counts: list[int], fewer: list[int]
) -> list[dict[str, int]]:
    """Return the requests of fewer pods."""
    return [
        {name: each // count * now if count else each for name, each in asked.items()}
        for asked, count, now in zip(whole, counts, fewer, strict=True)
    ]


def _overlaps(entry: Entry, taken: list[Workload]) -> bool:
    return any(victim in taken for victim, _ in entry.victims)


def _fits(snapshot: Snapshot, entry: Entry, taken: list[Workload]) -> bool:
    """Whether an entry fits when all victims are gone."""
    after = snapshot.copy()
    gone = {each.key: each for each in (*taken, *(victim for victim, _ in entry.victims))}
    for victim in gone.values():
        assert victim.holds_in is not None
        after.add(victim.holds_in, victim.usage, -1)
    return after.fits(entry.node, entry.usage)
