"""The columns in which pods are shown: one word for the state of all of their containers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from muster.queue.sandbox.kinds.ages import age
from muster.queue.sandbox.kinds.cells import AGE, NONE
from muster.queue.sandbox.kinds.resources import Column, Shared
from muster.queue.sandbox.kinds.strategy import entries, part

_ENDED: Final = ("Succeeded", "Failed")
_GATED: Final = "SchedulingGated"
_UNREACHABLE: Final = "NodeLost"


class _Summary(NamedTuple):
    """What is shown of the containers of a pod."""

    status: str
    ready: int
    restarts: int
    last_restart: str
    """When a container that restarted had ended last, "" for never."""


def _summary(pod: Shared) -> _Summary:
    status = part(pod, "status")
    word = status.get("reason") or status.get("phase", "")
    if _has(status, "PodScheduled", reason=_GATED):
        word = _GATED
    first = _initial(pod)
    summary = first
    if not first.status or _has(status, "Initialized", status="True"):
        always = [each for each in entries(status, "initContainerStatuses") if _stays(pod, each)]
        restarts, last = _restarts(always)
        others, last_of_others = _restarts(entries(status, "containerStatuses"))
        running, ready = _main(pod, first.status or word)
        summary = _Summary(
            running, first.ready + ready, restarts + others, max(last, last_of_others)
        )
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == _UNREACHABLE:
            summary = summary._replace(status="Unknown")
        elif status.get("phase") not in _ENDED:
            summary = summary._replace(status="Terminating")
    return summary


def _has(of: Shared, kind: str, **fields: str) -> bool:
    """Say whether a status has a condition like this."""
    return any(
        each["type"] == kind and all(each.get(name) == value for name, value in fields.items())
        for each in entries(of, "conditions")
    )


def _stays(pod: Shared, container: Shared) -> bool:
    """Say whether an init container runs for as long as its pod."""
    return any(
        each["name"] == container["name"] and each.get("restartPolicy") == "Always"
        for each in entries(pod, "spec", "initContainers")
    )


def _restarts(statuses: Sequence[Shared]) -> tuple[int, str]:
    """Return how often containers restarted, and when one had ended last."""
    ends = [part(each, "lastState", "terminated").get("finishedAt") or "" for each in statuses]
    return sum(each.get("restartCount", 0) for each in statuses), max(ends, default="")


def _initial(pod: Shared) -> _Summary:
    """Return what is shown while the init containers run; no status once they are done."""
    statuses = entries(pod, "status", "initContainerStatuses")
    ready = 0
    for index, container in enumerate(statuses):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and ended["exitCode"] == 0:
            continue
        if _stays(pod, container) and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        if ended is not None:
            word = f"Init:{_end(ended)}"
        elif waiting.get("reason") not in {None, "", "PodInitializing"}:
            word = f"Init:{waiting['reason']}"
        else:
            word = f"Init:{index}/{len(entries(pod, 'spec', 'initContainers'))}"
        return _Summary(word, ready, *_restarts(statuses[: index + 1]))
    return _Summary("", ready, *_restarts(statuses))


def _end(ended: Shared) -> str:
    """Return in a word how a container ended."""
    if reason := ended.get("reason"):
        return str(reason)
    if signal := ended.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{ended['exitCode']}"


def _main(pod: Shared, word: str) -> tuple[str, int]:
    """Return what is shown of the containers that a pod is there for, and how many are ready."""
    statuses = entries(pod, "status", "containerStatuses")
    words = [_word(each) for each in statuses]
    ready = sum(
        not told and bool(each.get("ready")) and "running" in (each.get("state") or {})
        for told, each in zip(words, statuses, strict=True)
    )
    word = next(filter(None, words), word)
    if word != "Completed":
        return word, ready
    # Some have ended well; what the others do says more.
    if ready and _has(part(pod, "status"), "Ready", status="True"):
        return "Running", ready
    failures = (
        told
        for told, each in zip(words, statuses, strict=True)
        if part(each, "state", "terminated").get("exitCode")
    )
    return next(failures, "NotReady" if ready else word), ready


def _word(container: Shared) -> str:
    """Return what a container waits for or how it ended, "" if neither says anything."""
    state = container.get("state") or {}
    waiting: str = part(state, "waiting").get("reason") or ""
    if waiting or "terminated" not in state:
        return waiting
    return _end(state["terminated"])


def _ready(pod: Shared, _now: int) -> str:
    always = [
        each
        for each in entries(pod, "spec", "initContainers")
        if each.get("restartPolicy") == "Always"
    ]
    total = len(entries(pod, "spec", "containers")) + len(always)
    return f"{_summary(pod).ready}/{total}"


def _restarted(pod: Shared, now_us: int) -> str:
    summary = _summary(pod)
    if summary.restarts and summary.last_restart:
        return f"{summary.restarts} ({age(summary.last_restart, now_us)} ago)"
    return str(summary.restarts)


def _address(pod: Shared, _now: int) -> Any:
    addresses = entries(pod, "status", "podIPs")
    return (addresses[0].get("ip") if addresses else "") or NONE


def _gates(pod: Shared, _now: int) -> str:
    gates = entries(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    status = part(pod, "status")
    true = sum(_has(status, gate["conditionType"], status="True") for gate in gates)
    return f"{true}/{len(gates)}"


POD_COLUMNS: Final = (
    Column("Ready", _ready, "How many of the containers are ready, of how many."),
    Column(
        "Status", lambda pod, _now: _summary(pod).status, "The state of the containers in one word."
    ),
    Column(
        "Restarts",
        _restarted,
        "How often containers were restarted, and when the last one had ended.",
    ),
    AGE,
    Column("IP", _address, "The address of the pod in the cluster.", priority=1),
    Column(
        "Node",
        lambda pod, _now: pod["spec"].get("nodeName") or NONE,
        "The node that the pod is on.",
        priority=1,
    ),
    Column(
        "Nominated Node",
        lambda pod, _now: part(pod, "status").get("nominatedNodeName") or NONE,
        "The node that is being cleared for the pod.",
        priority=1,
    ),
    Column(
        "Readiness Gates",
        _gates,
        "How many of the conditions that readiness waits for are true, of how many.",
        priority=1,
    ),
)
