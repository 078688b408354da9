"""What may be written into the status of a pod: what its kubelet and its scheduler can mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from muster.queue.client.refusal import FieldError, forbidden_field, invalid_value
from muster.queue.sandbox.kinds.metadata import rule_errors, unchanged
from muster.queue.sandbox.kinds.names import dns_subdomain, label_key
from muster.queue.sandbox.kinds.pod_validation import address_errors
from muster.queue.sandbox.kinds.resources import Shared

_OF_THE_SYSTEM: Final = ("PodScheduled", "Ready", "Initialized")
_FAMILIES_MAX: Final = 2


def pod_status_errors(pod: Shared, old: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with the status of a pod as the successor of another."""
    status, before = pod["status"], old["status"]
    yield from _condition_errors(status)
    yield from _nomination_errors(pod, old)
    observed = status.get("observedGeneration", 0)
    if observed < 0:
        place = "status.observedGeneration"
        yield invalid_value(place, observed, "must be a non-negative integer")
    yield from unchanged("status.qosClass", status.get("qosClass"), before.get("qosClass"))
    for kind in ("container", "initContainer"):
        yield from _revival_errors(f"{kind}Statuses", f"{kind}s", pod, old)
    addresses = status.get("podIPs") or ()
    for index, each in enumerate(addresses):
        yield from address_errors(f"status.podIPs[{index}]", each["ip"])
    versions = [":" in each["ip"] for each in addresses]
    if len(versions) > _FAMILIES_MAX or len(versions) != len(dict.fromkeys(versions)):
        detail = "may specify no more than one IP for each IP family"
        yield invalid_value("status.podIPs", addresses, detail)
    hosts = status.get("hostIPs") or ()
    if hosts and hosts[0]["ip"] != status.get("hostIP"):
        yield invalid_value("status.hostIPs[0].ip", hosts[0]["ip"], "must be equal to `hostIP`")


def _condition_errors(status: Shared) -> Iterator[FieldError]:
    for index, condition in enumerate(status.get("conditions") or ()):
        place = f"status.conditions[{index}]"
        if condition.get("observedGeneration", 0) < 0:
            value = condition["observedGeneration"]
            detail = "must be a non-negative integer"
            yield invalid_value(f"{place}.observedGeneration", value, detail)
        if condition["type"] not in _OF_THE_SYSTEM:
            yield from rule_errors(f"{place}.Type", condition["type"], label_key)


def _nomination_errors(pod: Shared, old: Shared) -> Iterator[FieldError]:
    node = pod["status"].get("nominatedNodeName")
    if not node or node == old["status"].get("nominatedNodeName"):
        return
    yield from rule_errors("status.nominatedNodeName", node, dns_subdomain)
    if old["spec"].get("nodeName"):
        detail = "may not be set on pods that are already bound to a node"
        yield forbidden_field("status.nominatedNodeName", detail)


def _revival_errors(
    statuses: str, containers: str, pod: Shared, old: Shared
) -> Iterator[FieldError]:
    """Yield the containers that have ended for good and are said to go on."""
    now = {each["name"]: each for each in pod["status"].get(statuses) or ()}
    specs = {each["name"]: each for each in pod["spec"].get(containers) or ()}
    for index, before in enumerate(old["status"].get(statuses) or ()):
        ended = (before.get("state") or {}).get("terminated")
        after = now.get(before["name"])
        if ended is None or after is None or "terminated" in (after.get("state") or {}):
            continue
        spec = specs.get(before["name"])
        if spec is None or not _restarts(spec, pod["spec"], ended["exitCode"]):
            detail = "may not be transitioned to non-terminated state"
            yield forbidden_field(f"status.{statuses}[{index}].state", detail)


def _restarts(container: Shared, pod: Shared, exit_code: int) -> bool:
    """Say whether a container that ended with an exit code is to be started again."""
    for rule in container.get("restartPolicyRules") or ():
        codes: Mapping[str, object] = rule.get("exitCodes") or {}
        values = codes.get("values")
        among = isinstance(values, list) and exit_code in values
        if among == (codes.get("operator") == "In"):
            return bool(rule.get("action") == "Restart")
    match container.get("restartPolicy") or pod["restartPolicy"]:
        case "Always":
            return True
        case "OnFailure":
            return exit_code != 0
        case _:
            return False
