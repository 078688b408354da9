"""
A kind of our own to try out what custom resources share: every list and map type, and a status.

A gadget can do nothing. Its definition is the same in every run and stays on the cluster.
"""

from typing import Final

from tests.e2e.api import Api
from tests.e2e.probes.definitions import INTEGER, STRING, a_list, a_schema, an_object
from tests.queue.api.manifests import Manifest

GROUP: Final = "e2e.muster.dev"
GADGET: Final = "Gadget", f"{GROUP}/v1"
"""Kind and apiVersion."""


_CONDITION: Final = {
    **an_object(type=STRING, status=STRING, reason=STRING),
    "required": ["type", "status"],
}
_PART: Final = {
    **an_object(name=STRING, weight={**INTEGER, "default": 1}, color=STRING),
    "required": ["name"],
}
_PORT: Final = {
    **an_object(port=INTEGER, protocol={**STRING, "default": "TCP"}, name=STRING),
    "required": ["port"],
}
_SPEC: Final = an_object(
    size={**INTEGER, "default": 1, "minimum": 0, "maximum": 100},
    mode={**STRING, "enum": ["fast", "slow"]},
    color={**STRING, "maxLength": 10},
    options=a_schema("object", additionalProperties=STRING),
    box={**an_object(width=INTEGER, height=INTEGER), "x-kubernetes-map-type": "atomic"},
    tags=a_list(STRING, "set"),
    steps=a_list(STRING),
    parts=a_list(_PART, "map", "name"),
    ports=a_list(_PORT, "map", "port", "protocol"),
    free={**an_object(), "x-kubernetes-preserve-unknown-fields": True},
)
_STATUS: Final = an_object(phase=STRING, conditions=a_list(_CONDITION, "map", "type"))

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
                    "openAPIV3Schema": {
                        **an_object(spec=_SPEC, status=_STATUS),
                        "description": "A thing to try out an API server with.",
                    }
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
