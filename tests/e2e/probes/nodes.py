"""
Nodes to place pods on, by their name alone: no kubelet runs what is placed there.

Each probe has nodes of its own, and its pods ask for no others.
"""

from tests.e2e.probes.probe import Probe, condition
from tests.queue.api.manifests import Manifest, changed

CAPACITY: Manifest = {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "4"}
GPU = "nvidia.com/gpu"


class Pool:
    """Some nodes, and pods that go nowhere else."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.label = {"probe": probe.a_name("pool")}

    def node(
        self,
        capacity: Manifest | None = None,
        labels: Manifest | None = None,
        **spec: Manifest | list[Manifest] | bool,
    ) -> Manifest:
        """Make a node that is ready, with more or other capacity; return it as it is then."""
        node = self.probe.a("Node", "v1", spec=spec)
        name = node["metadata"]["name"]
        node["metadata"]["labels"] = {
            **self.label,
            "kubernetes.io/hostname": name,
            **(labels or {}),
        }
        self.probe.create(node)
        resources = {**CAPACITY, **(capacity or {})}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        self.probe.set_status(node, capacity=resources, allocatable=resources, conditions=[ready])
        # Until somebody has seen that it is ready, nothing is placed on it.
        return self.probe.until(
            node, lambda node: "node.kubernetes.io/not-ready" not in taints(node)
        )

    def a_pod(self, requests: Manifest | None = None, changes: Manifest | None = None) -> Manifest:
        resources = {"requests": requests or {}, "limits": gpus(requests or {})}
        spec = {
            "containers": [{"name": "c", "image": "i", "resources": resources}],
            "nodeSelector": self.label,
            "terminationGracePeriodSeconds": 0,
        }
        return changed(self.probe.a("Pod", "v1", spec=spec), changes or {})

    def pod(self, requests: Manifest | None = None, changes: Manifest | None = None) -> Manifest:
        """Make a pod."""
        return self.probe.create(self.a_pod(requests, changes))

    def placed(self, requests: Manifest | None = None, changes: Manifest | None = None) -> Manifest:
        """Make a pod; return it when it is on a node."""
        return self.probe.until(self.pod(requests, changes), is_placed)

    def refused(
        self,
        requests: Manifest | None = None,
        changes: Manifest | None = None,
        because: str = "",
    ) -> Manifest:
        """
        Make a pod; return it when it is known to fit nowhere, for this reason.

        A node may be known to be ready a little later than it is said to be.
        """
        return self.probe.until(
            self.pod(requests, changes), lambda pod: is_unschedulable(pod) and because in why(pod)
        )


def gpus(requests: Manifest) -> Manifest:
    return {name: value for name, value in requests.items() if name == GPU}


def taints(node: Manifest) -> list[str]:
    return [taint["key"] for taint in node["spec"].get("taints", ())]


def name_of(manifest: Manifest) -> str:
    name: str = manifest["metadata"]["name"]
    return name


def is_placed(pod: Manifest) -> bool:
    return "nodeName" in pod["spec"]


def is_unschedulable(pod: Manifest) -> bool:
    return condition(pod, "PodScheduled").get("reason") == "Unschedulable"


def node_of(pod: Manifest) -> str:
    node: str = pod["spec"]["nodeName"]
    return node


def why(pod: Manifest) -> str:
    """Return what the scheduler says about a pod that fits nowhere."""
    message: str = condition(pod, "PodScheduled")["message"]
    return message
