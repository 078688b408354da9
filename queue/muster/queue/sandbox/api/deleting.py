"""
Deletion: at once, after a while, or when the last finalizer is gone.

Dependents are not its business: it only leaves the finalizers by which a garbage collector sees
what was asked for.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from muster.queue.api.timestamps import format_second
from muster.queue.client.refusal import (
    FieldError,
    Refusal,
    Subject,
    bad_request,
    conflict,
    forbidden,
    invalid,
    invalid_value,
    not_found,
    not_supported,
)
from muster.queue.clock import Clock
from muster.queue.sandbox.api.attributes import Attributes
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.reading import Listing, ListOptions, Reader
from muster.queue.sandbox.api.transient import DELETE_OPTIONS
from muster.queue.sandbox.api.versions import Versions
from muster.queue.sandbox.api.webhooks import Webhooks
from muster.queue.sandbox.api.writing import NAMESPACES, may_go
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared
from muster.queue.sandbox.kinds.schemas import schema
from muster.queue.sandbox.schema.decoding import DecodingError, decode
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.store.memory import Outdated, Store, Stored

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_FINALIZERS: Final = {"Foreground": FOREGROUND, "Background": "", "Orphan": ORPHAN}
_FOREVER: Final = ("default", "kube-system", "kube-public")
_ATTEMPTS_MAX: Final = 8
_US: Final = 1_000_000


class Deleted(NamedTuple):
    """What a deletion came to."""

    stored: Stored
    """The last state if it is gone, else that in which it waits."""
    gone: bool
    warnings: tuple[str, ...] = ()


def read_delete_options(asked: Shared) -> Object:
    """Return a DeleteOptions that can be followed; raises Refusal."""
    kind = asked.get("kind")
    if kind not in {None, "", DELETE_OPTIONS.kind}:
        version = asked.get("apiVersion", "")
        raise bad_request(f'no kind "{kind}" is registered for version "{version}"')
    options: Object = copied({**asked})
    try:
        decode(schema(DELETE_OPTIONS.component), options)
    except DecodingError as error:
        raise bad_request(str(error)) from None
    errors: list[FieldError] = []
    policy = options.get("propagationPolicy")
    if policy is not None and options.get("orphanDependents") is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid_value("propagationPolicy", policy, why))
    if policy is not None and policy not in _FINALIZERS:
        errors.append(not_supported("propagationPolicy", policy, [*_FINALIZERS, "nil"]))
    if any(value != "All" for value in options.get("dryRun") or ()):
        errors.append(not_supported("dryRun", options["dryRun"], ["All"]))
    if (options.get("gracePeriodSeconds") or 0) < 0:
        why = "must be greater than or equal to 0"
        errors.append(invalid_value("gracePeriodSeconds", options["gracePeriodSeconds"], why))
    if errors:
        raise invalid(Subject("meta.k8s.io", DELETE_OPTIONS.kind), errors)
    return options


class Deleter:
    """Deletes objects."""

    def __init__(
        self, store: Store, reader: Reader, versions: Versions, webhooks: Webhooks, clock: Clock
    ) -> None:
        self._store = store
        self._reader = reader
        self._versions = versions
        self._webhooks = webhooks
        self._clock = clock

    async def delete(self, place: Place, asked: Shared, options: WriteOptions) -> Deleted:
        """Delete one object as a DeleteOptions asks; raises Refusal."""
        asked = read_delete_options(asked)
        dry_run = options.dry_run or bool(asked.get("dryRun"))
        for _ in range(_ATTEMPTS_MAX):
            seen = self._store.get(place.key)
            if seen is None:
                raise not_found(place.subject)
            if place.resource.key == NAMESPACES and place.name in _FOREVER:
                raise forbidden(place.subject, "this namespace may not be deleted")
            check_preconditions(place, seen.value, asked.get("preconditions") or {})
            warnings = await self._validate(place, seen, asked, options, dry_run=dry_run)
            if asked.get("propagationPolicy") is None and asked.get("orphanDependents") is None:
                told = place.resource.strategy.orphan_warning
                warnings += (told,) if told else ()
            try:
                return await self._delete(place, seen, asked, warnings, dry_run=dry_run)
            except Outdated:
                continue
        raise conflict(place.subject, "it keeps changing; please try again")

    async def delete_all(
        self,
        resource: Resource,
        namespace: str,
        selection: ListOptions,
        asked: Shared,
        options: WriteOptions,
    ) -> Listing:
        """Delete what is selected; returns the objects as they were."""
        asked = read_delete_options(asked)
        listing = await self._reader.list(resource, namespace, selection)
        for stored in listing.items:
            metadata = stored.value["metadata"]
            place = Place(resource, metadata.get("namespace", ""), metadata["name"])
            try:
                await self.delete(place, asked, options)
            except Refusal as refusal:
                if refusal.reason != "NotFound":  # others may delete as well
                    raise
        return listing

    async def _validate(
        self,
        place: Place,
        seen: Stored,
        asked: Shared,
        options: WriteOptions,
        *,
        dry_run: bool,
    ) -> tuple[str, ...]:
        if not self._webhooks.active:
            return ()
        old = await self._versions.read(place.resource, seen)
        attributes = Attributes(
            resource=place.resource,
            operation="DELETE",
            user=options.user,
            namespace=place.name if place.resource.key == NAMESPACES else place.namespace,
            name=place.name,
            old_object=old.value,
            options={"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **asked},
            dry_run=dry_run,
        )
        _, warnings = await self._webhooks.mutate(attributes)
        return (*warnings, *await self._webhooks.validate(attributes))

    async def _delete(
        self,
        place: Place,
        seen: Stored,
        asked: Shared,
        warnings: tuple[str, ...],
        *,
        dry_run: bool,
    ) -> Deleted:
        resource = place.resource
        obj = seen.private()
        grace_s = self._mark(resource, obj, asked)
        by_default = resource.strategy.orphans_dependents
        _set_finalizers(obj, asked, orphans_by_default=by_default)
        stays = grace_s or obj["metadata"].get("finalizers") or resource.strategy.holds(obj)
        if not stays and not resource.strategy.graceful:
            last = seen if dry_run else self._store.delete(place.key, seen)
            return Deleted(await self._versions.read(resource, last), gone=True, warnings=warnings)
        # Of a kind whose objects may take their time, each is seen to go before it is gone.
        stored = seen
        if dry_run:
            stored = Stored(obj, orjson.dumps(obj), seen.revision)
        elif obj != seen.value:
            stored = self._store.put(place.key, obj, seen)
        if not dry_run and may_go(resource, obj):
            stored = self._store.delete(place.key, stored)
        stored = await self._versions.read(resource, stored)
        return Deleted(stored, gone=not stays, warnings=warnings)

    def _mark(self, resource: Resource, obj: Object, asked: Shared) -> int:
        """Give an object its deletionTimestamp; returns the seconds it still has."""
        metadata: dict[str, Any] = obj["metadata"]
        strategy = resource.strategy
        grace_s = strategy.deletion_grace_s(obj, asked.get("gracePeriodSeconds"))
        if metadata.get("deletionTimestamp"):
            # A later request may shorten what is left, never lengthen it.
            present_s = metadata.get("deletionGracePeriodSeconds") or 0
            asked_s = asked.get("gracePeriodSeconds")
            if asked_s is None or grace_s >= present_s:
                return int(present_s)
        elif strategy.generation and metadata.get("generation"):
            metadata["generation"] += 1
        at_us = self._clock.now_us() + grace_s * _US
        metadata["deletionTimestamp"] = format_second(at_us)
        metadata["deletionGracePeriodSeconds"] = grace_s
        strategy.prepare_deletion(obj)
        return grace_s


def check_preconditions(place: Place, present: Shared, conditions: Shared) -> None:
    """See that an object is the one that a request means; raises Refusal 409."""
    metadata, subject = present["metadata"], place.resource.kind_subject(place.name)
    uid, revision = conditions.get("uid"), conditions.get("resourceVersion")
    if uid is not None and uid != metadata["uid"]:
        raise conflict(
            subject,
            f"the UID in the precondition ({uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated",
        )
    if revision is not None and revision != metadata["resourceVersion"]:
        raise conflict(
            subject,
            f"the ResourceVersion in the precondition ({revision}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). "
            "The object might have been modified",
        )


def _set_finalizers(obj: Object, asked: Shared, *, orphans_by_default: bool) -> None:
    """Leave word of how dependents are to be dealt with."""
    policy = asked.get("propagationPolicy")
    orphans = asked.get("orphanDependents")
    present = obj["metadata"].get("finalizers") or ()
    if policy is None and orphans is not None:
        policy = "Orphan" if orphans else "Background"
    if policy is None:
        if not orphans_by_default or {ORPHAN, FOREGROUND} & {*present}:
            return
        policy = "Orphan"
    finalizers = [each for each in present if each not in {ORPHAN, FOREGROUND}]
    if wanted := _FINALIZERS[policy]:
        finalizers.append(wanted)
    if finalizers:
        obj["metadata"]["finalizers"] = finalizers
    else:
        obj["metadata"].pop("finalizers", None)
