"""Taints and tolerations as objects have them, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable

from muster.admission.eligibility import tolerates
from muster.admission.objects import Taint, Toleration
from muster.queue.client.protocol import Manifest


def taint(manifest: Manifest) -> Taint:
    """Read a taint of a Node."""
    return Taint(manifest["key"], manifest.get("value", ""), manifest["effect"])


def toleration(manifest: Manifest) -> Toleration:
    """Read a toleration of a pod."""
    return Toleration(
        key=manifest.get("key", ""),
        operator=manifest.get("operator", "Equal"),
        value=manifest.get("value", ""),
        effect=manifest.get("effect", ""),
    )


def keeps_off(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether a taint keeps off a pod with these tolerations."""
    return taint.effect != "PreferNoSchedule" and is_disliked(taint, tolerations)


def is_disliked(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether a pod with these tolerations does not tolerate a taint, whatever its effect."""
    return not any(tolerates(each, taint) for each in tolerations)
