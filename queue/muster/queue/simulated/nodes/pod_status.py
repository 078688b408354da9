"""The status of a pod as a kubelet reports it, made from what has happened to the pod so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from muster.queue.api.timestamps import format_second
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.conditions import dated
from muster.queue.simulated.nodes.containers import KILLED, Container, Role, Termination
from muster.queue.simulated.nodes.pod_run import DEADLINE_EXCEEDED, PodRun

TERMINAL: Final = ("Succeeded", "Failed")
"""Phases in which nothing happens to a pod any more."""

_US: Final = 1_000_000
_MESSAGES: Final = {
    DEADLINE_EXCEEDED: "Pod was active on the node longer than the specified deadline"
}

_JSON = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a pod runs."""

    host_address: str
    pod_address: str


class _Verdict(NamedTuple):
    """A condition without its time."""

    type: str
    holds: bool
    reason: str = ""
    message: str = ""


def pod_status(run: PodRun, pod: Manifest, place: Place, now_us: int) -> _JSON:
    """Return the fields of the pod's status that its kubelet owns, with all of its conditions."""
    phase = _phase(run)
    status: _JSON = {
        "phase": phase,
        "conditions": _conditions(run, pod, phase, now_us),
        "hostIP": place.host_address,
        "hostIPs": [{"ip": place.host_address}],
        "startTime": format_second(run.start_us),
        "containerStatuses": [_container(run, pod, each, now_us) for each in run.mains],
    }
    if "generation" in pod["metadata"]:
        status["observedGeneration"] = pod["metadata"]["generation"]
    if run.has_begun:
        status["podIP"] = place.pod_address
        status["podIPs"] = [{"ip": place.pod_address}]
    if run.inits:
        status["initContainerStatuses"] = [_container(run, pod, each, now_us) for each in run.inits]
    if phase == "Failed" and run.stopping is not None and run.stopping.reason:
        status["reason"] = run.stopping.reason
        status["message"] = _MESSAGES[run.stopping.reason]
    return status


def differs(reported: Manifest, status: _JSON) -> bool:
    """Whether a status that was reported before is out of date."""
    if _without_nulls(reported.get("conditions") or ()) != status["conditions"]:
        return True
    return any(
        reported.get(name) != value for name, value in status.items() if name != "conditions"
    )


def _without_nulls(conditions: Iterable[Manifest]) -> list[_JSON]:
    return [
        {name: value for name, value in each.items() if value is not None} for each in conditions
    ]


def _phase(run: PodRun) -> str:
    if run.is_over:
        return "Failed" if run.has_failed else "Succeeded"
    return "Running" if any(each.has_started for each in run.mains) else "Pending"


# --- Conditions ----------------------------------------------------------------------------------


def _conditions(run: PodRun, pod: Manifest, phase: str, now_us: int) -> list[_JSON]:
    """Return our conditions, and those that others have set as they are."""
    before = {each["type"]: each for each in _without_nulls(_reported_conditions(pod))}
    found = []
    for verdict in _verdicts(run, pod, phase, now_us):
        known = before.pop(verdict.type, {})
        new = {"type": verdict.type, "status": str(verdict.holds)}
        condition = dated(new, known, now_us)
        if verdict.reason:
            condition["reason"] = verdict.reason
        if verdict.message:
            condition["message"] = verdict.message
        if "observedGeneration" in known:
            condition["observedGeneration"] = known["observedGeneration"]
        found.append(condition)
    return found + list(before.values())


def _reported_conditions(pod: Manifest) -> Iterable[Manifest]:
    return pod.get("status", {}).get("conditions") or ()


def _verdicts(run: PodRun, pod: Manifest, phase: str, now_us: int) -> Iterator[_Verdict]:
    runs = any(each.is_running for each in run.containers)
    if run.problem and not run.has_begun:
        yield _Verdict("PodReadyToStartContainers", False, "InvalidAnnotation", run.problem)
    else:
        yield _Verdict("PodReadyToStartContainers", run.has_begun and (runs or phase == "Running"))
    yield _initialized(run, phase)
    containers = _containers_ready(run, phase, now_us)
    yield _ready(pod, containers)
    yield containers
    yield _Verdict("PodScheduled", True)


