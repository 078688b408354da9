"""The quota algebra on small trees: every figure of a tree in which each limit has a say."""

import sys
from dataclasses import dataclass

import pytest

from muster.admission import events
from muster.admission.amounts import INFINITE, minus, plus
from muster.admission.config import Config
from muster.admission.cycle import decide
from muster.admission.objects import Namespace, Status, StopPolicy
from muster.admission.plan import Admit
from muster.admission.quota import BOOKED, available, borrowing_level, locally_available
from muster.admission.state import State
from tests.admission.builders import (
    Limits,
    a_cluster_queue,
    a_cohort,
    a_flavor,
    a_gang,
    a_local_queue,
)
from tests.admission.world import FAIR, World

# --- A tree in which each limit has a say ---


def a_company() -> World:
    """An organisation and a team, both with quota of their own, and queues in either."""
    return World(
        a_cohort("org", quota={"default": {"cpu": 4}}),
        a_cohort("eng", "org", quota={"default": {"cpu": (6, 3, 5)}}),
        a_cluster_queue("a", cohort="eng", cpu=(10, None, 4)),
        a_cluster_queue("b", cohort="eng", cpu=(2, 7)),
        a_cluster_queue("ops", cohort="org", cpu=5),
    )


# node: subtree quota, guaranteed part, most it could use, available when everything is idle
AT_REST = {
    "org": (14, 0, 14, 14),
    "eng": (12, 7, 15, 15),
    "a": (10, 6, 21, 21),
    "b": (2, 0, 9, 9),
    "ops": (5, 0, 14, 14),
}


@pytest.mark.parametrize("node, figures", AT_REST.items())
def test_quota_at_rest(node: str, figures: tuple[int, ...]) -> None:
    cell = a_company().cell(node)

    found = (cell.subtree, cell.guaranteed, cell.potential, available(BOOKED, cell))

    assert found == figures


# node: used, available, once a uses 8 and b uses 9
IN_USE = {"org": (4, 10), "eng": (11, 4), "a": (8, 4), "b": (9, 0), "ops": (0, 10)}


@pytest.mark.parametrize("node, figures", IN_USE.items())
def test_quota_in_use(node: str, figures: tuple[int, ...]) -> None:
    world = a_company()
    world.run(a_gang("x", "a", cpu=8), a_gang("y", "b", cpu=9))
    cell = world.cell(node)

    assert (cell.used, available(BOOKED, cell)) == figures


def test_usage_is_given_back_as_it_was_taken() -> None:
    world = a_company()
    world.run(a_gang("x", "a", cpu=8), a_gang("y", "b", cpu=9))

    world.finish("x", "y")

    assert {node: world.cell(node).used for node in IN_USE} == dict.fromkeys(IN_USE, 0)


# --- How far away borrowed quota is ---


@dataclass(frozen=True, kw_only=True)
class Distance:
    name: str
    queue: str
    amount: int
    want: tuple[int, bool]
    """The height of the cohort that lends, and whether there is something above it."""


DISTANCES = [
    Distance(name="own quota is at no distance", queue="a", amount=2, want=(0, True)),
    Distance(name="the parent cannot hold it, the root can", queue="a", amount=3, want=(2, False)),
    Distance(
        name="a queue whose whole quota is in use borrows", queue="b", amount=1, want=(1, True)
    ),
    Distance(
        name="own quota below the root is short of the tree", queue="ops", amount=5, want=(0, True)
    ),
    Distance(name="the parent is the root", queue="ops", amount=6, want=(2, False)),
    Distance(
        name="nobody can hold it: as far as the root", queue="ops", amount=99, want=(2, False)
    ),
]


@pytest.mark.parametrize("case", DISTANCES, ids=lambda case: case.name)
def test_borrowing_level(case: Distance) -> None:
    world = a_company()
    world.run(a_gang("x", "a", cpu=8), a_gang("y", "b", cpu=9))

    assert borrowing_level(BOOKED, world.cell(case.queue), case.amount) == case.want


def test_quota_of_the_parent_is_near_and_short_of_the_tree() -> None:
    world = a_company()

    assert borrowing_level(BOOKED, world.cell("b"), 3) == (1, True)


def test_what_a_cohort_keeps_at_home_counts_on_the_way_up() -> None:
    """Of 5, the team keeps 3 for its own queues; the rest is little enough for the next cohort."""
    world = World(
        a_cohort("root", quota={"default": {"cpu": 9}}),
        a_cohort("middle", "root", quota={"default": {"cpu": 1}}),
        a_cohort("team", "middle", quota={"default": {"cpu": (4, None, 1)}}),
        a_cluster_queue("q", cohort="team", cpu=0),
    )

    assert borrowing_level(BOOKED, world.cell("q"), 5) == (2, True)


