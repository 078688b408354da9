"""
Pod templates: what a pod asks for and which nodes it may run on.

Only what decides about resources and placement is typed. Every other field the core API knows is
accepted and kept as it is (see `model_extra`); a name the core API does not know is an error.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from muster.queue.api.meta import TemplateMeta
from muster.queue.api.problems import Problems, cross_check
from muster.queue.api.quantities import NANO, parse_quantity
from muster.queue.api.schema import (
    ATOMIC_LIST,
    ATOMIC_MAP,
    LABEL_KEY_PATTERN,
    PLAIN_STRING,
    ApiModel,
    DnsLabel,
    Int32,
    Int64,
    Items,
    LabelKey,
    LabelValue,
    ListMap,
    Quantities,
    TaintEffect,
    Timestamp,
    empty_map,
)

# --- Resources -----------------------------------------------------------------------------------


def is_counted(resource: str) -> bool:
    """Whether a resource comes in whole units only: pods, and the devices of extended resources."""
    domain, slash, _ = resource.rpartition("/")
    foreign = slash and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")
    return resource == "pods" or bool(foreign)


class ResourceClaimUse(ApiModel):
    name: str
    """The pod's name for the claim."""
    request: str | None = None
    """One request of the claim; empty means all of it."""


class ResourceRequirements(ApiModel):
    requests: Quantities = empty_map()
    """What is set aside for the container; a missing entry equals the limit."""
    limits: Quantities = empty_map()
    """What the container may use at most."""
    claims: Annotated[Items[ResourceClaimUse], ListMap(("name",))] = ()
    """Claims of the pod that the container uses."""

    @cross_check
    def _amounts_make_sense(self, problems: Problems) -> None:
        for field, quantities in (("requests", self.requests), ("limits", self.limits)):
            check_requests(problems, (field,), quantities)


def check_requests(
    problems: Problems, location: tuple[str | int, ...], quantities: dict[str, str]
) -> None:
    """Record what no pod may ask for: less than nothing, or a part of a device."""
    for resource, text in quantities.items():
        nanos = parse_quantity(text)
        if nanos < 0:
            problems.add((*location, resource), f"{text} is negative: at least 0")
        elif nanos % NANO and is_counted(resource):
            problems.add(
                (*location, resource), f"{text} is not a whole number: {resource} cannot be split"
            )


# --- Containers ----------------------------------------------------------------------------------

_ContainerField = Literal[
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "resizePolicy",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
]


