"""Which flavors a workload gets: when the search stops, where it goes on, and why nothing fits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from muster.admission.config import Config, Gates
from muster.admission.objects import FlavorFungibility, PodSet, QueueingStrategy
from muster.admission.plan import Preempt, Wait
from tests.admission.builders import (
    ANY,
    LOWER,
    Quotas,
    a_cluster_queue,
    a_flavor,
    a_fungibility,
    a_gang,
    a_pod_set,
    a_taint,
    a_workload,
)
from tests.admission.world import World

# --- When the search stops ---

TRY_NEXT = "TryNextFlavor"
MAY_STOP = "MayStopSearch"
PREFER_PREEMPTION = "PreemptionOverBorrowing"


def three_flavors(fungibility: FlavorFungibility, *, flavors: int = 3) -> World:
    """f1 can be borrowed, f2 taken back from a lesser workload, f3 is free; w wants 4 of one."""
    table: dict[str, Mapping[str, int]] = {"f1": {"cpu": 0}, "f2": {"cpu": 4}, "f3": {"cpu": 4}}
    names = list(table)[:flavors]
    world = World(
        a_cluster_queue(
            "q",
            cohort="k",
            within=LOWER,
            fungibility=fungibility,
            quota={flavor: table[flavor] for flavor in names},
        ),
        a_cluster_queue("lender", cohort="k", quota={"f1": {"cpu": 4}}),
    )
    world.run(a_gang("low", "q", cpu=4), flavors="f2")
    world.see(a_gang("w", "q", cpu=4, priority=1))
    return world


FUNGIBILITY = [
    (a_fungibility(), 3, "f1"),
    (a_fungibility(borrowing=MAY_STOP, preempting=TRY_NEXT), 3, "f1"),
    (a_fungibility(borrowing=TRY_NEXT, preempting=MAY_STOP), 3, "f2"),
    (a_fungibility(borrowing=TRY_NEXT, preempting=TRY_NEXT), 3, "f3"),
    (a_fungibility(borrowing=TRY_NEXT, preempting=TRY_NEXT, prefer=PREFER_PREEMPTION), 3, "f3"),
    (a_fungibility(borrowing=TRY_NEXT, preempting=TRY_NEXT), 2, "f1"),
    (a_fungibility(borrowing=TRY_NEXT, preempting=TRY_NEXT, prefer=PREFER_PREEMPTION), 2, "f2"),
]


@pytest.mark.parametrize("fungibility, flavors, want", FUNGIBILITY)
def test_fungibility(fungibility: FlavorFungibility, flavors: int, want: str) -> None:
    world = three_flavors(fungibility, flavors=flavors)

    decision = world.cycle().of("w")

    assert not isinstance(decision, Wait)
    assert [grant.flavor for grant in decision.grants] == [want]
    assert isinstance(decision, Preempt) == (want == "f2")


def test_taking_from_other_queues_is_preferred_to_taking_from_the_own_one() -> None:
    world = World(
        a_cluster_queue(
            "q", cohort="k", within=LOWER, reclaim=ANY, quota={"f1": {"cpu": 4}, "f2": {"cpu": 4}}
        ),
        a_cluster_queue("guest", cohort="k", quota={"f1": {"cpu": 0}, "f2": {"cpu": 0}}),
    )
    world.run(a_gang("own", "q", cpu=4), flavors="f1")
    world.run(a_gang("other", "guest", cpu=4), flavors="f2")
    world.see(a_gang("w", "q", cpu=4, priority=1))

    assert list(world.cycle().evicted) == ["other"]


def test_without_fungibility_the_first_flavor_that_fits_is_taken() -> None:
    """Borrowing counts as fitting, evicting does not, whatever the policies say."""
    config = Config(gates=Gates(flavor_fungibility=False))
    world = World(
        a_cluster_queue(
            "q",
            cohort="k",
            within=LOWER,
            fungibility=a_fungibility(borrowing=TRY_NEXT, preempting=MAY_STOP),
            quota={"f2": {"cpu": 4}, "f1": {"cpu": 0}, "f3": {"cpu": 4}},
        ),
        a_cluster_queue("lender", cohort="k", quota={"f1": {"cpu": 4}}),
        config=config,
    )
    world.run(a_gang("low", "q", cpu=4), flavors="f2")
    world.see(a_gang("w", "q", cpu=4, priority=1))

    assert world.cycle().flavors("w") == {"cpu": "f1"}


# --- Which flavor, and which not ---


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    quota: Quotas
    pod_sets: tuple[PodSet, ...]
    want: dict[str, dict[str, str]] | str
    """Pod set -> resource -> flavor, or the reason for which there is none."""
    ignore_undeclared: bool = False


def pods(name: str = "main", *, count: int = 1, **requests: int) -> PodSet:
    return a_pod_set(name, count=count, requests=tuple(sorted(requests.items())))


CASES = [
    Case(
        name="all resources of a group come from one flavor",
        quota={"f": {"cpu": 9, "gpu": 1}, "g": {"cpu": 2, "gpu": 4}},
        pod_sets=(pods(cpu=2, gpu=2),),
        want={"main": {"cpu": "g", "gpu": "g"}},
    ),
    Case(
        name="groups choose by themselves",
        quota={"f": {"cpu": 1}, "g": {"cpu": 4}, "x": {"gpu": 4}, "y": {"gpu": 8}},
        pod_sets=(pods(cpu=2, gpu=2),),
        want={"main": {"cpu": "g", "gpu": "x"}},
    ),
    Case(
        name="pod sets choose by themselves, each after what the ones before it take",
        quota={"f": {"cpu": 3}, "g": {"cpu": 3}},
        pod_sets=(pods("a", cpu=2), pods("b", cpu=2)),
        want={"a": {"cpu": "f"}, "b": {"cpu": "g"}},
    ),
    Case(
        name="two pod sets that only fit apart do not both take the last quota",
        quota={"f": {"cpu": 3}},
        pod_sets=(pods("a", cpu=2), pods("b", cpu=2)),
        want="ExceedsMaxQuota",
    ),
    Case(
        name="a gang is never split over flavors",
        quota={"f": {"cpu": 3}, "g": {"cpu": 3}},
        pod_sets=(pods(count=4, cpu=1),),
        want="ExceedsMaxQuota",
    ),
    Case(
        name="an exact fit fits",
        quota={"f": {"cpu": 4}},
        pod_sets=(pods(count=4, cpu=1),),
        want={"main": {"cpu": "f"}},
    ),
    Case(
        name="a resource without quota stops the workload",
        quota={"f": {"cpu": 4}},
        pod_sets=(pods(cpu=1, gpu=1),),
        want="NoMatchingFlavor",
    ),
    Case(
        name="a resource without quota may be ignored",
        quota={"f": {"cpu": 4}},
        pod_sets=(pods(cpu=1, gpu=1),),
        ignore_undeclared=True,
        want={"main": {"cpu": "f"}},
    ),
    Case(
        name="nothing of a resource without quota is no obstacle",
        quota={"f": {"cpu": 4}},
        pod_sets=(pods(cpu=1, gpu=0),),
        want={"main": {"cpu": "f"}},
    ),
    Case(
        name="pods are counted where the queue counts them",
        quota={"f": {"cpu": 9, "pods": 2}, "g": {"cpu": 9, "pods": 3}},
        pod_sets=(pods(count=3, cpu=1),),
        want={"main": {"cpu": "g", "pods": "g"}},
    ),
    Case(
        name="a flavor that nobody tolerates does not match",
        quota={"tainted": {"cpu": 4}},
        pod_sets=(pods(cpu=1),),
        want="NoMatchingFlavor",
    ),
    Case(
        name="a flavor that nobody tolerates is passed",
        quota={"tainted": {"cpu": 4}, "f": {"cpu": 4}},
        pod_sets=(pods(cpu=1),),
        want={"main": {"cpu": "f"}},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_assignment(case: Case) -> None:
    config = Config(ignore_undeclared_resources=case.ignore_undeclared)
    world = World(
        a_flavor("tainted", node_taints=(a_taint("keep", "out"),)),
        a_cluster_queue("q", quota=case.quota),
        config=config,
    )
    world.see(a_workload("w", local_queue="q", pod_sets=case.pod_sets))

    outcome = world.cycle()

    if isinstance(case.want, str):
        assert outcome.waiting == {"w": case.want}
    else:
        assert outcome.pod_sets("w") == case.want


# --- Which of several reasons is told ---

# Resources are visited in an order of their own: gpu before cpu.

HOPELESS = "ExceedsMaxQuota"
WAITING = "WaitingForQuota"
NO_MATCH = "NoMatchingFlavor"


@dataclass(frozen=True, kw_only=True)
class Reason:
    name: str
    lent: Quotas
    """What the cohort has of each flavor of the queue, which itself has nothing."""
    used: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    asked: Mapping[str, int]
    want: str


REASONS = [
    Reason(
        name="in use by others",
        lent={"f": {"cpu": 4}},
        used={"f": {"cpu": 1}},
        asked={"cpu": 4},
        want=WAITING,
    ),
    Reason(name="more than there is", lent={"f": {"cpu": 4}}, asked={"cpu": 5}, want=HOPELESS),
    Reason(
        name="not for these pods", lent={"tainted": {"cpu": 4}}, asked={"cpu": 1}, want=NO_MATCH
    ),
    Reason(
        name="of several flavors the mildest",
        lent={"f": {"cpu": 3}, "g": {"cpu": 4}, "tainted": {"cpu": 4}},
        used={"g": {"cpu": 1}},
        asked={"cpu": 4},
        want=WAITING,
    ),
    Reason(
        name="hopeless is milder than not for these pods",
        lent={"f": {"cpu": 3}, "tainted": {"cpu": 4}},
        asked={"cpu": 4},
        want=HOPELESS,
    ),
    Reason(
        name="of several resources of one flavor the worst",
        lent={"f": {"cpu": 4, "gpu": 1}},
        used={"f": {"cpu": 1}},
        asked={"cpu": 4, "gpu": 2},
        want=HOPELESS,
    ),
    Reason(
        name="of several groups the worst, with the flavors passed on the way",
        lent={"f": {"gpu": 1}, "g": {"gpu": 4}, "x": {"cpu": 4}},
        used={"x": {"cpu": 1}},
        asked={"gpu": 2, "cpu": 4},
        want=HOPELESS,
    ),
    Reason(
        name="groups after the one that failed are not looked at",
        lent={"f": {"cpu": 1}, "x": {"gpu": 4}},
        used={"x": {"gpu": 1}},
        asked={"cpu": 2, "gpu": 4},
        want=WAITING,
    ),
]


@pytest.mark.parametrize("case", REASONS, ids=lambda case: case.name)
def test_reason(case: Reason) -> None:
    nothing = {flavor: dict.fromkeys(resources, 0) for flavor, resources in case.lent.items()}
    world = World(
        a_flavor("tainted", node_taints=(a_taint("keep", "out"),)),
        a_cluster_queue("q", cohort="k", quota=nothing),
        a_cluster_queue("lender", cohort="k", quota=case.lent),
    )
    for flavor, requests in case.used.items():
        world.run(a_gang(f"in-{flavor}", "lender", requests=requests), flavors=flavor)
    world.see(a_gang("w", "q", requests=case.asked))

    assert world.cycle().waiting == {"w": case.want}


def test_a_later_resource_without_quota_gives_a_reason_too() -> None:
    """The group visited before it found its flavor, and there is no reason in that."""
    world = World(a_cluster_queue("q", quota={"f": {"gpu": 4}}))
    world.see(a_gang("w", "q", requests={"gpu": 1, "cpu": 1}))

    assert world.cycle().waiting == {"w": NO_MATCH}


# --- Modes: what an amount that does not fit now could lead to ---


def test_more_than_the_queue_could_ever_use_is_hopeless() -> None:
    world = World(
        a_cluster_queue("q", cohort="k", within=LOWER, cpu=(2, 1)),
        a_cluster_queue("lender", cohort="k", cpu=9),
    )
    world.run(a_gang("low", "q", cpu=2))
    world.see(a_gang("w", "q", cpu=4, priority=5))

    outcome = world.cycle()

    assert outcome.waiting == {"w": "ExceedsMaxQuota"}
    assert outcome.evicted == {}


def test_beyond_nominal_nobody_is_evicted_unless_borrowing_allows_it() -> None:
    world = World(
        a_cluster_queue("q", cohort="k", within=LOWER, cpu=2),
        a_cluster_queue("lender", cohort="k", cpu=2),
    )
    world.run(a_gang("low", "q", cpu=2), a_gang("other", "lender", cpu=1))
    world.see(a_gang("w", "q", cpu=3, priority=5))

    assert world.cycle().waiting == {"w": "WaitingForQuota"}


def test_the_worst_resource_decides_whether_somebody_must_go() -> None:
    """One resource is free, the other has to be taken back: the workload waits for a victim."""
    world = World(a_cluster_queue("q", within=LOWER, quota={"f": {"cpu": 9, "gpu": 2}}))
    world.run(a_gang("low", "q", requests={"gpu": 2}), flavors="f")
    world.see(a_gang("w", "q", requests={"cpu": 1, "gpu": 1}, priority=1))

    assert world.cycle().evicted == {"low": "InClusterQueue"}


# --- Where the search goes on next time ---


def test_the_search_starts_anew_once_victims_were_found() -> None:
    world = World(
        a_cluster_queue(
            "q",
            within=LOWER,
            fungibility=a_fungibility(preempting=MAY_STOP),
            quota={"f1": {"cpu": 4}, "f2": {"cpu": 4}},
        ),
    )
    world.run(a_gang("low", "q", cpu=4), flavors="f1")
    world.see(a_gang("w", "q", cpu=4, priority=1))
    world.cycle()

    again = world.cycle().of("w")

    assert isinstance(again, Preempt)
    assert [grant.flavor for grant in again.grants] == ["f1"]


def a_scan_that_stopped_too_early(config: Config | None = None) -> World:
    """The search for w stopped at f1, where its cpu could be taken back by itself.

    Together with the gpu it would have to borrow, nobody may be evicted for it, so f2 is next.
    """
    world = World(
        a_cluster_queue(
            "q",
            cohort="k",
            reclaim=ANY,
            fungibility=a_fungibility(preempting=MAY_STOP),
            quota={"f1": {"cpu": 4, "gpu": 0}, "f2": {"cpu": 5, "gpu": 4}},
        ),
        a_cluster_queue("lender", cohort="k", quota={"f1": {"cpu": 0, "gpu": 4}}),
        config=config,
    )
    world.run(a_gang("guest", "lender", requests={"cpu": 4}), flavors="f1")
    world.run(a_gang("other", "q", requests={"cpu": 1}), flavors="f2")
    world.see(a_gang("w", "q", requests={"cpu": 4, "gpu": 2}))
    assert world.cycle().waiting == {"w": WAITING}
    return world


def test_untried_flavors_are_tried_at_once() -> None:
    world = a_scan_that_stopped_too_early()

    assert world.heap == ["w"]
    assert world.cycle().flavors("w") == {"cpu": "f2", "gpu": "f2"}


def test_a_decision_goes_through_all_flavors() -> None:
    world = a_scan_that_stopped_too_early()
    world.see(a_gang("x", "q", requests={"gpu": 1}, priority=-1))

    outcome = world.cycle(rounds=None)

    assert outcome.admitted == ["w", "x"]


def test_a_change_of_the_queue_does_not_start_the_search_anew_at_once() -> None:
    world = a_scan_that_stopped_too_early()
    world.finish("other")

    assert world.cycle().admitted == ["w"]


def test_a_change_of_the_queue_starts_the_search_anew_if_progress_is_not_preserved() -> None:
    gates = Gates(flavor_fungibility_preserve_scan_progress=False)
    world = a_scan_that_stopped_too_early(Config(gates=gates))
    world.finish("other")

    assert world.cycle().waiting == {"w": WAITING}


def test_a_change_of_the_queue_starts_the_search_anew_after_another_cycle() -> None:
    world = a_scan_that_stopped_too_early()
    world.see(a_gang("first", "q", requests={"gpu": 1}, priority=1))
    assert world.cycle().admitted == ["first"]
    world.finish("other")

    assert world.cycle().waiting == {"w": WAITING}


def test_progress_outlives_another_cycle_if_nothing_changed() -> None:
    world = a_scan_that_stopped_too_early()
    world.see(a_gang("first", "q", requests={"gpu": 1}, priority=1))
    assert world.cycle().admitted == ["first"]

    assert world.cycle().admitted == ["w"]


def test_another_shape_starts_the_search_anew() -> None:
    world = a_scan_that_stopped_too_early()
    world.edit("w", priority=7)

    assert world.cycle().waiting == {"w": WAITING}


def test_a_queue_that_lists_fewer_flavors_starts_the_search_anew() -> None:
    world = a_scan_that_stopped_too_early()
    world.see(
        a_cluster_queue("q", cohort="k", reclaim=ANY, quota={"f2": {"cpu": 5, "gpu": 4}}),
    )

    assert world.cycle().admitted == ["w"]


def test_a_scan_that_was_resumed_in_vain_starts_anew_before_the_decision_ends() -> None:
    """Strict order keeps the head in front, and what its scan had passed has become free."""
    world = World(
        a_cluster_queue(
            "q",
            strategy=QueueingStrategy.STRICT_FIFO,
            quota={"f": {"cpu": 4}, "g": {"cpu": 4}, "x": {"gpu": 1}},
        ),
    )
    world.run(a_gang("held", "q", requests={"gpu": 1}), flavors="x")
    pod_sets = (pods("a", cpu=4), pods("b", gpu=1))
    world.see(a_workload("w", local_queue="q", pod_sets=pod_sets))
    assert world.cycle().waiting == {"w": WAITING}
    world.run(a_gang("on-g", "q", cpu=4), flavors="g")
    world.finish("held")

    assert world.cycle(rounds=None).admitted == ["w"]
