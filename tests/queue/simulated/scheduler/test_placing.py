"""Where pods go, in which order, and what they need there."""

from __future__ import annotations

from typing import Any

import pytest

from muster.queue.simulated.scheduler.core import Bind
from tests.queue.simulated.manifests import Manifest, node, pod
from tests.queue.simulated.scheduler.stories import (
    REQUIRED,
    affinity,
    decisions,
    expression,
    places,
    refusal,
    running,
    scheduler,
    taint,
)

ELSEWHERE = {"namespaceSelector": {"matchLabels": {"a": "b"}}}


NODES = (
    node("a", labels={"zone": "1", "rank": "5"}),
    node("b", labels={"zone": "2"}, taints=[taint("gpu", value="yes")]),
    node("c", labels={"zone": "3"}, unschedulable=True),
)


TOLERANT = [{"operator": "Exists"}]


@pytest.mark.parametrize(
    "spec, allowed",
    [
        ({}, "a"),
        ({"tolerations": TOLERANT}, "abc"),
        ({"tolerations": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}, "ab"),
        ({"tolerations": [{"key": "gpu", "value": "no", "effect": "NoSchedule"}]}, "a"),
        ({"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]}, "a"),
        (
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            "ac",
        ),
        ({"nodeSelector": {"zone": "1"}}, "a"),
        ({"nodeSelector": {"zone": "2"}}, ""),
        ({"nodeSelector": {"zone": "2"}, "tolerations": TOLERANT}, "b"),
        ({"affinity": affinity(expression("zone", "In", "2", "3")), "tolerations": TOLERANT}, "bc"),
        ({"affinity": affinity(expression("zone", "NotIn", "2")), "tolerations": TOLERANT}, "ac"),
        ({"affinity": affinity(expression("rank", "Exists")), "tolerations": TOLERANT}, "a"),
        ({"affinity": affinity(expression("rank", "DoesNotExist")), "tolerations": TOLERANT}, "bc"),
        ({"affinity": affinity(expression("rank", "Gt", "4")), "tolerations": TOLERANT}, "a"),
        ({"affinity": affinity(expression("rank", "Lt", "5")), "tolerations": TOLERANT}, ""),
        (
            {
                "affinity": affinity(
                    expression("zone", "In", "2"), expression("zone", "In", "3")
                ),
                "tolerations": TOLERANT,
            },
            "bc",
        ),
        (
            {
                "affinity": affinity(
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
                ),
                "tolerations": TOLERANT,
            },
            "b",
        ),
        ({"affinity": affinity({}), "tolerations": TOLERANT}, ""),
    ],
)  # fmt: skip
def test_a_pod_goes_only_where_it_may(spec: Manifest, allowed: str) -> None:
    for each in NODES:
        known = scheduler(each, pod("p", **spec))
        name = each["metadata"]["name"]
        assert places(known) == {"p": name if name in allowed else ""}, name


def test_host_ports_are_exclusive() -> None:
    def wants(name: str, **port: Any) -> Manifest:
        return pod(name, container={"ports": [{"containerPort": 80, **port}]})

    known = scheduler(
        node("a"),
        wants("p1", hostPort=80, hostIP="10.0.0.1"),
        wants("p2", hostPort=80, hostIP="10.0.0.2"),
        wants("p3", hostPort=80),
        wants("p4", hostPort=80, protocol="UDP"),
        wants("p5"),
    )
    assert places(known) == {"p1": "a", "p2": "a", "p3": "", "p4": "a", "p5": "a"}


@pytest.mark.parametrize(
    "fields",
    [
        {"schedulerName": "mine"},
        {"schedulingGates": [{"name": "wait"}]},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"status": {"phase": "Succeeded"}},
    ],
)
def test_some_pods_are_not_to_be_placed(fields: dict[str, Any]) -> None:
    assert decisions(scheduler(node("a"), pod("p", **fields))) == []


def test_a_pod_is_placed_once_its_gates_are_gone() -> None:
    known = scheduler(node("a"), pod("p", schedulingGates=[{"name": "wait"}]))
    assert places(known) == {}
    known.pod_seen(pod("p", schedulingGates=[]))
    assert places(known) == {"p": "a"}


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", **ELSEWHERE}]}}},
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        {"resourceClaims": [{"name": "c"}]},
    ],
)
def test_what_is_not_simulated_is_said(spec: Manifest) -> None:
    assert "is not simulated" in refusal(scheduler(node("a"), pod("p", **spec))).message


