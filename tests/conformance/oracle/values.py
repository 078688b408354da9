"""Numbers as the API writes them, and the arithmetic of amounts: at the limit means unlimited."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from fractions import Fraction
from math import ceil
from typing import Any

Json = Mapping[str, Any]
Pair = tuple[str, str]
"""A flavor and a resource."""
Amounts = dict[Pair, int]
Quantities = dict[str, Fraction]

UNLIMITED = 2**63 - 1
NONE_AT_ALL = -(2**63)
SUFFIXES = {"": Fraction(1), "m": Fraction(1, 10**3), "u": Fraction(1, 10**6)}
SUFFIXES["n"] = Fraction(1, 10**9)
for power, letter in enumerate("kMGTPE", start=1):
    SUFFIXES[letter] = Fraction(1000**power)
    SUFFIXES[letter.upper() + "i"] = Fraction(1024**power)


def quantity(text: object) -> Fraction:
    number = str(text)
    digits = len(number)
    while digits and not number[digits - 1].isdigit():
        digits -= 1
    return Fraction(number[:digits]) * SUFFIXES[number[digits:]]


def amount(resource: str, number: Fraction) -> int:
    """Return whole units, cpu in thousandths, within what counts."""
    scale = 1000 if resource == "cpu" else 1
    return max(0, min(ceil(number * scale), UNLIMITED))


def plus(left: int, right: int) -> int:
    if left >= UNLIMITED or right >= UNLIMITED:
        return UNLIMITED
    return min(left + right, UNLIMITED)


def minus(left: int, right: int) -> int:
    if left >= UNLIMITED:
        return 0 if right >= UNLIMITED else UNLIMITED
    return NONE_AT_ALL if right >= UNLIMITED else left - right


def instant(text: str) -> int:
    """Return microseconds since the epoch."""
    return int(datetime.fromisoformat(text).timestamp() * 10**6)


def whole(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def resource_order(resource: str) -> int:
    """Return the 64-bit FNV-1a hash of a name: the order in which resources are assigned."""
    digest = 0xCBF29CE484222325
    for byte in resource.encode():
        digest = ((digest ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return digest


# --- What a pod asks for -------------------------------------------------------------------------


def _sum(left: Quantities, right: Quantities) -> Quantities:
    zero = Fraction(0)
    return {name: left.get(name, zero) + right.get(name, zero) for name in {**left, **right}}


def _most(left: Quantities, right: Quantities) -> Quantities:
    zero = Fraction(0)
    return {name: max(left.get(name, zero), right.get(name, zero)) for name in {**left, **right}}


def _requests(container: Json) -> Quantities:
    """Return the requests of a container; a limit without a request is one."""
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: quantity(text) for name, text in asked.items()}


def pod_requests(spec: Json) -> dict[str, int]:
    """Return what one pod asks for: its containers, or its start if that takes more."""
    main: Quantities = {}
    for container in spec.get("containers", ()):
        main = _sum(main, _requests(container))
    sidecars: Quantities = {}
    peak: Quantities = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = _sum(sidecars, _requests(container))
            main = _sum(main, _requests(container))
            peak = _most(peak, sidecars)
        else:
            peak = _most(peak, _sum(sidecars, _requests(container)))
    whole_pod = (spec.get("resources") or {}).get("requests") or {}
    asked = {**_most(main, peak), **{name: quantity(text) for name, text in whole_pod.items()}}
    asked = _sum(asked, {name: quantity(t) for name, t in (spec.get("overhead") or {}).items()})
    return {name: amount(name, number) for name, number in asked.items()}


def containers(spec: Json) -> Iterable[Json]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def asks_beyond_its_limits(spec: Json) -> bool:
    for container in containers(spec):
        resources = container.get("resources") or {}
        limits = resources.get("limits") or {}
        for name, text in (resources.get("requests") or {}).items():
            if name in limits and quantity(text) > quantity(limits[name]):
                return True
    return False


def shape(spec: Json) -> str:
    """Return a text that is the same for pods no decision can tell apart."""
    copy = json.loads(json.dumps(spec))
    for container in containers(copy):
        assert isinstance(container, dict)
        for ignored in ("name", "image"):
            container.pop(ignored, None)
        resources = container.get("resources")
        if resources and resources.get("limits"):
            limits = resources.pop("limits")
            resources["requests"] = {**limits, **(resources.get("requests") or {})}
    return json.dumps(copy, sort_keys=True)


# --- Selectors and taints ------------------------------------------------------------------------


def selects(selector: Json | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    equal = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in equal) and all(
        holds(each, labels) for each in selector.get("matchExpressions") or ()
    )


def holds(expression: Json, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    values = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            return _compares(operator, value, values[0] if values else None)


def tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return (toleration.get("value") or "") == (taint.get("value") or "")
        case operator:
            return _compares(operator, taint.get("value"), toleration.get("value"))


def _compares(operator: str, left: object, right: object) -> bool:
    ours, theirs = whole(left), whole(right)
    if ours is None or theirs is None:
        return False
    return ours > theirs if operator == "Gt" else ours < theirs
