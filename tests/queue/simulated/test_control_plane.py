"""Jobs, scheduling and deletion on a sandbox with nodes, from the user's side."""

from __future__ import annotations

from typing import Any

from muster.queue.client.kinds import (
    CONFIG_MAP,
    CORE_EVENT,
    CRD,
    JOB,
    NAMESPACE,
    POD,
    SERVICE_ACCOUNT,
    Kind,
)
from muster.queue.client.protocol import Selection
from muster.queue.simulated.jobs.conditions import finish_condition
from muster.queue.simulated.jobs.pods import TRACKING_FINALIZER
from muster.queue.simulated.node_specs import plain_cluster
from tests.queue.simulated.sandbox import Manifest, Sandbox, run

FOREVER = {"sim.muster.dev/duration": "1000h"}


def owner(kind: Kind, manifest: Manifest, *, blocks: bool = False) -> Manifest:
    metadata = manifest["metadata"]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "blockOwnerDeletion": blocks,
    }


async def a_map(sandbox: Sandbox, name: str, *owners: Manifest, **metadata: Any) -> Manifest:
    """Create a ConfigMap with owners."""
    given = {"name": name, "ownerReferences": list(owners), **metadata}
    return await sandbox.create(CONFIG_MAP, {"metadata": given})


# -- Jobs -------------------------------------------------------------------------------------


def test_a_job_runs_to_its_end() -> None:
    async def story(sandbox: Sandbox) -> None:
        await sandbox.job("a", parallelism=2, completions=4)
        took_s = await sandbox.until_condition(JOB, "a", "Complete")
        assert 20 < took_s < 40
        status = (await sandbox.get(JOB, "a"))["status"]
        assert status["succeeded"] == 4
        assert "active" not in status
        assert status["uncountedTerminatedPods"] == {}
        assert all("finalizers" not in pod["metadata"] for pod in await sandbox.pods("a"))
        reasons = await sandbox.reasons("a")
        assert reasons.count("SuccessfulCreate") == 4
        assert reasons[-1] == "Completed"

    run(story, plain_cluster(2))


def test_a_failing_job_gives_up_after_its_limit() -> None:
    async def story(sandbox: Sandbox) -> None:
        failing = {"sim.muster.dev/exit-code": "3", "sim.muster.dev/duration": "1s"}
        await sandbox.job("a", backoffLimit=2, annotations=failing)
        # It waits 10 and 20 seconds between its three attempts.
        assert 33 < await sandbox.until_condition(JOB, "a", "Failed") < 45
        status = (await sandbox.get(JOB, "a"))["status"]
        assert status["failed"] == 3
        assert (await sandbox.reasons("a"))[-1] == "BackoffLimitExceeded"

    run(story, plain_cluster(1))


def test_a_suspended_job_frees_its_nodes_and_runs_later() -> None:
    async def story(sandbox: Sandbox) -> None:
        await sandbox.job("a", parallelism=3, completions=3, annotations=FOREVER)
        await sandbox.until(lambda: has_ready(sandbox, "a", 3))
        await sandbox.patch(JOB, "a", {"spec": {"suspend": True}})

        async def is_empty() -> bool:
            return not await sandbox.pods("a")

        await sandbox.until(is_empty)
        await sandbox.clock.sleep(2)
        status = (await sandbox.get(JOB, "a"))["status"]
        assert (status["terminating"], "active" in status, "failed" in status) == (0, False, False)
        await sandbox.patch(JOB, "a", {"spec": {"suspend": False}})
        await sandbox.until(lambda: has_ready(sandbox, "a", 3))

    run(story, plain_cluster(1))


async def has_ready(sandbox: Sandbox, job: str, count: int) -> bool:
    ready: int = (await sandbox.get(JOB, job)).get("status", {}).get("ready", 0)
    return ready == count


def test_a_finished_job_is_deleted_with_its_pods_in_time() -> None:
    async def story(sandbox: Sandbox) -> None:
        await sandbox.job("a", ttlSecondsAfterFinished=60)
        await sandbox.until_condition(JOB, "a", "Complete")

        async def is_gone() -> bool:
            return not await sandbox.exists(JOB, "a")

        assert 58 < await sandbox.until(is_gone) < 65
        assert await sandbox.pods("a") == []

    run(story, plain_cluster(1))


def test_orphaned_pods_outlive_their_job() -> None:
    async def story(sandbox: Sandbox) -> None:
        await sandbox.job("a", annotations=FOREVER)
        await sandbox.until(lambda: has_ready(sandbox, "a", 1))
        await sandbox.delete(JOB, "a", propagationPolicy="Orphan")
        await sandbox.clock.sleep(5)
        assert not await sandbox.exists(JOB, "a")
        (pod,) = await sandbox.pods("a")
        assert "ownerReferences" not in pod["metadata"]
        assert "finalizers" not in pod["metadata"]
        assert pod["status"]["phase"] == "Running"

    run(story, plain_cluster(1))


