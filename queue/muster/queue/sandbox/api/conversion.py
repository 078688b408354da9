"""
Objects of custom kinds from one version to another, as their definition says.

Without a strategy only apiVersion changes. With a webhook, all objects of a request go in one
review; the answer must hold the same objects in the same order, and of their metadata it may change
labels and annotations alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.api.https import Caller, CallFailed
from muster.queue.sandbox.kinds.names import label_key, label_value
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared
from muster.queue.sandbox.schema.defaulting import copied, fill_defaults
from muster.queue.sandbox.schema.pruning import prune

API_VERSION: Final = "apiextensions.k8s.io/v1"
_KIND: Final = "ConversionReview"
_TIMEOUT_S: Final = 30


class Converter:
    """Converts the objects of one definition."""

    def __init__(
        self,
        definition: Shared,
        resources: Sequence[Resource],
        caller: Caller,
        new_uid: Callable[[], str],
    ) -> None:
        """`resources` are all versions of the definition, served or not."""
        conversion: Shared = definition["spec"].get("conversion") or {}
        self._webhook: Shared = conversion.get("webhook") or {}
        self._resources = {each.kind.api_version: each for each in resources}
        self._caller = caller
        self._new_uid = new_uid

    async def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """
        Return objects, none of which has that apiVersion yet, in that version; raises Refusal.

        The objects may be changed. What comes out is pruned and filled as its version wants it.
        """
        if not objects:
            return []
        for obj in objects:
            if obj["apiVersion"] not in self._resources:
                why = f"request to convert CR from an invalid group/version: {obj['apiVersion']}"
                raise _failure(why)
        if self._webhook:
            converted = await self._ask(objects, api_version)
        else:
            converted = [{**obj, "apiVersion": api_version} for obj in objects]
        schema = self._resources[api_version].schema
        for obj in converted:
            prune(schema, obj)
            fill_defaults(schema, obj)
        return converted

    async def _ask(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        failed = f"conversion webhook for {_kind(objects[0])} failed"
        uid = self._new_uid()
        review = {
            "kind": _KIND,
            "apiVersion": API_VERSION,
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)},
        }
        if "v1" not in self._webhook["conversionReviewVersions"]:
            raise _failure(f"{failed}: the sandbox speaks version v1 of ConversionReview alone")
        try:
            answer = await self._caller.ask(self._webhook["clientConfig"], review, _TIMEOUT_S)
            converted = _converted(answer, uid)
        except (CallFailed, _BadAnswerError) as error:
            raise _failure(f"{failed}: {error}") from None
        returned = f"conversion webhook for {_kind(objects[0])} returned"
        if len(converted) != len(objects):
            raise _failure(f"{returned} {len(converted)} objects, expected {len(objects)}")
        try:
            return [
                _restored(original, obj, api_version, _words(index, len(objects)))
                for index, (original, obj) in enumerate(zip(objects, converted, strict=True))
            ]
        except _BadAnswerError as error:
            raise _failure(f"{returned} {error}") from None


class _Words(NamedTuple):
    """What the faults of one converted object begin with."""

    form: str
    identity: str
    metadata: str


def _words(index: int, count: int) -> _Words:
    if count == 1:
        return _Words("invalid object at index 0", "invalid object", "invalid metadata")
    converted = f"invalid converted object at index {index}"
    return _Words(converted, converted, f"invalid metadata in object at index {index}")


class _BadAnswerError(Exception):
    """What a conversion webhook may not answer."""


def _failure(message: str) -> Refusal:
    return Refusal(500, "", message)


def _kind(obj: Shared) -> str:
    return f"{obj['apiVersion']}, Kind={obj['kind']}"


def _converted(review: Mapping[str, Any], uid: str) -> list[Any]:
    """Return the objects in an answer."""
    form = f"{review.get('apiVersion') or '/'}, Kind={review.get('kind') or ''}"
    expected = f"{API_VERSION}, Kind={_KIND}"
    if form != expected:
        raise _BadAnswerError(f"expected webhook response of {expected}, got {form}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise _BadAnswerError("no response provided")
    if (given := response.get("uid", "")) != uid:
        raise _BadAnswerError(f'expected response.uid="{uid}", got "{given}"')
    result = response.get("result") or {}
    if (status := result.get("status", "")) != "Success":
        told = result.get("message")
        raise _BadAnswerError(told or f"response.result.status was '{status}', not 'Success'")
    objects: list[Any] = response.get("convertedObjects") or []
    return objects


def _restored(original: Shared, converted: Any, api_version: str, words: _Words) -> Object:
    """Return a converted object with the metadata that it must keep."""
    if not isinstance(converted, dict):
        raise _BadAnswerError(f"{words.form}: it is no object")
    wanted = {"groupVersion": ("apiVersion", api_version), "kind": ("kind", original["kind"])}
    for name, (field, expected) in wanted.items():
        if (received := converted.get(field, "")) != expected:
            why = f"invalid {name} (expected {expected}, received {received})"
            raise _BadAnswerError(f"{words.form}: {why}")
    metadata = converted.get("metadata")
    if not isinstance(metadata, dict):
        why = "missing metadata in converted object" if metadata is None else "it is no object"
        raise _BadAnswerError(f"{words.metadata}: {why}")
    kept: Object = copied(original["metadata"])
    for field, shown in (("name",) * 2, ("namespace",) * 2, ("uid", "UID")):
        before, after = kept.get(field, ""), metadata.get(field, "")
        if before != after:
            why = f"must have the same {shown}: {before} != {after}"
            raise _BadAnswerError(f"{words.identity}: {why}")
    for field in ("labels", "annotations"):
        kept.pop(field, None)
        if (texts := metadata.get(field)) is not None:
            for wrong in _text_faults(field, texts, original["metadata"].get(field) or {}):
                raise _BadAnswerError(f"{words.metadata}: {wrong}")
            kept[field] = texts
    return {**converted, "metadata": kept}


def _text_faults(field: str, texts: Any, before: Shared) -> Iterator[str]:
    """Yield the faults of labels or annotations; what was there before may stay as it was."""
    if not isinstance(texts, dict):
        yield f"invalid metadata.{field} in converted object"
        return
    for key, text in texts.items():
        if not isinstance(text, str):
            yield f"metadata.{field}[{key}] must be a string"
        elif before.get(key) != text:
            wrong = (*label_key(key), *(label_value(text) if field == "labels" else ()))
            for says in wrong:
                yield f'metadata.{field}: Invalid value: "{key}": {says}'
