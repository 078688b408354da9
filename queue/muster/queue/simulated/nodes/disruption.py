"""The condition by which a pod says that it has to go for reasons which are not its own."""

from __future__ import annotations

from typing import Any

from muster.queue.api.timestamps import format_second
from muster.queue.client.protocol import Manifest


def disrupted(pod: Manifest, reason: str, message: str, now_us: int) -> list[dict[str, Any]]:
    """Return the conditions of a pod with DisruptionTarget among them."""
    others = [
        each
        for each in pod.get("status", {}).get("conditions") or ()
        if each["type"] != "DisruptionTarget"
    ]
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": format_second(now_us),
        "reason": reason,
        "message": message,
    }
    if "generation" in pod["metadata"]:
        condition["observedGeneration"] = pod["metadata"]["generation"]
    return [*others, condition]