def test_nobody_waits_for_a_job_that_never_was() -> None:
    async def story(sandbox: Sandbox) -> None:
        metadata = {"name": "lost", "finalizers": [TRACKING_FINALIZER]}
        spec = {"containers": [{"name": "main", "image": "work"}]}
        await sandbox.create(POD, {"metadata": metadata, "spec": spec})
        await sandbox.clock.sleep(1)
        assert "finalizers" not in (await sandbox.get(POD, "lost"))["metadata"]

    run(story)


def test_pods_that_are_refused_are_asked_for_less_and_less() -> None:
    async def story(sandbox: Sandbox) -> None:
        await sandbox.job("a", parallelism=10, completions=10, pod={"priorityClassName": "none"})
        await sandbox.clock.sleep(60)
        (event,) = await sandbox.all(CORE_EVENT)
        assert event["reason"] == "FailedCreate"
        assert "no PriorityClass with name none was found" in event["message"]
        # After 0, 1, 3, 7, 15 and 31 seconds, and one pod each time.
        assert event["count"] == 6

    run(story, plain_cluster(1))


# -- scheduling -------------------------------------------------------------------------------


def test_pods_wait_for_room_and_take_it() -> None:
    async def story(sandbox: Sandbox) -> None:
        whole = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
        await sandbox.job("a", parallelism=3, completions=3, container=whole)
        await sandbox.clock.sleep(5)
        nodes = [pod["spec"].get("nodeName") for pod in await sandbox.pods("a")]
        assert sorted(filter(None, nodes)) == ["node-0", "node-1"]
        (waiting,) = [pod for pod in await sandbox.pods("a") if "nodeName" not in pod["spec"]]
        (condition,) = waiting["status"]["conditions"]
        assert "2 Insufficient nvidia.com/gpu" in condition["message"]
        assert await sandbox.reasons(waiting["metadata"]["name"]) == ["FailedScheduling"]
        await sandbox.until_condition(JOB, "a", "Complete")

    run(story, plain_cluster(2, 8))


def test_more_important_pods_displace_others() -> None:
    async def story(sandbox: Sandbox) -> None:
        high = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
        await sandbox.create(high, {"metadata": {"name": "high"}, "value": 100})
        whole = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
        await sandbox.job("low", container=whole, annotations=FOREVER)
        await sandbox.until(lambda: has_ready(sandbox, "low", 1))
        (victim,) = await sandbox.pods("low")
        await sandbox.job("high", container=whole, pod={"priorityClassName": "high"})
        await sandbox.until_condition(JOB, "high", "Complete")
        assert "Preempted" in await sandbox.reasons(victim["metadata"]["name"])
        await sandbox.until(lambda: has_ready(sandbox, "low", 1))

    run(story, plain_cluster(1, 8))


# -- ownership --------------------------------------------------------------------------------


def test_dependents_go_with_their_last_owner() -> None:
    async def story(sandbox: Sandbox) -> None:
        one, two = await a_map(sandbox, "one"), await a_map(sandbox, "two")
        await a_map(sandbox, "child", owner(CONFIG_MAP, one), owner(CONFIG_MAP, two))
        grandchild_of = owner(CONFIG_MAP, await sandbox.get(CONFIG_MAP, "child"))
        await a_map(sandbox, "grandchild", grandchild_of)
        await sandbox.delete(CONFIG_MAP, "one")
        await sandbox.clock.sleep(1)
        child = await sandbox.get(CONFIG_MAP, "child")
        assert [each["name"] for each in child["metadata"]["ownerReferences"]] == ["two"]
        await sandbox.delete(CONFIG_MAP, "two")
        await sandbox.clock.sleep(1)
        assert await sandbox.names(CONFIG_MAP) == []

    run(story)


def test_an_owner_in_the_foreground_waits_for_those_who_block_it() -> None:
    async def story(sandbox: Sandbox) -> None:
        parent = await a_map(sandbox, "parent")
        reference = owner(CONFIG_MAP, parent, blocks=True)
        await a_map(sandbox, "child", reference, finalizers=["example.com/slow"])
        await a_map(sandbox, "careless", owner(CONFIG_MAP, parent), finalizers=["example.com/slow"])
        await sandbox.delete(CONFIG_MAP, "parent", propagationPolicy="Foreground")
        await sandbox.clock.sleep(1)
        assert await sandbox.names(CONFIG_MAP) == ["careless", "child", "parent"]
        assert "deletionTimestamp" in (await sandbox.get(CONFIG_MAP, "careless"))["metadata"]
        await sandbox.patch(CONFIG_MAP, "child", {"metadata": {"finalizers": None}})
        await sandbox.clock.sleep(1)
        assert await sandbox.names(CONFIG_MAP) == ["careless"]

    run(story)


