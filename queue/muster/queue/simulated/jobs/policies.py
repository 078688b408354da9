"""A Job's own rules about ends: which failures of pods count, and when enough has succeeded."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from muster.queue.client.protocol import Manifest
from muster.queue.simulated.jobs.indexes import Indexes


class Failure(NamedTuple):
    """What a failed pod means for its Job."""

    counts: bool
    """Against the limits; an ignored failure doesn't."""
    fails_index: bool = False
    fails_job: str = ""
    """The message of the Job's failure, if the pod alone decides it."""


_COUNTED: Final = Failure(counts=True)


def only_replaces_failed(job: Manifest) -> bool:
    """Whether a pod that is being deleted is replaced and counted only once it has failed."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or "podFailurePolicy" in spec


def judge_failure(job: Manifest, pod: Manifest) -> Failure:
    """Return what the first matching rule of the Job's podFailurePolicy makes of a failed pod."""
    policy = job["spec"].get("podFailurePolicy") or {}
    for place, rule in enumerate(policy.get("rules", ())):
        if matched := _match(rule, pod):
            match rule["action"]:
                case "Ignore":
                    return Failure(counts=False)
                case "FailIndex":
                    return Failure(counts=True, fails_index=True)
                case "FailJob":
                    told = f"{matched} matching FailJob rule at index {place}"
                    return Failure(counts=True, fails_job=told)
                case _:
                    return _COUNTED
    return _COUNTED


def _match(rule: Manifest, pod: Manifest) -> str:
    """Say what of the pod a rule matches, "" if nothing."""
    status = pod.get("status", {})
    place = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    if codes := rule.get("onExitCodes"):
        for field in ("containerStatuses", "initContainerStatuses"):
            for container in status.get(field, ()):
                exit_code = container.get("state", {}).get("terminated", {}).get("exitCode", 0)
                if exit_code and _names_code(codes, container["name"], exit_code):
                    told = f"Container {container['name']} for pod {place}"
                    return f"{told} failed with exit code {exit_code}"
        return ""
    patterns = rule.get("onPodConditions", ())
    wanted = [(each["type"], each.get("status", "True")) for each in patterns]
    for condition in status.get("conditions", ()):
        if (condition["type"], condition["status"]) in wanted:
            return f"Pod {place} has condition {condition['type']}"
    return ""


def _names_code(codes: Manifest, container: str, exit_code: int) -> bool:
    if codes.get("containerName", container) != container:
        return False
    listed = exit_code in codes["values"]
    return listed if codes["operator"] == "In" else not listed


def met_success_rule(job: dict[str, Any] | Manifest, succeeded: Indexes) -> str:
    """Say which rule of an indexed Job's successPolicy its succeeded indexes meet, "" if none."""
    policy = job["spec"].get("successPolicy") or {}
    if not succeeded:
        return ""
    for place, rule in enumerate(policy.get("rules", ())):
        count = rule.get("succeededCount")
        matching = succeeded
        if "succeededIndexes" in rule:
            wanted = Indexes.parse(rule["succeededIndexes"], job["spec"]["completions"])
            if not wanted:
                continue
            matching = succeeded & wanted
            count = len(wanted) if count is None else count
        if count is not None and len(matching) >= count:
            return f"Matched rules at index {place}"
    return ""
