"""Who may use how much: the algebra of the tree, each figure from its definition."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple, Protocol

from tests.conformance.oracle.values import Amounts, Pair, minus, plus

Node = tuple[str, str]
"""("q", name) for a ClusterQueue, ("c", name) for a Cohort."""
Share = tuple[int, Fraction]
"""Whether weight zero is over its quota, and the ratio of borrowed to lendable, weighted."""


class Own(NamedTuple):
    """What a node owns of a pair; no limit is None."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


class Member(Protocol):
    parent: str | None
    quotas: dict[Pair, Own]
    weight: Fraction


class _Assumed:
    """A cohort that is only named."""

    parent: str | None = None
    quotas: dict[Pair, Own]
    weight = Fraction(1)

    def __init__(self) -> None:
        self.quotas = {}


class Tree:
    """The forest of queues and cohorts, with what does not depend on use."""

    def __init__(
        self, queues: Mapping[str, Member], cohorts: Mapping[str, Member], active: Iterable[str]
    ) -> None:
        self.members: dict[Node, Member] = {("q", name): each for name, each in queues.items()}
        named = [each.parent for each in queues.values()]
        named += [*cohorts, *(each.parent for each in cohorts.values())]
        for name in named:
            if name is not None:
                self.members[("c", name)] = cohorts.get(name) or _Assumed()
        self.children: dict[Node, list[Node]] = {node: [] for node in self.members}
        for node in self.members:
            parent = self.parent(node)
            if parent is not None:
                self.children[parent].append(node)
        self.cyclic = {node for node in self.members if self._goes_round(node)}
        self.active = {name for name in active if ("q", name) not in self.cyclic}
        self._subtree_quota: dict[tuple[Node, Pair], int] = {}
        self._pairs: dict[Node, list[Pair]] = {}

    def _goes_round(self, node: Node) -> bool:
        seen = []
        above: Node | None = node
        while above is not None:
            if above in seen:
                return True
            seen.append(above)
            above = self.parent(above)
        return False

    def parent(self, node: Node) -> Node | None:
        name = self.members[node].parent
        return None if name is None else ("c", name)

    def ancestors(self, node: Node) -> Iterator[Node]:
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def root(self, node: Node) -> Node:
        return [node, *self.ancestors(node)][-1]

    def below(self, node: Node) -> Iterator[Node]:
        """Yield the node and all under it."""
        yield node
        for child in self.children[node]:
            yield from self.below(child)

    def height(self, node: Node) -> int:
        """Return how many levels are below a node; queues that admit nothing are not there."""
        there = [c for c in self.children[node] if c[0] == "c" or c[1] in self.active]
        if node[0] == "q" or not there:
            return 0
        return 1 + max(self.height(child) for child in there)

    def pairs(self, node: Node) -> list[Pair]:
        if node not in self._pairs:
            found = dict.fromkeys(self.members[node].quotas)
            for child in self.children[node]:
                found.update(dict.fromkeys(self.pairs(child)))
            self._pairs[node] = list(found)
        return self._pairs[node]

    def own(self, node: Node, pair: Pair) -> Own:
        return self.members[node].quotas.get(pair, Own())

    def subtree_quota(self, node: Node, pair: Pair) -> int:
        """S: what a node owns, and what its children lend it."""
        key = (node, pair)
        if key not in self._subtree_quota:
            total = self.own(node, pair).nominal
            for child in self.children[node]:
                lent = minus(self.subtree_quota(child, pair), self.guaranteed(child, pair))
                total = plus(total, lent)
            self._subtree_quota[key] = total
        return self._subtree_quota[key]

    def guaranteed(self, node: Node, pair: Pair) -> int:
        """G: what a node never lends."""
        lending = self.own(node, pair).lending
        if lending is None:
            return 0
        return max(0, minus(self.subtree_quota(node, pair), lending))

    def potential(self, node: Node, pair: Pair) -> int:
        """M: what a node could use if nobody else used anything."""
        parent = self.parent(node)
        quota = self.subtree_quota(node, pair)
        if parent is None:
            return quota
        most = plus(self.guaranteed(node, pair), self.potential(parent, pair))
        borrowing = self.own(node, pair).borrowing
        return most if borrowing is None else min(most, plus(quota, borrowing))


