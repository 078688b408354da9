"""
What pods ask for and may use: sums over their containers, classes of service, pod-level amounts.

Amounts are quantities in canonical form by the name of a resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from muster.queue.sandbox.kinds.quantities import nanos, sum_of
from muster.queue.sandbox.kinds.resources import Object, Shared

Amounts = Mapping[str, str]

HUGE_PAGES: Final = "hugepages-"
COMPUTE: Final = ("cpu", "memory")
"""What decides the class of service, and pods can ask for as a whole."""


def is_pod_level(resource: str) -> bool:
    """Say whether a resource can be asked for by a pod as a whole."""
    return resource in COMPUTE or resource.startswith(HUGE_PAGES)


def container_amounts(spec: Shared, kind: str) -> dict[str, str]:
    """
    Return the "requests" or "limits" that the containers of a pod have at one time, at most.

    Init containers run one after another before the others; those that restart always stay.
    """
    total: dict[str, str] = {}
    peak: dict[str, str] = {}
    sidecars: dict[str, str] = {}
    for container in spec.get("initContainers") or ():
        amounts = (container.get("resources") or {}).get(kind) or {}
        if container.get("restartPolicy") == "Always":
            sidecars = _added(sidecars, amounts)
            peak = _larger(peak, sidecars)
        else:
            peak = _larger(peak, _added(sidecars, amounts))
    for container in spec.get("containers") or ():
        total = _added(total, (container.get("resources") or {}).get(kind) or {})
    return _larger(_added(total, sidecars), peak)


def _added(one: Amounts, other: Amounts) -> dict[str, str]:
    return {
        name: sum_of([amounts[name] for amounts in (one, other) if name in amounts])
        for name in dict.fromkeys((*one, *other))
    }


def _larger(one: Amounts, other: Amounts) -> dict[str, str]:
    result = dict(one)
    for name, amount in other.items():
        if name not in result or nanos(amount) > nanos(result[name]):
            result[name] = amount
    return result


def fill_pod_resources(spec: Object) -> None:
    """Fill the resources of a pod as a whole, where its author has begun to."""
    resources = spec.get("resources") or {}
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    if limits or requests:
        for name, amount in container_amounts(spec, "limits").items():
            if name.startswith(HUGE_PAGES) and name not in requests:
                limits.setdefault(name, amount)
    if not limits:
        return
    for name, amount in container_amounts(spec, "requests").items():
        if name in COMPUTE:
            requests.setdefault(name, amount)
    requests = {name: amount for name, amount in limits.items() if is_pod_level(name)} | requests
    spec["resources"] = {**resources, "limits": limits}
    if requests:
        spec["resources"]["requests"] = requests


def service_class(pod: Shared) -> str:
    """Return the class of service: Guaranteed, Burstable or BestEffort."""
    spec = pod["spec"]
    whole = spec.get("resources")
    if whole:
        holders = [whole]
    else:
        containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
        holders = [container.get("resources") or {} for container in containers]
    requests = _classed(holders, "requests")
    limits = _classed(holders, "limits")
    if not requests and not limits:
        return "BestEffort"
    guaranteed = all(
        all(nanos(_of(holder, "limits", name)) > 0 for name in COMPUTE) for holder in holders
    )
    equal = requests.keys() <= limits.keys() and all(
        requests[name] == limits[name] for name in requests
    )
    same = len(requests) == len(limits)
    return "Guaranteed" if guaranteed and equal and same else "Burstable"


def _classed(holders: Iterable[Shared], kind: str) -> dict[str, int]:
    """Return the sums of what counts for the class of service, in nano-units."""
    sums: dict[str, int] = {}
    for holder in holders:
        for name in COMPUTE:
            if (amount := nanos(_of(holder, kind, name))) > 0:
                sums[name] = sums.get(name, 0) + amount
    return sums


def _of(holder: Shared, kind: str, resource: str) -> str:
    amount: str = (holder.get(kind) or {}).get(resource, "0")
    return amount
