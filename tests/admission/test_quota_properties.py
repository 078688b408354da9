"""The quota algebra against its recursive definition, and the laws that follow from it."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from muster.admission.quota import (
    BOOKED,
    Cell,
    Imagined,
    UsageView,
    available,
    book,
    borrowing_level,
    locally_available,
    release,
)
from tests.admission import oracle
from tests.admission.oracle import Trees
from tests.admission.strategies import amounts, cells, forests

steps = st.lists(st.tuples(st.sampled_from(("a", "b", "c", "d")), st.integers(1, 5)), max_size=8)


def usage(view: UsageView, of: dict[str, Cell]) -> dict[str, int]:
    return {name: view[cell] for name, cell in of.items()}


def taking(trees: Trees, more: Iterable[tuple[str, int]]) -> Trees:
    used = dict(trees.used)
    for queue, amount in more:
        used[queue] = used.get(queue, 0) + amount
    return replace(trees, used=used)


@given(trees=forests())
def test_figures_are_as_defined(trees: Trees) -> None:
    for name, cell in cells(trees).items():
        assert cell.subtree == oracle.subtree(trees, name)
        assert cell.guaranteed == oracle.guaranteed(trees, name)
        assert cell.potential == oracle.potential(trees, name)
        assert cell.used == oracle.used(trees, name)
        assert locally_available(BOOKED, cell) == oracle.at_home(trees, name)
        assert available(BOOKED, cell) == oracle.available(trees, name)


@given(trees=forests(), amount=st.integers(0, 12))
def test_distance_is_as_defined(trees: Trees, amount: int) -> None:
    planted = cells(trees)
    for name in trees.queues:
        assert borrowing_level(BOOKED, planted[name], amount) == oracle.level(trees, name, amount)


@given(trees=forests(), more=steps)
def test_booking_one_by_one_is_counting_all(trees: Trees, more: list[tuple[str, int]]) -> None:
    more = [(queue, amount) for queue, amount in more if queue in trees.queues]
    planted = cells(trees)

    for queue, amount in more:
        book(BOOKED, planted[queue], amount)

    both = taking(trees, more)
    assert usage(BOOKED, planted) == {name: oracle.used(both, name) for name in trees.nodes}


@given(trees=forests(), more=steps, shuffled=st.randoms(use_true_random=False))
def test_giving_back_in_any_order_restores_every_figure(
    trees: Trees, more: list[tuple[str, int]], shuffled: Random
) -> None:
    planted = cells(trees)
    before = usage(BOOKED, planted)
    more = [(queue, amount) for queue, amount in more if queue in trees.queues]

    for queue, amount in more:
        book(BOOKED, planted[queue], amount)
    shuffled.shuffle(more)
    for queue, amount in more:
        release(BOOKED, planted[queue], amount)

    assert usage(BOOKED, planted) == before


@given(trees=forests(), more=steps)
def test_imagining_leaves_what_is_booked(trees: Trees, more: list[tuple[str, int]]) -> None:
    planted = cells(trees)
    before = usage(BOOKED, planted)
    imagined = Imagined(Imagined(BOOKED))

    for queue, amount in more:
        if queue in trees.queues:
            book(imagined, planted[queue], amount)

    both = taking(trees, [(q, amount) for q, amount in more if q in trees.queues])
    assert usage(BOOKED, planted) == before
    assert usage(imagined, planted) == {name: oracle.used(both, name) for name in trees.nodes}


@given(trees=forests())
def test_nobody_can_use_more_than_the_most(trees: Trees) -> None:
    planted = cells(trees)
    for name in trees.queues:
        cell = planted[name]
        assert cell.potential >= max(0, available(BOOKED, cell))


@given(trees=forests(), asked=st.lists(amounts, min_size=4, max_size=4))
def test_what_is_available_can_be_taken_without_debt(trees: Trees, asked: list[int]) -> None:
    """Nothing that fits overdraws the tree or anybody's borrowing limit."""
    planted = cells(replace(trees, used={}))
    for name, amount in zip(trees.queues, asked, strict=False):
        if amount <= available(BOOKED, planted[name]):
            book(BOOKED, planted[name], amount)

    for cell in planted.values():
        if cell.parent is None:
            assert available(BOOKED, cell) >= 0
        if cell.borrowing_limit is not None:
            assert cell.used <= cell.subtree + cell.borrowing_limit


@given(trees=forests())
def test_outsiders_never_eat_what_is_kept_at_home(trees: Trees) -> None:
    for cell in cells(trees).values():
        if cell.parent is None or available(BOOKED, cell.parent) < 0:
            continue
        if cell.borrowing_limit is None or cell.used <= cell.subtree + cell.borrowing_limit:
            assert available(BOOKED, cell) >= locally_available(BOOKED, cell)


more_generous = st.sampled_from(("nominal", "borrowing", "lending"))


@given(trees=forests(), change=more_generous, extra=st.integers(1, 5), data=st.data())
def test_generosity_never_lowers_what_anybody_could_use(
    trees: Trees, change: str, extra: int, data: st.DataObject
) -> None:
    node = data.draw(st.sampled_from(trees.nodes))
    own = trees.own(node)
    match change:
        case "nominal":
            richer = replace(own, nominal=own.nominal + extra)
        case "borrowing":
            richer = replace(
                own, borrowing=None if own.borrowing is None else own.borrowing + extra
            )
        case _:
            richer = replace(own, lending=None)
    before = {name: cell.potential for name, cell in cells(trees).items()}

    after = cells(replace(trees, owns={**trees.owns, node: richer}))

    assert all(after[name].potential >= most for name, most in before.items())


@given(trees=forests(), shuffled=st.randoms(use_true_random=False))
def test_the_order_of_children_does_not_matter(trees: Trees, shuffled: Random) -> None:
    names = list(trees.nodes)
    shuffled.shuffle(names)
    again = replace(trees, owns={name: trees.own(name) for name in names})

    figures = {name: (c.subtree, c.potential, c.used) for name, c in cells(trees).items()}

    assert {name: (c.subtree, c.potential, c.used) for name, c in cells(again).items()} == figures


@given(trees=forests(), idle=forests())
def test_quota_does_not_depend_on_usage(trees: Trees, idle: Trees) -> None:
    busy = {name: (c.subtree, c.potential) for name, c in cells(trees).items()}
    other = cells(replace(trees, used=idle.used))

    assert {name: (cell.subtree, cell.potential) for name, cell in other.items()} == busy
