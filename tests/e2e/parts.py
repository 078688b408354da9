"""Every field of our definitions, with an example of it and values that just break its bounds."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from muster.queue.api import crds
from tests.queue.api.full_manifests import FULL
from tests.queue.api.manifests import Manifest, changed
from tests.queue.api.structural import Schema, schemas

_OURS = {"spec", "status", "value", "description"}

# A workload is on one cluster or on none yet, so one manifest can't have every field.
_NOMINATED = changed(FULL["Workload"], {"status.nominatedClusterNames": ["worker-1"]})
del _NOMINATED["status"]["clusterName"]
MANIFESTS = (_NOMINATED, *FULL.values())


class Example(NamedTuple):
    """A field in a manifest: its place has indices and keys."""

    manifest: Manifest
    place: str
    value: Any


class Part:
    """The schema of one field, or of the entries of one list or mapping."""

    def __init__(self, kind: str, path: str, schema: Schema) -> None:
        self.kind = kind
        self.path = path
        self.schema = schema

    @cached_property
    def example(self) -> "Example":
        steps = re.findall(r"[^.\[\]]+|\[\]", self.path)
        manifest, place, value = next(
            (manifest, place, value)
            for manifest in MANIFESTS
            if manifest["kind"] == self.kind
            for place, value in _found(manifest, steps)
        )
        # Status takes an object to belong to; leave it out where it is of no interest.
        fields = {field: manifest[field] for field in manifest if field != "status"}
        return Example(manifest if steps[0] == "status" else fields, place.lstrip("."), value)

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"


def _found(value: Any, steps: list[str], place: str = "") -> Iterator[tuple[str, Any]]:
    match steps, value:
        case [], _:
            yield place, value
        case ["[]", *rest], list():
            for index, entry in enumerate(value):
                yield from _found(entry, rest, f"{place}[{index}]")
        case ["[]", *rest], dict():
            for key, entry in value.items():
                yield from _found(entry, rest, f"{place}[{key}]")
        case [name, *rest], dict() if name in value:
            yield from _found(value[name], rest, f"{place}.{name}")
        case _:
            pass


PARTS = [
    Part(manifest["spec"]["names"]["kind"], path, schema)
    for _, manifest in crds.definitions()
    for path, schema in schemas(manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    if re.split(r"[.\[]", path)[0] in _OURS
]


class Bound(NamedTuple):
    """A keyword of a schema, with values that keep it, one that just breaks it, and the answer."""

    part: Part
    keyword: str
    kept: tuple[Any, ...]
    broken: Any
    said: str

    def __str__(self) -> str:
        return f"{self.part} {self.keyword}"


_OF_ANOTHER_TYPE = {"array": "x", "object": "x", "string": 7, "integer": "x", "boolean": "x"}


def _properties(count: int) -> Manifest:
    return {f"k{number}": "v" for number in range(count)}


_Breach = tuple[tuple[Any, ...], Any, str]

# By keyword, from its value and an example of the field: what keeps it, what breaks it, and the
# words of the refusal.
_BREACHES: dict[str, Callable[[Any, Any], _Breach]] = {
    "type": lambda name, given: ((given,), _OF_ANOTHER_TYPE[name], "must be of type"),
    "enum": lambda names, _: (tuple(names), "Other", "supported values"),
    "minimum": lambda n, _: ((n,), n - 1, f"greater than or equal to {n}"),
    "maximum": lambda n, _: ((n,), n + 1, f"less than or equal to {n}"),
    "minLength": lambda n, _: (("a" * n,), "a" * (n - 1), f"at least {n} chars"),
    "maxLength": lambda n, _: (("a" * n,), "a" * (n + 1), f"more than {n} bytes"),
    "minItems": lambda n, given: ((given[:n],), given[: n - 1], f"at least {n} items"),
    "maxItems": lambda n, given: ((given[:1] * n,), given[:1] * (n + 1), f"at most {n} items"),
    "maxProperties": lambda n, _: ((_properties(n),), _properties(n + 1), f"at most {n} items"),
    "pattern": lambda _, given: ((given,), "!", "should match"),
    "format": lambda name, given: (
        (given,),
        "yesterday" if name == "date-time" else 2**63,
        name,
    ),
    "x-kubernetes-int-or-string": lambda _, __: ((1, "1"), True, "must be of type"),
    "x-kubernetes-list-map-keys": lambda _, given: ((given,), given[:1] * 2, "Duplicate value"),
}


def bounds(part: Part) -> Iterator[Bound]:
    """Yield everything that the schema of a field demands of its value."""
    given = part.example.value
    for keyword, demand in part.schema.items():
        if keyword in _BREACHES:
            yield Bound(part, keyword, *_BREACHES[keyword](demand, given))
    for name in part.schema.get("required", ()):
        rest = {field: given[field] for field in given if field != name}
        yield Bound(part, f"required {name}", (given,), rest, "Required value")
    if part.schema.get("x-kubernetes-list-type") == "set":
        yield Bound(part, "set", (given,), given[:1] * 2, "Duplicate value")


BOUNDS = [bound for part in PARTS for bound in bounds(part)]
