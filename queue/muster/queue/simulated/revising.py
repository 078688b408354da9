"""Change one thing of an object that others change, too, without undoing what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from muster.queue.client.kinds import Kind
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import Refusal

_ATTEMPTS_MAX: Final = 10

Revision = Callable[[Manifest], dict[str, Any] | None]
"""Returns the merge patch for an object as it is, None if nothing has to change."""


async def revise(
    client: Client, kind: Kind, manifest: Manifest, revision: Revision, *, subresource: str = ""
) -> Manifest | None:
    """
    Patch an object on the version it was read in; read it again and repeat if that is outdated.

    Returns the object as it is then, None if it is gone or another one took its name. Raises
    Refusal and Disconnected.
    """
    metadata = manifest["metadata"]
    name, namespace, uid = metadata["name"], metadata.get("namespace", ""), metadata["uid"]
    latest = manifest
    for attempt in range(_ATTEMPTS_MAX):
        patch = revision(latest)
        if patch is None:
            return latest
        # Without the version, a list that changed meanwhile would be overwritten.
        version = latest["metadata"]["resourceVersion"]
        based = {**patch.get("metadata", {}), "resourceVersion": version, "uid": uid}
        try:
            return await client.merge_patch(
                kind, name, {**patch, "metadata": based}, namespace, subresource=subresource
            )
        except Refusal as refusal:
            if refusal.reason == "NotFound":
                return None
            if refusal.reason != "Conflict" or attempt == _ATTEMPTS_MAX - 1:
                raise
        try:
            latest = await client.get(kind, name, namespace)
        except Refusal as refusal:
            if refusal.reason == "NotFound":
                return None
            raise
        if latest["metadata"]["uid"] != uid:
            return None
    raise AssertionError("the last attempt returns or raises")


async def without_finalizer(
    client: Client, kind: Kind, manifest: Manifest, finalizer: str
) -> Manifest | None:
    """Remove a finalizer; return the object as it is then, None if it is gone."""

    def revision(latest: Manifest) -> dict[str, Any] | None:
        finalizers = latest["metadata"].get("finalizers", [])
        if finalizer not in finalizers:
            return None
        left = [each for each in finalizers if each != finalizer]
        return {"metadata": {"finalizers": left or None}}

    return await revise(client, kind, manifest, revision)
