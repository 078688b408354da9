"""
LimitRanges: what containers and pods of a namespace ask for if they don't say, least and at most.

As an object it is checked; as a rule it changes and refuses pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
)
from muster.queue.sandbox.kinds.amounts import (
    container_resource_errors,
    may_overcommit,
    resource_name_errors,
)
from muster.queue.sandbox.kinds.names import label_key
from muster.queue.sandbox.kinds.pod_resources import COMPUTE, Amounts, container_amounts
from muster.queue.sandbox.kinds.quantities import nanos
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy, part

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_RATIO: Final = "maxLimitRequestRatio"


class LimitRangeStrategy(BuiltInStrategy):
    """The strategy of LimitRanges."""

    allows_create_on_update = True

    def fill(self, obj: Object) -> None:
        for limit in obj.get("spec", {}).get("limits") or ():
            if limit["type"] == "Container":
                _fill_limit(limit)

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _range_errors(obj)


def _fill_limit(limit: Object) -> None:
    """Let limits follow from the most, and requests from limits or the least."""
    defaults = {**limit.get("max", {}), **limit.get("default", {})}
    requests = {**limit.get("min", {}), **defaults, **limit.get("defaultRequest", {})}
    if defaults:
        limit["default"] = defaults
    if requests:
        limit["defaultRequest"] = requests


def _range_errors(limit_range: Shared) -> Iterator[FieldError]:
    seen: dict[str, None] = {}
    for index, limit in enumerate(part(limit_range, "spec").get("limits") or ()):
        place, kind = f"spec.limits[{index}]", limit["type"]
        wrong = label_key(kind)
        for detail in wrong:
            yield invalid_value(f"{place}.type", kind, detail)
        if not wrong and "/" not in kind and kind not in _TYPES:
            detail = "must be a standard limit type or fully qualified"
            yield invalid_value(f"{place}.type", kind, detail)
        if kind in seen:
            yield duplicate(f"{place}.type", kind)
        seen[kind] = None
        yield from _limit_names_errors(place, limit)
        amounts = (limit.get(name) or {} for name in _NAMES)
        for resource in dict.fromkeys(resource for each in amounts for resource in each):
            yield from _order_errors(place, limit, resource)


_NAMES: Final = ("max", "min", "default", "defaultRequest", _RATIO)


def _limit_names_errors(place: str, limit: Shared) -> Iterator[FieldError]:
    of_containers = limit["type"] in {"Pod", "Container"}
    name_errors = container_resource_errors if of_containers else resource_name_errors
    for name in _NAMES:
        if limit["type"] == "Pod" and name.startswith("default"):
            if limit.get(name):
                detail = "may not be specified when `type` is 'Pod'"
                yield forbidden_field(f"{place}.{name}", detail)
            continue
        for resource in limit.get(name) or ():
            yield from name_errors(f"{place}.{name}[{resource}]", resource)
    if limit["type"] == "PersistentVolumeClaim":
        storage = ("storage" in (limit.get(name) or {}) for name in ("min", "max"))
        if not any(storage):
            detail = "either minimum or maximum storage value is required, but neither was provided"
            yield required(f"{place}.limits", detail)


# Of two amounts of a resource the first may not be more: where it is told, and in which words.
_ORDERS: Final = (
    ("min", "max", "min", "min value {0} is greater than max value {1}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "min value {0} is greater than default request value {1}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "default request value {0} is greater than max value {1}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "default request value {0} is greater than default limit value {1}",
    ),
    ("min", "default", "default", "min value {0} is greater than default value {1}"),
    ("default", "max", "default", "default value {0} is greater than max value {1}"),
)


def _order_errors(place: str, limit: Shared, resource: str) -> Iterator[FieldError]:
    amounts = {
        name: limit[name][resource] for name in _NAMES if resource in (limit.get(name) or {})
    }
    for small, large, told_at, words in _ORDERS:
        if small in amounts and large in amounts and nanos(amounts[small]) > nanos(amounts[large]):
            value = amounts["max" if told_at == "default" and large == "max" else small]
            value = amounts["defaultRequest"] if told_at == "defaultRequest" else value
            detail = words.format(amounts[small], amounts[large])
            yield invalid_value(f"{place}.{told_at}[{resource}]", value, detail)
    if _RATIO in amounts:
        yield from _ratio_errors(f"{place}.{_RATIO}[{resource}]", amounts)
    both = "default" in amounts and "defaultRequest" in amounts
    if both and not may_overcommit(resource):
        limit_amount, request = amounts["default"], amounts["defaultRequest"]
        if nanos(limit_amount) != nanos(request):
            detail = (
                f"default value {limit_amount} must equal to defaultRequest value {request}"
                f" in {resource}"
            )
            yield invalid_value(f"{place}.defaultRequest[{resource}]", request, detail)


def _ratio_errors(place: str, amounts: Mapping[str, str]) -> Iterator[FieldError]:
    ratio = amounts[_RATIO]
    if nanos(ratio) < nanos("1"):
        yield invalid_value(place, ratio, f"ratio {ratio} is less than 1")
    least, most = nanos(amounts.get("min", "0")), nanos(amounts.get("max", "0"))
    if "max" in amounts and least > 0 and nanos(ratio) * least > most * nanos("1"):
        detail = f"ratio {ratio} is greater than max/min = {_decimal(Fraction(most, least))}"
        yield invalid_value(place, ratio, detail)


def _decimal(ratio: Fraction) -> str:
    return f"{float(ratio):f}"


# -- what they do to pods ----------------------------------------------------------------------


def apply_limits(limit_range: Shared, pod: Object) -> None:
    """Fill what the containers of a pod don't ask for, and say so in an annotation."""
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for limit in part(limit_range, "spec").get("limits") or ():
        if limit["type"] == "Container":
            requests |= limit.get("defaultRequest") or {}
            limits |= limit.get("default") or {}
    told: list[str] = []
    for name, words in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(name) or ():
            for kind, amounts in (("requests", requests), ("limits", limits)):
                if added := _add_missing(container["resources"], kind, amounts):
                    what = kind.removesuffix("s")
                    told.append(f"{', '.join(added)} {what} for {words} {container['name']}")
    if told:
        annotations = pod["metadata"].get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(told)}"
        pod["metadata"]["annotations"] = {**annotations, ANNOTATION: text}


