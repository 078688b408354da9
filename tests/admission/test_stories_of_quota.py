"""Stories that users of queues have told, and how they should end: quota, order and flavors."""

from collections import Counter
from dataclasses import replace

import pytest

from muster.admission.plan import Wait
from muster.admission.quota import BOOKED
from muster.admission.shares import share
from tests.admission.builders import (
    ANY,
    LOWER,
    LOWER_OR_NEWER,
    Quotas,
    a_cluster_queue,
    a_cohort,
    a_flavor,
    a_fungibility,
    a_gang,
    a_pod_set,
    a_workload,
)
from tests.admission.world import FAIR, World

TRY_NEXT = "TryNextFlavor"
ROUNDS = pytest.mark.parametrize("rounds", [1, None], ids=["one round", "all rounds"])

# --- Quota ---


def test_taking_a_resource_away_from_a_borrower_opens_no_hole_in_the_cohort() -> None:
    world = World(
        a_cluster_queue("q1", cohort="k", quota={"f": {"cpu": 1, "mem": 1}}),
        a_cluster_queue("q2", cohort="k", quota={"f": {"cpu": 2, "mem": 1}}),
    )
    world.run(a_gang("w1", "q1", requests={"cpu": 2, "mem": 2}), flavors="f")
    world.see(a_gang("w2", "q2", requests={"cpu": 1, "mem": 1}))
    assert world.cycle(rounds=None).admitted == []

    world.see(a_cluster_queue("q1", cohort="k", quota={"f": {"cpu": 1}}))

    assert world.cycle(rounds=None).admitted == []
    assert world.running == ["w1"], "less quota evicts nobody"


def test_quota_of_a_cohort_comes_on_top_of_that_of_its_queues() -> None:
    two = {"f": {"cpu": 2, "mem": 2}}
    world = World(
        a_cohort("ab", quota={"f": {"cpu": 4, "mem": 4}}),
        a_cluster_queue("a", cohort="ab", quota=two),
        a_cluster_queue("b", cohort="ab", quota=two),
    )
    world.run(a_gang("a1", "a", requests={"cpu": 4, "mem": 4}), flavors="f")
    world.see(a_gang("b1", "b", requests={"cpu": 4, "mem": 4}))

    assert world.cycle().admitted == ["b1"]


def test_two_pod_sets_that_exceed_the_queue_together_are_not_admitted_in_part() -> None:
    world = World(a_cluster_queue("q", quota={"f": {"gpu": 8}}))
    master = a_pod_set("master", requests=(("gpu", 8),))
    worker = a_pod_set("worker", requests=(("gpu", 8),))
    world.see(a_workload("job", local_queue="q", pod_sets=(master, worker)))

    wait = world.cycle().of("job")

    assert isinstance(wait, Wait)
    assert wait.reason == "ExceedsMaxQuota"
    (obstacle,) = wait.obstacles
    assert (obstacle.pod_set, obstacle.asked, obstacle.potential) == ("worker", 16, 8)


def test_pods_of_a_job_that_start_again_are_charged_again() -> None:
    world = World(a_cluster_queue("q", cpu=64))
    world.run(a_gang("set", "q", pods=3, cpu=16))
    world.reclaim("set", main=2)

    world.reclaim("set", main=0)
    world.see(a_gang("other", "q", cpu=40))

    assert world.cycle().admitted == []


# --- Order ---


