"""
The one path that every write of an object takes, whatever the verb.

The form of the body; unknown fields; defaults; who owns what; admission that changes; what the
server itself sets; faults; admission that refuses; the store.

A verb differs only in the `Edit` that makes the new object out of the present one. An object that
somebody else has changed while admission was asked is edited again, unless the request said which
state it meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson

from muster.queue.api.timestamps import format_second
from muster.queue.client.refusal import (
    Cause,
    FieldError,
    Refusal,
    Subject,
    already_exists,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from muster.queue.clock import Clock
from muster.queue.sandbox.api.attributes import Attributes, Operation
from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.api.form import MODIFIED, Place, check_place, check_state, formed
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.transient import check_head, undecodable
from muster.queue.sandbox.api.versions import Versions
from muster.queue.sandbox.api.webhooks import Webhooks
from muster.queue.sandbox.kinds.metadata import metadata_errors, metadata_update_errors
from muster.queue.sandbox.kinds.plugins import admit
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared
from muster.queue.sandbox.ownership.managers import keep_times, record_update
from muster.queue.sandbox.schema.decoding import DecodingError
from muster.queue.sandbox.schema.pruning import prune
from muster.queue.sandbox.store.memory import Key, Outdated, Store, Stored

NAMESPACES: Final = "namespaces."
"""The key of the resource that all others are in."""
_ATTEMPTS_MAX: Final = 8
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_BASE_LENGTH_MAX: Final = 58
_MAY_BE_LEFT_OUT: Final = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds", "namespace")
_SETTLED: Final = ("creationTimestamp", "generation", "selfLink")
_SET_BY_SERVER: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)


class Written(NamedTuple):
    """What a write came to."""

    stored: Stored
    created: bool = False
    gone: bool = False
    """Nothing holds the object any longer: it is deleted."""
    warnings: tuple[str, ...] = ()


class Edit(NamedTuple):
    """How a verb makes the new object."""

    make: Callable[[Object | None], Object]
    """Of a copy of the present object, None if there is none."""
    owns: bool = False
    """It has settled who owns what, as server-side apply does."""
    may_create: bool = False
    trusted: bool = False
    """The server's own: no schema, no faults, no admission."""
    merges: bool = False
    """It is a strategic merge patch."""
    is_whole: bool = False
    """It comes from the client as a whole, not from the present object."""


@dataclass(slots=True)
class _Course:
    """One write on its way."""

    place: Place
    options: WriteOptions
    now: str
    warnings: list[str] = field(default_factory=list)

    @property
    def resource(self) -> Resource:
        return self.place.resource

    @contextmanager
    def warning_of(self) -> Iterator[None]:
        """Let a refusal tell what there was to warn of, too."""
        try:
            yield
        except Refusal as refusal:
            refusal.warnings = (*self.warnings, *refusal.warnings)
            raise


