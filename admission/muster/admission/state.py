"""
Everything the engine remembers, and the one door through which it changes: `State.apply`.

Derived figures (subtree quotas, usage, heaps, groups, ranks of victims) are kept up to date as events
come in; `decide` reads them and never changes them. After a restart, reporting every object once
rebuilds the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from typing import Any

from muster.admission import events, lifecycle, objects
from muster.admission.activity import why_inactive
from muster.admission.amounts import FlavorResource
from muster.admission.cohorts import Forest, Node, below
from muster.admission.compile import Request, compile_request
from muster.admission.conditions import (
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    REQUEUED,
    NoQuotaReason,
)
from muster.admission.config import Config
from muster.admission.eligibility import selects
from muster.admission.objects import QueueingStrategy, StopPolicy
from muster.admission.pending import Group, Place, Shape
from muster.admission.plan import Admit, Aside, CyclePlan, Preempt, Requeue, Wait
from muster.admission.quota import BOOKED, book_all, release_all
from muster.admission.records import Holder, Item, Queue, Tree, Victim
from muster.admission.waking import whom_to_wake


class State:
    def __init__(self, config: Config | None = None) -> None:
        self.config = config or Config()
        self.cycle = 0
        """Rounds decided so far."""
        self.namespaces: dict[str, objects.Namespace] = {}
        self.flavors: dict[str, objects.ResourceFlavor] = {}
        self.topologies: dict[str, objects.Topology] = {}
        self.checks: dict[str, objects.AdmissionCheck] = {}
        self.local_queues: dict[str, objects.LocalQueue] = {}
        self.queues: dict[str, Queue] = {}
        self.items: dict[str, Item] = {}
        self.forest = Forest()
        self._of_local_queue: dict[str, dict[Item, None]] = {}
        self._unbooked: dict[str, dict[Item, None]] = {}
        """Workloads that hold quota of a ClusterQueue that is not there (yet)."""
        self._unchecked: dict[Queue, None] = {}
        """Queues whose activity may have changed."""
        self._to_sweep: dict[Queue, None] = {}
        self._to_wake: dict[Queue, None] = {}
        self._to_ask_again: dict[Tree, None] = {}
        """Trees in which somebody was not woken because others went first."""
        self._stirred: dict[Tree, None] = {}
        self._ticks = 0
        self._alarms: list[tuple[int, str]] = []
        """(instant, workload key) at which a back-off ends, or patience with victims does."""

    # --- The door --------------------------------------------------------------------------------

    def apply(self, event: events.Event, now_us: int) -> None:
        """Take note of what happened. Times are microseconds since the epoch."""
        handler: Callable[[State, Any, int], None] = _HANDLERS[type(event)]
        handler(self, event, now_us)

    def settle(self, now_us: int) -> None:
        """Bring derived figures up to date; `decide` calls it, more often does no harm."""
        for queue in self._unchecked:
            self._check_activity(queue)
        self._unchecked.clear()
        for root in self.forest.settle():
            self._regrow(root)
        self._sweep(now_us)
        for tree in [tree for tree in self._stirred if not tree.ready]:
            del self._stirred[tree]

    @property
    def next_alarm_us(self) -> int | None:
        """When `TimePassed` will next be worth reporting, if nothing else happens before."""
        return self._alarms[0][0] if self._alarms else None

    # --- What decisions read ---------------------------------------------------------------------

    def queues_to_look_at(self) -> list[Queue]:
        """Return the queues with heads in trees where something happened, by name."""
        ready = (queue for tree in self._stirred for queue in tree.ready)
        return sorted(ready, key=lambda queue: queue.name)

    @property
    def has_heads(self) -> bool:
        """Whether any active queue has a workload in its heap."""
        return any(queue.active and queue.pending.heads for queue in self.queues.values())

    def backoff_is_over(self, item: Item, now_us: int) -> bool:
        return lifecycle.backoff_expired(item.status, now_us)

    def request(self, item: Item, counts: tuple[int, ...] | None = None) -> Request:
        """Return what a waiting workload asks of its queue, at given pod counts or in full."""
        group, queue = item.group, item.queue
        assert group is not None
        assert queue is not None
        if counts is None:
            counts = group.counts
        found = group.requests.get(counts)
        if found is None:
            found = group.requests[counts] = compile_request(
                queue,
                item.workload.pod_sets,
                counts,
                self.flavors,
                ignore_undeclared=self.config.ignore_undeclared_resources,
            )
        return found

    # --- Objects other than workloads ------------------------------------------------------------

    def _namespace_seen(self, event: events.NamespaceSeen, _now_us: int) -> None:
        new = event.namespace
        old = self.namespaces.get(new.name)
        self.namespaces[new.name] = new
        for queue in self.queues.values():
            selector = queue.spec.namespace_selector
            if selects(selector, new.labels) and (
                old is None or not selects(selector, old.labels)
            ):
                self._request_sweep(queue)

    def _namespace_gone(self, event: events.NamespaceGone, _now_us: int) -> None:
        self.namespaces.pop(event.name, None)

    def _flavor_seen(self, event: events.FlavorSeen, _now_us: int) -> None:
        flavor = event.flavor
        if self.flavors.get(flavor.name) != flavor:
            self.flavors[flavor.name] = flavor
            self._flavor_changed(flavor.name)

    def _flavor_gone(self, event: events.FlavorGone, _now_us: int) -> None:
        if self.flavors.pop(event.name, None) is not None:
            self._flavor_changed(event.name)

    def _flavor_changed(self, name: str) -> None:
        for queue in self.queues.values():
            if any(name in group.flavors for group in queue.spec.groups):
                queue.pending.forget_requests()
                self._unchecked[queue] = None
                self._request_sweep(queue)

    def _topology_seen(self, event: events.TopologySeen, _now_us: int) -> None:
        self.topologies[event.topology.name] = event.topology
        self._unchecked.update(dict.fromkeys(self.queues.values()))

    def _topology_gone(self, event: events.TopologyGone, _now_us: int) -> None:
        self.topologies.pop(event.name, None)
        self._unchecked.update(dict.fromkeys(self.queues.values()))

    def _check_seen(self, event: events.CheckSeen, _now_us: int) -> None:
        self.checks[event.check.name] = event.check
        self._recheck_users_of(event.check.name)

    def _check_gone(self, event: events.CheckGone, _now_us: int) -> None:
        self.checks.pop(event.name, None)
        self._recheck_users_of(event.name)

    def _recheck_users_of(self, check: str) -> None:
        for queue in self.queues.values():
            if any(rule.check == check for rule in queue.spec.checks):
                self._unchecked[queue] = None

    def _cohort_seen(self, event: events.CohortSeen, _now_us: int) -> None:
        self.forest.declare(event.cohort)

    def _cohort_gone(self, event: events.CohortGone, _now_us: int) -> None:
        self.forest.retract(event.name)

    def _cluster_queue_seen(self, event: events.ClusterQueueSeen, now_us: int) -> None:
        spec = event.cluster_queue
        queue = self.queues.get(spec.name)
        if queue is not None and queue.spec == spec:
            return
        if queue is None:
            queue = self.queues[spec.name] = Queue(spec)
        queue.respecify(spec)
        self.forest.place(queue, spec.cohort)
        self._unchecked[queue] = None
        self._request_sweep(queue)
        for item in list(self._unbooked.pop(spec.name, ())):
            self._reserve(item)
        for local_queue in self.local_queues.values():
            if local_queue.cluster_queue == spec.name:
                self._fill_from(local_queue, now_us)

    def _cluster_queue_gone(self, event: events.ClusterQueueGone, now_us: int) -> None:
        queue = self.queues.pop(event.name, None)
        if queue is None:
            return
        for holder in (*queue.holders, *queue.evicting):
            holder.item.holder = None
            self._unbooked.setdefault(event.name, {})[holder.item] = None
        self.forest.remove(queue)
        queue.tree.ready.pop(queue, None)
        queue.tree.parked.pop(queue, None)
        self._unchecked.pop(queue, None)
        self._to_sweep.pop(queue, None)
        self._to_wake.pop(queue, None)
        for local_queue in self.local_queues.values():
            if local_queue.cluster_queue == event.name:
                for item in self._of_local_queue.get(local_queue.key, ()):
                    if item.queue is queue:
                        self._unqueue(item)
                        item.queue = None

    def _local_queue_seen(self, event: events.LocalQueueSeen, now_us: int) -> None:
        new = event.local_queue
        if self.local_queues.get(new.key) == new:
            return
        self._empty(new.key)
        self.local_queues[new.key] = new
        self._fill_from(new, now_us)

    def _local_queue_gone(self, event: events.LocalQueueGone, _now_us: int) -> None:
        if self.local_queues.pop(event.key, None) is not None:
            self._empty(event.key)

    def _empty(self, local_queue: str) -> None:
        """Take the waiting workloads of a LocalQueue out of their ClusterQueue."""
        for item in self._of_local_queue.get(local_queue, ()):
            if item.place is not Place.HOLDING:
                self._unqueue(item)
                self._forget_marks(item)
                item.queue = None

    def _fill_from(self, local_queue: objects.LocalQueue, now_us: int) -> None:
        """Put the waiting workloads of a LocalQueue straight into the heap."""
        for item in self._of_local_queue.get(local_queue.key, ()):
            if item.place is Place.NOWHERE:
                self._queue_up(item, now_us, unconditionally=True)

    # --- Workloads -------------------------------------------------------------------------------

    def _workload_seen(self, event: events.WorkloadSeen, now_us: int) -> None:
        workload, status = event.workload, event.status
        item = self.items.get(workload.key)
        if item is not None and item.workload.uid != workload.uid:
            self._forget(item)
            item = None
        if item is None:
            item = self.items[workload.key] = Item(workload, status)
            self._of_local_queue.setdefault(_local_queue_of(workload), {})[item] = None
            self._refresh(item)
            self._find_place(item, now_us)
            return
        old_workload, old_status = item.workload, item.status
        if old_workload.local_queue != workload.local_queue:
            self._of_local_queue[_local_queue_of(old_workload)].pop(item, None)
            self._of_local_queue.setdefault(_local_queue_of(workload), {})[item] = None
        elif item.place is Place.PARKED and not self._changed(item, workload, status):
            item.workload, item.status = workload, status
            return
        held = item.holder
        if held is not None and held.runs is not None and status.is_true(FINISHED):
            held.runs.note(now_us - held.reserved_us)
        if held is not None and _same_reservation(item, workload, status):
            item.workload, item.status = workload, status
            return
        old_queue = item.queue
        self._withdraw(item)
        item.workload, item.status = workload, status
        self._refresh(item)
        self._find_place(item, now_us)
        if old_queue is not None and (item.place is not Place.HEAP or item.queue is not old_queue):
            old_queue.pending.forget(item)
        if held is not None or not workload.active or status.is_true(FINISHED):
            self._request_waking(held.queue if held is not None else self._queue_of(item))

    def _workload_gone(self, event: events.WorkloadGone, _now_us: int) -> None:
        item = self.items.get(event.key)
        if item is not None:
            self._forget(item)

    def _forget(self, item: Item) -> None:
        queue = item.holder.queue if item.holder is not None else self._queue_of(item)
        self._withdraw(item)
        self._forget_marks(item)
        del self.items[item.workload.key]
        self._of_local_queue[_local_queue_of(item.workload)].pop(item, None)
        self._request_waking(queue)

    def _write_failed(self, event: events.WriteFailed, now_us: int) -> None:
        item = self.items.get(event.key)
        if item is not None:
            self._workload_seen(events.WorkloadSeen(item.workload, event.status), now_us)

    def _refresh(self, item: Item) -> None:
        """Recompute what the order in the queue follows from."""
        workload = item.workload
        item.priority = workload.priority
        if self.config.gates.priority_boost:
            item.priority += workload.priority_boost
        item.queue_timestamp_us = lifecycle.queue_timestamp_us(workload, item.status, self.config)
        item.order = (-item.priority, item.queue_timestamp_us, workload.uid, workload.key)

    def _changed(self, item: Item, workload: objects.Workload, status: objects.Status) -> bool:
        """Whether a parked workload changed in a way that may let it in."""
        old = item.status
        assert item.queue is not None
        return (
            item.queue.generation != item.evaluated_generation
            or item.workload != workload
            or old.reclaimable != status.reclaimable
            or old.checks != status.checks
            or old.conditions.get(EVICTED) != status.conditions.get(EVICTED)
            or old.conditions.get(REQUEUED) != status.conditions.get(REQUEUED)
            or old.requeue_at_us != status.requeue_at_us
            or not self._may_queue(workload, status)
        )

    def _shape(self, item: Item) -> Shape:
        """Return the equivalence class: workloads alike in all that decisions look at."""
        pod_sets = item.workload.pod_sets
        reclaimable = item.status.reclaimable
        if reclaimable and self.config.gates.reclaimable_pods:
            pod_sets = tuple(_without_reclaimed(p, reclaimable.get(p.name, 0)) for p in pod_sets)
        return item.priority, pod_sets

    def _queue_of(self, item: Item) -> Queue | None:
        local_queue = self.local_queues.get(_local_queue_of(item.workload))
        return None if local_queue is None else self.queues.get(local_queue.cluster_queue)

    def _find_place(self, item: Item, now_us: int) -> None:
        status = item.status
        if (
            status.is_true(QUOTA_RESERVED)
            and status.admission is not None
            and not status.is_true(FINISHED)
            and item.workload.active
        ):
            self._reserve(item)
        else:
            self._queue_up(item, now_us)

    # --- Waiting ---------------------------------------------------------------------------------

    def _queue_up(self, item: Item, now_us: int, *, unconditionally: bool = False) -> None:
        """Put a workload where it has to wait; nowhere if it may not queue."""
        local_queue = self.local_queues.get(_local_queue_of(item.workload))
        if (
            local_queue is None
            or local_queue.stop_policy is not StopPolicy.NONE
            or local_queue.terminating
            or not self._may_queue(item.workload, item.status)
        ):
            return
        queue = self.queues.get(local_queue.cluster_queue)
        if queue is None:
            return
        item.queue = queue
        shape = self._shape(item)
        group = queue.pending.groups.get(shape)
        resting = not self.backoff_is_over(item, now_us)
        at_us = item.status.requeue_at_us
        if at_us is not None and at_us > now_us:
            heappush(self._alarms, (at_us, item.workload.key))
        failed = (
            group is not None
            and group.failed
            and queue.spec.strategy is QueueingStrategy.BEST_EFFORT_FIFO
        )
        if (resting or failed) and not unconditionally:
            queue.pending.park(item, shape)
            item.evaluated_generation = queue.generation
        else:
            queue.pending.push(item, shape, ready=self._may_return(item, queue, now_us))
            self._stir(queue)
        self._note(queue)

    def _may_queue(self, workload: objects.Workload, status: objects.Status) -> bool:
        if workload.gated_by and not self.config.gates.admission_gated_by:
            workload = replace(workload, gated_by=())
        return lifecycle.may_queue(workload, status)

    def _unqueue(self, item: Item) -> None:
        if item.place in (Place.HEAP, Place.PARKED):
            queue = item.queue
            assert queue is not None
            queue.pending.remove(item)
            self._note(queue)
            self._stir(queue)

    def _forget_marks(self, item: Item) -> None:
        if item.queue is not None:
            item.queue.pending.forget(item)

    def _note(self, queue: Queue) -> None:
        """Keep the tree's index of queues right after a queue's pending work has changed."""
        tree = queue.tree
        if queue.active and queue.pending.heads:
            tree.ready[queue] = None
        else:
            tree.ready.pop(queue, None)
        if queue.pending.set_aside:
            tree.parked[queue] = None
        else:
            tree.parked.pop(queue, None)

    def _stir(self, queue: Queue) -> None:
        queue.tree.stirred = self._tick()
        self._stirred[queue.tree] = None

    def _tick(self) -> int:
        """Return a number greater than any before: an instant, told from every other."""
        self._ticks += 1
        return self._ticks

    def _ring_alarms(self, now_us: int) -> None:
        while self._alarms and self._alarms[0][0] <= now_us:
            _, key = heappop(self._alarms)
            item = self.items.get(key)
            if item is None or item.queue is None:
                continue
            if item.place is Place.PARKED:
                self._unqueue(item)
                self._queue_up(item, now_us)
            elif item.place is Place.HEAP:
                self._stir(item.queue)

    # --- Holding quota ---------------------------------------------------------------------------

    def _reserve(self, item: Item) -> None:
        """Book the quota that a workload's status says it holds."""
        admission = item.status.admission
        assert admission is not None
        item.holding = True
        queue = self.queues.get(admission.cluster_queue)
        if queue is None:
            self._unbooked.setdefault(admission.cluster_queue, {})[item] = None
            return
        item.queue = queue
        amounts: dict[FlavorResource, int] = {}
        counts = {pod_set.name: pod_set.count for pod_set in self._shape(item)[1]}
        for assigned in admission.pod_sets:
            left = counts.get(assigned.name, assigned.count)
            for resource, amount in assigned.usage.items():
                if left < assigned.count:
                    amount = amount // assigned.count * left
                pair = FlavorResource(assigned.flavors[resource], resource)
                amounts[pair] = amounts.get(pair, 0) + amount
        reserved = item.status.conditions[QUOTA_RESERVED]
        item.holder = Holder(
            item,
            queue,
            tuple((queue.cell(pair), amount) for pair, amount in amounts.items()),
            reserved.since_us,
            evicting=item.status.is_true(EVICTED),
            runs=queue.runs_of(self._shape(item)) if self.config.patience_us else None,
        )
        queue.add_holder(item.holder)
        book_all(BOOKED, item.holder.usage)
        self._stir(queue)

    def _withdraw(self, item: Item) -> None:
        """Take a workload out of wherever it is."""
        holder = item.holder
        if holder is not None:
            item.holder = None
            queue = holder.queue
            queue.drop_holder(holder)
            release_all(BOOKED, holder.usage)
            queue.generation += 1
            self._stir(queue)
            item.holding = False
        elif item.place is Place.HOLDING:
            assert item.status.admission is not None
            self._unbooked.get(item.status.admission.cluster_queue, {}).pop(item, None)
            item.holding = False
        else:
            self._unqueue(item)

    # --- Plans -----------------------------------------------------------------------------------

    def _plan_accepted(self, event: events.PlanAccepted, now_us: int) -> None:
        plan = event.plan
        self.cycle += plan.rounds
        swept = {looked.queue: looked.swept for looked in plan.looked_at}
        for decision in plan.decisions:
            item = self.items.get(decision.workload)
            if item is None or item.workload.uid != decision.uid:
                continue
            match decision:
                case Admit():
                    self._carry_out_admission(item, decision, now_us)
                case Preempt():
                    self._carry_out_preemption(item, decision, now_us)
                case Wait():
                    queue = item.queue
                    if item.place is Place.HEAP and queue is not None:
                        newer = queue.tree.swept != swept.get(queue.name)
                        self._put_aside(item, queue, decision, now_us, swept_since=newer)
        self._calm(plan)

    def _carry_out_admission(self, item: Item, admit: Admit, now_us: int) -> None:
        if item.place not in (Place.HEAP, Place.PARKED):
            return  # something has happened to it since
        self._unqueue(item)
        self._forget_marks(item)
        reserved = lifecycle.QuotaReserved(admit.admission, admit.required_checks)
        self._step(item, reserved, now_us)
        self._refresh(item)
        item.progress = None
        item.awaited = ()
        self._reserve(item)

    def _carry_out_preemption(self, item: Item, preempt: Preempt, now_us: int) -> None:
        awaited: list[Victim] = []
        for eviction in preempt.evictions:
            victim = self.items.get(eviction.workload)
            if victim is None or victim.workload.uid != eviction.uid or victim.holder is None:
                continue
            holder = victim.holder
            if eviction.ends_by_us is not None:
                heappush(self._alarms, (eviction.ends_by_us + 1, item.workload.key))
            elif not holder.evicting:
                self._step(victim, lifecycle.Preempted(eviction.reason), now_us)
                self._refresh(victim)
                holder.queue.drop_holder(holder)
                holder.evicting = True
                holder.queue.add_holder(holder)
            awaited.append(Victim(holder, eviction.reason))
        if item.place is not Place.HEAP or item.queue is None:
            return
        reason = NoQuotaReason.WAITING_FOR_PREEMPTED_WORKLOADS
        self._step(item, lifecycle.Refused(reason), now_us)
        item.progress = None
        item.awaited = tuple(awaited)
        item.evaluated_generation = item.queue.generation
        self._mark_preemptor(item, item.queue)
        if preempt.aside is Aside.PARKED:
            self._park(item, item.queue)

    def _mark_preemptor(self, item: Item, queue: Queue) -> None:
        pending = queue.pending
        pending.preemptor, pending.preemptor_generation = item, item.workload.generation
        if queue.spec.strategy is QueueingStrategy.BEST_EFFORT_FIFO:
            pending.sticky = item

    def _put_aside(
        self, item: Item, queue: Queue, wait: Wait, now_us: int, *, swept_since: bool
    ) -> None:
        self._step(item, lifecycle.Refused(wait.reason), now_us)
        item.progress = wait.progress
        item.evaluated_generation = queue.generation
        if wait.requeue is Requeue.PENDING_PREEMPTION:
            self._mark_preemptor(item, queue)
        if wait.aside is Aside.HEAP or swept_since:
            return
        if wait.aside is Aside.GROUP_PARKED:
            assert item.group is not None
            queue.pending.fail(item.group)
        else:
            self._park(item, queue)
        self._note(queue)

    def _park(self, item: Item, queue: Queue) -> None:
        """Move one workload from the heap to the inadmissible set."""
        shape = self._shape(item)
        queue.pending.remove(item)
        queue.pending.park(item, shape)
        self._note(queue)

    def _calm(self, plan: CyclePlan) -> None:
        """Let trees rest in which the plan's last round changed nothing and nothing happened since."""
        for looked in plan.looked_at:
            queue = self.queues.get(looked.queue)
            if queue is not None and queue.tree.later:
                self._to_ask_again[queue.tree] = None
        if not plan.steady:
            return
        for looked in plan.looked_at:
            queue = self.queues.get(looked.queue)
            if queue is not None and queue.tree.stirred == looked.stirred:
                self._stirred.pop(queue.tree, None)

    def _step(self, item: Item, event: lifecycle.Event, now_us: int) -> None:
        item.status, _ = lifecycle.step(
            item.workload, item.status, event, now_us=now_us, config=self.config
        )

    # --- Sweeps and structure --------------------------------------------------------------------

    def _swept(self, event: events.Swept, now_us: int) -> None:
        self._request_sweep(self.queues.get(event.cluster_queue))
        self.settle(now_us)

    def _time_passed(self, _event: events.TimePassed, now_us: int) -> None:
        self._ring_alarms(now_us)

    def _request_sweep(self, queue: Queue | None) -> None:
        if queue is not None:
            self._to_sweep[queue] = None

    def _request_waking(self, queue: Queue | None) -> None:
        """Quota was released: wake whom that may help."""
        if queue is not None:
            self._to_wake[queue] = None

    def _sweep(self, now_us: int) -> None:
        swept = {queue.tree: None for queue in self._to_sweep}
        woken = {queue.tree: None for queue in self._to_wake if queue.tree not in swept}
        self._to_sweep.clear()
        self._to_wake.clear()
        for tree in swept:
            # Heads that stayed in the heap are looked at again, too.
            tree.swept = tree.stirred = self._tick()
            self._stirred[tree] = None
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

    def _wake(self, tree: Tree, sleepers: list[tuple[Queue, Group]], now_us: int) -> None:
        tree.swept = self._tick()
        waking = whom_to_wake(sleepers, self.config)
        tree.later = waking.later
        by_queue: dict[Queue, list[Group]] = {}
        for queue, group in waking.wake:
            by_queue.setdefault(queue, []).append(group)
        for queue, groups in by_queue.items():
            self._bring_back(queue, groups, now_us)

    def _bring_back(self, queue: Queue, groups: list[Group], now_us: int) -> None:
        may_return = partial(self._may_return, queue=queue, now_us=now_us)
        if queue.pending.sweep(groups, may_return):
            self._stir(queue)
        self._note(queue)

    def _may_return(self, item: Item, queue: Queue, now_us: int) -> bool:
        """Whether a workload that was set aside may come back to the heap when swept."""
        namespace = self.namespaces.get(item.workload.namespace)
        return (
            namespace is not None
            and selects(queue.spec.namespace_selector, namespace.labels)
            and self.backoff_is_over(item, now_us)
        )

    def _check_activity(self, queue: Queue) -> None:
        queue.inactive_reason = why_inactive(
            queue.spec, self.flavors, self.checks, self.topologies
        )
        able = queue.inactive_reason is None
        if able is not queue.able:
            queue.able = able
            self.forest.touch(queue)
            if able:
                self._request_sweep(queue)

    def _regrow(self, root: Node) -> None:
        """Give the queues of a tree that was recomputed a fresh index, and all work another try."""
        tree = Tree()
        for node in below(root):
            if isinstance(node, Queue):
                node.generation += 1
                old = node.tree
                old.ready.pop(node, None)
                old.parked.pop(node, None)
                node.tree = tree
                self._note(node)
                self._request_sweep(node)


