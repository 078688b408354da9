"""
The built-in kinds that are served, with their names, sub-resources and selectable fields.

Kinds with a meaning that nobody here gives them (Deployments, Services, volumes...) are missing on
purpose: a request about them is refused, where an object that is stored and does nothing would be a
lie. Roles and their bindings are the exception: they are kept for manifests that bring them along,
and not enforced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from muster.queue.client.kinds import (
    CONFIG_MAP,
    CRD,
    EVENT,
    JOB,
    LEASE,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    Kind,
)
from muster.queue.sandbox.kinds import fields, tables
from muster.queue.sandbox.kinds.budgets import BudgetStrategy
from muster.queue.sandbox.kinds.classes import PriorityClassStrategy, RuntimeClassStrategy
from muster.queue.sandbox.kinds.configuration import ConfigMapStrategy, SecretStrategy
from muster.queue.sandbox.kinds.definitions import DefinitionStrategy
from muster.queue.sandbox.kinds.events import EVENTS, EventStrategy, NewEventStrategy
from muster.queue.sandbox.kinds.jobs import JobStrategy
from muster.queue.sandbox.kinds.leases import LeaseStrategy
from muster.queue.sandbox.kinds.limits import LimitRangeStrategy
from muster.queue.sandbox.kinds.namespaces import NamespaceStrategy
from muster.queue.sandbox.kinds.nodes import NodeStrategy
from muster.queue.sandbox.kinds.pod_table import POD_COLUMNS
from muster.queue.sandbox.kinds.pods import PodStrategy, PodTemplateStrategy
from muster.queue.sandbox.kinds.resources import Resource
from muster.queue.sandbox.kinds.roles import BindingStrategy, RoleStrategy
from muster.queue.sandbox.kinds.schemas import schema
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy
from muster.queue.sandbox.kinds.webhook_configurations import WebhookConfigurationStrategy

_API: Final = "io.k8s.api"
_DEFINITION: Final = (
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
)
_RBAC: Final = "rbac.authorization.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"

# What `kubectl explain` says of each kind.
_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "ClusterRole": "Kept, and not enforced: what somebody may do in the whole cluster.",
    "ClusterRoleBinding": "Kept, and not enforced: who has a ClusterRole.",
    "ConfigMap": "Named pieces of text that pods read.",
    "CustomResourceDefinition": "A kind of objects that the server is to serve.",
    "Event": "Something that happened to an object.",
    "Job": "Pods that run until enough of them have succeeded.",
    "Lease": "Who holds something, and until when.",
    "LimitRange": "What the pods of a namespace ask for at least, at most, and by default.",
    "MutatingWebhookConfiguration": "Who may change objects before they are stored.",
    "Namespace": "A scope for the names of objects.",
    "Node": "A machine that runs pods.",
    "Pod": "Containers that run together on one node.",
    "PodDisruptionBudget": "How many pods may be evicted at one time.",
    "PodTemplate": "What pods are made from.",
    "PriorityClass": "How important pods are that name it.",
    "Role": "Kept, and not enforced: what somebody may do in a namespace.",
    "RoleBinding": "Kept, and not enforced: who has a Role or a ClusterRole in a namespace.",
    "RuntimeClass": "How the pods that name it are run, and what that costs.",
    "Secret": "Named pieces of data that only some may read.",
    "ServiceAccount": "Who the processes in pods are.",
    "ValidatingWebhookConfiguration": "Who may refuse objects before they are stored.",
}


def builtin_resources() -> tuple[Resource, ...]:
    """Return all of them, in the order of discovery."""
    return (*_core(), *_pods(), *_batch(), *_policies(), *_extensions())


def _core() -> tuple[Resource, ...]:
    return (
        _resource(
            CONFIG_MAP,
            f"{_API}.core.v1.ConfigMap",
            columns=tables.CONFIG_MAP,
            strategy=ConfigMapStrategy(),
            short_names=("cm",),
        ),
        _resource(
            Kind("", "v1", "Event", "events", namespaced=True),
            f"{_API}.core.v1.Event",
            columns=tables.EVENT,
            strategy=EventStrategy(),
            short_names=("ev",),
            selectable=fields.EVENT,
        ),
        _resource(
            Kind("", "v1", "LimitRange", "limitranges", namespaced=True),
            f"{_API}.core.v1.LimitRange",
            columns=tables.DATED,
            strategy=LimitRangeStrategy(),
            short_names=("limits",),
        ),
        _resource(
            NAMESPACE,
            f"{_API}.core.v1.Namespace",
            columns=tables.NAMESPACE,
            strategy=NamespaceStrategy(),
            short_names=("ns",),
            subresources=("finalize", "status"),
            selectable=fields.NAMESPACE,
        ),
    )


def _pods() -> tuple[Resource, ...]:
    return (
        _resource(
            NODE,
            f"{_API}.core.v1.Node",
            columns=tables.NODE,
            strategy=NodeStrategy(),
            short_names=("no",),
            subresources=("status",),
            selectable=fields.NODE,
        ),
        _resource(
            POD,
            f"{_API}.core.v1.Pod",
            columns=POD_COLUMNS,
            strategy=PodStrategy(),
            short_names=("po",),
            categories=("all",),
            subresources=("binding", "eviction", "status"),
            selectable=fields.POD,
        ),
        _resource(
            Kind("", "v1", "PodTemplate", "podtemplates", namespaced=True),
            f"{_API}.core.v1.PodTemplate",
            columns=tables.POD_TEMPLATE,
            strategy=PodTemplateStrategy(),
        ),
        _resource(
            Kind("", "v1", "Secret", "secrets", namespaced=True),
            f"{_API}.core.v1.Secret",
            columns=tables.SECRET,
            strategy=SecretStrategy(),
            selectable=fields.SECRET,
        ),
        _resource(
            Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True),
            f"{_API}.core.v1.ServiceAccount",
            columns=tables.AGED,
            short_names=("sa",),
        ),
    )


def _batch() -> tuple[Resource, ...]:
    return (
        _resource(
            JOB,
            f"{_API}.batch.v1.Job",
            columns=tables.JOB,
            strategy=JobStrategy(),
            categories=("all",),
            subresources=("status",),
            selectable=fields.JOB,
        ),
        _resource(
            LEASE,
            f"{_API}.coordination.v1.Lease",
            columns=tables.LEASE,
            strategy=LeaseStrategy(),
        ),
        _resource(
            EVENT,
            f"{_API}.events.v1.Event",
            columns=tables.EVENT,
            strategy=NewEventStrategy(),
            stored_as=EVENTS,
            short_names=("ev",),
            selectable=fields.NEW_EVENT,
        ),
        _resource(
            PRIORITY_CLASS,
            f"{_API}.scheduling.v1.PriorityClass",
            columns=tables.PRIORITY_CLASS,
            strategy=PriorityClassStrategy(),
            short_names=("pc",),
        ),
        _resource(
            Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False),
            f"{_API}.node.v1.RuntimeClass",
            columns=tables.RUNTIME_CLASS,
            strategy=RuntimeClassStrategy(),
        ),
    )


def _policies() -> tuple[Resource, ...]:
    return (
        _resource(
            Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True),
            f"{_API}.policy.v1.PodDisruptionBudget",
            columns=tables.BUDGET,
            strategy=BudgetStrategy(),
            short_names=("pdb",),
            subresources=("status",),
        ),
        *(
            _resource(
                Kind(_RBAC, "v1", name, f"{name.lower()}s", namespaced=not name.startswith("C")),
                f"{_API}.rbac.v1.{name}",
                columns=columns,
                strategy=strategy(name),
            )
            for name, strategy, columns in (
                ("ClusterRoleBinding", BindingStrategy, tables.BINDING),
                ("ClusterRole", RoleStrategy, tables.DATED),
                ("RoleBinding", BindingStrategy, tables.BINDING),
                ("Role", RoleStrategy, tables.DATED),
            )
        ),
    )


def _extensions() -> tuple[Resource, ...]:
    return (
        *(
            _resource(
                Kind(_ADMISSION, "v1", name, f"{name.lower()}s", namespaced=False),
                f"{_API}.admissionregistration.v1.{name}",
                columns=tables.WEBHOOKS,
                strategy=WebhookConfigurationStrategy(name),
                categories=("api-extensions",),
            )
            for name in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        ),
        _resource(
            CRD,
            _DEFINITION,
            columns=tables.DATED,
            strategy=DefinitionStrategy(),
            short_names=("crd", "crds"),
            categories=("api-extensions",),
            subresources=("status",),
        ),
    )


def _resource(kind: Kind, schema_name: str, **facts: Any) -> Resource:
    facts.setdefault("description", _DESCRIPTIONS[kind.kind])
    facts.setdefault("strategy", BuiltInStrategy(schema_name))
    return Resource(
        kind=kind,
        singular=kind.kind.lower(),
        list_kind=f"{kind.kind}List",
        schema=schema(schema_name),
        schema_name=schema_name,
        **facts,
    )
