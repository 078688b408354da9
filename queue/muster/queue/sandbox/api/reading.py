"""Reads: one object, or a list as of one revision, whole or in chunks."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from muster.queue.client.refusal import (
    FieldError,
    Refusal,
    Subject,
    bad_request,
    forbidden_field,
    invalid,
    invalid_value,
    not_found,
    not_supported,
)
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import revision_of
from muster.queue.sandbox.api.selection import Test, named, selection
from muster.queue.sandbox.api.versions import Versions
from muster.queue.sandbox.kinds.resources import Resource
from muster.queue.sandbox.store.memory import Key, Store, Stored

_CONTINUE_VERSION: Final = "meta.k8s.io/v1"
MATCHES: Final = ("NotOlderThan", "Exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Which objects, how many, and as of when."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    continued: str = ""
    resource_version: str = ""
    match: str = ""
    initial_events: bool = False
    """Only a watch may ask for them."""

    def check(self) -> None:
        """Raise Refusal 422 for what doesn't go together."""
        errors: list[FieldError] = []
        if self.initial_events:
            why = "sendInitialEvents is forbidden for list"
            errors.append(forbidden_field("sendInitialEvents", why))
        if self.match:
            where = "resourceVersionMatch"
            if not self.resource_version:
                why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
                errors.append(forbidden_field(where, why))
            if self.continued:
                why = "resourceVersionMatch is forbidden when continue is provided"
                errors.append(forbidden_field(where, why))
            if self.match not in MATCHES:
                errors.append(not_supported(where, self.match, sorted(MATCHES)))
            elif self.match == "Exact" and self.resource_version == "0":
                why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                errors.append(forbidden_field(where, why))
        if errors:
            raise invalid(Subject("meta.k8s.io", "ListOptions"), errors)


class Listing(NamedTuple):
    """A list, or a chunk of one."""

    items: list[Stored]
    revision: int
    continued: str = ""
    remaining: int | None = None


class Reader:
    """Reads objects in the version that is asked for."""

    def __init__(self, store: Store, versions: Versions) -> None:
        self._store = store
        self._versions = versions

    async def get(self, place: Place) -> Stored:
        stored = self._store.get(place.key)
        if stored is None:
            raise not_found(place.subject)
        return await self._versions.read(place.resource, stored)

    async def list(self, resource: Resource, namespace: str, options: ListOptions) -> Listing:
        """Return what is selected; raises Refusal."""
        options.check()
        test = selection(resource, options.labels, options.fields)
        revision, after = self._start(options)
        stored = self._candidates(resource, namespace, options, revision, after)
        selected = stored if test is None else _selected(stored, test)
        shown = revision or self._store.revision
        # A list of "whatever there is" comes whole.
        if options.limit <= 0 or (options.resource_version == "0" and not options.continued):
            items = [*selected]
            return Listing(await self._versions.read_all(resource, items), shown)
        items = [*islice(selected, min(options.limit + 1, sys.maxsize))]
        more = len(items) > options.limit
        items = items[: options.limit]
        if not more:
            return Listing(await self._versions.read_all(resource, items), shown)
        last = items[-1].value["metadata"]
        place = (last.get("namespace", ""), last["name"])
        remaining = None
        if test is None:
            remaining = sum(1 for _ in self._candidates(resource, namespace, options, shown, place))
        items = await self._versions.read_all(resource, items)
        return Listing(items, shown, _token(shown, place), remaining)

    def _start(self, options: ListOptions) -> tuple[int, tuple[str, str] | None]:
        """Return the revision to list as of, 0 for now, and the place to go on after."""
        if options.continued:
            revision, after = _read_token(options.continued)
            if options.resource_version not in {"", "0"}:
                raise bad_request("specifying resource version is not allowed when using continue")
            return max(0, revision), after
        version = options.resource_version
        if version in {"", "0"}:
            return 0, None
        try:
            revision = revision_of(version)
        except ValueError as why:
            error = invalid_value("resourceVersion", version, str(why))
            raise bad_request(f"invalid resource version: {error}") from None
        check_not_ahead(self._store, revision)
        exact = options.match == "Exact" or (options.limit and not options.match)
        return (revision if exact else 0), None

    def _candidates(
        self,
        resource: Resource,
        namespace: str,
        options: ListOptions,
        revision: int,
        after: tuple[str, str] | None,
    ) -> Iterator[Stored]:
        if revision and revision != self._store.revision:
            return self._store.select_at(resource.key, revision, namespace, after)
        if (name := named(options.fields)) and (namespace or not resource.kind.namespaced):
            found = self._store.get(Key(resource.key, namespace, name))
            return iter([found] if found else [])
        return self._store.select(resource.key, namespace, after)


def check_not_ahead(store: Store, revision: int) -> None:
    """Refuse a revision that is yet to come: here it never comes by waiting for it."""
    if revision > store.revision:
        details: dict[str, Any] = {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        }
        message = f"Timeout: Too large resource version: {revision}, current: {store.revision}"
        raise Refusal(504, "Timeout", message, details)


def _selected(stored: Iterator[Stored], test: Test) -> Iterator[Stored]:
    return (each for each in stored if test(each.value))


def _token(revision: int, place: tuple[str, str]) -> str:
    token = {"v": _CONTINUE_VERSION, "rv": revision, "start": "/".join(place) + "\0"}
    return base64.urlsafe_b64encode(orjson.dumps(token)).decode().rstrip("=")


def _read_token(text: str) -> tuple[int, tuple[str, str]]:
    try:
        token = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        namespace, _, name = token["start"].rstrip("\0").rpartition("/")
        if token["v"] == _CONTINUE_VERSION:
            return int(token["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise bad_request(
        "invalid continue token: continue key is not valid: it was not made by this server"
    )
