"""Fair shares: known figures, the definition once more, and what makes them an order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission.amounts import INFINITE, FlavorResource
from muster.admission.cohorts import Node
from muster.admission.quota import BOOKED, Imagined, book
from muster.admission.shares import NO_SHARE, Share, borrows, share
from tests.admission import oracle
from tests.admission.builders import Quotas, a_cluster_queue, a_cohort, a_gang
from tests.admission.oracle import Trees
from tests.admission.strategies import forests, grown
from tests.admission.world import World


def share_of(world: World, node: str) -> Share:
    world.state.settle(world.now_us)
    found: Node = world.state.queues.get(node) or world.state.forest.cohorts[node]
    return share(BOOKED, found)


def value(found: Share) -> Fraction | None:
    return None if found.weightless else Fraction(found.numerator, found.denominator)


# --- Known figures ---


def a_company(weight: int = 1) -> World:
    """B uses 9 of its 2 and of what the team, which could use 15 at most, lends."""
    world = World(
        a_cohort("org", quota={"default": {"cpu": 4}}),
        a_cohort("eng", "org", quota={"default": {"cpu": (6, 3, 5)}}),
        a_cluster_queue("a", cohort="eng", cpu=(10, None, 4)),
        a_cluster_queue("b", cohort="eng", cpu=(2, 7), weight=Fraction(weight)),
        a_cluster_queue("ops", cohort="org", cpu=5),
    )
    world.run(a_gang("x", "a", cpu=8), a_gang("y", "b", cpu=9))
    return world


@pytest.mark.parametrize(
    "node, weight, exact, published",
    [
        ("b", 1, Fraction(7 * 1000, 15), 467),
        ("b", 2, Fraction(7 * 1000, 30), 234),
        ("b", 0, None, INFINITE),
        ("a", 1, 0, 0),
        ("eng", 1, 0, 0),
        ("org", 1, 0, 0),
    ],
)
def test_share(node: str, weight: int, exact: Fraction | int | None, published: int) -> None:
    found = share_of(a_company(weight), node)

    assert value(found) == exact
    assert found.published == published


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    own: Quotas
    shared: Quotas
    """Quota of an idle queue beside it."""
    used: Mapping[str, Mapping[str, int]]
    """Flavor -> resource -> amount."""
    want: int | Fraction
    dominant: str = ""


CASES = [
    Case(
        name="a part of all that the cohort could lend",
        own={"f": {"cpu": 3}},
        shared={"f": {"cpu": 5}},
        used={"f": {"cpu": 8}},
        want=625,
        dominant="cpu",
    ),
    Case(
        name="within the own quota it is nothing",
        own={"f": {"cpu": 3}},
        shared={"f": {"cpu": 5}},
        used={"f": {"cpu": 3}},
        want=0,
    ),
    Case(
        name="the largest of the resources decides",
        own={"f": {"cpu": 0, "gpu": 0}},
        shared={"f": {"cpu": 10, "gpu": 4}},
        used={"f": {"cpu": 3, "gpu": 2}},
        want=500,
        dominant="gpu",
    ),
    Case(
        name="a tie goes to the smaller name",
        own={"f": {"gpu": 0, "cpu": 0}},
        shared={"f": {"gpu": 4, "cpu": 4}},
        used={"f": {"gpu": 2, "cpu": 2}},
        want=500,
        dominant="cpu",
    ),
    Case(
        name="flavors of a resource are added up",
        own={"f": {"cpu": 0}, "g": {"cpu": 0}},
        shared={"f": {"cpu": 4}, "g": {"cpu": 6}},
        used={"f": {"cpu": 1}, "g": {"cpu": 2}},
        want=300,
        dominant="cpu",
    ),
    Case(
        name="room left in one flavor does not make up for borrowing in another",
        own={"f": {"cpu": 5}, "g": {"cpu": 0}},
        shared={"f": {"cpu": 0}, "g": {"cpu": 5}},
        used={"f": {"cpu": 0}, "g": {"cpu": 2}},
        want=200,
        dominant="cpu",
    ),
    Case(
        name="what nobody could lend is not counted",
        own={"f": {"cpu": 0, "gpu": 0}},
        shared={"f": {"cpu": 0, "gpu": 4}},
        used={"f": {"cpu": 2, "gpu": 1}},
        want=250,
        dominant="gpu",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_share_of_a_borrower(case: Case) -> None:
    world = World(
        a_cluster_queue("q", cohort="k", quota=case.own),
        a_cluster_queue("idle", cohort="k", quota=case.shared),
    )
    for flavor, requests in case.used.items():
        world.run(a_gang(flavor, "q", requests=requests), flavors=flavor)

    found = share_of(world, "q")

    assert (value(found), found.resource) == (case.want, case.dominant)


def test_a_cohort_borrows_from_its_parent_relative_to_what_that_could_lend() -> None:
    world = World(
        a_cohort("root", quota={"default": {"cpu": 6}}),
        a_cohort("team", "root", weight=Fraction(2)),
        a_cluster_queue("q", cohort="team", cpu=4),
    )
    world.run(a_gang("w", "q", cpu=7))

    assert value(share_of(world, "team")) == Fraction(3 * 1000, 10 * 2)
    assert value(share_of(world, "q")) == Fraction(3 * 1000, 10)


def test_a_queue_without_cohort_has_no_share() -> None:
    world = World(a_cluster_queue("q", cpu=1))
    world.run(a_gang("w", "q", cpu=3))

    assert share_of(world, "q") == NO_SHARE
    assert not borrows(BOOKED, world.queue("q"))


def test_without_weight_borrowing_is_more_than_any_share() -> None:
    little = Share(1, 1, weightless=True)
    more = Share(2, 1, weightless=True)
    weighty = Share(10**9, 1)

    assert weighty < little < more
    assert weighty > NO_SHARE


# --- The definition once more ---


WEIGHTS = st.sampled_from((Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)))


@st.composite
def many_pairs(draw: st.DrawFn) -> dict[FlavorResource, Trees]:
    """The same forest with other quotas and usage for each pair."""
    first = draw(forests())
    pairs = {FlavorResource("f", "cpu"): first}
    for pair in (FlavorResource("g", "cpu"), FlavorResource("f", "gpu")):
        other = draw(forests())
        owns = {node: other.owns.get(node, first.own(node)) for node in first.nodes}
        for node in first.nodes:
            if node not in first.parents:
                owns[node] = replace(owns[node], borrowing=None, lending=None)
        pairs[pair] = replace(first, owns=owns, used=other.used)
    return pairs


@given(pairs=many_pairs(), weight=WEIGHTS)
def test_share_is_as_defined(pairs: dict[FlavorResource, Trees], weight: Fraction) -> None:
    for name, node in grown(pairs).items():
        node.weight = weight
        found = share(BOOKED, node)

        assert value(found) == oracle.share(pairs, name, weight)


@given(pairs=many_pairs(), more=st.integers(1, 5), data=st.data())
def test_using_more_never_lowers_the_share(
    pairs: dict[FlavorResource, Trees], more: int, data: st.DataObject
) -> None:
    nodes = grown(pairs)
    queue = data.draw(st.sampled_from(next(iter(pairs.values())).queues))
    pair = data.draw(st.sampled_from(list(pairs)))
    after = Imagined(BOOKED)
    book(after, nodes[queue].cell(pair), more)

    assert all(share(after, node) >= share(BOOKED, node) for node in nodes.values())


@given(pairs=many_pairs(), factor=st.integers(2, 7))
def test_scaling_everything_leaves_shares_alone(
    pairs: dict[FlavorResource, Trees], factor: int
) -> None:
    scaled = {pair: oracle.scaled(trees, factor) for pair, trees in pairs.items()}

    before = {name: share(BOOKED, node) for name, node in grown(pairs).items()}

    assert {name: share(BOOKED, node) for name, node in grown(scaled).items()} == before


shares = st.builds(
    Share, st.integers(0, 4), st.integers(1, 3), weightless=st.booleans(), resource=st.just("")
)


@given(a=shares, b=shares, c=shares)
def test_shares_are_in_one_order(a: Share, b: Share, c: Share) -> None:
    assert (a < b) + (a == b) + (a > b) == 1
    assert not (a <= b <= c) or a <= c
    assert a != b or (a < c) == (b < c)
