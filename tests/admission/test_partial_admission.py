"""Workloads that can do with fewer pods: how many they get, and when they are asked to."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission.config import Config, Gates
from muster.admission.plan import Preempt
from tests.admission.builders import LOWER, a_cluster_queue, a_gang, a_pod_set, a_workload
from tests.admission.world import World


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    free: int
    pods: int
    min_pods: int | None
    want: int | None
    """How many are admitted; None if none."""
    each: int = 1


CASES = [
    Case(name="all, if all fit", free=10, pods=10, min_pods=4, want=10),
    Case(name="as many as fit", free=7, pods=10, min_pods=4, want=7),
    Case(name="the minimum, if no more fit", free=4, pods=10, min_pods=4, want=4),
    Case(name="none below the minimum", free=3, pods=10, min_pods=4, want=None),
    Case(name="whole pods only", free=7, pods=5, min_pods=1, each=2, want=3),
    Case(name="all or nothing without a minimum", free=7, pods=10, min_pods=None, want=None),
    Case(name="a minimum of all is no offer", free=7, pods=10, min_pods=10, want=None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_count(case: Case) -> None:
    world = World(a_cluster_queue("q", cpu=case.free))
    world.see(a_gang("w", "q", pods=case.pods, min_pods=case.min_pods, cpu=case.each))

    outcome = world.cycle()

    assert outcome.admitted == ([] if case.want is None else ["w"])
    if case.want is not None:
        assert outcome.count("w") == case.want
        assert world.cell("q").used == case.want * case.each


@given(
    free=st.integers(0, 40),
    pods=st.integers(1, 12),
    minimum=st.integers(1, 12),
    each=st.integers(1, 4),
)
def test_the_largest_count_that_fits_is_found(
    free: int, pods: int, minimum: int, each: int
) -> None:
    minimum = min(minimum, pods)
    world = World(a_cluster_queue("q", cpu=free))
    world.see(a_gang("w", "q", pods=pods, min_pods=minimum, cpu=each))

    outcome = world.cycle()

    fitting = [count for count in range(minimum, pods + 1) if count * each <= free]
    assert [outcome.count(name) for name in outcome.admitted] == fitting[-1:]


def test_only_the_pod_set_with_a_minimum_shrinks() -> None:
    world = World(a_cluster_queue("q", cpu=7))
    leader = a_pod_set("leader", count=2, cpu=1)
    workers = a_pod_set("workers", count=8, min_count=2, cpu=1)
    world.see(a_workload("w", local_queue="q", pod_sets=(leader, workers)))

    outcome = world.cycle()

    assert outcome.counts("w") == {"leader": 2, "workers": 5}


def test_a_pod_set_that_is_done_asks_for_nothing_at_a_smaller_size_either() -> None:
    world = World(a_cluster_queue("q", cpu=5))
    leader = a_pod_set("leader", count=2, cpu=1)
    workers = a_pod_set("workers", count=8, min_count=2, cpu=1)
    world.see(a_workload("w", local_queue="q", pod_sets=(leader, workers)))
    world.reclaim("w", leader=2)

    outcome = world.cycle()

    assert outcome.counts("w") == {"leader": 2, "workers": 5}
    assert world.cell("q").used == 5


def test_the_full_size_is_taken_back_from_others_before_the_gang_shrinks() -> None:
    world = World(a_cluster_queue("q", within=LOWER, cpu=20))
    world.run(a_gang("old", "q", pods=10, priority=-4))
    world.see(a_gang("new", "q", pods=20, min_pods=10, priority=4))

    decision = world.cycle().of("new")

    assert isinstance(decision, Preempt)
    assert [grant.amount for grant in decision.grants] == [20]


def test_a_smaller_size_may_be_taken_back_from_others_too() -> None:
    world = World(a_cluster_queue("q", within=LOWER, cpu=10))
    world.run(a_gang("firm", "q", pods=4, priority=9), a_gang("old", "q", pods=6))
    world.see(a_gang("new", "q", pods=9, min_pods=5, priority=4))

    decision = world.cycle().of("new")

    assert isinstance(decision, Preempt)
    assert [eviction.workload for eviction in decision.evictions] == ["default/old"]
    assert [grant.amount for grant in decision.grants] == [6]


def test_the_gate_may_be_closed() -> None:
    config = Config(gates=Gates(partial_admission=False))
    world = World(a_cluster_queue("q", cpu=7), config=config)
    world.see(a_gang("w", "q", pods=10, min_pods=4))

    assert world.cycle().admitted == []


def test_reclaimed_pods_are_not_subtracted_from_a_smaller_size() -> None:
    """The full size is tried without them; a smaller size counts from the specification."""
    world = World(a_cluster_queue("q", cpu=7))
    world.see(a_gang("w", "q", pods=10, min_pods=4))
    world.reclaim("w", main=2)

    assert world.cycle().count("w") == 7
