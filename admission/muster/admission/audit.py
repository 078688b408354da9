"""
Recompute everything the state derives from its objects, the slow way, and compare.

`check` is for tests and simulations: decisions never call it, and it changes nothing. It is written
from the definitions, not with the functions it checks: recursion over the forest instead of cells
that are kept up to date, a search through all workloads instead of indexes. What it finds is a bug
of the engine, never of a user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from muster.admission import lifecycle, objects
from muster.admission.activity import why_inactive
from muster.admission.amounts import FlavorResource, minus, plus
from muster.admission.cohorts import CohortNode, Node
from muster.admission.compile import compile_request
from muster.admission.conditions import EVICTED, FINISHED, QUOTA_RESERVED
from muster.admission.errors import InvariantError
from muster.admission.objects import Quota, StopPolicy
from muster.admission.pending import Group, Place, Shape
from muster.admission.quota import Cell
from muster.admission.records import Holder, Item, Queue
from muster.admission.state import State

NO_QUOTA = Quota(nominal=0)


def check(state: State, now_us: int) -> None:
    """
    Raise `InvariantError` naming every figure that differs from its recomputation.

    What follows from the whole forest is compared only once the state is settled.
    """
    differences = list(_differences(state, now_us))
    if differences:
        raise InvariantError("; ".join(differences))


def _differences(state: State, now_us: int) -> Iterator[str]:
    where = _Where(state)
    for item in state.items.values():
        yield from _of_item(state, item)
        yield from _of_place(state, item, where, now_us)
        if item.holder is not None:
            yield from _of_holder(state, item, item.holder, where)
    yield from _of_lists(state)
    for queue in state.queues.values():
        yield from _of_pending(state, queue)
        yield from _of_holders(queue)
    yield from _of_edges(state)
    if state.forest.settled and not state._unchecked:
        figures = _Figures(state)
        for node in _nodes(state):
            yield from _of_node(node, figures)
        yield from _of_trees(state)


def _differ(what: str, found: object, wanted: object) -> Iterator[str]:
    if found != wanted:
        yield f"{what} is {found!r}, should be {wanted!r}"


class _Where:
    """Where every workload and every reservation is listed, found by going through all lists."""

    def __init__(self, state: State) -> None:
        self.waiting: dict[Item, list[tuple[Group, Place]]] = {}
        self.holders: dict[Holder, list[tuple[Queue, bool]]] = {}
        for queue in state.queues.values():
            for group in queue.pending.groups.values():
                for place, items in ((Place.HEAP, group.waiting), (Place.PARKED, group.parked)):
                    for item in items:
                        self.waiting.setdefault(item, []).append((group, place))
            for evicting, holders in ((False, queue.holders), (True, queue.evicting)):
                for holder in holders:
                    self.holders.setdefault(holder, []).append((queue, evicting))


# --- Workloads -----------------------------------------------------------------------------------


def _of_item(state: State, item: Item) -> Iterator[str]:
    workload, status = item.workload, item.status
    key = workload.key
    boosts = state.config.gates.priority_boost
    priority = workload.priority + (workload.priority_boost if boosts else 0)
    timestamp = lifecycle.queue_timestamp_us(workload, status, state.config)
    yield from _differ(f"priority of {key}", item.priority, priority)
    yield from _differ(f"timestamp of {key}", item.queue_timestamp_us, timestamp)
    order = (-priority, timestamp, workload.uid, key)
    yield from _differ(f"order of {key}", item.order, order)
    holds = (
        status.is_true(QUOTA_RESERVED)
        and status.admission is not None
        and not status.is_true(FINISHED)
        and workload.active
    )
    yield from _differ(f"holding of {key}", item.holding, holds)
    booked = status.admission is not None and status.admission.cluster_queue in state.queues
    yield from _differ(f"whether {key} is booked", item.holder is not None, holds and booked)


def _of_place(state: State, item: Item, where: _Where, now_us: int) -> Iterator[str]:
    key = item.workload.key
    queue = _queue_to_wait_in(state, item)
    waits = item.place in (Place.HEAP, Place.PARKED)
    yield from _differ(f"whether {key} waits", waits, queue is not None)
    if not waits or queue is None:
        yield from _differ(f"group of {key}", item.group, None)
        yield from _differ(f"where {key} is listed", where.waiting.get(item, []), [])
        return
    yield from _differ(f"queue of {key}", item.queue, queue)
    group = item.group
    if group is None:
        yield f"{key} waits in no group"
        return
    yield from _differ(f"shape of {key}", group.shape, _shape(state, item))
    yield from _differ(f"group of {key}", group, queue.pending.groups.get(group.shape))
    listed = where.waiting.get(item, [])
    yield from _differ(f"where {key} is listed", listed, [(group, item.place)])
    at_us = item.status.requeue_at_us
    if item.place is Place.PARKED and at_us is not None and at_us > now_us:
        yield from _differ(f"alarm of {key}", (at_us, key) in state.lines.alarms, wanted=True)


def _queue_to_wait_in(state: State, item: Item) -> Queue | None:
    """Return the queue a workload has to wait in, if it has to wait anywhere."""
    workload = item.workload
    local_queue = state.local_queues.get(f"{workload.namespace}/{workload.local_queue}")
    if (
        local_queue is None
        or local_queue.stop_policy is not StopPolicy.NONE
        or local_queue.terminating
        or not lifecycle.may_queue(_ungated(state, workload), item.status)
    ):
        return None
    return state.queues.get(local_queue.cluster_queue)


def _ungated(state: State, workload: objects.Workload) -> objects.Workload:
    honoured = state.config.gates.admission_gated_by
    return workload if honoured else replace(workload, gated_by=())


def _shape(state: State, item: Item) -> Shape:
    done = item.status.reclaimable if state.config.gates.reclaimable_pods else {}
    return item.priority, tuple(
        replace(pods, count=max(0, pods.count - done.get(pods.name, 0)))
        for pods in item.workload.pod_sets
    )


def _of_lists(state: State) -> Iterator[str]:
    """The workloads by LocalQueue, and those whose ClusterQueue is not there."""
    by_local_queue: dict[str, list[str]] = {}
    unbooked: dict[str, list[str]] = {}
    for key, item in state.items.items():
        workload, admission = item.workload, item.status.admission
        name = f"{workload.namespace}/{workload.local_queue}"
        by_local_queue.setdefault(name, []).append(key)
        if item.holding and item.holder is None and admission is not None:
            unbooked.setdefault(admission.cluster_queue, []).append(key)
    yield from _differ("index by LocalQueue", _keys(state._of_local_queue), _sorted(by_local_queue))
    yield from _differ("index of the unbooked", _keys(state._unbooked), _sorted(unbooked))


def _keys(index: dict[str, dict[Item, None]]) -> dict[str, list[str]]:
    return _sorted(
        {name: [i.workload.key for i in items] for name, items in index.items() if items}
    )


def _sorted(index: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: sorted(keys) for name, keys in sorted(index.items())}


# --- Queues --------------------------------------------------------------------------------------


def _of_pending(state: State, queue: Queue) -> Iterator[str]:
    pending, name = queue.pending, queue.name
    heads = []
    for group in pending.groups.values():
        members = [*group.waiting, *group.parked]
        for items in (group.waiting, group.parked):
            orders = [item.order for item in items]
            yield from _differ(f"order in a group of {name}", orders, sorted(orders))
        if not members and not group.failed:
            yield f"{name} remembers an empty group"
        for item in members:
            known = state.items.get(item.workload.key) is item
            yield from _differ(f"whether {item} is known", known, wanted=True)
            yield from _differ(f"group of {item}", item.group, group)
        if group.waiting:
            heads.append((group.waiting[0].order, group))
        aside = bool(group.parked)
        yield from _differ(f"whether {name} set a group aside", group in pending.set_aside, aside)
        yield from _of_requests(state, queue, group)
    heads.sort(key=lambda head: head[0])
    yield from _differ(f"heads of {name}", pending.heads, heads)
    for marked in (pending.sticky, pending.preemptor):
        if marked is not None:
            waits = marked.queue is queue and marked.place in (Place.HEAP, Place.PARKED)
            yield from _differ(f"whether {marked}, marked by {name}, waits", waits, wanted=True)


def _of_requests(state: State, queue: Queue, group: Group) -> Iterator[str]:
    _, pod_sets = group.shape
    ignores = state.config.ignore_undeclared_resources
    for counts, request in group.requests.items():
        anew = compile_request(queue, pod_sets, counts, state.flavors, ignore_undeclared=ignores)
        yield from _differ(f"a request remembered by {queue.name}", request, anew)


def _of_holders(queue: Queue) -> Iterator[str]:
    wanted: dict[FlavorResource, int] = {}
    for holders, evicting in ((queue.holders, False), (queue.evicting, True)):
        ranks = [holder.rank for holder in holders]
        yield from _differ(f"order of holders of {queue.name}", ranks, sorted(ranks))
        for holder in holders:
            item = holder.item
            yield from _differ(f"holder of {item}", item.holder, holder)
            yield from _differ(f"{item} is evicted", item.status.is_true(EVICTED), evicting)
            yield from _differ(f"{holder} is leaving", holder.evicting, evicting)
            for cell, amount in holder.usage:
                wanted[cell.pair] = wanted.get(cell.pair, 0) + amount
    for pair, cell in queue.cells.items():
        yield from _differ(f"usage of {cell}", cell.used, wanted.get(pair, 0))


def _of_holder(state: State, item: Item, holder: Holder, where: _Where) -> Iterator[str]:
    admission = item.status.admission
    if admission is None:
        yield f"{item} holds quota without admission"
        return
    yield from _differ(f"queue of {holder}", holder.queue.name, admission.cluster_queue)
    listed = where.holders.get(holder, [])
    yield from _differ(f"where {holder} is listed", listed, [(holder.queue, holder.evicting)])
    since_us = item.status.conditions[QUOTA_RESERVED].since_us
    rank = (item.priority, -since_us, item.workload.uid, item.workload.key)
    yield from _differ(f"rank of {holder}", holder.rank, rank)
    left = {pods.name: pods.count for pods in _shape(state, item)[1]}
    wanted: dict[FlavorResource, int] = {}
    for pods in admission.pod_sets:
        now = min(left.get(pods.name, pods.count), pods.count)
        for resource, flavor in pods.flavors.items():
            pair, amount = FlavorResource(flavor, resource), pods.usage.get(resource, 0)
            part = amount if now == pods.count else amount // pods.count * now
            wanted[pair] = wanted.get(pair, 0) + part
    found = {cell.pair: amount for cell, amount in holder.usage}
    yield from _differ(f"usage of {holder}", found, wanted)
    for cell, _ in holder.usage:
        mine = holder.queue.cells.get(cell.pair)
        yield from _differ(f"cell of {holder}", cell, mine)


# --- The forest ----------------------------------------------------------------------------------


def _nodes(state: State) -> list[Node]:
    return [*state.forest.cohorts.values(), *state.queues.values()]


def _of_edges(state: State) -> Iterator[str]:
    """Parents as declared, children as the parents say, no cohort without reason to be."""
    cohorts = state.forest.cohorts
    for queue in state.queues.values():
        named = None if queue.parent is None else queue.parent.name
        yield from _differ(f"cohort of {queue.name}", named, queue.spec.cohort)
        yield from _differ(f"quotas of {queue.name}", queue.quotas, queue.spec.quotas)
    for node in _nodes(state):
        if node.parent is not None:
            known = cohorts.get(node.parent.name) is node.parent
            yield from _differ(f"whether the parent of {node.name} is known", known, wanted=True)
    for cohort in cohorts.values():
        for found, everybody in (
            (cohort.queues, state.queues),
            (cohort.cohorts, state.forest.cohorts),
        ):
            children = sorted(n for n, node in everybody.items() if node.parent is cohort)
            yield from _differ(f"children of {cohort.name}", sorted(found), children)
        if not cohort.declared and not cohort.queues and not cohort.cohorts:
            yield f"cohort {cohort.name} exists for no reason"


def _is_cyclic(node: Node) -> bool:
    """Whether the way up from a node comes back to where it has been."""
    seen: list[Node] = []
    at: Node | None = node
    while at is not None:
        if at in seen:
            return True
        seen.append(at)
        at = at.parent
    return False


class _Figures:
    """The quota algebra by its definition, for one pair at a time; trees without cycles only."""

    def __init__(self, state: State) -> None:
        self._known: dict[tuple[str, Node, FlavorResource], int] = {}
        self._children: dict[Node, list[Node]] = {}
        for node in _nodes(state):
            if node.parent is not None:
                self._children.setdefault(node.parent, []).append(node)

    def children(self, node: Node) -> list[Node]:
        return self._children.get(node, [])

    def subtree(self, node: Node, pair: FlavorResource) -> int:
        return self._once("S", node, pair, self._subtree)

    def _subtree(self, node: Node, pair: FlavorResource) -> int:
        total = _quota(node, pair).nominal
        for child in self.children(node):
            total = plus(total, minus(self.subtree(child, pair), self.guaranteed(child, pair)))
        return total

    def guaranteed(self, node: Node, pair: FlavorResource) -> int:
        lending_limit = _quota(node, pair).lending_limit
        if lending_limit is None:
            return 0
        return max(0, minus(self.subtree(node, pair), lending_limit))

    def used(self, node: Node, pair: FlavorResource) -> int:
        return self._once("U", node, pair, self._used)

    def _used(self, node: Node, pair: FlavorResource) -> int:
        if isinstance(node, Queue):
            holders = [*node.holders, *node.evicting]
            return sum(a for h in holders for cell, a in h.usage if cell.pair == pair)
        return sum(
            max(0, self.used(child, pair) - self.guaranteed(child, pair))
            for child in self.children(node)
        )

    def potential(self, node: Node, pair: FlavorResource) -> int:
        return self._once("M", node, pair, self._potential)

    def _potential(self, node: Node, pair: FlavorResource) -> int:
        if node.parent is None:
            return self.subtree(node, pair)
        most = plus(self.guaranteed(node, pair), self.potential(node.parent, pair))
        limit = _quota(node, pair).borrowing_limit
        return most if limit is None else min(most, plus(self.subtree(node, pair), limit))

    def declared(self, node: Node, pair: FlavorResource) -> bool:
        return pair in node.quotas or any(self.declared(c, pair) for c in self.children(node))

    def height(self, node: Node) -> int:
        below = [
            1 + self.height(child)
            for child in self.children(node)
            if isinstance(child, CohortNode) or (isinstance(child, Queue) and child.active)
        ]
        return max(below, default=0)

    def _once(
        self,
        what: str,
        node: Node,
        pair: FlavorResource,
        compute: Callable[[Node, FlavorResource], int],
    ) -> int:
        place = (what, node, pair)
        if place not in self._known:
            self._known[place] = compute(node, pair)
        return self._known[place]


def _quota(node: Node, pair: FlavorResource) -> Quota:
    return node.quotas.get(pair, NO_QUOTA)


def _of_node(node: Node, figures: _Figures) -> Iterator[str]:
    cyclic = _is_cyclic(node)
    yield from _differ(f"whether {node.name} is in a cycle", node.cyclic, cyclic)
    if cyclic:
        for cell in node.cells.values():
            yield from _differ(f"parent of {cell}", cell.parent, None)
        return
    root = node
    while root.parent is not None:
        root = root.parent
    yield from _differ(f"root of {node.name}", node.root, root)
    if isinstance(node, CohortNode):
        yield from _differ(f"height of {node.name}", node.height, figures.height(node))
    for pair in node.quotas:
        yield from _differ(f"whether {node.name} has a cell", pair in node.cells, wanted=True)
    for pair, cell in node.cells.items():
        yield from _of_cell(cell, node, pair, figures)
    yield from _of_shares(node, figures)


def _of_shares(node: Node, figures: _Figures) -> Iterator[str]:
    """What fair shares are computed from."""
    resources: dict[str, list[Cell]] = {}
    for pair, cell in node.cells.items():
        if figures.declared(node, pair):
            resources.setdefault(pair.resource, []).append(cell)
    found = {resource: list(cells) for resource, cells in node.resources}
    yield from _differ(f"declared resources of {node.name}", found, resources)
    yield from _differ(f"order of resources of {node.name}", list(found), sorted(resources))
    if isinstance(node, CohortNode) and node._lendable is not None:
        lendable: dict[str, int] = {}
        for pair in node.root.cells:
            if figures.declared(node.root, pair):
                most = figures.potential(node, pair)
                lendable[pair.resource] = plus(lendable.get(pair.resource, 0), most)
        yield from _differ(f"what {node.name} could lend", node._lendable, lendable)


def _of_cell(cell: Cell, node: Node, pair: FlavorResource, figures: _Figures) -> Iterator[str]:
    quota = _quota(node, pair)
    lent = minus(figures.subtree(node, pair), figures.guaranteed(node, pair))
    limit = quota.borrowing_limit
    wanted = {
        "nominal": quota.nominal,
        "borrowing_limit": limit,
        "lending_limit": quota.lending_limit,
        "declared": figures.declared(node, pair),
        "subtree": figures.subtree(node, pair),
        "guaranteed": figures.guaranteed(node, pair),
        "borrowable": None if limit is None else plus(lent, limit),
        "potential": figures.potential(node, pair),
        "used": figures.used(node, pair),
    }
    found = {name: getattr(cell, name) for name in wanted}
    yield from _differ(f"{cell}", found, wanted)
    parent = None if node.parent is None else node.parent.cells.get(pair)
    yield from _differ(f"parent of {cell}", cell.parent, parent)
    if node.parent is not None and parent is None:
        yield f"{cell} has no cell in the parent"


def _of_trees(state: State) -> Iterator[str]:
    """Which queues may be decided about, and the indexes of trees over them."""
    queues = list(state.queues.values())
    for queue in queues:
        reason = why_inactive(queue.spec, state.flavors, state.checks, state.topologies)
        yield from _differ(f"why {queue.name} is inactive", queue.inactive_reason, reason)
        active = reason is None and not _is_cyclic(queue)
        yield from _differ(f"whether {queue.name} is active", queue.active, active)
        ready = reason is None and bool(queue.pending.heads)
        yield from _differ(f"{queue.name} among the ready", queue in queue.tree.ready, ready)
        aside = any(group.parked for group in queue.pending.groups.values())
        yield from _differ(f"{queue.name} among the parked", queue in queue.tree.parked, aside)
    for tree in {queue.tree: None for queue in queues}:
        for member in (*tree.ready, *tree.parked):
            known = state.queues.get(member.name) is member and member.tree is tree
            yield from _differ(f"whether {member.name} is in its tree", known, wanted=True)
    rooted = sorted((q for q in queues if not _is_cyclic(q)), key=lambda q: (q.root.name, q.name))
    for one, other in pairwise(rooted):
        together = one.root is other.root
        yield from _differ(f"{one.name} with {other.name}", one.tree is other.tree, together)
