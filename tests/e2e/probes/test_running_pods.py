"""Pods and jobs from their beginning to their end, on nodes that run them."""

import re

import pytest

from tests.e2e.probes.jobs import counts, pods_of
from tests.e2e.probes.kubectl import Kubectl
from tests.e2e.probes.nodes import Pool, is_unschedulable, name_of, node_of
from tests.e2e.probes.probe import Probe, condition, is_true
from tests.queue.api.manifests import Manifest

SIM = "sim.muster.dev"


@pytest.fixture
def pool(probe: Probe, nodes: dict[str, str]) -> Pool:
    """Pods for the nodes that run them."""
    pool = Pool(probe)
    pool.label = nodes
    return pool


def a_pod(pool: Pool, *command: str, policy: str = "Never", **sim: str) -> Manifest:
    """Make a pod that does what a command says, with annotations of the simulation."""
    changes = {
        "spec.restartPolicy": policy,
        "spec.containers[0].command": list(command),
        "metadata.annotations": {f"{SIM}/{name}": value for name, value in sim.items()},
    }
    return pool.pod(changes=changes)


def a_job(pool: Pool, *command: str, **spec: str | int | bool) -> Manifest:
    """Make a job whose pods do what a command says."""
    container = {"name": "c", "image": "i", "command": list(command)}
    pod = {"containers": [container], "restartPolicy": "Never", "nodeSelector": pool.label}
    job = pool.probe.a("Job", "batch/v1", None, spec={**spec, "template": {"spec": pod}})
    return pool.probe.create(job)


def phase(name: str, pod: Manifest) -> bool:
    found: str = pod["status"]["phase"]
    return found == name


def runs(pod: Manifest) -> bool:
    return phase("Running", pod)


def succeeded(pod: Manifest) -> bool:
    return phase("Succeeded", pod)


def failed(pod: Manifest) -> bool:
    return phase("Failed", pod)


def state(pod: Manifest) -> Manifest:
    """Return the status of the one container of a pod."""
    (status,) = pod["status"]["containerStatuses"]
    found: Manifest = status
    return found


def test_a_pod_runs(pool: Pool) -> None:
    pod = pool.probe.until(a_pod(pool, "sleep", "inf"), is_true("Ready"))

    status = pod["status"]
    assert status["phase"] == "Running"
    assert re.fullmatch(r"\d+\.\d+\.\d+\.\d+", status["podIP"])
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["hostIP"].startswith("192.0.2.")
    assert status["startTime"] >= pod["metadata"]["creationTimestamp"]
    told = {each["type"]: each["status"] for each in status["conditions"]}
    for name in ("PodScheduled", "Initialized", "ContainersReady", "Ready"):
        assert told[name] == "True"
    container = state(pod)
    assert (container["ready"], container["started"], container["restartCount"]) == (True, True, 0)
    assert [*container["state"]] == ["running"]