def test_borrowing_a_cheap_flavor_does_not_cost_a_queue_its_own_dear_one() -> None:
    """A has much of the spot flavor, yet a free reserved one is its own and not c's to borrow."""
    both: Quotas = {"reserved": {"gpu": 5}, "spot": {"gpu": 0}}
    world = World(
        a_flavor("reserved", node_labels={"kind": "reserved"}),
        a_flavor("spot", node_labels={"kind": "spot"}),
        a_cohort("k", quota={"spot": {"gpu": 50}}),
        a_cluster_queue("a", cohort="k", quota=both),
        a_cluster_queue("b", cohort="k", quota=both),
        a_cluster_queue("c", cohort="k", quota={"reserved": {"gpu": 5}}),
        config=FAIR,
    )
    for queue, spot in (("a", 30), ("b", 20), ("c", 0)):
        one = {"gpu": 1}
        world.run(
            *(a_gang(f"{queue}{i}", queue, requests=one) for i in range(5)), flavors="reserved"
        )
        world.run(
            *(a_gang(f"{queue}-spot{i}", queue, requests=one) for i in range(spot)), flavors="spot"
        )
    for name, queue in (("c6", "c"), ("a6", "a")):
        gang = a_gang(name, queue, requests={"gpu": 1})
        pods = replace(gang.pod_sets[0], node_selector=(("kind", "reserved"),))
        world.see(replace(gang, pod_sets=(pods,)))
        assert world.cycle(rounds=None).admitted == []

    world.finish("a0")

    assert world.cycle(rounds=None).admitted == ["a6"]
    assert world.parked == ["c6"]


def test_freed_slots_go_to_whoever_has_less() -> None:
    world = World(
        a_cluster_queue("a", cohort="k", cpu=3),
        a_cluster_queue("b", cohort="k", cpu=1),
        a_cluster_queue("shared", cohort="k", cpu=4),
        config=FAIR,
    )
    world.see(*(a_gang(f"a{i}", "a") for i in range(10)))
    assert len(world.cycle(rounds=None).admitted) == 8
    assert share(BOOKED, world.queue("a")).published == 625
    world.see(*(a_gang(f"b{i}", "b") for i in range(5)))
    world.cycle(rounds=None)

    turns = []
    for i in range(6):
        world.finish(f"a{i}")
        turns += world.cycle(rounds=None).admitted

    assert turns == ["b0", "b1", "b2", "a8", "a9", "b3"]
    assert share(BOOKED, world.queue("a")).published == 125
    assert share(BOOKED, world.queue("b")).published == 375


def test_a_hopeless_request_does_not_keep_another_queue_from_its_own_quota() -> None:
    world = World(
        a_cluster_queue("q1", cohort="k", cpu=10),
        a_cluster_queue("q2", cohort="k", cpu=10, reclaim=ANY),
        a_cluster_queue("q3", cohort="k", cpu=0),
    )
    world.run(
        a_gang("r1", "q1", cpu=5),
        a_gang("r2", "q3", cpu=5, priority=0),
        a_gang("r3", "q3", cpu=5, priority=1),
    )
    world.see(a_gang("w1", "q1", cpu=10), a_gang("w2", "q2", cpu=10))

    outcome = world.cycle()

    assert outcome.evicted == {"r2": "InCohortReclamation"}
    wait = outcome.of("w1")
    assert isinstance(wait, Wait)
    assert wait.obstacles[0].missing == 5
    world.stop("r2")
    assert world.cycle().admitted == ["w2"]


def test_jobs_that_fill_the_cluster_run_one_after_the_other_in_order() -> None:
    world = World(a_cluster_queue("q", cpu=4 * 20))
    world.see(*(a_gang(f"j{i:02}", "q", pods=4, cpu=20) for i in range(20)))

    started = []
    for _ in range(20):
        started += world.cycle(rounds=None).admitted
        world.finish(*world.running)

    assert started == [f"j{i:02}" for i in range(20)]


def test_a_stream_of_gangs_is_worked_off_without_a_gang_in_parts() -> None:
    """Sixty gangs of one to eight, sixteen places; each gang runs through two arrivals."""
    world = World(a_cluster_queue("q", cpu=16))
    ends: dict[int, list[str]] = {}
    finished = 0
    for tick in range(200):
        if tick < 60:
            world.see(a_gang(f"g{tick:02}", "q", pods=1 + tick * 5 % 8))
        world.finish(*ends.get(tick, ()))
        finished += len(ends.get(tick, ()))
        outcome = world.cycle(rounds=None)
        ends.setdefault(tick + 2, []).extend(outcome.admitted)
        for name in outcome.admitted:
            assert outcome.count(name) == world.item(name).workload.pod_sets[0].count
        assert world.cell("q").used <= 16

    assert finished == 60


