"""What one pod asks of a node; pods that ask the same are placed in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from muster.admission import requests
from muster.admission.objects import LabelSelector, Requirement, Toleration
from muster.queue.api.quantities import MILLI, parse_quantity
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.taints import toleration

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_RULES: Final = requests.CountingRules()
_MIB: Final = 2**20
_UNSTATED: Final = {"cpu": 100 * MILLI, "memory": 200 * _MIB * requests.NANO}
"""What a container that requests nothing counts for in comparing nodes, in nanos."""


class HostPort(NamedTuple):
    """A port of the node itself that a container wants."""

    address: str
    """"0.0.0.0" for all addresses of the node."""
    protocol: str
    port: int

    def conflicts(self, other: HostPort) -> bool:
        same = (self.protocol, self.port) == (other.protocol, other.port)
        return same and (
            self.address == other.address or "0.0.0.0" in (self.address, other.address)  # noqa: S104
        )


class NodeTerm(NamedTuple):
    """One alternative of a node affinity: all of its requirements must hold."""

    labels: LabelSelector
    fields: LabelSelector
    """Over the one field metadata.name."""


class PodTerm(NamedTuple):
    """Pods to be near, or apart from, and what near means."""

    selector: LabelSelector | None
    namespaces: tuple[str, ...] | None
    """None for all."""
    topology_key: str
    """Nodes with the same value of this label are near each other."""


class Spread(NamedTuple):
    """A topologySpreadConstraint that must hold."""

    selector: LabelSelector | None
    topology_key: str
    skew_max: int
    domains_min: int
    honors_affinity: bool
    honors_taints: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What decides where a pod may run, and before whom."""

    requests: tuple[tuple[str, int], ...]
    """Amounts by resource, those of zero left out."""
    comparable: tuple[int, int]
    """Milli-cores and bytes with which it counts in comparing nodes."""
    ports: tuple[HostPort, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    required: tuple[NodeTerm, ...] | None = None
    """Alternatives of the required node affinity, None without any."""
    preferred: tuple[tuple[int, NodeTerm], ...] = ()
    """Terms with their weights."""
    tolerations: tuple[Toleration, ...] = ()
    priority: int = 0
    may_preempt: bool = True
    near: tuple[PodTerm, ...] = ()
    apart: tuple[PodTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    identity: tuple[str, tuple[tuple[str, str], ...]] | None = None
    """Namespace and labels, where it matters to the pod where others are: they may be its own."""
    not_simulated: str = ""
    """Something that must be respected and is not simulated."""

    @property
    def depends_on_pods(self) -> bool:
        """Whether pods on other nodes make a difference."""
        return self.identity is not None


def demand(pod: Manifest) -> Demand:
    """Return what a pod asks for."""
    spec = pod["spec"]
    amounts = requests.effective_requests(_template(spec, {}), _RULES)
    comparable = dict(requests.effective_requests(_template(spec, _UNSTATED), _RULES))
    node_affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    required = node_affinity.get(_REQUIRED)
    preferred = node_affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())
    near, apart, spread = _near(pod, "podAffinity"), _near(pod, "podAntiAffinity"), _spread(pod)
    return Demand(
        requests=tuple((name, amount) for name, amount in amounts if amount),
        comparable=(comparable["cpu"], comparable["memory"]),
        ports=tuple(_ports(spec)),
        node_selector=tuple(sorted(spec.get("nodeSelector", {}).items())),
        required=None if required is None else tuple(map(_term, required["nodeSelectorTerms"])),
        preferred=tuple((each["weight"], _term(each["preference"])) for each in preferred),
        tolerations=tuple(map(toleration, spec.get("tolerations", ()))),
        priority=spec.get("priority", 0),
        may_preempt=spec.get("preemptionPolicy") != "Never",
        near=near,
        apart=apart,
        spread=spread,
        identity=_identity(pod) if near or apart or spread else None,
        not_simulated=_not_simulated(spec),
    )


def _template(spec: Manifest, unstated: Mapping[str, int]) -> requests.PodTemplate:
    pod_level = spec.get("resources")
    return requests.PodTemplate(
        containers=tuple(_container(each, unstated) for each in spec["containers"]),
        init_containers=tuple(
            _container(each, unstated) for each in spec.get("initContainers", ())
        ),
        pod_level=None if pod_level is None else requests.Resources(requests=_nanos(pod_level)),
        overhead={name: parse_quantity(text) for name, text in spec.get("overhead", {}).items()},
    )


def _container(container: Manifest, unstated: Mapping[str, int]) -> requests.Container:
    asked = {**unstated, **_nanos(container.get("resources", {}))}
    return requests.Container(
        name=container["name"],
        resources=requests.Resources(requests=asked),
        restartable=container.get("restartPolicy") == "Always",
    )


def _nanos(resources: Manifest) -> dict[str, int]:
    return {name: parse_quantity(text) for name, text in resources.get("requests", {}).items()}


def _ports(spec: Manifest) -> Iterable[HostPort]:
    sidecars = [
        each for each in spec.get("initContainers", ()) if each.get("restartPolicy") == "Always"
    ]
    for container in [*spec["containers"], *sidecars]:
        for port in container.get("ports", ()):
            if number := port.get("hostPort"):
                address = port.get("hostIP") or "0.0.0.0"  # noqa: S104 - any address
                yield HostPort(address, port.get("protocol", "TCP"), number)


def _term(term: Manifest) -> NodeTerm:
    return NodeTerm(
        _selector(term.get("matchExpressions", ())), _selector(term.get("matchFields", ()))
    )


def _selector(expressions: Iterable[Manifest]) -> LabelSelector:
    return LabelSelector(
        tuple(
            Requirement(each["key"], each["operator"], tuple(each.get("values", ())))
            for each in expressions
        )
    )


# -- other pods ---------------------------------------------------------------------------------


def _identity(pod: Manifest) -> tuple[str, tuple[tuple[str, str], ...]]:
    metadata = pod["metadata"]
    return metadata["namespace"], tuple(sorted(metadata.get("labels", {}).items()))


def _near(pod: Manifest, field: str) -> tuple[PodTerm, ...]:
    terms = pod["spec"].get("affinity", {}).get(field, {}).get(_REQUIRED, ())
    return tuple(
        PodTerm(_label_selector(term), _namespaces(term, pod), term["topologyKey"])
        for term in terms
    )


def _namespaces(term: Manifest, pod: Manifest) -> tuple[str, ...] | None:
    if term.get("namespaceSelector") == {}:
        return None
    return tuple(term.get("namespaces") or [pod["metadata"]["namespace"]])


def _spread(pod: Manifest) -> tuple[Spread, ...]:
    return tuple(
        Spread(
            _label_selector(each),
            each["topologyKey"],
            each["maxSkew"],
            each.get("minDomains", 1),
            each.get("nodeAffinityPolicy", "Honor") == "Honor",
            each.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )
        for each in pod["spec"].get("topologySpreadConstraints", ())
        if each["whenUnsatisfiable"] == "DoNotSchedule"
    )


def _label_selector(term: Manifest) -> LabelSelector | None:
    """Return whom a term selects; the server has put its `matchLabelKeys` into the selector."""
    given = term.get("labelSelector")
    if given is None:
        return None
    exact = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in sorted(given.get("matchLabels", {}).items())
    ]
    return _selector([*exact, *given.get("matchExpressions", ())])


def _not_simulated(spec: Manifest) -> str:
    for field in ("podAffinity", "podAntiAffinity"):
        for term in spec.get("affinity", {}).get(field, {}).get(_REQUIRED, ()):
            if term.get("namespaceSelector"):
                return f"a namespaceSelector in a required {field}"
    for volume in spec.get("volumes", ()):
        if "persistentVolumeClaim" in volume or "ephemeral" in volume:
            return "a persistent volume"
    return "a resource claim" if spec.get("resourceClaims") else ""
