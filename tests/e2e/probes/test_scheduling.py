"""Where the scheduler puts a pod, and what it says when there is no place."""

import re

import pytest

from tests.e2e.api import STRATEGIC
from tests.e2e.probes.nodes import (
    GPU,
    Pool,
    is_placed,
    name_of,
    node_of,
    why,
)
from tests.e2e.probes.probe import Probe, condition
from tests.queue.api.manifests import Manifest


@pytest.fixture
def pool(probe: Probe) -> Pool:
    return Pool(probe)


def test_a_pod_gets_a_node(pool: Pool) -> None:
    node = pool.node()

    pod = pool.placed()

    assert node_of(pod) == name_of(node)
    assert condition(pod, "PodScheduled")["status"] == "True"
    event = pool.probe.until_event(pod, "Scheduled")
    metadata = pod["metadata"]
    place = f"{metadata['namespace']}/{metadata['name']} to {name_of(node)}"
    assert (event["type"], event["message"]) == ("Normal", f"Successfully assigned {place}")


def test_a_pod_that_fits_nowhere_is_told_why(pool: Pool) -> None:
    pool.node()

    pod = pool.refused({"cpu": "5"}, because="1 Insufficient cpu")

    told = condition(pod, "PodScheduled")
    assert told["status"] == "False"
    assert re.match(r"0/\d+ nodes are available: ", told["message"])
    event = pool.probe.until_event(pod, "FailedScheduling", told["message"])
    assert event["type"] == "Warning"
    assert event["source"].get("component", "default-scheduler") == "default-scheduler"


@pytest.mark.parametrize(
    "fits, too_much, resource",
    [
        ({"cpu": "4"}, {"cpu": "4001m"}, "cpu"),
        ({"memory": "8Gi"}, {"memory": "8193Mi"}, "memory"),
        ({GPU: "4"}, {GPU: "5"}, GPU),
    ],
    ids=["cpu", "memory", "devices"],
)
def test_a_node_holds_as_much_as_it_has(
    fits: Manifest, too_much: Manifest, resource: str, pool: Pool
) -> None:
    pool.node()

    pool.refused(too_much, because=f"1 Insufficient {resource}")
    pool.placed(fits)


def test_what_is_on_a_node_takes_its_share(pool: Pool) -> None:
    pool.node()
    pool.placed({GPU: "3"})

    pool.refused({GPU: "2"}, because=f"1 Insufficient {GPU}")
    pool.placed({GPU: "1"})


def test_a_node_holds_a_number_of_pods(pool: Pool) -> None:
    pool.node({"pods": "1"})
    pool.placed()

    pool.refused(because="1 Too many pods")


def test_what_a_pod_needs_to_begin_is_no_more_than_its_largest_step(pool: Pool) -> None:
    pool.node()
    first = {"name": "first", "image": "i", "resources": {"requests": {"cpu": "4"}}}
    init = {"spec.initContainers": [first]}

    pool.placed({"cpu": "4"}, init)

    pool.refused({"cpu": "1m"}, because="1 Insufficient cpu")


def test_what_starts_first_and_stays_is_added(pool: Pool) -> None:
    pool.node()
    beside = {
        "name": "beside",
        "image": "i",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "1"}},
    }
    init = {"spec.initContainers": [beside]}

    pool.refused({"cpu": "4"}, init, because="1 Insufficient cpu")
    pool.placed({"cpu": "3"}, init)


def test_every_reason_is_counted(pool: Pool) -> None:
    pool.node({"cpu": "1"})
    pool.node({"memory": "1Gi"})

    message = why(pool.refused({"cpu": "2", "memory": "2Gi"}, because="1 Insufficient cpu"))

    assert "1 Insufficient cpu" in message
    assert "1 Insufficient memory" in message


def test_a_pod_that_has_ended_takes_nothing(pool: Pool) -> None:
    pool.node()
    first = pool.placed({"cpu": "4"})
    second = pool.refused({"cpu": "4"})

    pool.probe.set_status(first, phase="Succeeded")

    pool.probe.until(second, is_placed)


def test_a_pod_that_waits_gets_the_place_of_one_that_goes(pool: Pool) -> None:
    pool.node()
    first = pool.placed({"cpu": "4"})
    second = pool.refused({"cpu": "4"})

    pool.probe.delete(first).expect(200)

    pool.probe.until(second, is_placed)


def test_a_pod_that_waits_gets_a_new_node(pool: Pool) -> None:
    pod = pool.refused()

    node = pool.node()

    assert node_of(pool.probe.until(pod, is_placed)) == name_of(node)


def test_a_pod_that_waits_gets_a_node_that_grows(pool: Pool) -> None:
    node = pool.node({"cpu": "1"})
    pod = pool.refused({"cpu": "2"})

    resources = {**node["status"]["allocatable"], "cpu": "2"}
    pool.probe.set_status(node, capacity=resources, allocatable=resources)

    pool.probe.until(pod, is_placed)


