"""Workloads as engine values: what is asked for, and what was decided about it so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from muster.admission import objects
from muster.queue.api import assignments
from muster.queue.api.quantities import request_amount
from muster.queue.api.timestamps import parse_timestamp
from muster.queue.api.workload import (
    GATED_BY_ANNOTATION,
    PRIORITY_BOOST_ANNOTATION,
    AdmissionCheckState,
    PodSetTopologyRequest,
    Workload,
)
from muster.queue.translate.pods import PodRules, gang, topology_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """What an API server adds to an object that is created; used where none has seen it yet."""

    uid: str = ""
    created_us: int = 0


def workload(model: Workload, rules: PodRules, birth: Birth) -> objects.Workload:
    """Return what a Workload asks for."""
    metadata, spec = model.metadata, model.spec
    namespace = metadata.namespace or "default"
    gangs = [
        gang(
            objects.PodSet(
                name=pod_set.name,
                count=pod_set.count,
                min_count=pod_set.min_count,
                topology=_topology(pod_set.topology_request),
            ),
            pod_set.template.spec,
            namespace,
            rules,
        )
        for pod_set in spec.pod_sets
    ]
    created = metadata.creation_timestamp
    return objects.Workload(
        namespace=namespace,
        name=metadata.name,
        uid=metadata.uid or birth.uid,
        local_queue=spec.queue_name or "",
        created_us=birth.created_us if created is None else parse_timestamp(created),
        pod_sets=tuple(each.pod_set for each in gangs),
        priority=spec.priority or 0,
        priority_boost=_boost(metadata.annotations.get(PRIORITY_BOOST_ANNOTATION, "")),
        active=spec.active,
        generation=metadata.generation,
        gated_by=gates(metadata.annotations.get(GATED_BY_ANNOTATION, "")),
        max_execution_s=spec.maximum_execution_time_seconds,
        problem="; ".join(each.problem for each in gangs if each.problem) or None,
    )


def _topology(request: PodSetTopologyRequest | None) -> str | None:
    if request is None:
        return None
    return topology_text(request.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _boost(text: str) -> int:
    """Return what is added to the priority; text that is no 32-bit integer adds nothing."""
    boost = int(text) if _INTEGER.fullmatch(text) else 0
    return boost if -(2**31) <= boost < 2**31 else 0


_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")


def gates(text: str) -> tuple[str, ...]:
    """Return the names in an admission-gated-by annotation."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


# --- What was decided ----------------------------------------------------------------------------


def status(model: Workload) -> objects.Status:
    """Return what was decided about a Workload; conditions that are Unknown are left out."""
    said = model.status
    counts = {pod_set.name: pod_set.count for pod_set in model.spec.pod_sets}
    requeue = said.requeue_state
    stats = said.scheduling_stats
    return objects.Status(
        admission=None if said.admission is None else _admission(said.admission, counts),
        conditions={
            each.type: objects.Condition(
                status=each.status == "True",
                reason=each.reason,
                since_us=parse_timestamp(each.last_transition_time),
                message=each.message,
            )
            for each in said.conditions
            if each.status != "Unknown"
        },
        checks=tuple(_check(check) for check in said.admission_checks),
        reclaimable={pods.name: pods.count for pods in said.reclaimable_pods},
        requeue_at_us=(
            None
            if requeue is None or requeue.requeue_at is None
            else parse_timestamp(requeue.requeue_at)
        ),
        requeue_count=(requeue.count or 0) if requeue else 0,
        past_execution_s=said.accumulated_past_execution_time_seconds or 0,
        evictions=tuple(
            objects.EvictionCount(each.reason, each.underlying_cause, each.count)
            for each in (stats.evictions if stats else ())
        ),
    )


def _admission(model: assignments.Admission, counts: Mapping[str, int]) -> objects.Admission:
    return objects.Admission(
        cluster_queue=model.cluster_queue,
        pod_sets=tuple(
            objects.PodSetAssignment(
                name=each.name,
                flavors=each.flavors,
                usage={
                    resource: request_amount(resource, text)
                    for resource, text in each.resource_usage.items()
                },
                count=counts.get(each.name, 0) if each.count is None else each.count,
            )
            for each in model.pod_set_assignments
        ),
    )


def _check(model: AdmissionCheckState) -> objects.Check:
    return objects.Check(
        name=model.name,
        state=objects.CheckState(model.state),
        since_us=parse_timestamp(model.last_transition_time),
        requeue_after_s=model.requeue_after_seconds,
        retries=model.retry_count or 0,
        message=model.message,
    )
