"""
From a pod template to what one pod asks for, exactly.

Three steps, each its own function: `adjusted` fills in what the namespace and the runtime class
add to a template, `pod_requests` says what a pod of it needs while its containers come and go, and
`effective_requests` turns that into what quota is counted in. `problem` says why a template cannot
run in its namespace at all.

A *quantity* here is an int in nanos, the finest unit a Kubernetes quantity has: 500m of CPU is
500_000_000, 1Ki of memory is 1024 * NANO. Sums and products stay exact; the one rounding, up, is
the conversion to amounts at the very end.

Quota of the resource `pods` is no business of this module: it follows from the admitted count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from muster.admission.amounts import INFINITE

NANO: Final = 10**9
"""One unit (core, byte, device) as a quantity."""

Quantities: TypeAlias = Mapping[str, int]
"""Nanos by resource name."""


# --- What goes in --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Requests and limits as written in a container or for a whole pod."""

    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    name: str
    resources: Resources = Resources()
    restartable: bool = False
    """True for an init container that keeps running beside the others: a sidecar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTemplate:
    """The part of a pod template that decides how much a pod asks for."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    pod_level: Resources | None = None
    """Resources declared for the pod as a whole."""
    overhead: Quantities = field(default_factory=dict)
    runtime_class: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What LimitRanges say about one type of object; see `LimitRanges`."""

    min: Quantities = field(default_factory=dict)
    max: Quantities = field(default_factory=dict)
    default: Quantities = field(default_factory=dict)
    """Limits for who has none."""
    default_request: Quantities = field(default_factory=dict)
    """Requests for who has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRanges:
    """All LimitRanges of a namespace taken together."""

    container: Limits = Limits()
    pod: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformation:
    """Count one resource as others: every `input` adds `outputs` times itself.

    `multiply_by` names a resource of the same pod whose quantity is a further factor. The input
    itself is counted as well if `retain`.
    """

    input: str
    outputs: Quantities = field(default_factory=dict)
    multiply_by: str | None = None
    retain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingRules:
    """How the administrator wants resources counted: the `resources` block of the configuration."""

    excluded_prefixes: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    """At most one per input."""


# --- The namespace and the runtime class ---------------------------------------------------------


def summary(limits: Iterable[Limits]) -> Limits:
    """Take several LimitRange items of one type together, in order.

    The strictest bound holds; of several defaults the first.
    """
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    default: dict[str, int] = {}
    default_request: dict[str, int] = {}
    for item in limits:
        for name, quantity in item.min.items():
            least[name] = max(quantity, least.get(name, quantity))
        for name, quantity in item.max.items():
            most[name] = min(quantity, most.get(name, quantity))
        default = {**item.default, **default}
        default_request = {**item.default_request, **default_request}
    return Limits(min=least, max=most, default=default, default_request=default_request)


def adjusted(
    template: PodTemplate, limit_ranges: LimitRanges, overheads: Mapping[str, Quantities]
) -> PodTemplate:
    """Return the template with everything its namespace and runtime class add.

    `overheads` are the fixed overheads by runtime class; a class that is missing adds nothing.
    """
    overhead = template.overhead
    if template.runtime_class is not None and not overhead:
        overhead = overheads.get(template.runtime_class, {})
    return replace(
        template,
        containers=_with_defaults(template.containers, limit_ranges.container),
        init_containers=_with_defaults(template.init_containers, limit_ranges.container),
        pod_level=template.pod_level and _filled(template.pod_level, limit_ranges.pod),
        overhead=overhead,
    )


def _with_defaults(containers: tuple[Container, ...], limits: Limits) -> tuple[Container, ...]:
    return tuple(
        replace(container, resources=_filled(container.resources, limits))
        for container in containers
    )


def _filled(resources: Resources, limits: Limits) -> Resources:
    """Fill in defaults, then request what is limited but not requested."""
    limited = {**limits.default, **resources.limits}
    return Resources(
        requests={**limited, **limits.default_request, **resources.requests}, limits=limited
    )


# --- What a pod needs ----------------------------------------------------------------------------


def pod_requests(template: PodTemplate) -> dict[str, int]:
    """Return the most a pod needs at any moment of its life, in nanos by resource.

    Init containers run one after the other, sidecars among them go on running, then all containers
    run at once. Resources declared for the pod as a whole replace the sums. The overhead comes on
    top.
    """
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in template.init_containers:
        if container.restartable:
            sidecars = _sum(sidecars, container.resources.requests)
            peak = _max(peak, sidecars)
        else:
            peak = _max(peak, _sum(sidecars, container.resources.requests))
    main = sidecars
    for container in template.containers:
        main = _sum(main, container.resources.requests)
    needed = _max(peak, main)
    if template.pod_level is not None:
        for name, quantity in template.pod_level.requests.items():
            if _is_pod_level(name):
                needed[name] = quantity
    return _sum(needed, template.overhead)


