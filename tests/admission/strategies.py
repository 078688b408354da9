"""Small random forests: few names and small amounts, so that ties and exact fits come up."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from muster.admission.amounts import FlavorResource
from muster.admission.cohorts import Forest, Node, QueueNode
from muster.admission.objects import Cohort, Quota
from muster.admission.quota import BOOKED, Cell, book
from tests.admission.oracle import Own, Trees

CPU = FlavorResource("default", "cpu")

amounts = st.integers(0, 6)
limits = st.none() | st.integers(0, 6)
owns = st.builds(Own, nominal=amounts, borrowing=limits, lending=limits)
usages = st.dictionaries(st.sampled_from(("a", "b", "c", "d")), amounts)


@st.composite
def forests(draw: st.DrawFn) -> Trees:
    """Up to three cohorts, up to four queues, and what the queues use, wanted or not."""
    cohorts = ("k0", "k1", "k2")[: draw(st.integers(0, 3))]
    queues = ("a", "b", "c", "d")[: draw(st.integers(1, 4))]
    parents: dict[str, str] = {}
    for index, node in enumerate((*cohorts, *queues)):
        above = cohorts[:index]
        parent = draw(st.sampled_from((None, *above)))
        if parent is not None:
            parents[node] = parent
    owned = {node: draw(owns) for node in (*cohorts, *queues)}
    for node, own in owned.items():
        if node not in parents:  # a root has nobody to borrow from or lend to
            owned[node] = replace(own, borrowing=None, lending=None)
    return Trees(parents=parents, owns=owned, queues=queues, used=draw(usages))


def grown(pairs: Mapping[FlavorResource, Trees]) -> dict[str, Node]:
    """The forest as the engine keeps it, by name; all pairs have the same edges."""
    first = next(iter(pairs.values()))
    forest = Forest()
    nodes: dict[str, Node] = {}
    for name in first.nodes:
        quotas = {pair: _quota(trees.own(name)) for pair, trees in pairs.items()}
        if name in first.queues:
            queue = nodes[name] = QueueNode(name)
            queue.able = True
            queue.quotas = quotas
            forest.place(queue, first.parent(name))
        else:
            cohort = Cohort(name=name, parent=first.parent(name), quotas=quotas)
            nodes[name] = forest.declare(cohort)
    forest.settle()
    for pair, trees in pairs.items():
        for queue_name, used in trees.used.items():
            if queue_name in trees.queues:
                book(BOOKED, nodes[queue_name].cell(pair), used)
    return nodes


def _quota(own: Own) -> Quota:
    return Quota(nominal=own.nominal, borrowing_limit=own.borrowing, lending_limit=own.lending)


def cells(trees: Trees) -> dict[str, Cell]:
    return {name: node.cell(CPU) for name, node in grown({CPU: trees}).items()}
