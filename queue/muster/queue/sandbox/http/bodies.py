"""What a request brings along: an object, a patch or options, and why it can't be read."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiohttp import web

from muster.queue.client.refusal import Refusal, bad_request, unsupported_media_type
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import first, integer
from muster.queue.sandbox.api.server import APPLY_PATCH, STRATEGIC_PATCH
from muster.queue.sandbox.api.transient import (
    DELETE_OPTIONS,
    FORMS,
    Form,
    check_head,
    unconvertible,
    undecodable,
)
from muster.queue.sandbox.http.negotiation import JSON, PROTOBUF, YAML
from muster.queue.sandbox.http.protobuf import decode_content, open_envelope
from muster.queue.sandbox.http.wire import WireError
from muster.queue.sandbox.kinds.resources import Object
from muster.queue.sandbox.kinds.schemas import schema
from muster.queue.sandbox.schema.decoding import DecodingError
from muster.queue.sandbox.schema.parsing import ParseError, parse_json, parse_yaml

_OBJECTS: Final = (JSON, YAML, PROTOBUF)
_SHOWN_BYTES_MAX: Final = 30
_ARRIVAL_MAX_S: Final = 60.0
"""How long a body may take to come."""


async def _content(request: web.BaseRequest) -> bytes:
    """Return the bytes of a body, which some clients send when they are told to go on."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # that was no part of the answer
    try:
        async with asyncio.timeout(_ARRIVAL_MAX_S):
            return await request.read()
    except TimeoutError:
        why = "Timeout: request did not complete within the allowed duration"
        raise Refusal(504, "Timeout", why) from None


async def read_object(request: web.BaseRequest, place: Place) -> tuple[Object, list[str]]:
    """Return the object in a body, and what is wrong with it although it can be read."""
    resource = place.resource
    media_type = _known_media_type_of(request)
    form = FORMS.get(place.subresource)
    if media_type == PROTOBUF and resource.custom and form is None:
        # What a definition says of a field has no number.
        raise unsupported_media_type((JSON, YAML))
    body = await _content(request)
    if media_type == PROTOBUF:
        kind = resource.kind
        own = Form(kind.kind, kind.api_version, resource.schema_name)
        return _read_protobuf(body, form or own), []
    try:
        value, faults = (parse_yaml if media_type == YAML else parse_json)(body)
        if value is None and not resource.custom:
            value = {}
        check_head(value)
    except (ParseError, DecodingError) as error:
        why = str(error)
        if not why.startswith("yaml: "):
            why = f"couldn't get version/kind; json parse error: {why}"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind.kind}): "
            f"{why} ({_shown(body)})"
        ) from None
    return value, faults


def _read_protobuf(body: bytes, form: Form) -> Object:
    kind, version = form.kind, form.api_version
    try:
        found = open_envelope(body)
    except WireError as error:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): "
            f"{error} ({_shown(body)})"
        ) from None
    head = {"kind": found.kind or kind, "apiVersion": found.api_version or version}
    if head != {"kind": kind, "apiVersion": version}:
        raise unconvertible(head["kind"], head["apiVersion"], kind)
    try:
        return head | decode_content(found.content, schema(form.component))
    except WireError as error:
        raise undecodable(error, kind, version) from None


def media_type_of(request: web.BaseRequest) -> str:
    """Return the media type of a body, without parameters; "" if it isn't said."""
    return request.headers.get("Content-Type", "").partition(";")[0].strip()


def _known_media_type_of(request: web.BaseRequest) -> str:
    """Return the media type of an object; raises Refusal 415."""
    media_type = media_type_of(request) or JSON
    if media_type not in _OBJECTS:
        raise unsupported_media_type(_OBJECTS)
    return media_type


def _shown(body: bytes) -> str:
    if not body:
        return "<empty>"
    start = body[:_SHOWN_BYTES_MAX]
    text = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return text if start == body else f"{text} ..."


async def read_patch(request: web.BaseRequest, media_type: str) -> tuple[Any, list[str]]:
    """Return the patch in a body, and what is wrong with it although it can be read."""
    body = await _content(request)
    try:
        if media_type == APPLY_PATCH:
            return parse_yaml(body)
        return parse_json(body)
    except ParseError as error:
        raise _unreadable(error, media_type) from None


_UNREADABLE: Final = {
    APPLY_PATCH: "error decoding YAML: error converting YAML to JSON: ",
    STRATEGIC_PATCH: "",
}


def _unreadable(error: ParseError, media_type: str) -> Refusal:
    return bad_request(f"{_UNREADABLE.get(media_type, 'error decoding patch: ')}{error}")


async def read_delete_options(
    request: web.BaseRequest, query: dict[str, list[str]]
) -> dict[str, Any]:
    """Return the DeleteOptions of a body, else those of the query."""
    if request.can_read_body and (body := await _content(request)):
        media_type = _known_media_type_of(request)
        if media_type == PROTOBUF:
            return _read_delete_options(body)
        try:
            value, _ = (parse_yaml if media_type == YAML else parse_json)(body)
            check_head(value)
        except (ParseError, DecodingError) as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
        return dict(value)
    asked: dict[str, Any] = {}
    if (grace := integer(query, "gracePeriodSeconds")) is not None:
        asked["gracePeriodSeconds"] = grace
    if policy := first(query, "propagationPolicy"):
        asked["propagationPolicy"] = policy
    if orphans := first(query, "orphanDependents"):
        asked["orphanDependents"] = orphans.lower() in {"true", "1", "t"}
    if "dryRun" in query:
        asked["dryRun"] = query["dryRun"]
    return asked


def _read_delete_options(body: bytes) -> Object:
    try:
        found = open_envelope(body)
        head = {"kind": found.kind, "apiVersion": found.api_version}
        if found.kind not in {"", DELETE_OPTIONS.kind}:
            return head  # which is refused for it
        return head | decode_content(found.content, schema(DELETE_OPTIONS.component))
    except WireError as error:
        raise bad_request(str(error)) from None
