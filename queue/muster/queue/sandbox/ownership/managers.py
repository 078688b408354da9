"""
The record of who owns which field of an object, kept up to date by every write.

Whoever writes an object with create, replace or a patch owns what it changed, and nobody else does.
Server-side apply owns all that it applies, together with others who apply the same value; it needs
`force` to change what somebody else owns.
"""

from __future__ import annotations

from collections.abc import Sequence

from muster.queue.client.refusal import Refusal, bad_request
from muster.queue.sandbox.ownership.applying import merged
from muster.queue.sandbox.ownership.conformance import mismatches
from muster.queue.sandbox.ownership.empty import empty_object
from muster.queue.sandbox.ownership.entries import (
    Object,
    Path,
    Shared,
    Write,
    capped,
    entries_to_keep,
    set_entries,
    updated,
)
from muster.queue.sandbox.ownership.typed import MalformedListError
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.schema.node import Schema


def record_update(  # noqa: PLR0913 - whose write of what, when and through what
    schema: Schema,
    live: Shared | None,
    new: Object,
    *,
    manager: str,
    api_version: str,
    subresource: str,
    time: str,
    reset: Sequence[Path],
) -> None:
    """
    Set the managedFields of an object that was created, replaced or patched.

    `live` is what it was before, None if it is new. `reset` are the paths that a write through this
    sub-resource never owns. A client may send managedFields itself: as an empty list, or one with
    an empty entry, they are forgotten; entries that can't be read are ignored; others stand.
    """
    metadata = new["metadata"]
    given = metadata.pop("managedFields", None)
    entries = entries_to_keep(live, given, subresource)
    if live is not None and not entries:
        return  # nobody is tracked before the first apply
    write = Write(
        manager=manager,
        api_version=api_version,
        subresource=subresource,
        time=time,
        reset=tuple(reset),
    )
    try:
        entries = updated(schema, live or empty_object(schema), new, entries, write)
    except MalformedListError:
        return  # what can't be told apart can't be owned: such an object is refused, or untracked
    set_entries(new, capped(entries))


def apply(  # noqa: PLR0913 - whose write of what, when and through what
    schema: Schema,
    live: Object | None,
    applied: Object,
    *,
    manager: str,
    force: bool,
    api_version: str,
    subresource: str,
    time: str,
    reset: Sequence[Path],
) -> Object:
    """
    Return the object that results, with its managedFields.

    `live` is a copy of the object as it is, None if there is none; it belongs to the result
    afterwards. `applied` stays as it is, for another attempt. `reset` are the paths that can't be
    applied through this sub-resource. Raises 400 for an object that brings its own managedFields,
    409 for conflicts, 500 (as the real one does) for one that isn't of its schema.
    """
    write = Write(
        manager=manager,
        api_version=api_version,
        subresource=subresource,
        time=time,
        reset=tuple(reset),
    )
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if wrong := mismatches(schema, applied):
        raise _mistyped(applied, "patch", api_version, wrong)
    try:
        return merged(schema, live, copied(applied), write, force=force)
    except MalformedListError as error:
        raise _mistyped(applied, "live", api_version, error) from error


def _mistyped(obj: Object, role: str, api_version: str, wrong: object) -> Refusal:
    told = f"failed to create typed {role} object ({_told(obj, api_version)}): {wrong}"
    return Refusal(500, "", told)


def _told(obj: Object, api_version: str) -> str:
    metadata = obj.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    version = api_version if "/" in api_version else f"/{api_version}"
    name = f"{named.get('namespace', '')}/{named.get('name', '')}"
    return f"{name}; {version}, Kind={obj.get('kind', '')}"


def keep_times(old: Shared, new: Object) -> None:
    """
    Take back the times of a write that came to nothing: all else in the object is as before.

    That is so where defaults or the kind have undone what the write changed.
    """
    before, after = (each["metadata"].get("managedFields") or [] for each in (old, new))
    if len(before) != len(after) or not before:
        return
    for held, now in zip(before, after, strict=True):
        if {**held, "time": ""} != {**now, "time": ""}:
            return
    metadata = {**new["metadata"], "managedFields": before}
    if {**new, "metadata": metadata} == old:
        new["metadata"]["managedFields"] = before
