"""
Server-side apply: one manager says what some fields of an object are to be.

What it says is merged into the object and becomes its own. What it said before and says no longer
goes, unless somebody else owns it. What somebody else owns with another value is a conflict, unless
forced.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import orjson

from muster.queue.client.refusal import Cause, Refusal
from muster.queue.sandbox.ownership.conformance import mismatches
from muster.queue.sandbox.ownership.empty import empty_object
from muster.queue.sandbox.ownership.entries import (
    Entries,
    Object,
    Owner,
    Write,
    changes,
    entries_of,
    entry,
    owned,
    set_entries,
    updated,
    without,
)
from muster.queue.sandbox.ownership.fieldset import (
    Fields,
    difference,
    difference_below,
    intersection,
    paths,
    shown_step,
)
from muster.queue.sandbox.ownership.pruning import prune
from muster.queue.sandbox.ownership.typed import MalformedListError, compare, field_set, merge
from muster.queue.sandbox.schema.go import escaped
from muster.queue.sandbox.schema.node import Schema

_BEFORE: Final = "before-first-apply"
_KUBECTL: Final = "kubectl"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_BYTES_MAX: Final = 256 * 1024

Conflicts = dict[Owner, Fields]


def merged(
    schema: Schema, live: Object | None, applied: Object, write: Write, *, force: bool
) -> Object:
    """Return the object that results; raises 409 for conflicts, and MalformedListError."""
    present: Object = live or {}
    entries = entries_of(present)
    if present and not entries:
        entries = updated(
            schema, empty_object(schema), present, {}, replace(write, manager=_BEFORE)
        )
    owner = write.as_apply
    last = entries.get(owner)
    fields = difference_below(field_set(schema, applied), write.unowned)
    claims = [fields, *(held["fieldsV1"] for key, held in entries.items() if key != owner)]
    new = merge(schema, present, applied)
    if last:
        new = prune(schema, new, last["fieldsV1"], claims)
    changed, removed = changes(schema, present, new, write)
    if not force and (conflicts := _conflicts(entries, owner, changed)):
        _check(schema, present, conflicts, write)
    entries = without(entries, changed, removed, besides=owner)
    time = write.time if new != present else (last or {}).get("time", "")
    entries.pop(owner, None)
    if fields := owned(fields):
        entries[owner] = entry(owner, write.api_version, time, fields)
    new = {**new, "metadata": {**(new.get("metadata") or {})}}
    set_entries(new, entries)
    if write.manager == _KUBECTL:
        _remember(new, applied)
    return new


# -- conflicts ----------------------------------------------------------------------------------


def _conflicts(entries: Entries, owner: Owner, changed: Fields) -> Conflicts:
    """Return what is changed of what others own."""
    found: Conflicts = {}
    for other, held in entries.items():
        if other != owner and (fields := intersection(held["fieldsV1"], changed)):
            found[other] = fields
    return found


def _check(schema: Schema, live: Object, conflicts: Conflicts, write: Write) -> None:
    """Refuse conflicts, but those of kubectl with what it applied itself by a patch."""
    if write.manager == _KUBECTL and (mine := _last_applied(schema, live, write.api_version)):
        left = {other: difference(fields, mine) for other, fields in conflicts.items()}
        conflicts = {other: fields for other, fields in left.items() if fields}
    if conflicts:
        raise _conflict(conflicts)


def _conflict(conflicts: Conflicts) -> Refusal:
    """Refuse to change what others own."""
    causes = []
    told = []
    for owner in sorted(conflicts):
        fields = ["".join(map(shown_step, path)) for path in paths(conflicts[owner])]
        who = _shown(owner)
        causes += [Cause("FieldManagerConflict", f"conflict with {who}", name) for name in fields]
        told += [f"conflicts with {who}:", *[f"- {name}" for name in fields]]
    if len(causes) == 1:
        what = f"1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        what = f"{len(causes)} conflicts: " + "\n".join(told)
    details = {"causes": [cause.manifest() for cause in causes]}
    return Refusal(409, "Conflict", f"Apply failed with {what}", details)


def _shown(owner: Owner) -> str:
    who = f'"{owner.manager}"'
    if owner.subresource:
        who += f' with subresource "{owner.subresource}"'
    return f"{who} using {owner.api_version}" if owner.operation == "Update" else who


# -- what kubectl's client-side apply leaves in an annotation -----------------------------------


def _last_applied(schema: Schema, live: Object, api_version: str) -> Fields:
    """Return the fields that kubectl has applied by a patch and that still are as applied."""
    text = (live["metadata"].get("annotations") or {}).get(_LAST_APPLIED)
    try:
        last = orjson.loads(text) if text else None
        if not isinstance(last, dict) or last.get("apiVersion") != api_version:
            return {}
        if mismatches(schema, last):
            return {}
        changed, removed = compare(schema, last, live)
        return difference(difference(field_set(schema, last), changed), removed)
    except (orjson.JSONDecodeError, MalformedListError):
        return {}


def _remember(new: Object, applied: Object) -> None:
    """Keep the annotation of kubectl's client-side apply, if there is one, up to date."""
    annotations: dict[str, Any] = new["metadata"].get("annotations") or {}
    if not annotations.get(_LAST_APPLIED):
        return
    metadata = applied.get("metadata") or {}
    kept = {
        name: value
        for name, value in (metadata.get("annotations") or {}).items()
        if name != _LAST_APPLIED
    }
    told = {**applied, "metadata": {**metadata, "annotations": kept}}
    if not kept:
        del told["metadata"]["annotations"]
    text = escaped(orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode()) + "\n"
    annotations = {**annotations, _LAST_APPLIED: text}
    if sum(len(name) + len(value) for name, value in annotations.items()) > _ANNOTATIONS_BYTES_MAX:
        del annotations[_LAST_APPLIED]
    new["metadata"]["annotations"] = annotations
