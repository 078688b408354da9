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
        try:
            return await client.merge_patch(
                kind, name, based_on(latest, patch), namespace, subresource=subresource
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


def based_on(manifest: Manifest, patch: dict[str, Any]) -> dict[str, Any]:
    """
    Return a merge patch that is refused once the object is not as it was seen.

    Without it, a list that others have changed meanwhile would be overwritten.
    """
    seen = {name: manifest["metadata"][name] for name in ("resourceVersion", "uid")}
    return {**patch, "metadata": {**patch.get("metadata", {}), **seen}}


def version(manifest: Manifest) -> int:
    """Return a resourceVersion as a number: those of one kind can be compared."""
    return int(manifest["metadata"]["resourceVersion"])


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