def _initialized(run: PodRun, phase: str) -> _Verdict:
    if phase == "Succeeded":
        return _Verdict("Initialized", True, "PodCompleted")
    if not run.incomplete:
        return _Verdict("Initialized", True)
    message = f"containers with incomplete status: [{' '.join(run.incomplete)}]"
    return _Verdict("Initialized", False, "ContainersNotInitialized", message)


def _containers_ready(run: PodRun, phase: str, now_us: int) -> _Verdict:
    if phase in TERMINAL:
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        return _Verdict("ContainersReady", False, reason)
    sidecars = [each for each in run.inits if each.role is Role.SIDECAR]
    unready = [each.name for each in [*sidecars, *run.mains] if not each.is_ready(now_us)]
    if not unready:
        return _Verdict("ContainersReady", True)
    message = f"containers with unready status: [{' '.join(unready)}]"
    return _Verdict("ContainersReady", False, "ContainersNotReady", message)


def _ready(pod: Manifest, containers: _Verdict) -> _Verdict:
    if not containers.holds:
        return containers._replace(type="Ready")
    true = [each["type"] for each in _reported_conditions(pod) if each.get("status") == "True"]
    gates = [each["conditionType"] for each in pod["spec"].get("readinessGates") or ()]
    missing = [gate for gate in gates if gate not in true]
    if not missing:
        return _Verdict("Ready", True)
    message = ", ".join(
        f'corresponding condition of pod readiness gate "{gate}" does not exist.'
        for gate in missing
    )
    return _Verdict("Ready", False, "ReadinessGatesNotReady", message)


# --- Containers ----------------------------------------------------------------------------------


def _container(run: PodRun, pod: Manifest, container: Container, now_us: int) -> _JSON:
    ready = container.is_ready(now_us)
    if container.role is Role.INIT:
        ready = container.has_succeeded
    previous, state = container.previous, _state(run, pod, container)
    if "terminated" in state and container.ended is None:
        previous = None
    status: _JSON = {
        "name": container.name,
        "state": state,
        "lastState": _terminated(run, container, container.restarts - 1, previous),
        "ready": ready,
        "restartCount": container.restarts,
        "image": container.image,
        "imageID": f"sim://{container.image}" if container.has_started else "",
        "started": container.is_running,
    }
    if container.has_started:
        is_waiting = container.started_us is None
        status["containerID"] = _identity(run, container, container.restarts - is_waiting)
    return status


def _state(run: PodRun, pod: Manifest, container: Container) -> _JSON:
    if container.ended is not None:
        return _terminated(run, container, container.restarts, container.ended)
    if container.started_us is not None:
        return {"running": {"startedAt": format_second(container.started_us)}}
    if run.stopping is not None and run.is_over:
        if container.previous is not None:
            return _terminated(run, container, container.restarts - 1, container.previous)
        return {"terminated": _never_started()}
    return {"waiting": _waiting(run, pod, container)}


def _waiting(run: PodRun, pod: Manifest, container: Container) -> _JSON:
    if container.resume_us is not None and container.previous is not None:
        metadata = pod["metadata"]
        delay_s = (container.resume_us - container.previous.finished_us) // _US
        whose = f"{metadata['name']}_{metadata['namespace']}({run.uid})"
        message = f"back-off {delay_s}s restarting failed container={container.name} pod={whose}"
        return {"reason": "CrashLoopBackOff", "message": message}
    if run.problem and not run.has_begun:
        return {"reason": "CreateContainerConfigError", "message": run.problem}
    return {"reason": "PodInitializing" if run.inits else "ContainerCreating"}


def _terminated(
    run: PodRun, container: Container, restart: int, ended: Termination | None
) -> _JSON:
    if ended is None:
        return {}
    return {
        "terminated": {
            "exitCode": ended.exit_code,
            "reason": "Error" if ended.exit_code else "Completed",
            "startedAt": format_second(ended.started_us),
            "finishedAt": format_second(ended.finished_us),
            "containerID": _identity(run, container, restart),
        }
    }


def _never_started() -> _JSON:
    """Return what becomes of a container whose pod is stopped before its first run."""
    return {
        "exitCode": KILLED,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
        "startedAt": None,
        "finishedAt": None,
    }


def _identity(run: PodRun, container: Container, restart: int) -> str:
    return f"sim://{run.uid}/{container.name}/{restart}"