def test_a_pod_chooses_by_label(pool: Pool) -> None:
    pool.node(labels={"zone": "a"})
    node = pool.node(labels={"zone": "b"})

    pod = pool.placed(changes={"spec.nodeSelector.zone": "b"})

    assert node_of(pod) == name_of(node)


def test_a_label_that_no_node_has_is_told(pool: Pool) -> None:
    pool.node()

    message = why(pool.refused(changes={"spec.nodeSelector.zone": "c"}, because="affinity"))

    assert re.search(r"\d+ node\(s\) didn't match Pod's node affinity/selector", message)


NODE_AFFINITY = "spec.affinity.nodeAffinity"
TERMS = f"{NODE_AFFINITY}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


@pytest.mark.parametrize(
    "expression, chosen",
    [
        ({"key": "rank", "operator": "In", "values": ["20", "30"]}, "20"),
        ({"key": "rank", "operator": "NotIn", "values": ["10"]}, "20"),
        ({"key": "rank", "operator": "Gt", "values": ["10"]}, "20"),
        ({"key": "rank", "operator": "Lt", "values": ["11"]}, "10"),
        ({"key": "only-20", "operator": "Exists"}, "20"),
        ({"key": "only-20", "operator": "DoesNotExist"}, "10"),
    ],
    ids=lambda value: value["operator"] if isinstance(value, dict) else "",
)
def test_a_pod_chooses_by_expression(expression: Manifest, chosen: str, pool: Pool) -> None:
    nodes = {rank: pool.node(labels={"rank": rank, f"only-{rank}": ""}) for rank in ("10", "20")}

    pod = pool.placed(changes={TERMS: [{"matchExpressions": [expression]}]})

    assert node_of(pod) == name_of(nodes[chosen])


def test_one_of_several_terms_is_enough(pool: Pool) -> None:
    node = pool.node(labels={"zone": "b"})
    terms = [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
        for zone in ("a", "b")
    ]

    assert node_of(pool.placed(changes={TERMS: terms})) == name_of(node)


def test_a_pod_chooses_by_the_name_of_a_node(pool: Pool) -> None:
    pool.node()
    node = pool.node()
    field = {"key": "metadata.name", "operator": "In", "values": [name_of(node)]}

    pod = pool.placed(changes={TERMS: [{"matchFields": [field]}]})

    assert node_of(pod) == name_of(node)


def test_a_pod_prefers_by_weight(pool: Pool) -> None:
    nodes = [pool.node(labels={"zone": zone}) for zone in ("a", "b", "c")]
    preferred = [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]
            },
        }
        for zone, weight in (("a", 1), ("b", 100))
    ]
    changes = {f"{NODE_AFFINITY}.preferredDuringSchedulingIgnoredDuringExecution": preferred}

    assert node_of(pool.placed(changes=changes)) == name_of(nodes[1])


def test_a_pod_goes_where_more_is_free(pool: Pool) -> None:
    full, empty = pool.node(), pool.node()
    pool.placed({"cpu": "3", "memory": "6Gi"}, {"spec.nodeName": name_of(full)})

    pod = pool.placed({"cpu": "1", "memory": "2Gi"})

    assert node_of(pod) == name_of(empty)


def taint(effect: str) -> Manifest:
    return {"key": "example.com/reserved", "value": "yes", "effect": effect}


TOLERATION = {"spec.tolerations": [{"key": "example.com/reserved", "operator": "Exists"}]}


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_taint_keeps_off_who_does_not_tolerate_it(effect: str, pool: Pool) -> None:
    pool.node(taints=[taint(effect)])

    pool.refused(because="1 node(s) had untolerated taint(s)")
    pool.placed(changes=TOLERATION)


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "example.com/reserved", "operator": "Equal", "value": "no"},
        {"key": "example.com/other", "operator": "Exists"},
        {"key": "example.com/reserved", "operator": "Exists", "effect": "NoExecute"},
    ],
    ids=["another value", "another key", "another effect"],
)
def test_a_toleration_of_another_taint_does_not_help(toleration: Manifest, pool: Pool) -> None:
    pool.node(taints=[taint("NoSchedule")])

    pool.refused(changes={"spec.tolerations": [toleration]})


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "example.com/reserved", "value": "yes"},
        {"key": "example.com/reserved", "operator": "Exists", "effect": "NoSchedule"},
    ],
    ids=["everything", "the value", "the effect"],
)
def test_a_toleration_helps(toleration: Manifest, pool: Pool) -> None:
    pool.node(taints=[taint("NoSchedule")])

    pool.placed(changes={"spec.tolerations": [toleration]})


