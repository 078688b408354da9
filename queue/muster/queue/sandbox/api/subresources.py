"""What is written to a part of an object in a form of its own: Scale, Binding, Eviction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from muster.queue.client.labels import matches_labels
from muster.queue.client.refusal import (
    Cause,
    Refusal,
    bad_request,
    conflict,
    required,
    too_many_requests,
)
from muster.queue.sandbox.api.deleting import check_preconditions
from muster.queue.sandbox.api.form import Place, check_place
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.transient import FORMS, read_as
from muster.queue.sandbox.api.writing import Edit, Written, unusable
from muster.queue.sandbox.kinds.resources import Object, Path, Scale, Shared
from muster.queue.sandbox.schema.decoding import DecodingError
from muster.queue.sandbox.store.memory import Stored

if TYPE_CHECKING:
    from muster.queue.sandbox.api.server import ApiServer

_DISRUPTION: Final = "DisruptionTarget"
_BUDGETS: Final = "poddisruptionbudgets.policy"
_SCALE: Final = FORMS["scale"]


# -- scale -------------------------------------------------------------------------------------


def scale_of(place: Place, stored: Stored) -> Stored:
    """Return the Scale of an object."""
    scale = _scale(place)
    obj = stored.value
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    value: Object = {
        "kind": _SCALE.kind,
        "apiVersion": _SCALE.api_version,
        "metadata": {name: obj["metadata"][name] for name in kept if name in obj["metadata"]},
        "spec": {"replicas": _at(obj, scale.spec_replicas) or 0},
        "status": {"replicas": _at(obj, scale.status_replicas) or 0},
    }
    if not value["spec"]["replicas"]:
        value["spec"] = {}
    if scale.label_selector and (selector := _at(obj, scale.label_selector)):
        value["status"]["selector"] = selector
    return Stored(value, orjson.dumps(value), stored.revision)


def scaled(place: Place, edit: Edit, options: WriteOptions) -> Edit:
    """Return the edit of an object that an edit of its Scale comes to."""
    scale = _scale(place)

    def make(old: Object | None) -> Object:
        assert old is not None, "a scale is of something"
        present = scale_of(place, Stored(old, b"", int(old["metadata"]["resourceVersion"])))
        new = edit.make(present.value)
        try:
            new, _ = read_as(_SCALE, new, options)
        except DecodingError as error:
            raise unusable(error, _SCALE.kind, _SCALE.api_version, edit) from None
        check_place(place, new)
        # Whether there may be so many, the object's own kind says.
        _put(old, scale.spec_replicas, (new.get("spec") or {}).get("replicas") or 0)
        for name in ("resourceVersion", "uid"):
            if given := (new.get("metadata") or {}).get(name):
                old["metadata"][name] = given
        return old

    return edit._replace(make=make, may_create=False, owns=False)


def _scale(place: Place) -> Scale:
    assert place.resource.scale, "it is only reached where there is one"
    return place.resource.scale


def _at(obj: Shared, path: Path) -> Any:
    found: Any = obj
    for name in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def _put(obj: Object, path: Path, value: Any) -> None:
    for name in path[:-1]:
        obj = obj.setdefault(name, {})
    obj[path[-1]] = value


# -- binding -----------------------------------------------------------------------------------


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


# -- eviction ----------------------------------------------------------------------------------


async def evict(
    server: ApiServer, place: Place, eviction: Shared, options: WriteOptions
) -> Written:
    """Delete a pod if the budgets that protect it allow a disruption; raises Refusal 429."""
    name = (eviction.get("metadata") or {}).get("name")
    if name and name != place.name:
        raise bad_request(
            f"name in URL does not match name in Eviction object: {place.name} vs {name}"
        )
    pod = (await server.get(place._replace(subresource=""))).value
    asked = eviction.get("deleteOptions") or {}
    if asked.get("dryRun"):
        options = replace(options, dry_run=True)
    if not _is_no_loss(pod):
        await _spend_disruption(server, place, pod, options)
    pod_itself = place._replace(subresource="")
    if not options.dry_run:
        check_preconditions(pod_itself, pod, asked.get("preconditions") or {})
        disrupted = Edit(_disrupted(server.writer.now()), trusted=True)
        await server.writer.update(place._replace(subresource="status"), disrupted, options)
    deleted = await server.delete(pod_itself, asked, options)
    return Written(deleted.stored, created=True, gone=deleted.gone)


def _disrupted(now: str) -> Callable[[Object | None], Object]:
    """Return the edit that says of a pod that it is to go."""

    def make(pod: Object | None) -> Object:
        assert pod is not None
        status = pod.setdefault("status", {})
        conditions = [
            each for each in status.get("conditions") or () if each["type"] != _DISRUPTION
        ]
        target = {
            "type": _DISRUPTION,
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        status["conditions"] = [*conditions, target]
        return pod

    return make


def _is_no_loss(pod: Shared) -> bool:
    """A pod that runs no more, or doesn't yet, is in no budget."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in {"Succeeded", "Failed", "Pending"} or bool(
        pod["metadata"].get("deletionTimestamp")
    )


async def _spend_disruption(
    server: ApiServer, place: Place, pod: Shared, options: WriteOptions
) -> None:
    labels = pod["metadata"].get("labels") or {}
    budgets = [
        stored.value
        for stored in server.store.select(_BUDGETS, place.namespace)
        if (selector := stored.value["spec"].get("selector")) is not None
        and matches_labels(selector, labels)
    ]
    if len(budgets) > 1:
        message = (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )
        raise Refusal(500, "", message)
    resource = server.catalogue.storage(_BUDGETS)
    assert resource
    for budget in budgets:
        part = Place(resource, place.namespace, budget["metadata"]["name"], "status")
        await server.writer.update(part, Edit(_disrupted_once_more, trusted=True), options)


def _check_disruption(budget: Shared) -> None:
    status = budget.get("status") or {}
    name = budget["metadata"]["name"]
    if (status.get("observedGeneration") or 0) < budget["metadata"].get("generation", 0):
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        why = f"The disruption budget {name} is still being processed by the server."
        raise too_many_requests(message, [Cause("DisruptionBudget", why)])
    if (status.get("disruptionsAllowed") or 0) <= 0:
        why = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently"
        )
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        raise too_many_requests(message, [Cause("DisruptionBudget", why)])


def _disrupted_once_more(budget: Object | None) -> Object:
    """Return a budget with one disruption less, if it has any; raises Refusal 429."""
    assert budget is not None
    _check_disruption(budget)
    budget["status"]["disruptionsAllowed"] -= 1
    return budget