def test_equal_jobs_leave_each_other_alone() -> None:
    world = World(a_cluster_queue("q", cpu=12, within=LOWER_OR_NEWER))
    world.see(*(a_gang(f"j{i:02}", "q") for i in range(24)))

    first = world.cycle(rounds=None)
    meanwhile = world.cycle(rounds=None)
    world.finish(*world.running)
    second = world.cycle(rounds=None)

    assert (len(first.admitted), len(second.admitted)) == (12, 12)
    assert first.evicted == meanwhile.evicted == second.evicted == {}


# --- Flavors ---


@pytest.mark.parametrize(
    "preference, evicted, flavor",
    [("PreemptionOverBorrowing", ["low"], "f1"), ("BorrowingOverPreemption", [], "f2")],
)
def test_safe_in_the_own_quota_or_gentle_to_the_others(
    preference: str, evicted: list[str], flavor: str
) -> None:
    policy = a_fungibility(borrowing=TRY_NEXT, preempting=TRY_NEXT, prefer=preference)
    world = World(
        a_cluster_queue(
            "q",
            cohort="k",
            within=LOWER,
            fungibility=policy,
            quota={"f1": {"cpu": (5, 0)}, "f2": {"cpu": (0, 5)}},
        ),
        a_cluster_queue("lender", cohort="k", quota={"f1": {"cpu": 0}, "f2": {"cpu": 5}}),
    )
    world.run(a_gang("low", "q", cpu=5, priority=-1), flavors="f1")
    world.see(a_gang("high", "q", cpu=5))

    outcome = world.cycle()

    decision = outcome.of("high")
    assert not isinstance(decision, Wait)
    assert list(outcome.evicted) == evicted
    assert [grant.flavor for grant in decision.grants] == [flavor]


def test_the_second_flavor_of_the_own_team_goes_before_borrowing_outside() -> None:
    def both(f1: int, f2: int) -> Quotas:
        return {"f1": {"cpu": (f1, 10)}, "f2": {"cpu": (f2, 10)}}

    world = World(
        a_cohort("root"),
        a_cohort("A", "root", quota=both(0, 0)),
        a_cohort("B", "root", quota=both(0, 0)),
        a_cluster_queue(
            "p1",
            cohort="A",
            reclaim=ANY,
            quota=both(3, 3),
            fungibility=a_fungibility(borrowing=TRY_NEXT, preempting=TRY_NEXT),
        ),
        a_cluster_queue("p2", cohort="A", quota=both(3, 3)),
        a_cluster_queue("p3", cohort="A", quota=both(2, 4)),
        a_cluster_queue("p4", cohort="B", quota=both(2, 0)),
        config=FAIR,
    )
    world.see(*(a_gang(f"w{i}", "p1") for i in range(18)))

    outcome = world.cycle(rounds=None)

    taken = Counter(outcome.flavors(name)["cpu"] for name in outcome.admitted)
    assert taken == {"f1": 8, "f2": 10}
    assert share(BOOKED, world.state.forest.cohorts["A"]).published == 0
    assert share(BOOKED, world.queue("p1")).published == 600


@ROUNDS
def test_a_pod_set_without_quota_does_not_keep_the_queue_busy_for_ever(rounds: int | None) -> None:
    """The other pod set has flavors left to try, so the workload is tried again; once is enough."""
    world = World(
        a_cluster_queue("q", quota={"c1": {"cpu": 9}, "c2": {"cpu": 9}, "g": {"gpu": 8}}),
    )
    world.run(a_gang("all-gpus", "q", requests={"gpu": 8}), flavors="g")
    cpus = a_pod_set("cpus", requests=(("cpu", 1),))
    gpus = a_pod_set("gpus", requests=(("gpu", 1),))
    world.see(a_workload("mixed", local_queue="q", pod_sets=(cpus, gpus)), a_gang("small", "q"))

    started = [name for _ in range(3) for name in world.cycle(rounds).admitted]

    assert started == ["small"]
    assert world.parked == ["mixed"]
