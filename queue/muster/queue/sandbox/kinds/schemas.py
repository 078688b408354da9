"""
The schemas of built-in kinds: facts, read from a file that `make builtin-schemas` writes.

The file holds what Kubernetes publishes of these kinds in OpenAPI v3, without its prose: names,
types, list keys, patch strategies. Only components that a kind in `NAMES` leads to are in it. It is
read once, when the first schema is asked for. What a kind means is not here, but in its strategy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from muster.queue.client.kinds import CRD, Kind
from muster.queue.sandbox.schema.node import BuiltIn, Raw, Schema

FILE: Final = Path(__file__).parent / "data" / "builtin.json"
NUMBERS_FILE: Final = Path(__file__).parent / "data" / "field_numbers.json"

_DEFINITION: Final = (
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
)

# By the OpenAPI document of their group and version.
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "api/v1": (
        "io.k8s.api.autoscaling.v1.Scale",
        "io.k8s.api.core.v1.Binding",
        "io.k8s.api.core.v1.ConfigMap",
        "io.k8s.api.core.v1.Event",
        "io.k8s.api.core.v1.LimitRange",
        "io.k8s.api.core.v1.Namespace",
        "io.k8s.api.core.v1.Node",
        "io.k8s.api.core.v1.Pod",
        "io.k8s.api.core.v1.PodTemplate",
        "io.k8s.api.core.v1.Secret",
        "io.k8s.api.core.v1.ServiceAccount",
        "io.k8s.api.policy.v1.Eviction",
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
        "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    ),
    "apis/admissionregistration.k8s.io/v1": (
        "io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration",
        "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration",
    ),
    "apis/apiextensions.k8s.io/v1": (_DEFINITION,),
    "apis/authentication.k8s.io/v1": (
        "io.k8s.api.authentication.v1.SelfSubjectReview",
        "io.k8s.api.authentication.v1.TokenReview",
    ),
    "apis/authorization.k8s.io/v1": (
        "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
        "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
        "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
        "io.k8s.api.authorization.v1.SubjectAccessReview",
    ),
    "apis/batch/v1": ("io.k8s.api.batch.v1.Job",),
    "apis/coordination.k8s.io/v1": ("io.k8s.api.coordination.v1.Lease",),
    "apis/events.k8s.io/v1": ("io.k8s.api.events.v1.Event",),
    "apis/node.k8s.io/v1": ("io.k8s.api.node.v1.RuntimeClass",),
    "apis/policy/v1": ("io.k8s.api.policy.v1.PodDisruptionBudget",),
    "apis/rbac.authorization.k8s.io/v1": (
        "io.k8s.api.rbac.v1.ClusterRole",
        "io.k8s.api.rbac.v1.ClusterRoleBinding",
        "io.k8s.api.rbac.v1.Role",
        "io.k8s.api.rbac.v1.RoleBinding",
    ),
    "apis/scheduling.k8s.io/v1": ("io.k8s.api.scheduling.v1.PriorityClass",),
}


@cache
def components() -> Mapping[str, Raw]:
    """Return every component by its name, as OpenAPI v3 writes it; not to be changed."""
    known: Mapping[str, Raw] = orjson.loads(FILE.read_bytes())
    return known


@cache
def field_numbers() -> Mapping[str, Mapping[str, Any]]:
    """
    Return the names of fields by their numbers in protocol buffers, of components with fields.

    A number may stand for a message whose fields JSON has in the object itself: then there are
    these in place of a name. Not to be changed.
    """
    known: Mapping[str, Mapping[str, Any]] = orjson.loads(NUMBERS_FILE.read_bytes())
    return known


@cache
def _compiled() -> BuiltIn:
    return BuiltIn(components())


def component_of(kind: Kind) -> str:
    """Return the name of the component that describes a built-in kind."""
    if kind == CRD:
        return _DEFINITION
    group = kind.group.partition(".")[0] or "core"
    return f"io.k8s.api.{group}.{kind.version}.{kind.kind}"


def schema(name: str) -> Schema:
    """Return the schema of a component, such as "io.k8s.api.core.v1.Pod"."""
    return _compiled()[name]


def object_meta() -> Schema:
    """Return the schema of the metadata that every object has."""
    return schema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")


def references(raw: Any) -> Iterator[str]:
    """Yield the name of each component that a schema refers to, as often as it does."""
    if isinstance(raw, list):
        for each in raw:
            yield from references(each)
    elif isinstance(raw, Mapping):
        for name, value in raw.items():
            # A field may be called so, too; then the value is its schema.
            if name == "$ref" and isinstance(value, str):
                yield value.rsplit("/", 1)[-1]
            else:
                yield from references(value)
