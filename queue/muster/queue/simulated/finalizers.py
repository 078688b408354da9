"""Remove a finalizer from an object without touching those that others add or remove meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from muster.queue.client.kinds import Kind
from muster.queue.client.protocol import Client, Manifest
from muster.queue.client.refusal import Refusal

_ATTEMPTS_MAX: Final = 10

Patch = Callable[[Manifest], dict[str, Any] | None]
"""Returns the merge patch for an object's metadata, None if nothing has to change."""


async def without_finalizer(
    client: Client, kind: Kind, manifest: Manifest, finalizer: str
) -> Manifest | None:
    """Return the object as it is without the finalizer, None if it is gone."""

    def patch(metadata: Manifest) -> dict[str, Any] | None:
        finalizers = metadata.get("finalizers", [])
        if finalizer not in finalizers:
            return None
        return {"finalizers": [each for each in finalizers if each != finalizer] or None}

    return await patch_metadata(client, kind, manifest, patch)


async def patch_metadata(
    client: Client, kind: Kind, manifest: Manifest, patch: Patch
) -> Manifest | None:
    """
    Patch the metadata of an object on the version it was read in, and read it again if it changed.

    Returns the object as it is then, None if it is gone or another one took its name.
    """
    metadata = manifest["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    latest = manifest
    for attempt in range(_ATTEMPTS_MAX):
        changes = patch(latest["metadata"])
        if changes is None:
            return latest
        # Without the version a list that changed meanwhile would be overwritten.
        version = latest["metadata"]["resourceVersion"]
        document = {"metadata": {**changes, "resourceVersion": version, "uid": metadata["uid"]}}
        try:
            return await client.merge_patch(kind, name, document, namespace)
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
        if latest["metadata"]["uid"] != metadata["uid"]:
            return None
    raise AssertionError("the last attempt returns or raises")
