"""
What may be asked for in `requests` and `limits`: names of resources and amounts of them.

For containers, pods as a whole, and the limits of a namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from muster.queue.api.quantities import NANO, parse_quantity
from muster.queue.client.refusal import FieldError, forbidden_field, invalid_value, required
from muster.queue.sandbox.kinds.metadata import not_found
from muster.queue.sandbox.kinds.names import label_key
from muster.queue.sandbox.kinds.pod_resources import HUGE_PAGES, is_pod_level
from muster.queue.sandbox.kinds.quantities import nanos
from muster.queue.sandbox.kinds.resources import Shared

NameErrors = Callable[[str, str], Iterator[FieldError]]
"""Yields what is wrong with the name of a resource, given its place and the name."""

_OF_CONTAINERS: Final = ("cpu", "memory", "ephemeral-storage")
_OF_QUOTAS: Final = (
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_COUNTED: Final = ("pods", "services", "replicationcontrollers", "resourcequotas", "secrets")
_STANDARD: Final = (
    *_OF_CONTAINERS,
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _OF_CONTAINERS),
    "requests.storage",
    "storage",
    *_OF_QUOTAS,
)
_NATIVE_DOMAIN: Final = "kubernetes.io/"


def is_standard(resource: str) -> bool:
    """Say whether a resource without a domain is one that Kubernetes knows."""
    return resource in _STANDARD or resource.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def is_native(resource: str) -> bool:
    """Say whether a resource is Kubernetes' own and not an extended one, such as devices."""
    return "/" not in resource or _NATIVE_DOMAIN in resource


def is_extended(resource: str) -> bool:
    """Say whether a resource is counted by those who bring it, such as devices."""
    if is_native(resource) or resource.startswith("requests."):
        return False
    return not label_key(f"requests.{resource}")


def may_overcommit(resource: str) -> bool:
    """Say whether limits may be more than requests."""
    return is_native(resource) and not resource.startswith(HUGE_PAGES)


def resource_name_errors(place: str, resource: str) -> Iterator[FieldError]:
    """Yield what is wrong with the name of a resource of whatever kind."""
    wrong = label_key(resource)
    for detail in wrong:
        yield invalid_value(place, resource, detail)
    if not wrong and "/" not in resource and not is_standard(resource):
        detail = "must be a standard resource type or fully qualified"
        yield invalid_value(place, resource, detail)


def container_resource_errors(place: str, resource: str) -> Iterator[FieldError]:
    """Yield what is wrong with the name of a resource that a container asks for."""
    yield from resource_name_errors(place, resource)
    if "/" not in resource:
        if resource not in _OF_CONTAINERS and not resource.startswith(HUGE_PAGES):
            yield invalid_value(place, resource, "must be a standard resource for containers")
    elif not is_native(resource) and not is_extended(resource):
        yield invalid_value(place, resource, "doesn't follow extended resource name standard")


def pod_resource_errors(place: str, resource: str) -> Iterator[FieldError]:
    """Yield what is wrong with the name of a resource that a pod asks for as a whole."""
    wrong = [*resource_name_errors(place, resource)]
    yield from wrong
    if not wrong and not is_pod_level(resource):
        detail = 'supported values: "cpu", "hugepages-", "memory"'
        yield FieldError(
            "FieldValueNotSupported", place, f'Unsupported value: "{resource}": {detail}'
        )


def amount_errors(place: str, resource: str, amount: str) -> Iterator[FieldError]:
    """Yield what is wrong with an amount of a resource."""
    value = nanos(amount)
    if value < 0:
        yield invalid_value(place, amount, "must be greater than or equal to 0")
    whole = resource in _COUNTED or is_extended(resource)
    if whole and value % NANO:
        yield invalid_value(place, amount, "must be an integer")


def requirements_errors(
    place: str, requirements: Shared, name_errors: NameErrors = container_resource_errors
) -> Iterator[FieldError]:
    """Yield what is wrong with requests and limits."""
    limits = requirements.get("limits") or {}
    requests = requirements.get("requests") or {}
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for resource, amount in amounts.items():
            at = f"{place}.{kind}[{resource}]"
            yield from name_errors(at, resource)
            yield from amount_errors(at, resource, amount)
            if resource.startswith(HUGE_PAGES):
                yield from _page_errors(at, resource, amount)
            if kind == "requests":
                yield from _limit_errors(place, resource, amount, limits.get(resource))
    names = (*limits, *requests)
    if any(name.startswith(HUGE_PAGES) for name in names) and not (
        "cpu" in names or "memory" in names
    ):
        yield forbidden_field(place, "HugePages require cpu or memory")


def _limit_errors(
    place: str, resource: str, request: str, limit: str | None
) -> Iterator[FieldError]:
    """Yield what is wrong with a request beside its limit."""
    if limit is None:
        if not may_overcommit(resource):
            detail = "Limit must be set for non overcommitable resources"
            yield required(f"{place}.limits", detail)
        return
    more = nanos(request) - nanos(limit)
    if more and not may_overcommit(resource):
        detail = f"must be equal to {resource} limit of {limit}"
        yield invalid_value(f"{place}.requests", request, detail)
    elif more > 0:
        detail = f"must be less than or equal to {resource} limit of {limit}"
        yield invalid_value(f"{place}.requests", request, detail)


def _page_errors(place: str, resource: str, amount: str) -> Iterator[FieldError]:
    """Yield what is wrong with an amount of memory in huge pages."""
    size = resource.removeprefix(HUGE_PAGES)
    try:
        page = parse_quantity(size)
    except ValueError:
        page = 0
    # What is no size of a page has no multiple.
    if page <= 0 or nanos(amount) % page:
        detail = f"{amount} is not positive integer multiple of {resource}"
        yield invalid_value(place, amount, detail)


def claims_errors(
    place: str, claims: list[Shared], known: Shared | dict[str, bool]
) -> Iterator[FieldError]:
    """Yield what is wrong with the claims of a container: those its pod doesn't have."""
    for index, claim in enumerate(claims):
        name = claim.get("name") or ""
        if not name:
            yield required(f"{place}[{index}]")
        elif name not in known:
            yield not_found(f"{place}[{index}]", name)
