"""
Manifests to test with: one of each kind with nothing but what is needed, and ways to change them.

`FULL` in `full_manifests` has every field.
"""

import re
from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

from pydantic import ValidationError

from muster.queue.api.problems import describe
from muster.queue.api.registry import KINDS, ApiObject, parse_object

Manifest = dict[str, Any]

KUEUE = "kueue.x-k8s.io/v1beta2"
NOON = "2026-01-01T12:00:00Z"

POD: Manifest = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}


def a_manifest(kind: str, api_version: str = KUEUE, **content: Any) -> Manifest:
    """Return a manifest of `kind` named "x"."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **content}


def a_group(*flavors: str, resources: Sequence[str] = ("cpu",), **quota: Any) -> Manifest:
    """Return a resource group in which every flavor has 1 of everything, or `quota`."""
    return {
        "coveredResources": list(resources),
        "flavors": [
            {
                "name": flavor,
                "resources": [{"name": each, "nominalQuota": "1", **quota} for each in resources],
            }
            for flavor in flavors
        ],
    }


MINIMAL: dict[str, Manifest] = {
    "AdmissionCheck": a_manifest("AdmissionCheck", spec={"controllerName": "example.com/check"}),
    "ClusterQueue": a_manifest("ClusterQueue"),
    "Cohort": a_manifest("Cohort"),
    "Job": a_manifest("Job", "batch/v1", spec={"template": {"spec": POD}}),
    "LimitRange": a_manifest("LimitRange", "v1", spec={"limits": [{"type": "Container"}]}),
    "LocalQueue": a_manifest("LocalQueue"),
    "Namespace": a_manifest("Namespace", "v1"),
    "Node": a_manifest("Node", "v1"),
    "Pod": a_manifest("Pod", "v1", spec=POD),
    "PriorityClass": a_manifest("PriorityClass", "scheduling.k8s.io/v1", value=1),
    "ResourceFlavor": a_manifest("ResourceFlavor"),
    "RuntimeClass": a_manifest("RuntimeClass", "node.k8s.io/v1", handler="runc"),
    "Topology": a_manifest("Topology", spec={"levels": [{"nodeLabel": "rack"}]}),
    "Workload": a_manifest("Workload", spec={"podSets": [{"template": {"spec": POD}}]}),
    "WorkloadPriorityClass": a_manifest("WorkloadPriorityClass", value=1),
}

_STEP = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<index>[^\]]+)\]")


def changed(kind_or_manifest: str | Manifest, changes: Manifest) -> Manifest:
    """
    Return a copy with the value at each path of `changes` replaced.

    A path is written as in messages: "spec.podSets[0].count", "metadata.labels[a.b/c]". Missing
    steps are made: mappings, or a list of one entry for "[0]".
    """
    manifest = deepcopy(
        MINIMAL[kind_or_manifest] if isinstance(kind_or_manifest, str) else kind_or_manifest
    )
    for path, value in changes.items():
        *steps, last = _steps(path)
        place: Any = manifest
        for step, following in pairwise([*steps, last]):
            missing: Any = [] if isinstance(following, int) else {}
            if isinstance(step, int) and step == len(place):
                place.append(missing)
            elif isinstance(step, str):
                place.setdefault(step, missing)
            place = place[step]
        if isinstance(last, int) and last == len(place):
            place.append(None)
        place[last] = deepcopy(value)
    return manifest


def _steps(path: str) -> list[str | int]:
    steps = [match["name"] or match["index"] for match in _STEP.finditer(path)]
    return [int(step) if step.isdecimal() else step for step in steps]


def parsed(kind_or_manifest: str | Manifest, changes: Manifest | None = None) -> ApiObject:
    """Return the object of a manifest, changed first."""
    return parse_object(changed(kind_or_manifest, changes or {}))


def complaints(kind_or_manifest: str | Manifest, changes: Manifest | None = None) -> list[str]:
    """Return what is said about a manifest, changed first: nothing if it is fine."""
    manifest = changed(kind_or_manifest, changes or {})
    try:
        parse_object(manifest)
    except ValidationError as error:
        model = KINDS[manifest["apiVersion"], manifest["kind"]].model
        return [str(problem) for problem in describe(error, model)]
    return []
