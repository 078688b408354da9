"""Whom the classical search evicts: policies, order, whose quota is whose, and nobody in vain."""

from dataclasses import dataclass
from typing import Any

import pytest

from muster.admission.objects import ClusterQueue, Cohort, PreemptionPolicy, StopPolicy, Workload
from muster.admission.plan import Preempt
from tests.admission.builders import (
    ANY,
    LOWER,
    LOWER_OR_NEWER,
    NEVER,
    a_cluster_queue,
    a_cohort,
    a_gang,
)
from tests.admission.world import World

OWN = "InClusterQueue"
RECLAIMED = "InCohortReclamation"
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    queues: list[ClusterQueue | Cohort]
    running: list[Workload]
    """In the order in which they reserved quota."""
    asks: Workload
    evicted: dict[str, str]
    """Victim -> reason; empty if nobody may be evicted."""
    leaving: tuple[Workload, ...] = ()
    """Those that are being evicted already."""


def run(case: Case) -> World:
    world = World(*case.queues)
    world.run(*case.running)
    world.run(*case.leaving, evicted=True)
    world.see(case.asks)
    return world


# --- Whom a policy lets the preemptor take ---


def one_queue(within: PreemptionPolicy) -> list[ClusterQueue | Cohort]:
    return [a_cluster_queue("q", cpu=4, within=within)]


# The candidate has priority 1 and was created at 10 s.
POLICIES = [
    (NEVER, 9, 0, False),
    (LOWER, 2, 20, True),
    (LOWER, 1, 0, False),
    (LOWER, 0, 0, False),
    (LOWER_OR_NEWER, 2, 20, True),
    (LOWER_OR_NEWER, 1, 5, True),
    (LOWER_OR_NEWER, 1, 10, False),
    (LOWER_OR_NEWER, 1, 20, False),
    (LOWER_OR_NEWER, 0, 5, False),
    (ANY, 0, 20, True),
]


@pytest.mark.parametrize("policy, priority, created_s, may", POLICIES)
def test_policy(policy: PreemptionPolicy, priority: int, created_s: int, may: bool) -> None:
    world = World(*one_queue(policy))
    world.run(a_gang("held", "q", cpu=4, priority=1, created_s=10))
    world.see(a_gang("w", "q", cpu=4, priority=priority, created_s=created_s or 1))

    assert world.cycle().evicted == ({"held": OWN} if may else {})


# --- Who goes first, and who is spared ---

FOUR = a_cluster_queue("q", cpu=4, within=LOWER)

ORDER = [
    Case(
        name="the least important",
        queues=[FOUR],
        running=[a_gang("p1", "q", cpu=2, priority=1), a_gang("p0", "q", cpu=2, priority=0)],
        asks=a_gang("w", "q", cpu=2, priority=5),
        evicted={"p0": OWN},
    ),
    Case(
        name="of equals the one that reserved last",
        queues=[FOUR],
        running=[a_gang("b", "q", cpu=2), a_gang("a", "q", cpu=2)],
        asks=a_gang("w", "q", cpu=2, priority=5),
        evicted={"a": OWN},
    ),
    Case(
        name="who is leaving anyway, whatever its importance, and nobody else",
        queues=[FOUR],
        running=[a_gang("p0", "q", cpu=2, priority=0)],
        leaving=(a_gang("p4", "q", cpu=2, priority=4),),
        asks=a_gang("w", "q", cpu=2, priority=5),
        evicted={},
    ),
    Case(
        name="as few as it takes, not as many as were looked at",
        queues=[a_cluster_queue("q", cpu=10, within=LOWER)],
        running=[
            a_gang("w1", "q", cpu=2, priority=0),
            a_gang("w2", "q", cpu=5, priority=1),
            a_gang("w3", "q", cpu=3, priority=2),
        ],
        asks=a_gang("w", "q", cpu=5, priority=5),
        evicted={"w2": OWN},
    ),
    Case(
        name="all, if it takes all",
        queues=[a_cluster_queue("q", cpu=6, within=LOWER)],
        running=[
            a_gang("w1", "q", cpu=4, priority=0),
            a_gang("w2", "q", cpu=2, priority=1),
        ],
        asks=a_gang("w", "q", cpu=5, priority=5),
        evicted={"w1": OWN, "w2": OWN},
    ),
    Case(
        name="nobody, if all who may be evicted are not enough",
        queues=[FOUR],
        running=[a_gang("p1", "q", cpu=2, priority=1), a_gang("p9", "q", cpu=2, priority=9)],
        asks=a_gang("w", "q", cpu=3, priority=5),
        evicted={},
    ),
    Case(
        name="nobody whose quota is of no use",
        queues=[a_cluster_queue("q", quota={"default": {"cpu": 4, "gpu": 4}}, within=LOWER)],
        running=[
            a_gang("gpus", "q", requests={"gpu": 4}),
            a_gang("cpus", "q", requests={"cpu": 4}, priority=1),
        ],
        asks=a_gang("w", "q", cpu=4, priority=5),
        evicted={"cpus": OWN},
    ),
    Case(
        name="other queues before the own one",
        queues=[
            a_cluster_queue("q", cohort="k", cpu=4, within=LOWER, reclaim=ANY),
            a_cluster_queue("guest", cohort="k", cpu=0),
        ],
        running=[
            a_gang("own", "q", cpu=2, priority=0),
            a_gang("other", "guest", cpu=2, priority=3),
        ],
        asks=a_gang("w", "q", cpu=2, priority=5),
        evicted={"other": RECLAIMED},
    ),
]


