"""What two outcomes of a scenario must have in common: decisions, not messages."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from muster.queue.api.quantities import NANO, parse_quantity

Outcome = Mapping[str, Any]
Facts = dict[tuple[str, ...], object]

CONDITIONS = ("QuotaReserved", "Admitted", "Evicted", "Preempted")
REASONED = {"QuotaReserved": "False", "Evicted": "True", "Preempted": "True"}
"""The status with which the reason of a condition matters."""


def facts(outcome: Outcome) -> Facts:
    """Return what was decided: per workload what it holds and is, per queue who waits where."""
    found: Facts = {}
    for key, workload in outcome["workloads"].items():
        found[key, "admission"] = _admission(workload.get("admission"))
        conditions = workload.get("conditions", {})
        for name in CONDITIONS:
            status, reason = conditions.get(name, ("False", ""))
            found[key, name] = status == "True"
            if name in conditions and status == REASONED.get(name):
                found[key, name, "reason"] = reason
    for place in ("heap", "inadmissible"):
        for queue, keys in outcome.get(place, {}).items():
            if keys:
                found[place, queue] = sorted(keys)
    return found


def _admission(admission: Mapping[str, Any] | None) -> object:
    if admission is None:
        return None
    pod_sets = {
        each["name"]: (
            each.get("count"),
            each.get("flavors", {}),
            {
                resource: Fraction(parse_quantity(quantity), NANO)
                for resource, quantity in each.get("resourceUsage", {}).items()
            },
        )
        for each in admission["podSetAssignments"]
    }
    return admission["clusterQueue"], pod_sets


def differences(recorded: Outcome, ours: Outcome) -> dict[tuple[str, ...], tuple[object, object]]:
    """Return where two outcomes differ: (recorded, ours)."""
    left, right = facts(recorded), facts(ours)
    return {
        where: (left.get(where), right.get(where))
        for where in sorted(left.keys() | right.keys())
        if left.get(where) != right.get(where)
    }
