"""Stories that users of queues have told, and how they should end: who has to go."""

from fractions import Fraction

import pytest

from tests.admission.builders import (
    ANY,
    LOWER,
    a_cluster_queue,
    a_cohort,
    a_gang,
)
from tests.admission.world import FAIR, World

ROUNDS = pytest.mark.parametrize("rounds", [1, None], ids=["one round", "all rounds"])

RECLAIMED = "InCohortReclamation"
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"

# --- Nobody in vain ---


def test_a_head_that_never_fits_evicts_nobody_and_blocks_nobody() -> None:
    world = World(
        a_cluster_queue("q1", cohort="k", reclaim=ANY, cpu=(3, 0)),
        a_cluster_queue("q2", cohort="k", reclaim=ANY, cpu=(0, 3)),
    )
    world.run(a_gang("job1", "q2"), a_gang("job2", "q2"))
    world.see(a_gang("job3", "q1", cpu=4))
    assert world.cycle(rounds=None).waiting == {"job3": "ExceedsMaxQuota"}

    world.see(a_gang("job4", "q1", cpu=3))

    assert world.cycle(rounds=None).evicted == {"job1": RECLAIMED, "job2": RECLAIMED}
    world.stop_all()
    assert world.cycle(rounds=None).admitted == ["job4"]
    assert world.cycle(rounds=None).evicted == {}
    assert world.parked == ["job1", "job2", "job3"]


def test_nobody_is_evicted_for_who_loses_another_victim_to_a_stronger_one() -> None:
    world = World(
        a_cluster_queue("a", cohort="k", reclaim=ANY, cpu=4),
        a_cluster_queue("b", cohort="k", reclaim=ANY, borrow=True, borrow_up_to=1, cpu=2),
        a_cluster_queue("c", cohort="k", cpu=0),
    )
    world.run(*(a_gang(name, "c", cpu=2) for name in ("x", "y", "z")))
    world.see(a_gang("w-a", "a", cpu=4, priority=10), a_gang("w-b", "b", cpu=4, priority=5))

    outcome = world.cycle(rounds=None)

    assert len(outcome.evicted) == 2
    assert outcome.victims("w-a") == sorted(outcome.evicted)
    world.stop_all()
    assert world.cycle(rounds=None).admitted == ["w-a"]
    assert len(world.running) == 2


def test_one_is_evicted_and_one_borrowed_rather_than_two_evicted() -> None:
    world = World(
        a_cluster_queue("a", cohort="k", within=LOWER, cpu=10),
        a_cluster_queue("b", cohort="k", cpu=10),
    )
    world.run(*(a_gang(f"a{i}", "a") for i in range(10)), *(a_gang(f"b{i}", "b") for i in range(9)))
    world.see(a_gang("w", "a", cpu=2, priority=10))

    assert list(world.cycle().evicted) == ["a9"]
    world.stop_all()
    assert world.cycle().admitted == ["w"]


def test_who_fits_goes_before_who_would_borrow_what_is_left() -> None:
    world = World(
        a_cluster_queue("a", cohort="k", within=LOWER, cpu=10),
        a_cluster_queue("b", cohort="k", cpu=10),
    )
    world.run(*(a_gang(f"a{i}", "a") for i in range(10)), *(a_gang(f"b{i}", "b") for i in range(9)))
    world.see(a_gang("w", "a", cpu=2, priority=10), a_gang("fits", "b"))

    outcome = world.cycle()

    assert outcome.admitted == ["fits"]
    assert outcome.evicted == {}


def test_the_full_size_is_taken_back_before_a_gang_shrinks() -> None:
    world = World(a_cluster_queue("q", cohort="k", within=LOWER, cpu=20))
    world.run(a_gang("old", "q", pods=10, priority=-4))
    world.see(a_gang("new", "q", pods=20, min_pods=10, priority=4))

    assert list(world.cycle().evicted) == ["old"]
    world.stop("old")
    assert world.cycle().count("new") == 20


# --- Whose quota it is ---


