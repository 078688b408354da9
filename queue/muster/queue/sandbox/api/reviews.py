"""
AdmissionReviews: the question that an admission webhook is asked, and what its answer says.

Only the present version, v1, is spoken.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.api.attributes import Attributes
from muster.queue.sandbox.kinds.resources import Object, Shared

API_VERSION: Final = "admission.k8s.io/v1"
_KIND: Final = "AdmissionReview"
_ERROR_CODE_MIN: Final = 400


class BadReview(Exception):  # noqa: N818 - as the failure it is a part of
    """An answer that a webhook may not give; the message says why."""


class Verdict(NamedTuple):
    """What a webhook answered."""

    allowed: bool
    patch: list[Any]
    """A JSON patch; empty for none."""
    warnings: tuple[str, ...]
    result: Mapping[str, Any]
    """The Status of a denial."""


def admission_request(asked: Attributes, viewed: Attributes, uid: str) -> Object:
    """
    Return the `request` of a review.

    `asked` is the request as it came, `viewed` the same in the version that the webhook wants.
    """
    kind, resource = _kind(viewed), _resource(viewed)
    request: Object = {"uid": uid, "kind": kind, "resource": resource}
    if viewed.subresource:
        request["subResource"] = viewed.subresource
    request["requestKind"] = _kind(asked)
    request["requestResource"] = _resource(asked)
    if asked.subresource:
        request["requestSubResource"] = asked.subresource
    # A name that was generated meanwhile is only in the object.
    if name := asked.name or ((viewed.object or {}).get("metadata") or {}).get("name"):
        request["name"] = name
    if asked.namespace:
        request["namespace"] = asked.namespace
    return {
        **request,
        "operation": asked.operation,
        "userInfo": asked.user.manifest(),
        "object": viewed.object,
        "oldObject": viewed.old_object,
        "dryRun": asked.dry_run,
        "options": asked.options,
    }


def review_of(request: Shared) -> Object:
    """Return the review that a webhook is sent."""
    return {"kind": _KIND, "apiVersion": API_VERSION, "request": request}


def _kind(attributes: Attributes) -> dict[str, str]:
    told = attributes.object or attributes.old_object or {}
    kind = attributes.resource.kind
    api_version: str = told.get("apiVersion") or kind.api_version
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "kind": told.get("kind") or kind.kind}


def _resource(attributes: Attributes) -> dict[str, str]:
    kind = attributes.resource.kind
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}


def verdict(review: Mapping[str, Any], uid: str, *, mutating: bool) -> Verdict:
    """Read the answer to the request with this uid; raises BadReview."""
    version, kind = review.get("apiVersion") or "", review.get("kind") or ""
    if kind not in {"", _KIND} or version not in {"", API_VERSION}:
        told = f'no kind "{kind}" is registered for version "{version}"'
        raise BadReview(f"failed to call webhook: {told}")
    try:
        response = _response(review, uid)
        _check_patch(response, mutating=mutating)
    except BadReview as error:
        raise BadReview(f"received invalid webhook response: {error}") from None
    return Verdict(
        response.get("allowed") is True,
        _operations(response),
        tuple(map(str, response.get("warnings") or ())),
        response.get("status") or {},
    )


def _response(review: Mapping[str, Any], uid: str) -> Mapping[str, Any]:
    response = review.get("response")
    if not isinstance(response, dict):
        raise BadReview("webhook response was absent")
    if (given := response.get("uid", "")) != uid:
        raise BadReview(f'expected response.uid="{uid}", got "{given}"')
    form = f"{review.get('apiVersion') or '/'}, Kind={review.get('kind') or ''}"
    expected = f"{API_VERSION}, Kind={_KIND}"
    if form != expected:
        raise BadReview(f"expected webhook response of {expected}, got {form}")
    return response


def _check_patch(response: Mapping[str, Any], *, mutating: bool) -> None:
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        for name, given in (("patch", patch or None), ("patchType", patch_type)):
            if given is not None:
                raise BadReview(f"validating webhook may not return response.{name}")
        return
    if patch and patch_type is None:
        raise BadReview("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise BadReview("webhook returned response.patchType but not response.patch")
    if patch_type is not None and not patch_type:
        raise BadReview(f'webhook returned invalid response.patchType of "{patch_type}"')


def _operations(response: Mapping[str, Any]) -> list[Any]:
    """Return the operations of a patch."""
    if not response.get("patch"):
        return []
    try:
        text = base64.b64decode(response["patch"], validate=True)
    except (TypeError, ValueError):
        raise BadReview("failed to call webhook: illegal base64 data in response.patch") from None
    undecodable = "received undecodable patch in webhook response"
    try:
        operations = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadReview(f"{undecodable}: {error}") from None
    if not isinstance(operations, list):
        raise BadReview(f"{undecodable}: it is no list of operations")
    if operations and response["patchType"] != "JSONPatch":
        raise BadReview(f'unsupported patch type "{response["patchType"]}"')
    return operations


def denial(webhook: str, answer: Verdict) -> Refusal:
    """Return the refusal that a webhook's answer asks for."""
    result = answer.result
    code = result.get("code") or 0
    reason, message = result.get("reason") or "", result.get("message") or ""
    denied = f'admission webhook "{webhook}" denied the request'
    if message or reason:
        told = f"{denied}: {message or reason}"
    else:
        told = f"{denied} without explanation"
    details = result.get("details")
    return Refusal(max(code, _ERROR_CODE_MIN), reason, told, details, answer.warnings)
