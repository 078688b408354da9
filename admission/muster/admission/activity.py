"""Whether a ClusterQueue may be decided about; if not, the reason of its Active condition."""

from __future__ import annotations

from collections.abc import Mapping

from muster.admission.objects import (
    AdmissionCheck,
    ClusterQueue,
    ResourceFlavor,
    StopPolicy,
    Topology,
)

MULTI_KUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING_REQUEST = "kueue.x-k8s.io/provisioning-request"


def why_inactive(
    spec: ClusterQueue,
    flavors: Mapping[str, ResourceFlavor],
    checks: Mapping[str, AdmissionCheck],
    topologies: Mapping[str, Topology],
) -> str | None:
    """Return the reason for which a queue is inactive, the first that applies, or None."""
    if spec.terminating:
        return "Terminating"
    if spec.stop_policy is not StopPolicy.NONE:
        return "Stopped"
    listed = [name for group in spec.groups for name in group.flavors]
    if any(name not in flavors for name in listed):
        return "FlavorNotFound"
    found = [checks.get(rule.check) for rule in spec.checks]
    if any(check is None for check in found):
        return "AdmissionCheckNotFound"
    if any(check is not None and not check.active for check in found):
        return "AdmissionCheckInactive"
    controllers = [check.controller for check in found if check is not None]
    if MULTI_KUEUE in controllers:
        return _why_not_remote(spec, controllers, listed)
    for name in listed:
        topology = flavors[name].topology
        if topology is not None and topology not in topologies:
            return "TopologyNotFound"
    return None


def _why_not_remote(spec: ClusterQueue, controllers: list[str], listed: list[str]) -> str | None:
    """Return what is wrong with the checks of a queue that dispatches to other clusters."""
    remote = controllers.count(MULTI_KUEUE)
    if remote > 1:
        return "MultipleMultiKueueAdmissionChecks"
    rule = spec.checks[controllers.index(MULTI_KUEUE)]
    if rule.on_flavors and any(name not in rule.on_flavors for name in listed):
        return "MultiKueueAdmissionCheckAppliedPerFlavor"
    return "MultiKueueWithProvisioningRequest" if PROVISIONING_REQUEST in controllers else None