def test_what_was_lent_is_taken_back_and_no_more() -> None:
    world = World(
        a_cluster_queue("prod", cohort="k", reclaim=ANY, cpu=(5, None, 4)),
        a_cluster_queue("dev", cohort="k", cpu=5),
    )
    world.see(a_gang("d1", "dev", cpu=4, priority=0), a_gang("d2", "dev", cpu=5, priority=1))
    assert world.cycle(rounds=None).admitted == ["d2", "d1"]
    world.see(a_gang("p1", "prod", cpu=4))

    assert world.cycle().evicted == {"d1": RECLAIMED}
    world.stop("d1")
    assert world.cycle().admitted == ["p1"]


def test_nominal_quota_of_another_queue_is_never_taken() -> None:
    world = World(
        a_cluster_queue("a", cohort="k", reclaim=ANY, borrow=True, borrow_up_to=5000, cpu=4),
        a_cluster_queue("b", cohort="k", cpu=4),
    )
    world.run(a_gang("low", "b", cpu=4, priority=100))
    world.see(a_gang("hi", "a", cpu=5, priority=10000))

    assert world.cycle().waiting == {"hi": "WaitingForQuota"}


def test_who_borrows_a_little_may_lose_it_all() -> None:
    world = World(
        a_cluster_queue("a", cohort="k", reclaim=ANY, borrow=True, borrow_up_to=5000, cpu=4),
        a_cluster_queue("b", cohort="k", cpu=4),
        a_cluster_queue("c", cohort="k", cpu=1),
    )
    world.run(a_gang("low", "b", cpu=5, priority=100))
    world.see(a_gang("hi", "a", cpu=5, priority=10000))

    assert world.cycle().evicted == {"low": WHILE_BORROWING}
    world.stop("low")
    assert world.cycle().admitted == ["hi"]


def guaranteed(cpu: int) -> World:
    """One queue below a cohort that owns everything, one beside that cohort that owns nothing."""
    return World(
        a_cohort("root"),
        a_cohort("guaranteed", "root", quota={"default": {"cpu": cpu}}),
        a_cluster_queue("best-effort", cohort="root", reclaim=ANY, within=LOWER, cpu=0),
        a_cluster_queue("g", cohort="guaranteed", reclaim=ANY, within=LOWER, cpu=0),
    )


def test_quota_of_a_cohort_is_reclaimed_for_the_queues_below_it() -> None:
    world = guaranteed(3)
    world.run(a_gang("be1", "best-effort", cpu=3, priority=9))
    world.see(a_gang("g1", "g", cpu=3, priority=5))

    assert world.cycle().evicted == {"be1": RECLAIMED}
    world.stop("be1")
    assert world.cycle().admitted == ["g1"]


def test_who_borrows_from_nearer_goes_first() -> None:
    world = guaranteed(4)
    world.see(
        a_gang("be1", "best-effort", cpu=4, priority=3),
        a_gang("g1", "g", cpu=4, priority=0),
    )

    assert world.cycle(rounds=None).admitted == ["g1"]


@ROUNDS
def test_two_owners_take_back_from_one_borrower_at_once(rounds: int | None) -> None:
    world = World(
        a_cluster_queue("alpha", cohort="k", reclaim=ANY, within=LOWER, cpu=2),
        a_cluster_queue("beta", cohort="k", cpu=2),
        a_cluster_queue("gamma", cohort="k", reclaim=ANY, within=LOWER, cpu=2),
    )
    world.run(*(a_gang(f"b{i}", "beta", cpu=2) for i in range(3)))
    world.see(a_gang("al", "alpha", cpu=2), a_gang("ga", "gamma", cpu=2))

    assert len(world.cycle(rounds).evicted) == 2
    world.stop_all()
    assert world.cycle(rounds).admitted == ["al", "ga"]
    assert len(world.running) == 3


def test_one_victim_that_leaves_room_for_two_is_enough() -> None:
    quota = {"f1": {"cpu": 0}, "f2": {"cpu": 0}}
    world = World(
        *(
            a_cluster_queue(
                name,
                cohort="k",
                reclaim=ANY,
                within=LOWER,
                quota={flavor: {"cpu": cpu} for flavor in quota},
            )
            for name, cpu in (("hero", 100), ("tiny", 50))
        ),
        a_cluster_queue("rest", cohort="k", quota=quota),
    )
    for flavor in quota:
        world.run(a_gang(f"on-{flavor}", "rest", cpu=150), flavors=flavor)
    world.see(a_gang("h", "hero", cpu=100, priority=100), a_gang("t", "tiny", cpu=50, priority=50))

    assert list(world.cycle().evicted) == ["on-f1"]
    world.stop_all()
    outcome = world.cycle()
    assert [outcome.flavors(name) for name in ("h", "t")] == [{"cpu": "f1"}] * 2
    assert world.running == ["h", "on-f2", "t"]