def test_room_is_counted_exactly() -> None:
    half = {"cpu": "1500m", "memory": "512Mi", "nvidia.com/gpu": "1"}
    known = scheduler(
        node("a", cpu="3", memory="1Gi", gpu="2"),
        *(pod(f"p{place}", requests=half) for place in range(3)),
    )
    assert places(known) == {"p0": "a", "p1": "a", "p2": ""}
    known.pod_gone("uid-p0")
    assert places(known) == {"p2": "a"}


def test_init_containers_need_room_before_the_others() -> None:
    init = {"name": "i", "resources": {"requests": {"cpu": "3"}}}
    asked = pod("p", requests={"cpu": "1"}, initContainers=[init])
    assert places(scheduler(node("a", cpu="2"), asked)) == {"p": ""}
    assert places(scheduler(node("a", cpu="3"), asked)) == {"p": "a"}


def test_the_emptiest_node_is_best_and_names_break_ties() -> None:
    asked = {"cpu": "2", "memory": "1Gi"}
    known = scheduler(
        node("b"), node("a"), node("c"), *(pod(f"p{i}", requests=asked) for i in range(4))
    )
    assert places(known) == {"p0": "a", "p1": "b", "p2": "c", "p3": "a"}


def test_preferences_outweigh_emptiness() -> None:
    preferred = [{"weight": 10, "preference": expression("disk", "In", "ssd")}]
    wishes = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    known = scheduler(
        node("a"),
        node("b", labels={"disk": "ssd"}),
        running("busy", "b", requests={"cpu": "4"}),
        pod("p", affinity=wishes),
    )
    assert places(known) == {"p": "b"}


def test_soft_taints_are_avoided() -> None:
    known = scheduler(
        node("a", taints=[taint("old", "PreferNoSchedule")]),
        node("b"),
        running("busy", "b", requests={"cpu": "4"}),
        pod("p"),
    )
    assert places(known) == {"p": "b"}


def test_important_pods_come_first_and_then_the_oldest() -> None:
    known = scheduler(
        pod("young", metadata={"creationTimestamp": "2026-01-01T00:00:09Z"}),
        pod("old"),
        pod("important", priority=5, metadata={"creationTimestamp": "2026-01-01T00:00:09Z"}),
        node("a"),
    )
    assert list(places(known)) == ["important", "old", "young"]


def test_freed_room_is_given_out_in_order() -> None:
    whole = {"cpu": "8"}
    known = scheduler(node("a"), node("b"), *(pod(f"p{i}", requests=whole) for i in range(5)))
    assert places(known) == {"p0": "a", "p1": "b", "p2": "", "p3": "", "p4": ""}
    known.pod_gone("uid-p0")
    assert places(known)["p2"] == "a"
    known.pod_gone("uid-p1")
    known.pod_gone("uid-p2")
    placed = {name: on for name, on in places(known).items() if on}
    assert placed == {"p3": "a", "p4": "b"}


def test_nothing_is_tried_again_without_hope() -> None:
    known = scheduler(node("a", cpu="1"), pod("p", requests={"cpu": "2"}))
    assert len(decisions(known)) == 1
    known.node_seen(node("b", cpu="1"))
    assert decisions(known) == []
    known.node_seen(node("b", cpu="2"))
    assert places(known) == {"p": "b"}


def test_a_failed_binding_is_tried_again() -> None:
    known = scheduler(node("a", cpu="1"), pod("p", requests={"cpu": "1"}))
    (first,) = decisions(known)
    known.bind_failed(first.pod)
    assert places(known) == {"p": "a"}


def test_an_old_view_of_a_bound_pod_changes_nothing() -> None:
    asked = pod("p", requests={"cpu": "8"})
    known = scheduler(node("a"), asked)
    assert places(known) == {"p": "a"}
    known.pod_seen(asked)
    assert decisions(known) == []
    known.pod_seen(pod("q", requests={"cpu": "1"}))
    assert places(known) == {"q": ""}


def test_a_node_holds_no_more_pods_than_it_allows() -> None:
    known = scheduler(node("a", pods="1"), pod("p"), pod("q"))
    found = decisions(known)
    assert [each.node for each in found if isinstance(each, Bind)] == ["a"]
    assert "1 Too many pods" in getattr(found[1], "message", "")


def test_sidecars_need_room_beside_the_others() -> None:
    sidecar = {"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
    asked = pod("p", requests={"cpu": "1"}, initContainers=[sidecar])
    assert places(scheduler(node("a", cpu="3"), asked)) == {"p": ""}
    assert places(scheduler(node("a", cpu="4"), asked)) == {"p": "a"}