def _is_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _sum(left: Quantities, right: Quantities) -> dict[str, int]:
    return {**left, **{name: left.get(name, 0) + quantity for name, quantity in right.items()}}


def _max(left: Quantities, right: Quantities) -> dict[str, int]:
    return {**left, **{name: max(left.get(name, q), q) for name, q in right.items()}}


# --- What is counted -----------------------------------------------------------------------------


def effective_requests(template: PodTemplate, rules: CountingRules) -> tuple[tuple[str, int], ...]:
    """Return what one pod is charged, as amounts by resource, sorted by name.

    Excluded resources are gone before any transformation sees them. What transformations generate
    is added to what is requested and never takes away from it.
    """
    requested = {
        name: quantity
        for name, quantity in pod_requests(template).items()
        if not name.startswith(rules.excluded_prefixes)
    }
    kept = dict(requested)
    generated: dict[str, int] = {}  # quantity x quantity x quantity: in units of NANO**-3
    for rule in rules.transformations:
        if rule.input not in requested:
            continue
        factor = NANO if rule.multiply_by is None else requested.get(rule.multiply_by, NANO)
        base = requested[rule.input] * factor
        generated = _sum(generated, {name: base * each for name, each in rule.outputs.items()})
        if not rule.retain:
            del kept[rule.input]
    totals = {name: quantity * NANO**2 for name, quantity in kept.items()}
    totals = _sum(totals, {name: max(0, total) for name, total in generated.items()})
    return tuple((name, _amount(name, total)) for name, total in sorted(totals.items()))


def _amount(resource: str, total: int) -> int:
    """Round a total in units of NANO**-3 up to an amount, within what 64 bits hold."""
    units = total * 1000 if resource == "cpu" else total
    return min(max(0, -(-units // NANO**3)), INFINITE)


# --- What cannot run -----------------------------------------------------------------------------


def problem(template: PodTemplate, limit_ranges: LimitRanges) -> str | None:
    """Return everything that keeps pods of an adjusted template out of the namespace, or None."""
    found: list[str] = []
    for container in chain(template.init_containers, template.containers):
        who = f"container {container.name!r}"
        found += _over_own_limits(who, container.resources)
        requests, limits = container.resources.requests, container.resources.limits
        least = {**requests, **limits, **{n: min(q, limits.get(n, q)) for n, q in requests.items()}}
        found += _out_of_range(who, least, _max(requests, limits), limit_ranges.container)
    if template.pod_level is not None:
        found += _over_own_limits("the pod", template.pod_level)
    needed = pod_requests(template)
    found += _out_of_range("the pod", needed, needed, limit_ranges.pod)
    return "; ".join(found) or None


def _over_own_limits(who: str, resources: Resources) -> list[str]:
    return [
        f"{who} requests {quantity_text(name, quantity)} of {name}, more than its own limit of "
        f"{quantity_text(name, resources.limits[name])}"
        for name, quantity in sorted(resources.requests.items())
        if name in resources.limits and quantity > resources.limits[name]
    ]


def _out_of_range(who: str, least: Quantities, most: Quantities, limits: Limits) -> list[str]:
    too_little = [
        f"{who} asks for {quantity_text(name, least[name])} of {name}, less than the "
        f"{quantity_text(name, bound)} that a LimitRange of the namespace demands"
        for name, bound in sorted(limits.min.items())
        if name in least and least[name] < bound
    ]
    too_much = [
        f"{who} asks for {quantity_text(name, most[name])} of {name}, more than the "
        f"{quantity_text(name, bound)} that a LimitRange of the namespace allows"
        for name, bound in sorted(limits.max.items())
        if name in most and most[name] > bound
    ]
    return too_little + too_much


def quantity_text(resource: str, nanos: int) -> str:
    """Write a quantity exactly, the way people write it: 1500m of CPU, 4Gi of memory."""
    if nanos % NANO:
        for suffix, scale in (("m", 10**6), ("u", 10**3)):
            if nanos % scale == 0:
                return f"{nanos // scale}{suffix}"
        return f"{nanos}n"
    units = nanos // NANO
    if units and (resource in _BYTES or resource.startswith("hugepages-")):
        for suffix, scale in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
            if units % scale == 0:
                return f"{units // scale}{suffix}"
    return str(units)


_BYTES: Final = ("memory", "ephemeral-storage")