def test_owners_elsewhere_count_as_absent() -> None:
    async def story(sandbox: Sandbox) -> None:
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
        elsewhere = await sandbox.client.create(CONFIG_MAP, manifest, "default")
        await a_map(sandbox, "child", owner(CONFIG_MAP, elsewhere))
        await sandbox.clock.sleep(1)
        assert await sandbox.names(CONFIG_MAP) == []

    run(story)


def test_an_owner_that_never_was_is_absent_and_one_of_no_kind_is_not() -> None:
    async def story(sandbox: Sandbox) -> None:
        nobody = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "u"}
        await a_map(sandbox, "orphan", nobody)
        await a_map(sandbox, "strange", {**nobody, "apiVersion": "example.com/v1", "kind": "Odd"})
        await sandbox.clock.sleep(1)
        assert await sandbox.names(CONFIG_MAP) == ["strange"]

    run(story)


GADGET = Kind("example.com", "v1", "Gadget", "gadgets", namespaced=True)
GADGETS = {
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


def test_objects_of_new_kinds_own_and_are_owned() -> None:
    async def story(sandbox: Sandbox) -> None:
        await sandbox.create(CRD, GADGETS)
        await sandbox.until_condition(CRD, "gadgets.example.com", "Established")
        await sandbox.clock.sleep(1)
        parent = await a_map(sandbox, "parent")
        reference = owner(CONFIG_MAP, parent)
        named = {"name": "gadget", "ownerReferences": [reference]}
        gadget = await sandbox.create(GADGET, {"metadata": named})
        await a_map(sandbox, "child", owner(GADGET, gadget))
        await sandbox.clock.sleep(1)
        await sandbox.delete(CONFIG_MAP, "parent")
        await sandbox.clock.sleep(1)
        assert await sandbox.names(GADGET) == []
        assert await sandbox.names(CONFIG_MAP) == []

    run(story)


# -- namespaces -------------------------------------------------------------------------------


def test_a_namespace_takes_its_content_along() -> None:
    async def story(sandbox: Sandbox) -> None:
        await sandbox.clock.sleep(1)
        assert await sandbox.names(SERVICE_ACCOUNT) == ["default"]
        await sandbox.job("a", parallelism=2, completions=2, annotations=FOREVER)
        await sandbox.until(lambda: has_ready(sandbox, "a", 2))
        await a_map(sandbox, "map")
        await sandbox.delete(NAMESPACE, "work")

        async def is_gone() -> bool:
            return not await sandbox.exists(NAMESPACE, "work")

        assert await sandbox.until(is_gone) < 60
        for kind in (POD, JOB, CONFIG_MAP, SERVICE_ACCOUNT, CORE_EVENT):
            found = await sandbox.client.list(kind, Selection(namespace="work"))
            assert found.items == [], kind.plural

    run(story, plain_cluster(1))


def test_a_namespace_says_what_holds_it() -> None:
    async def story(sandbox: Sandbox) -> None:
        await a_map(sandbox, "map", finalizers=["example.com/slow"])
        await sandbox.delete(NAMESPACE, "work")
        await sandbox.clock.sleep(10)
        status = (await sandbox.get(NAMESPACE, "work"))["status"]
        told = {each["type"]: each["message"] for each in status["conditions"]}
        assert status["phase"] == "Terminating"
        assert told["NamespaceContentRemaining"] == (
            "Some resources are remaining: configmaps. has 1 resource instances"
        )
        assert told["NamespaceFinalizersRemaining"] == (
            "Some content in the namespace has finalizers remaining: "
            "example.com/slow in 1 resource instances"
        )
        await sandbox.patch(CONFIG_MAP, "map", {"metadata": {"finalizers": None}})

        async def is_gone() -> bool:
            return not await sandbox.exists(NAMESPACE, "work")

        assert await sandbox.until(is_gone) < 20

    run(story)


# -- the whole --------------------------------------------------------------------------------


async def a_morning(sandbox: Sandbox) -> list[Manifest]:
    """Run a Job every ten minutes; return what became of all of them."""
    annotations = {"sim.muster.dev/duration": "25m", "sim.muster.dev/failure-rate": "0.2"}
    for number in range(24):
        await sandbox.job(f"job-{number}", parallelism=2, completions=3, annotations=annotations)
        await sandbox.clock.sleep(600)
    await sandbox.clock.sleep(4 * 3600)
    return await sandbox.all(JOB)


def test_hours_pass_the_same_way_twice() -> None:
    nodes = plain_cluster(2)
    first = run(a_morning, nodes)
    assert all(finish_condition(job) for job in first)
    assert any(job["status"].get("failed") for job in first)
    complete = [job for job in first if "completionTime" in job["status"]]
    assert len(complete) > 12
    assert all(job["status"]["succeeded"] == 3 for job in complete)
    assert run(a_morning, nodes) == first
    assert run(a_morning, nodes, seed=2) != first
