"""
What is filled in where a pod, or a template of pods, leaves something out.

Some of it is for pods alone: a template keeps what its author wrote for longer. Priorities,
tolerations and limits of a namespace are filled in elsewhere, by what the server is told of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from muster.queue.sandbox.kinds.pod_resources import fill_pod_resources
from muster.queue.sandbox.kinds.resources import Object

_DEFAULT_MODE: Final = 0o644
_WITH_MODE: Final = ("secret", "configMap", "downwardAPI", "projected")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE: Final = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_HOUR_S: Final = 3600
_NAME: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?{_NAME}(?:/{_NAME})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[\w+.-]+:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


def fill_pod(pod: Object) -> None:
    """Fill a pod in canonical form."""
    spec = pod["spec"]
    for container in _all_containers(spec):
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = {**limits, **resources.get("requests", {})}
    fill_pod_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in _all_containers(spec):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port["containerPort"])
    fill_pod_spec(spec)


def fill_pod_spec(spec: Object) -> None:
    """Fill the spec of a template of pods in canonical form."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    if "serviceAccount" in spec:
        spec.setdefault("serviceAccountName", spec["serviceAccount"])
    if "serviceAccountName" in spec:
        spec["serviceAccount"] = spec["serviceAccountName"]
    for volume in spec.get("volumes") or ():
        _fill_volume(volume)
    for container in _all_containers(spec):
        _fill_container(container)


def _all_containers(spec: Object) -> Iterator[Object]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _fill_container(container: Object) -> None:
    image = container.get("image", "")
    container.setdefault("imagePullPolicy", "Always" if is_latest(image) else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for name in _PROBES:
        if (probe := container.get(name)) is not None:
            for field, value in _PROBE.items():
                probe.setdefault(field, value)
            _fill_http(probe)
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _fill_http(handler)
    for variable in container.get("env") or ():
        _fill_reference((variable.get("valueFrom") or {}).get("fieldRef"))


def _fill_http(handler: Object) -> None:
    if (action := handler.get("httpGet")) is not None:
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")


def _fill_reference(reference: Object | None) -> None:
    """Fill a reference to a field of the pod itself."""
    if reference is not None:
        reference.setdefault("apiVersion", "v1")


def _fill_volume(volume: Object) -> None:
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}
    for name in _WITH_MODE:
        if (source := volume.get(name)) is not None:
            source.setdefault("defaultMode", _DEFAULT_MODE)
    if (path := volume.get("hostPath")) is not None:
        path.setdefault("type", "")
    _fill_files(volume.get("downwardAPI"))
    for source in _projections(volume):
        _fill_files(source.get("downwardAPI"))
        if (token := source.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", _HOUR_S)
    if (image := volume.get("image")) is not None:
        latest = is_latest(image.get("reference", ""))
        image.setdefault("pullPolicy", "Always" if latest else "IfNotPresent")
    if claim := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        claim["spec"].setdefault("volumeMode", "Filesystem")


def _projections(volume: Object) -> Iterator[Any]:
    yield from (volume.get("projected") or {}).get("sources") or ()


def _fill_files(source: Object | None) -> None:
    for item in (source or {}).get("items") or ():
        _fill_reference(item.get("fieldRef"))


@lru_cache(4096)
def is_latest(image: str) -> bool:
    """Say whether an image may be another one tomorrow: "latest", or without tag and digest."""
    named = _IMAGE.fullmatch(image)
    if named is None:
        return False
    return named["tag"] == "latest" or not (named["tag"] or named["digest"])
