"""Definitions of kinds to probe, each with names of its own, and objects of those kinds."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.e2e.api import Api, collection
from tests.e2e.probes.probe import Probe, eventually, is_code
from tests.queue.api.manifests import Manifest, changed

GROUP: Final = "probes.muster.dev"
VERSION: Final = f"{GROUP}/v1"

_KINDS: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def a_schema(kind: str, **more: Any) -> Manifest:
    return {"type": kind, **more}


STRING: Final = a_schema("string")
INTEGER: Final = a_schema("integer")
BOOLEAN: Final = a_schema("boolean")


def an_object(**properties: Manifest) -> Manifest:
    return a_schema("object", properties=properties)


def a_list(items: Manifest, list_type: str = "atomic", *keys: str, **more: Any) -> Manifest:
    kept = {"x-kubernetes-list-type": list_type, **more}
    if keys:
        kept["x-kubernetes-list-map-keys"] = list(keys)
    return a_schema("array", items=items, **kept)


def rule(expression: str, **more: str | bool) -> Manifest:
    return {"rule": expression, **more}


def ruled(schema: Manifest, *rules: Manifest) -> Manifest:
    """Return a schema with rules."""
    return {**schema, "x-kubernetes-validations": list(rules)}


def a_definition(
    probe: Probe,
    spec: Manifest | None = None,
    changes: Manifest | None = None,
    **version: Any,
) -> Manifest:
    """
    Return a definition of a namespaced kind whose objects have this schema of a spec.

    `version` are more fields of its one version; changes come last.
    """
    name = probe.a_name("Thing").replace("-", "")
    properties = {"spec": an_object() if spec is None else spec}
    plural = f"{name.lower()}s"
    definition: Manifest = {
        "apiVersion": _KINDS[0],
        "kind": _KINDS[1],
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": name, "plural": plural},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": an_object(**properties)},
                    **version,
                }
            ],
        },
    }
    return changed(definition, changes or {})


def define(probe: Probe, definition: Manifest) -> Manifest:
    """Make a definition; return it when its objects are served."""
    probe.create(definition)
    probe.api.wait_for_condition(definition, "Established")
    things = collection(a_thing(probe, definition))
    eventually(lambda: probe.api.request("GET", things), is_code(200))
    return probe.get(definition)


@contextmanager
def defined(
    api: Api,
    namespace: str,
    spec: Manifest,
    changes: Manifest | None = None,
    **version: Any,
) -> Iterator[Manifest]:
    """A definition for several tests."""
    probe = Probe(api, namespace)
    yield define(probe, a_definition(probe, spec, changes, **version))
    probe.clean_up()


def a_thing(
    probe: Probe, definition: Manifest, changes: Manifest | None = None, /, **content: Any
) -> Manifest:
    """Return an object of a kind in its first version, with a name of its own."""
    spec = definition["spec"]
    version = f"{spec['group']}/{spec['versions'][0]['name']}"
    thing = probe.a(spec["names"]["kind"], version, None, **content)
    if spec["scope"] == "Cluster":
        del thing["metadata"]["namespace"]
    return changed(thing, changes or {})
