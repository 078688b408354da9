"""What pods are told that go nowhere, and whom they displace."""

from __future__ import annotations

import pytest

from muster.queue.simulated.scheduler.core import Bind, Refuse
from tests.queue.simulated.manifests import node, pod
from tests.queue.simulated.scheduler.stories import (
    decisions,
    places,
    refusal,
    running,
    scheduler,
    taint,
    victims,
)

NOT_HELPFUL = "Preemption is not helpful for scheduling"


NO_VICTIMS = "No preemption victims found for incoming pod"


def test_without_nodes_the_message_is_short() -> None:
    assert refusal(scheduler(pod("p"))).message == "no nodes available to schedule pods"


def test_the_message_counts_nodes_by_reason() -> None:
    known = scheduler(
        node("a", taints=[taint("x")]),
        node("b", gpu="1"),
        node("c", gpu="1", cpu="0"),
        running("busy", "b", requests={"nvidia.com/gpu": "1"}),
        pod("p", requests={"cpu": "1", "nvidia.com/gpu": "1"}),
    )
    assert refusal(known).message == (
        "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu, "
        "1 node(s) had untolerated taint(s). no new claims to deallocate, "
        "preemption: 0/3 nodes are available: "
        f"1 {NO_VICTIMS}, 2 {NOT_HELPFUL}."
    )


def test_a_pod_that_never_preempts_is_told_so() -> None:
    known = scheduler(node("a", cpu="1"), pod("p", requests={"cpu": "2"}, preemptionPolicy="Never"))
    assert refusal(known).message == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."
    )


def test_the_least_important_pods_make_room() -> None:
    known = scheduler(
        node("a", cpu="2"),
        node("b", cpu="2"),
        running("a1", "a", priority=1, requests={"cpu": "1"}),
        running("a2", "a", priority=2, requests={"cpu": "1"}),
        running("b1", "b", priority=3, requests={"cpu": "2"}),
        pod("p", priority=10, requests={"cpu": "1"}),
    )
    decision = refusal(known)
    assert (decision.nominated, victims(decision)) == ("a", ["a1"])


def test_as_few_as_needed_are_displaced() -> None:
    known = scheduler(
        node("a", cpu="4"),
        *(running(f"a{i}", "a", requests={"cpu": "1"}) for i in range(4)),
        pod("p", priority=10, requests={"cpu": "2"}),
    )
    assert len(victims(refusal(known))) == 2


def test_equals_are_never_displaced() -> None:
    known = scheduler(
        node("a", cpu="1"),
        running("a1", "a", priority=10, requests={"cpu": "1"}),
        pod("p", priority=10, requests={"cpu": "1"}),
    )
    assert victims(refusal(known)) == []


def test_room_is_kept_for_whoever_preempted() -> None:
    known = scheduler(
        node("a", cpu="1"),
        running("a1", "a", requests={"cpu": "1"}),
        pod("p", priority=10, requests={"cpu": "1"}),
    )
    assert victims(refusal(known)) == ["a1"]
    known.pod_seen(pod("rival", priority=5, requests={"cpu": "1"}))
    assert places(known) == {"rival": ""}
    known.pod_gone("uid-a1")
    assert places(known)["p"] == "a"


def test_room_that_is_no_longer_needed_is_given_away() -> None:
    known = scheduler(
        node("a", cpu="1"),
        running("a1", "a", requests={"cpu": "1"}),
        pod("p", priority=10, requests={"cpu": "1"}),
    )
    decisions(known)
    known.pod_gone("uid-a1")
    known.pod_seen(pod("rival", priority=5, requests={"cpu": "1"}))
    known.pod_gone("uid-p")
    assert places(known) == {"rival": "a"}


def test_each_preemptor_gets_its_own_victims() -> None:
    known = scheduler(
        *(node(name, cpu="1") for name in "ab"),
        *(running(f"{name}1", name, requests={"cpu": "1"}) for name in "ab"),
        *(pod(f"p{i}", priority=10, requests={"cpu": "1"}) for i in range(3)),
    )
    found = decisions(known)
    assert sorted(name for each in found for name in victims(each)) == ["a1", "b1"]
    known.pod_gone("uid-a1")
    known.pod_gone("uid-b1")
    assert {name for name, on in places(known).items() if on} == {"p0", "p1"}


