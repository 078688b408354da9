"""In which form a client wants its answer, from its Accept header."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from muster.queue.client.refusal import not_acceptable

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_ANY: Final = ("*/*", "application/*", "")
_META: Final = ("meta.k8s.io", "v1")

Shape = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]
_SHAPES: Final[Mapping[str, Shape]] = {
    "Table": "Table",
    "PartialObjectMetadata": "PartialObjectMetadata",
    "PartialObjectMetadataList": "PartialObjectMetadataList",
}


class Form(NamedTuple):
    """How an answer is written."""

    shape: Shape = ""
    """"" for the objects themselves."""
    yaml: bool = False


@lru_cache(maxsize=256)
def form_of(accept: str) -> Form:
    """Return the first form of an Accept header that there is; raises Refusal 406."""
    for offer in accept.split(","):
        media_type, named = _told_apart(offer)
        if media_type not in {JSON, YAML, *_ANY}:
            continue
        shape = named.get("as", "")
        if not shape:
            return Form(yaml=media_type == YAML)
        if shape in _SHAPES and (named.get("g"), named.get("v")) == _META:
            return Form(_SHAPES[shape], yaml=media_type == YAML)
    raise not_acceptable((JSON, YAML))


def wants_aggregated(accept: str) -> bool:
    """Say whether a client would rather have all groups in one discovery document."""
    for offer in accept.split(","):
        media_type, named = _told_apart(offer)
        if media_type in {JSON, *_ANY}:
            wanted = named.get("as")
            if not wanted:
                return False
            if wanted == "APIGroupDiscoveryList" and named.get("v") == "v2":
                return True
    return False


def _told_apart(offer: str) -> tuple[str, dict[str, str]]:
    media_type, *parameters = (part.strip() for part in offer.split(";"))
    return media_type, dict(parameter.partition("=")[::2] for parameter in parameters)