def test_a_queue_without_cohort_never_borrows() -> None:
    world = World(a_cluster_queue("alone", cpu=3))

    assert borrowing_level(BOOKED, world.cell("alone"), 99) == (0, False)


# --- Heights ---


def test_height_skips_levels_where_branches_are_of_different_length() -> None:
    world = World(
        a_cohort("leaf", "middle"),
        a_cohort("middle", "root"),
        a_cohort("bare", "root"),
        a_cluster_queue("deep", cohort="leaf"),
        a_cluster_queue("high", cohort="root"),
    )
    world.state.settle(world.now_us)

    heights = {name: cohort.height for name, cohort in world.state.forest.cohorts.items()}

    assert heights == {"leaf": 1, "middle": 2, "bare": 0, "root": 3}


def test_a_stopped_queue_gives_no_height() -> None:
    world = World(a_cluster_queue("q", cohort="k", stop_policy=StopPolicy.HOLD))
    world.state.settle(world.now_us)

    assert world.state.forest.cohorts["k"].height == 0


# --- Limits ---


@dataclass(frozen=True, kw_only=True)
class Limit:
    name: str
    lender: Limits
    borrower: Limits
    want: int
    """What the borrower could use of a lender that is idle."""


LIMITS = [
    Limit(name="without limits everything is lent", lender=4, borrower=1, want=5),
    Limit(name="a lending limit keeps the rest at home", lender=(4, None, 1), borrower=1, want=2),
    Limit(name="a lending limit of zero lends nothing", lender=(4, None, 0), borrower=1, want=1),
    Limit(
        name="a lending limit above the quota changes nothing",
        lender=(4, None, 9),
        borrower=1,
        want=5,
    ),
    Limit(name="a borrowing limit counts from the own quota", lender=4, borrower=(1, 2), want=3),
    Limit(name="a borrowing limit of zero borrows nothing", lender=4, borrower=(1, 0), want=1),
    Limit(
        name="a borrowing limit above what is lent changes nothing",
        lender=4,
        borrower=(1, 9),
        want=5,
    ),
    Limit(name="what is kept at home can be used there", lender=4, borrower=(3, None, 1), want=7),
    Limit(name="unlimited quota lends without end", lender=INFINITE, borrower=1, want=INFINITE),
]


@pytest.mark.parametrize("case", LIMITS, ids=lambda case: case.name)
def test_limits(case: Limit) -> None:
    world = World(
        a_cluster_queue("lender", cohort="k", cpu=case.lender),
        a_cluster_queue("borrower", cohort="k", cpu=case.borrower),
    )
    cell = world.cell("borrower")

    assert (available(BOOKED, cell), cell.potential) == (case.want, case.want)


def test_a_cohort_may_lend_more_than_its_own_quota() -> None:
    """The limit is compared with everything below the cohort, not with its nominal quota."""
    world = World(
        a_cohort("team", "root", quota={"default": {"cpu": (1, None, 5)}}),
        a_cluster_queue("rich", cohort="team", cpu=7),
        a_cluster_queue("poor", cohort="root", cpu=0),
    )

    assert world.cell("team").guaranteed == 3
    assert available(BOOKED, world.cell("poor")) == 5


def test_what_is_available_goes_below_zero_when_quota_is_cut() -> None:
    world = World(a_cluster_queue("q", cpu=9))
    world.run(a_gang("w", "q", cpu=8))

    world.see(a_cluster_queue("q", cpu=5))

    assert available(BOOKED, world.cell("q")) == -3
    assert world.running == ["w"]


def test_outsiders_do_not_eat_what_is_kept_at_home() -> None:
    world = World(
        a_cluster_queue("keeper", cohort="k", cpu=(6, None, 2)),
        a_cluster_queue("guest", cohort="k", cpu=0),
    )
    world.run(a_gang("g", "guest", cpu=5))  # more than was lent, say after a cut
    cell = world.cell("keeper")

    assert locally_available(BOOKED, cell) == 4
    assert available(BOOKED, cell) == 1, "the debt of the cohort is paid first"


def test_pairs_never_touch_each_other() -> None:
    world = World(
        a_cluster_queue("q", quota={"f": {"cpu": 3, "gpu": 2}, "g": {"cpu": 4, "gpu": 1}})
    )
    world.run(a_gang("w", "q", requests={"cpu": 3}), flavors="f")

    left = {
        (flavor, resource): available(BOOKED, world.cell("q", resource, flavor))
        for flavor in ("f", "g")
        for resource in ("cpu", "gpu")
    }

    assert left == {("f", "cpu"): 0, ("f", "gpu"): 2, ("g", "cpu"): 4, ("g", "gpu"): 1}


