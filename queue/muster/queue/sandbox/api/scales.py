"""The Scale of an object: its replicas, read and written without the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from muster.queue.sandbox.api.form import Place, check_place
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.transient import FORMS, read_as
from muster.queue.sandbox.api.writing import Edit, unusable
from muster.queue.sandbox.kinds.resources import Object, Path, Scale, Shared
from muster.queue.sandbox.schema.decoding import DecodingError
from muster.queue.sandbox.store.memory import Stored

_SCALE: Final = FORMS["scale"]


def scale_of(place: Place, stored: Stored) -> Stored:
    """Return the Scale of an object."""
    scale = _scale(place)
    obj = stored.value
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    value: Object = {
        "kind": _SCALE.kind,
        "apiVersion": _SCALE.api_version,
        "metadata": {name: obj["metadata"][name] for name in kept if name in obj["metadata"]},
        "spec": {"replicas": _at(obj, scale.spec_replicas) or 0},
        "status": {"replicas": _at(obj, scale.status_replicas) or 0},
    }
    if not value["spec"]["replicas"]:
        value["spec"] = {}
    if scale.label_selector and (selector := _at(obj, scale.label_selector)):
        value["status"]["selector"] = selector
    return Stored(value, orjson.dumps(value), stored.revision)


def scaled(place: Place, edit: Edit, options: WriteOptions) -> Edit:
    """Return the edit of an object that an edit of its Scale comes to."""
    scale = _scale(place)

    def make(old: Object | None) -> Object:
        assert old is not None, "a scale is of something"
        present = scale_of(place, Stored(old, b"", int(old["metadata"]["resourceVersion"])))
        new = edit.make(present.value)
        try:
            new, _ = read_as(_SCALE, new, options)
        except DecodingError as error:
            raise unusable(error, _SCALE.kind, _SCALE.api_version, edit) from None
        check_place(place, new)
        # Whether there may be so many, the object's own kind says.
        _put(old, scale.spec_replicas, (new.get("spec") or {}).get("replicas") or 0)
        for name in ("resourceVersion", "uid"):
            if given := (new.get("metadata") or {}).get(name):
                old["metadata"][name] = given
        return old

    return edit._replace(make=make, may_create=False, owns=False)


def _scale(place: Place) -> Scale:
    assert place.resource.scale, "it is only reached where there is one"
    return place.resource.scale


def _at(obj: Shared, path: Path) -> Any:
    found: Any = obj
    for name in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def _put(obj: Object, path: Path, value: Any) -> None:
    for name in path[:-1]:
        obj = obj.setdefault(name, {})
    obj[path[-1]] = value
