"""The audit finds every figure that went wrong, and says which."""

from collections.abc import Callable

import pytest

from muster.admission.audit import check
from muster.admission.errors import InvariantError
from muster.admission.records import Tree
from tests.admission.builders import LOWER, a_cluster_queue, a_cohort, a_gang
from tests.admission.world import World


def busy() -> World:
    """Somebody runs, somebody leaves, somebody waits and somebody was set aside."""
    world = World(
        a_cohort("team", "root", quota={"default": {"cpu": 2}}),
        a_cluster_queue("q", cohort="team", cpu=(4, None, 3), within=LOWER),
        a_cluster_queue("r", cohort="root", cpu=1),
        a_cluster_queue("alone", cpu=1),
    )
    world.run(a_gang("runs", "r", cpu=1), a_gang("low", "q", cpu=6))
    world.see(
        a_gang("waits", "q", cpu=4, priority=1),
        *(a_gang(f"aside{i}", "r", cpu=9) for i in range(2)),
    )
    world.cycle()
    world.state.settle(world.now_us)
    assert (world.running, world.leaving) == (["runs"], ["low"])
    assert (world.heap, world.parked) == (["waits"], ["aside0", "aside1"])
    world.state.forest.cohorts["root"].lendable("cpu")
    return world


def set_cell(node: str, name: str, value: object) -> Callable[[World], None]:
    def tamper(world: World) -> None:
        setattr(world.cell(node), name, value)

    return tamper


def swap_heads(world: World) -> None:
    world.see(a_gang("next", "q", cpu=1))
    world.queue("q").pending.heads.reverse()


TAMPERING: dict[str, tuple[Callable[[World], None], str]] = {
    "usage of a queue": (set_cell("q", "used", 7), "usage of <Cell q"),
    "usage of a cohort": (set_cell("root", "used", 7), "<Cell root"),
    "subtree quota": (set_cell("team", "subtree", 7), "<Cell team"),
    "guaranteed quota": (set_cell("q", "guaranteed", 2), "<Cell q"),
    "potential": (set_cell("q", "potential", 2), "<Cell q"),
    "nominal quota": (set_cell("q", "nominal", 3), "<Cell q"),
    "lending limit": (set_cell("q", "lending_limit", None), "<Cell q"),
    "borrowable": (set_cell("q", "borrowable", 5), "<Cell q"),
    "parent of a cell": (set_cell("q", "parent", None), "parent of <Cell q"),
    "height": (lambda w: setattr(w.queue("q").parent, "height", 2), "height of team"),
    "root": (lambda w: setattr(w.queue("q"), "root", w.queue("q")), "root of q"),
    "activity": (lambda w: setattr(w.queue("q"), "active", False), "whether q is active"),
    "reason": (lambda w: setattr(w.queue("q"), "inactive_reason", "?"), "why q is inactive"),
    "cycle": (lambda w: setattr(w.queue("q"), "cyclic", True), "whether q is in a cycle"),
    "quotas": (lambda w: setattr(w.queue("q"), "quotas", {}), "quotas of q"),
    "children": (
        lambda w: w.state.forest.cohorts["team"].queues.clear(),
        "children of team",
    ),
    "what could be lent": (
        lambda w: setattr(w.state.forest.cohorts["root"], "_lendable", {"cpu": 1}),
        "what root could lend",
    ),
    "declared resources": (
        lambda w: setattr(w.queue("q"), "resources", ()),
        "declared resources of q",
    ),
    "queues of a tree": (lambda w: setattr(w.queue("q"), "tree", Tree()), "its tree"),
    "the ready": (lambda w: w.queue("q").tree.ready.clear(), "q among the ready"),
    "the parked": (lambda w: w.queue("r").tree.parked.clear(), "r among the parked"),
    "heads": (lambda w: w.queue("q").pending.heads.clear(), "heads of q"),
    "order of heads": (swap_heads, "heads of q"),
    "groups set aside": (
        lambda w: w.queue("r").pending.set_aside.clear(),
        "whether r set a group aside",
    ),
    "a group": (lambda w: setattr(w.item("waits"), "group", None), "waits in no group"),
    "a mark": (
        lambda w: setattr(w.queue("q").pending, "sticky", w.item("runs")),
        "marked by q",
    ),
    "priority": (lambda w: setattr(w.item("waits"), "priority", 7), "priority of default/waits"),
    "timestamp": (
        lambda w: setattr(w.item("waits"), "queue_timestamp_us", 7),
        "timestamp of default/waits",
    ),
    "order": (lambda w: setattr(w.item("waits"), "order", ()), "order of default/waits"),
    "queue": (
        lambda w: setattr(w.item("waits"), "queue", w.queue("r")),
        "queue of default/waits",
    ),
    "holding": (lambda w: setattr(w.item("runs"), "holding", False), "holding of default/runs"),
    "a holder": (lambda w: setattr(w.item("runs"), "holder", None), "default/runs is booked"),
    "holders": (lambda w: w.queue("r").holders.clear(), "where <Holder default/runs> is listed"),
    "leaving": (
        lambda w: setattr(w.queue("q").evicting[0], "evicting", False),
        "is leaving",
    ),
    "rank": (lambda w: setattr(w.queue("r").holders[0], "rank", ()), "rank of"),
    "usage of a holder": (
        lambda w: setattr(w.queue("r").holders[0], "usage", ()),
        "usage of <Holder default/runs>",
    ),
    "index of LocalQueues": (
        lambda w: w.state._of_local_queue["default/q"].clear(),
        "index by LocalQueue",
    ),
    "index of the unbooked": (
        lambda w: w.state._unbooked.update(gone={w.item("runs"): None}),
        "index of the unbooked",
    ),
    "a workload nobody knows": (
        lambda w: w.state.items.__delitem__("default/waits"),
        "is known",
    ),
    "a cohort without reason": (
        lambda w: setattr(w.state.forest._cohort("left over"), "declared", False),
        "exists for no reason",
    ),
}


def test_a_state_in_order_passes() -> None:
    world = busy()

    check(world.state, world.now_us)


@pytest.mark.parametrize("tamper, said", TAMPERING.values(), ids=TAMPERING)
def test_tampering_is_found(tamper: Callable[[World], None], said: str) -> None:
    world = busy()

    tamper(world)

    with pytest.raises(InvariantError) as raised:
        check(world.state, world.now_us)
    assert said in str(raised.value)


def test_a_stale_request_is_found() -> None:
    world = busy()
    queue = world.queue("q")
    assert any(group.requests for group in queue.pending.groups.values())

    queue.group_of = {}

    with pytest.raises(InvariantError, match="a request remembered by q"):
        check(world.state, world.now_us)
