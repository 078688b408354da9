"""What a simulated node says of itself: its Node, the conditions in its status, and its Lease."""

from __future__ import annotations

from typing import Any, Final

from muster.queue.api.timestamps import format_micro_time, format_second
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.conditions import dated
from muster.queue.simulated.node_specs import HOSTNAME, NodeSpec
from muster.queue.simulated.nodes.marks import SIMULATED

LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_DURATION_S: Final = 40
"""How long a node counts as alive that isn't heard of, unless told otherwise: as a real kubelet."""

_KUBELET_VERSION: Final = "v1.36.0"
_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has memory to spare"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has disk space to spare"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has process ids to spare"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def node_object(spec: NodeSpec, now_us: int) -> dict[str, Any]:
    """Return the Node as its kubelet registers it."""
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": spec.name, "labels": node_labels(spec)},
        "spec": {},
        "status": {**node_facts(spec), "conditions": node_conditions((), now_us)},
    }
    if spec.taints:
        node["spec"]["taints"] = [dict(taint) for taint in spec.taints]
    return node


def node_labels(spec: NodeSpec) -> dict[str, str]:
    """Return the labels of a node: its own, and those that every node has."""
    return {
        "kubernetes.io/arch": "amd64",
        HOSTNAME: spec.name,
        "kubernetes.io/os": "linux",
        SIMULATED: "true",
        **spec.labels,
    }


def node_facts(spec: NodeSpec) -> dict[str, Any]:
    """Return the part of a node's status that never changes."""
    capacity = dict(spec.capacity)
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": [
            {"type": "InternalIP", "address": spec.address},
            {"type": "Hostname", "address": spec.name},
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": spec.name,
            "containerRuntimeVersion": "sim://1",
            "kernelVersion": "simulated",
            "kubeProxyVersion": "",
            "kubeletVersion": _KUBELET_VERSION,
            "machineID": spec.name,
            "operatingSystem": "linux",
            "osImage": "simulated",
            "systemUUID": spec.name,
        },
    }


def node_conditions(before: tuple[Manifest, ...], now_us: int) -> list[dict[str, Any]]:
    """Return the conditions of a healthy node, and those among `before` that others have set."""
    known = {each["type"]: each for each in before}
    now = format_second(now_us)
    conditions = []
    for name, status, reason, message in _CONDITIONS:
        new = {
            "type": name,
            "status": status,
            "lastHeartbeatTime": now,
            "reason": reason,
            "message": message,
        }
        conditions.append(dated(new, known.pop(name, {}), now_us))
    return conditions + [dict(each) for each in known.values()]


def is_healthy(node: Manifest) -> bool:
    """Whether the conditions in a node's status are those of a healthy node."""
    found = {
        each["type"]: (each["status"], each.get("reason"))
        for each in node.get("status", {}).get("conditions") or ()
    }
    return all(found.get(name) == (status, reason) for name, status, reason, _ in _CONDITIONS)


def lease_object(node: Manifest, now_us: int, duration_s: int) -> dict[str, Any]:
    """Return the Lease of a node, owned by it."""
    name = node["metadata"]["name"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": duration_s,
            "renewTime": format_micro_time(now_us),
        },
    }