# --- Whose quota is whose ---


def lender_and_guest(**named: Any) -> list[ClusterQueue | Cohort]:
    """A queue that owns all of the quota, and one that owns none."""
    return [
        a_cluster_queue("q", cohort="k", cpu=4, **named),
        a_cluster_queue("guest", cohort="k", cpu=0),
    ]


OWNERSHIP = [
    Case(
        name="what was lent is taken back",
        queues=lender_and_guest(reclaim=ANY),
        running=[a_gang("g", "guest", cpu=4, priority=9)],
        asks=a_gang("w", "q", cpu=4),
        evicted={"g": RECLAIMED},
    ),
    Case(
        name="but not from the more important, if priority is asked for",
        queues=lender_and_guest(reclaim=LOWER),
        running=[a_gang("g", "guest", cpu=4, priority=9)],
        asks=a_gang("w", "q", cpu=4),
        evicted={},
    ),
    Case(
        name="and never, if reclaiming is off",
        queues=lender_and_guest(reclaim=NEVER, within=LOWER),
        running=[a_gang("g", "guest", cpu=4, priority=-1)],
        asks=a_gang("w", "q", cpu=4),
        evicted={},
    ),
    Case(
        name="a queue within its own quota gives nothing",
        queues=[
            a_cluster_queue("q", cohort="k", cpu=2, reclaim=ANY),
            a_cluster_queue("other", cohort="k", cpu=4),
        ],
        running=[a_gang("x", "q", cpu=2), a_gang("o", "other", cpu=4)],
        asks=a_gang("w", "q", cpu=2, priority=9),
        evicted={},
    ),
    Case(
        name="a queue gives only what it uses beyond its own quota",
        queues=[
            a_cluster_queue("q", cohort="k", cpu=4, reclaim=ANY),
            a_cluster_queue("guest", cohort="k", cpu=2),
        ],
        running=[a_gang(f"g{i}", "guest", cpu=2) for i in range(3)],
        asks=a_gang("w", "q", cpu=4),
        evicted={"g1": RECLAIMED, "g2": RECLAIMED},
    ),
    Case(
        name="borrowing is no reason to evict others",
        queues=[
            a_cluster_queue("q", cohort="k", cpu=2, reclaim=ANY),
            a_cluster_queue("lender", cohort="k", cpu=2),
            a_cluster_queue("guest", cohort="k", cpu=0),
        ],
        running=[a_gang("x", "q", cpu=2), a_gang("g", "guest", cpu=2)],
        asks=a_gang("w", "q", cpu=2, priority=9),
        evicted={},
    ),
    Case(
        name="unless the policy says so, of the less important",
        queues=[
            a_cluster_queue("q", cohort="k", cpu=2, reclaim=ANY, borrow=True),
            a_cluster_queue("lender", cohort="k", cpu=2),
            a_cluster_queue("guest", cohort="k", cpu=0),
        ],
        running=[a_gang("x", "q", cpu=2, priority=9), a_gang("g", "guest", cpu=2)],
        asks=a_gang("w", "q", cpu=2, priority=9),
        evicted={"g": WHILE_BORROWING},
    ),
    Case(
        name="and up to a priority",
        queues=[
            a_cluster_queue("q", cohort="k", cpu=0, reclaim=ANY, borrow=True, borrow_up_to=3),
            a_cluster_queue("lender", cohort="k", cpu=4),
            a_cluster_queue("guest", cohort="k", cpu=0),
        ],
        running=[
            a_gang("p3", "guest", cpu=2, priority=3),
            a_gang("p4", "guest", cpu=2, priority=4),
        ],
        asks=a_gang("w", "q", cpu=2, priority=9),
        evicted={"p3": WHILE_BORROWING},
    ),
    Case(
        name="of equal importance nobody is evicted while borrowing",
        queues=[
            a_cluster_queue("q", cohort="k", cpu=0, reclaim=ANY, borrow=True),
            a_cluster_queue("lender", cohort="k", cpu=4),
            a_cluster_queue("guest", cohort="k", cpu=0),
        ],
        running=[a_gang("g", "guest", cpu=4, priority=9)],
        asks=a_gang("w", "q", cpu=2, priority=9),
        evicted={},
    ),
    Case(
        name="one victim and some borrowed quota are better than two victims",
        queues=[
            a_cluster_queue("q", cohort="k", cpu=10, within=LOWER),
            a_cluster_queue("other", cohort="k", cpu=10),
        ],
        running=[
            *(a_gang(f"x{i}", "q", cpu=1) for i in range(10)),
            a_gang("o", "other", cpu=9),
        ],
        asks=a_gang("w", "q", cpu=2, priority=10),
        evicted={"x9": OWN},
    ),
]


