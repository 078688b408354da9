"""Who goes first and who has to go: priorities, and nodes that want to be empty."""

import re

import pytest

from tests.e2e.probes.nodes import Pool, is_placed, is_unschedulable, name_of, node_of, why
from tests.e2e.probes.probe import Probe, condition
from tests.queue.api.manifests import Manifest

FULL: Manifest = {"cpu": "4"}


@pytest.fixture
def pool(probe: Probe) -> Pool:
    return Pool(probe)


def of_priority(pool: Pool, value: int, **content: str) -> Manifest:
    """Changes to a pod that give it a priority."""
    return {"spec.priorityClassName": pool.probe.priority_class(value, **content)}


def is_ending(pod: Manifest) -> bool:
    return "deletionTimestamp" in pod["metadata"]


SLOWLY = {"spec.terminationGracePeriodSeconds": 60}


def test_the_more_important_pod_gets_the_place(pool: Pool) -> None:
    node = pool.node(unschedulable=True)
    low = pool.refused(FULL, of_priority(pool, 1))
    high = pool.refused(FULL, of_priority(pool, 2))

    pool.probe.api.patch(node, {"spec": {"unschedulable": None}}).expect(200)

    pool.probe.until(high, is_placed)
    # It may have been there first, for a moment.
    left = pool.probe.api.get(low)
    assert left.code == 404 or not is_placed(left.body)


def test_a_more_important_pod_ends_a_less_important_one(pool: Pool) -> None:
    node = pool.node()
    low = pool.placed(FULL, {**of_priority(pool, 1), **SLOWLY})

    high = pool.pod(FULL, of_priority(pool, 2))
    high = pool.probe.until(high, lambda pod: "nominatedNodeName" in pod["status"])
    low = pool.probe.until(low, is_ending)

    assert high["status"]["nominatedNodeName"] == name_of(node)
    disrupted = condition(low, "DisruptionTarget")
    assert disrupted["status"] == "True"
    assert disrupted["reason"] == "PreemptionByScheduler"
    assert disrupted["message"] == (
        "default-scheduler: preempting to accommodate a higher priority pod"
    )
    assert not is_placed(high)
    event = pool.probe.until_event(low, "Preempted")
    uid = high["metadata"]["uid"]
    assert event["message"] == f"Preempted by pod {uid} on node {name_of(node)}"

    pool.probe.delete(low, gracePeriodSeconds=0).expect(200)
    assert node_of(pool.probe.until(high, is_placed)) == name_of(node)


def test_no_more_pods_are_ended_than_needed(pool: Pool) -> None:
    pool.node()
    low, middle = of_priority(pool, 1), of_priority(pool, 2)
    pods = [pool.placed({"cpu": "2"}, {**changes, **SLOWLY}) for changes in (low, middle)]

    pool.pod({"cpu": "2"}, of_priority(pool, 3))
    pool.probe.until(pods[0], is_ending)

    assert not is_ending(pool.probe.get(pods[1]))


def test_a_pod_ends_nobody_of_its_own_priority(pool: Pool) -> None:
    pool.node()
    first = pool.placed(FULL, of_priority(pool, 1))

    message = why(pool.refused(FULL, of_priority(pool, 1), because="No preemption victims found"))

    assert re.search(
        r"preemption: 0/\d+ nodes are available: .*1 No preemption victims found for incoming pod",
        message,
    )
    assert not is_ending(pool.probe.get(first))


def test_a_polite_pod_ends_nobody(pool: Pool) -> None:
    pool.node()
    low = pool.placed(FULL, of_priority(pool, 1))

    high = pool.refused(
        FULL, of_priority(pool, 2, preemptionPolicy="Never"), because="Insufficient cpu"
    )

    assert why(high).endswith("preemption: not eligible due to preemptionPolicy=Never.")
    assert not is_ending(pool.probe.get(low))


def test_nobody_is_ended_in_vain(pool: Pool) -> None:
    pool.node()
    low = pool.placed(FULL, of_priority(pool, 1))

    high = pool.refused({"cpu": "5"}, of_priority(pool, 2), because="Insufficient cpu")

    assert "Preemption is not helpful for scheduling" in why(high)
    assert not is_ending(pool.probe.get(low))


@pytest.mark.parametrize(
    "name, value", [("system-node-critical", 2000001000), ("system-cluster-critical", 2000000000)]
)
def test_there_are_classes_of_the_system(name: str, value: int, probe: Probe) -> None:
    found = probe.get(
        {**probe.a("PriorityClass", "scheduling.k8s.io/v1"), "metadata": {"name": name}}
    )

    assert found["value"] == value


def reserve(pool: Pool, node: Manifest) -> None:
    taint = {"key": "example.com/reserved", "effect": "NoExecute"}
    pool.probe.api.patch(node, {"spec": {"taints": [taint]}}).expect(200)


def test_a_node_is_emptied_by_a_taint(pool: Pool) -> None:
    node = pool.node()
    pod = pool.placed(changes=SLOWLY)

    reserve(pool, node)
    now = pool.probe.until(pod, is_ending)

    disrupted = condition(now, "DisruptionTarget")
    assert (disrupted["status"], disrupted["reason"]) == ("True", "DeletionByTaintManager")
    assert disrupted["message"] == "Taint manager: deleting due to NoExecute taint"
    assert pool.probe.until_event(pod, "TaintManagerEviction")["message"] == (
        f"Marking for deletion Pod {now['metadata']['namespace']}/{name_of(now)}"
    )


def test_who_tolerates_a_taint_stays(pool: Pool) -> None:
    node = pool.node()
    toleration = {"key": "example.com/reserved", "operator": "Exists"}
    stays = pool.placed(changes={"spec.tolerations": [toleration]})
    goes = pool.placed(changes=SLOWLY)

    reserve(pool, node)
    pool.probe.until(goes, is_ending)

    assert not is_ending(pool.probe.get(stays))


def test_who_tolerates_a_taint_for_some_time_goes_then(pool: Pool) -> None:
    node = pool.node()
    reserved = {"key": "example.com/reserved", "operator": "Exists", "effect": "NoExecute"}
    toleration = {**reserved, "tolerationSeconds": 1}
    pod = pool.placed(changes={"spec.tolerations": [toleration], **SLOWLY})

    reserve(pool, node)

    pool.probe.until(pod, is_ending)


def test_a_node_is_born_not_ready(probe: Probe) -> None:
    made = probe.create(probe.a("Node", "v1"))

    assert {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"} in (
        made["spec"]["taints"]
    )


def test_a_node_that_is_cordoned_is_tainted(pool: Pool) -> None:
    node = pool.node()

    pool.probe.api.patch(node, {"spec": {"unschedulable": True}}).expect(200)
    now = pool.probe.until(node, lambda node: "taints" in node["spec"])

    (taint,) = now["spec"]["taints"]
    assert (taint["key"], taint["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")


def test_a_place_is_kept_for_nobody_who_is_gone(pool: Pool) -> None:
    pool.node()
    low = pool.placed(FULL, {**of_priority(pool, 1), **SLOWLY})
    high = pool.pod(FULL, of_priority(pool, 2))
    pool.probe.until(low, is_ending)
    pool.probe.delete(high).expect(200)

    pool.probe.delete(low, gracePeriodSeconds=0).expect(200)

    pool.placed(FULL)
    assert is_unschedulable(pool.refused(FULL))
