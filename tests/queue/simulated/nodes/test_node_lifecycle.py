"""What is said of silent nodes and their pods, and how long pods stand taints."""

from __future__ import annotations

from typing import Any

import pytest

from muster.queue.api.timestamps import format_second
from muster.queue.simulated.nodes.behaviour import FOREVER_US
from muster.queue.simulated.nodes.node_lifecycle import doubted, tainted, unready
from muster.queue.simulated.nodes.taint_eviction import tolerated_us

Json = dict[str, Any]

S = 1_000_000
NOW_US = 1_767_225_600 * S
NOW = format_second(NOW_US)
BEFORE = "2025-12-31T23:00:00Z"


def a_node(ready: str | None, taints: list[Json] | None = None, **spec: Any) -> Json:
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": BEFORE}]
    return {
        "metadata": {"name": "n", "creationTimestamp": BEFORE},
        "spec": {"taints": taints or [], **spec},
        "status": {"conditions": conditions if ready else []},
    }


def taint(name: str, effect: str, added: str = NOW) -> Json:
    return {"key": f"node.kubernetes.io/{name}", "effect": effect, "timeAdded": added}


OTHER = {"key": "gpu", "effect": "NoSchedule"}

TAINTED: dict[str, tuple[Json, list[Json]]] = {
    "ready": (a_node("True"), []),
    "not ready": (
        a_node("False"),
        [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute")],
    ),
    "unknown": (
        a_node("Unknown"),
        [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute")],
    ),
    "never reported": (a_node(None), [taint("not-ready", "NoSchedule")]),
    "cordoned": (a_node("True", unschedulable=True), [taint("unschedulable", "NoSchedule")]),
    "others stay": (
        a_node("Unknown", [OTHER]),
        [OTHER, taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute")],
    ),
    "ours go when their reason does": (
        a_node("True", [taint("unreachable", "NoExecute", BEFORE), OTHER]),
        [OTHER],
    ),
    "one gives way to the other": (
        a_node("Unknown", [taint("not-ready", "NoSchedule", BEFORE)]),
        [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute")],
    ),
    "those that are right keep their time": (
        a_node(
            "Unknown",
            [
                taint("unreachable", "NoSchedule", BEFORE),
                taint("unreachable", "NoExecute", BEFORE),
            ],
        ),
        [taint("unreachable", "NoSchedule", BEFORE), taint("unreachable", "NoExecute", BEFORE)],
    ),
}


@pytest.mark.parametrize("node, taints", TAINTED.values(), ids=TAINTED)
def test_taints(node: Json, taints: list[Json]) -> None:
    assert tainted(node, NOW_US) == taints


def test_a_silent_node_is_unknown_in_every_respect() -> None:
    found = {each["type"]: each for each in doubted(a_node("True"), NOW_US)}
    assert list(found) == ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]
    assert {each["status"] for each in found.values()} == {"Unknown"}
    assert found["Ready"]["reason"] == "NodeStatusUnknown"
    assert found["Ready"]["lastTransitionTime"] == NOW
    assert found["DiskPressure"]["reason"] == "NodeStatusNeverUpdated"


def test_doubt_is_said_once() -> None:
    node = a_node("True")
    conditions = doubted(node, NOW_US)
    node["status"]["conditions"] = conditions
    assert doubted(node, NOW_US + 60 * S) == conditions


def test_pods_of_a_lost_node_are_not_ready() -> None:
    scheduled = {"type": "PodScheduled", "status": "True"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": BEFORE}
    pod = {"status": {"conditions": [ready, scheduled]}}
    lost = {"type": "Ready", "status": "False", "lastTransitionTime": NOW}
    assert unready(pod, NOW_US) == [lost, scheduled]
    assert ready["status"] == "True"
    assert unready({"status": {"conditions": [lost]}}, NOW_US) is None
    assert unready({}, NOW_US) is None


# --- Eviction by taints --------------------------------------------------------------------------


def tolerates(key: str, seconds: int | None = None, **more: Any) -> Json:
    toleration: Json = {"key": key, "operator": "Exists", "effect": "NoExecute", **more}
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


def no_execute(*keys: str) -> list[Json]:
    return [{"key": key, "effect": "NoExecute"} for key in keys]


TOLERATED: dict[str, tuple[list[Json], list[Json], int]] = {
    "no taints": ([], [], FOREVER_US),
    "not tolerated": ([], no_execute("a"), 0),
    "another one tolerated": ([tolerates("b")], no_execute("a"), 0),
    "tolerated for ever": ([tolerates("a")], no_execute("a"), FOREVER_US),
    "tolerated for a while": ([tolerates("a", 300)], no_execute("a"), 300 * S),
    "less than nothing is nothing": ([tolerates("a", -5)], no_execute("a"), 0),
    "one of two not tolerated": ([tolerates("a", 300)], no_execute("a", "b"), 0),
    "the shorter of two": (
        [tolerates("a", 300), tolerates("b", 200)],
        no_execute("a", "b"),
        200 * S,
    ),
    "for ever and for a while": (
        [tolerates("a"), tolerates("b", 200)],
        no_execute("a", "b"),
        200 * S,
    ),
    "two for the same taint": ([tolerates("a", 9), tolerates("a")], no_execute("a"), 9 * S),
    "everything": ([{"operator": "Exists"}], no_execute("a", "b"), FOREVER_US),
    "one that is not in use": (
        [tolerates("a", 300), tolerates("b", 1)],
        no_execute("a"),
        300 * S,
    ),
    "another value": (
        [{"key": "a", "operator": "Equal", "value": "x", "effect": "NoExecute"}],
        no_execute("a"),
        0,
    ),
}


@pytest.mark.parametrize("tolerations, taints, patience_us", TOLERATED.values(), ids=TOLERATED)
def test_patience(tolerations: list[Json], taints: list[Json], patience_us: int) -> None:
    assert tolerated_us({"spec": {"tolerations": tolerations}}, taints) == patience_us
