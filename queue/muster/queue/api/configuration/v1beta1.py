"""
Configuration files of `config.kueue.x-k8s.io/v1beta1` as v1beta2.

The old version switches features on with `enable`; in the new one a block is on when it is there,
and waitForPodsReady is on unless a feature gate says otherwise. A pure function on parsed files.
"""

from __future__ import annotations

from typing import Any, Final

from muster.queue.api.v1beta1 import Document, Upgrade

OLD: Final = "config.kueue.x-k8s.io/v1beta1"
NEW: Final = "config.kueue.x-k8s.io/v1beta2"

_PODS_READY_TIMEOUT: Final = "5m"
_STRATEGIES: Final = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


def upgrade(document: Document) -> Upgrade:
    """Return `document` in the current version; the argument is not changed."""
    if document.get("apiVersion") != OLD:
        return Upgrade(document)
    notes: list[str] = []
    new = {**document, "apiVersion": NEW}
    _fair_sharing(new, notes)
    _wait_for_pods_ready(new, notes)
    if new.pop("queueVisibility", None) is not None:
        notes.append("queueVisibility no longer exists and is dropped")
    integrations = new.get("integrations")
    if isinstance(integrations, dict) and "podOptions" in integrations:
        new["integrations"] = {
            name: value for name, value in integrations.items() if name != "podOptions"
        }
        notes.append(
            "integrations.podOptions no longer exists and is dropped: "
            "use managedJobsNamespaceSelector"
        )
    return Upgrade(new, tuple(notes))


def _fair_sharing(new: Document, notes: list[str]) -> None:
    block = new.get("fairSharing")
    if not isinstance(block, dict):
        return
    block = dict(block)
    if _is_off(block):
        del new["fairSharing"]
        notes.append("fairSharing.enable is false: the block is dropped")
        return
    block["preemptionStrategies"] = block.get("preemptionStrategies") or list(_STRATEGIES)
    new["fairSharing"] = block


def _wait_for_pods_ready(new: Document, notes: list[str]) -> None:
    block = new.get("waitForPodsReady")
    if block is not None and not isinstance(block, dict):
        return
    block = dict(block or {})
    if _is_off(block):
        new.pop("waitForPodsReady", None)
        gates = new.get("featureGates") or {}
        if isinstance(gates, dict):
            new["featureGates"] = {"DisableWaitForPodsReady": True, **gates}
        notes.append("waitForPodsReady was off: the feature gate DisableWaitForPodsReady is set")
        return
    new["waitForPodsReady"] = {
        "timeout": _PODS_READY_TIMEOUT,
        "blockAdmission": True,
        **{name: value for name, value in block.items() if value is not None},
    }


def _is_off(block: dict[str, Any]) -> bool:
    """Take the switch out of the block and say whether it was off, as it is by default."""
    return block.pop("enable", False) is False
