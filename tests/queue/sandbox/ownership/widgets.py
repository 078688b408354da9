"""A kind with every sort of list and map, and what the tests of ownership write of it."""

from collections.abc import Sequence
from typing import Any, Final

import orjson
from hypothesis import strategies as st

from muster.queue.sandbox.ownership import managers
from muster.queue.sandbox.ownership.fieldset import paths, shown_step
from muster.queue.sandbox.schema.node import BuiltIn, Schema, compile_definition

Map = dict[str, Any]

VERSION: Final = "example.com/v1"
NOON: Final = "2026-01-01T12:00:00Z"
LATER: Final = "2026-01-01T12:00:01Z"


def _list_map(*keys: str, **properties: Map) -> Map:
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
        "items": {"type": "object", "properties": properties},
    }


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SPEC: Final = {
    "size": _NUMBER,
    "color": _TEXT,
    "on": {"type": "boolean"},
    "port": {"x-kubernetes-int-or-string": True},
    "since": {"type": "string", "format": "date-time"},
    "options": {"type": "object", "additionalProperties": _TEXT},
    "box": {
        "type": "object",
        "properties": {"width": _NUMBER, "height": _NUMBER},
        "x-kubernetes-map-type": "atomic",
    },
    "tags": {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "set"},
    "steps": {"type": "array", "items": _TEXT},
    "parts": _list_map("name", name=_TEXT, weight=_NUMBER, color=_TEXT),
    "ports": _list_map(
        "port", "protocol", port=_NUMBER, protocol={**_TEXT, "default": "TCP"}, name=_TEXT
    ),
    "free": _ANYTHING,
}
_STATUS: Final = {"phase": _TEXT, "conditions": _list_map("type", type=_TEXT, status=_TEXT)}
_META: Final = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("name", "namespace", "uid", "resourceVersion"), _TEXT),
        "generation": _NUMBER,
        "labels": {"type": "object", "additionalProperties": _TEXT},
        "annotations": {"type": "object", "additionalProperties": _TEXT},
        "managedFields": {"type": "array", "items": {"type": "object"}},
    },
}
WIDGET: Final = compile_definition(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": _SPEC},
            "status": {"type": "object", "properties": _STATUS},
        },
    },
    Schema({}),
)
WIDGET.properties["metadata"] = BuiltIn({"Meta": _META})["Meta"]

STATUS_OF_ITSELF: Final = (("status",),)
"""What a write of the object itself never owns, as it has a status sub-resource."""
ALL_BUT_STATUS: Final = (("metadata",), ("spec",))


def a_widget(*, status: Map | None = None, labels: Map | None = None, **spec: Any) -> Map:
    """Return what a client sends."""
    metadata: Map = {"name": "w", "namespace": "n", **({"labels": labels} if labels else {})}
    widget = {"apiVersion": VERSION, "kind": "Widget", "metadata": metadata}
    if spec:
        widget["spec"] = spec
    if status is not None:
        widget["status"] = status
    return widget


def copied(obj: Map) -> Map:
    document: Map = orjson.loads(orjson.dumps(obj))
    return document


def recorded(
    live: Map | None,
    new: Map,
    manager: str = "m",
    *,
    time: str = NOON,
    subresource: str = "",
    reset: Sequence[tuple[str, ...]] = (),
    api_version: str = VERSION,
    schema: Schema = WIDGET,
) -> Map:
    """Return a written object with its managedFields, as if it came from a client without."""
    new = copied(new)
    managers.record_update(
        schema,
        live,
        new,
        manager=manager,
        api_version=api_version,
        subresource=subresource,
        time=time,
        reset=reset,
    )
    return new


def applied(
    live: Map | None,
    widget: Map,
    manager: str = "m",
    *,
    force: bool = False,
    time: str = NOON,
    subresource: str = "",
    reset: Sequence[tuple[str, ...]] = (),
) -> Map:
    return managers.apply(
        WIDGET,
        None if live is None else copied(live),
        copied(widget),
        manager=manager,
        force=force,
        api_version=VERSION,
        subresource=subresource,
        time=time,
        reset=reset,
    )


def entries(obj: Map) -> list[Map]:
    managed: list[Map] = obj["metadata"].get("managedFields", [])
    return managed


def owned(obj: Map) -> dict[str, list[str]]:
    """Return the fields of each manager as messages show them; of updates, it is "NAME updates"."""
    return {
        entry["manager"] + (" updates" if entry["operation"] == "Update" else ""): shown(
            entry["fieldsV1"]
        )
        for entry in entries(obj)
    }


def shown(fields: Any) -> list[str]:
    return ["".join(map(shown_step, path)) for path in paths(fields)]


def content(obj: Map) -> Map:
    """Return an object without the record of who owns what."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


# -- any widgets --------------------------------------------------------------------------------

_FEW = st.sampled_from(["a", "b"])
_SMALL = st.integers(0, 2)


def _entries(key: str, names: Sequence[Any], **others: st.SearchStrategy[Any]) -> Any:
    entry = st.fixed_dictionaries({key: st.sampled_from(names)}, optional=others)
    return st.lists(entry, max_size=3, unique_by=lambda each: each[key])


FREE = st.recursive(
    _SMALL | _FEW | st.lists(_SMALL, max_size=2),
    lambda inner: st.dictionaries(_FEW, inner, max_size=2),
    max_leaves=4,
)
_FIELDS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "size": _SMALL,
    "color": _FEW,
    "options": st.dictionaries(st.sampled_from("xyz"), _FEW, max_size=3),
    "box": st.fixed_dictionaries({}, optional={"width": _SMALL, "height": _SMALL}),
    "tags": st.lists(st.sampled_from("xyz"), unique=True, max_size=3),
    "steps": st.lists(_FEW, max_size=2),
    "parts": _entries("name", "xyz", weight=_SMALL, color=_FEW),
    "ports": _entries("port", [9, 10, 80], name=_FEW),
}


def _widgets(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Map]:
    return st.fixed_dictionaries({}, optional=fields).map(lambda spec: a_widget(**spec))


WIDGETS = _widgets({**_FIELDS, "free": st.dictionaries(_FEW, FREE, max_size=2)})
TYPED_WIDGETS = _widgets(_FIELDS)
"""Widgets in which every value has the type that its schema says."""
FULL_WIDGETS = TYPED_WIDGETS.map(
    lambda widget: a_widget(
        **{k: v for k, v in widget.get("spec", {}).items() if v not in ({}, [])}
    )
)
"""The same without empty maps and lists, of which nobody can tell who owns what."""
MANAGERS = st.sampled_from(["one", "two", "three"])
