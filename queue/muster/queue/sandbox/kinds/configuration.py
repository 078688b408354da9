"""ConfigMaps and Secrets: named pieces of text and bytes, for good if they say so."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from muster.queue.client.refusal import (
    FieldError,
    forbidden_field,
    invalid_value,
    required,
    too_long,
)
from muster.queue.sandbox.kinds.metadata import rule_errors, unchanged
from muster.queue.sandbox.kinds.names import config_key
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy

SIZE_MAX: Final = 1024 * 1024
"""Bytes of all pieces of one object."""

_ACCOUNT: Final = "kubernetes.io/service-account.name"
_KEPT: Final = "field is immutable when `immutable` is set"

# What a type of Secret must hold.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON: Final = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")


class ConfigMapStrategy(BuiltInStrategy):
    """The strategy of ConfigMaps."""

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _config_map_errors(obj)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        return (*_kept_errors(obj, old, ("data", "binaryData")), *_config_map_errors(obj))


class SecretStrategy(BuiltInStrategy):
    """The strategy of Secrets; `stringData` is another way to write `data`."""

    def fill(self, obj: Object) -> None:
        obj.setdefault("type", "Opaque")
        if texts := obj.pop("stringData", None):
            written = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            obj["data"] = {**(obj.get("data") or {}), **written}

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _secret_errors(obj)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        return [
            *unchanged("type", obj.get("type"), old.get("type")),
            *_kept_errors(obj, old, ("data",)),
            *_secret_errors(obj),
        ]


def _kept_errors(obj: Shared, old: Shared, names: tuple[str, ...]) -> Iterator[FieldError]:
    if not old.get("immutable"):
        return
    if not obj.get("immutable"):
        yield forbidden_field("immutable", _KEPT)
    for name in names:
        if obj.get(name) != old.get(name):
            yield forbidden_field(name, _KEPT)


def _config_map_errors(obj: Shared) -> Iterator[FieldError]:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    for key, text in data.items():
        yield from _key_errors("data", key)
        if key in binary:
            yield invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len(text.encode())
    for key, text in binary.items():
        yield from _key_errors("binaryData", key)
        size += len(_decoded(text))
    if size > SIZE_MAX:
        yield too_long("", SIZE_MAX)


def _key_errors(place: str, key: str) -> Iterator[FieldError]:
    yield from rule_errors(f"{place}[{key}]", key, config_key)


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text or "")
    except binascii.Error:
        return b""


def _secret_errors(secret: Shared) -> Iterator[FieldError]:
    data = secret.get("data") or {}
    for key in data:
        yield from _key_errors("data", key)
    if sum(len(_decoded(text)) for text in data.values()) > SIZE_MAX:
        yield too_long("data", SIZE_MAX)
    kind = secret.get("type", "Opaque")
    if kind == "kubernetes.io/service-account-token":
        if not (secret["metadata"].get("annotations") or {}).get(_ACCOUNT):
            yield required(f"metadata.annotations[{_ACCOUNT}]")
    elif kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        yield required("data[username]")
        yield required("data[password]")
    for key in _KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
        elif kind in _JSON and not _is_mapping(_decoded(data[key])):
            detail = "it must hold a JSON object"
            yield invalid_value(f"data[{key}]", "<secret contents redacted>", detail)


def _is_mapping(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
