"""Nodes and pods as an API server hands them out, with what a test does not care about."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]

START = "2026-01-01T00:00:00Z"


def node(
    name: str,
    *,
    labels: dict[str, str] | None = None,
    taints: list[Manifest] | None = None,
    unschedulable: bool = False,
    **allocatable: str,
) -> Manifest:
    """Return a Node; `gpu` stands for nvidia.com/gpu."""
    offered = {"cpu": "8", "memory": "32Gi", "pods": "110", **allocatable}
    if "gpu" in offered:
        offered["nvidia.com/gpu"] = offered.pop("gpu")
    spec: Manifest = {"taints": taints or []}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": START,
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
        },
        "spec": spec,
        "status": {"allocatable": offered},
    }


def pod(
    name: str,
    *,
    requests: Manifest | None = None,
    status: Manifest | None = None,
    metadata: Manifest | None = None,
    container: Manifest | None = None,
    **spec: Any,
) -> Manifest:
    """Return a Pod with one container."""
    main = {"name": "main", "image": "work", "resources": {"requests": requests or {}}}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": START,
            **(metadata or {}),
        },
        "spec": {"containers": [{**main, **(container or {})}], **spec},
        "status": {"phase": "Pending", **(status or {})},
    }
