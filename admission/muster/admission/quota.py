"""
The quota algebra: how much a queue may use, of its own and of what its cohort lends.

Quota is counted per flavor and resource, and two such pairs never touch each other. So every node
of the cohort tree (a ClusterQueue or a Cohort) owns one `Cell` per pair, linked to the parent's
cell of the same pair: a pair is a tree of cells, and every question here walks from one cell
towards the root.

Usage is read through a mapping from cell to amount. `BOOKED` reads what the state has booked;
`Imagined` lays changes over another mapping. A what-if is an `Imagined` that is filled and dropped;
nothing is ever undone.

Words (as in the Kueue API): a cell's *subtree quota* is what it and its children own together; the
part a lending limit keeps at home is *guaranteed* and invisible to the parent; *borrowing* is using
more than the node's own quota.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from muster.admission.amounts import FlavorResource, minus, plus

if TYPE_CHECKING:
    from muster.admission.cohorts import CohortNode, Node

Usage = Iterable[tuple["Cell", int]]
"""Amounts by cell of one ClusterQueue."""


class Cell:
    """The quota of one node in one flavor and resource. Amounts; `None` means no such limit."""

    __slots__ = (
        "borrowable",
        "borrowing_limit",
        "declared",
        "guaranteed",
        "lending_limit",
        "node",
        "nominal",
        "pair",
        "parent",
        "potential",
        "subtree",
        "used",
    )

    def __init__(self, node: Node, pair: FlavorResource) -> None:
        self.node = node
        self.pair = pair
        self.parent: Cell | None = None
        self.nominal = 0
        self.borrowing_limit: int | None = None
        self.lending_limit: int | None = None
        #: Whether the node or one below declares quota for the pair; others exist for usage only.
        self.declared = False
        self.subtree = 0
        self.guaranteed = 0
        #: What may be used of the quota shared with the parent: lent part + borrowing limit.
        self.borrowable: int | None = None
        #: The most the node could ever use, with everything else idle.
        self.potential = 0
        self.used = 0

    def __repr__(self) -> str:
        return f"<Cell {self.node.name} {self.pair.flavor}/{self.pair.resource}>"

    def derive(self, lent_by_children: int) -> None:
        """Recompute what follows from the limits and the children; the parent comes later."""
        self.subtree = plus(self.nominal, lent_by_children)
        limit = self.lending_limit
        self.guaranteed = 0 if limit is None else max(0, minus(self.subtree, limit))
        self.borrowable = (
            None
            if self.borrowing_limit is None
            else plus(minus(self.subtree, self.guaranteed), self.borrowing_limit)
        )

    def derive_potential(self) -> None:
        """Recompute `potential`; the parent's must be right already."""
        if self.parent is None:
            self.potential = self.subtree
            return
        self.potential = plus(self.guaranteed, self.parent.potential)
        if self.borrowing_limit is not None:
            self.potential = min(self.potential, plus(self.subtree, self.borrowing_limit))

    @property
    def lent(self) -> int:
        """What the parent sees of this node's quota."""
        return minus(self.subtree, self.guaranteed)


class UsageView(Protocol):
    """Usage by cell: what is booked, or what is imagined on top of it."""

    def __getitem__(self, cell: Cell, /) -> int: ...

    def __setitem__(self, cell: Cell, used: int, /) -> None: ...


class _Booked:
    """The usage the state has booked, stored in the cells themselves."""

    def __getitem__(self, cell: Cell) -> int:
        return cell.used

    def __setitem__(self, cell: Cell, used: int) -> None:
        cell.used = used


BOOKED: UsageView = _Booked()


class Imagined(dict[Cell, int]):
    """Changes laid over another usage; costs what was changed, and is simply dropped."""

    __slots__ = ("_below",)

    def __init__(self, below: UsageView) -> None:
        super().__init__()
        #: None for what is booked: reading that straight from the cell is the hot path.
        self._below = None if below is BOOKED else below

    def __missing__(self, cell: Cell) -> int:
        return cell.used if self._below is None else self._below[cell]


# --- Changing usage ------------------------------------------------------------------------------


def book(view: UsageView, cell: Cell, amount: int) -> None:
    """Add `amount` to `cell`; what exceeds its guaranteed quota goes to the parent, and so on."""
    at: Cell | None = cell
    while at is not None:
        used = view[at]
        view[at] = used + amount
        at_home = at.guaranteed - used
        if at_home > 0:
            amount -= at_home
            if amount <= 0:
                return
        at = at.parent


def release(view: UsageView, cell: Cell, amount: int) -> None:
    """Take `amount` away from `cell`, and from its ancestors what they had been charged for it."""
    at: Cell | None = cell
    while at is not None:
        used = view[at]
        view[at] = used - amount
        charged = used - at.guaranteed
        if charged <= 0:
            return
        amount = min(amount, charged)
        at = at.parent


def book_all(view: UsageView, usage: Usage) -> None:
    """Add all amounts."""
    for cell, amount in usage:
        book(view, cell, amount)


def release_all(view: UsageView, usage: Usage) -> None:
    """Take all amounts away."""
    for cell, amount in usage:
        release(view, cell, amount)


# --- Asking about usage --------------------------------------------------------------------------


def locally_available(view: UsageView, cell: Cell) -> int:
    """Return what is left of the quota that `cell` keeps at home."""
    return max(0, cell.guaranteed - view[cell])


def available(view: UsageView, cell: Cell) -> int:
    """
    Return what `cell` can still use: at home, and from its ancestors as far as limits allow.

    Negative when quotas were cut below what is in use.
    """
    # A(n) = home(n) + min(A(parent), borrowable(n) - charged(n)), unrolled towards the root:
    # the tightest borrowing limit on the way, or what the root has left.
    home = 0
    tightest: int | None = None
    while True:
        spare = cell.guaranteed - view[cell]
        parent = cell.parent
        if parent is None:
            left = home + cell.subtree - view[cell]
            return left if tightest is None else min(tightest, left)
        if spare > 0:
            home += spare
            spare = 0
        if cell.borrowable is not None:
            limit = home + cell.borrowable + spare
            if tightest is None or limit < tightest:
                tightest = limit
        cell = parent


def borrowing_level(view: UsageView, cell: Cell, amount: int) -> tuple[int, bool]:
    """
    Return how far away the quota for `amount` more is, and whether that is short of the whole tree.

    The distance is 0 at home, else the height of the lowest cohort whose own quota suffices, else
    the height of the root.
    """
    parent = cell.parent
    if parent is None:
        return 0, False
    if view[cell] + amount <= cell.nominal:
        return 0, True
    amount -= locally_available(view, cell)
    while True:
        if view[parent] + amount <= parent.subtree:
            return parent.node.height, parent.parent is not None
        amount -= locally_available(view, parent)
        if parent.parent is None:
            return parent.node.height, False
        parent = parent.parent


def exceeds_nominal(view: UsageView, node: Node, pairs: Iterable[FlavorResource]) -> bool:
    """Whether the node uses more than its subtree owns of at least one of the pairs."""
    cells = node.cells
    for pair in pairs:
        cell = cells.get(pair)
        if cell is not None and view[cell] > cell.subtree:
            return True
    return False


def children_above_nominal(
    view: UsageView, cohort: CohortNode, pairs: Sequence[FlavorResource]
) -> Iterable[Node]:
    """Return the children of a cohort that use more than they own of at least one of the pairs."""
    found: dict[Node, None] = {}
    for pair in pairs:
        for child, cell in cohort.children_with(pair):
            if view[cell] > cell.subtree:
                found[child] = None
    return found
