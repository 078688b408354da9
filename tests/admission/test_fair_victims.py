"""Whom the search under fair sharing evicts: from whom has most, while that leaves them no less."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from muster.admission.config import Config, FairStrategy, Gates
from muster.admission.objects import ClusterQueue, Cohort, Workload
from tests.admission.builders import ANY, LOWER, a_cluster_queue, a_cohort, a_gang
from tests.admission.world import FAIR, World

OWN = "InClusterQueue"
RECLAIMED = "InCohortReclamation"
FAIR_SHARE = "InCohortFairSharing"

FINAL = FairStrategy.FINAL_SHARE
INITIAL = FairStrategy.INITIAL_SHARE
BOTH = (FINAL, INITIAL)
WEIGHTLESS = Fraction(0)
DEFAULT_GATES = Gates()

Objects = list[ClusterQueue | Cohort]


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    queues: Objects
    running: list[Workload]
    """In the order in which they reserved quota."""
    asks: Workload
    evicted: dict[str, str]
    strategies: tuple[FairStrategy, ...] = BOTH
    gates: Gates = DEFAULT_GATES


def two_borrowers(
    *, of_a: Fraction = Fraction(1), of_b: Fraction = Fraction(1), shared: int = 8
) -> Objects:
    """Two queues without quota of their own, and a cohort that lends; weights of both."""
    return [
        a_cohort("k", quota={"default": {"cpu": shared}}),
        a_cluster_queue("a", cohort="k", cpu=0, reclaim=ANY, weight=of_a),
        a_cluster_queue("b", cohort="k", cpu=0, reclaim=ANY, weight=of_b),
    ]


STRATEGIES = [
    Case(
        name="if the other has no less afterwards: the final share",
        queues=two_borrowers(),
        running=[a_gang("b1", "b", cpu=4), a_gang("b2", "b", cpu=4)],
        asks=a_gang("w", "a", cpu=4),
        strategies=(FINAL,),
        evicted={"b2": FAIR_SHARE},
    ),
    Case(
        name="not if the other would have less afterwards",
        queues=two_borrowers(),
        running=[a_gang("b1", "b", cpu=8)],
        asks=a_gang("w", "a", cpu=4),
        strategies=(FINAL,),
        evicted={},
    ),
    Case(
        name="but if the other had more before: the initial share",
        queues=two_borrowers(),
        running=[a_gang("b1", "b", cpu=8)],
        asks=a_gang("w", "a", cpu=4),
        strategies=(INITIAL,),
        evicted={"b1": FAIR_SHARE},
    ),
    Case(
        name="the second strategy is tried on those the first one refused",
        queues=two_borrowers(),
        running=[a_gang("b1", "b", cpu=8)],
        asks=a_gang("w", "a", cpu=4),
        evicted={"b1": FAIR_SHARE},
    ),
    Case(
        name="the second strategy takes one of each queue at the most",
        queues=two_borrowers(),
        running=[a_gang("b1", "b", cpu=3), a_gang("b2", "b", cpu=5)],
        asks=a_gang("w", "a", cpu=7),
        evicted={},
    ),
    Case(
        name="equal before is not more before",
        queues=two_borrowers(),
        running=[a_gang("b1", "b", cpu=4), a_gang("a1", "a", cpu=4)],
        asks=a_gang("w", "a", cpu=1),
        strategies=(INITIAL,),
        evicted={},
    ),
    Case(
        name="a smaller one of the same queue may be fair where a greater one is not",
        queues=two_borrowers(),
        running=[a_gang("b1", "b", cpu=2, priority=1), a_gang("b2", "b", cpu=6)],
        asks=a_gang("w", "a", cpu=2),
        strategies=(FINAL,),
        evicted={"b2": FAIR_SHARE},
    ),
]

WEIGHTS = [
    Case(
        name="the greater weight may have more",
        queues=two_borrowers(of_a=Fraction(3)),
        running=[a_gang(f"b{i}", "b", cpu=2) for i in range(4)],
        asks=a_gang("w", "a", cpu=6),
        evicted={"b1": FAIR_SHARE, "b2": FAIR_SHARE, "b3": FAIR_SHARE},
    ),
    Case(
        name="without weight a queue has nothing to ask for",
        queues=two_borrowers(of_a=WEIGHTLESS),
        running=[a_gang("b1", "b", cpu=8)],
        asks=a_gang("w", "a", cpu=1, priority=9),
        evicted={},
    ),
    Case(
        name="without weight a queue gives all",
        queues=two_borrowers(of_b=WEIGHTLESS),
        running=[a_gang("b1", "b", cpu=4), a_gang("b2", "b", cpu=4)],
        asks=a_gang("w", "a", cpu=8),
        evicted={"b1": FAIR_SHARE, "b2": FAIR_SHARE},
    ),
    Case(
        name="two queues without weight compare by what they use",
        queues=two_borrowers(of_a=WEIGHTLESS, of_b=WEIGHTLESS),
        running=[a_gang("b1", "b", cpu=4), a_gang("b2", "b", cpu=4)],
        asks=a_gang("w", "a", cpu=4),
        evicted={"b2": FAIR_SHARE},
    ),
]

THREE: Objects = [
    a_cohort("k", quota={"default": {"cpu": 12}}),
    *(a_cluster_queue(name, cohort="k", cpu=0, reclaim=ANY) for name in ("a", "b", "c")),
]

WHO_GIVES = [
    Case(
        name="who has most",
        queues=[*THREE],
        running=[
            *(a_gang(f"b{i}", "b", cpu=2) for i in range(4)),
            *(a_gang(f"c{i}", "c", cpu=2) for i in range(2)),
        ],
        asks=a_gang("w", "a", cpu=2),
        evicted={"b3": FAIR_SHARE},
    ),
    Case(
        name="whoever has most at each step",
        queues=[*THREE],
        running=[
            *(a_gang(f"b{i}", "b", cpu=2) for i in range(3)),
            *(a_gang(f"c{i}", "c", cpu=2) for i in range(3)),
        ],
        asks=a_gang("w", "a", cpu=4),
        evicted={"b2": FAIR_SHARE, "c2": FAIR_SHARE},
    ),
    Case(
        name="of those that have as much, who has the less important",
        queues=[*THREE],
        running=[
            *(a_gang(f"b{i}", "b", cpu=3, priority=2) for i in range(2)),
            *(a_gang(f"c{i}", "c", cpu=3, priority=1) for i in range(2)),
        ],
        asks=a_gang("w", "a", cpu=3),
        evicted={"c1": FAIR_SHARE},
    ),
    Case(
        name="the own queue, if it has most and its policy allows it",
        queues=[
            a_cohort("k", quota={"default": {"cpu": 8}}),
            a_cluster_queue("a", cohort="k", cpu=0, within=LOWER, reclaim=ANY),
            a_cluster_queue("b", cohort="k", cpu=0),
        ],
        running=[a_gang("a1", "a", cpu=5), a_gang("b1", "b", cpu=3)],
        asks=a_gang("w", "a", cpu=2, priority=1),
        evicted={"a1": OWN},
    ),
    Case(
        name="the own queue, if there is no other",
        queues=[a_cluster_queue("a", cpu=4, within=LOWER)],
        running=[a_gang("a1", "a", cpu=4)],
        asks=a_gang("w", "a", cpu=2, priority=1),
        evicted={"a1": OWN},
    ),
    Case(
        name="only the less important, if the policy says so",
        queues=[
            a_cohort("k", quota={"default": {"cpu": 8}}),
            a_cluster_queue("a", cohort="k", cpu=0, reclaim=LOWER),
            a_cluster_queue("b", cohort="k", cpu=0),
        ],
        running=[a_gang("b1", "b", cpu=4, priority=5), a_gang("b2", "b", cpu=4, priority=6)],
        asks=a_gang("w", "a", cpu=2, priority=6),
        evicted={"b1": FAIR_SHARE},
    ),
    Case(
        name="nobody within the own quota",
        queues=[
            a_cluster_queue("a", cohort="k", cpu=0, reclaim=ANY),
            a_cluster_queue("b", cohort="k", cpu=8),
        ],
        running=[a_gang("b1", "b", cpu=8)],
        asks=a_gang("w", "a", cpu=2, priority=9),
        evicted={},
    ),
    Case(
        name="whose place is not needed after all is spared",
        queues=[*THREE],
        running=[
            a_gang("b1", "b", cpu=1),
            a_gang("b2", "b", cpu=6),
            a_gang("b3", "b", cpu=1),
            a_gang("c1", "c", cpu=4),
        ],
        asks=a_gang("w", "a", cpu=2),
        strategies=(INITIAL,),
        evicted={"b2": FAIR_SHARE},
    ),
]


def three_with_quota() -> Objects:
    return [
        a_cluster_queue("a", cohort="k", cpu=3, reclaim=ANY),
        a_cluster_queue("b", cohort="k", cpu=3),
        a_cluster_queue("d", cohort="k", cpu=3),
    ]


NOMINAL = [
    Case(
        name="within its own quota a queue takes back without any test",
        queues=three_with_quota(),
        running=[*(a_gang(f"b{i}", "b", cpu=2) for i in range(3)), a_gang("d1", "d", cpu=3)],
        asks=a_gang("w", "a", cpu=2),
        evicted={"b2": RECLAIMED},
    ),
    Case(
        name="without that gate the test is made",
        queues=three_with_quota(),
        running=[*(a_gang(f"b{i}", "b", cpu=2) for i in range(3)), a_gang("d1", "d", cpu=3)],
        asks=a_gang("w", "a", cpu=2),
        gates=Gates(fair_sharing_preempt_within_nominal=False),
        evicted={"b2": FAIR_SHARE},
    ),
    Case(
        name="what it borrows of another resource does not count",
        queues=[
            a_cluster_queue("a", cohort="k", reclaim=ANY, quota={"default": {"cpu": 3, "gpu": 0}}),
            a_cluster_queue("b", cohort="k", quota={"default": {"cpu": 0, "gpu": 9}}),
        ],
        running=[a_gang("a1", "a", requests={"gpu": 9}), a_gang("b1", "b", cpu=3)],
        asks=a_gang("w", "a", cpu=3),
        evicted={"b1": RECLAIMED},
    ),
]

TEAMS: Objects = [
    a_cohort("root", quota={"default": {"cpu": 12}}),
    a_cohort("left", "root"),
    a_cohort("right", "root"),
    a_cluster_queue("a", cohort="left", cpu=0, reclaim=ANY),
    a_cluster_queue("b", cohort="left", cpu=0),
    a_cluster_queue("x", cohort="right", cpu=0),
    a_cluster_queue("y", cohort="right", cpu=0),
]

TREES = [
    Case(
        name="between teams it is the teams that are compared",
        queues=[*TEAMS],
        running=[
            a_gang("b1", "b", cpu=2),
            *(a_gang(f"x{i}", "x", cpu=2) for i in range(2)),
            *(a_gang(f"y{i}", "y", cpu=2) for i in range(3)),
        ],
        asks=a_gang("w", "a", cpu=2),
        evicted={"y2": FAIR_SHARE},
    ),
    Case(
        name="a team that has more already takes from nobody outside",
        queues=[*TEAMS],
        running=[
            *(a_gang(f"b{i}", "b", cpu=2, priority=9) for i in range(4)),
            *(a_gang(f"x{i}", "x", cpu=2) for i in range(2)),
        ],
        asks=a_gang("w", "a", cpu=2),
        evicted={"b3": FAIR_SHARE},
    ),
    Case(
        name="a team that borrows nothing gives nothing",
        queues=[
            a_cohort("root", quota={"default": {"cpu": 2}}),
            a_cohort("left", "root"),
            a_cohort("right", "root", quota={"default": {"cpu": 6}}),
            a_cluster_queue("a", cohort="left", cpu=0, reclaim=ANY),
            a_cluster_queue("x", cohort="right", cpu=0),
            a_cluster_queue("z", cohort="root", cpu=0),
        ],
        running=[a_gang("x1", "x", cpu=6), a_gang("z1", "z", cpu=2)],
        asks=a_gang("w", "a", cpu=1),
        evicted={"z1": FAIR_SHARE},
    ),
]

CASES = [*STRATEGIES, *WEIGHTS, *WHO_GIVES, *NOMINAL, *TREES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_victims(case: Case) -> None:
    config = Config(fair_sharing=case.strategies, gates=case.gates)
    world = World(*case.queues, config=config)
    world.run(*case.running)
    world.see(case.asks)

    assert world.cycle().evicted == case.evicted


def test_equal_queues_do_not_take_from_each_other_in_turns() -> None:
    world = World(*two_borrowers(), config=FAIR)
    world.run(a_gang("b1", "b", cpu=4), a_gang("b2", "b", cpu=4))
    world.see(a_gang("w", "a", cpu=4))
    world.cycle()
    world.stop_all()
    world.cycle(rounds=None)
    assert world.running == ["b1", "w"]

    again = world.cycle(rounds=None)

    assert (again.admitted, again.evicted) == ([], {})
