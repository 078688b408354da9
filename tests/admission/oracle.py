"""Second definitions of the quota algebra and of fair shares: recursive, slow and obviously right.

A forest is plain data: who hangs where, who owns what, which queue uses what. It is about one pair
of flavor and resource, since pairs never touch each other; shares look at several.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from muster.admission.amounts import FlavorResource


@dataclass(frozen=True, kw_only=True)
class Own:
    """What one node owns of one pair."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, kw_only=True)
class Trees:
    """A forest and what its queues use of one pair; whoever is not in `parents` is a root."""

    parents: Mapping[str, str] = field(default_factory=dict)
    owns: Mapping[str, Own]
    queues: tuple[str, ...]
    used: Mapping[str, int] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.owns)

    def children(self, node: str) -> list[str]:
        return [child for child, parent in self.parents.items() if parent == node]

    def parent(self, node: str) -> str | None:
        return self.parents.get(node)

    def own(self, node: str) -> Own:
        return self.owns[node]


def scaled(trees: Trees, factor: int) -> Trees:
    """The same forest with every amount multiplied."""
    return replace(
        trees,
        owns={
            node: Own(
                nominal=own.nominal * factor,
                borrowing=None if own.borrowing is None else own.borrowing * factor,
                lending=None if own.lending is None else own.lending * factor,
            )
            for node, own in trees.owns.items()
        },
        used={queue: amount * factor for queue, amount in trees.used.items()},
    )


def subtree(trees: Trees, node: str) -> int:
    """S: the own quota and what the children do not keep at home."""
    total = trees.own(node).nominal
    for child in trees.children(node):
        total += subtree(trees, child) - guaranteed(trees, child)
    return total


def guaranteed(trees: Trees, node: str) -> int:
    """G: what a lending limit keeps at home."""
    lending = trees.own(node).lending
    return 0 if lending is None else max(0, subtree(trees, node) - lending)


def used(trees: Trees, node: str) -> int:
    """U: of a queue, its workloads; of a cohort, what its children take beyond their homes."""
    if node in trees.queues:
        return trees.used.get(node, 0)
    return sum(
        max(0, used(trees, child) - guaranteed(trees, child)) for child in trees.children(node)
    )


def at_home(trees: Trees, node: str) -> int:
    """LA: what is left of what is kept at home."""
    return max(0, guaranteed(trees, node) - used(trees, node))


def available(trees: Trees, node: str) -> int:
    """A: what a node can still use; negative after cuts."""
    parent = trees.parent(node)
    if parent is None:
        return subtree(trees, node) - used(trees, node)
    from_above = available(trees, parent)
    borrowing = trees.own(node).borrowing
    if borrowing is not None:
        lent = subtree(trees, node) - guaranteed(trees, node)
        charged = max(0, used(trees, node) - guaranteed(trees, node))
        from_above = min(from_above, lent - charged + borrowing)
    return at_home(trees, node) + from_above


def potential(trees: Trees, node: str) -> int:
    """M: the most a node could use if everything were idle."""
    parent = trees.parent(node)
    if parent is None:
        return subtree(trees, node)
    most = guaranteed(trees, node) + potential(trees, parent)
    borrowing = trees.own(node).borrowing
    return most if borrowing is None else min(most, subtree(trees, node) + borrowing)


def height(trees: Trees, node: str) -> int:
    """0 without children, else one more than the highest child; queues have none."""
    children = trees.children(node)
    return 1 + max(height(trees, child) for child in children) if children else 0


def level(trees: Trees, queue: str, amount: int) -> tuple[int, bool]:
    """How far away the quota for `amount` more is, and whether that is below the root."""
    parent = trees.parent(queue)
    if parent is None:
        return 0, False
    if used(trees, queue) + amount <= trees.own(queue).nominal:
        return 0, True
    rest = amount - at_home(trees, queue)
    at: str | None = parent
    top = parent
    while at is not None:
        if used(trees, at) + rest <= subtree(trees, at):
            return height(trees, at), trees.parent(at) is not None
        rest -= at_home(trees, at)
        top, at = at, trees.parent(at)
    return height(trees, top), False


def share(pairs: Mapping[FlavorResource, Trees], node: str, weight: Fraction) -> Fraction | None:
    """The fair-share value in thousandths; None is infinite. ."""
    ratios = [Fraction(0)]
    for resource in sorted({resource for _, resource in pairs}):
        over = lendable = 0
        for (_flavor, name), trees in pairs.items():
            parent = trees.parent(node)
            if name == resource and parent is not None:
                over += max(0, used(trees, node) - subtree(trees, node))
                lendable += potential(trees, parent)
        if lendable > 0:
            ratios.append(Fraction(over * 1000, lendable))
    ratio = max(ratios)
    if ratio == 0:
        return Fraction(0)
    return None if weight == 0 else ratio / weight
