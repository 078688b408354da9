"""Evictions: a pod is deleted, if the budgets that protect it allow a disruption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from muster.queue.client.labels import matches_labels
from muster.queue.client.refusal import Cause, Refusal, bad_request, too_many_requests
from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.api.deleting import Deleter, check_preconditions
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.api.options import WriteOptions
from muster.queue.sandbox.api.reading import Reader
from muster.queue.sandbox.api.writing import Edit, Writer, Written
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.store.memory import Store

_DISRUPTION: Final = "DisruptionTarget"
_BUDGETS: Final = "poddisruptionbudgets.policy"


class Evictor:
    """Evicts pods."""

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        reader: Reader,
        writer: Writer,
        deleter: Deleter,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._reader = reader
        self._writer = writer
        self._deleter = deleter

    async def evict(self, place: Place, eviction: Shared, options: WriteOptions) -> Written:
        """Delete a pod as an Eviction asks; raises Refusal, 429 if a budget forbids it."""
        name = (eviction.get("metadata") or {}).get("name")
        if name and name != place.name:
            raise bad_request(
                f"name in URL does not match name in Eviction object: {place.name} vs {name}"
            )
        whole = place._replace(subresource="")
        pod = (await self._reader.get(whole)).value
        asked = eviction.get("deleteOptions") or {}
        if asked.get("dryRun"):
            options = replace(options, dry_run=True)
        if not _is_no_loss(pod):
            await self._spend_disruption(place, pod, options)
        if not options.dry_run:
            check_preconditions(whole, pod, asked.get("preconditions") or {})
            disrupted = Edit(_disrupted(self._writer.now()), trusted=True)
            await self._writer.update(place._replace(subresource="status"), disrupted, options)
        deleted = await self._deleter.delete(whole, asked, options)
        return Written(deleted.stored, created=True, gone=deleted.gone)

    async def _spend_disruption(self, place: Place, pod: Shared, options: WriteOptions) -> None:
        labels = pod["metadata"].get("labels") or {}
        budgets = [
            stored.value
            for stored in self._store.select(_BUDGETS, place.namespace)
            if (selector := stored.value["spec"].get("selector")) is not None
            and matches_labels(selector, labels)
        ]
        if len(budgets) > 1:
            message = (
                "This pod has more than one PodDisruptionBudget, which the eviction "
                "subresource does not support."
            )
            raise Refusal(500, "", message)
        resource = self._catalogue.storage(_BUDGETS)
        assert resource
        for budget in budgets:
            part = Place(resource, place.namespace, budget["metadata"]["name"], "status")
            await self._writer.update(part, Edit(_disrupted_once_more, trusted=True), options)


def _disrupted(now: str) -> Callable[[Object | None], Object]:
    """Return the edit that says of a pod that it is to go."""

    def make(pod: Object | None) -> Object:
        assert pod is not None
        status = pod.setdefault("status", {})
        conditions = [
            each for each in status.get("conditions") or () if each["type"] != _DISRUPTION
        ]
        target = {
            "type": _DISRUPTION,
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        status["conditions"] = [*conditions, target]
        return pod

    return make


def _is_no_loss(pod: Shared) -> bool:
    """A pod that runs no more, or doesn't yet, is in no budget."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in {"Succeeded", "Failed", "Pending"} or bool(
        pod["metadata"].get("deletionTimestamp")
    )


def _check_disruption(budget: Shared) -> None:
    status = budget.get("status") or {}
    name = budget["metadata"]["name"]
    if (status.get("observedGeneration") or 0) < budget["metadata"].get("generation", 0):
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        why = f"The disruption budget {name} is still being processed by the server."
        raise too_many_requests(message, [Cause("DisruptionBudget", why)])
    if (status.get("disruptionsAllowed") or 0) <= 0:
        why = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently"
        )
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        raise too_many_requests(message, [Cause("DisruptionBudget", why)])


def _disrupted_once_more(budget: Object | None) -> Object:
    """Return a budget with one disruption less, if it has any; raises Refusal 429."""
    assert budget is not None
    _check_disruption(budget)
    budget["status"]["disruptionsAllowed"] -= 1
    return budget
