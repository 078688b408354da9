"""
Everything the engine remembers, and the one door through which it changes: `State.apply`.

Derived figures (subtree quotas, usage, heaps, groups, ranks of victims) are kept up to date as
events come in; `decide` reads them and never changes them. After a restart, reporting every object
once rebuilds the same state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from muster.admission import events, lifecycle, objects
from muster.admission.acceptance import accept
from muster.admission.activity import why_inactive
from muster.admission.amounts import FlavorResource
from muster.admission.cohorts import Forest, below
from muster.admission.compile import Request, compile_request
from muster.admission.conditions import EVICTED, FINISHED, QUOTA_RESERVED, REQUEUED
from muster.admission.config import Config
from muster.admission.eligibility import selects
from muster.admission.lines import Lines
from muster.admission.objects import StopPolicy
from muster.admission.pending import Place
from muster.admission.quota import BOOKED, book_all, release_all
from muster.admission.records import Holder, Item, Queue, Tree, shape_of


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
        self.lines = Lines(self.config, self.namespaces)

    # --- The door --------------------------------------------------------------------------------

    def apply(self, event: events.Event, now_us: int) -> None:
        """Take note of what happened. Times are microseconds since the epoch."""
        match event:
            case events.WorkloadSeen(workload, status):
                self._workload_seen(workload, status, now_us)
            case events.PlanAccepted(plan):
                accept(self, plan, now_us)
            case events.TimePassed():
                self._ring_alarms(now_us)
            case events.WorkloadGone(key):
                self._workload_gone(key)
            case events.WriteFailed(key, status):
                self._write_failed(key, status, now_us)
            case events.Swept(name):
                self.lines.request_sweep(self.queues.get(name))
                self.settle(now_us)
            case _:
                self._object_changed(event, now_us)

    def _object_changed(  # noqa: C901, PLR0912 - one case for each event
        self, event: events.ObjectEvent, now_us: int
    ) -> None:
        match event:
            case events.NamespaceSeen(namespace):
                self._namespace_seen(namespace)
            case events.NamespaceGone(name):
                self.namespaces.pop(name, None)
            case events.FlavorSeen(flavor):
                self._flavor_seen(flavor)
            case events.FlavorGone(name):
                self._flavor_gone(name)
            case events.TopologySeen(topology):
                self.topologies[topology.name] = topology
                self._recheck_all()
            case events.TopologyGone(name):
                self.topologies.pop(name, None)
                self._recheck_all()
            case events.CheckSeen(check):
                self.checks[check.name] = check
                self._recheck_users_of(check.name)
            case events.CheckGone(name):
                self.checks.pop(name, None)
                self._recheck_users_of(name)
            case events.CohortSeen(cohort):
                self.forest.declare(cohort)
            case events.CohortGone(name):
                self.forest.retract(name)
            case events.ClusterQueueSeen(cluster_queue):
                self._cluster_queue_seen(cluster_queue, now_us)
            case events.ClusterQueueGone(name):
                self._cluster_queue_gone(name)
            case events.LocalQueueSeen(local_queue):
                self._local_queue_seen(local_queue, now_us)
            case events.LocalQueueGone(key):
                self._local_queue_gone(key)
            case _:
                assert_never(event)

    def settle(self, now_us: int) -> None:
        """Bring derived figures up to date; `decide` calls it, more often does no harm."""
        for queue in self._unchecked:
            self._check_activity(queue)
        self._unchecked.clear()
        for root in self.forest.settle():
            tree = Tree()
            for node in below(root):
                if isinstance(node, Queue):
                    node.generation += 1
                    self.lines.regrow(tree, node)
        self.lines.settle(now_us)

    @property
    def next_alarm_us(self) -> int | None:
        """When `TimePassed` will next be worth reporting, if nothing else happens before."""
        return self.lines.alarms[0][0] if self.lines.alarms else None

    def step(self, item: Item, event: lifecycle.Event, now_us: int) -> None:
        """Let a workload move on in its life."""
        item.status, _ = lifecycle.step(
            item.workload, item.status, event, now_us=now_us, config=self.config
        )

    # --- What decisions read ---------------------------------------------------------------------

    def queues_to_look_at(self, heads_max: int | None = None) -> tuple[list[Queue], bool]:
        """Return queues with heads in trees where something happened, and if some are left over."""
        return self.lines.to_look_at(heads_max)

    @property
    def has_heads(self) -> bool:
        """Whether a workload waits in the heap of any queue that is looked at."""
        return any(queue.able and queue.pending.heads for queue in self.queues.values())

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
                group.shape[1],
                counts,
                self.flavors,
                ignore_undeclared=self.config.ignore_undeclared_resources,
            )
        return found

    # --- Objects other than workloads ------------------------------------------------------------

    def _namespace_seen(self, new: objects.Namespace) -> None:
        old = self.namespaces.get(new.name)
        self.namespaces[new.name] = new
        for queue in self.queues.values():
            selector = queue.spec.namespace_selector
            if selects(selector, new.labels) and (old is None or not selects(selector, old.labels)):
                self.lines.request_sweep(queue)

    def _flavor_seen(self, flavor: objects.ResourceFlavor) -> None:
        if self.flavors.get(flavor.name) != flavor:
            self.flavors[flavor.name] = flavor
            self._flavor_changed(flavor.name)

    def _flavor_gone(self, name: str) -> None:
        if self.flavors.pop(name, None) is not None:
            self._flavor_changed(name)

    def _flavor_changed(self, name: str) -> None:
        for queue in self.queues.values():
            if any(name in group.flavors for group in queue.spec.groups):
                queue.pending.forget_requests()
                self._unchecked[queue] = None
                self.lines.request_sweep(queue)

    def _recheck_all(self) -> None:
        self._unchecked.update(dict.fromkeys(self.queues.values()))

    def _recheck_users_of(self, check: str) -> None:
        for queue in self.queues.values():
            if any(rule.check == check for rule in queue.spec.checks):
                self._unchecked[queue] = None

    def _cluster_queue_seen(self, spec: objects.ClusterQueue, now_us: int) -> None:
        queue = self.queues.get(spec.name)
        if queue is not None and queue.spec == spec:
            return
        if queue is None:
            queue = self.queues[spec.name] = Queue(spec)
        queue.respecify(spec)
        self.forest.place(queue, spec.cohort)
        self._unchecked[queue] = None
        self.lines.request_sweep(queue)
        for item in list(self._unbooked.pop(spec.name, ())):
            self.reserve(item)
        for local_queue in self.local_queues.values():
            if local_queue.cluster_queue == spec.name:
                self._fill_from(local_queue, now_us)

    def _cluster_queue_gone(self, name: str) -> None:
        queue = self.queues.pop(name, None)
        if queue is None:
            return
        for holder in (*queue.holders, *queue.evicting):
            holder.item.holder = None
            self._unbooked.setdefault(name, {})[holder.item] = None
        self.forest.remove(queue)
        self.lines.close(queue)
        self._unchecked.pop(queue, None)
        for local_queue in self.local_queues.values():
            if local_queue.cluster_queue == name:
                self._empty(local_queue.key)

    def _local_queue_seen(self, new: objects.LocalQueue, now_us: int) -> None:
        if self.local_queues.get(new.key) == new:
            return
        self._empty(new.key)
        self.local_queues[new.key] = new
        self._fill_from(new, now_us)

    def _local_queue_gone(self, key: str) -> None:
        if self.local_queues.pop(key, None) is not None:
            self._empty(key)

    def _empty(self, local_queue: str) -> None:
        """Take the waiting workloads of a LocalQueue out of their ClusterQueue."""
        for item in self._of_local_queue.get(local_queue, ()):
            if item.place is not Place.HOLDING:
                self.lines.leave(item)
                self.forget_marks(item)
                item.queue = None
                item.revision += 1

    def _fill_from(self, local_queue: objects.LocalQueue, now_us: int) -> None:
        """Put the waiting workloads of a LocalQueue straight into the heap."""
        for item in self._of_local_queue.get(local_queue.key, ()):
            if item.place is Place.NOWHERE:
                self._queue_up(item, now_us, at_the_heap=True)

    # --- Workloads -------------------------------------------------------------------------------

    def _workload_seen(
        self, workload: objects.Workload, status: objects.Status, now_us: int
    ) -> None:
        item = self.items.get(workload.key)
        if item is not None and item.workload.uid != workload.uid:
            self._forget(item)
            item = None
        if item is None:
            item = self.items[workload.key] = Item(workload, status)
            self._of_local_queue.setdefault(_local_queue_of(workload), {})[item] = None
            self.refresh(item)
            self._find_place(item, now_us)
            return
        changed = self._changed(item, workload, status)
        if item.workload.local_queue != workload.local_queue:
            self._of_local_queue[_local_queue_of(item.workload)].pop(item, None)
            self._of_local_queue.setdefault(_local_queue_of(workload), {})[item] = None
        elif item.place is Place.PARKED and not changed and not _is_outdated(item):
            item.workload, item.status = workload, status
            return
        held = item.holder
        if held is not None and held.runs is not None and status.is_true(FINISHED):
            held.runs.note(now_us - held.reserved_us)
        if held is not None and _same_reservation(item, workload, status):
            item.workload, item.status = workload, status
            return
        item.revision += changed
        old_queue = item.queue
        self._withdraw(item)
        item.workload, item.status = workload, status
        self.refresh(item)
        self._find_place(item, now_us)
        if old_queue is not None and (item.shelf is None or item.queue is not old_queue):
            old_queue.pending.forget(item)
        if held is not None or not workload.active or status.is_true(FINISHED):
            self.lines.request_waking(held.queue if held is not None else self._queue_of(item))

    def _workload_gone(self, key: str) -> None:
        item = self.items.get(key)
        if item is not None:
            self._forget(item)

    def _forget(self, item: Item) -> None:
        queue = item.holder.queue if item.holder is not None else self._queue_of(item)
        self._withdraw(item)
        self.forget_marks(item)
        del self.items[item.workload.key]
        self._of_local_queue[_local_queue_of(item.workload)].pop(item, None)
        self.lines.request_waking(queue)

    def _write_failed(self, key: str, status: objects.Status, now_us: int) -> None:
        item = self.items.get(key)
        if item is not None:
            self._workload_seen(item.workload, status, now_us)

    def refresh(self, item: Item) -> None:
        """Recompute what the order in the queue follows from."""
        workload = item.workload
        item.priority = workload.priority
        if self.config.gates.priority_boost:
            item.priority += workload.priority_boost
        item.queue_timestamp_us = lifecycle.queue_timestamp_us(workload, item.status, self.config)
        item.order = (-item.priority, item.queue_timestamp_us, workload.uid, workload.key)

    def _changed(self, item: Item, workload: objects.Workload, status: objects.Status) -> bool:
        """Whether a workload changed in a way that may decide about it."""
        old = item.status
        return (
            item.workload != workload
            or old.is_true(QUOTA_RESERVED) is not status.is_true(QUOTA_RESERVED)
            or old.admission != status.admission
            or old.reclaimable != status.reclaimable
            or old.checks != status.checks
            or old.conditions.get(EVICTED) != status.conditions.get(EVICTED)
            or old.conditions.get(REQUEUED) != status.conditions.get(REQUEUED)
            or old.requeue_at_us != status.requeue_at_us
            or not self._may_queue(workload, status)
        )

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
            self.reserve(item)
        else:
            self._queue_up(item, now_us)

    # --- Waiting ---------------------------------------------------------------------------------

    def _queue_up(self, item: Item, now_us: int, *, at_the_heap: bool = False) -> None:
        """Let a workload wait where it has to; nowhere if it may not queue."""
        local_queue = self.local_queues.get(_local_queue_of(item.workload))
        if (
            local_queue is not None
            and local_queue.stop_policy is StopPolicy.NONE
            and not local_queue.terminating
            and self._may_queue(item.workload, item.status)
        ):
            queue = self.queues.get(local_queue.cluster_queue)
            if queue is not None:
                self.lines.join(item, queue, now_us, at_the_heap=at_the_heap)

    def _may_queue(self, workload: objects.Workload, status: objects.Status) -> bool:
        if workload.gated_by and not self.config.gates.admission_gated_by:
            workload = replace(workload, gated_by=())
        return lifecycle.may_queue(workload, status)

    def forget_marks(self, item: Item) -> None:
        """Let go of what a queue remembers of a workload as a preemptor."""
        if item.queue is not None:
            item.queue.pending.forget(item)

    def _ring_alarms(self, now_us: int) -> None:
        for key in self.lines.ringing(now_us):
            item = self.items.get(key)
            if item is None or item.queue is None:
                continue
            if item.place is Place.PARKED:
                self.lines.leave(item)
                self._queue_up(item, now_us)
            elif item.place is Place.HEAP:
                self.lines.stir(item.queue)

    # --- Holding quota ---------------------------------------------------------------------------

    def reserve(self, item: Item) -> None:
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
        counts = {pod_set.name: pod_set.count for pod_set in shape_of(item, self.config.gates)[1]}
        for assigned in admission.pod_sets:
            left = counts.get(assigned.name, assigned.count)
            for resource, flavor in assigned.flavors.items():
                amount = assigned.usage.get(resource, 0)
                if left < assigned.count:
                    amount = amount // assigned.count * left
                pair = FlavorResource(flavor, resource)
                amounts[pair] = amounts.get(pair, 0) + amount
        reserved = item.status.conditions[QUOTA_RESERVED]
        item.holder = Holder(
            item,
            queue,
            tuple((queue.cell(pair), amount) for pair, amount in amounts.items()),
            reserved.since_us,
            evicting=item.status.is_true(EVICTED),
            runs=queue.runs_of(shape_of(item, self.config.gates))
            if self.config.patience_us
            else None,
        )
        queue.add_holder(item.holder)
        book_all(BOOKED, item.holder.usage)
        self.lines.stir(queue)

    def _withdraw(self, item: Item) -> None:
        """Take a workload out of wherever it is."""
        holder = item.holder
        if holder is not None:
            item.holder = None
            queue = holder.queue
            queue.drop_holder(holder)
            release_all(BOOKED, holder.usage)
            queue.generation += 1
            self.lines.stir(queue)
            item.holding = False
        elif item.place is Place.HOLDING:
            assert item.status.admission is not None
            self._unbooked.get(item.status.admission.cluster_queue, {}).pop(item, None)
            item.holding = False
        else:
            self.lines.leave(item)

    # --- Structure -------------------------------------------------------------------------------

    def _check_activity(self, queue: Queue) -> None:
        queue.inactive_reason = why_inactive(queue.spec, self.flavors, self.checks, self.topologies)
        able = queue.inactive_reason is None
        if able is not queue.able:
            queue.able = able
            self.forest.touch(queue)
            if able:
                self.lines.request_sweep(queue)


def _local_queue_of(workload: objects.Workload) -> str:
    return f"{workload.namespace}/{workload.local_queue}"


def _is_outdated(item: Item) -> bool:
    """Whether something may have let in a parked workload since it was looked at."""
    assert item.queue is not None
    return item.queue.generation != item.evaluated_generation


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
