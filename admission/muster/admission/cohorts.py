"""
The forest of cohorts: which queue hangs where, and what each node's cells derive from it.

Nodes and cells keep their identity for as long as the object exists; after a change of edges or
quotas `Forest.settle` recomputes the derived figures of the trees concerned, in place. A cohort
that is only named exists without quota and disappears with its last child. Trees with a cycle of
parents are left unlinked and marked, and their queues are inactive until the cycle is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from muster.admission import objects
from muster.admission.amounts import FlavorResource, plus
from muster.admission.quota import Cell


class Node:
    """A ClusterQueue or Cohort in the tree."""

    __slots__ = (
        "cells",
        "cyclic",
        "height",
        "name",
        "parent",
        "quotas",
        "resources",
        "root",
        "weight",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent: CohortNode | None = None
        self.cells: dict[FlavorResource, Cell] = {}
        self.quotas: Mapping[FlavorResource, objects.Quota] = {}
        self.weight = Fraction(1)
        self.height = 0
        self.cyclic = False
        self.root: Node = self
        #: Declared cells by resource name, in name order; what fair shares are computed from.
        self.resources: tuple[tuple[str, tuple[Cell, ...]], ...] = ()

    def cell(self, pair: FlavorResource) -> Cell:
        """Return the cell of a pair, made on demand together with those of the ancestors."""
        missing: list[Node] = []
        at: Node | None = self
        while at is not None and pair not in at.cells:
            missing.append(at)
            at = None if at.cyclic else at.parent
        for node in reversed(missing):  # ancestors first; a tree may be deeper than a stack
            cell = node.cells[pair] = Cell(node, pair)
            if node.parent is not None and not node.cyclic:
                cell.parent = node.parent.cells[pair]
                node.parent.forget_derived()
            cell.derive(0)
            cell.derive_potential()
        return self.cells[pair]

    def ancestors(self) -> Iterator[CohortNode]:
        """Yield parent, grandparent, … up to the root; nothing in a cyclic tree."""
        at = None if self.cyclic else self.parent
        while at is not None:
            yield at
            at = at.parent


class CohortNode(Node):
    __slots__ = ("_children_with", "_lendable", "cohorts", "declared", "queues")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.declared = False
        """Whether a Cohort object exists; otherwise the cohort is only named by its children."""
        self.queues: dict[str, QueueNode] = {}
        self.cohorts: dict[str, CohortNode] = {}
        self._lendable: dict[str, int] | None = None
        self._children_with: dict[FlavorResource, list[tuple[Node, Cell]]] = {}

    def children_with(self, pair: FlavorResource) -> list[tuple[Node, Cell]]:
        """Return the children that have a cell of the pair, with that cell."""
        found = self._children_with.get(pair)
        if found is None:
            children: list[Node] = [*self.cohorts.values(), *self.queues.values()]
            found = [(child, child.cells[pair]) for child in children if pair in child.cells]
            self._children_with[pair] = found
        return found

    def lendable(self, resource: str) -> int:
        """Return how much of a resource this cohort could lend at the most, over all flavors."""
        if self._lendable is None:
            totals: dict[str, int] = {}
            for pair, cell in self.root.cells.items():
                if cell.declared:
                    mine = self.cell(pair).potential
                    totals[pair.resource] = plus(totals.get(pair.resource, 0), mine)
            self._lendable = totals
        return self._lendable.get(resource, 0)

    def forget_derived(self) -> None:
        self._lendable = None
        self._children_with.clear()


class QueueNode(Node):
    """The part of a ClusterQueue that the tree needs; `state.Queue` adds the rest."""

    __slots__ = ("able", "active", "generation")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.able = False
        """Whether nothing about the queue itself keeps it from being used."""
        self.active = False
        """Whether it is part of its tree: only then it counts for heights and as a candidate."""
        self.generation = 1
        """Grows with every event that may invalidate a remembered flavor scan."""


class Forest:
    """All cohort trees. Change with `place`, `declare`, `retract`; read after `settle`."""

    def __init__(self) -> None:
        self.cohorts: dict[str, CohortNode] = {}
        self._unsettled: dict[Node, None] = {}

    def place(self, queue: QueueNode, cohort: str | None) -> None:
        """Put a queue below a cohort, or on its own."""
        self._attach(queue, cohort)
        self.touch(queue)

    def remove(self, queue: QueueNode) -> None:
        self._attach(queue, None)
        self._unsettled.pop(queue, None)

    def declare(self, cohort: objects.Cohort) -> CohortNode:
        node = self._cohort(cohort.name)
        node.declared = True
        node.quotas = cohort.quotas
        node.weight = cohort.weight
        self._attach(node, cohort.parent)
        self.touch(node)
        return node

    def retract(self, name: str) -> None:
        """Delete a Cohort object; the cohort stays, bare, as long as it has children."""
        node = self.cohorts.get(name)
        if node is None:
            return
        node.declared = False
        node.quotas = {}
        node.weight = Fraction(1)
        self._attach(node, None)
        self.touch(node)
        self._drop_if_empty(node)

    def touch(self, node: Node) -> None:
        """Note that quotas, edges or activity of a node have changed."""
        self._unsettled[node] = None

    @property
    def settled(self) -> bool:
        return not self._unsettled

    def settle(self) -> list[Node]:
        """Recompute every tree that was touched; return their roots (and the nodes of cycles)."""
        done: dict[Node, None] = {}
        for node in self._unsettled:
            top, members = _climb(node)
            if top is None:
                for member in members:
                    _unlink(member)
                    done[member] = None
            elif top not in done:
                _derive_tree(top)
                done[top] = None
        self._unsettled.clear()
        return list(done)

    def _cohort(self, name: str) -> CohortNode:
        node = self.cohorts.get(name)
        if node is None:
            node = self.cohorts[name] = CohortNode(name)
        return node

    def _attach(self, node: Node, cohort: str | None) -> None:
        old = node.parent
        new = None if cohort is None else self._cohort(cohort)
        if old is new:
            return
        if old is not None:
            _children_of(old, node).pop(node.name, None)
            self.touch(old)
        node.parent = new
        if new is not None:
            if isinstance(node, QueueNode):
                new.queues[node.name] = node
            else:
                assert isinstance(node, CohortNode)
                new.cohorts[node.name] = node
            top, members = _climb(node)
            if top is None:
                # At once, not when settling: whoever books until then must not run in circles.
                for member in members:
                    _unlink(member)
        if old is not None:
            self._drop_if_empty(old)

    def _drop_if_empty(self, node: CohortNode) -> None:
        if node.declared or node.queues or node.cohorts:
            return
        self.cohorts.pop(node.name, None)
        self._unsettled.pop(node, None)
        if node.parent is not None:
            parent, node.parent = node.parent, None
            parent.cohorts.pop(node.name, None)
            self.touch(parent)
            self._drop_if_empty(parent)


def _children_of(parent: CohortNode, node: Node) -> dict[str, QueueNode] | dict[str, CohortNode]:
    return parent.queues if isinstance(node, QueueNode) else parent.cohorts


def _climb(node: Node) -> tuple[Node | None, list[Node]]:
    """Return the root above a node, or None and everything that hangs on the cycle it runs into."""
    seen: dict[Node, None] = {}
    at = node
    while at.parent is not None:
        if at in seen:
            return None, list(below(at))
        seen[at] = None
        at = at.parent
    return at, []


def below(top: Node) -> Iterator[Node]:
    """Yield a node and everything below it, parents first; each once, even in a cycle."""
    seen: dict[Node, None] = {top: None}
    stack = [top]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, CohortNode):
            for child in (*node.cohorts.values(), *node.queues.values()):
                if child not in seen:
                    seen[child] = None
                    stack.append(child)


def _unlink(node: Node) -> None:
    node.cyclic = True
    node.root = node
    if isinstance(node, QueueNode):
        node.active = False
    for cell in node.cells.values():
        cell.parent = None


def _derive_tree(root: Node) -> None:
    nodes = list(below(root))
    for node in reversed(nodes):
        _derive_node(node, root)
    for node in nodes:
        for pair, cell in node.cells.items():
            cell.parent = None if node.parent is None else node.parent.cell(pair)
            cell.derive_potential()
        node.resources = _declared_by_resource(node)
        if isinstance(node, CohortNode):
            node.forget_derived()


def _derive_node(node: Node, root: Node) -> None:
    """Recompute what follows from the limits and the children, which come first."""
    node.root = root
    node.cyclic = False
    if isinstance(node, QueueNode):
        node.active = node.able
    children: list[Node] = []
    if isinstance(node, CohortNode):
        children = [*node.cohorts.values(), *node.queues.values()]
        node.height = _height(node)
        for child in children:
            for pair in child.cells:
                node.cell(pair)
    for pair in node.quotas:
        node.cell(pair)
    for pair, cell in node.cells.items():
        quota = node.quotas.get(pair)
        cell.declared = quota is not None
        cell.nominal = quota.nominal if quota else 0
        cell.borrowing_limit = quota.borrowing_limit if quota else None
        cell.lending_limit = quota.lending_limit if quota else None
        lent = used = 0
        for child in children:
            part = child.cells.get(pair)
            if part is not None:
                cell.declared = cell.declared or part.declared
                lent = plus(lent, part.lent)
                used += max(0, part.used - part.guaranteed)
        cell.derive(lent)
        if isinstance(node, CohortNode):
            cell.used = used


def _height(node: CohortNode) -> int:
    """0 without children, else one more than the highest child; inactive queues do not count."""
    heights = [child.height for child in node.cohorts.values()]
    if any(queue.active for queue in node.queues.values()):
        heights.append(0)
    return max(heights) + 1 if heights else 0


def _declared_by_resource(node: Node) -> tuple[tuple[str, tuple[Cell, ...]], ...]:
    found: dict[str, list[Cell]] = {}
    for pair, cell in node.cells.items():
        if cell.declared:
            found.setdefault(pair.resource, []).append(cell)
    return tuple((name, tuple(found[name])) for name in sorted(found))
