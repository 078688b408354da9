"""What the containers of a pod may be, but for their volumes and amounts of resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_many,
)
from muster.queue.sandbox.kinds.amounts import claims_errors, requirements_errors
from muster.queue.sandbox.kinds.metadata import negative, rule_errors
from muster.queue.sandbox.kinds.names import (
    config_key,
    dns_label,
    dns_subdomain,
    port_name,
    range_error,
    variable_name,
)
from muster.queue.sandbox.kinds.pod_volumes import (
    Volumes,
    field_reference_errors,
    mounts_errors,
    resource_reference_errors,
)
from muster.queue.sandbox.kinds.resources import Shared

_PORT_MAX: Final = 65535
_ID_MAX: Final = 2**31 - 1
_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_SCHEMES: Final = ("HTTP", "HTTPS")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_COUNTS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_OF_VARIABLES: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_SECCOMP: Final = ("Localhost", "RuntimeDefault", "Unconfined")


class Surroundings(NamedTuple):
    """What of its pod a container depends on."""

    volumes: Volumes
    claims: dict[str, bool]
    grace_s: int


def containers_errors(
    place: str, containers: Sequence[Shared] | None, pod: Surroundings
) -> Iterator[FieldError]:
    """Yield what is wrong with the containers that a pod is there for."""
    if not containers:
        yield required(place)
        return
    names: dict[str, None] = {}
    for index, container in enumerate(containers):
        at = f"{place}[{index}]"
        yield from _container_errors(at, container, pod)
        if container["name"] in names:
            yield duplicate(f"{at}.name", container["name"])
        names[container["name"]] = None
        yield from _hooks_errors(at, container, pod)
        yield from _restart_errors(at, container)
    yield from _conflicts(place, containers)


def init_containers_errors(
    place: str, containers: Sequence[Shared], others: Sequence[Shared], pod: Surroundings
) -> Iterator[FieldError]:
    """Yield what is wrong with the containers that run before the others."""
    names = dict.fromkeys(each["name"] for each in others)
    for index, container in enumerate(containers):
        at = f"{place}[{index}]"
        yield from _container_errors(at, container, pod)
        yield from _restart_errors(at, container)
        if container["name"] and container["name"] in names:
            yield duplicate(f"{at}.name", container["name"])
        names[container["name"]] = None
        yield from _conflicts(place, [container])
        if container.get("restartPolicy") == "Always":
            yield from _hooks_errors(at, container, pod)
            continue
        for name in ("lifecycle", *_PROBES):
            if name in container:
                detail = "may not be set for init containers without restartPolicy=Always"
                yield forbidden_field(f"{at}.{name}", detail)


def _container_errors(place: str, container: Shared, pod: Surroundings) -> Iterator[FieldError]:
    name = container["name"]
    if not name:
        yield required(f"{place}.name")
    else:
        yield from rule_errors(f"{place}.name", name, dns_label)
    if not container.get("image"):
        yield required(f"{place}.image")
    policy = container["terminationMessagePolicy"]
    if policy not in _MESSAGE_POLICIES:
        yield not_supported(f"{place}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    yield from _ports_errors(f"{place}.ports", container.get("ports") or ())
    yield from _variables_errors(f"{place}.env", container.get("env") or ())
    yield from _variable_sources_errors(f"{place}.envFrom", container.get("envFrom") or ())
    mounts = container.get("volumeMounts") or ()
    yield from mounts_errors(f"{place}.volumeMounts", mounts, pod.volumes)
    if container["imagePullPolicy"] not in _PULL_POLICIES:
        policy = container["imagePullPolicy"]
        yield not_supported(f"{place}.imagePullPolicy", policy, _PULL_POLICIES)
    if resources := container["resources"]:
        at = f"{place}.resources"
        yield from requirements_errors(at, resources)
        yield from claims_errors(f"{at}.claims", resources.get("claims") or [], pod.claims)
    if (security := container.get("securityContext")) is not None:
        yield from security_errors(f"{place}.securityContext", security)


def _ports_errors(place: str, ports: Sequence[Shared]) -> Iterator[FieldError]:
    names: dict[str, None] = {}
    for index, port in enumerate(ports):
        at = f"{place}[{index}]"
        if name := port.get("name"):
            wrong = port_name(name)
            for detail in wrong:
                yield invalid_value(f"{at}.name", name, detail)
            if not wrong and name in names:
                yield duplicate(f"{at}.name", name)
            names[name] = None
        number = port["containerPort"]
        if number == 0:
            yield required(f"{at}.containerPort")
        else:
            yield from port_errors(f"{at}.containerPort", number)
        if port.get("hostPort"):
            yield from port_errors(f"{at}.hostPort", port["hostPort"])
        if port["protocol"] not in _PROTOCOLS:
            yield not_supported(f"{at}.protocol", port["protocol"], _PROTOCOLS)


def port_errors(place: str, port: int | str) -> Iterator[FieldError]:
    """Yield what is wrong with the number or the name of a port."""
    if isinstance(port, str):
        yield from rule_errors(place, port, port_name)
    elif not 1 <= port <= _PORT_MAX:
        yield invalid_value(place, port, range_error(1, _PORT_MAX))


def _conflicts(place: str, containers: Sequence[Shared]) -> Iterator[FieldError]:
    """Yield the ports of the host that more than one container wants."""
    seen: dict[str, None] = {}
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            text = f"{port['protocol']}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in seen:
                yield duplicate(f"{place}[{index}].ports[{number}].hostPort", text)
            seen[text] = None


def _variables_errors(place: str, variables: Sequence[Shared]) -> Iterator[FieldError]:
    for index, variable in enumerate(variables):
        at = f"{place}[{index}]"
        if not variable["name"]:
            yield required(f"{at}.name")
        else:
            yield from rule_errors(f"{at}.name", variable["name"], variable_name)
        if (source := variable.get("valueFrom")) is not None:
            yield from _value_errors(f"{at}.valueFrom", variable, source)


def _value_errors(place: str, variable: Shared, source: Shared) -> Iterator[FieldError]:
    if (reference := source.get("fieldRef")) is not None:
        yield from field_reference_errors(f"{place}.fieldRef", reference, _OF_VARIABLES)
    if (reference := source.get("resourceFieldRef")) is not None:
        yield from resource_reference_errors(f"{place}.resourceFieldRef", reference)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if (reference := source.get(kind)) is not None:
            yield from _key_reference_errors(f"{place}.{kind}", reference)
    if not source:
        yield invalid_value(
            place,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`,"
            " `secretKeyRef` or `fileKeyRef`",
        )
    elif variable.get("value"):
        yield invalid_value(place, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid_value(place, "", "may not have more than one field specified at a time")


def _key_reference_errors(place: str, reference: Shared) -> Iterator[FieldError]:
    name, key = reference.get("name", ""), reference["key"]
    yield from rule_errors(f"{place}.name", name, dns_subdomain)
    if not key:
        yield required(f"{place}.key")
    if key:
        yield from rule_errors(f"{place}.key", key, config_key)


def _variable_sources_errors(place: str, sources: Sequence[Shared]) -> Iterator[FieldError]:
    for index, source in enumerate(sources):
        at = f"{place}[{index}]"
        if prefix := source.get("prefix"):
            yield from rule_errors(f"{at}.prefix", prefix, variable_name)
        given = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in given:
            name = source[kind].get("name")
            if not name:
                yield required(f"{at}.{kind}.name")
            else:
                yield from rule_errors(f"{at}.{kind}.name", name, dns_subdomain)
        if not given:
            yield invalid_value(place, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid_value(place, "", "may not have more than one field specified at a time")


def _hooks_errors(place: str, container: Shared, pod: Surroundings) -> Iterator[FieldError]:
    """Yield what is wrong with the lifecycle and the probes of a container."""
    for name in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(name)
        if handler is not None:
            yield from _handler_errors(f"{place}.lifecycle.{name}", handler, pod.grace_s)
    for name in _PROBES:
        probe = container.get(name)
        if probe is None:
            continue
        at = f"{place}.{name}"
        yield from _handler_errors(at, probe, pod.grace_s)
        for count in _COUNTS:
            yield from negative(f"{at}.{count}", probe.get(count))
        grace_s = probe.get("terminationGracePeriodSeconds")
        if name == "readinessProbe":
            if grace_s is not None:
                detail = "must not be set for readinessProbes"
                yield invalid_value(f"{at}.terminationGracePeriodSeconds", grace_s, detail)
        else:
            if grace_s is not None and grace_s <= 0:
                detail = "must be greater than 0"
                yield invalid_value(f"{at}.terminationGracePeriodSeconds", grace_s, detail)
            if probe["successThreshold"] != 1:
                yield invalid_value(
                    f"{at}.successThreshold", probe["successThreshold"], "must be 1"
                )


def _handler_errors(place: str, handler: Shared, grace_s: int) -> Iterator[FieldError]:
    given = [name for name in _HANDLERS if name in handler]
    if not given:
        yield required(place, "must specify a handler type")
        return
    yield from _action_errors(f"{place}.{given[0]}", given[0], handler[given[0]], grace_s)
    for extra in given[1:]:
        yield forbidden_field(f"{place}.{extra}", "may not specify more than 1 handler type")


def _action_errors(at: str, kind: str, action: Shared, grace_s: int) -> Iterator[FieldError]:
    match kind:
        case "exec":
            if not action.get("command"):
                yield required(f"{at}.command")
        case "httpGet":
            yield from port_errors(f"{at}.port", action.get("port", 0))
            if action["scheme"] not in _SCHEMES:
                yield not_supported(f"{at}.scheme", action["scheme"], _SCHEMES)
        case "tcpSocket" | "grpc":
            yield from port_errors(f"{at}.port", action.get("port", 0))
        case _:
            if not 0 <= action["seconds"] <= grace_s:
                detail = (
                    f"must be non-negative and less than terminationGracePeriodSeconds ({grace_s})"
                )
                yield invalid_value(f"{at}", action["seconds"], detail)


def _restart_errors(place: str, container: Shared) -> Iterator[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            detail = "must specify restartPolicy when restart rules are used"
            yield required(f"{place}.restartPolicy", detail)
    elif policy not in _RESTART_POLICIES:
        yield not_supported(f"{place}.restartPolicy", policy, _RESTART_POLICIES)
    if len(rules) > _RULES_MAX:
        yield too_many(f"{place}.restartPolicyRules", len(rules), _RULES_MAX)
    for index, rule in enumerate(rules):
        at = f"{place}.restartPolicyRules[{index}]"
        codes = rule.get("exitCodes")
        if codes is None:
            yield required(f"{at}.exitCodes", "must be specified")
            continue
        if codes.get("operator") not in {"In", "NotIn"}:
            operator = codes.get("operator", "")
            yield not_supported(f"{at}.exitCodes.operator", operator, ("In", "NotIn"))
        if len(codes.get("values") or ()) > _EXIT_CODES_MAX:
            yield too_many(f"{at}.exitCodes.values", len(codes["values"]), _EXIT_CODES_MAX)


def security_errors(place: str, context: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with a security context of a container or a pod."""
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        number = context.get(name)
        if number is not None and not 0 <= number <= _ID_MAX:
            yield invalid_value(f"{place}.{name}", number, range_error(0, _ID_MAX))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= _ID_MAX:
            at = f"{place}.supplementalGroups[{index}]"
            yield invalid_value(at, group, range_error(0, _ID_MAX))
    if (profile := context.get("seccompProfile")) is not None:
        yield from _seccomp_errors(f"{place}.seccompProfile", profile)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid_value(place, context, detail)
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            detail = (
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add`"
                " CAP_SYS_ADMIN"
            )
            yield invalid_value(place, context, detail)


def _seccomp_errors(place: str, profile: Shared) -> Iterator[FieldError]:
    kind, path = profile["type"], profile.get("localhostProfile")
    if kind not in _SECCOMP:
        yield not_supported(f"{place}.type", kind, _SECCOMP)
    elif kind == "Localhost" and not path:
        detail = "must be set when seccomp type is Localhost"
        yield required(f"{place}.localhostProfile", detail)
    elif kind != "Localhost" and path is not None:
        detail = "can only be set when seccomp type is Localhost"
        yield invalid_value(place, profile, detail)
