"""
Jobs to probe, and a kubelet played by hand: pods do exactly what a probe says.

No scheduler touches these pods, and no kubelet either, as they are on no node.
"""

from tests.e2e.probes.probe import Holds, Probe
from tests.queue.api.manifests import Manifest

TEMPLATE: Manifest = {
    "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "restartPolicy": "Never",
        "schedulerName": "nobody",
    }
}
INDEX = "batch.kubernetes.io/job-completion-index"
TRACKING = "batch.kubernetes.io/job-tracking"
INDEXED: Manifest = {"spec.completionMode": "Indexed"}


def a_job(probe: Probe, changes: Manifest | None = None) -> Manifest:
    return probe.a("Job", "batch/v1", changes, spec={"template": TEMPLATE})


def pods_of(probe: Probe, job: Manifest) -> list[Manifest]:
    """Return the pods of a job that there are, in the order of their names."""
    selector = f"batch.kubernetes.io/job-name={job['metadata']['name']}"
    pods = probe.found(probe.a("Pod", "v1"), labelSelector=selector)
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


def with_pods(probe: Probe, count: int, changes: Manifest | None = None) -> Manifest:
    """Make a job; return it when it has this many active pods."""
    made = probe.create(a_job(probe, changes))
    return probe.until(made, counts(active=count))


def counts(**expected: int | None) -> Holds:
    """Return whether a job's status counts as many pods of these kinds; None is no count."""
    return lambda job: {name: job["status"].get(name) for name in expected} == expected


def end(probe: Probe, pod: Manifest, phase: str = "Succeeded", exit_code: int = 0) -> None:
    """Let a pod end as a kubelet would tell it."""
    terminated = {"exitCode": exit_code, "reason": "Completed" if exit_code == 0 else "Error"}
    status = {
        "name": "c",
        "image": "i",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": terminated},
    }
    probe.set_status(pod, phase=phase, containerStatuses=[status])


def fail(probe: Probe, pod: Manifest, exit_code: int = 1) -> None:
    end(probe, pod, "Failed", exit_code)


def of_index(pods: list[Manifest], index: int) -> Manifest:
    """Return the one pod that works on an index."""
    (pod,) = [pod for pod in pods if pod["metadata"]["annotations"][INDEX] == str(index)]
    return pod
