"""
The lines of waiting workloads: who waits where, where there is something to look at, who is woken.

A workload waits in the heap of its ClusterQueue or was set aside. Trees in which something happened
since a decision found nothing more to do are *stirred*; only there are heads looked at. A *sweep*
gives everything that was set aside in a tree another try; after a release only those are woken whom
it may help (`waking`). Alarms tell when something is worth another look without an outside event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from heapq import heappop, heappush

from muster.admission import lifecycle
from muster.admission.config import Config
from muster.admission.eligibility import selects
from muster.admission.objects import Namespace, QueueingStrategy
from muster.admission.pending import Group, Place
from muster.admission.plan import LookedAt
from muster.admission.records import Item, Queue, Tree, shape_of
from muster.admission.waking import whom_to_wake


class Lines:
    def __init__(self, config: Config, namespaces: Mapping[str, Namespace]) -> None:
        self._config = config
        self._namespaces = namespaces
        self.stirred: dict[Tree, None] = {}
        self.alarms: list[tuple[int, str]] = []
        """(instant, workload key) at which a back-off ends, or patience with victims does."""
        self._to_sweep: dict[Queue, None] = {}
        self._to_wake: dict[Queue, None] = {}
        self._to_ask_again: dict[Tree, None] = {}
        """Trees in which somebody was not woken because others went first."""
        self._ticks = 0

    # --- One workload ----------------------------------------------------------------------------

    def join(self, item: Item, queue: Queue, now_us: int, *, at_the_heap: bool = False) -> None:
        """
        Let a workload wait in a queue.

        It is set aside if it backs off or its shape was found not to fit, unless it is to be put
        into the heap in any case.
        """
        item.queue = queue
        shape = shape_of(item, self._config.gates)
        group = queue.pending.groups.get(shape)
        resting = not lifecycle.backoff_expired(item.status, now_us)
        at_us = item.status.requeue_at_us
        if at_us is not None and at_us > now_us:
            self.ring_at(at_us, item)
        failed = (
            group is not None
            and group.failed
            and queue.spec.strategy is QueueingStrategy.BEST_EFFORT_FIFO
        )
        if (resting or failed) and not at_the_heap:
            queue.pending.park(item, shape)
            item.evaluated_generation = queue.generation
        else:
            ready = self._may_return(item, queue=queue, now_us=now_us)
            queue.pending.push(item, shape, ready=ready)
            self.stir(queue)
        self._note(queue)

    def leave(self, item: Item) -> None:
        """Take a workload out of the line it waits in, if it does."""
        if item.place in (Place.HEAP, Place.PARKED):
            queue = item.queue
            assert queue is not None, "who waits has a queue"
            queue.pending.remove(item)
            self._note(queue)
            self.stir(queue)

    def park(self, item: Item, queue: Queue) -> None:
        """Move one workload from the heap to the inadmissible set."""
        queue.pending.remove(item)
        queue.pending.park(item, shape_of(item, self._config.gates))
        self._note(queue)

    def park_group(self, group: Group, queue: Queue) -> None:
        """Set all workloads of a shape aside."""
        queue.pending.fail(group)
        self._note(queue)

    # --- Where there is something to look at -----------------------------------------------------

    def to_look_at(self, heads_max: int | None) -> tuple[list[Queue], bool]:
        """
        Return the queues with heads in trees where something happened, and whether some are left.

        Queues are in name order. With `heads_max`, as many trees as have so many heads together,
        at least one: those first in which something happened first.
        """
        ready: list[Queue] = []
        left_over = False
        for tree in self.stirred:
            if heads_max is not None and ready and len(ready) + len(tree.ready) > heads_max:
                left_over = True
                break
            ready += tree.ready
        return sorted(ready, key=lambda queue: queue.name), left_over

    def stir(self, queue: Queue) -> None:
        """Note that something happened in a queue's tree."""
        queue.tree.stirred = self._tick()
        self.stirred[queue.tree] = None

    def calm(self, looked_at: Iterable[LookedAt], queues: Mapping[str, Queue]) -> None:
        """
        Let trees rest that a decision left as they were, if nothing happened there since.

        The others are looked at again after those that have not been looked at.
        """
        for looked in looked_at:
            queue = queues.get(looked.queue)
            if queue is not None and queue.tree in self.stirred:
                del self.stirred[queue.tree]
                if not looked.steady or queue.tree.stirred != looked.stirred:
                    self.stirred[queue.tree] = None

    def regrow(self, tree: Tree, queue: Queue) -> None:
        """Move a queue into the index of its new tree, and give its work another try."""
        queue.tree.ready.pop(queue, None)
        queue.tree.parked.pop(queue, None)
        queue.tree = tree
        self._note(queue)
        self.request_sweep(queue)

    def close(self, queue: Queue) -> None:
        """Forget a queue that is gone."""
        queue.tree.ready.pop(queue, None)
        queue.tree.parked.pop(queue, None)
        self._to_sweep.pop(queue, None)
        self._to_wake.pop(queue, None)

    def _note(self, queue: Queue) -> None:
        """Keep the tree's index of queues right after a queue's pending work has changed."""
        tree = queue.tree
        if queue.able and queue.pending.heads:
            tree.ready[queue] = None
        else:
            tree.ready.pop(queue, None)
        if queue.pending.set_aside:
            tree.parked[queue] = None
        else:
            tree.parked.pop(queue, None)

    def _tick(self) -> int:
        """Return a number greater than any before: an instant, told from every other."""
        self._ticks += 1
        return self._ticks

    # --- Alarms ----------------------------------------------------------------------------------

    def ring_at(self, at_us: int, item: Item) -> None:
        heappush(self.alarms, (at_us, item.workload.key))

    def ringing(self, now_us: int) -> Iterable[str]:
        """Yield the keys of workloads whose alarms are due, and forget those alarms."""
        while self.alarms and self.alarms[0][0] <= now_us:
            yield heappop(self.alarms)[1]

    # --- Another try -----------------------------------------------------------------------------

    def request_sweep(self, queue: Queue | None) -> None:
        """Give everything in a queue's tree another try, when next settled."""
        if queue is not None:
            self._to_sweep[queue] = None

    def request_waking(self, queue: Queue | None) -> None:
        """Quota was released in a queue's tree: wake whom that may help, when next settled."""
        if queue is not None:
            self._to_wake[queue] = None

    def ask_again(self, looked_at: Iterable[LookedAt], queues: Mapping[str, Queue]) -> None:
        """A decision was made: those not woken before it may have their turn."""
        for looked in looked_at:
            queue = queues.get(looked.queue)
            if queue is not None and queue.tree.later:
                self._to_ask_again[queue.tree] = None

    def settle(self, now_us: int) -> None:
        """Make the sweeps that were requested; forget stirred trees without heads."""
        swept = {queue.tree: None for queue in self._to_sweep}
        woken = {queue.tree: None for queue in self._to_wake if queue.tree not in swept}
        self._to_sweep.clear()
        self._to_wake.clear()
        for tree in swept:
            # Heads that stayed in the heap are looked at again, too.
            tree.swept = tree.stirred = self._tick()
            self.stirred[tree] = None
            tree.later = []
            for queue in list(tree.parked):
                self._bring_back(queue, queue.pending.asleep, now_us)
        for tree in woken:
            sleepers = [(q, group) for q in tree.parked for group in q.pending.asleep]
            self._wake(tree, sleepers, now_us)
        for tree in self._to_ask_again:
            later, tree.later = tree.later, []
            self._wake(tree, [s for s in later if s[1].has_parked or s[1].failed], now_us)
        self._to_ask_again.clear()
        for tree in [tree for tree in self.stirred if not tree.ready]:
            del self.stirred[tree]

    def _wake(self, tree: Tree, sleepers: list[tuple[Queue, Group]], now_us: int) -> None:
        tree.swept = self._tick()
        waking = whom_to_wake(sleepers, self._config)
        tree.later = waking.later
        by_queue: dict[Queue, list[Group]] = {}
        for queue, group in waking.wake:
            by_queue.setdefault(queue, []).append(group)
        for queue, groups in by_queue.items():
            self._bring_back(queue, groups, now_us)

    def _bring_back(self, queue: Queue, groups: list[Group], now_us: int) -> None:
        if queue.cyclic:
            return  # it would be told the same again until the cycle is gone
        may_return = partial(self._may_return, queue=queue, now_us=now_us)
        if queue.pending.sweep(groups, may_return):
            self.stir(queue)
        self._note(queue)

    def _may_return(self, item: Item, *, queue: Queue, now_us: int) -> bool:
        """Whether a workload that was set aside may come back to the heap when swept."""
        namespace = self._namespaces.get(item.workload.namespace)
        return (
            namespace is not None
            and selects(queue.spec.namespace_selector, namespace.labels)
            and lifecycle.backoff_expired(item.status, now_us)
        )
