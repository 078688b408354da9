"""
End namespaces: delete what is in them, pods first, and let them go when nothing is left.

Their status says all the while what is in the way. Each namespace that lives gets the
ServiceAccount `default`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.client.informer import Change, Informer
from muster.queue.client.kinds import NAMESPACE, POD, SERVICE_ACCOUNT, Kind
from muster.queue.client.protocol import Client, Manifest, Selection
from muster.queue.client.refusal import Refusal, ignoring
from muster.queue.client.work import WorkQueue
from muster.queue.clock import Clock
from muster.queue.simulated.conditions import dated
from muster.queue.simulated.garbage import Kinds

FINALIZER: Final = "kubernetes"

_SETTLE_S: Final = 5.0
"""Before content is deleted, what was under way when the namespace was deleted may arrive."""
_FINALIZERS_S: Final = 15
"""How long finalizers may take, as far as one can guess."""
_CHUNK: Final = 500
_US: Final = 1_000_000

_FINE: Final = {
    "NamespaceDeletionDiscoveryFailure": (
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}
"""Reason and message of each condition while it is false, in the order in which they are told."""


@dataclass(slots=True)
class Remains:
    """What is left of a namespace after everything was told to go."""

    resources: dict[Kind, int] = field(default_factory=dict)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    pods_first: bool = False
    """Only pods were told to go so far."""
    wait_s: int = 0
    """How long it may take, 0 if there is no telling."""

    def problems(self) -> dict[str, tuple[str, str]]:
        """Return reason and message of the conditions that are true."""
        told = {}
        if self.failures:
            listed = ", ".join(sorted(self.failures))
            told["NamespaceDeletionContentFailure"] = (
                "ContentDeletionFailed",
                f"Failed to delete all resource types, {len(self.failures)} remaining: {listed}",
            )
        if self.resources and not self.pods_first:
            listed = ", ".join(
                sorted(
                    f"{kind.plural}.{kind.group} has {count} resource instances"
                    for kind, count in self.resources.items()
                )
            )
            message = f"Some resources are remaining: {listed}"
            told["NamespaceContentRemaining"] = ("SomeResourcesRemain", message)
        if self.finalizers and not self.pods_first:
            listed = ", ".join(
                sorted(
                    f"{name} in {count} resource instances"
                    for name, count in self.finalizers.items()
                )
            )
            message = f"Some content in the namespace has finalizers remaining: {listed}"
            told["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
        return told


def conditions(
    old: Iterable[Manifest], problems: Mapping[str, tuple[str, str]], now_us: int
) -> list[Manifest]:
    """Return the conditions of a namespace that ends; the times of those unchanged stay."""
    others = [each for each in old if each["type"] not in _FINE]
    known = {each["type"]: each for each in old}
    told = []
    for type_, fine in _FINE.items():
        reason, message = problems.get(type_, fine)
        new = {
            "type": type_,
            "status": str(type_ in problems),
            "reason": reason,
            "message": message,
        }
        told.append(dated(new, known.get(type_, {}), now_us))
    return [*others, *told]


class NamespaceController:
    """Ends the namespaces that are being deleted; `kinds` tells what may be in them."""

    def __init__(self, client: Client, clock: Clock, rng: Random, kinds: Kinds) -> None:
        self._client = client
        self._clock = clock
        self._kinds = kinds
        self._namespaces = Informer(client, NAMESPACE, clock, rng)
        self._namespaces.listen(self._changed)
        self._queue: WorkQueue[str] = WorkQueue(clock, rng)

    async def run(self) -> None:
        """End namespaces until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._namespaces.run())
            tasks.create_task(self._queue.run(self._sync, workers=4))

    def _changed(self, change: Change) -> None:
        if change.new is None:
            return
        if "deletionTimestamp" in change.new["metadata"]:
            self._queue.add_after(change.key.name, _SETTLE_S)
        elif change.old is None:
            self._queue.add(change.key.name)

    async def _sync(self, name: str) -> None:
        with ignoring("NotFound"):
            namespace = await self._client.get(NAMESPACE, name)
            if "deletionTimestamp" not in namespace["metadata"]:
                await self._add_account(name)
            elif FINALIZER in namespace["spec"].get("finalizers", ()):
                await self._end(namespace)

    async def _add_account(self, namespace: str) -> None:
        account = {
            "apiVersion": SERVICE_ACCOUNT.api_version,
            "kind": SERVICE_ACCOUNT.kind,
            "metadata": {"name": "default", "namespace": namespace},
        }
        try:
            await self._client.create(SERVICE_ACCOUNT, account, namespace)
        except Refusal as refusal:
            if refusal.reason not in {"AlreadyExists", "Forbidden"}:
                raise

    async def _end(self, namespace: Manifest) -> None:
        name = namespace["metadata"]["name"]
        remains = await self._delete_content(namespace)
        namespace = await self._tell(namespace, remains)
        if remains.resources or remains.failures:
            self._queue.add_after(name, remains.wait_s // 2 + 1)
            return
        finalizers = namespace["spec"].get("finalizers", [])
        spec = {
            **namespace["spec"],
            "finalizers": [each for each in finalizers if each != FINALIZER],
        }
        typed = {"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.kind}
        finalized = {**typed, **namespace, "spec": spec}
        await self._client.replace(NAMESPACE, finalized, subresource="finalize")

    async def _tell(self, namespace: Manifest, remains: Remains) -> Manifest:
        """Write into its status what is in the way of a namespace's end."""
        status = namespace.get("status", {})
        old = status.get("conditions", [])
        new = conditions(old, remains.problems(), self._clock.now_us())
        if new == old:
            return namespace
        typed = {"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.kind}
        changed = {**typed, **namespace, "status": {**status, "conditions": new}}
        return await self._client.replace(NAMESPACE, changed, subresource="status")

    # -- content ------------------------------------------------------------------------------

    async def _delete_content(self, namespace: Manifest) -> Remains:
        """Tell everything to go, pods before the rest; return what is left."""
        name = namespace["metadata"]["name"]
        deleted_us = parse_timestamp(namespace["metadata"]["deletionTimestamp"])
        passed_s = (self._clock.now_us() - deleted_us) // _US
        remains = Remains()
        kinds = [kind for kind in await self._kinds() if kind.namespaced]
        for kind in [POD, *(kind for kind in kinds if kind != POD)]:
            try:
                left = await self._delete_all(kind, name)
            except Refusal as refusal:
                remains.failures.append(str(refusal))
                continue
            if not left:
                continue
            remains.resources[kind] = len(left)
            for manifest in left:
                remains.finalizers.update(manifest["metadata"].get("finalizers", ()))
            grace_s = max(map(_grace_s, left)) if kind == POD else 0
            if grace_s > passed_s:
                remains.wait_s = max(remains.wait_s, grace_s)
            elif remains.finalizers:
                remains.wait_s = max(remains.wait_s, _FINALIZERS_S)
            if kind == POD:
                remains.pods_first = True
                break
        return remains

    async def _delete_all(self, kind: Kind, namespace: str) -> list[dict[str, Any]]:
        """Tell all objects of a kind to go; return those that are still there."""
        for manifest in await self._list(kind, namespace):
            if "deletionTimestamp" in manifest["metadata"]:
                continue
            options = {"propagationPolicy": "Background"}
            with ignoring("NotFound"):
                await self._client.delete(
                    kind, manifest["metadata"]["name"], namespace, options=options
                )
        return await self._list(kind, namespace)

    async def _list(self, kind: Kind, namespace: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        continued = ""
        while True:
            page = await self._client.list(
                kind, Selection(namespace=namespace), limit=_CHUNK, continued=continued
            )
            found += page.items
            continued = page.continued
            if not continued:
                return found


def _grace_s(pod: Manifest) -> int:
    if pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return 0
    grace_s: int = pod["spec"].get("terminationGracePeriodSeconds", 0)
    return grace_s
