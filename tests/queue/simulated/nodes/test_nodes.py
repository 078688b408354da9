"""Simulated nodes in a whole cluster: they run pods, fail, are healed and drained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muster.queue.client.kinds import CORE_EVENT, LEASE, NODE, POD
from muster.queue.client.protocol import Selection
from muster.queue.client.refusal import Refusal
from muster.queue.simulated.node_specs import plain_cluster
from muster.queue.simulated.nodes.cluster import simulated_nodes
from muster.queue.simulated.nodes.marks import FAILED
from muster.queue.simulated.nodes.node_objects import LEASE_NAMESPACE
from muster.queue.simulated.nodes.operations import NotSimulatedError, drain, fail, heal
from tests.queue.simulated.nodes.clusters import NAMESPACE_NAME, World, conditions, run

FOREVER = {"duration": "forever"}
UNREACHABLE = [
    ("node.kubernetes.io/unreachable", "NoSchedule"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
]


def tolerating(seconds: int) -> list[dict[str, object]]:
    return [
        {
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": seconds,
        }
    ]


async def taints(world: World, node: str) -> list[tuple[str, str]]:
    spec = (await world.node(node))["spec"]
    return [(each["key"], each["effect"]) for each in spec.get("taints") or ()]


def test_nodes_become_ready_and_stay_so() -> None:
    async def story(world: World) -> None:
        await world.clock.sleep(1)
        for _ in range(2):
            for node in (await world.client.list(NODE)).items:
                assert conditions(node)["Ready"] == "True"
                assert not node["spec"].get("taints")
            await world.clock.sleep(3600)

    run(story, plain_cluster(3))


def test_leases_are_renewed_evenly_over_time() -> None:
    async def story(world: World) -> None:
        renewals: list[tuple[str, str]] = []
        await world.sleep_until(20)
        for _ in range(20):
            await world.clock.sleep(1)
            leases = (await world.client.list(LEASE, Selection(namespace=LEASE_NAMESPACE))).items
            renewals += [(each["metadata"]["name"], each["spec"]["renewTime"]) for each in leases]
        # Ten nodes, each every ten seconds: one each second, and never two at once.
        assert len(dict.fromkeys(renewals)) in range(29, 32)
        assert len(dict.fromkeys(instant for _, instant in renewals)) in range(29, 32)

    run(story, plain_cluster(10))


def test_nodes_with_long_leases_write_seldom_and_are_missed_late() -> None:
    async def story(world: World) -> None:
        await world.sleep_until(30)
        written = (await world.client.list(LEASE)).resource_version
        await world.sleep_until(1790)
        leases = (await world.client.list(LEASE)).items
        assert [each["spec"]["leaseDurationSeconds"] for each in leases] == [7200] * 3
        assert max(int(each["metadata"]["resourceVersion"]) for each in leases) <= int(written)

        await fail(world.client, "node-0")
        await world.sleep_until(7000)
        assert conditions(await world.node("node-0"))["Ready"] == "True"
        await world.sleep_until(1790 + 7200 + 20)
        assert conditions(await world.node("node-0"))["Ready"] == "Unknown"
        assert conditions(await world.node("node-1"))["Ready"] == "True"

    run(story, plain_cluster(3), lease_duration_s=7200)


def test_a_pod_lives_and_leaves() -> None:
    async def story(world: World) -> None:
        await world.create_pod("a", {"start-delay": "1s", "readiness-delay": "2s"})
        await world.sleep_until(0.5)
        pod = await world.pod("a")
        assert pod is not None
        assert pod["status"]["phase"] == "Pending"
        await world.sleep_until(5)
        pod = await world.pod("a")
        assert pod is not None
        assert pod["spec"]["nodeName"] == "node-0"
        assert conditions(pod)["Ready"] == "True"
        assert pod["status"]["podIP"].startswith("10.128.")
        assert pod["status"]["hostIP"] == "10.0.0.1"
        await world.sleep_until(15)
        pod = await world.pod("a")
        assert pod is not None
        assert pod["status"]["phase"] == "Succeeded"
        await world.client.delete(POD, "a", NAMESPACE_NAME)
        assert await world.pod("a") is None

    run(story, plain_cluster(1))


def test_a_running_pod_is_given_its_time_to_stop() -> None:
    async def story(world: World) -> None:
        await world.create_pod("a", {"duration": "forever", "termination": "5s"})
        await world.sleep_until(10)
        await world.client.delete(POD, "a", NAMESPACE_NAME)
        await world.sleep_until(14)
        assert await world.pod("a") is not None
        await world.sleep_until(16)
        assert await world.pod("a") is None

    run(story, plain_cluster(1))


def test_a_pod_may_be_killed_at_once() -> None:
    async def story(world: World) -> None:
        await world.create_pod("a", {"duration": "forever", "termination": "1h"})
        await world.sleep_until(10)
        await world.client.delete(POD, "a", NAMESPACE_NAME, options={"gracePeriodSeconds": 1})
        await world.sleep_until(12)
        assert await world.pod("a") is None

    run(story, plain_cluster(1))


def test_pods_have_addresses_of_their_own() -> None:
    async def story(world: World) -> None:
        for index in range(30):
            await world.create_pod(f"p{index}")
        await world.sleep_until(5)
        addresses = [pod["status"]["podIP"] for pod in await world.pods()]
        assert len(dict.fromkeys(addresses)) == 30

    run(story, plain_cluster(3))


def test_wrong_annotations_are_told_to_their_author() -> None:
    async def story(world: World) -> None:
        await world.create_pod("a", {"exit-cod": "1"})
        await world.sleep_until(30)
        pod = await world.pod("a")
        assert pod is not None
        waiting = pod["status"]["containerStatuses"][0]["state"]["waiting"]
        assert waiting["reason"] == "CreateContainerConfigError"
        assert "Did you mean 'sim.muster.dev/exit-code'?" in waiting["message"]
        selection = Selection(namespace=NAMESPACE_NAME)
        events = (await world.client.list(CORE_EVENT, selection)).items
        [told] = [each for each in events if each["reason"] == "InvalidAnnotation"]
        assert told["message"] == waiting["message"]
        corrected = {"metadata": {"annotations": {"sim.muster.dev/exit-cod": None}}}
        await world.client.merge_patch(POD, "a", corrected, NAMESPACE_NAME)
        await world.sleep_until(60)
        pod = await world.pod("a")
        assert pod is not None
        assert pod["status"]["phase"] == "Succeeded"

    run(story, plain_cluster(1))


def test_what_others_say_of_a_pod_is_kept() -> None:
    async def story(world: World) -> None:
        await world.create_pod("a")
        await world.sleep_until(5)
        pod = await world.pod("a")
        assert pod is not None
        mine = {"type": "example.com/Seen", "status": "True"}
        patch = {"status": {"conditions": [*pod["status"]["conditions"], mine]}}
        await world.client.merge_patch(POD, "a", patch, NAMESPACE_NAME, subresource="status")
        await world.sleep_until(20)
        pod = await world.pod("a")
        assert pod is not None
        assert pod["status"]["phase"] == "Succeeded"
        assert conditions(pod)["example.com/Seen"] == "True"

    run(story, plain_cluster(1))


# --- Failures ------------------------------------------------------------------------------------


def test_a_failed_node_is_noticed_and_its_pods_are_driven_off() -> None:
    async def story(world: World) -> None:
        await world.create_pod("loyal", FOREVER, tolerations=tolerating(100))
        await world.create_pod("hasty", FOREVER, tolerations=tolerating(5))
        await world.create_pod("ending", {"duration": "40s"})
        await world.sleep_until(10)
        await fail(world.client, "node-0")
        await world.sleep_until(50)
        node = await world.node("node-0")
        assert conditions(node)["Ready"] == "True"
        await world.sleep_until(62)
        node = await world.node("node-0")
        assert set(conditions(node).values()) == {"Unknown"}
        assert await taints(world, "node-0") == UNREACHABLE
        loyal, ending = await world.pod("loyal"), await world.pod("ending")
        assert loyal is not None
        assert ending is not None
        assert conditions(loyal)["Ready"] == "False"
        assert ending["status"]["phase"] == "Running"  # it has ended, but nobody knows
        await world.sleep_until(70)
        hasty = await world.pod("hasty")
        assert hasty is not None
        assert "deletionTimestamp" in hasty["metadata"]
        assert conditions(hasty)["DisruptionTarget"] == "True"

        await heal(world.client, "node-0")
        await world.sleep_until(72)
        assert conditions(await world.node("node-0"))["Ready"] == "True"
        assert await taints(world, "node-0") == []
        assert await world.pod("hasty") is None
        loyal, ending = await world.pod("loyal"), await world.pod("ending")
        assert loyal is not None
        assert ending is not None
        assert conditions(loyal)["Ready"] == "True"
        assert ending["status"]["phase"] == "Succeeded"
        await world.sleep_until(400)
        assert await world.pod("loyal") is not None

    run(story, plain_cluster(1))


def test_an_outage_that_nobody_notices_changes_nothing() -> None:
    async def story(world: World) -> None:
        await world.create_pod("a", FOREVER)
        await world.sleep_until(10)
        await fail(world.client, "node-0")
        await world.sleep_until(40)
        await heal(world.client, "node-0")
        for _ in range(20):
            await world.clock.sleep(10)
            assert conditions(await world.node("node-0"))["Ready"] == "True"
        assert FAILED not in (await world.node("node-0"))["metadata"].get("annotations", {})

    run(story, plain_cluster(1))


def test_a_cordon_is_a_taint() -> None:
    async def story(world: World) -> None:
        patch = {"spec": {"unschedulable": True}}
        await world.client.merge_patch(NODE, "node-0", patch)
        await world.clock.sleep(1)
        assert await taints(world, "node-0") == [("node.kubernetes.io/unschedulable", "NoSchedule")]

    run(story, plain_cluster(1))


def test_a_drained_node_is_empty_until_it_is_healed() -> None:
    async def story(world: World) -> None:
        for index in range(6):
            await world.create_pod(f"p{index}", {**FOREVER, "termination": "3s"})
        await world.sleep_until(5)
        before = {
            pod["metadata"]["name"]
            for pod in await world.pods()
            if pod["spec"]["nodeName"] == "node-0"
        }
        assert before
        gone = await drain(world.client, world.clock, "node-0")
        assert {key.name for key in gone} == before
        assert 3 <= world.now_s - 5 <= 6
        await world.create_pod("new", FOREVER)
        await world.clock.sleep(5)
        assert {pod["spec"]["nodeName"] for pod in await world.pods()} == {"node-1"}
        await heal(world.client, "node-0")
        await world.clock.sleep(1)
        assert await taints(world, "node-0") == []

    run(story, plain_cluster(2))


@pytest.mark.parametrize("operation", [fail, heal])
def test_only_simulated_nodes_are_made_to_fail(operation: object) -> None:
    async def story(world: World) -> None:
        real = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real"}}
        await world.client.create(NODE, real)
        with pytest.raises(NotSimulatedError, match="node real is not simulated"):
            await operation(world.client, "real")  # type: ignore[operator]

    # An exception inside the cluster would come out in a group: it is caught inside.
    run(story, plain_cluster(1))


def test_a_removed_node_stays_away() -> None:
    async def story(world: World) -> None:
        await world.clock.sleep(30)
        await world.client.delete(NODE, "node-0")
        await world.clock.sleep(60)
        names = [node["metadata"]["name"] for node in (await world.client.list(NODE)).items]
        assert names == ["node-1"]

    run(story, plain_cluster(2))


def test_pods_of_a_removed_node_are_removed_after_a_while() -> None:
    async def story(world: World) -> None:
        await world.create_pod("runs", {**FOREVER, "termination": "1h"}, nodeName="node-0")
        await world.create_pod("has-run", nodeName="node-0")
        await world.create_pod("elsewhere", FOREVER, nodeName="node-1")
        kept = {"metadata": {"finalizers": ["example.com/look"]}}
        await world.client.merge_patch(POD, "runs", kept, NAMESPACE_NAME)
        await world.sleep_until(20)
        await world.client.delete(NODE, "node-0")
        await world.sleep_until(55)
        assert len(await world.pods()) == 3
        await world.sleep_until(65)
        runs, elsewhere = await world.pod("runs"), await world.pod("elsewhere")
        assert runs is not None
        assert runs["metadata"]["deletionGracePeriodSeconds"] == 0
        assert runs["status"]["phase"] == "Failed"
        assert conditions(runs)["DisruptionTarget"] == "True"
        assert await world.pod("has-run") is None
        assert elsewhere is not None
        assert "deletionTimestamp" not in elsewhere["metadata"]

    run(story, plain_cluster(2))


def test_two_runs_are_the_same() -> None:
    def told() -> list[object]:
        seen: list[object] = []

        async def story(world: World) -> None:
            for index in range(20):
                await world.create_pod(
                    f"p{index}",
                    {"failure-rate": "0.5", "duration": "1s"},
                    restartPolicy="OnFailure",
                )
            await world.sleep_until(300)
            seen.extend(pod["status"] for pod in await world.pods())

        run(story, plain_cluster(3))
        return seen

    assert told() == told()


def test_a_healed_node_renews_its_lease_at_once() -> None:
    async def story(world: World) -> None:
        await world.sleep_until(12)
        await fail(world.client, "node-0")
        await world.sleep_until(44)
        lease = await world.client.get(LEASE, "node-0", LEASE_NAMESPACE)
        assert lease["spec"]["renewTime"] == "2026-01-01T00:00:10.000000Z"
        await heal(world.client, "node-0")
        await world.sleep_until(45)
        lease = await world.client.get(LEASE, "node-0", LEASE_NAMESPACE)
        assert lease["spec"]["renewTime"] == "2026-01-01T00:00:44.000000Z"

    run(story, plain_cluster(1))


# --- Starting anew -------------------------------------------------------------------------------


def test_pods_go_on_when_the_simulation_starts_anew() -> None:
    async def story(world: World) -> None:
        specs = [replace(spec, name=f"late-{spec.name}") for spec in plain_cluster(2)]
        async with simulated_nodes(world.client, world.clock, specs, seed=5):
            await world.create_pod("a", {"duration": "60s"}, nodeName="late-node-0")
            await world.create_pod("b", {"duration": "20s"}, nodeName="late-node-0")
            await world.create_pod("c", FOREVER, nodeName="late-node-1")
            await world.sleep_until(10)
        await world.client.delete(POD, "c", NAMESPACE_NAME)
        await world.sleep_until(40)
        assert [pod["status"]["phase"] for pod in await world.pods()] == ["Running"] * 3
        addresses = [pod["status"]["podIP"] for pod in await world.pods()]

        async with simulated_nodes(world.client, world.clock, specs, seed=5):
            await world.create_pod("d", FOREVER, nodeName="late-node-1")
            await world.sleep_until(41)
            a, b, c, d = [await world.pod(name) for name in "abcd"]
            assert a is not None
            assert b is not None
            assert d is not None
            assert (a["status"]["phase"], b["status"]["phase"]) == ("Running", "Succeeded")
            assert c is None
            assert [a["status"]["podIP"], b["status"]["podIP"]] == addresses[:2]
            assert d["status"]["podIP"] not in addresses
            await world.sleep_until(62)
            a = await world.pod("a")
            assert a is not None
            assert a["status"]["phase"] == "Succeeded"

    run(story, plain_cluster(1))


def test_a_real_node_of_the_same_name_is_left_alone() -> None:
    async def story(world: World) -> None:
        real = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real-0"}}
        before = await world.client.create(NODE, real)
        specs = [replace(spec, name="real-0") for spec in plain_cluster(1)]
        simulation = simulated_nodes(world.client, world.clock, specs, seed=5)
        with pytest.raises(Refusal, match="already exists"):
            await simulation.__aenter__()
        assert (await world.node("real-0"))["metadata"].get("labels") == before["metadata"].get(
            "labels"
        )

    run(story, plain_cluster(1))
