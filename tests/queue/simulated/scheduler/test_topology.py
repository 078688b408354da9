"""Where pods may be because of where other pods are."""

from __future__ import annotations

from typing import Any

import pytest

from muster.queue.simulated.scheduler.core import Bind
from tests.queue.simulated.manifests import Manifest, node, pod
from tests.queue.simulated.scheduler.stories import (
    ZONES,
    affinity,
    apart,
    app,
    decisions,
    expression,
    near,
    places,
    refusal,
    running,
    scheduler,
    taint,
    term,
    victims,
)


def test_pods_go_where_their_friends_are() -> None:
    known = scheduler(*ZONES, running("friend", "b1", **app("web")))
    for i in range(3):
        known.pod_seen(pod(f"p{i}", affinity=near(term("web")), requests={"cpu": "5"}))
    assert places(known) == {"p0": "b2", "p1": "b1", "p2": ""}


def test_without_a_friend_pods_wait_for_one() -> None:
    known = scheduler(*ZONES, pod("p", affinity=near(term("web"))))
    message = refusal(known).message
    assert message.startswith("0/4 nodes are available: 4 node(s) didn't match pod affinity rules.")
    known.pod_seen(running("elsewhere", "a1", **app("web", "other")))
    assert places(known) == {}
    known.pod_seen(running("friend", "a1", requests={"cpu": "8"}, **app("web")))
    assert places(known) == {"p": "a2"}


def test_friends_of_all_namespaces_count_if_so_wished() -> None:
    known = scheduler(*ZONES, running("friend", "b1", **app("web", "other")))
    known.pod_seen(pod("all", affinity=near(term("web", namespaceSelector={}))))
    known.pod_seen(pod("listed", affinity=near(term("web", namespaces=["other"]))))
    assert {on[0] for on in places(known).values()} == {"b"}


def test_the_first_of_a_group_goes_anywhere() -> None:
    known = scheduler(*ZONES)
    for i in range(3):
        known.pod_seen(
            pod(f"p{i}", affinity=near(term("web")), requests={"cpu": "1"}, **app("web"))
        )
    assert places(known) == {"p0": "a1", "p1": "a2", "p2": "a1"}


def test_pods_that_avoid_each_other_share_no_zone() -> None:
    known = scheduler(*ZONES)
    for i in range(3):
        known.pod_seen(pod(f"p{i}", affinity=apart(term("web")), **app("web")))
    found = decisions(known)
    assert [each.node for each in found if isinstance(each, Bind)] == ["a1", "b1"]
    assert "4 node(s) didn't match pod anti-affinity rules" in getattr(found[-1], "message", "")
    known.pod_gone("uid-p0")
    assert places(known) == {"p2": "a1"}


def test_pods_keep_others_away() -> None:
    known = scheduler(*ZONES[:2], running("hermit", "a1", affinity=apart(term("web"))))
    known.pod_seen(pod("p", **app("web")))
    known.pod_seen(pod("q", **app("mail")))
    found = decisions(known)
    assert [each.node for each in found if isinstance(each, Bind)] == ["a2"]
    assert "2 node(s) didn't satisfy existing pods anti-affinity rules" in getattr(
        found[0], "message", ""
    )
    known.pod_gone("uid-hermit")
    assert places(known)["p"] == "a1"


def spread(**rest: Any) -> Manifest:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
                **rest,
            }
        ]
    }


@pytest.mark.parametrize(
    "constraint, there, placed",
    [
        ({}, ["a1", "a2"], "b"),
        ({}, ["a1"], "b"),
        ({"maxSkew": 2}, ["a1"], "ab"),
        ({"maxSkew": 2}, ["a1", "a2"], "b"),
        ({"minDomains": 3}, [], "ab"),
        ({"minDomains": 3}, ["a1", "b1"], ""),
        ({"topologyKey": "rack"}, [], ""),
        ({"labelSelector": {"matchLabels": {"app": "mail"}}}, ["a1", "a2"], "ab"),
    ],
)
def test_pods_are_spread(constraint: Manifest, there: list[str], placed: str) -> None:
    for zone in "ab":
        known = scheduler(*ZONES, *(running(f"on-{on}", on, **app("web")) for on in there))
        wish = {"affinity": affinity(expression("zone", "In", zone)), **app("web")}
        known.pod_seen(pod("p", **wish, **spread(nodeAffinityPolicy="Ignore", **constraint)))
        assert (places(known)["p"][:1] or "-") == (zone if zone in placed else "-"), zone