def test_a_preemptor_waits_for_its_victims() -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    leaving = pod(
        "a1",
        nodeName="a",
        requests={"cpu": "1"},
        metadata={"deletionTimestamp": "2026-01-01T00:00:30Z"},
        status={"phase": "Running", "conditions": [condition]},
    )
    known = scheduler(
        node("a", cpu="1"),
        leaving,
        running("other", "b", requests={"cpu": "1"}),
        pod("p", priority=10, requests={"cpu": "1"}, status={"nominatedNodeName": "a"}),
    )
    decision = refusal(known)
    assert decision.message.endswith(
        "preemption: not eligible due to a terminating pod on the nominated node."
    )
    assert (decision.nominated, decision.victims) == ("a", ())


def test_pods_learn_what_has_changed_about_the_nodes() -> None:
    known = scheduler(*(pod(name, requests={"cpu": "2"}) for name in ("p", "q")))
    assert {each.message for each in decisions(known) if isinstance(each, Refuse)} == {
        "no nodes available to schedule pods"
    }
    known.node_seen(node("a", cpu="1"))
    assert decisions(known) == []
    known.reconsider()
    found = decisions(known)
    assert [each.pod["metadata"]["name"] for each in found] == ["p", "q"]
    assert all(
        isinstance(each, Refuse) and each.message.startswith("0/1 nodes are available")
        for each in found
    )
    known.reconsider()
    assert decisions(known) == [], "this is no news"


def test_room_is_kept_from_less_important_pods_alone() -> None:
    known = scheduler(
        node("a", cpu="1"),
        running("low", "a", requests={"cpu": "1"}),
        pod("p", priority=10, requests={"cpu": "1"}),
    )
    decisions(known)
    known.pod_gone("uid-low")
    known.pod_seen(pod("q", priority=20, requests={"cpu": "1"}))
    assert places(known) == {"q": "a", "p": ""}


def test_a_more_important_pod_takes_over_the_promised_node() -> None:
    known = scheduler(
        node("a", cpu="1"),
        running("low", "a", requests={"cpu": "1"}),
        pod("p", priority=10, requests={"cpu": "1"}),
    )
    decisions(known)
    known.pod_seen(pod("q", priority=20, requests={"cpu": "1"}))
    (decision, *_) = decisions(known)
    assert isinstance(decision, Refuse)
    assert (decision.nominated, victims(decision)) == ("a", ["low"])
    known.pod_gone("uid-low")
    found = decisions(known)
    assert [each.pod["metadata"]["name"] for each in found if isinstance(each, Bind)] == ["q"]
    refused = [each for each in found if isinstance(each, Refuse)]
    assert [each.nominated for each in refused] == [""]


def test_pods_that_leave_already_are_not_deleted_again() -> None:
    leaving = running("low", "a", requests={"cpu": "1"})
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    known = scheduler(node("a", cpu="1"), leaving, pod("p", priority=10, requests={"cpu": "1"}))
    decision = refusal(known)
    assert (decision.nominated, decision.victims) == ("a", ())


def test_a_preemptor_takes_the_promised_node_though_another_is_better() -> None:
    known = scheduler(
        node("b", cpu="1"),
        running("low", "b", requests={"cpu": "1"}),
        pod("p", priority=10, requests={"cpu": "1"}),
    )
    assert refusal(known).nominated == "b"
    known.pod_gone("uid-low")
    known.node_seen(node("a", cpu="64"))
    assert places(known) == {"p": "b"}


@pytest.mark.parametrize(
    "on_a, on_b, chosen",
    [
        ([(5, 0)], [(1, 0), (1, 0), (1, 0)], "b"),
        ([(5, 0), (1, 0)], [(5, 0), (2, 0)], "a"),
        ([(5, 0), (5, 0)], [(5, 0)], "b"),
        ([(5, 10)], [(5, 20)], "b"),
        ([(5, 20), (1, 40)], [(5, 10), (1, 59)], "a"),
        ([(5, 10)], [(5, 10)], "a"),
    ],
)
def test_the_least_harm_is_done(
    on_a: list[tuple[int, int]], on_b: list[tuple[int, int]], chosen: str
) -> None:
    """Pods are given as priority and second of their start; all of a node have to go."""
    known = scheduler(node("a", cpu="4"), node("b", cpu="4"))
    for on, pods in (("a", on_a), ("b", on_b)):
        for place, (priority, start_s) in enumerate(pods):
            each = running(
                f"{on}{place}", on, priority=priority, requests={"cpu": str(4 // len(pods))}
            )
            each["status"]["startTime"] = f"2026-01-01T00:00:{start_s:02}Z"
            known.pod_seen(each)
    known.pod_seen(pod("p", priority=10, requests={"cpu": "4"}))
    assert refusal(known).nominated == chosen
