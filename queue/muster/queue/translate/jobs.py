"""
The Workload that stands for a Job or a Pod: what the job integrations of a controller would create.

Only what decides is carried over. A job whose annotations contradict themselves has no Workload;
`JobProblem` says why.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from muster.admission import objects
from muster.queue.api.batch import Job
from muster.queue.api.core import Pod
from muster.queue.api.meta import ObjectMeta, TemplateMeta
from muster.queue.api.timestamps import parse_timestamp
from muster.queue.api.wording import shown
from muster.queue.api.workload import GATED_BY_ANNOTATION
from muster.queue.translate.pods import Gang, PodRules, gang, topology_text
from muster.queue.translate.priorities import PRIORITY_CLASS_LABEL, Priorities, UnknownClassError
from muster.queue.translate.workloads import Birth, gates

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
"""The LocalQueue of a job."""
GROUP_LABEL: Final = "kueue.x-k8s.io/pod-group-name"
"""Pods with the same value are one gang."""
MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"
"""The number of pods that is enough to start with."""
EXECUTION_TIME_LABEL: Final = "kueue.x-k8s.io/max-exec-time-seconds"

_PREFIX: Final = "kueue.x-k8s.io/podset-"
_CONSTRAINTS: Final = "slice-required-topology-constraints"
_JOB_INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
_NAME_MAX: Final = 253
_HASH_DIGITS: Final = 5
_INT32_MAX: Final = 2**31 - 1
_DIGITS_MAX: Final = 63  # of a label; an annotation may have more than int() takes


class JobProblem(ValueError):  # noqa: N818 - a finding about somebody's manifest
    """Something in a Job or Pod contradicts itself or what exists."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        self.message = message
        super().__init__(f"{path}: {message}")


class MissingClass(JobProblem):
    """The job names a priority class that is not there."""

    def __init__(self, path: str, error: UnknownClassError) -> None:
        self.kind = error.kind
        self.name = error.name
        super().__init__(path, str(error))


def workload_of_job(
    model: Job, queue: str, rules: PodRules, priorities: Priorities, birth: Birth
) -> objects.Workload:
    """Return the Workload of a Job in a LocalQueue. Raises JobProblem."""
    spec = model.spec
    count = spec.parallelism
    if spec.completions is not None:
        count = min(count, spec.completions)
    skeleton = objects.PodSet(
        name="main",
        count=count,
        min_count=_min_parallelism(model),
        topology=_topology(spec.template.metadata, "spec.template.metadata", _JOB_INDEX_LABEL),
    )
    pods = gang(skeleton, spec.template.spec, model.metadata.namespace or "default", rules)
    pod_class = spec.template.spec.priority_class_name
    return _workload(
        model.metadata,
        birth,
        name=workload_name("Job", "batch", model.metadata),
        queue=queue,
        pods=pods,
        priority=_priority(model.metadata, pod_class, priorities, "spec.template.spec"),
    )


def workload_of_pod(
    model: Pod, queue: str, rules: PodRules, priorities: Priorities, birth: Birth
) -> objects.Workload:
    """Return the Workload of a Pod that stands alone. Raises JobProblem."""
    topology = _topology(model.metadata, "metadata", None)
    skeleton = objects.PodSet(name="main", count=1, topology=topology)
    pod_class = model.spec.priority_class_name
    return _workload(
        model.metadata,
        birth,
        name=workload_name("Pod", "", model.metadata),
        queue=queue,
        pods=gang(skeleton, model.spec, model.metadata.namespace or "default", rules),
        priority=_priority(model.metadata, pod_class, priorities, "spec"),
    )


def workload_name(kind: str, group: str, metadata: ObjectMeta) -> str:
    """Return the name of the Workload that stands for an object."""
    identity = f"{kind}\n{group}\n{metadata.name}\n{metadata.uid}"
    digest = hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()
    base = f"{kind.lower()}-{metadata.name}"[: _NAME_MAX - _HASH_DIGITS - 1]
    return f"{base}-{digest[:_HASH_DIGITS]}"


