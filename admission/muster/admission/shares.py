"""
The fair-share value: how far a node is above its own quota, relative to what its parent could lend.

For every resource, what a node uses beyond its subtree quota (summed over flavors) is divided by
what the parent could lend of it at most; the largest of these ratios, in thousandths and divided by
the node's weight, is the share. It is the dominant resource share of Ghodsi et al. (NSDI 2011),
taken over borrowed quota only. Shares are exact fractions and never floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering

from muster.admission.amounts import INFINITE
from muster.admission.cohorts import Node
from muster.admission.quota import UsageView


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """
    `numerator / denominator` thousandths of what the parent can lend, per unit of weight.

    A node of weight 0 that borrows has a share greater than that of any other; two such nodes
    compare by their unweighted ratio, which is what the fraction then holds.
    """

    numerator: int
    denominator: int
    weightless: bool = False
    resource: str = ""
    """The dominant resource; empty when nothing is borrowed."""

    def __lt__(self, other: Share) -> bool:
        if self.weightless is not other.weightless:
            return other.weightless
        return self.numerator * other.denominator < other.numerator * self.denominator

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Share):
            return NotImplemented
        return (
            self.weightless is other.weightless
            and self.numerator * other.denominator == other.numerator * self.denominator
        )

    __hash__ = None  # type: ignore[assignment]  # equal fractions differ in their parts

    @property
    def published(self) -> int:
        """The value as the API shows it: rounded up; the largest integer for weight 0."""
        return INFINITE if self.weightless else -(-self.numerator // self.denominator)


NO_SHARE = Share(0, 1)


def share(view: UsageView, node: Node) -> Share:
    """Return the share of a node as seen from its parent; roots and lone queues have none."""
    parent = node.parent
    if parent is None or node.cyclic:
        return NO_SHARE
    best_over, best_lendable, dominant = 0, 1, ""
    for resource, cells in node.resources:
        over = 0
        for cell in cells:
            excess = view[cell] - cell.subtree
            if excess > 0:
                over += excess
        if over:
            lendable = parent.lendable(resource)
            # Names are in order, so `>` leaves a tie with the smaller name.
            if lendable > 0 and over * best_lendable > best_over * lendable:
                best_over, best_lendable, dominant = over, lendable, resource
    if not best_over:
        return NO_SHARE
    weight = node.weight
    if weight == 0:
        return Share(best_over * 1000, best_lendable, weightless=True, resource=dominant)
    return Share(
        best_over * 1000 * weight.denominator,
        best_lendable * weight.numerator,
        resource=dominant,
    )


def borrows(view: UsageView, node: Node) -> bool:
    """Whether a node with a parent uses more than its subtree owns of any pair it declares."""
    if node.parent is None:
        return False
    return any(view[cell] > cell.subtree for _, cells in node.resources for cell in cells)
