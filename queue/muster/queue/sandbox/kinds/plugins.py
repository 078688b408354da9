"""
What the server itself fills in or refuses by what else there is: its built-in admission.

Priorities of pods, their first tolerations, what their runtime costs, the limits of their
namespace; that a new node is not ready; that there is one default priority class. Everything else
that clusters admit by, such as quotas and security, is not done here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from muster.queue.client.refusal import Refusal, forbidden
from muster.queue.sandbox.kinds.limits import apply_limits, limits_errors
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared

LookUp = Callable[[str, str, str], Shared | None]
"""Returns an object by the key of its resource, its namespace and its name."""

ListAll = Callable[[str, str], Iterable[Shared]]
"""Returns the objects of a resource, by its key, in a namespace."""


_PRIORITY_CLASSES: Final = "priorityclasses.scheduling.k8s.io"
_RUNTIME_CLASSES: Final = "runtimeclasses.node.k8s.io"
_LIMIT_RANGES: Final = "limitranges."

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_TOLERATED_S: Final = 300


def admit(
    resource: Resource,
    obj: Object,
    look_up: LookUp,
    list_all: ListAll,
    old: Shared | None = None,
) -> None:
    """Change an object that is about to be written, or refuse it; raises Refusal 403."""
    match resource.key:
        case "pods.":
            if old is None:
                _admit_pod(resource, obj, look_up, list_all)
            else:
                _admit_pod_update(obj, old)
        case "nodes." if old is None:
            _taint(obj)
        case "priorityclasses.scheduling.k8s.io":
            _admit_default_class(resource, obj, list_all)
        case _:
            pass


def _admit_pod(resource: Resource, pod: Object, look_up: LookUp, list_all: ListAll) -> None:
    namespace = pod["metadata"].get("namespace", "")
    ranges = [*list_all(_LIMIT_RANGES, namespace)]
    for limit_range in ranges:
        apply_limits(limit_range, pod)
    _set_priority(resource, pod, look_up, list_all)
    _tolerate_bad_nodes(pod["spec"])
    _add_runtime(resource, pod, look_up)
    for limit_range in ranges:
        if errors := [*limits_errors(limit_range, pod)]:
            told = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            raise _refused(resource, pod, told)


def _admit_pod_update(pod: Object, old: Shared) -> None:
    for name in ("priority", "preemptionPolicy"):
        if name not in pod["spec"] and name in old["spec"]:
            pod["spec"][name] = old["spec"][name]
    _tolerate_bad_nodes(pod["spec"])


def _refused(resource: Resource, obj: Shared, why: str) -> Refusal:
    return forbidden(resource.subject(obj["metadata"].get("name", "")), why)


def _set_priority(resource: Resource, pod: Object, look_up: LookUp, list_all: ListAll) -> None:
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    if name:
        found = look_up(_PRIORITY_CLASSES, "", name)
        if found is None:
            raise _refused(resource, pod, f"no PriorityClass with name {name} was found")
    else:
        found = _default_class(list_all)
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
    value = 0 if found is None else found["value"]
    if spec.get("priority", value) != value:
        raise _refused(
            resource,
            pod,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value
    policy = "PreemptLowerPriority" if found is None else found.get("preemptionPolicy")
    if policy is None:
        return
    if spec.get("preemptionPolicy", policy) != policy:
        raise _refused(
            resource,
            pod,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
            f"provided in pod spec; priority admission controller computed {policy} from the given "
            "PriorityClass name",
        )
    spec["preemptionPolicy"] = policy


def _default_class(list_all: ListAll) -> Shared | None:
    """Return the priority class of pods that name none, if any."""
    defaults = (each for each in list_all(_PRIORITY_CLASSES, "") if each.get("globalDefault"))
    return min(defaults, key=lambda each: (each["value"], each["metadata"]["name"]), default=None)


def _admit_default_class(resource: Resource, obj: Object, list_all: ListAll) -> None:
    if not obj.get("globalDefault"):
        return
    default = _default_class(list_all)
    if default is not None and default["metadata"]["name"] != obj["metadata"].get("name"):
        name = default["metadata"]["name"]
        why = f"PriorityClass {name} is already marked as default. Only one default can exist"
        raise _refused(resource, obj, why)


def _tolerate_bad_nodes(spec: Object) -> None:
    """Let a pod stay for a while on a node that fails, unless it says for how long itself."""
    tolerations = spec.get("tolerations") or []
    added = [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _TOLERATED_S,
        }
        for key in (_NOT_READY, _UNREACHABLE)
        if not any(_tolerates_eviction(each, key) for each in tolerations)
    ]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def _tolerates_eviction(toleration: Shared, key: str) -> bool:
    return toleration.get("key", key) in {"", key} and toleration.get("effect", "NoExecute") in {
        "",
        "NoExecute",
    }


def _add_runtime(resource: Resource, pod: Object, look_up: LookUp) -> None:
    """Add what the runtime of a pod costs and where it runs."""
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    runtime: Shared | None = None
    if name is not None:
        runtime = look_up(_RUNTIME_CLASSES, "", name)
        if runtime is None:
            raise _refused(resource, pod, f'pod rejected: RuntimeClass "{name}" not found')
    overhead = ((runtime or {}).get("overhead") or {}).get("podFixed")
    if overhead is None:
        if spec.get("overhead"):
            why = (
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )
            raise _refused(resource, pod, why)
    elif spec.get("overhead", overhead) != overhead:
        why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise _refused(resource, pod, why)
    else:
        spec["overhead"] = dict(overhead)
    _add_scheduling(resource, pod, (runtime or {}).get("scheduling") or {})


def _add_scheduling(resource: Resource, pod: Object, scheduling: Shared) -> None:
    spec = pod["spec"]
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise _refused(
                resource,
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = [*(spec.get("tolerations") or ())]
    given = scheduling.get("tolerations") or ()
    tolerations += [each for each in given if each not in tolerations]
    if tolerations:
        spec["tolerations"] = tolerations


def _taint(node: Object) -> None:
    """Keep pods off a new node until somebody says that it is ready."""
    taints = node["spec"].get("taints") or []
    taint = {"key": _NOT_READY, "effect": "NoSchedule"}
    if not any(all(each.get(name) == taint[name] for name in taint) for each in taints):
        node["spec"]["taints"] = [*taints, taint]
