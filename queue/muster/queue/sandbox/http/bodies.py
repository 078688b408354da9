"""What a request brings along: an object, a patch or options, and why it can't be read."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from muster.queue.client.refusal import Refusal, bad_request, unsupported_media_type
from muster.queue.sandbox.api.options import first, integer
from muster.queue.sandbox.api.server import APPLY_PATCH, STRATEGIC_PATCH
from muster.queue.sandbox.http.negotiation import JSON, PROTOBUF, YAML
from muster.queue.sandbox.kinds.resource import Object, Resource
from muster.queue.sandbox.schema.parsing import ParseError, parse_json, parse_yaml

_SHOWN_MAX: Final = 30


async def read_object(request: web.BaseRequest, resource: Resource) -> tuple[Object, list[str]]:
    """Return the object in a body, and what is wrong with it although it can be read."""
    media_type = media_type_of(request) or JSON
    if media_type not in {JSON, YAML}:
        raise unsupported_media_type((JSON, YAML, PROTOBUF))
    body = await request.read()
    try:
        value, faults = (parse_yaml if media_type == YAML else parse_json)(body)
        if value is None and not resource.custom:
            value = {}
        _check_head(value)
    except ParseError as error:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind.kind}): "
            f"couldn't get version/kind; json parse error: {error} ({_shown(body)})"
        ) from None
    return value, faults


def media_type_of(request: web.BaseRequest) -> str:
    """Return the media type of a body, without parameters; "" if it isn't said."""
    return request.headers.get("Content-Type", "").partition(";")[0].strip()


def _check_head(value: Any) -> None:
    """See that a value is an object that says what it is in text."""
    if not isinstance(value, dict):
        raise ParseError(f"json: cannot unmarshal {_kind_of(value)} into Go value of type struct")
    for name in ("kind", "apiVersion"):
        given = value.get(name)
        if given is not None and not isinstance(given, str):
            kind = _kind_of(given)
            raise ParseError(
                f"json: cannot unmarshal {kind} into Go struct field .{name} of type string"
            )


def _kind_of(value: Any) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}
    return kinds.get(type(value), "number")


def _shown(body: bytes) -> str:
    text = body.decode(errors="replace")
    if not text:
        return "<empty>"
    if not text.isprintable():
        text = body.hex()
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]} ..."


async def read_patch(request: web.BaseRequest, media_type: str) -> tuple[Any, list[str]]:
    """Return the patch in a body, and what is wrong with it although it can be read."""
    body = await request.read()
    try:
        if media_type == APPLY_PATCH:
            return parse_yaml(body)
        return parse_json(body)
    except ParseError as error:
        raise _unreadable(error, media_type) from None


def _unreadable(error: ParseError, media_type: str) -> Refusal:
    match media_type:
        case "application/apply-patch+yaml":
            return bad_request(f"error decoding YAML: error converting YAML to JSON: {error}")
        case other if other == STRATEGIC_PATCH:
            return bad_request(str(error))
        case _:
            return bad_request(f"error decoding patch: {error}")


async def read_delete_options(
    request: web.BaseRequest, query: dict[str, list[str]]
) -> dict[str, Any]:
    """Return the DeleteOptions of a body, else those of the query."""
    if request.can_read_body and (body := await request.read()):
        try:
            value, _ = (parse_yaml if media_type_of(request) == YAML else parse_json)(body)
            _check_head(value)
        except ParseError as error:
            raise bad_request(
                f"couldn't get version/kind; json parse error: {error} ({_shown(body)})"
            ) from None
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
