"""Where a flavor scan goes on: what is remembered, what outdates it, and who looks again."""

from muster.admission.objects import ClusterQueue, Workload
from tests.admission.builders import a_cluster_queue, a_gang, a_pod_set, a_workload
from tests.admission.world import World

TWO_FLAVORS = a_cluster_queue("q", quota={"a": {"cpu": 3}, "b": {"cpu": 3}, "m": {"memory": 1}})
"""In `crowded` one CPU is free in each of two flavors."""


def crowded(queue: ClusterQueue = TWO_FLAVORS) -> World:
    world = World(queue)
    world.run(a_gang("in-a", "q", cpu=2), flavors="a")
    world.run(a_gang("in-b", "q", cpu=2), flavors="b")
    return world


def a_pair(name: str) -> Workload:
    """The first pod set fits the first flavor, where the scan stops; the second fits nowhere."""
    small = a_pod_set("small", requests=(("cpu", 1),))
    large = a_pod_set("large", requests=(("cpu", 2),))
    return a_workload(name, local_queue="q", pod_sets=(small, large))


def test_who_has_flavors_left_to_try_is_looked_at_again_and_then_set_aside() -> None:
    world = crowded()
    world.see(a_pair("w"))

    first, second, third = world.cycle(), world.cycle(), world.cycle()

    assert [outcome.decided for outcome in (first, second, third)] == [["w"], ["w"], []]
    assert world.parked == ["w"]


def test_a_scan_that_started_anew_and_stopped_where_the_last_one_did_goes_on_too() -> None:
    world = crowded()
    world.see(a_pair("w"))
    world.cycle()
    world.see(a_gang("short", "q", requests={"memory": 1}, priority=9))
    world.cycle()
    world.finish("short")  # what was scanned before is outdated

    anew, on = world.cycle(), world.cycle()

    assert [anew.decided, on.decided] == [["w"], ["w"]]
    assert world.parked == ["w"]