def _local_queue_of(workload: objects.Workload) -> str:
    return f"{workload.namespace}/{workload.local_queue}"


def _without_reclaimed(pod_set: objects.PodSet, reclaimed: int) -> objects.PodSet:
    if not reclaimed:
        return pod_set
    return replace(pod_set, count=pod_set.count - min(reclaimed, pod_set.count))


def _same_reservation(item: Item, workload: objects.Workload, status: objects.Status) -> bool:
    """Whether a workload that holds quota goes on to hold exactly the same."""
    old = item.status
    return (
        status.is_true(QUOTA_RESERVED)
        and not status.is_true(FINISHED)
        and workload.active
        and old.admission == status.admission
        and old.reclaimable == status.reclaimable
        and old.is_true(EVICTED) == status.is_true(EVICTED)
        and old.conditions[QUOTA_RESERVED] == status.conditions[QUOTA_RESERVED]
        and item.workload.priority == workload.priority
        and item.workload.priority_boost == workload.priority_boost
    )


_HANDLERS: dict[type[events.Event], Callable[[State, Any, int], None]] = {
    events.NamespaceSeen: State._namespace_seen,
    events.NamespaceGone: State._namespace_gone,
    events.FlavorSeen: State._flavor_seen,
    events.FlavorGone: State._flavor_gone,
    events.TopologySeen: State._topology_seen,
    events.TopologyGone: State._topology_gone,
    events.CheckSeen: State._check_seen,
    events.CheckGone: State._check_gone,
    events.CohortSeen: State._cohort_seen,
    events.CohortGone: State._cohort_gone,
    events.ClusterQueueSeen: State._cluster_queue_seen,
    events.ClusterQueueGone: State._cluster_queue_gone,
    events.LocalQueueSeen: State._local_queue_seen,
    events.LocalQueueGone: State._local_queue_gone,
    events.WorkloadSeen: State._workload_seen,
    events.WorkloadGone: State._workload_gone,
    events.PlanAccepted: State._plan_accepted,
    events.WriteFailed: State._write_failed,
    events.Swept: State._swept,
    events.TimePassed: State._time_passed,
}