def test_nobody_is_displaced_where_the_pod_may_not_be_anyway() -> None:
    known = scheduler(
        node("a", cpu="1"),
        running("low", "a", requests={"cpu": "1"}),
        pod("p", priority=10, requests={"cpu": "1"}, affinity=near(term("web"))),
    )
    assert victims(refusal(known)) == []


def test_a_pod_that_keeps_others_away_is_displaced() -> None:
    hermit = running("hermit", "a1", affinity=apart(term("web")))
    known = scheduler(*ZONES[:2], hermit, running("other", "a2"))
    known.pod_seen(pod("p", priority=10, **app("web")))
    decision = refusal(known)
    assert (decision.nominated, victims(decision)) == ("a1", ["hermit"])


def test_a_friend_is_not_displaced() -> None:
    friend = running("friend", "a1", requests={"cpu": "8"}, **app("web"))
    wish = near(term("web", "kubernetes.io/hostname"))
    known = scheduler(*ZONES, friend, pod("p", priority=10, requests={"cpu": "1"}, affinity=wish))
    assert victims(refusal(known)) == []


def test_pods_that_were_kept_away_are_all_tried_when_that_ends() -> None:
    known = scheduler(*ZONES[:2], running("hermit", "a1", affinity=apart(term("web"))))
    for i in range(2):
        known.pod_seen(pod(f"p{i}", **app("web")))
    assert places(known) == {"p0": "", "p1": ""}
    known.pod_gone("uid-hermit")
    assert all(places(known).values())


def test_a_pod_that_is_kept_away_does_not_stand_for_another() -> None:
    known = scheduler(
        *ZONES[:2],
        running("no-web", "a1", affinity=apart(term("web"))),
        running("no-mail", "a1", affinity=apart(term("mail"))),
        pod("p", **app("web")),
        pod("q", **app("mail")),
    )
    assert places(known) == {"p": "", "q": ""}
    known.pod_gone("uid-no-mail")
    assert places(known).get("q") == "a2"


def test_a_zone_that_is_freed_elsewhere_is_free() -> None:
    """The node that changes is full; the one that becomes possible does not change."""
    known = scheduler(node("a1", cpu="1", labels={"zone": "a"}), node("a2", labels={"zone": "a"}))
    known.pod_seen(running("web", "a1", **app("web")))
    known.pod_seen(running("full", "a1", requests={"cpu": "1"}))
    known.pod_seen(pod("p", affinity=apart(term("web")), requests={"cpu": "2"}))
    assert places(known) == {"p": ""}
    known.pod_gone("uid-web")
    assert places(known) == {"p": "a2"}


def test_spread_may_look_at_allowed_nodes_alone() -> None:
    def placed(**constraint: Any) -> str:
        known = scheduler(
            *ZONES,
            node("c1", labels={"zone": "c"}, taints=[taint("x")]),
            *(running(f"on-{on}", on, **app("web")) for on in ("a1", "b1")),
        )
        known.pod_seen(pod("p", **app("web"), **spread(**constraint)))
        return places(known)["p"]

    # The empty zone c would have to come first, if it counted.
    assert placed() == ""
    assert placed(nodeTaintsPolicy="Honor") == "a2"


def test_spread_honors_the_choice_of_nodes_unless_told_otherwise() -> None:
    def placed(**constraint: Any) -> str:
        known = scheduler(*ZONES, running("on-a1", "a1", **app("web")))
        wish = {"nodeSelector": {"zone": "a"}, **app("web")}
        known.pod_seen(pod("p", **wish, **spread(**constraint)))
        return places(known)["p"]

    assert placed() == "a2"
    assert placed(nodeAffinityPolicy="Ignore") == ""


def test_pods_that_leave_do_not_count_for_spread() -> None:
    known = scheduler(*ZONES)
    leaving = running("on-a1", "a1", **app("web"))
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    known.pod_seen(leaving)
    known.pod_seen(
        pod("p", nodeSelector={"zone": "a"}, **app("web"), **spread(nodeAffinityPolicy="Ignore"))
    )
    assert places(known)["p"] == "a2"
