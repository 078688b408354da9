"""Bindings: a pod is put on a node, once."""

from __future__ import annotations

from collections.abc import Callable

from muster.queue.client.refusal import Refusal, bad_request, conflict, required
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.kinds.resources import Object, Shared


def bind(place: Place, binding: Shared, now: str) -> Callable[[Object | None], Object]:
    """Return the edit that puts a pod on the node that a Binding names."""
    node = (binding.get("target") or {}).get("name")
    name = (binding.get("metadata") or {}).get("name")
    if name and name != place.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({place.name})"
        )
    if not node:
        raise Refusal(500, "", str(required("target.name")))

    def make(pod: Object | None) -> Object:
        assert pod is not None
        spec, status = pod["spec"], pod.setdefault("status", {})
        if why := _unbindable(place.name, pod):
            raise conflict(place.subject._replace(kind="pods/binding"), why)
        spec["nodeName"] = node
        conditions = [
            each for each in status.get("conditions") or () if each["type"] != "PodScheduled"
        ]
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        status["conditions"] = [*conditions, scheduled]
        annotations = (binding.get("metadata") or {}).get("annotations")
        if annotations:
            pod["metadata"].setdefault("annotations", {}).update(annotations)
        return pod

    return make


def _unbindable(name: str, pod: Shared) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if present := pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{present}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""
