"""
The feature gates of the Kueue API: names, defaults, and which gate needs which.

`resolve` turns what an administrator chose into the state of every gate. A gate whose default is on
goes off silently with a gate it needs; choosing it while that one is off is a contradiction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from muster.queue.api.wording import did_you_mean


@dataclass(frozen=True, slots=True)
class FeatureGate:
    default: bool
    needs: tuple[str, ...] = ()
    """Gates that must be on for this one to be on."""
    locked: bool = False
    """The default cannot be changed any more."""


_ON: Final = FeatureGate(default=True)
_OFF: Final = FeatureGate(default=False)
_LOCKED: Final = FeatureGate(default=True, locked=True)


def _on(*needs: str) -> FeatureGate:
    return FeatureGate(default=True, needs=needs)


def _off(*needs: str) -> FeatureGate:
    return FeatureGate(default=False, needs=needs)


_DRA: Final = "KueueDRAIntegration"
_TAS: Final = "TopologyAwareScheduling"
_TAS_REPLACEMENT: Final = "TASFailedNodeReplacement"

FEATURE_GATES: Final[Mapping[str, FeatureGate]] = {
    "AdmissionFairSharing": _ON,
    "AdmissionGatedBy": _ON,
    "AssignQueueLabelsForPods": _ON,
    "CleanupProvisioningRequestsOnEviction": _ON,
    "ConcurrentAdmission": _OFF,
    "CustomMetricLabels": _OFF,
    "DeferRayServiceFinalizationForRedisCleanup": _ON,
    "DisableWaitForPodsReady": _OFF,
    "ElasticJobsViaWorkloadSlices": _ON,
    "ElasticJobsViaWorkloadSlicesWithTAS": _off("ElasticJobsViaWorkloadSlices", _TAS),
    "FailureRecoveryPolicy": _OFF,
    "FairSharingPreemptWithinNominal": _ON,
    "FairSharingPrioritizeNonBorrowing": _ON,
    "FastQuotaReleaseInPodIntegration": _OFF,
    "FinishOrphanedWorkloads": _ON,
    "FlavorFungibility": _ON,
    "FlavorFungibilityPreserveScanProgress": _on("FlavorFungibility"),
    "KueueDRAIntegration": _ON,
    "KueueDRAIntegrationConsumableCapacity": _off(_DRA),
    "KueueDRAIntegrationExtendedResource": _on(_DRA),
    "KueueDRAIntegrationPartitionableDevices": _on(_DRA),
    "KueueDRARejectWorkloadsWhenDRADisabled": _ON,
    "LWSImmutableGroupSize": _ON,
    "LocalQueueMetrics": _ON,
    "ManagedJobsNamespaceSelectorAlwaysRespected": _LOCKED,
    "MetricForWorkloadCreationLatency": _ON,
    "MetricsForCohorts": _ON,
    "MultiKueue": _ON,
    "MultiKueueAdaptersForCustomJobs": _ON,
    "MultiKueueClusterProfile": _OFF,
    "MultiKueueIncrementalDispatcherConfig": _ON,
    "MultiKueueIncrementalDispatcherRespectConfigOrder": _ON,
    "MultiKueueKubeConfigPathValidation": _ON,
    "MultiKueueManagerQuotaAutomation": _OFF,
    "MultiKueueOrchestratedPreemption": _OFF,
    "MultiKueueRemoteSpecSync": _ON,
    "PartialAdmission": _ON,
    "PodIntegrationValidateGroupOwner": _ON,
    "PrioritizePreemptorWorkloads": _OFF,
    "PriorityBoost": _OFF,
    "PrioritySortingWithinCohort": _ON,
    "QuotaCheckStrategy": _ON,
    "ReclaimablePods": _ON,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": _ON,
    "RejectUpdatesToCQWithInvalidOnFlavors": _OFF,
    "RemoveFinalizersWithStrictPatch": _ON,
    "SchedulerLibraryIntegration": _OFF,
    "SchedulingEquivalenceHashing": _ON,
    "ShortWorkloadNames": _OFF,
    "SkipAncestorCheckForDeletedWorkloads": _ON,
    "SkipReassignmentForPodOwnedWorkloads": _ON,
    "SparkApplicationIntegration": _OFF,
    "TASAssignmentsEncodingByHostnamePrefix": _on(_TAS),
    "TASBalancedPlacement": _off(_TAS),
    "TASCacheNodeMatchResults": _on(_TAS),
    "TASCacheTopologyTree": _on(_TAS),
    "TASCachingRemainingResources": _on(_TAS),
    "TASFailedNodeReplacement": _on(_TAS),
    "TASFailedNodeReplacementFailFast": _on(_TAS_REPLACEMENT),
    "TASHandleOverlappingFlavors": _on(_TAS),
    "TASMultiLayerTopology": _on(_TAS),
    "TASProfileMixed": _on(_TAS),
    "TASRecomputeAssignmentWithinSchedulingCycle": _on(_TAS),
    "TASReplaceNodeDueToNotReadyOverFixedTime": _off(_TAS_REPLACEMENT),
    "TASReplaceNodeOnNodeTaints": _on(_TAS_REPLACEMENT),
    "TASReplaceNodeOnPodTermination": _on(_TAS_REPLACEMENT),
    "TASRespectNodeAffinityPreferred": _off(_TAS),
    "TASValidateWorkloadSliceSize": _on(_TAS),
    "TLSOptions": _LOCKED,
    "TopologyAwareScheduling": _ON,
    "UnadmittedWorkloadsExplicitStatus": _off("UnadmittedWorkloadsObservability"),
    "UnadmittedWorkloadsObservability": _ON,
    "ValidateRayAndSparkJobUpdates": _ON,
    "VectorizedResourceRequests": _ON,
    "VisibilityOnDemand": _ON,
    "WorkloadIdentifierAnnotations": _ON,
    "WorkloadPriorityClassDefaulting": _ON,
    "WorkloadRequestUseMergePatch": _OFF,
    "WorkloadValidateResourcesAreNonNegative": _ON,
    "WorkloadValidationForPodSetMetadata": _ON,
}
"""Every gate there is, by name."""


def complaints(chosen: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Yield the name of each gate that cannot be set as chosen, and why."""
    for name, on in chosen.items():
        gate = FEATURE_GATES.get(name)
        if gate is None:
            hint = did_you_mean(name, FEATURE_GATES)
            yield name, f"{name!r} is not a feature gate.{hint}"
        elif gate.locked and on != gate.default:
            yield name, f"is locked to {str(gate.default).lower()}"
        elif on:
            for needed in gate.needs:
                if not _is_on(needed, chosen):
                    yield name, f"needs the feature gate {needed}, which is off"


def resolve(chosen: Mapping[str, bool]) -> dict[str, bool]:
    """Return whether each gate is on. `chosen` must be free of `complaints`."""
    return {name: _is_on(name, chosen) for name in FEATURE_GATES}


def _is_on(name: str, chosen: Mapping[str, bool]) -> bool:
    gate = FEATURE_GATES[name]
    return chosen.get(name, gate.default) and all(_is_on(each, chosen) for each in gate.needs)
