"""Where pods go, whom they displace, and what they are told when they go nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from muster.queue.simulated.scheduler.core import Bind, Decision, Refuse, Scheduler
from tests.queue.simulated.manifests import Manifest, node, pod

NOT_HELPFUL = "Preemption is not helpful for scheduling"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ELSEWHERE = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
NO_VICTIMS = "No preemption victims found for incoming pod"


def scheduler(*manifests: Manifest) -> Scheduler:
    """Return a scheduler that has seen these nodes and pods."""
    known = Scheduler()
    for each in manifests:
        if "containers" in each["spec"]:
            known.pod_seen(each)
        else:
            known.node_seen(each)
    return known


def decisions(known: Scheduler) -> list[Decision]:
    found = []
    while decision := known.decide():
        found.append(decision)
    return found


def places(known: Scheduler) -> dict[str, str]:
    """Return the node of each pod that gets one now, "" for those that get none."""
    return {
        each.pod["metadata"]["name"]: each.node if isinstance(each, Bind) else ""
        for each in decisions(known)
    }


def refusal(known: Scheduler) -> Refuse:
    (decision,) = decisions(known)
    assert isinstance(decision, Refuse)
    return decision


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> Manifest:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def affinity(*terms: Manifest) -> Manifest:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {REQUIRED: required}}


def expression(key: str, operator: str, *values: str) -> Manifest:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def running(name: str, on: str, *, priority: int = 0, **rest: Any) -> Manifest:
    return pod(name, nodeName=on, priority=priority, status={"phase": "Running"}, **rest)


# -- where a pod may go -----------------------------------------------------------------------

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


# -- resources --------------------------------------------------------------------------------


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


# -- order ------------------------------------------------------------------------------------


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


# -- messages ---------------------------------------------------------------------------------


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


# -- preemption -------------------------------------------------------------------------------


def victims(decision: Decision) -> list[str]:
    assert isinstance(decision, Refuse)
    return [each.name for each in decision.victims]


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


# -- where other pods are ---------------------------------------------------------------------

ZONES = tuple(node(f"{zone}{i}", labels={"zone": zone}) for zone in "ab" for i in (1, 2))


def term(app: str, topology_key: str = "zone", **rest: Any) -> Manifest:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology_key, **rest}


def near(*terms: Manifest) -> Manifest:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Manifest) -> Manifest:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def app(name: str, namespace: str = "default") -> dict[str, Any]:
    return {"metadata": {"labels": {"app": name}, "namespace": namespace}}


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


# -- the fine print ---------------------------------------------------------------------------


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
