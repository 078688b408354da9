"""Definitions of kinds to test with."""

from copy import deepcopy
from typing import Any, Final

from muster.queue.sandbox.kinds.resources import Object
from tests.queue.api.manifests import Manifest, changed

SCHEMA: Final = "spec.versions[0].schema.openAPIV3Schema"
SPEC: Final = f"{SCHEMA}.properties.spec"

_WIDGETS: Final[Manifest] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com", "generation": 1},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {
            "kind": "Widget",
            "listKind": "WidgetList",
            "plural": "widgets",
            "singular": "widget",
        },
        "conversion": {"strategy": "None"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "color": {"type": "string"},
                                    "count": {"type": "integer"},
                                    "sizes": {"type": "array", "items": {"type": "string"}},
                                    "labels": {
                                        "type": "object",
                                        "additionalProperties": {"type": "string"},
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
    "status": {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    },
}


def a_definition(changes: Manifest | None = None) -> Object:
    """Return a definition of widgets, filled in, with changes by path."""
    return changed(deepcopy(_WIDGETS), changes or {})


def named(name: str, changes: Manifest | None = None) -> Object:
    """Return a definition with other names, such as gadgets of the kind Gadget."""
    kind = name.removesuffix("s").capitalize()
    names = {"kind": kind, "listKind": f"{kind}List", "plural": name, "singular": name[:-1]}
    renamed = {"metadata.name": f"{name}.example.com", "spec.names": names}
    return a_definition({**renamed, **(changes or {})})


def another_version(name: str = "v2", **changes: Any) -> Manifest:
    """Return a second version, which is not stored, for `spec.versions[1]`."""
    first: Manifest = a_definition()["spec"]["versions"][0]
    return {**first, "name": name, "storage": False, **changes}