# --- Structure ---


def test_a_named_cohort_exists_without_an_object_until_its_last_child_goes() -> None:
    world = World(a_cluster_queue("q", cohort="ghost"))
    assert list(world.state.forest.cohorts) == ["ghost"]

    world.see(a_cluster_queue("q", cohort=None))

    assert not world.state.forest.cohorts


def test_a_deleted_cohort_keeps_its_children_and_loses_quota_and_parent() -> None:
    world = a_company()

    world.apply(events.CohortGone("eng"))

    assert world.cell("eng").subtree == 10 - 6 + 2
    assert available(BOOKED, world.cell("a")) == 6 + 6
    assert world.queue("a").root is world.state.forest.cohorts["eng"]


@pytest.mark.parametrize("config", [None, FAIR])
def test_a_tree_may_be_deeper_than_a_stack(config: Config | None) -> None:
    depth = 2 * sys.getrecursionlimit()
    state = State(config)
    for level in range(depth):
        state.apply(events.CohortSeen(a_cohort(f"c{level}", f"c{level + 1}")), 0)
    state.apply(events.CohortSeen(a_cohort(f"c{depth}", quota={"default": {"cpu": 5}})), 0)
    state.apply(events.NamespaceSeen(Namespace(name="default")), 0)
    state.apply(events.FlavorSeen(a_flavor("default")), 0)
    state.apply(events.ClusterQueueSeen(a_cluster_queue("q", cohort="c0", cpu=0)), 0)
    state.apply(events.LocalQueueSeen(a_local_queue("q", cluster_queue="q")), 0)
    state.apply(events.WorkloadSeen(a_gang("w", "q", cpu=5), Status()), 0)

    [decision] = decide(state, 0).decisions

    assert isinstance(decision, Admit)


def test_more_than_64_bits_hold_counts_as_all_they_hold() -> None:
    world = World(a_cluster_queue("q", cpu=INFINITE))
    world.see(a_gang("w", "q", pods=3, cpu=2**62))

    assert [grant.amount for grant in world.cycle().of("w").grants] == [INFINITE]


def test_a_deleted_cohort_goes_with_its_last_child() -> None:
    world = World(a_cohort("k", "root"), a_cluster_queue("q", cohort="k"))

    world.apply(events.CohortGone("k"))
    assert list(world.state.forest.cohorts) == ["k"]
    world.apply(events.ClusterQueueGone("q"))

    assert not world.state.forest.cohorts


def test_queues_below_a_cycle_are_inactive_until_it_is_gone() -> None:
    world = a_company()
    world.run(a_gang("x", "a", cpu=8))
    world.see(a_gang("w", "b", cpu=1))

    world.see(a_cohort("org", "eng"))
    during = world.cycle()
    world.see(a_cohort("org"))
    after = world.cycle()

    assert (during.admitted, during.waiting) == ([], {"w": "Suspended"})
    assert after.admitted == ["w"]
    assert world.running == ["w", "x"], "what runs goes on running"


def test_a_queue_that_leaves_a_cycle_counts_for_the_height_of_its_new_cohort() -> None:
    world = World(a_cohort("ring", "ring"), a_cluster_queue("q", cohort="ring"))
    world.state.settle(world.now_us)

    world.see(a_cluster_queue("q", cohort="k"))
    world.state.settle(world.now_us)

    assert world.state.forest.cohorts["k"].height == 1


def test_quota_is_booked_below_a_cycle_too() -> None:
    """After a restart the objects may come in this order, before anything is settled."""
    world = World(a_cohort("ring", "other"), a_cohort("other", "ring"))
    world.see(a_cluster_queue("q", cohort="ring", cpu=5))
    world.run(a_gang("w", "q", cpu=4))

    world.see(a_cohort("ring"))

    assert world.cell("q").used == world.cell("ring").used == 4


# --- Amounts ---


@pytest.mark.parametrize(
    "total, parts",
    [
        (plus(INFINITE, -5), INFINITE),
        (plus(INFINITE - 1, 5), INFINITE),
        (plus(2, 3), 5),
        (minus(INFINITE, 5), INFINITE),
        (minus(INFINITE, INFINITE), 0),
        (minus(5, INFINITE), -INFINITE),
        (minus(2, 5), -3),
    ],
)
def test_amounts_saturate(total: int, parts: int) -> None:
    assert total == parts