def test_a_taint_that_only_asks_is_avoided_if_possible(pool: Pool) -> None:
    asking = pool.node(taints=[taint("PreferNoSchedule")])
    other = pool.node({"pods": "1"})

    assert node_of(pool.placed()) == name_of(other)
    assert node_of(pool.placed()) == name_of(asking)


def test_nothing_is_placed_on_a_cordoned_node(pool: Pool) -> None:
    node = pool.node(unschedulable=True)
    pod = pool.refused(because="1 node(s) were unschedulable")

    pool.probe.api.patch(node, {"spec": {"unschedulable": None}}).expect(200)

    pool.probe.until(pod, is_placed)


def test_nothing_is_placed_on_a_node_that_is_not_ready(pool: Pool) -> None:
    node = pool.node()
    unready = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
    pool.probe.set_status(node, conditions=[unready])
    pool.probe.until(node, lambda node: "taints" in node["spec"])

    pod = pool.refused()

    assert "1 node(s) had untolerated taint(s)" in why(pod)


def test_a_gated_pod_waits_for_its_gates(pool: Pool) -> None:
    pool.node()
    gates = [{"name": "example.com/one"}, {"name": "example.com/two"}]
    gated = pool.pod(changes={"spec.schedulingGates": gates})
    pool.placed()  # made later, placed before

    now = pool.probe.get(gated)
    assert not is_placed(now)
    told = condition(now, "PodScheduled")
    assert (told["reason"], told["message"]) == (
        "SchedulingGated",
        "Scheduling is blocked due to non-empty scheduling gates",
    )

    patch = {"spec": {"schedulingGates": [{"$patch": "replace"}]}}
    pool.probe.api.patch(gated, patch, STRATEGIC).expect(200)
    pool.probe.until(gated, is_placed)


def test_a_pod_of_another_scheduler_is_left_alone(pool: Pool) -> None:
    pool.node()
    other = pool.pod(changes={"spec.schedulerName": "example.com-other"})
    pool.placed()  # made later, placed before

    now = pool.probe.get(other)
    assert not is_placed(now)
    assert "conditions" not in now["status"]


def test_a_pod_that_names_its_node_passes_by_the_scheduler(pool: Pool) -> None:
    node = pool.node({"cpu": "1"}, unschedulable=True)

    pod = pool.pod({"cpu": "2"}, {"spec.nodeName": name_of(node)})

    assert node_of(pod) == name_of(node)
    assert "conditions" not in pod["status"]


def test_pods_that_avoid_each_other_are_apart(pool: Pool) -> None:
    pool.node()
    pool.node()
    term = {
        "labelSelector": {"matchLabels": {"app": pool.label["probe"]}},
        "topologyKey": "kubernetes.io/hostname",
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    changes = {
        "metadata.labels": {"app": pool.label["probe"]},
        f"spec.affinity.podAntiAffinity.{required}": [term],
    }

    nodes = [node_of(pool.placed(changes=changes)) for _ in range(2)]

    assert len(dict.fromkeys(nodes)) == 2
    pool.refused(changes=changes, because="2 node(s) didn't match pod anti-affinity rules")


def test_pods_that_like_each_other_are_together(pool: Pool) -> None:
    for zone in ("a", "a", "b", "b"):
        pool.node(labels={"topology.kubernetes.io/zone": zone})
    term = {
        "labelSelector": {"matchLabels": {"app": pool.label["probe"]}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    changes = {f"spec.affinity.podAffinity.{required}": [term]}
    pool.refused(changes=changes, because="didn't match pod affinity rules")
    first = pool.placed(
        changes={
            "metadata.labels": {"app": pool.label["probe"]},
            "spec.nodeSelector[topology.kubernetes.io/zone]": "b",
        }
    )

    near = [pool.placed({"cpu": "2"}, changes) for _ in range(3)]

    zones = {
        name_of(node): node["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for node in pool.probe.found(pool.probe.a("Node", "v1"), labelSelector=_selector(pool))
    }
    assert [zones[node_of(pod)] for pod in (first, *near)] == ["b"] * 4


def _selector(pool: Pool) -> str:
    return f"probe={pool.label['probe']}"


def test_pods_are_spread_over_a_topology(pool: Pool) -> None:
    for zone in ("a", "b"):
        pool.node(labels={"topology.kubernetes.io/zone": zone})
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": pool.label["probe"]}},
        "nodeAffinityPolicy": "Ignore",
    }
    changes = {
        "metadata.labels": {"app": pool.label["probe"]},
        "spec.topologySpreadConstraints": [spread],
    }
    in_a, in_b = (
        {**changes, "spec.nodeSelector[topology.kubernetes.io/zone]": zone} for zone in ("a", "b")
    )

    pool.placed(changes=in_a)
    pool.refused(changes=in_a, because="1 node(s) didn't match pod topology spread constraints")

    pool.placed(changes=in_b)
