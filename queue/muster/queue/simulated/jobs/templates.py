"""The pods that a Job creates, from its template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from muster.queue.client.protocol import Manifest
from muster.queue.simulated.jobs.assessment import is_indexed
from muster.queue.simulated.jobs.planning import NewPod
from muster.queue.simulated.jobs.pods import (
    FAILURES,
    IGNORED_FAILURES,
    INDEX,
    TRACKING_FINALIZER,
)

_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_PREFIX_MAX: Final = 58
"""Characters of a generateName: the server adds five."""


def pod_manifest(job: Manifest, new: NewPod) -> dict[str, Any]:
    """Return the pod to create for a Job."""
    template = job["spec"]["template"]
    given = template.get("metadata", {})
    labels = dict(given.get("labels", {}))
    annotations = dict(given.get("annotations", {}))
    spec = dict(template["spec"])
    name: str = job["metadata"]["name"]
    prefix = f"{name}-"
    if is_indexed(job):
        labels[INDEX] = annotations[INDEX] = str(new.index)
        if new.failures is not None:
            annotations[FAILURES] = str(new.failures)
            if new.ignored_failures:
                annotations[IGNORED_FAILURES] = str(new.ignored_failures)
        spec["hostname"] = f"{name}-{new.index}"
        suffix = f"-{new.index}-"
        prefix = name[: _PREFIX_MAX - len(suffix)] + suffix
        for field in ("initContainers", "containers"):
            if field in spec:
                spec[field] = [_told_its_index(container) for container in spec[field]]
    finalizers = [*given.get("finalizers", ())]
    if TRACKING_FINALIZER not in finalizers:
        finalizers.append(TRACKING_FINALIZER)
    metadata: dict[str, Any] = {
        "generateName": prefix,
        "namespace": job["metadata"]["namespace"],
        "labels": labels,
        "finalizers": finalizers,
        "ownerReferences": [controller_reference(job)],
    }
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def controller_reference(job: Manifest) -> dict[str, Any]:
    """Return what says in a pod that a Job controls it."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _told_its_index(container: Mapping[str, Any]) -> dict[str, Any]:
    variables = container.get("env", [])
    if any(each["name"] == _INDEX_VARIABLE for each in variables):
        return dict(container)
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*variables, {"name": _INDEX_VARIABLE, "valueFrom": source}]}