# --- Trees ---


def two_teams(**named: Any) -> list[ClusterQueue | Cohort]:
    """Two cohorts of 4 below a root; p and s are on the left and x is on the right."""
    return [
        a_cohort("left", "root", quota={"default": {"cpu": 4}}),
        a_cohort("right", "root", quota={"default": {"cpu": 4}}),
        a_cluster_queue("p", cohort="left", cpu=0, **named),
        a_cluster_queue("s", cohort="left", cpu=0),
        a_cluster_queue("x", cohort="right", cpu=0),
    ]


TREES = [
    Case(
        name="a team takes back from outside what its own quota could hold",
        queues=two_teams(reclaim=LOWER),
        running=[
            a_gang("s1", "s", cpu=2),
            a_gang("x1", "x", cpu=4),
            a_gang("x2", "x", cpu=2),
        ],
        asks=a_gang("w", "p", cpu=2, priority=1),
        evicted={"x2": RECLAIMED},
    ),
    Case(
        name="inside the team nobody has the advantage",
        queues=two_teams(reclaim=LOWER),
        running=[a_gang("s1", "s", cpu=4), a_gang("x1", "x", cpu=4)],
        asks=a_gang("w", "p", cpu=2, priority=1),
        evicted={},
    ),
    Case(
        name="unless evicting while borrowing is allowed",
        queues=two_teams(reclaim=LOWER, borrow=True),
        running=[a_gang("s1", "s", cpu=4), a_gang("x1", "x", cpu=4)],
        asks=a_gang("w", "p", cpu=2, priority=1),
        evicted={"s1": WHILE_BORROWING},
    ),
    Case(
        name="a whole cohort within its quota gives nothing",
        queues=[
            a_cohort("left", "root", quota={"default": {"cpu": 4}}),
            a_cohort("right", "root", quota={"default": {"cpu": 4}}),
            a_cluster_queue("p", cohort="left", cpu=0, reclaim=ANY),
            a_cluster_queue("x", cohort="right", cpu=0),
            a_cluster_queue("y", cohort="root", cpu=0),
        ],
        running=[a_gang("x1", "x", cpu=4), a_gang("y1", "y", cpu=4, priority=9)],
        asks=a_gang("w", "p", cpu=4),
        evicted={"y1": RECLAIMED},
    ),
    Case(
        name="a cohort gives until it is down to its quota",
        queues=two_teams(reclaim=ANY),
        running=[a_gang(f"x{i}", "x", cpu=2) for i in range(4)],
        asks=a_gang("w", "p", cpu=4, priority=9),
        evicted={"x2": RECLAIMED, "x3": RECLAIMED},
    ),
    Case(
        name="who may be reclaimed from for sure goes before who is merely less important",
        queues=[
            a_cohort("left", "root", quota={"default": {"cpu": 4}}),
            a_cluster_queue("p", cohort="left", cpu=2, reclaim=ANY, borrow=True),
            a_cluster_queue("s", cohort="left", cpu=0),
            a_cluster_queue("out", cohort="root", cpu=0),
        ],
        running=[a_gang("s1", "s", cpu=3), a_gang("o1", "out", cpu=3, priority=5)],
        asks=a_gang("w", "p", cpu=3, priority=9),
        evicted={"o1": RECLAIMED},
    ),
]


@pytest.mark.parametrize("case", [*ORDER, *OWNERSHIP, *TREES], ids=lambda case: case.name)
def test_victims(case: Case) -> None:
    assert run(case).cycle().evicted == case.evicted


def test_a_victim_that_was_asked_before_is_named_again_and_not_asked() -> None:
    world = World(FOUR)
    world.run(a_gang("p0", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=5))
    world.cycle()

    again = world.cycle().of("w")

    assert isinstance(again, Preempt)
    assert [(e.workload, e.already_asked) for e in again.evictions] == [("default/p0", True)]


def test_a_stopped_queue_is_never_asked() -> None:
    queues = lender_and_guest(reclaim=ANY)
    world = World(*queues)
    world.run(a_gang("g", "guest", cpu=4))
    world.see(a_cluster_queue("guest", cohort="k", cpu=0, stop_policy=StopPolicy.HOLD))
    world.see(a_gang("w", "q", cpu=4))

    assert world.cycle().waiting == {"w": "WaitingForQuota"}


def test_all_pods_reclaimed_still_makes_a_candidate() -> None:
    """It frees nothing, so it is spared again, unless it is the last one taken."""
    world = World(FOUR)
    world.run(a_gang("done", "q", cpu=2, pods=2))
    world.reclaim("done", main=2)
    world.run(a_gang("held", "q", cpu=4, priority=1))
    world.see(a_gang("w", "q", cpu=4, priority=5))

    assert world.cycle().evicted == {"held": OWN}
