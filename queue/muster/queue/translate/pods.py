"""
Pod templates as engine values: what one pod asks for, and where it may run.

A pod asks for what its template says, what its namespace fills in (LimitRanges), what its runtime
class costs, counted as the administrator wants it (`requests`). Two templates give equal pod sets
exactly when decisions cannot tell them apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from muster.admission import objects, requests
from muster.queue.api.core import LimitRange, LimitRangeItem, RuntimeClass
from muster.queue.api.pods import Affinity, Container, PodSpec, ResourceRequirements
from muster.queue.api.quantities import parse_quantity
from muster.queue.translate.queues import tolerations

_SHAPE_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRules:
    """What is added to a pod template by others than its author."""

    limit_ranges: Mapping[str, requests.LimitRanges] = field(default_factory=dict)
    """By namespace."""
    overheads: Mapping[str, requests.Quantities] = field(default_factory=dict)
    """By runtime class."""
    counting: requests.CountingRules = field(default_factory=requests.CountingRules)


def limit_ranges(models: Iterable[LimitRange]) -> dict[str, requests.LimitRanges]:
    """Return what the LimitRanges of each namespace say together."""
    items: dict[str, list[LimitRangeItem]] = {}
    for model in models:
        items.setdefault(model.metadata.namespace or "default", []).extend(model.spec.limits)
    return {
        namespace: requests.LimitRanges(
            container=requests.summary(_limits(i) for i in found if i.type == "Container"),
            pod=requests.summary(_limits(i) for i in found if i.type == "Pod"),
        )
        for namespace, found in items.items()
    }


def _limits(item: LimitRangeItem) -> requests.Limits:
    return requests.Limits(
        min=_nanos(item.min),
        max=_nanos(item.max),
        default=_nanos(item.default),
        default_request=_nanos(item.default_request),
    )


def overheads(models: Iterable[RuntimeClass]) -> dict[str, requests.Quantities]:
    """Return the fixed overhead of each runtime class that has one."""
    return {m.metadata.name: _nanos(m.overhead.pod_fixed) for m in models if m.overhead}


class Gang(NamedTuple):
    """A pod set, and why its pods cannot run in their namespace, if so."""

    pod_set: objects.PodSet
    problem: str | None


def gang(skeleton: objects.PodSet, spec: PodSpec, namespace: str, rules: PodRules) -> Gang:
    """Return a pod set whose name, counts and topology are given, with what its pods ask for."""
    ranges = rules.limit_ranges.get(namespace, requests.LimitRanges())
    template = requests.adjusted(_template(spec), ranges, rules.overheads)
    problem = requests.problem(template, ranges) or _claims_problem(spec)
    pod_set = replace(
        skeleton,
        requests=requests.effective_requests(template, rules.counting),
        node_selector=tuple(sorted(spec.node_selector.items())),
        affinity=_required_terms(spec.affinity),
        tolerations=tolerations(spec.tolerations),
        shape=_shape(spec, template),
    )
    return Gang(pod_set, problem and f"pod set {skeleton.name!r}: {problem}")


def _claims_problem(spec: PodSpec) -> str | None:
    """Devices are not counted, so who asks for them must not pass for one who asks for nothing."""
    if not spec.resource_claims:
        return None
    names = ", ".join(claim.name for claim in spec.resource_claims)
    return f"resource claims are not supported yet, and it has {names}"


def topology_text(request: Mapping[str, Any]) -> str:
    """Return a topologyRequest, as the API writes it, as the text that stands for it."""
    return json.dumps(request, sort_keys=True)


def _template(spec: PodSpec) -> requests.PodTemplate:
    return requests.PodTemplate(
        containers=tuple(_container(each) for each in spec.containers),
        init_containers=tuple(_container(each) for each in spec.init_containers),
        pod_level=None if spec.resources is None else _resources(spec.resources),
        overhead=_nanos(spec.overhead),
        runtime_class=spec.runtime_class_name,
    )


def _container(model: Container) -> requests.Container:
    return requests.Container(
        name=model.name,
        resources=_resources(model.resources),
        restartable=model.restart_policy == "Always",
    )


def _resources(model: ResourceRequirements) -> requests.Resources:
    return requests.Resources(requests=_nanos(model.requests), limits=_nanos(model.limits))


def _nanos(quantities: Mapping[str, str]) -> dict[str, int]:
    return {resource: parse_quantity(text) for resource, text in quantities.items()}


def _required_terms(affinity: Affinity | None) -> tuple[objects.NodeTerm, ...] | None:
    if affinity is None or affinity.node_affinity is None:
        return None
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    if required is None:
        return None
    # The nodes of a flavor are not known by name, so matchFields cannot be judged here.
    return tuple(
        tuple(objects.Requirement(e.key, e.operator, e.values) for e in term.match_expressions)
        for term in required.node_selector_terms
    )


def _shape(spec: PodSpec, template: requests.PodTemplate) -> str:
    """Return a digest of what else makes pods different to whoever places them."""
    extra = spec.model_extra or {}
    story = {
        "containers": [
            _asked(*pair) for pair in zip(spec.containers, template.containers, strict=True)
        ],
        "initContainers": [
            _asked(*pair)
            for pair in zip(spec.init_containers, template.init_containers, strict=True)
        ],
        "resources": None if template.pod_level is None else dict(template.pod_level.requests),
        "overhead": dict(template.overhead),
        "affinity": None if spec.affinity is None else spec.affinity.model_dump(mode="json"),
        "priority": spec.priority,
        "runtimeClassName": spec.runtime_class_name,
        "resourceClaims": [claim.model_dump() for claim in spec.resource_claims],
        "topologySpreadConstraints": extra.get("topologySpreadConstraints"),
    }
    text = json.dumps(story, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_SHAPE_DIGITS]


def _asked(model: Container, container: requests.Container) -> list[object]:
    ports = (model.model_extra or {}).get("ports")
    return [dict(container.resources.requests), ports, container.restartable]
