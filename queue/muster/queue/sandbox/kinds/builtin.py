"""
The built-in kinds that are served, with their names, sub-resources and selectable fields.

Kinds with a meaning that nobody here gives them (Deployments, Services, volumes...) are missing on
purpose: a request about them is refused, where an object that is stored and does nothing would be a
lie. Roles and their bindings are the exception: they are kept for manifests that bring them along,
and not enforced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from muster.queue.client.kinds import (
    CONFIG_MAP,
    CORE_EVENT,
    CRD,
    DISRUPTION_BUDGET,
    EVENT,
    JOB,
    LEASE,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    SERVICE_ACCOUNT,
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
from muster.queue.sandbox.kinds.resources import Column, Resource
from muster.queue.sandbox.kinds.roles import BindingStrategy, RoleStrategy
from muster.queue.sandbox.kinds.schemas import component_of, schema
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy
from muster.queue.sandbox.kinds.webhook_configurations import WebhookConfigurationStrategy

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
    return (*_core(), *_grouped(), *_roles(), *_extensions())


def _core() -> tuple[Resource, ...]:
    return (
        _resource(CONFIG_MAP, tables.CONFIG_MAP, ConfigMapStrategy, short_names=("cm",)),
        _resource(
            CORE_EVENT,
            tables.EVENT,
            EventStrategy,
            short_names=("ev",),
            selectable=fields.EVENT,
        ),
        _resource(
            Kind("", "v1", "LimitRange", "limitranges", namespaced=True),
            tables.DATED,
            LimitRangeStrategy,
            short_names=("limits",),
        ),
        _resource(
            NAMESPACE,
            tables.NAMESPACE,
            NamespaceStrategy,
            short_names=("ns",),
            subresources=("finalize", "status"),
            selectable=fields.NAMESPACE,
        ),
        _resource(
            NODE,
            tables.NODE,
            NodeStrategy,
            short_names=("no",),
            subresources=("status",),
            selectable=fields.NODE,
        ),
        _resource(
            POD,
            POD_COLUMNS,
            PodStrategy,
            short_names=("po",),
            categories=("all",),
            subresources=("binding", "eviction", "status"),
            selectable=fields.POD,
        ),
        _resource(
            Kind("", "v1", "PodTemplate", "podtemplates", namespaced=True),
            tables.POD_TEMPLATE,
            PodTemplateStrategy,
        ),
        _resource(
            Kind("", "v1", "Secret", "secrets", namespaced=True),
            tables.SECRET,
            SecretStrategy,
            selectable=fields.SECRET,
        ),
        _resource(SERVICE_ACCOUNT, tables.AGED, BuiltInStrategy, short_names=("sa",)),
    )


def _grouped() -> tuple[Resource, ...]:
    return (
        _resource(
            JOB,
            tables.JOB,
            JobStrategy,
            categories=("all",),
            subresources=("status",),
            selectable=fields.JOB,
        ),
        _resource(LEASE, tables.LEASE, LeaseStrategy),
        _resource(
            EVENT,
            tables.EVENT,
            NewEventStrategy,
            stored_as=EVENTS,
            short_names=("ev",),
            selectable=fields.NEW_EVENT,
        ),
        _resource(
            PRIORITY_CLASS, tables.PRIORITY_CLASS, PriorityClassStrategy, short_names=("pc",)
        ),
        _resource(
            Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False),
            tables.RUNTIME_CLASS,
            RuntimeClassStrategy,
        ),
        _resource(
            DISRUPTION_BUDGET,
            tables.BUDGET,
            BudgetStrategy,
            short_names=("pdb",),
            subresources=("status",),
        ),
    )


def _roles() -> Iterator[Resource]:
    for name, columns, strategy in (
        ("ClusterRoleBinding", tables.BINDING, BindingStrategy),
        ("ClusterRole", tables.DATED, RoleStrategy),
        ("RoleBinding", tables.BINDING, BindingStrategy),
        ("Role", tables.DATED, RoleStrategy),
    ):
        namespaced = not name.startswith("Cluster")
        kind = Kind(_RBAC, "v1", name, f"{name.lower()}s", namespaced=namespaced)
        yield _resource(kind, columns, strategy)


def _extensions() -> Iterator[Resource]:
    for name in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        yield _resource(
            Kind(_ADMISSION, "v1", name, f"{name.lower()}s", namespaced=False),
            tables.WEBHOOKS,
            WebhookConfigurationStrategy,
            categories=("api-extensions",),
        )
    yield _resource(
        CRD,
        tables.DATED,
        DefinitionStrategy,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=("status",),
    )


def _resource(
    kind: Kind, columns: tuple[Column, ...], strategy: type[BuiltInStrategy], **facts: Any
) -> Resource:
    component = component_of(kind)
    return Resource(
        kind=kind,
        singular=kind.kind.lower(),
        list_kind=f"{kind.kind}List",
        schema=schema(component),
        schema_name=component,
        columns=columns,
        strategy=strategy(component),
        description=_DESCRIPTIONS[kind.kind],
        **facts,
    )
