"""Whom to preempt so that a workload fits: the classical search, and that of fair sharing."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tests.conformance.oracle.quota import Node, Snapshot, Tree
from tests.conformance.oracle.reading import Queue, Workload, World
from tests.conformance.oracle.values import Amounts, Pair

IN_QUEUE = "InClusterQueue"
RECLAIM = "InCohortReclamation"
RECLAIM_BORROWING = "InCohortReclaimWhileBorrowing"
FAIR = "InCohortFairSharing"
Order = tuple[bool, bool, int, int, str]


class Victim(NamedTuple):
    workload: Workload
    reason: str


class Demand(NamedTuple):
    """Who needs how much; `pairs` are those of which somebody must give way."""

    queue: Queue
    workload: Workload
    pairs: list[Pair]
    asked: Amounts

    @property
    def node(self) -> Node:
        return ("q", self.queue.name)


def search(world: World, snapshot: Snapshot, demand: Demand) -> list[Victim]:
    """Return the victims, or nobody when no choice makes enough room."""
    if world.fair:
        return FairSearch(world, snapshot, demand).victims()
    return ClassicalSearch(world, snapshot, demand).victims()


def drop(snapshot: Snapshot, workload: Workload) -> None:
    assert workload.holds_in is not None
    snapshot.add(workload.holds_in, workload.usage, -1)
    snapshot.holders[workload.holds_in].remove(workload.key)


class _Search:
    def __init__(self, world: World, snapshot: Snapshot, demand: Demand) -> None:
        self.world = world
        self.snapshot = snapshot
        self.demand = demand
        self.tree: Tree = snapshot.tree

    def may_be_taken(self, policy: str, victim: Workload) -> bool:
        mine, other = self.demand.workload, victim
        if policy in ("Any", "Never"):
            return policy == "Any"
        if mine.priority > other.priority:
            return True
        equal = policy == "LowerOrNewerEqualPriority" and mine.priority == other.priority
        return equal and self.world.timestamp(mine) < self.world.timestamp(other)

    def candidates(self, queue: str, policy: str) -> list[Workload]:
        """Return who may be taken of a queue, the first to go first."""
        holders = (self.world.workloads[key] for key in self.snapshot.holders[queue])
        found = [
            each
            for each in holders
            if any(pair in each.usage for pair in self.demand.pairs)
            and self.may_be_taken(policy, each)
        ]
        return sorted(found, key=self.order)

    def order(self, victim: Workload) -> Order:
        """Evicted first, then other queues, low priority, short runs."""
        reserved = victim.conditions.get("QuotaReserved")
        since = reserved.since if reserved and reserved.status else self.world.now
        mine = victim.holds_in == self.demand.queue.name
        return (not victim.true("Evicted"), mine, victim.priority, -since, victim.uid)


def _spare(
    snapshot: Snapshot, victims: list[Victim], fits: Callable[[Snapshot], bool]
) -> list[Victim]:
    """Return the victims without those that need not go: the last but one is asked first."""
    kept = list(victims)
    for index in range(len(kept) - 2, -1, -1):
        spared = kept[index].workload
        assert spared.holds_in is not None
        snapshot.add(spared.holds_in, spared.usage)
        if fits(snapshot):
            kept[index] = kept[-1]
            kept.pop()
        else:
            snapshot.add(spared.holds_in, spared.usage, -1)
    return kept


# --- Classical -----------------------------------------------------------------------------------


class ClassicalSearch(_Search):
    """Takes back what others borrow, and what lower priority has in the own queue."""

    def victims(self) -> list[Victim]:
        self.meets: dict[str, Node] = {}
        self.reasons: dict[str, str] = {}
        queue = self.demand.queue
        own = self.candidates(queue.name, queue.policy("withinClusterQueue"))
        self.reasons |= {each.key: IN_QUEUE for each in own}
        hierarchical, by_priority = self._others()
        groups = (hierarchical, by_priority, own)
        sequence = [
            each
            for evicted in (True, False)
            for group in groups
            for each in group
            if each.true("Evicted") == evicted
        ]
        attempts = self._attempts(hierarchical, by_priority) if sequence else []
        for borrowing in attempts:
            found = self._attempt(sequence, borrowing=borrowing)
            if found:
                return found
        return []

    def _others(self) -> tuple[list[Workload], list[Workload]]:
        """Return the candidates of other queues: by the right of the tree, and by priority."""
        tree, snapshot, node = self.tree, self.snapshot, self.demand.node
        policy = self.demand.queue.policy("reclaimWithinCohort")
        hierarchical: list[Workload] = []
        by_priority: list[Workload] = []
        if policy == "Never":
            return hierarchical, by_priority
        rest, right, below = self.demand.asked, self._has_room(node, self.demand.asked), node
        for ancestor in tree.ancestors(node):
            rest = {pair: max(0, v - snapshot.local(below, pair)) for pair, v in rest.items()}
            for queue in self._borrowers(ancestor, below):
                for each in self.candidates(queue, policy):
                    self.meets[each.key] = ancestor
                    self.reasons[each.key] = RECLAIM if right else self._reason(each)
                    (hierarchical if right else by_priority).append(each)
            right = right or self._has_room(ancestor, rest)
            below = ancestor
        return sorted(hierarchical, key=self.order), sorted(by_priority, key=self.order)

    def _has_room(self, node: Node, asked: Amounts) -> bool:
        return all(
            self.tree.subtree_quota(node, pair) >= self.snapshot.usage(node, pair) + each
            for pair, each in asked.items()
        )

    def _borrowers(self, cohort: Node, without: Node) -> Iterator[str]:
        for child in self.tree.children[cohort]:
            if child == without or self.snapshot.within(child, self.demand.pairs):
                continue
            if child[0] == "c":
                yield from self._borrowers(child, without)
            elif child[1] in self.tree.active:
                yield child[1]

    def _reason(self, victim: Workload) -> str:
        """Return why a victim goes; only RECLAIM_BORROWING lets the preemptor borrow itself."""
        queue = self.demand.queue
        protected = victim.priority >= self.demand.workload.priority or (
            queue.threshold is not None and victim.priority > queue.threshold
        )
        allowed = queue.borrows_to_preempt and not protected
        return RECLAIM_BORROWING if allowed else "without borrowing"

    def _attempts(self, hierarchical: list[Workload], by_priority: list[Workload]) -> list[bool]:
        """Return whether to try with borrowing, and in which order."""
        node, borrows = self.demand.node, self.demand.queue.borrows_to_preempt
        above_nominal = any(
            self.snapshot.usage(node, pair) >= self.tree.own(node, pair).nominal
            for pair in self.demand.pairs
        )
        if not (hierarchical or by_priority) or (not borrows and above_nominal):
            return [True]
        return [True, False] if borrows or hierarchical else [False, True]

    def _attempt(self, sequence: list[Workload], *, borrowing: bool) -> list[Victim]:
        after, taken = self.snapshot.copy(), list[Victim]()

        def fits(snapshot: Snapshot) -> bool:
            return snapshot.fits(self.demand.node, self.demand.asked, borrowing=borrowing)

        for victim in sequence:
            reason = self.reasons[victim.key]
            if reason == "without borrowing":
                if borrowing:
                    continue
                reason = RECLAIM
            if reason != IN_QUEUE and not self._still_borrows(after, victim):
                continue
            drop(after, victim)
            taken.append(Victim(victim, reason))
            if fits(after):
                return _spare(after, taken, fits)
        return []

    def _still_borrows(self, after: Snapshot, victim: Workload) -> bool:
        assert victim.holds_in is not None
        node: Node | None = ("q", victim.holds_in)
        while node is not None and node != self.meets[victim.key]:
            if after.within(node, self.demand.pairs):
                return False
            node = self.tree.parent(node)
        return True


# --- Fair sharing --------------------------------------------------------------------------------


class FairSearch(_Search):
    """Takes from whoever has the largest share, as long as that makes shares more equal."""

    def victims(self) -> list[Victim]:
        node = self.demand.node
        self.after = self.snapshot.copy()
        self.after.add(self.demand.queue.name, self.demand.asked)
        self.path = [node, *self.tree.ancestors(node)]
        self.left = dict(self._candidates())
        self.dropped: list[Node] = []
        self.retry: dict[Node, list[Workload]] = {}
        self.taken: list[Victim] = []
        if self._first_phase() or (len(self.world.strategies) > 1 and self._second_phase()):
            self.after.add(self.demand.queue.name, self.demand.asked, -1)
            return _spare(self.after, self.taken, self._has_room)
        return []

    def _candidates(self) -> Iterator[tuple[Node, list[Workload]]]:
        tree, node, queue = self.tree, self.demand.node, self.demand.queue
        yield node, self.candidates(queue.name, queue.policy("withinClusterQueue"))
        policy = queue.policy("reclaimWithinCohort")
        if tree.parent(node) is None or policy == "Never":
            return
        for other in tree.below(tree.root(node)):
            active = other[0] == "q" and other[1] in tree.active
            if active and other != node and not self.snapshot.within(other, self.demand.pairs):
                yield other, self.candidates(other[1], policy)

    def _has_room(self, snapshot: Snapshot) -> bool:
        return snapshot.fits(self.demand.node, self.demand.asked)

    def _take(self, victim: Workload, reason: str) -> bool:
        """Take a victim, and return whether that is enough."""
        self.taken.append(Victim(victim, reason))
        drop(self.after, victim)
        without = self.after.copy()
        without.add(self.demand.queue.name, self.demand.asked, -1)
        return self._has_room(without)

    def _first_phase(self) -> bool:
        node, pairs = self.demand.node, self.demand.pairs
        within = self.world.gates["FairSharingPreemptWithinNominal"]
        within = within and self.after.within(node, pairs)
        while (target := self._select()) is not None:
            if target == node or within:
                reason = IN_QUEUE if target == node else RECLAIM
                if self._take(self.left[target].pop(0), reason):
                    return True
                continue
            victim = self._fair_victim(target)
            if victim is not None and self._take(victim, FAIR):
                return True
        return False

    def _fair_victim(self, target: Node) -> Workload | None:
        """Return the first whose loss the target can bear better than we can bear to wait."""
        ours, theirs = self._rivals(target)
        new, old = self.after.share(ours), self.after.share(theirs)
        left = self.left[target]
        refused = self.retry.setdefault(target, [])
        if new[0] and not old[0]:
            refused += left
            left.clear()
        while left:
            victim = left.pop(0)
            if self.world.strategies[0] == "LessThanOrEqualToFinalShare":
                without = self.after.copy()
                drop(without, victim)
                bearable = new <= without.share(theirs)
            else:
                bearable = new < old
            if bearable:
                return victim
            refused.append(victim)
        return None

    def _second_phase(self) -> bool:
        """Take one of each queue that had too small a share before, by its share before."""
        self.left = self.retry
        self.dropped = []
        while (target := self._select()) is not None:
            self.dropped.append(target)
            ours, theirs = self._rivals(target)
            bearable = self.after.share(ours) < self.after.share(theirs)
            if bearable and self._take(self.left[target][0], FAIR):
                return True
        return False

    def _rivals(self, target: Node) -> tuple[Node, Node]:
        """Return the two nodes whose shares are compared: children of the lowest common cohort."""
        theirs = target
        while self.tree.parent(theirs) not in self.path:
            above = self.tree.parent(theirs)
            assert above is not None
            theirs = above
        common = self.tree.parent(theirs)
        ours = next(each for each in self.path if self.tree.parent(each) == common)
        return ours, theirs

    def _select(self) -> Node | None:
        """Return the queue to take from: down the tree along the largest shares."""
        node, root = self.demand.node, self.tree.root(self.demand.node)
        if node == root:
            return node if self.left.get(node) else None
        while root not in self.dropped:
            cohort = root
            while True:
                queue = self._largest_queue(cohort)
                below = self._largest_cohort(cohort)
                if below is not None and (
                    queue is None or self.after.share(below) >= self.after.share(queue)
                ):
                    cohort = below
                    continue
                break
            if queue is not None:
                return queue
            self.dropped.append(cohort)
        return None

    def _largest_queue(self, cohort: Node) -> Node | None:
        best: Node | None = None
        for child in self._children(cohort, "q"):
            if child[1] not in self.tree.active:
                continue
            stays = child == self.demand.node or self.after.borrows(child)
            if not self.left.get(child) or not stays:
                self.dropped.append(child)
                continue
            if best is None or self._before(child, best):
                best = child
        return best

    def _before(self, left: Node, right: Node) -> bool:
        ours, theirs = self.after.share(left), self.after.share(right)
        first = self.order(self.left[left][0]) < self.order(self.left[right][0])
        return ours > theirs or (ours == theirs and first)

    def _largest_cohort(self, cohort: Node) -> Node | None:
        best: Node | None = None
        for child in self._children(cohort, "c"):
            if child not in self.path and not self.after.borrows(child):
                self.dropped.append(child)
            elif best is None or self.after.share(child) >= self.after.share(best):
                best = child
        return best

    def _children(self, cohort: Node, kind: str) -> Iterable[Node]:
        children = sorted(self.tree.children[cohort])
        return [each for each in children if each[0] == kind and each not in self.dropped]
