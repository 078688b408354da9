"""
What is accepted in manifests and in the configuration file, but is not supported yet.

Nobody should believe that a setting works because nothing complained. Each finding is a `Complaint`
with its place; it never makes a command fail. `docs/differences.md` has the whole list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from muster.admission.conditions import QUOTA_RESERVED
from muster.queue.api.batch import Job
from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.configuration import Configuration
from muster.queue.api.core import Pod
from muster.queue.api.kueue import LocalQueue, ResourceFlavor
from muster.queue.api.pods import PodSpec
from muster.queue.api.workload import ELASTIC_ANNOTATION, Workload
from muster.queue.manifests.complaints import Complaint, Origin
from muster.queue.manifests.loading import Manifest
from muster.queue.world import Submitted, World

_NOTHING: Final = "has no effect yet"
_BY_USE: Final = f"{_NOTHING}: past use does not decide who is first"
_ONE_FLAVOR: Final = f"{_NOTHING}: a workload does not wait for several flavors at once"
_NO_PLACES: Final = f"{_NOTHING}: nobody is assigned to nodes or topology domains"
_NO_DEVICES: Final = f"{_NOTHING}: pods with resource claims are not admitted"

UNHEEDED_GATES: Final[Mapping[str, tuple[bool, str]]] = {
    "ConcurrentAdmission": (True, _ONE_FLAVOR),
    "ElasticJobsViaWorkloadSlicesWithTAS": (True, _NO_PLACES),
    "FastQuotaReleaseInPodIntegration": (
        True,
        f"{_NOTHING}: quota is released when the pods have stopped",
    ),
    "KueueDRAIntegrationConsumableCapacity": (True, _NO_DEVICES),
    "KueueDRARejectWorkloadsWhenDRADisabled": (False, _NO_DEVICES),
    "MultiKueueManagerQuotaAutomation": (
        True,
        f"{_NOTHING}: the quota is that of the ClusterQueues here",
    ),
    "MultiKueueOrchestratedPreemption": (True, f"{_NOTHING}: each cluster preempts on its own"),
    "SchedulerLibraryIntegration": (True, _NO_PLACES),
    "TASBalancedPlacement": (True, _NO_PLACES),
    "TASFailedNodeReplacement": (False, _NO_PLACES),
    "TASFailedNodeReplacementFailFast": (False, _NO_PLACES),
    "TASHandleOverlappingFlavors": (False, _NO_PLACES),
    "TASMultiLayerTopology": (False, _NO_PLACES),
    "TASProfileMixed": (False, _NO_PLACES),
    "TASRecomputeAssignmentWithinSchedulingCycle": (False, _NO_PLACES),
    "TASReplaceNodeDueToNotReadyOverFixedTime": (True, _NO_PLACES),
    "TASReplaceNodeOnNodeTaints": (False, _NO_PLACES),
    "TASReplaceNodeOnPodTermination": (False, _NO_PLACES),
    "TASRespectNodeAffinityPreferred": (True, _NO_PLACES),
    "TASValidateWorkloadSliceSize": (False, _NO_PLACES),
    "TopologyAwareScheduling": (
        False,
        f"{_NOTHING}: workloads with a topology request wait all the same",
    ),
    "WorkloadPriorityClassDefaulting": (
        False,
        f"{_NOTHING}: jobs that name no class get the WorkloadPriorityClass default all the same",
    ),
}
"""Gates that change decisions of Kueue but not ours: the state that does so, and what is missed."""


def in_configuration(model: Configuration, source: str) -> Iterator[Complaint]:
    """Yield what a configuration file says in vain; `source` is how the file is called."""

    def found(path: str, message: str) -> Complaint:
        origin = Origin(source=source)
        return Complaint(origin=origin, subject="Configuration", path=path, message=message)

    if model.admission_fair_sharing is not None:
        yield found("admissionFairSharing", _BY_USE)
    if model.pods_ready is not None and model.pods_ready.block_admission:
        message = f"{_NOTHING}: others are admitted while pods are not ready"
        yield found("waitForPodsReady.blockAdmission", message)
    if model.resources.device_class_mappings:
        yield found("resources.deviceClassMappings", _NO_DEVICES)
    for gate, on in model.feature_gates.items():
        unheeded, message = UNHEEDED_GATES.get(gate, (None, ""))
        if on is unheeded:
            yield found(f"featureGates.{gate}", message)


def in_settings(world: World) -> Iterator[Complaint]:
    """Yield what queues, flavors and workloads say in vain."""
    for manifest in world.manifests:
        model = manifest.model
        if isinstance(model, ClusterQueue):
            if model.spec.admission_scope is not None:
                yield manifest.complaint("spec.admissionScope", _BY_USE)
            if model.spec.concurrent_admission_policy is not None:
                yield manifest.complaint("spec.concurrentAdmissionPolicy", _ONE_FLAVOR)
        elif isinstance(model, LocalQueue) and model.spec.fair_sharing is not None:
            yield manifest.complaint("spec.fairSharing", _BY_USE)
        elif isinstance(model, ResourceFlavor) and model.spec.topology_name is not None:
            yield manifest.complaint("spec.topologyName", _NO_PLACES)
    for model, manifest in _queued(world):
        if model.metadata.annotations.get(ELASTIC_ANNOTATION) == "true":
            path = f"metadata.annotations[{ELASTIC_ANNOTATION}]"
            yield manifest.complaint(path, f"{_NOTHING}: the size stays what it is at admission")
        if isinstance(model, Workload) and model.spec.preemption_gates:
            yield manifest.complaint("spec.preemptionGates", f"{_NOTHING}: they stop no preemption")


def in_pods(world: World) -> Iterator[Complaint]:
    """Yield what pods ask for that keeps their workload waiting for ever."""
    waiting = {
        seen.workload.key: seen.workload
        for seen in world.workloads
        if not seen.status.is_true(QUOTA_RESERVED)
    }
    manifests = {id(manifest.model): manifest for manifest in world.manifests}
    for key, workload in waiting.items():
        model = world.submitted[key]
        manifest = manifests[id(model)]
        if any(pod_set.topology is not None for pod_set in workload.pod_sets):
            yield manifest.complaint("", "topology requests are not supported yet: it waits")
        if any(spec.resource_claims for spec in _pod_specs(model)):
            yield manifest.complaint("", "resource claims are not supported yet: it waits")


def _queued(world: World) -> Iterator[tuple[Submitted, Manifest]]:
    manifests = {id(manifest.model): manifest for manifest in world.manifests}
    for model in world.submitted.values():
        yield model, manifests[id(model)]


def _pod_specs(model: Submitted) -> Iterator[PodSpec]:
    if isinstance(model, Job):
        yield model.spec.template.spec
    elif isinstance(model, Pod):
        yield model.spec
    else:
        for pod_set in model.spec.pod_sets:
            yield pod_set.template.spec


def notes(configuration: Configuration, world: World | None = None) -> tuple[str, ...]:
    """Return all findings for the reader of an answer: one sentence each, with the first place."""
    found = list(in_configuration(configuration, ""))
    if world is not None:
        found += [*in_settings(world), *in_pods(world)]
    return tuple(_sentences(found))


def _sentences(found: Iterable[Complaint]) -> Iterator[str]:
    alike: dict[tuple[str, str], list[Complaint]] = {}
    for complaint in found:
        alike.setdefault((complaint.path, complaint.message), []).append(complaint)
    for (path, message), complaints in alike.items():
        more = f" and {len(complaints) - 1} more" if len(complaints) > 1 else ""
        yield f"{path}{path and ' '}{message} ({complaints[0].subject}{more})"
