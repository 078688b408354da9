"""
A kind of our own to try out what custom resources share: every list and map type, and a status.

A gadget can do nothing. Its definition is the same in every run and stays on the cluster.
"""

from typing import Any, Final

from tests.e2e.api import Api
from tests.queue.api.manifests import Manifest

GROUP: Final = "e2e.muster.dev"
GADGET: Final = "Gadget", f"{GROUP}/v1"
"""Kind and apiVersion."""


def _a(kind: str, **more: Any) -> Manifest:
    return {"type": kind, **more}


_CONDITION: Final = _a(
    "object",
    required=["type", "status"],
    properties={name: _a("string") for name in ("type", "status", "reason")},
)
_PART: Final = _a(
    "object",
    required=["name"],
    properties={
        "name": _a("string"),
        "weight": _a("integer", default=1),
        "color": _a("string"),
    },
)
_PORT: Final = _a(
    "object",
    required=["port"],
    properties={
        "port": _a("integer"),
        "protocol": _a("string", default="TCP"),
        "name": _a("string"),
    },
)
_SPEC: Final = {
    "size": _a("integer", default=1, minimum=0, maximum=100),
    "mode": _a("string", enum=["fast", "slow"]),
    "color": _a("string", maxLength=10),
    "options": _a("object", additionalProperties=_a("string")),
    "box": _a(
        "object",
        properties={"width": _a("integer"), "height": _a("integer")},
        **{"x-kubernetes-map-type": "atomic"},
    ),
    "tags": _a("array", items=_a("string"), **{"x-kubernetes-list-type": "set"}),
    "steps": _a("array", items=_a("string")),
    "parts": _a(
        "array",
        items=_PART,
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    ),
    "ports": _a(
        "array",
        items=_PORT,
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]},
    ),
    "free": _a("object", **{"x-kubernetes-preserve-unknown-fields": True}),
}
_STATUS: Final = {
    "phase": _a("string"),
    "conditions": _a(
        "array",
        items=_CONDITION,
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
}

DEFINITION: Final[Manifest] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Gadget", "plural": "gadgets", "shortNames": ["gd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": _a(
                        "object",
                        description="A thing to try out an API server with.",
                        properties={
                            "spec": _a("object", properties=_SPEC),
                            "status": _a("object", properties=_STATUS),
                        },
                    )
                },
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {
                        "name": "Mode",
                        "type": "string",
                        "jsonPath": ".spec.mode",
                        "priority": 1,
                        "description": "How it goes about it.",
                    },
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            }
        ],
    },
}


def install(api: Api) -> None:
    """Return when there are gadgets."""
    answer = api.apply(DEFINITION, fieldValidation="Strict")
    assert answer.code in {200, 201}, answer
    api.wait_for_condition(DEFINITION, "Established")