def test_a_flavor_within_the_own_quota_is_taken_back_from_who_borrows_that_one() -> None:
    """A borrows much of the cheap flavor; the dear one is its own, and b has it on loan."""
    world = World(
        a_cluster_queue(
            "a", cohort="k", reclaim=ANY, quota={"dear": {"gpu": 3}, "cheap": {"gpu": 0}}
        ),
        a_cluster_queue("b", cohort="k", quota={"dear": {"gpu": 0}, "cheap": {"gpu": 5}}),
        config=FAIR,
    )
    one = {"gpu": 1}
    world.run(*(a_gang(f"a{i}", "a", requests=one) for i in range(2)), flavors="dear")
    world.run(*(a_gang(f"c{i}", "a", requests=one) for i in range(5)), flavors="cheap")
    world.run(a_gang("b1", "b", requests=one), flavors="dear")
    world.see(a_gang("w", "a", requests=one))

    assert world.cycle().evicted == {"b1": RECLAIMED}


# --- Priority that changes ---


def test_a_priority_that_sinks_makes_a_victim() -> None:
    world = World(a_cluster_queue("q", within=LOWER, cpu=1))
    world.run(a_gang("job2", "q", priority=2000))
    world.see(a_gang("job1", "q", priority=1000))
    assert world.cycle(rounds=None).evicted == {}

    world.edit("job2", priority=500)

    assert list(world.cycle(rounds=None).evicted) == ["job2"]


def test_a_priority_that_rises_makes_a_preemptor() -> None:
    world = World(a_cluster_queue("q", within=LOWER, cpu=1))
    world.run(a_gang("job1", "q", priority=1000))
    world.see(a_gang("job2", "q"))
    assert world.cycle(rounds=None).evicted == {}

    world.edit("job2", priority=2000)

    assert list(world.cycle(rounds=None).evicted) == ["job1"]


# --- Fair shares ---


def test_two_queues_without_weight_do_not_take_from_each_other_for_ever() -> None:
    nothing = Fraction(0)
    world = World(
        a_cohort("top", quota={"default": {"cpu": 8}}),
        a_cluster_queue("a", cohort="top", reclaim=ANY, cpu=0, weight=nothing),
        a_cluster_queue("b", cohort="top", reclaim=ANY, cpu=0, weight=nothing),
        config=FAIR,
    )
    world.run(a_gang("a1", "a", cpu=4, priority=9001), a_gang("a2", "a", cpu=4, priority=100))
    world.see(a_gang("b1", "b", cpu=4, priority=100))

    evicted = [name for _ in range(4) for name in evicted_and_stopped(world)]

    assert evicted == ["a2"]
    assert world.running == ["a1", "b1"]


def evicted_and_stopped(world: World) -> list[str]:
    outcome = world.cycle(rounds=None)
    world.stop_all()
    return list(outcome.evicted)


@pytest.mark.parametrize("fair, bob", [(False, 4), (True, 8)], ids=["deserved", "fair share"])
def test_bob_gets_back_what_he_deserves_or_his_fair_share(fair: bool, bob: int) -> None:
    world = World(
        a_cohort("k", quota={"default": {"gpu": 8}}),
        a_cluster_queue("alice", cohort="k", reclaim=ANY, quota={"default": {"gpu": 4}}),
        a_cluster_queue("bob", cohort="k", reclaim=ANY, quota={"default": {"gpu": 4}}),
        config=FAIR if fair else None,
    )
    world.run(*(a_gang(f"a{i:02}", "alice", requests={"gpu": 1}) for i in range(16)))
    world.see(*(a_gang(f"b{i:02}", "bob", requests={"gpu": 1}) for i in range(12)))

    while evicted_and_stopped(world):
        pass

    assert len([name for name in world.running if name.startswith("b")]) == bob
