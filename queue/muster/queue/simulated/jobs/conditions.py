"""The conditions of a Job's status: reading them, and building the list with one of them set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from muster.queue.api.timestamps import format_second
from muster.queue.client.protocol import Manifest

Conditions = Sequence[Manifest]


class Verdict(NamedTuple):
    """How a Job ends, as the type, reason and message of a condition that is true."""

    type: str
    """SuccessCriteriaMet or FailureTarget while its pods end, Failed once that was announced."""
    reason: str
    message: str

    @property
    def succeeds(self) -> bool:
        return self.type == "SuccessCriteriaMet"

    @property
    def final(self) -> Verdict:
        """The same end as the condition that a finished Job has."""
        return self._replace(type="Complete" if self.succeeds else "Failed")


def true_condition(conditions: Conditions, type_: str) -> Manifest | None:
    """Return the condition of a type if it is true."""
    for condition in conditions:
        if condition["type"] == type_ and condition["status"] == "True":
            return condition
    return None


def finish_condition(job: Manifest) -> Manifest | None:
    """Return the condition which says that a Job is over, None for one that isn't."""
    conditions = job.get("status", {}).get("conditions", ())
    return true_condition(conditions, "Complete") or true_condition(conditions, "Failed")


def condition(verdict: Verdict, now_us: int, *, status: str = "True") -> dict[str, Any]:
    """Return a new condition as the API writes it."""
    now = format_second(now_us)
    return {
        "type": verdict.type,
        "status": status,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": verdict.reason,
        "message": verdict.message,
    }


def with_condition(conditions: Conditions, new: Manifest) -> tuple[list[Manifest], bool]:
    """
    Return the list with a condition, and whether it changed by that.

    One that says the same already stays as it is, times included; one that is false is not added.
    """
    told = ("status", "reason", "message")
    for place, old in enumerate(conditions):
        if old["type"] == new["type"]:
            if all(old.get(field) == new[field] for field in told):
                return list(conditions), False
            return [*conditions[:place], new, *conditions[place + 1 :]], True
    if new["status"] == "False":
        return list(conditions), False
    return [*conditions, new], True
