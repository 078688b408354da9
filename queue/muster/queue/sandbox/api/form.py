"""Whether what a request says of an object agrees with where it was sent, before anything else."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from muster.queue.client.refusal import (
    Refusal,
    Subject,
    bad_request,
    conflict,
    invalid,
    invalid_value,
)
from muster.queue.sandbox.api.transient import unconvertible
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared
from muster.queue.sandbox.store.memory import Key, Stored

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class Place(NamedTuple):
    """Which object a request is about, and which part of it."""

    resource: Resource
    namespace: str
    name: str = ""
    """"" for a new object that is yet to be named."""
    subresource: str = ""

    @property
    def key(self) -> Key:
        return Key(self.resource.key, self.namespace, self.name)

    @property
    def subject(self) -> Subject:
        return self.resource.subject(self.name)


def formed(resource: Resource, obj: Object) -> Object:
    """Return an object that says first what it is, as all stored ones do; raises Refusal."""
    check_kind(resource, obj)
    kind = resource.kind
    head = {"kind": kind.kind, "apiVersion": kind.api_version}
    return head | {name: value for name, value in obj.items() if name not in head}


def check_kind(resource: Resource, obj: Shared) -> None:
    """See that a body is of the kind and version it was sent to; raises Refusal 400."""
    kind = resource.kind
    given, version = obj.get("kind"), obj.get("apiVersion")
    if resource.custom and not (given and version):
        missing = "apiVersion" if given else "Kind"
        shown = orjson.dumps(obj).decode()
        raise bad_request(f"Object '{missing}' is missing in '{shown:.500}'")
    if version in {None, "", kind.api_version} and given in {None, "", kind.kind}:
        return
    if resource.custom and version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({kind.api_version})"
        )
    if resource.custom:
        detail = f"must be {kind.kind}"
        error = invalid_value("kind", given, detail)
        raise invalid(resource.kind_subject((obj.get("metadata") or {}).get("name", "")), [error])
    raise unconvertible(given or kind.kind, version or kind.version, kind.kind)


def check_place(place: Place, obj: Shared) -> None:
    """See that a body names the object and namespace of the URL; raises Refusal 400."""
    metadata = obj.get("metadata") or {}
    if place.name:
        name = metadata.get("name")
        if not name:
            raise bad_request(
                f"the name of the object ({place.name} based on URL) was undeterminable: "
                "name must be provided"
            )
        if name != place.name:
            raise bad_request(
                f"the name of the object ({name}) does not match the name on the URL ({place.name})"
            )
    if place.resource.kind.namespaced and metadata.get("namespace") not in {
        None,
        "",
        place.namespace,
    }:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_state(place: Place, new: Shared, old: Stored, *, is_whole: bool) -> None:
    """See that a write is about the state of the object that is there; raises Refusal."""
    metadata, present = new["metadata"], old.value["metadata"]
    uid = metadata.get("uid")
    if is_whole and uid and uid != present["uid"]:
        key = f"/registry/{place.resource.kind.plural}/{place.namespace}/{place.name}"
        raise conflict(
            place.subject,
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {present['uid']}",
        )
    revision = metadata.get("resourceVersion") or ""
    if not revision.isdecimal() and revision:
        raise Refusal(500, "", f'strconv.ParseUint: parsing "{revision}": invalid syntax')
    if revision in {"", "0"}:
        if is_whole and not place.resource.strategy.allows_unconditional_update:
            error = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(place.resource.kind_subject(place.name), [error])
    elif revision != str(old.revision):
        raise conflict(place.subject, MODIFIED)
