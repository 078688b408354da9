"""What people do to simulated nodes: make them fail, heal them, drain them. Needs only a client."""

from __future__ import annotations

from typing import Any, Final

from muster.queue.client.informer import Key, key_of
from muster.queue.client.kinds import NODE, POD
from muster.queue.client.protocol import Client, Manifest, Selection
from muster.queue.client.refusal import Refusal
from muster.queue.clock import Clock
from muster.queue.simulated.nodes.marks import FAILED, SIMULATED, is_simulated

_TOO_MANY: Final = 429
_PAUSE_S: Final = 1.0


class NotSimulatedError(ValueError):
    """The node is a real one, or at least not one of ours."""


async def fail(client: Client, name: str) -> None:
    """
    Cut a node off: no Lease, no status of it or of its pods, until it is healed.

    What runs on it goes on meanwhile, unseen. Raises NotSimulatedError and Refusal.
    """
    await _require_simulated(client, name)
    await _annotate(client, name, "true")


async def heal(client: Client, name: str) -> None:
    """Let a node be heard of again, and take new pods. Raises NotSimulatedError and Refusal."""
    await _require_simulated(client, name)
    await _annotate(client, name, None)
    await client.merge_patch(NODE, name, {"spec": {"unschedulable": None}})


async def drain(client: Client, clock: Clock, name: str) -> list[Key]:
    """
    Cordon a node and evict its pods; return them once they are gone.

    Pods of DaemonSets stay, as they tolerate the cordon. An eviction that a disruption budget
    forbids is tried again until it is allowed: whoever calls sets a limit. Raises Refusal.
    """
    await client.merge_patch(NODE, name, {"spec": {"unschedulable": True}})
    evicted: dict[Key, str] = {}
    while True:
        left = [pod for pod in await _pods_on(client, name) if _has_to_go(pod)]
        if not left:
            return list(evicted)
        for pod in left:
            uid = pod["metadata"]["uid"]
            if evicted.get(key_of(pod)) != uid and await _evict(client, pod):
                evicted[key_of(pod)] = uid
        await clock.sleep(_PAUSE_S)


async def _require_simulated(client: Client, name: str) -> None:
    if not is_simulated(await client.get(NODE, name)):
        raise NotSimulatedError(
            f"node {name} is not simulated: it lacks the label {SIMULATED}, so nothing was done"
        )


async def _annotate(client: Client, name: str, value: str | None) -> None:
    await client.merge_patch(NODE, name, {"metadata": {"annotations": {FAILED: value}}})


async def _pods_on(client: Client, name: str) -> list[dict[str, Any]]:
    page = await client.list(POD, Selection(fields=f"spec.nodeName={name}"))
    return page.items


def _has_to_go(pod: Manifest) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return not any(each["kind"] == "DaemonSet" and each.get("controller") for each in owners)


async def _evict(client: Client, pod: Manifest) -> bool:
    """Return whether the pod is on its way; False means to ask again later."""
    metadata = pod["metadata"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "deleteOptions": {"preconditions": {"uid": metadata["uid"]}},
    }
    try:
        await client.create(
            POD, eviction, metadata["namespace"], name=metadata["name"], subresource="eviction"
        )
    except Refusal as refusal:
        if refusal.reason == "NotFound":
            return True
        if refusal.code == _TOO_MANY:
            return False
        raise
    return True