def test_a_pod_succeeds(pool: Pool) -> None:
    pod = pool.probe.until(a_pod(pool, "sleep", "0.1"), succeeded)

    ended = state(pod)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert ended["finishedAt"] >= ended["startedAt"]
    ready = condition(pod, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


def test_a_pod_fails(pool: Pool) -> None:
    pod = pool.probe.until(a_pod(pool, "sh", "-c", "exit 3"), failed)

    ended = state(pod)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")


def test_a_pod_does_as_its_annotations_say(pool: Pool) -> None:
    sim = {"duration": "100ms", "exit-code": "7"}

    pod = pool.probe.until(a_pod(pool, "sleep", "inf", **sim), failed)

    assert state(pod)["state"]["terminated"]["exitCode"] == 7


def test_a_pod_is_ready_some_time_after_its_start(pool: Pool) -> None:
    made = a_pod(pool, "sleep", "inf", **{"readiness-delay": "1s"})

    first = pool.probe.until(made, runs)
    assert not is_true("Ready")(first)

    pool.probe.until(made, is_true("Ready"))


def test_a_pod_starts_again(pool: Pool) -> None:
    made = a_pod(pool, "sh", "-c", "exit 1", policy="OnFailure")

    pod = pool.probe.until(made, lambda pod: runs(pod) and state(pod)["restartCount"] == 1)

    assert state(pod)["lastState"]["terminated"]["exitCode"] == 1


def test_a_pod_that_always_fails_waits_longer_and_longer(pool: Pool) -> None:
    made = a_pod(pool, "sh", "-c", "sleep 0.1; exit 1", policy="Always")

    def is_crashing(pod: Manifest) -> bool:
        waiting = state(pod)["state"].get("waiting", {}) if runs(pod) else {}
        return waiting.get("reason") == "CrashLoopBackOff"

    pool.probe.until(made, is_crashing)


def test_what_comes_first_ends_before_the_rest_begins(pool: Pool) -> None:
    first = {"name": "first", "image": "i", "command": ["sleep", "0.1"]}
    changes = {"spec.initContainers": [first], "spec.containers[0].command": ["sleep", "inf"]}

    pod = pool.probe.until(pool.pod(changes=changes), runs)

    (init,) = pod["status"]["initContainerStatuses"]
    assert init["state"]["terminated"]["exitCode"] == 0
    assert is_true("Initialized")(pod)


def test_a_pod_whose_first_step_fails_fails(pool: Pool) -> None:
    first = {"name": "first", "image": "i", "command": ["sh", "-c", "exit 1"]}
    changes = {"spec.initContainers": [first], "spec.restartPolicy": "Never"}

    pool.probe.until(pool.pod(changes=changes), failed)


def test_a_pod_is_stopped(pool: Pool) -> None:
    changes = {
        "spec.terminationGracePeriodSeconds": 30,
        "spec.containers[0].command": ["sleep", "inf"],
    }
    pod = pool.probe.until(pool.pod(changes=changes), runs)

    pool.probe.delete(pod).expect(200)

    pool.probe.until_gone(pod)


def test_a_pod_that_takes_its_time_is_shown_until_it_ends(pool: Pool) -> None:
    changes = {
        "spec.terminationGracePeriodSeconds": 30,
        "spec.containers[0].command": ["sleep", "inf"],
        "metadata.annotations": {f"{SIM}/termination": "1s"},
        "metadata.finalizers": ["example.com/look"],
    }
    pod = pool.probe.until(pool.pod(changes=changes), runs)

    pool.probe.delete(pod).expect(200)
    assert runs(pool.probe.get(pod))

    ended = pool.probe.until(pod, lambda pod: not runs(pod))
    assert "terminated" in state(ended)["state"]
    pool.probe.api.patch(pod, {"metadata": {"finalizers": None}}).expect(200)
    pool.probe.until_gone(pod)


def test_a_pod_has_a_deadline(pool: Pool) -> None:
    changes = {
        "spec.activeDeadlineSeconds": 1,
        "spec.containers[0].command": ["sleep", "inf"],
    }

    pod = pool.probe.until(pool.pod(changes=changes), failed)

    assert pod["status"]["reason"] == "DeadlineExceeded"


def test_a_job_completes(pool: Pool) -> None:
    job = a_job(pool, "sleep", "0.1", completions=3, parallelism=2)

    now = pool.probe.until(job, is_true("Complete"))

    assert counts(succeeded=3, failed=None, active=None)(now)
    assert {pod["status"]["phase"] for pod in pods_of(pool.probe, job)} == {"Succeeded"}


def test_an_indexed_job_completes(pool: Pool) -> None:
    job = a_job(pool, "sleep", "0.1", completions=3, parallelism=3, completionMode="Indexed")

    now = pool.probe.until(job, is_true("Complete"))

    assert now["status"]["completedIndexes"] == "0-2"


def test_a_job_fails(pool: Pool) -> None:
    job = a_job(pool, "sh", "-c", "exit 1", backoffLimit=0)

    now = pool.probe.until(job, is_true("Failed"))

    assert condition(now, "Failed")["reason"] == "BackoffLimitExceeded"


def test_pods_of_a_job_are_ready(pool: Pool) -> None:
    job = a_job(pool, "sleep", "inf", completions=2, parallelism=2)

    pool.probe.until(job, counts(active=2, ready=2))
    pool.probe.delete(job, propagationPolicy="Foreground").expect(200)
    pool.probe.until_gone(job)


def test_a_job_that_is_suspended_and_resumed_completes(pool: Pool) -> None:
    job = a_job(pool, "sleep", "inf")
    pool.probe.until(job, counts(ready=1))
    pool.probe.api.patch(job, {"spec": {"suspend": True}}).expect(200)
    pool.probe.until(job, lambda job: is_true("Suspended")(job) and counts(terminating=0)(job))
    assert pods_of(pool.probe, job) == []

    pool.probe.api.patch(job, {"spec": {"suspend": False}}).expect(200)

    pool.probe.until(job, counts(ready=1))
    pool.probe.delete(job, propagationPolicy="Background").expect(200)


def test_a_more_important_pod_gets_the_place_of_one_that_is_stopped(pool: Pool) -> None:
    full = {"cpu": "3"}
    low = {"spec.priorityClassName": pool.probe.priority_class(1)}
    high = {"spec.priorityClassName": pool.probe.priority_class(2)}
    forever = {"spec.containers[0].command": ["sleep", "inf"]}
    first = [pool.probe.until(pool.placed(full, {**low, **forever}), runs) for _ in range(2)]

    pod = pool.probe.until(pool.pod(full, {**high, **forever}), runs)

    gone = [each for each in first if pool.probe.api.get(each).code == 404]
    assert [node_of(each) for each in gone] == [node_of(pod)]
    for each in (*first, pod):
        pool.probe.delete(each)


def test_a_node_is_drained(pool: Pool, kubectl: Kubectl) -> None:
    changes = {"spec.containers[0].command": ["sleep", "inf"]}
    pod = pool.probe.until(pool.placed(changes=changes), runs)
    node = node_of(pod)
    try:
        told = kubectl.tells("drain", node, "--force")
        pinned = {"spec.nodeSelector[kubernetes.io/hostname]": node}
        assert is_unschedulable(pool.refused(changes=pinned))
    finally:
        kubectl("uncordon", node)

    assert f"pod/{name_of(pod)} evicted" in told
    pool.probe.until_gone(pod)


def test_a_node_is_alive(pool: Pool) -> None:
    selector = ",".join(f"{key}={value}" for key, value in pool.label.items())
    for node in pool.probe.found(pool.probe.a("Node", "v1"), labelSelector=selector):
        assert is_true("Ready")(node)
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "4"
        lease = pool.probe.a("Lease", "coordination.k8s.io/v1")
        lease["metadata"] = {"name": name_of(node), "namespace": "kube-node-lease"}
        assert pool.probe.get(lease)["spec"]["holderIdentity"] == name_of(node)


def test_a_job_is_made_and_waited_for(pool: Pool, kubectl: Kubectl) -> None:
    job = a_job(pool, "sleep", "0.1")

    printed = kubectl("wait", f"job/{name_of(job)}", "--for=condition=complete", "--timeout=30s")

    assert printed == f"job.batch/{name_of(job)} condition met\n"
    row = kubectl("get", "pods", "-l", f"job-name={name_of(job)}", "--no-headers").split()
    assert row[1:3] == ["0/1", "Completed"]


def test_an_annotation_that_means_nothing_is_told(pool: Pool) -> None:
    pod = a_pod(pool, "sleep", "inf", duration="long")

    event = pool.probe.until_event(pod, "InvalidAnnotation")

    assert event["type"] == "Warning"
    assert f"{SIM}/duration" in event["message"]
