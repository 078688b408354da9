"""
The API server without HTTP: every verb as a method, for HTTP and for programs in this process.

It puts the parts together and decides which of them a request goes to; what they do is theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final
from uuid import UUID

import orjson

from muster.queue.client.kinds import CRD, NAMESPACE, PRIORITY_CLASS, Kind
from muster.queue.client.refusal import (
    Refusal,
    bad_request,
    method_not_allowed,
    unsupported_media_type,
)
from muster.queue.clock import Clock
from muster.queue.sandbox.api.attributes import Attributes, User
from muster.queue.sandbox.api.bindings import bind
from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.api.conversion import Converter
from muster.queue.sandbox.api.definitions import Definitions, Hands
from muster.queue.sandbox.api.deleting import Deleted, Deleter
from muster.queue.sandbox.api.evictions import Evictor
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.https import Caller, Handler
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.reading import Listing, ListOptions, Reader
from muster.queue.sandbox.api.scales import scale_of, scaled
from muster.queue.sandbox.api.transient import FORMS, read_as, undecodable
from muster.queue.sandbox.api.versions import Convert, Versions
from muster.queue.sandbox.api.watching import Watch, Watches, WatchOptions
from muster.queue.sandbox.api.webhooks import Webhooks
from muster.queue.sandbox.api.writing import NAMESPACES, Edit, Writer, Written
from muster.queue.sandbox.kinds.access import access_resources
from muster.queue.sandbox.kinds.builtin import builtin_resources
from muster.queue.sandbox.kinds.classes import system_priority_classes
from muster.queue.sandbox.kinds.events import EVENTS, convert_events
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared
from muster.queue.sandbox.ownership.managers import apply
from muster.queue.sandbox.patches.json_patch import json_patch, unknown_members
from muster.queue.sandbox.patches.merge_patch import merge_patch
from muster.queue.sandbox.patches.strategic_merge_patch import strategic_merge_patch
from muster.queue.sandbox.schema.decoding import DecodingError
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.schema.go import json_type
from muster.queue.sandbox.store.memory import Change, Journal, Key, Store, Stored

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
BOOKMARK_PERIOD_S: Final = 60.0
_OWN_WRITES: Final = WriteOptions(
    user=User("system:apiserver", ("system:masters",)), manager="kube-apiserver"
)
_WEBHOOKS: Final = (
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
)
_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


class ApiServer:
    """All of it; `start` before the first request, `run` for as long as it serves."""

    def __init__(
        self,
        clock: Clock,
        chance: Random,
        journal: Journal | None = None,
        handlers: Mapping[str, Handler] | None = None,
    ) -> None:
        """`handlers` answer in this process for the webhooks of their URLs."""
        self.clock = clock
        self.store = Store(journal)
        self.catalogue = Catalogue((*builtin_resources(), *access_resources()))
        self.versions = Versions(self.catalogue)
        self.versions.convert_by(EVENTS, convert_events)
        self._chance = chance
        self._caller = Caller(clock, handlers)
        self.webhooks = Webhooks(
            self._caller,
            labels_of=self._labels_of,
            versions_of=self._versions_of,
            convert=self._convert,
            new_uid=self.new_uid,
        )
        self.reader = Reader(self.store, self.versions)
        self.writer = Writer(
            self.store, self.catalogue, self.versions, self.webhooks, clock, chance
        )
        self.deleter = Deleter(self.store, self.reader, self.versions, self.webhooks, clock)
        self._evictor = Evictor(self.store, self.catalogue, self.reader, self.writer, self.deleter)
        self.watches = Watches(self.store, self.versions)
        hands = Hands(self._update_definition, self._delete_all_of, self.watches.end_of)
        self._definitions = Definitions(
            self.store, self.catalogue, self.versions, hands, self._converter, clock
        )

    # -- reads ---------------------------------------------------------------------------------

    async def get(self, place: Place) -> Stored:
        if place.subresource == "scale":
            return scale_of(place, await self.reader.get(place))
        return await self.reader.get(place)

    async def list(self, resource: Resource, namespace: str, options: ListOptions) -> Listing:
        return await self.reader.list(resource, namespace, options)

    def watch(self, resource: Resource, namespace: str, options: WatchOptions) -> Watch:
        """Begin a watch, to be ended with `watches.stop`."""
        return self.watches.start(resource, namespace, options)

    # -- writes --------------------------------------------------------------------------------

    async def create(self, place: Place, body: Object, options: WriteOptions) -> Written:
        if place.resource.answer:
            return self.writer.answer(place, body, options)
        if not place.subresource:
            return await self.writer.create(place, body, options)
        if place.subresource not in {"binding", "eviction"}:
            raise method_not_allowed()
        form = FORMS[place.subresource]
        try:
            body, warnings = read_as(form, body, options)
        except DecodingError as error:
            raise undecodable(error, form.kind, form.api_version) from None
        if place.subresource == "binding":
            edit = Edit(bind(place, body, self.writer.now()), trusted=True)
            await self._ask_webhooks(place, body, options)
            written = await self.writer.update(place, edit, options)
        else:
            await self._ask_webhooks(place, body, options)
            written = await self._evictor.evict(place, body, options)
        return written._replace(warnings=(*warnings, *written.warnings))

    async def replace(self, place: Place, body: Object, options: WriteOptions) -> Written:
        def make(_old: Object | None) -> Object:
            fresh: Object = copied(body)  # it may have to be made again
            return fresh

        strategy = place.resource.strategy
        return await self._edit(
            place,
            Edit(make, may_create=strategy.allows_create_on_update, is_whole=True),
            options,
        )

    async def patch(
        self, place: Place, media_type: str, patch: object, options: WriteOptions
    ) -> Written:
        """Change an object by a patch of one of the media types; raises Refusal."""
        if media_type == APPLY_PATCH:
            return await self.apply(place, patch, options)
        make: Callable[[Object, object], Object]
        if media_type == JSON_PATCH:
            unknown = [f'json patch unknown field "{at}"' for at in unknown_members(patch)]
            options = options.with_faults(unknown)
            make = json_patch
        elif media_type == MERGE_PATCH:
            make = merge_patch
        elif media_type == STRATEGIC_PATCH and not place.resource.custom:
            make = partial(strategic_merge_patch, place.resource.schema)
        else:
            raise unsupported_media_type(patch_types(place.resource))

        def patched(old: Object | None) -> Object:
            assert old is not None, "no patch creates"
            return make(old, patch)

        edit = Edit(patched, merges=media_type == STRATEGIC_PATCH)
        return await self._edit(place, edit, options)

    async def apply(self, place: Place, applied: object, options: WriteOptions) -> Written:
        """Server-side apply; raises Refusal, 409 for fields that others own."""
        if not isinstance(applied, dict):
            raise bad_request(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
                f"unmarshal {json_type(applied)} into Go value of type map[string]interface {{}}"
            )
        resource = place.resource
        version, kind = (
            given if isinstance(given := applied.get(name), str) else ""
            for name in ("apiVersion", "kind")
        )
        if (version, kind) != (resource.kind.api_version, resource.kind.kind):
            shown = version if "/" in version else f"/{version}"
            raise bad_request(f"invalid object type: {shown}, Kind={kind}")

        def make(old: Object | None) -> Object:
            return apply(
                resource.schema,
                old,
                applied,
                manager=options.manager,
                force=options.force,
                api_version=resource.kind.api_version,
                subresource=place.subresource,
                time=self.writer.now(),
                reset=resource.strategy.reset_fields(place.subresource),
            )

        return await self._edit(place, Edit(make, owns=True, may_create=True), options)

    async def _edit(self, place: Place, edit: Edit, options: WriteOptions) -> Written:
        if place.subresource != "scale":
            return await self.writer.update(place, edit, options)
        edit = scaled(place, edit, options)
        written = await self.writer.update(place, edit, options)
        return written._replace(stored=scale_of(place, written.stored))

    async def delete(self, place: Place, asked: Shared, options: WriteOptions) -> Deleted:
        """Delete one object; `asked` is a DeleteOptions."""
        if place.subresource:
            raise _no_deletion(place)
        return await self.deleter.delete(place, asked, options)

    async def delete_all(
        self,
        resource: Resource,
        namespace: str,
        selection: ListOptions,
        asked: Shared,
        options: WriteOptions,
    ) -> Listing:
        """Delete what is selected; returns the objects as they were."""
        return await self.deleter.delete_all(resource, namespace, selection, asked, options)

    # -- what definitions need -----------------------------------------------------------------

    async def _update_definition(self, name: str, change: Callable[[Object], None]) -> None:
        resource = self.catalogue.of(CRD)

        def make(definition: Object | None) -> Object:
            assert definition is not None
            change(definition)
            return definition

        place = Place(resource, "", name, "status")
        await self.writer.update(place, Edit(make, trusted=True), _OWN_WRITES)

    async def _delete_all_of(self, resource: Resource) -> None:
        await self.deleter.delete_all(resource, "", ListOptions(), {}, _OWN_WRITES)

    def _converter(self, definition: Shared, resources: Sequence[Resource]) -> Convert:
        return Converter(definition, resources, self._caller, self.new_uid).convert

    # -- what admission asks for ----------------------------------------------------------------

    def new_uid(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))

    def _labels_of(self, namespace: str) -> Mapping[str, str]:
        found = self.store.get(Key(NAMESPACES, "", namespace))
        return (found.value["metadata"].get("labels") or {}) if found else {}

    def _versions_of(self, resource: Resource) -> Iterable[Resource]:
        return (each for each in self.catalogue if each.key == resource.key)

    async def _ask_webhooks(self, place: Place, body: Shared, options: WriteOptions) -> None:
        """Ask about something that is not stored itself, such as a Binding; raises Refusal."""
        if not self.webhooks.active:
            return
        attributes = Attributes(
            resource=place.resource,
            operation="CREATE",
            user=options.user,
            namespace=place.namespace,
            name=place.name,
            subresource=place.subresource,
            object=body,
            options=options.manifest("CREATE"),
            dry_run=options.dry_run,
        )
        obj, _ = await self.webhooks.mutate(attributes)
        await self.webhooks.validate(attributes.with_object(obj))

    async def _convert(self, obj: Shared, resource: Resource) -> Shared:
        stored = Stored(dict(obj), orjson.dumps(obj), 0)
        return (await self.versions.read(resource, stored)).value

    def _follow_webhooks(self, change: Change) -> None:
        self.webhooks.changed(change.new.value, gone=change.gone)

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Make what every cluster has, and take up what the store has kept."""
        for key in _WEBHOOKS:
            for stored in self.store.select(key):
                self.webhooks.changed(stored.value)
            self.store.watch(key, self._follow_webhooks)
        for name in _NAMESPACES:
            body = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}
            await self._create_missing(NAMESPACE, body)
        for body in system_priority_classes():
            await self._create_missing(PRIORITY_CLASS, body)

    async def _create_missing(self, kind: Kind, body: Object) -> None:
        place = Place(self.catalogue.of(kind), "", body["metadata"]["name"])
        if self.store.get(place.key) is None:
            await self.writer.create(place, body, _OWN_WRITES)

    async def run(self) -> None:
        """Do what is not done within a request, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._definitions.run())
            tasks.create_task(self._send_bookmarks())

    async def _send_bookmarks(self) -> None:
        while True:
            await self.clock.sleep(BOOKMARK_PERIOD_S)
            self.watches.send_bookmarks()

    async def close(self) -> None:
        self.watches.end_all()
        await self._caller.close()
        self.store.close()


def patch_types(resource: Resource) -> tuple[str, ...]:
    """Return the media types of the patches that a kind takes."""
    strategic = () if resource.custom else (STRATEGIC_PATCH,)
    return (JSON_PATCH, MERGE_PATCH, *strategic, APPLY_PATCH)


def _no_deletion(place: Place) -> Refusal:
    if not place.resource.custom:
        return method_not_allowed()
    subject = place.resource.subject("")
    message = f'delete is not supported on resources of kind "{subject.qualified}"'
    return Refusal(405, "MethodNotAllowed", message, subject.details())
