"""
Which names a definition may use, and the conditions that tell of it.

Within a group a name belongs to the definition that had it first; one that asks for it later waits
until it is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from muster.queue.sandbox.kinds.conditions import condition, is_true
from muster.queue.sandbox.kinds.definition_form import approval
from muster.queue.sandbox.kinds.resources import Object, Shared

ESTABLISHED: Final = "Established"
NAMES_ACCEPTED: Final = "NamesAccepted"
_APPROVED: Final = "KubernetesAPIApprovalPolicyConformant"


class Condition(NamedTuple):
    """What is to be said of a definition."""

    type: str
    status: str
    reason: str
    message: str


def settled_status(definition: Shared, others: Iterable[Shared], now: str) -> Object:
    """
    Return the status of a definition next to the others of its group, itself among them.

    It is the present one if there is nothing to be said.
    """
    status: Object = dict(definition.get("status") or {})
    conditions: list[Condition] = []
    if (approved := approval(definition)) is not None:
        holds = "True" if approved[0] == "ApprovedAnnotation" else "False"
        conditions.append(Condition(_APPROVED, holds, *approved))
    if status.get("acceptedNames") != definition["spec"]["names"]:
        status["acceptedNames"], accepted = _accepted(definition, others)
        conditions += accepted
    return with_conditions(status, conditions, now)


def with_conditions(status: Shared, conditions: Iterable[Condition], now: str) -> Object:
    """Return a status with conditions set; the time of one changes with its status alone."""
    present: list[Mapping[str, Any]] = list(status.get("conditions") or ())
    for each in conditions:
        index = next((i for i, old in enumerate(present) if old["type"] == each.type), None)
        old = {} if index is None else present[index]
        new = {
            "type": each.type,
            "status": each.status,
            "lastTransitionTime": old["lastTransitionTime"]
            if old.get("status") == each.status
            else now,
            "reason": each.reason,
            "message": each.message,
        }
        if "observedGeneration" in old:
            new["observedGeneration"] = old["observedGeneration"]
        if index is None:
            present.append(new)
        else:
            present[index] = new
    return {**status, "conditions": present or None}


def _accepted(
    definition: Shared, others: Iterable[Shared]
) -> tuple[dict[str, Any], list[Condition]]:
    """Return the names that a definition may use from now on, and what that comes to."""
    wanted: Shared = definition["spec"]["names"]
    accepted: dict[str, Any] = dict((definition.get("status") or {}).get("acceptedNames") or {})
    resources, kinds = _taken(others)
    conflict: tuple[str, str] | None = None
    for name, taken in (("plural", resources), ("singular", resources)):
        conflict = _claim(accepted, wanted, name, taken) or conflict
    conflict = _claim_short_names(accepted, wanted, resources) or conflict
    for name, taken in (("kind", kinds), ("listKind", kinds)):
        conflict = _claim(accepted, wanted, name, taken) or conflict
    _copy(accepted, wanted, "categories")
    if conflict:
        told = [Condition(NAMES_ACCEPTED, "False", *conflict)]
        if not condition(definition, ESTABLISHED):
            why = "not all names are accepted"
            told.append(Condition(ESTABLISHED, "False", "NotAccepted", why))
        return accepted, told
    told = [Condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")]
    if not is_true(definition, ESTABLISHED):
        why = "the initial names have been accepted"
        told.append(Condition(ESTABLISHED, "True", "InitialNamesAccepted", why))
    return accepted, told


def _taken(definitions: Iterable[Shared]) -> tuple[dict[Any, None], dict[Any, None]]:
    """Return the names of resources and of kinds that were accepted."""
    resources: dict[Any, None] = {}
    kinds: dict[Any, None] = {}
    for definition in definitions:
        names = (definition.get("status") or {}).get("acceptedNames") or {}
        short_names = names.get("shortNames") or ()
        resources |= dict.fromkeys((names.get("plural"), names.get("singular"), *short_names))
        kinds |= dict.fromkeys((names.get("kind"), names.get("listKind")))
    return resources, kinds


def _claim(
    accepted: dict[str, Any], wanted: Shared, name: str, taken: Mapping[Any, None]
) -> tuple[str, str] | None:
    """Take a name if it is free; returns reason and message if it isn't."""
    value = wanted.get(name, "")
    if value != accepted.get(name, "") and value in taken:
        reason = f"{name[0].upper()}{name[1:]}Conflict"
        return reason, f'"{value}" is already in use'
    _copy(accepted, wanted, name)
    return None


def _claim_short_names(
    accepted: dict[str, Any], wanted: Shared, taken: Mapping[Any, None]
) -> tuple[str, str] | None:
    own = accepted.get("shortNames") or ()
    names = [name for name in wanted.get("shortNames") or () if name not in own and name in taken]
    if names:
        told = ", ".join(f'"{name}" is already in use' for name in dict.fromkeys(names))
        return "ShortNamesConflict", told if len(names) == 1 else f"[{told}]"
    _copy(accepted, wanted, "shortNames")
    return None


def _copy(accepted: dict[str, Any], wanted: Shared, name: str) -> None:
    if name in wanted:
        accepted[name] = wanted[name]
    else:
        accepted.pop(name, None)
