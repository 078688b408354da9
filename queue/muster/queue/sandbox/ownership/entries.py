"""
The entries of `metadata.managedFields`: what tells them apart, their order, and how many there are.

There is one for each manager, operation and sub-resource. Times are text in RFC 3339 with seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from muster.queue.sandbox.ownership.fieldset import (
    Fields,
    MalformedFieldsError,
    difference,
    difference_below,
    from_paths,
    parsed,
    union,
)
from muster.queue.sandbox.ownership.typed import Comparison, compare
from muster.queue.sandbox.schema.node import Schema

Object = dict[str, Any]
Shared = Mapping[str, Any]
Path = tuple[str, ...]

UPDATE_ENTRIES_MAX: Final = 10
"""How many managers may own fields by other means than apply; of more, the oldest are merged."""

_ANCIENT: Final = "ancient-changes"
_UNOWNED_METADATA: Final = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
_UNOWNED: Final[Fields] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {".": {}, **{f"f:{name}": {} for name in _UNOWNED_METADATA}},
}
"""What belongs to the server, whoever wrote it."""


class Owner(NamedTuple):
    """What tells the entries of managedFields apart."""

    manager: str
    operation: Literal["Apply", "Update"]
    api_version: str
    """"" of an apply: a manager that applies has one entry, whatever the version."""
    subresource: str


Entries = dict[Owner, dict[str, Any]]
"""The entries of managedFields: each is replaced as a whole and never changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Who writes an object, through what, and when."""

    manager: str
    api_version: str
    subresource: str
    time: str
    reset: tuple[Path, ...]
    """Where nothing can be written through this sub-resource."""

    @property
    def as_update(self) -> Owner:
        return Owner(self.manager, "Update", self.api_version, self.subresource)

    @property
    def as_apply(self) -> Owner:
        return Owner(self.manager, "Apply", "", self.subresource)

    @property
    def unowned(self) -> Fields:
        return _fields_at(self.reset)


@lru_cache(1024)
def _fields_at(places: tuple[Path, ...]) -> Fields:
    return from_paths([tuple(f"f:{name}" for name in path) for path in places])


def entry(owner: Owner, api_version: str, time: str, fields: Fields) -> dict[str, Any]:
    """Return an entry of managedFields; `time` is "" for none."""
    made: dict[str, Any] = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": api_version,
    }
    if time:
        made["time"] = time
    made["fieldsType"] = "FieldsV1"
    made["fieldsV1"] = fields
    if owner.subresource:
        made["subresource"] = owner.subresource
    return made


def entries_of(obj: Shared) -> Entries:
    """Return the entries of an object of ours."""
    managed = obj.get("metadata", {}).get("managedFields") or ()
    return {_owner(held): held for held in managed}


def _owner(held: Mapping[str, Any]) -> Owner:
    operation = held["operation"]
    return Owner(
        held.get("manager", ""),
        operation,
        "" if operation == "Apply" else held["apiVersion"],
        held.get("subresource", ""),
    )


def entries_to_keep(live: Shared | None, given: Any, subresource: str) -> Entries:
    """Return the entries before a write: of the object that was sent, else of the live one."""
    known = live["metadata"].get("managedFields") if live else None
    if not subresource and given is not None and given != known:
        if given in ([], [{}]):
            return {}
        try:
            sent = {_owner(held): held for held in map(_parsed_entry, given)}
        except MalformedFieldsError:
            sent = {}
        if sent:
            return sent
    return {_owner(held): held for held in known or ()}


def _parsed_entry(given: Any) -> dict[str, Any]:
    """Read an entry that a client wrote; raises MalformedFieldsError."""
    if isinstance(given, dict):
        version, kind = given.get("apiVersion"), given.get("fieldsType")
        if given.get("operation") in {"Apply", "Update"} and version and kind == "FieldsV1":
            return {**given, "fieldsV1": parsed(given.get("fieldsV1"))}
    raise MalformedFieldsError("an entry has an operation, an apiVersion and a fieldsType")


def set_entries(obj: Object, entries: Entries) -> None:
    """Write the entries into an object, in the order of a real API server."""
    if not entries:
        obj["metadata"].pop("managedFields", None)
    else:
        obj["metadata"]["managedFields"] = [entries[owner] for owner in _in_order(entries)]


def _in_order(entries: Entries) -> Iterable[Owner]:
    if len(entries) == 1:
        return entries
    return sorted(
        entries,
        key=lambda owner: (
            owner.operation,
            entries[owner].get("time") or "",
            owner.manager,
            entries[owner]["apiVersion"],
            owner.subresource,
        ),
    )


def _age(owner: Owner, held: dict[str, Any]) -> tuple[Any, ...]:
    """Return what sorts the oldest first; sub-resources come before the object itself."""
    manager, _, api_version, subresource = owner
    return held.get("time") or "", manager, api_version, not subresource, subresource


def capped(entries: Entries) -> Entries:
    """Return the entries with the oldest updates in one, for each version, if they are too many."""
    updates = [owner for owner in entries if owner.operation == "Update"]
    excess = len(updates) - UPDATE_ENTRIES_MAX
    if excess <= 0:
        return entries
    groups: dict[str, list[Owner]] = {}
    for owner in sorted(updates, key=lambda owner: _age(owner, entries[owner])):
        group = groups.setdefault(owner.api_version, [])
        group.append(owner)
        # A group of n becomes one entry, so all but its first make one less.
        excess -= len(group) > 1
        if not excess:
            break
    left = dict(entries)
    for version, group in groups.items():
        if len(group) > 1:
            _merge_entries(left, version, group)
    return left


def _merge_entries(entries: Entries, version: str, group: list[Owner]) -> None:
    """Make one entry of some of a version, the oldest first, and of those merged before."""
    bucket = Owner(_ANCIENT, "Update", version, "")
    # Where there is a bucket already, the oldest entry that is not in it is left alone.
    owners = group[1:] if bucket in entries else group
    fields = entries[bucket]["fieldsV1"] if bucket in entries else {}
    for owner in owners:
        fields = union(entries[owner]["fieldsV1"], fields)
    time = entries[owners[-1]].get("time") or ""
    for owner in owners:
        del entries[owner]
    entries[bucket] = entry(bucket, version, time, fields)


# -- after a write ------------------------------------------------------------------------------


def changes(schema: Schema, live: Shared, new: Shared, write: Write) -> Comparison:
    """Return what a write changes and removes; raises MalformedListError."""
    changed, removed = compare(schema, live, new)
    unowned = write.unowned
    return Comparison(difference_below(changed, unowned), difference_below(removed, unowned))


def updated(schema: Schema, live: Shared, new: Shared, entries: Entries, write: Write) -> Entries:
    """Return the entries after a write that isn't an apply; raises MalformedListError."""
    changed, removed = changes(schema, live, new, write)
    if not changed and not removed:
        return entries
    own = difference(changed, _UNOWNED)
    entries = without(entries, changed, removed)
    if own:
        owner = write.as_update
        before = entries.get(owner)
        fields = union(before["fieldsV1"], own) if before else own
        entries[owner] = entry(owner, write.api_version, write.time, fields)
    return entries


def without(
    entries: Entries, changed: Fields, removed: Fields, besides: Owner | None = None
) -> Entries:
    """Return the entries, without fields that are no longer theirs, that own anything then."""
    kept: Entries = {}
    for owner, held in entries.items():
        fields = held["fieldsV1"]
        if owner != besides:
            fields = difference(difference(fields, changed), removed)
        if fields:
            kept[owner] = held if fields is held["fieldsV1"] else {**held, "fieldsV1": fields}
    return kept


def owned(fields: Fields) -> Fields:
    """Return a set without what belongs to the server."""
    return difference(fields, _UNOWNED)
