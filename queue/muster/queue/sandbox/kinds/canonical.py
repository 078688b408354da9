"""
Decoded objects of built-in kinds in the form in which a server written in Go gives them back.

Such a server reads documents into structures and writes these out again. What is empty disappears
where a structure says so, and what is missing appears where it has no way to be missing. Whoever
compares objects, or owns fields of them, sees the difference. Which field is of which sort follows
from the schemas, but for the tables below. Decoding has dealt with types, quantities and times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from muster.queue.sandbox.kinds.quantities import rounded_amount
from muster.queue.sandbox.kinds.schemas import components
from muster.queue.sandbox.schema.node import Raw

# Numbers and booleans that are not written when they are 0 or false; others are kept.
_DROPPED: Final[Mapping[str, tuple[str, ...]]] = {
    "ContainerImage": ("sizeBytes",),
    "Container": ("stdin", "stdinOnce", "tty"),
    "ContainerPort": ("hostPort",),
    "ContainerStateTerminated": ("signal",),
    "Condition": ("observedGeneration",),
    "CustomResourceColumnDefinition": ("priority",),
    "CustomResourceDefinitionCondition": ("observedGeneration",),
    "CustomResourceDefinitionSpec": ("preserveUnknownFields",),
    "CustomResourceDefinitionStatus": ("observedGeneration",),
    "CustomResourceDefinitionVersion": ("deprecated",),
    "Event": ("count", "deprecatedCount"),
    "EventSeries": ("count",),
    "JobStatus": ("active", "failed", "succeeded"),
    "JSONSchemaProps": (
        "exclusiveMaximum",
        "exclusiveMinimum",
        "nullable",
        "uniqueItems",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ),
    "NodeSpec": ("unschedulable",),
    "ObjectMeta": ("generation",),
    "PodCondition": ("observedGeneration",),
    "PodDisruptionBudgetStatus": ("observedGeneration",),
    "PodSpec": ("hostIPC", "hostNetwork", "hostPID"),
    "PodStatus": ("observedGeneration",),
    "PriorityClass": ("globalDefault",),
    "Probe": (
        "failureThreshold",
        "initialDelaySeconds",
        "periodSeconds",
        "successThreshold",
        "timeoutSeconds",
    ),
    "VolumeMount": ("readOnly",),
    "VolumeMountStatus": ("readOnly",),
}
_SOURCES_DROP: Final = ("readOnly", "partition", "chapAuthDiscovery", "chapAuthSession")
"""The same in all sources of volumes."""

# Text that is kept when it is empty; elsewhere "" is nothing.
_KEPT: Final[Mapping[str, tuple[str, ...]]] = {
    "CustomResourceDefinitionVersion": ("deprecationWarning",),
    "HostPathVolumeSource": ("type",),
    "JobSpec": ("managedBy", "podReplacementPolicy", "completionMode"),
    "JobStatus": ("failedIndexes",),
    "LeaseSpec": ("holderIdentity", "preferredHolder", "strategy"),
    "PersistentVolumeClaimSpec": ("storageClassName",),
    "PodDNSConfigOption": ("value",),
    "PodFailurePolicyOnExitCodesRequirement": ("containerName",),
    "PodSpec": ("hostnameOverride", "preemptionPolicy", "runtimeClassName"),
    "ServiceReference": ("path",),
    "SuccessPolicyRule": ("succeededIndexes",),
    "WebhookClientConfig": ("url",),
}

# Lists and others that are null when they are missing, although nothing requires them.
_NULL: Final[Mapping[str, tuple[str, ...]]] = {
    "ClusterRole": ("rules",),
    "Condition": ("lastTransitionTime",),
    "ContainerImage": ("names",),
    "ContainerStateRunning": ("startedAt",),
    "ContainerStateTerminated": ("startedAt", "finishedAt"),
    "CustomResourceDefinitionCondition": ("lastTransitionTime",),
    "CustomResourceDefinitionStatus": ("conditions", "storedVersions"),
    "Event": (
        "eventTime",
        "firstTimestamp",
        "lastTimestamp",
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
    ),
    "EventSeries": ("lastObservedTime",),
    "JobCondition": ("lastProbeTime", "lastTransitionTime"),
    "NamespaceCondition": ("lastTransitionTime",),
    "NodeCondition": ("lastHeartbeatTime", "lastTransitionTime"),
    "PodCondition": ("lastProbeTime", "lastTransitionTime"),
    "ProjectedVolumeSource": ("sources",),
    "Role": ("rules",),
    "TypedLocalObjectReference": ("apiGroup",),
}

# Quantities that are 0 when they are missing.
_ZERO: Final[Mapping[str, tuple[str, ...]]] = {"ResourceFieldSelector": ("divisor",)}

# Fields with an empty default that are not written when they are empty.
_NOT_FILLED: Final[Mapping[str, tuple[str, ...]]] = {
    "ConfigMapEnvSource": ("name",),
    "ConfigMapKeySelector": ("name",),
    "ConfigMapProjection": ("name",),
    "ConfigMapVolumeSource": ("name",),
    "LocalObjectReference": ("name",),
    "ScaleSpec": ("replicas",),
    "SecretEnvSource": ("name",),
    "SecretKeySelector": ("name",),
    "SecretProjection": ("name",),
}

_Rewrite = Callable[[Any], Any]


def canonicalize(obj: dict[str, Any], component: str) -> None:
    """Change a decoded object of a component into what a server gives back."""
    _object_form(component).rewrite(obj)


class _ObjectForm:
    """What becomes of the fields of one component."""

    __slots__ = ("_dropped", "_filled", "_kept", "_rewrites")

    def __init__(self) -> None:
        self._rewrites: dict[str, _Rewrite] = {}
        """Of the values of fields that hold something to look at."""
        self._kept: set[str] = set()
        """Fields that stay, however empty."""
        self._dropped: set[str] = set()
        """Fields that go when they are 0 or false."""
        self._filled: list[tuple[str, Callable[[], Any]]] = []

    def compile(self, component: str) -> None:
        raw = components()[component]
        name = component.rpartition(".")[2]
        required = raw.get("required") or ()
        for field, schema in (raw.get("properties") or {}).items():
            if rewrite := _rewrite(schema):
                self._rewrites[field] = rewrite
            # A structure is kept however empty it is, and so is a number that may be a text.
            if field in _KEPT.get(name, ()) or _reference(schema):
                self._kept.add(field)
            sources = name.endswith("VolumeSource") and field in _SOURCES_DROP
            if sources or field in _DROPPED.get(name, ()):
                self._dropped.add(field)
            if "default" in schema and field not in _NOT_FILLED.get(name, ()):
                self._kept.add(field)
                self._filled.append((field, _default(schema, rewrite)))
                continue
            if field in _ZERO.get(name, ()):
                self._filled.append((field, _zero))
            collection = schema.get("type") in {"array", "object"}
            if (collection and field in required) or field in _NULL.get(name, ()):
                self._kept.add(field)
                self._filled.append((field, _nothing))

    def rewrite(self, obj: Any) -> Any:
        if type(obj) is not dict:
            return obj
        rewrites, kept = self._rewrites, self._kept
        for name, value in list(obj.items()):
            if value is None:
                del obj[name]
                continue
            rewrite = rewrites.get(name)
            if rewrite is not None:
                obj[name] = rewrite(value)
            if not value and name not in kept:
                number = value is False or (type(value) is int and value == 0)
                if not number or name in self._dropped:
                    del obj[name]
        for name, value_of in self._filled:
            if name not in obj:
                obj[name] = value_of()
        return obj


def _zero() -> str:
    """Make the value of a quantity that is missing."""
    return "0"


def _nothing() -> None:
    """Make null of a field that is missing."""


_forms: dict[str, _ObjectForm] = {}


def _object_form(component: str) -> _ObjectForm:
    form = _forms.get(component)
    if form is None:
        # Known before it is compiled: a component may contain itself.
        form = _forms[component] = _ObjectForm()
        form.compile(component)
    return form


def _reference(schema: Raw) -> str:
    """Return the name of the component that a field is of, "" if it is none."""
    for part in (schema, *(schema.get("allOf") or ())):
        if reference := part.get("$ref"):
            name: str = reference.rpartition("/")[2]
            return name
    return ""


def _rewrite(schema: Raw, *, amounts: bool = False) -> _Rewrite | None:
    """Return what brings the value of a field into form, None where all values are."""
    if reference := _reference(schema):
        if amounts and reference.endswith(".Quantity"):
            return rounded_amount
        schema_name, is_alternative, _ = reference.partition("Or")
        if is_alternative and schema_name.endswith(".JSONSchemaProps"):
            return partial(_rewrite_schemas, _object_form(schema_name).rewrite)
        has_fields = "properties" in components()[reference]
        return _object_form(reference).rewrite if has_fields else None
    if isinstance(items := schema.get("items"), Mapping):
        each = _rewrite(items)
        return partial(_rewrite_list, each) if each else None
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        each = _rewrite(values, amounts=True)
        return partial(_rewrite_map, each) if each else None
    return None


def _rewrite_schemas(each: _Rewrite, value: Any) -> Any:
    """Rewrite a schema in a definition, or what may stand there instead of one."""
    return _rewrite_list(each, value) if type(value) is list else each(value)


def _rewrite_list(each: _Rewrite, values: Any) -> Any:
    return [each(value) for value in values] if type(values) is list else values


def _rewrite_map(each: _Rewrite, values: Any) -> Any:
    if type(values) is not dict:
        return values
    return {name: each(value) for name, value in values.items()}


def _default(schema: Raw, rewrite: _Rewrite | None) -> Callable[[], Any]:
    """Return what makes the value of a field that is missing."""
    default = schema["default"]
    if default != {}:
        return lambda: default
    return (lambda: rewrite({})) if rewrite else dict
