"""
What may be in the spec of a pod, alone or in a template.

What only machines would give a meaning is taken as it is: volumes of most storage systems, block
devices, names that hosts go by, resizing in place. Everything else is refused where Kubernetes
refuses it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from muster.queue.sandbox.kinds.amounts import (
    amount_errors,
    container_resource_errors,
    pod_resource_errors,
    requirements_errors,
)
from muster.queue.sandbox.kinds.metadata import annotations_errors, labels_errors, rule_errors
from muster.queue.sandbox.kinds.names import (
    NameRule,
    dns_label,
    dns_subdomain,
    label_key,
    range_error,
)
from muster.queue.sandbox.kinds.pod_containers import (
    Surroundings,
    containers_errors,
    init_containers_errors,
    security_errors,
)
from muster.queue.sandbox.kinds.pod_resources import container_amounts
from muster.queue.sandbox.kinds.pod_scheduling import (
    affinity_errors,
    gates_errors,
    spread_errors,
    tolerations_errors,
)
from muster.queue.sandbox.kinds.pod_volumes import volumes_errors
from muster.queue.sandbox.kinds.quantities import nanos
from muster.queue.sandbox.kinds.resources import Shared
from muster.queue.sandbox.kinds.strategy import entries

INT32_MAX: Final = 2**31 - 1
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_SYSTEMS: Final = ("linux", "windows")
_NAMESERVERS_MAX: Final = 3
_SEARCHES_MAX: Final = 32
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


def pod_errors(pod: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with a new pod."""
    spec = pod["spec"]
    yield from pod_content_errors(pod)
    if spec.get("ephemeralContainers"):
        yield forbidden_field("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        yield forbidden_field("spec.nodeName", detail)


def pod_content_errors(pod: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with a pod, new or not."""
    spec = pod["spec"]
    annotations = pod["metadata"].get("annotations") or {}
    if not _is_int32(annotations.get(_DELETION_COST, "0")):
        at = f"metadata.annotations[{_DELETION_COST}]"
        yield invalid_value(at, annotations[_DELETION_COST], "must be a 32bit integer")
    yield from pod_spec_errors("spec", spec, of_pod=True)
    if not spec.get("serviceAccountName"):
        yield from _tokens_errors("spec.volumes", spec.get("volumes") or ())
    for name in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(name) or ()):
            image = container.get("image", "")
            if image != image.strip():
                detail = "must not have leading or trailing whitespace"
                yield invalid_value(f"spec.{name}[{index}].image", image, detail)


def _tokens_errors(place: str, volumes: Sequence[Shared]) -> Iterator[FieldError]:
    """Yield the tokens that are asked for in nobody's name."""
    for index, volume in enumerate(volumes):
        for number, source in enumerate(entries(volume, "projected", "sources")):
            if "serviceAccountToken" in source:
                at = f"{place}[{index}].projected.sources[{number}].serviceAccountToken"
                yield forbidden_field(
                    at, "must not be specified when serviceAccountName is not set"
                )


def template_errors(place: str, template: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with a template of pods."""
    metadata = template.get("metadata") or {}
    yield from labels_errors(f"{place}.labels", metadata.get("labels") or {})
    yield from annotations_errors(f"{place}.annotations", metadata.get("annotations") or {})
    yield from pod_spec_errors(f"{place}.spec", template["spec"], of_pod=False)
    if template["spec"].get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        yield forbidden_field(f"{place}.spec.ephemeralContainers", detail)


def _is_int32(text: str) -> bool:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal():
        return False
    return str(int(text)) == text and -INT32_MAX - 1 <= int(text) <= INT32_MAX


def pod_spec_errors(place: str, spec: Shared, *, of_pod: bool) -> Iterator[FieldError]:
    """Yield what is wrong with the spec of a pod."""
    volumes: dict[str, Shared] = {}
    yield from volumes_errors(f"{place}.volumes", spec.get("volumes") or (), volumes)
    claims = {each.get("name", ""): True for each in spec.get("resourceClaims") or ()}
    around = Surroundings(volumes, claims, spec["terminationGracePeriodSeconds"])
    containers = spec.get("containers") or ()
    yield from containers_errors(f"{place}.containers", containers, around)
    first = spec.get("initContainers") or ()
    yield from init_containers_errors(f"{place}.initContainers", first, containers, around)
    if resources := spec.get("resources"):
        yield from _whole_errors(f"{place}.resources", spec, resources)
    yield from _host_errors(place, spec, of_pod=of_pod)
    yield from _choices_errors(place, spec)
    yield from labels_errors(f"{place}.nodeSelector", spec.get("nodeSelector") or {})
    yield from security_errors(f"{place}.securityContext", spec["securityContext"])
    if affinity := spec.get("affinity"):
        yield from affinity_errors(f"{place}.affinity", affinity)
    yield from _dns_errors(f"{place}.dnsConfig", spec)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        at = f"{place}.readinessGates[{index}].conditionType"
        yield from rule_errors(at, gate["conditionType"], label_key)
    yield from gates_errors(f"{place}.schedulingGates", spec.get("schedulingGates") or ())
    constraints = spec.get("topologySpreadConstraints") or ()
    yield from spread_errors(f"{place}.topologySpreadConstraints", constraints)
    yield from _names_errors(place, spec)
    yield from _limits_errors(place, spec)


def _choices_errors(place: str, spec: Shared) -> Iterator[FieldError]:
    for name, allowed in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", _DNS_POLICIES)):
        if spec[name] not in allowed:
            yield not_supported(f"{place}.{name}", spec[name], allowed)


def _host_errors(place: str, spec: Shared, *, of_pod: bool) -> Iterator[FieldError]:
    """Yield what does not go together with the network or the processes of the host."""
    if spec.get("hostNetwork"):
        for index, container in enumerate(spec.get("containers") or ()):
            for number, port in enumerate(container.get("ports") or ()):
                host = port.get("hostPort", 0)
                if host != port["containerPort"] and (of_pod or host):
                    at = f"{place}.containers[{index}].ports[{number}].hostPort"
                    detail = "must match `containerPort` when `hostNetwork` is true"
                    yield invalid_value(at, host, detail)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        at = f"{place}.securityContext.shareProcessNamespace"
        yield invalid_value(at, True, "ShareProcessNamespace and HostPID cannot both be enabled")
    if spec.get("hostUsers") is False:
        for name, field in (("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(name):
                yield forbidden_field(f"{place}.{field}", "when `hostUsers` is false")


def _whole_errors(place: str, spec: Shared, resources: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with the resources of a pod as a whole."""
    if resources.get("claims"):
        detail = "claims may not be set for Resources at pod-level"
        yield forbidden_field(f"{place}.claims", detail)
    yield from requirements_errors(place, resources, pod_resource_errors)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, amount in container_amounts(spec, "requests").items():
        if name in requests and nanos(amount) > nanos(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {amount}"
            yield invalid_value(f"{place}.requests[{name}]", requests[name], detail)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, amount in (container["resources"].get("limits") or {}).items():
            if name in limits and nanos(amount) > nanos(limits[name]):
                at = f"{place}.containers[{index}][{name}].limits"
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid_value(at, amount, detail)


def _dns_errors(place: str, spec: Shared) -> Iterator[FieldError]:
    config = spec.get("dnsConfig")
    if spec["dnsPolicy"] == "None" and not (config or {}).get("nameservers"):
        if config is None:
            yield required(place, "must provide `dnsConfig` when `dnsPolicy` is None")
        else:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{place}.nameservers", detail)
        return
    servers: Sequence[str] = (config or {}).get("nameservers") or ()
    searches: Sequence[str] = (config or {}).get("searches") or ()
    if len(servers) > _NAMESERVERS_MAX:
        detail = f"must not have more than {_NAMESERVERS_MAX} nameservers"
        yield invalid_value(f"{place}.nameservers", servers, detail)
    for index, server in enumerate(servers):
        yield from address_errors(f"{place}.nameservers[{index}]", server)
    if len(searches) > _SEARCHES_MAX:
        detail = f"must not have more than {_SEARCHES_MAX} search paths"
        yield invalid_value(f"{place}.searches", searches, detail)
    for index, option in enumerate((config or {}).get("options") or ()):
        if not option.get("name"):
            yield required(f"{place}.options[{index}]", "must not be empty")


def address_errors(place: str, address: str) -> Iterator[FieldError]:
    """Yield that an address of the network is none."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield invalid_value(place, address, detail)


def _names_errors(place: str, spec: Shared) -> Iterator[FieldError]:
    for rule, names in _NAMED.items():
        for name in names:
            if spec.get(name):
                yield from rule_errors(f"{place}.{name}", spec[name], rule)
    seen: dict[str, None] = {}
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        at, name = f"{place}.resourceClaims[{index}].name", claim.get("name", "")
        yield from rule_errors(at, name, dns_label)
        if name in seen:
            yield duplicate(at, name)
        seen[name] = None


_NAMED: Final[Mapping[NameRule, tuple[str, ...]]] = {
    dns_subdomain: ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"),
    dns_label: ("hostname", "subdomain"),
}


def _limits_errors(place: str, spec: Shared) -> Iterator[FieldError]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= INT32_MAX:
        at = f"{place}.activeDeadlineSeconds"
        yield invalid_value(at, deadline, range_error(1, INT32_MAX))
    if tolerations := spec.get("tolerations"):
        yield from tolerations_errors(f"{place}.tolerations", tolerations)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from address_errors(f"{place}.hostAliases[{index}].ip", alias["ip"])
        for number, name in enumerate(alias.get("hostnames") or ()):
            at = f"{place}.hostAliases[{index}].hostnames[{number}]"
            yield from rule_errors(at, name, dns_subdomain)
    policy = spec.get("preemptionPolicy")
    if policy is not None and policy not in _PREEMPTION:
        yield not_supported(f"{place}.preemptionPolicy", policy, _PREEMPTION)
    for name, amount in (spec.get("overhead") or {}).items():
        at = f"{place}.overhead.limits[{name}]"
        yield from container_resource_errors(at, name)
        yield from amount_errors(at, name, amount)
    if (system := spec.get("os")) is not None and system["name"] not in _SYSTEMS:
        if system["name"]:
            yield not_supported(f"{place}.os", system["name"], _SYSTEMS)
        else:
            yield required(f"{place}.os.name")
