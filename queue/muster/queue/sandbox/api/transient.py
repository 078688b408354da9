"""Objects of which nothing is stored: what is sent to sub-resources, and options of deletions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from muster.queue.client.refusal import Refusal, bad_request
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.schemas import schema
from muster.queue.sandbox.schema.decoding import DecodingError, decode
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.schema.go import json_type


class Form(NamedTuple):
    """A built-in kind, as which a body is read."""

    kind: str
    api_version: str
    component: str
    """The name of its schema."""


DELETE_OPTIONS: Final = Form(
    "DeleteOptions", "v1", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
)
FORMS: Final[Mapping[str, Form]] = {
    "binding": Form("Binding", "v1", "io.k8s.api.core.v1.Binding"),
    "eviction": Form("Eviction", "policy/v1", "io.k8s.api.policy.v1.Eviction"),
    "scale": Form("Scale", "autoscaling/v1", "io.k8s.api.autoscaling.v1.Scale"),
}
"""By the sub-resources that have one of their own."""


def read_as(form: Form, body: Shared, options: WriteOptions) -> tuple[Object, list[str]]:
    """
    Return an object of a form, and what to warn of.

    Raises DecodingError for values of the wrong type, and where nothing unknown may be; Refusal 400
    for another kind.
    """
    head = {
        "kind": body.get("kind") or form.kind,
        "apiVersion": body.get("apiVersion") or form.api_version,
    }
    if head != {"kind": form.kind, "apiVersion": form.api_version}:
        raise unconvertible(head["kind"], head["apiVersion"], form.kind)
    obj = copied({**body, **head})
    return obj, options.complaints(decode(schema(form.component), obj))


def check_head(value: Any) -> None:
    """See that a value is an object that says what it is in text; raises DecodingError."""
    if not isinstance(value, dict):
        told = "null" if value is None else json_type(value)
        raise DecodingError(f"json: cannot unmarshal {told} into Go value of type struct")
    for name in ("kind", "apiVersion"):
        given = value.get(name)
        if given is not None and not isinstance(given, str):
            told = json_type(given)
            raise DecodingError(
                f"json: cannot unmarshal {told} into Go struct field .{name} of type string"
            )


def unconvertible(given: str, api_version: str, wanted: str) -> Refusal:
    """Refuse a body of one kind where another is wanted."""
    why = f"converting ({_version(api_version)}.{given}) to a {wanted}: unknown conversion"
    return undecodable(why, given, api_version, wanted)


def undecodable(why: object, given: str, api_version: str, wanted: str = "") -> Refusal:
    """Refuse a body that can't be read as what it is said to be."""
    return bad_request(
        f'{given} in version "{_version(api_version)}" cannot be handled as a {wanted or given}: '
        f"{why}"
    )


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
