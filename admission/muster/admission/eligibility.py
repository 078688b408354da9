"""
Whether the pods of a pod set may run on the nodes of a flavor, and which labels a selector selects.

A flavor stands for nodes: it lists labels they have and taints they carry. Pods are kept off by a
taint that neither they nor the flavor tolerate, and by a node selector or required affinity that
contradicts the flavor's labels. What they ask of labels the flavor does not list is left to the
scheduler of pods: some nodes of the flavor may have them.

Preferences are ignored here, capacity too. A refusal is a value; `explain` puts it in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from muster.admission.objects import (
    LabelSelector,
    NodeTerm,
    PodSet,
    Requirement,
    ResourceFlavor,
    Taint,
    Toleration,
)

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
INT64_DIGITS: Final = 19


@dataclass(frozen=True, slots=True)
class UnknownFlavor:
    """The queue names a flavor that does not exist."""

    flavor: str


@dataclass(frozen=True, slots=True)
class UntoleratedTaint:
    """Nodes of the flavor carry a taint that keeps the pods off."""

    taint: Taint


@dataclass(frozen=True, slots=True)
class SelectorMismatch:
    """The node selector wants another value of a label of the flavor."""

    key: str
    wanted: str
    has: str


@dataclass(frozen=True, slots=True)
class AffinityMismatch:
    """No alternative of the required node affinity allows the labels of the flavor.

    `terms` are the alternatives, reduced to the labels the flavor has.
    """

    terms: tuple[NodeTerm, ...]


@dataclass(frozen=True, slots=True)
class InvalidAffinity:
    """No alternative matches, and this requirement could not be evaluated: see `flaw`.

    It is wrong whatever the flavor, so trying other flavors is of no use.
    """

    requirement: Requirement
    flaw: str


Refusal: TypeAlias = (
    UnknownFlavor | UntoleratedTaint | SelectorMismatch | AffinityMismatch | InvalidAffinity
)


def ineligibility(pod_set: PodSet, flavor: ResourceFlavor) -> Refusal | None:
    """Return the first thing that keeps the pods off the flavor's nodes, None if nothing does."""
    for taint in flavor.node_taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not (
            _tolerated(taint, pod_set.tolerations) or _tolerated(taint, flavor.tolerations)
        ):
            return UntoleratedTaint(taint)
    labels = flavor.node_labels
    for key, wanted in pod_set.node_selector:
        if key in labels and labels[key] != wanted:
            return SelectorMismatch(key, wanted, labels[key])
    if pod_set.affinity:
        return _affinity_refusal(pod_set.affinity, labels)
    return None


def _affinity_refusal(
    alternatives: tuple[NodeTerm, ...], labels: Mapping[str, str]
) -> AffinityMismatch | InvalidAffinity | None:
    terms = tuple(
        tuple(requirement for requirement in term if requirement.key in labels)
        for term in alternatives
    )
    invalid: InvalidAffinity | None = None
    for term in terms:
        flaws = [(requirement, why) for requirement in term if (why := flaw(requirement))]
        if flaws:
            invalid = invalid or InvalidAffinity(*flaws[0])
        elif all(_holds(requirement, labels) for requirement in term):
            return None  # also for a term of which nothing is left
    return invalid or AffinityMismatch(terms)


# --- Taints --------------------------------------------------------------------------------------


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Say whether one toleration lets pods onto nodes with the taint.

    An empty effect stands for every effect and an empty key for every key. Gt and Lt compare the
    value of the taint with the value of the toleration, both as 64-bit integers.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return toleration.value == taint.value
        case "Gt" | "Lt":
            return _compares(taint.value, toleration.operator, toleration.value)
        case _:
            return False


# --- Labels --------------------------------------------------------------------------------------


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Say whether the selector selects an object with these labels.

    None selects nothing, an empty selector everything; one with a flaw selects nothing.
    """
    return selector is not None and all(
        flaw(requirement) is None and _holds(requirement, labels)
        for requirement in selector.requirements
    )


def selector_flaw(selector: LabelSelector | None) -> str | None:
    """Return why a selector cannot be evaluated, None if it can."""
    for requirement in selector.requirements if selector is not None else ():
        why = flaw(requirement)
        if why is not None:
            return f"label {requirement.key}: {why}"
    return None


def unmet(selector: LabelSelector | None, labels: Mapping[str, str]) -> Requirement | None:
    """Return the first requirement of a selector that the labels do not meet."""
    requirements = () if selector is None else selector.requirements
    return next((r for r in requirements if not _holds(r, labels)), None)


def flaw(requirement: Requirement) -> str | None:
    """Return why a requirement cannot be evaluated, None if it can."""
    operator, values = requirement.operator, requirement.values
    match operator:
        case "In" | "NotIn":
            return None if values else f"operator {operator} needs at least one value"
        case "Exists" | "DoesNotExist":
            return f"operator {operator} takes no values, got {list(values)}" if values else None
        case "Gt" | "Lt":
            if len(values) == 1 and _int64(values[0]) is not None:
                return None
            return f"operator {operator} needs exactly one integer, got {list(values)}"
        case _:
            return (
                f"unknown operator {operator!r}; known: In, NotIn, Exists, DoesNotExist, Gt and Lt"
            )


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Evaluate a requirement without flaw. A label that is absent is not in any list of values."""
    has = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return has in requirement.values
        case "NotIn":
            return has not in requirement.values
        case "Exists":
            return has is not None
        case "DoesNotExist":
            return has is None
        case operator:
            return has is not None and _compares(has, operator, requirement.values[0])


def _compares(left: str, operator: str, right: str) -> bool:
    """Compare two texts as integers; false if one is not an integer."""
    a, b = _int64(left), _int64(right)
    if a is None or b is None:
        return False
    return a > b if operator == "Gt" else a < b


def _int64(text: str) -> int | None:
    """Parse a decimal integer as Kubernetes does: ASCII digits, a sign at most, 64 bits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdecimal()):
        return None
    significant = digits.lstrip("0") or "0"
    if len(significant) > INT64_DIGITS:  # int() refuses very long texts
        return None
    number = -int(significant) if text[0] == "-" else int(significant)
    return number if INT64_MIN <= number <= INT64_MAX else None
