"""The fields of built-in kinds that a field selector may name, and their values as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from muster.queue.sandbox.kinds.resources import Shared

Selectable = Mapping[str, Callable[[Shared], str]]


def _at(*path: str) -> Callable[[Shared], str]:
    """Return what reads the text at a path, "" where there is none."""

    def value(obj: Shared) -> str:
        found = obj
        for name in path:
            found = found.get(name) or {}
        return str(found or "")

    return value


def _paths(*paths: str) -> dict[str, Callable[[Shared], str]]:
    return {path: _at(*path.split(".")) for path in paths}


def _truth(*path: str) -> Callable[[Shared], str]:
    at = _at(*path)
    return lambda obj: at(obj).lower() or "false"


def _source(event: Shared) -> str:
    return _at("source", "component")(event) or _at("reportingComponent")(event)


POD: Final[Selectable] = {
    **_paths(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "spec.hostNetwork": _truth("spec", "hostNetwork"),
}
NODE: Final[Selectable] = {"spec.unschedulable": _truth("spec", "unschedulable")}
NAMESPACE: Final[Selectable] = _paths("status.phase")
SECRET: Final[Selectable] = _paths("type")
JOB: Final[Selectable] = {
    "status.successful": lambda job: _at("status", "succeeded")(job) or "0",
}

_OBJECT: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
EVENT: Final[Selectable] = {
    **_paths(*(f"involvedObject.{name}" for name in _OBJECT)),
    **_paths("reason", "reportingComponent", "type"),
    "source": _source,
}
NEW_EVENT: Final[Selectable] = _paths(
    *(f"regarding.{name}" for name in _OBJECT), "reason", "reportingController", "type"
)
