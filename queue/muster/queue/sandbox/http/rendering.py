"""Objects, lists and events as bytes, in the form that the client wants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.api.reading import Listing
from muster.queue.sandbox.api.watching import Event
from muster.queue.sandbox.http.negotiation import Form
from muster.queue.sandbox.http.tables import Table
from muster.queue.sandbox.kinds.resources import Resource, Shared
from muster.queue.sandbox.store.memory import Stored

_META = "meta.k8s.io/v1"


class Renderer:
    """Writes answers about one resource in one form."""

    def __init__(self, resource: Resource, form: Form, table: Table | None = None) -> None:
        self._resource = resource
        self._form = form
        self._table = table

    def one(self, stored: Stored) -> bytes:
        match self._form.shape:
            case "" if not self._form.yaml:
                return stored.encoded
            case "":
                document: Any = stored.value
            case "Table":
                assert self._table
                document = self._table.document([stored.value], _position(stored.value))
            case "PartialObjectMetadata":
                document = _partial(stored.value)
            case wrong:
                raise _impossible(wrong, "is not a list")
        return encoded(document, self._form)

    def many(self, listing: Listing) -> bytes:
        kind = self._resource.kind
        metadata: dict[str, Any] = {"resourceVersion": str(listing.revision)}
        if listing.continued:
            metadata["continue"] = listing.continued
        if listing.remaining:
            metadata["remainingItemCount"] = listing.remaining
        match self._form.shape:
            case "Table":
                assert self._table
                values = [stored.value for stored in listing.items]
                return encoded(self._table.document(values, metadata), self._form)
            case "":
                head = {
                    "kind": self._resource.list_kind or f"{kind.kind}List",
                    "apiVersion": kind.api_version,
                    "metadata": metadata,
                }
                body = _with_items(head, self._items(listing.items))
            case "PartialObjectMetadata" as wrong:
                raise _impossible(wrong, "is a list")
            case _:
                head = {
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": _META,
                    "metadata": metadata,
                }
                items = (orjson.dumps(_partial(stored.value)) for stored in listing.items)
                body = _with_items(head, items)
        return _as_yaml(orjson.loads(body)) if self._form.yaml else body

    def _items(self, items: Iterable[Stored]) -> Iterable[bytes]:
        if self._resource.custom:
            return (stored.encoded for stored in items)
        # A list of a built-in kind says once of what kind its items are.
        kind = self._resource.kind
        head = orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version})[:-1] + b","
        return (_without_head(stored, head) for stored in items)

    def event(self, event: Event, *, first: bool) -> bytes:
        """Return one line of a watch."""
        stored = event.stored
        if not self._form.shape:
            body = stored.encoded
        elif self._form.shape == "Table":
            assert self._table
            document = self._table.document(
                [] if event.type == "BOOKMARK" else [stored.value],
                _position(stored.value),
                columns=first,
            )
            if event.type == "BOOKMARK":
                document["metadata"] = stored.value["metadata"]
            body = orjson.dumps(document)
        else:
            body = orjson.dumps(_partial(stored.value))
        return b'{"type":"%b","object":%b}\n' % (event.type.encode(), body)


def _impossible(shape: str, why: str) -> Refusal:
    message = f"you requested {shape}, but the requested object {why}"
    return Refusal(406, "NotAcceptable", message)


def encoded(document: Any, form: Form) -> bytes:
    """Return a document as JSON, or as YAML where that is wanted."""
    return _as_yaml(document) if form.yaml else orjson.dumps(document)


def _as_yaml(document: Any) -> bytes:
    import yaml  # noqa: PLC0415 - few ask for it, and it takes a moment

    return yaml.safe_dump(document, sort_keys=True, allow_unicode=True).encode()


def _with_items(head: Mapping[str, Any], items: Iterable[bytes]) -> bytes:
    return b'%b,"items":[%b]}' % (orjson.dumps(head)[:-1], b",".join(items))


def _without_head(stored: Stored, head: bytes) -> bytes:
    if stored.encoded.startswith(head):
        return b"{" + stored.encoded[len(head) :]
    rest = {
        name: value for name, value in stored.value.items() if name not in {"kind", "apiVersion"}
    }
    return orjson.dumps(rest)


def _partial(obj: Shared) -> dict[str, Any]:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": _META,
        "metadata": obj["metadata"],
    }


def _position(obj: Shared) -> dict[str, Any]:
    return {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