class Container(ApiModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[_ContainerField, Any]  # type: ignore[assignment]  # only these keys
    ACCEPTED = frozenset(get_args(_ContainerField))

    name: DnsLabel
    """Unique in the pod."""
    resources: ResourceRequirements = Field(default_factory=ResourceRequirements)
    """What the container asks for."""
    restart_policy: str | None = None
    """Always, on an init container, makes it a sidecar: it runs beside the containers."""


# --- Nodes a pod may run on ----------------------------------------------------------------------


_TOLERATED_KEY = f"^$|{LABEL_KEY_PATTERN}"


def _or_equal(operator: object) -> object:
    """Read an empty operator as the core API does."""
    return operator or "Equal"


class Toleration(ApiModel):
    key: Annotated[str, StringConstraints(pattern=_TOLERATED_KEY), PLAIN_STRING] = ""
    """The taint key it is about; empty, with operator Exists, means every key."""
    operator: Annotated[Literal["Equal", "Exists", "Gt", "Lt"], BeforeValidator(_or_equal)] = (
        "Equal"
    )
    """How the taint's value is compared."""
    value: str = ""
    """The value it is compared with."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute", ""] = ""
    """The effect it is about; empty means every effect."""
    toleration_seconds: Int64 | None = None
    """How long a NoExecute taint is tolerated; empty means for ever."""

    @cross_check
    def _parts_fit_together(self, problems: Problems) -> None:
        if not self.key and self.operator != "Exists":
            problems.add(("operator",), "must be Exists when key is empty, which means every key")
        if self.operator == "Exists" and self.value:
            problems.add(("value",), "must be empty when operator is Exists")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            problems.add(("effect",), "must be NoExecute when tolerationSeconds is set")


class NodeSelectorRequirement(ApiModel):
    key: str
    """The node's label (or field, in matchFields)."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """How the label relates to the values."""
    values: Annotated[Items[str], ATOMIC_LIST] = ()
    """Some for In and NotIn, one whole number for Gt and Lt, none for Exists and DoesNotExist."""

    @cross_check
    def _values_fit_the_operator(self, problems: Problems) -> None:
        if self.operator in ("In", "NotIn") and not self.values:
            problems.add(("values",), f"is required by operator {self.operator}")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            problems.add(("values",), f"must be empty for operator {self.operator}")
        if self.operator in ("Gt", "Lt") and not (
            len(self.values) == 1 and self.values[0].lstrip("+-").isdecimal()
        ):
            problems.add(("values",), f"must be one whole number for operator {self.operator}")


class NodeSelectorTerm(ApiModel):
    """Requirements that must all hold; a term without any matches no node."""

    match_expressions: Annotated[Items[NodeSelectorRequirement], ATOMIC_LIST] = ()
    """Requirements on the node's labels."""
    match_fields: Annotated[Items[NodeSelectorRequirement], ATOMIC_LIST] = ()
    """Requirements on the node's fields, of which only metadata.name exists."""


class NodeSelector(ApiModel):
    node_selector_terms: Annotated[Items[NodeSelectorTerm], ATOMIC_LIST]
    """Alternatives: one that matches is enough."""


class PreferredSchedulingTerm(ApiModel):
    weight: Annotated[Int32, Field(ge=1, le=100)]
    """How much the preference counts."""
    preference: NodeSelectorTerm
    """The nodes preferred."""


class NodeAffinity(ApiModel):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """Nodes outside are never used."""
    preferred_during_scheduling_ignored_during_execution: Annotated[
        Items[PreferredSchedulingTerm], ATOMIC_LIST
    ] = ()
    """Nodes inside are used first."""


class Affinity(ApiModel):
    node_affinity: NodeAffinity | None = None
    """Which nodes are suitable or preferred."""
    pod_affinity: dict[str, Any] | None = None
    """Not interpreted here; kube-scheduler honours it."""
    pod_anti_affinity: dict[str, Any] | None = None
    """Not interpreted here; kube-scheduler honours it."""


# --- Pods ----------------------------------------------------------------------------------------


class PodSchedulingGate(ApiModel):
    name: str
    """While the gate is there, the pod is not scheduled."""


class PodResourceClaim(ApiModel):
    name: str
    """Unique in the pod."""
    resource_claim_name: str | None = None
    """A claim that exists and may be shared."""
    resource_claim_template_name: str | None = None
    """A template from which each pod gets a claim of its own."""


_PodField = Literal[
    "activeDeadlineSeconds",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "os",
    "preemptionPolicy",
    "readinessGates",
    "schedulerName",
    "schedulingGroup",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "topologySpreadConstraints",
    "volumes",
    "workloadRef",
]


class PodSpec(ApiModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[_PodField, Any]  # type: ignore[assignment]  # only these keys
    ACCEPTED = frozenset(get_args(_PodField))

    containers: Annotated[Items[Container], ListMap(("name",))]
    """What runs in the pod, all at once."""
    init_containers: Annotated[Items[Container], ListMap(("name",))] = ()
    """What runs before, one after the other; sidecars stay."""
    resources: ResourceRequirements | None = None
    """Requests and limits of the pod as a whole."""
    overhead: Quantities = empty_map()
    """What running the pod costs beyond its containers; a RuntimeClass sets it."""
    restart_policy: Literal["Always", "OnFailure", "Never"] | None = None
    """When containers that end are started again."""
    node_name: str | None = None
    """The node the pod runs on."""
    node_selector: Annotated[dict[LabelKey, LabelValue], ATOMIC_MAP] = empty_map()
    """Labels the node must have."""
    affinity: Affinity | None = None
    """Which nodes are suitable or preferred."""
    tolerations: Annotated[Items[Toleration], ATOMIC_LIST] = ()
    """Taints the pod puts up with."""
    priority_class_name: str | None = None
    """The PriorityClass that gives the pod its priority."""
    priority: Int32 | None = None
    """The priority itself."""
    runtime_class_name: str | None = None
    """The RuntimeClass, whose overhead counts."""
    scheduling_gates: Annotated[Items[PodSchedulingGate], ListMap(("name",))] = ()
    """What the pod waits for before it is scheduled."""
    resource_claims: Annotated[Items[PodResourceClaim], ListMap(("name",))] = ()
    """Devices by claim."""

    @cross_check
    def _init_containers_have_names_of_their_own(self, problems: Problems) -> None:
        if self.init_containers:
            names = {container.name for container in self.containers}
            for index, container in enumerate(self.init_containers):
                if container.name in names:
                    message = f"{container.name!r} is also the name of a container"
                    problems.add(("initContainers", index, "name"), message)


class PodTemplateSpec(ApiModel):
    metadata: TemplateMeta = Field(default_factory=TemplateMeta)
    """Labels and annotations of the pods."""
    spec: PodSpec
    """The pods."""


class Taint(ApiModel):
    key: LabelKey
    """What pods must tolerate to run on the node."""
    value: LabelValue = ""
    """The value, if any."""
    effect: TaintEffect
    """What happens to pods that do not tolerate it."""
    time_added: Timestamp | None = None
    """When a NoExecute taint was added."""