class Writer:
    """Creates and updates objects."""

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        versions: Versions,
        webhooks: Webhooks,
        clock: Clock,
        chance: Random,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._versions = versions
        self._webhooks = webhooks
        self._clock = clock
        self._chance = chance

    def now(self) -> str:
        return format_second(self._clock.now_us())

    async def create(self, place: Place, body: Object, options: WriteOptions) -> Written:
        """Store a new object; raises Refusal."""
        course = _Course(place, options, self.now())
        with course.warning_of():
            return await self._create(course, self._read(course, body), owned=False)

    def answer(self, place: Place, body: Object, options: WriteOptions) -> Written:
        """Answer an object that is a question, and store nothing; raises Refusal."""
        course = _Course(place, options, self.now())
        question = self._read(course, body)
        place.resource.strategy.default(question)
        assert place.resource.answer
        answered = place.resource.answer(question, options.user.manifest())
        return Written(_unstored(answered, 0), created=True, warnings=tuple(course.warnings))

    def _read(self, course: _Course, body: Object) -> Object:
        """Return the object in a body, without what its kind doesn't know."""
        try:
            body = formed(course.resource, body)
            self._clean(course, body)
        except DecodingError as error:
            kind = course.resource.kind
            raise undecodable(error, kind.kind, kind.api_version) from None
        check_place(course.place, body)
        return body

    async def update(self, place: Place, edit: Edit, options: WriteOptions) -> Written:
        """Store what an edit makes of an object; raises Refusal."""
        for _ in range(_ATTEMPTS_MAX):
            seen = self._store.get(place.key)
            if seen is None:
                if not edit.may_create or place.subresource:
                    raise not_found(place.subject)
                try:
                    return await self._create_by(place, edit, options)
                except Refusal as refusal:
                    if refusal.reason != "AlreadyExists":
                        raise
                    continue  # somebody else was first
            old = await self._versions.read(place.resource, seen)
            new = edit.make(old.private())
            course = _Course(place, options, self.now())
            try:
                if edit.trusted:
                    return await self._update_trusted(course, new, old, seen)
                with course.warning_of():
                    return await self._update(course, new, old, seen, edit)
            except Outdated:
                continue  # an edit of one state alone is refused then
        raise conflict(place.subject, MODIFIED)

    # -- new objects ---------------------------------------------------------------------------

    async def _create_by(self, place: Place, edit: Edit, options: WriteOptions) -> Written:
        """Create what an edit makes of nothing."""
        course = _Course(place, options, self.now())
        new = formed(place.resource, edit.make(None))
        check_place(place, new)
        if uid := new["metadata"].get("uid"):
            raise conflict(
                place.subject,
                f"uid mismatch: the provided object specified uid {uid}, "
                "and no existing object was found",
            )
        try:
            self._clean(course, new)
        except DecodingError as error:
            kind = place.resource.kind
            raise unusable(error, kind.kind, kind.api_version, edit) from None
        return await self._create(course, new, owned=edit.owns)

    async def _create(self, course: _Course, obj: Object, *, owned: bool) -> Written:
        place, resource = course.place, course.resource
        metadata: dict[str, Any] = obj.setdefault("metadata", {})
        self._check_open(place, metadata.get("name", ""))
        if metadata.pop("resourceVersion", ""):
            raise Refusal(500, "", "resourceVersion should not be set on objects to be created")
        for name in _SET_BY_SERVER:
            metadata.pop(name, None)
        if place.namespace:
            metadata["namespace"] = place.namespace
        resource.strategy.default(obj)
        if not owned:
            self._record(course, None, obj)
        admit(resource, obj, self._look_up, self._list)
        attributes = self._attributes(course, "CREATE", obj, None)
        obj = await self._mutate(course, attributes)
        is_named = bool(obj["metadata"].get("name"))
        self._complete(resource, obj, course.now)
        resource.strategy.prepare_create(obj, course.now)
        errors = metadata_errors(
            obj,
            namespaced=resource.kind.namespaced,
            name_rule=resource.strategy.name_rule,
        )
        errors += resource.strategy.validate_create(obj)
        if errors:
            raise invalid(resource.kind_subject(obj["metadata"].get("name", "")), errors)
        course.warnings += resource.strategy.warnings(obj, None)
        await self._validate(course, attributes, obj)
        value = obj if course.options.dry_run else await self._versions.write(resource, obj)
        # Admission and conversion took their time. From here on nobody else gets a turn.
        self._check_open(place, obj["metadata"]["name"])
        key = self._free_key(course, obj, may_rename=not (place.name or is_named))
        value["metadata"]["name"] = key.name
        stored = _unstored(obj, 0)
        if not course.options.dry_run:
            stored = await self._versions.read(resource, self._store.put(key, value, None))
        return Written(stored, created=True, warnings=tuple(course.warnings))

    def _complete(self, resource: Resource, obj: Object, now: str) -> None:
        """Set what only the server can say of a new object."""
        metadata = obj["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._generated(metadata["generateName"])
        metadata["uid"] = str(UUID(int=self._chance.getrandbits(128), version=4))
        metadata["creationTimestamp"] = now
        if resource.strategy.generation:
            metadata["generation"] = 1

    def _generated(self, base: str) -> str:
        suffix = "".join(self._chance.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))
        return base[:_BASE_LENGTH_MAX] + suffix

    def _free_key(self, course: _Course, obj: Object, *, may_rename: bool) -> Key:
        """Return where a new object goes; a name that was generated may be generated again."""
        resource, metadata = course.resource, obj["metadata"]
        for _ in range(_ATTEMPTS_MAX):
            key = Key(resource.key, course.place.namespace, metadata["name"])
            if self._store.get(key) is None:
                return key
            if not may_rename:
                break
            metadata["name"] = self._generated(metadata["generateName"])
        raise already_exists(resource.subject(metadata["name"]))

    # -- objects that are there ----------------------------------------------------------------

    async def _update(
        self, course: _Course, new: Object, old: Stored, seen: Stored, edit: Edit
    ) -> Written:
        place, resource, before = course.place, course.resource, old.value
        metadata = new.get("metadata")
        forgets_managers = isinstance(metadata, dict) and metadata.get("managedFields") == []
        try:
            if not edit.is_whole:
                _check_registered(resource, new)
            new = formed(resource, new)
            # What is stored has been pruned; what was converted may not have been.
            self._clean(course, new, before if old is seen else None)
        except DecodingError as error:
            kind = resource.kind
            raise unusable(error, kind.kind, kind.api_version, edit) from None
        check_place(place, new)
        check_state(place, new, old, is_whole=edit.is_whole)
        resource.strategy.default(new)
        _keep(new["metadata"], before["metadata"])
        if forgets_managers:  # which an empty list means, though a kind may drop it as empty
            new["metadata"]["managedFields"] = []
        if not edit.owns:
            self._record(course, before, new)
        admit(resource, new, self._look_up, self._list, before)
        attributes = self._attributes(course, "UPDATE", new, before)
        new = await self._mutate(course, attributes)
        resource.strategy.prepare_update(new, before, place.subresource, course.now)
        _count_generation(resource, new, before)
        # Once for the kind and once for all kinds: the real one tells such faults twice.
        errors = 2 * metadata_update_errors(new, before)
        errors += resource.strategy.validate_update(new, before, place.subresource)
        if errors:
            raise invalid(resource.kind_subject(place.name), errors)
        course.warnings += resource.strategy.warnings(new, before)
        await self._validate(course, attributes, new)
        return await self._replace(course, new, old, seen)

    async def _update_trusted(
        self, course: _Course, new: Object, old: Stored, seen: Stored
    ) -> Written:
        self._record(course, old.value, new)
        _count_generation(course.resource, new, old.value)
        return await self._replace(course, new, old, seen)

    async def _replace(self, course: _Course, new: Object, old: Stored, seen: Stored) -> Written:
        place, warnings = course.place, tuple(course.warnings)
        new["metadata"]["resourceVersion"] = str(old.revision)
        keep_times(old.value, new)
        if new == old.value:
            return Written(old, warnings=warnings)
        is_gone = may_go(place.resource, new)
        last = _unstored(new, old.revision)
        if course.options.dry_run:
            return Written(last, gone=is_gone, warnings=warnings)
        value = await self._versions.write(place.resource, new)
        if is_gone:
            self._store.delete(place.key, seen, value)
            return Written(last, gone=True, warnings=warnings)
        stored = self._store.put(place.key, value, seen)
        return Written(await self._versions.read(place.resource, stored), warnings=warnings)

    # -- steps ---------------------------------------------------------------------------------

    @staticmethod
    def _clean(course: _Course, obj: Object, pruned: Shared | None = None) -> None:
        """
        Drop what the kind doesn't know, and say so if asked to; nothing of that is in `pruned`.

        Raises DecodingError for values of the wrong type, and for that if asked to.
        """
        resource, options = course.resource, course.options
        unknown = prune(resource.schema, obj, pruned)
        course.warnings += options.complaints(unknown)

    @staticmethod
    def _record(course: _Course, live: Shared | None, new: Object) -> None:
        resource, subresource = course.resource, course.place.subresource
        record_update(
            resource.schema,
            live,
            new,
            manager=course.options.manager,
            api_version=resource.kind.api_version,
            subresource=subresource,
            time=course.now,
            reset=resource.strategy.reset_fields(subresource),
        )

    def _check_open(self, place: Place, new_name: str) -> None:
        """See that kind and namespace are there to take new objects."""
        if self._catalogue.of(place.resource.kind).terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(place.resource.subject(new_name), why)
        if not place.resource.kind.namespaced:
            return
        name = place.namespace
        found = self._store.get(Key(NAMESPACES, "", name))
        if found is None:
            raise not_found(Subject("", "namespaces", name))
        if found.value["metadata"].get("deletionTimestamp"):
            message = f"namespace {name} is being terminated"
            why = f"unable to create new content in namespace {name} because it is being terminated"
            cause = Cause("NamespaceTerminating", message, "metadata.namespace")
            raise forbidden(place.resource.subject(new_name), why, [cause])

    def _attributes(
        self, course: _Course, operation: Operation, obj: Object, old: Shared | None
    ) -> Attributes:
        place = course.place
        name = (old or obj)["metadata"].get("name", "")
        return Attributes(
            resource=place.resource,
            operation=operation,
            user=course.options.user,
            namespace=name if place.resource.key == NAMESPACES else place.namespace,
            name=name,
            subresource=place.subresource,
            object=obj,
            old_object=old,
            options=course.options.manifest(operation) if self._webhooks.active else None,
            dry_run=course.options.dry_run,
        )

    async def _mutate(self, course: _Course, attributes: Attributes) -> Object:
        obj = attributes.object
        assert isinstance(obj, dict)
        if not self._webhooks.active:
            return obj
        changed, warnings = await self._webhooks.mutate(attributes)
        course.warnings += warnings
        return changed

    async def _validate(self, course: _Course, attributes: Attributes, obj: Object) -> None:
        if self._webhooks.active:
            course.warnings += await self._webhooks.validate(attributes.with_object(obj))

    def _look_up(self, resource: str, namespace: str, name: str) -> Shared | None:
        found = self._store.get(Key(resource, namespace, name))
        return found.value if found else None

    def _list(self, resource: str, namespace: str) -> Iterable[Shared]:
        return (stored.value for stored in self._store.select(resource, namespace))


