"""
Admission webhooks: who is to be asked about a write, and what becomes of it.

Mutating webhooks are asked one after another, in the order of their configurations' names, and each
sees what those before it made; one that wants it is asked again once if a later one changed the
object. Validating webhooks are asked all at once; the first in order that refuses is the refusal.
A webhook that can't be asked refuses the write unless its failure policy is Ignore.

Without any webhook nothing here costs anything: look at `active` first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from muster.queue.client.refusal import Refusal, bad_request, internal_error
from muster.queue.sandbox.api.attributes import Attributes
from muster.queue.sandbox.api.https import Caller, CallFailed
from muster.queue.sandbox.api.matching import Hook, hooks_of
from muster.queue.sandbox.api.patch_faults import patch_fault
from muster.queue.sandbox.api.reviews import (
    BadReview,
    Verdict,
    admission_request,
    denial,
    review_of,
    verdict,
)
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared
from muster.queue.sandbox.patches.json_patch import json_patch
from muster.queue.sandbox.schema.decoding import DecodingError
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.schema.pruning import prune

MUTATING: Final = "MutatingWebhookConfiguration"
VALIDATING: Final = "ValidatingWebhookConfiguration"
_WHOLE: Final = ("", "status")
"""Sub-resources at which the object itself is written, and not something like a Binding."""
_EXEMPT_GROUP: Final = "admissionregistration.k8s.io"

_Candidates = tuple[tuple[Hook, Resource], ...]
"""Hooks whose rules fit, each with the version in which it wants the object."""


class Webhooks:
    """The webhooks that are configured now."""

    def __init__(
        self,
        caller: Caller,
        *,
        labels_of: Callable[[str], Mapping[str, str]],
        versions_of: Callable[[Resource], Iterable[Resource]],
        convert: Callable[[Shared, Resource], Awaitable[Shared]],
        new_uid: Callable[[], str],
    ) -> None:
        """
        Nobody is asked yet.

        `labels_of` a namespace are the labels that it has, `versions_of` a resource all in which
        it is served; `convert` returns an object in the version of a resource.
        """
        self._caller = caller
        self._labels_of = labels_of
        self._versions_of = versions_of
        self._convert = convert
        self._new_uid = new_uid
        self._configured: dict[tuple[str, str], tuple[Hook, ...]] = {}
        self._candidates: dict[tuple[str, Resource, str, str], _Candidates] = {}
        self.active = False

    def changed(self, configuration: Shared, *, gone: bool = False) -> None:
        """Follow a change of a Mutating- or ValidatingWebhookConfiguration."""
        place = configuration["kind"], configuration["metadata"]["name"]
        self._configured.pop(place, None)
        if not gone and configuration.get("webhooks"):
            self._configured[place] = hooks_of(configuration)
        self._candidates.clear()
        self.active = bool(self._configured)

    # -- whom to ask -----------------------------------------------------------------------------

    def _fitting(self, kind: str, request: Attributes) -> _Candidates:
        """Return the hooks of a kind of configuration with a rule for such requests, in order."""
        place = kind, request.resource, request.subresource, request.operation
        if place not in self._candidates:
            self._candidates[place] = tuple(self._look_for(kind, request))
        return self._candidates[place]

    def _look_for(self, kind: str, request: Attributes) -> Iterable[tuple[Hook, Resource]]:
        resource = request.resource
        if resource.kind.group == _EXEMPT_GROUP:
            return
        others = [each for each in self._versions_of(resource) if each is not resource]
        for place in sorted(self._configured):
            for hook in self._configured[place] if place[0] == kind else ():
                wanted = hook.wanted(resource, others, request.subresource, request.operation)
                if wanted:
                    yield hook, wanted

    async def _view(self, request: Attributes, resource: Resource) -> Attributes:
        """Return a request as a webhook wants it that knows another version."""
        if resource is request.resource or request.subresource not in _WHOLE:
            return request
        return replace(
            request,
            resource=resource,
            object=request.object and await self._convert(request.object, resource),
            old_object=request.old_object and await self._convert(request.old_object, resource),
        )

    def _asks(self, hook: Hook, request: Attributes, view: Attributes, uid: str) -> Object | None:
        """Return the request to be reviewed, None if the hook doesn't want to know of it."""
        if not hook.selects(request, self._labels_of):
            return None
        asked = admission_request(request, view, uid)
        return asked if hook.meets_conditions(asked, request) else None

    # -- changes ---------------------------------------------------------------------------------

    async def mutate(self, request: Attributes) -> tuple[Object, list[str]]:
        """
        Return what webhooks make of the object to be stored, pruned and filled, and their warnings.

        The object itself is returned unless it changes. Raises Refusal.
        """
        warnings: list[str] = []
        now = request
        earlier: list[Hook] = []
        again: list[Hook] = []
        hooks = self._fitting(MUTATING, request)
        for repeated in (False, True):
            changed = False
            for hook, resource in hooks:
                if repeated and hook not in again:
                    continue
                view = await self._view(now, resource)
                asked = self._asks(hook, now, view, self._new_uid())
                if asked is None:
                    continue
                patched = await self._patched(hook, asked, view, warnings)
                if patched is not None:
                    changed = True
                    again += earlier
                    earlier = []
                    now = now.with_object(await self._back(patched, resource, request.resource))
                if hook.reinvoked:
                    earlier.append(hook)
            if not changed:
                break
        obj: Any = now.object
        return obj, warnings

    async def _back(self, obj: Object, resource: Resource, wanted: Resource) -> Shared:
        return obj if resource is wanted else await self._convert(obj, wanted)

    async def _patched(
        self, hook: Hook, asked: Shared, view: Attributes, warnings: list[str]
    ) -> Object | None:
        """Ask a hook; returns what its patch makes of the object, None if nothing."""
        answer = await self._ask(hook, asked, mutating=True)
        if answer is None:
            return None
        warnings += answer.warnings
        if not answer.allowed:
            raise denial(hook.name, answer)
        if not answer.patch:
            return None
        if view.object is None:
            raise internal_error(
                f'admission webhook "{hook.name}" attempted to modify the object, '
                "which is not supported for this operation"
            )
        try:
            patched = json_patch(copied(view.object), answer.patch)
        except Refusal:
            raise internal_error(patch_fault(view.object, answer.patch)) from None
        if patched == view.object:
            return None
        _settle(view, patched)
        return patched

    # -- refusals --------------------------------------------------------------------------------

    async def validate(self, request: Attributes) -> list[str]:
        """Return the warnings of webhooks that have nothing against a write; raises Refusal."""
        asking: list[tuple[Hook, Object]] = []
        for hook, resource in self._fitting(VALIDATING, request):
            view = await self._view(request, resource)
            asked = self._asks(hook, request, view, self._new_uid())
            if asked is not None:
                asking.append((hook, asked))
        if not asking:
            return []
        answers = await asyncio.gather(
            *(self._ask(hook, asked, mutating=False) for hook, asked in asking),
            return_exceptions=True,
        )
        warnings: list[str] = []
        for (hook, _), answer in zip(asking, answers, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            if answer is not None:
                warnings += answer.warnings
                if not answer.allowed:
                    raise denial(hook.name, answer)
        return warnings

    async def _ask(self, hook: Hook, asked: Shared, *, mutating: bool) -> Verdict | None:
        """Return what a hook says, None if it can't be asked and need not be; raises Refusal."""
        if asked["dryRun"] and not hook.dry_runs:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        try:
            answer = await self._caller.ask(hook.client_config, review_of(asked), hook.timeout_s)
            return verdict(answer, asked["uid"], mutating=mutating)
        except CallFailed as error:
            why = f"failed to call webhook: {error}"
        except BadReview as error:
            why = str(error)
        if hook.may_fail:
            return None
        raise internal_error(f'failed calling webhook "{hook.name}": {why}')


def _settle(view: Attributes, obj: Object) -> None:
    """Make an object that a patch has left one of its kind; raises Refusal."""
    if view.subresource not in _WHOLE:
        return
    try:
        prune(view.resource.schema, obj)
    except DecodingError as error:
        raise internal_error(str(error)) from None
    view.resource.strategy.default(obj)
