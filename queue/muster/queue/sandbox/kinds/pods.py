"""
Pods, and templates of pods: what they become when they are written, and how they go.

What may be in the spec of a pod is decided in `pod_validation`, what of it may change in
`pod_updates`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from muster.queue.client.refusal import FieldError
from muster.queue.sandbox.kinds.names import dns_label
from muster.queue.sandbox.kinds.pod_defaults import fill_pod, fill_pod_spec
from muster.queue.sandbox.kinds.pod_resources import service_class
from muster.queue.sandbox.kinds.pod_scheduling import PREFERRED, REQUIRED
from muster.queue.sandbox.kinds.pod_status import pod_status_errors
from muster.queue.sandbox.kinds.pod_updates import pod_update_errors
from muster.queue.sandbox.kinds.pod_validation import pod_errors, template_errors
from muster.queue.sandbox.kinds.resources import Object, Path, Shared
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy, StatusStrategy, put_back

_ENDED: Final = ("Succeeded", "Failed")
_GATED: Final = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
    "lastProbeTime": None,
}


class PodStrategy(StatusStrategy):
    """The strategy of pods."""

    generation = True
    graceful = True

    def fill(self, obj: Object) -> None:
        fill_pod(obj)
        _fill_addresses(obj["status"])

    def prepare_create(self, obj: Object, now: str) -> None:
        obj["status"] = {"phase": "Pending", "qosClass": service_class(obj)}
        if obj["spec"].get("schedulingGates"):
            obj["status"]["conditions"] = [{**_GATED, "lastTransitionTime": now}]
        _select_by_own_labels(obj)

    def prepare_update(self, obj: Object, old: Shared, subresource: str, now: str) -> None:
        super().prepare_update(obj, old, subresource, now)
        if subresource != "status":
            return
        for name in ("ownerReferences", "deletionTimestamp"):
            put_back(obj["metadata"], old["metadata"], name)
        status = obj["status"]
        status.setdefault("qosClass", old["status"].get("qosClass"))
        _keep_observed(status, old["status"])

    def reset_fields(self, subresource: str) -> Sequence[Path]:
        if subresource == "status":
            return (
                ("spec",),
                ("metadata", "deletionTimestamp"),
                ("metadata", "ownerReferences"),
            )
        return (("status",),)

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return pod_errors(obj)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        if subresource == "status":
            return pod_status_errors(obj, old)
        return pod_update_errors(obj, old)

    def warnings(self, obj: Shared, old: Shared | None) -> Iterator[str]:
        if old is None:
            yield from _warnings(obj)

    def deletion_grace_s(self, obj: Shared, asked_s: int | None) -> int:
        spec = obj["spec"]
        if not spec.get("nodeName") or obj["status"].get("phase") in _ENDED:
            return 0
        period: int = spec["terminationGracePeriodSeconds"] if asked_s is None else asked_s
        return 1 if period < 0 else period


class PodTemplateStrategy(BuiltInStrategy):
    """The strategy of templates that stand alone."""

    generation = True

    def fill(self, obj: Object) -> None:
        fill_pod_spec(obj["template"].setdefault("spec", {"containers": None}))

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return [*template_errors("template", obj["template"])]


def _fill_addresses(status: Object) -> None:
    """Say a pod's first address in both of the places where it is looked for."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip", "")


def _keep_observed(status: Object, old: Shared) -> None:
    """Let nobody take back which generation a status is about."""
    if observed := old.get("observedGeneration"):
        status.setdefault("observedGeneration", observed)
    known: dict[str, list[int]] = {}
    for condition in old.get("conditions") or ():
        known.setdefault(condition["type"], []).append(condition.get("observedGeneration", 0))
    conditions = []
    for condition in status.get("conditions") or ():
        before = known.get(condition["type"])
        generation = before.pop(0) if before else 0
        if generation and not condition.get("observedGeneration"):
            conditions.append({**condition, "observedGeneration": generation})
        else:
            conditions.append(condition)
    if conditions:
        status["conditions"] = conditions


def _select_by_own_labels(pod: Object) -> None:
    """Turn the label keys that a pod's terms name into its own labels' values."""
    labels = pod["metadata"].get("labels") or {}
    spec = pod["spec"]
    for constraint in spec.get("topologySpreadConstraints") or ():
        _add_requirements(constraint, constraint.get("matchLabelKeys"), "In", labels)
    for name in ("podAffinity", "podAntiAffinity"):
        for term in _affinity_terms((spec.get("affinity") or {}).get(name) or {}):
            _add_requirements(term, term.get("matchLabelKeys"), "In", labels)
            _add_requirements(term, term.get("mismatchLabelKeys"), "NotIn", labels)


def _affinity_terms(affinity: Object) -> Iterator[Any]:
    yield from affinity.get(REQUIRED) or ()
    for each in affinity.get(PREFERRED) or ():
        yield each["podAffinityTerm"]


def _add_requirements(
    term: Object, keys: Sequence[str] | None, operator: str, labels: Shared
) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for key in keys or ():
        if key in labels:
            requirement = {"key": key, "operator": operator, "values": [labels[key]]}
            selector["matchExpressions"] = [*selector.get("matchExpressions", ()), requirement]


def _warnings(pod: Shared) -> Iterator[str]:
    if wrong := dns_label(pod["metadata"]["name"]):
        listed = " ".join(wrong)
        yield (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            f"behavior; a DNS label is recommended: [{listed}]"
        )
    if pod["spec"].get("terminationGracePeriodSeconds", 0) < 0:
        yield (
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will"
            " be treated as 1"
        )
    for index, container in enumerate(pod["spec"].get("containers") or ()):
        names: list[str] = []
        for number, variable in enumerate(container.get("env") or ()):
            name = variable["name"]
            if name in names:
                yield (
                    f"spec.containers[{index}].env[{number}]: hides previous definition of "
                    f'"{name}", which may be dropped when using apply'
                )
            names.append(name)