def may_go(resource: Resource, obj: Shared) -> bool:
    """Say whether an object was to be deleted and nothing holds it any longer."""
    metadata = obj["metadata"]
    return bool(
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not resource.strategy.holds(obj)
    )


def _keep(metadata: Object, old: Shared) -> None:
    """Let stand what an update may leave out, and what it has no say in."""
    for name in _MAY_BE_LEFT_OUT:
        if name in old and not metadata.get(name):
            metadata[name] = old[name]
    for name in _SETTLED:
        if name in old:
            metadata[name] = old[name]
        else:
            metadata.pop(name, None)
    if metadata.get("resourceVersion", "") in {"", "0"}:
        metadata["resourceVersion"] = old["resourceVersion"]


def _check_registered(resource: Resource, new: Object) -> None:
    """See that a patch has left an object of its kind; raises DecodingError."""
    try:
        check_head(new)
    except DecodingError as error:
        raise DecodingError(f"couldn't get version/kind; json parse error: {error}") from None
    given, version = new.get("kind"), new.get("apiVersion")
    if not resource.custom and (given, version) != (resource.kind.kind, resource.kind.api_version):
        raise DecodingError(f'no kind "{given}" is registered for version "{version}"')


def unusable(error: DecodingError, kind: str, api_version: str, edit: Edit) -> Refusal:
    """Refuse what an edit has made."""
    if edit.is_whole:
        return undecodable(error, kind, api_version)
    told = error.after_merge() if edit.merges else str(error)
    return invalid(
        Subject("", ""), [FieldError("FieldValueInvalid", "patch", f"Invalid value: {told}")]
    )


def _count_generation(resource: Resource, new: Object, old: Shared) -> None:
    if not resource.strategy.generation:
        return
    beside = {"metadata", "status"} if "status" in resource.subresources else {"metadata"}
    if any(new.get(name) != old.get(name) for name in (*new, *old) if name not in beside):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _unstored(obj: Object, revision: int) -> Stored:
    return Stored(obj, orjson.dumps(obj), revision)