def _add_missing(resources: Object, kind: str, amounts: Amounts) -> list[str]:
    """Return which resources were missing, in order."""
    given = resources.get(kind) or {}
    added = sorted(name for name in amounts if name not in given)
    if added:
        resources[kind] = {**amounts, **given}
    return added


def limits_errors(limit_range: Shared, pod: Shared) -> Iterator[str]:
    """Yield what a pod asks for that its namespace does not allow."""
    spec = pod["spec"]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for limit in part(limit_range, "spec").get("limits") or ():
        if limit["type"] == "Container":
            for container in containers:
                resources = container["resources"]
                requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
                yield from _bounds_errors(limit, requests, limits)
        elif limit["type"] == "Pod":
            yield from _bounds_errors(
                limit, _pod_amounts(spec, "requests"), _pod_amounts(spec, "limits")
            )


def _pod_amounts(spec: Shared, kind: str) -> Amounts:
    whole = part(spec, "resources", kind)
    return {
        **container_amounts(spec, kind),
        **{name: amount for name, amount in whole.items() if name in COMPUTE},
    }


def _bounds_errors(limit: Shared, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for name, least in (limit.get("min") or {}).items():
        wrong = _least_error(name, least, requests, limits)
        if wrong:
            yield f"minimum {name} usage per {kind} is {least}{wrong}"
    for name, most in (limit.get("max") or {}).items():
        wrong = _most_error(name, most, requests, limits)
        if wrong:
            yield f"maximum {name} usage per {kind} is {most}{wrong}"
    for name, ratio in (limit.get(_RATIO) or {}).items():
        wrong = _ratio_error(name, ratio, requests, limits)
        if wrong:
            yield f"{name} max limit to request ratio per {kind} is {ratio}{wrong}"


def _least_error(name: str, least: str, requests: Amounts, limits: Amounts) -> str:
    if name not in requests:
        return ".  No request is specified"
    for kind, amounts in (("request", requests), ("limit", limits)):
        if name in amounts and nanos(amounts[name]) < nanos(least):
            return f", but {kind} is {amounts[name]}"
    return ""


def _most_error(name: str, most: str, requests: Amounts, limits: Amounts) -> str:
    if name not in limits:
        return ".  No limit is specified"
    for kind, amounts in (("limit", limits), ("request", requests)):
        if name in amounts and nanos(amounts[name]) > nanos(most):
            return f", but {kind} is {amounts[name]}"
    return ""


def _ratio_error(name: str, ratio: str, requests: Amounts, limits: Amounts) -> str:
    request, limit = nanos(requests.get(name, "0")), nanos(limits.get(name, "0"))
    if request == 0:
        return ", but no request is specified or request is 0"
    if limit == 0:
        return ", but no limit is specified or limit is 0"
    if limit * nanos("1") > nanos(ratio) * request:
        return f", but provided ratio is {_decimal(Fraction(limit, request))}"
    return ""