def _workload(
    metadata: ObjectMeta, birth: Birth, *, name: str, queue: str, pods: Gang, priority: int
) -> objects.Workload:
    created = metadata.creation_timestamp
    return objects.Workload(
        namespace=metadata.namespace or "default",
        name=name,
        uid=metadata.uid or birth.uid,
        local_queue=queue,
        created_us=birth.created_us if created is None else parse_timestamp(created),
        pod_sets=(pods.pod_set,),
        priority=priority,
        gated_by=gates(metadata.annotations.get(GATED_BY_ANNOTATION, "")),
        max_execution_s=_max_execution_s(metadata),
        problem=pods.problem,
    )


# --- Labels and annotations ----------------------------------------------------------------------


def _priority(
    metadata: ObjectMeta, pod_class: str | None, priorities: Priorities, pods_at: str
) -> int:
    try:
        return priorities.of_job(metadata.labels, pod_class)
    except UnknownClassError as error:
        labelled = PRIORITY_CLASS_LABEL in metadata.labels
        path = _label(PRIORITY_CLASS_LABEL) if labelled else f"{pods_at}.priorityClassName"
        raise MissingClass(path, error) from None


def _min_parallelism(model: Job) -> int | None:
    text = model.metadata.annotations.get(MIN_PARALLELISM)
    if text is None:
        return None
    path = _annotation(MIN_PARALLELISM)
    minimum = _whole(text, path)
    if not 0 < minimum < model.spec.parallelism:
        message = f"{text} must be at least 1 and less than parallelism, {model.spec.parallelism}"
        raise JobProblem(path, message)
    return minimum


def _max_execution_s(metadata: ObjectMeta) -> int | None:
    text = metadata.labels.get(EXECUTION_TIME_LABEL)
    if text is None:
        return None
    seconds = _whole(text, _label(EXECUTION_TIME_LABEL))
    if seconds < 1:
        raise JobProblem(_label(EXECUTION_TIME_LABEL), f"{text} must be at least 1")
    return seconds


def _topology(
    metadata: ObjectMeta | TemplateMeta, path: str, index_label: str | None
) -> str | None:
    """Return the topologyRequest that the annotations of a pod template amount to."""
    asked = {
        key.removeprefix(_PREFIX): text
        for key, text in metadata.annotations.items()
        if key.startswith(_PREFIX)
    }
    if not asked:
        return None
    request: dict[str, Any] = {
        field: asked[name]
        for name, field in (
            ("required-topology", "required"),
            ("preferred-topology", "preferred"),
            ("slice-required-topology", "podSetSliceRequiredTopology"),
            ("group-name", "podSetGroupName"),
        )
        if name in asked
    }
    if asked.get("unconstrained-topology") == "true":
        request["unconstrained"] = True
    if "slice-size" in asked:
        at = f"{path}.annotations[{_PREFIX}slice-size]"
        request["podSetSliceSize"] = _whole(asked["slice-size"], at)
    if _CONSTRAINTS in asked:
        at = f"{path}.annotations[{_PREFIX}{_CONSTRAINTS}]"
        request["podsetSliceRequiredTopologyConstraints"] = _json_list(asked[_CONSTRAINTS], at)
    if index_label is not None:
        request["podIndexLabel"] = index_label
    return topology_text(request)


def _json_list(text: str, path: str) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise JobProblem(path, "must be a JSON list")
    return found


def _whole(text: str, path: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise JobProblem(path, f"{text!r} is not a whole number")
    if len(text) > _DIGITS_MAX or int(text) > _INT32_MAX:
        raise JobProblem(path, f"{shown(text)} is too large: at most {_INT32_MAX}")
    return int(text)


def _label(key: str) -> str:
    return f"metadata.labels[{key}]"


def _annotation(key: str) -> str:
    return f"metadata.annotations[{key}]"