class Snapshot:
    """Who uses what at one moment; a copy shares nothing but the tree."""

    def __init__(self, tree: Tree, used: dict[str, Amounts], holders: dict[str, list[str]]) -> None:
        self.tree = tree
        self.used = {name: dict(amounts) for name, amounts in used.items()}
        self.holders = {name: list(keys) for name, keys in holders.items()}

    def copy(self) -> "Snapshot":
        return Snapshot(self.tree, self.used, self.holders)

    def add(self, queue: str, amounts: Amounts, sign: int = 1) -> None:
        used = self.used[queue]
        for pair, each in amounts.items():
            used[pair] = used.get(pair, 0) + sign * each

    def usage(self, node: Node, pair: Pair) -> int:
        """U: what a queue uses; what the children of a cohort use beyond what they keep."""
        if node[0] == "q":
            return self.used[node[1]].get(pair, 0)
        return sum(self.beyond(child, pair) for child in self.tree.children[node])

    def beyond(self, node: Node, pair: Pair) -> int:
        return max(0, self.usage(node, pair) - self.tree.guaranteed(node, pair))

    def local(self, node: Node, pair: Pair) -> int:
        """LA: what is left of what the node never lends."""
        return max(0, minus(self.tree.guaranteed(node, pair), self.usage(node, pair)))

    def available(self, node: Node, pair: Pair) -> int:
        """A: what may still be used, negative where too much is used already."""
        tree, parent = self.tree, self.tree.parent(node)
        quota = tree.subtree_quota(node, pair)
        if parent is None:
            return minus(quota, self.usage(node, pair))
        above = self.available(parent, pair)
        borrowing = tree.own(node, pair).borrowing
        if borrowing is not None:
            lent = minus(quota, tree.guaranteed(node, pair))
            above = min(above, plus(minus(lent, self.beyond(node, pair)), borrowing))
        return plus(self.local(node, pair), above)

    def level(self, node: Node, pair: Pair, asked: int) -> tuple[int, bool]:
        """Return how far up a request borrows, and whether it stays below the root."""
        tree = self.tree
        if tree.parent(node) is None:
            return 0, False
        if tree.own(node, pair).nominal >= self.usage(node, pair) + asked:
            return 0, True
        rest = asked - self.local(node, pair)
        for above in tree.ancestors(node):
            if tree.subtree_quota(above, pair) >= self.usage(above, pair) + rest:
                return tree.height(above), tree.parent(above) is not None
            rest -= self.local(above, pair)
        return tree.height(tree.root(node)), False

    def within(self, node: Node, pairs: Iterable[Pair]) -> bool:
        """Whether a node uses no more than its quota of any of the pairs."""
        return all(self.tree.subtree_quota(node, pair) >= self.usage(node, pair) for pair in pairs)

    def fits(self, node: Node, asked: Amounts, *, borrowing: bool = True) -> bool:
        for pair, each in asked.items():
            nominal = self.tree.own(node, pair).nominal
            if not borrowing and nominal < self.usage(node, pair) + each:
                return False
            if each > max(0, self.available(node, pair)):
                return False
        return True

    def borrows(self, node: Node) -> bool:
        pairs = self.tree.pairs(node)
        return self.tree.parent(node) is not None and not self.within(node, pairs)

    def share(self, node: Node) -> Share:
        """Return the dominant share: what is borrowed of what could be lent, by weight."""
        tree, parent = self.tree, self.tree.parent(node)
        if parent is None:
            return 0, Fraction(0)
        over: dict[str, int] = {}
        for pair in tree.pairs(node):
            beyond = self.usage(node, pair) - tree.subtree_quota(node, pair)
            over[pair[1]] = over.get(pair[1], 0) + max(0, beyond)
        ratio = Fraction(0)
        for resource, beyond in over.items():
            lendable = 0
            for pair in tree.pairs(tree.root(node)):
                if pair[1] == resource:
                    lendable = plus(lendable, tree.potential(parent, pair))
            if lendable > 0:
                ratio = max(ratio, Fraction(beyond * 1000, lendable))
        if ratio == 0:
            return 0, ratio
        weight = tree.members[node].weight
        return (1, ratio) if weight == 0 else (0, ratio / weight)
