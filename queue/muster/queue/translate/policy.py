"""Policy as the engine takes it: the configuration file, its feature gates, how it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from muster.admission import requests
from muster.admission.config import Config, FairStrategy, Gates, PodsReadyPolicy
from muster.queue.api.configuration import Configuration
from muster.queue.api.configuration.policy import Resources, WaitForPodsReady
from muster.queue.api.quantities import parse_quantity

GATE_FIELDS: Final[Mapping[str, str]] = {
    "AdmissionGatedBy": "admission_gated_by",
    "FairSharingPreemptWithinNominal": "fair_sharing_preempt_within_nominal",
    "FairSharingPrioritizeNonBorrowing": "fair_sharing_prioritize_non_borrowing",
    "FlavorFungibility": "flavor_fungibility",
    "FlavorFungibilityPreserveScanProgress": "flavor_fungibility_preserve_scan_progress",
    "PartialAdmission": "partial_admission",
    "PrioritizePreemptorWorkloads": "prioritize_preemptor_workloads",
    "PriorityBoost": "priority_boost",
    "PrioritySortingWithinCohort": "priority_sorting_within_cohort",
    "ReclaimablePods": "reclaimable_pods",
    "RecomputeAssignmentUponPreemptionTargetsOverlap": (
        "recompute_assignment_upon_preemption_targets_overlap"
    ),
    "SchedulingEquivalenceHashing": "scheduling_equivalence_hashing",
    "UnadmittedWorkloadsObservability": "unadmitted_workloads_observability",
}
"""The feature gates that change decisions; the others belong to the controller."""

STRATEGIES_DEFAULT: Final = (FairStrategy.FINAL_SHARE, FairStrategy.INITIAL_SHARE)


def config(model: Configuration) -> Config:
    """Return what a configuration file says about decisions."""
    sharing = model.fair_sharing
    return Config(
        fair_sharing=None if sharing is None else fair_sharing(sharing.preemption_strategies),
        ignore_undeclared_resources=(
            model.resources.quota_check_strategy == "IgnoreUndeclared"
            and model.gates["QuotaCheckStrategy"]
        ),
        pods_ready=None if model.pods_ready is None else _pods_ready(model.pods_ready),
        gates=gates(model.gates),
        patience_us=model.muster.preemption.patience // timedelta(microseconds=1),
        rounds_max=model.muster.max_rounds_per_cycle,
    )


def gates(chosen: Mapping[str, bool]) -> Gates:
    """Return the gates with those that were chosen; names that decide nothing are passed over."""
    fields = {GATE_FIELDS[name]: on for name, on in chosen.items() if name in GATE_FIELDS}
    return Gates(**fields)


def fair_sharing(strategies: Sequence[str]) -> tuple[FairStrategy, ...]:
    """Return the strategies of a configuration in which fair sharing is on."""
    return tuple(FairStrategy(name) for name in strategies) or STRATEGIES_DEFAULT


def _pods_ready(model: WaitForPodsReady) -> PodsReadyPolicy:
    requeuing = model.requeuing_strategy
    return PodsReadyPolicy(
        timeout_s=int(model.timeout.total_seconds()),
        recovery_timeout_s=int(model.recovery.total_seconds()),
        requeue_by_eviction_time=requeuing.timestamp == "Eviction",
        backoff_base_s=requeuing.backoff_base_seconds,
        backoff_max_s=requeuing.backoff_max_seconds,
        backoff_limit=requeuing.backoff_limit_count,
    )


def counting_rules(model: Resources) -> requests.CountingRules:
    """Return how the configuration wants the resources of a pod counted."""
    return requests.CountingRules(
        excluded_prefixes=model.exclude_resource_prefixes,
        transformations=tuple(
            requests.Transformation(
                input=each.input,
                outputs={name: parse_quantity(text) for name, text in each.outputs.items()},
                multiply_by=each.multiply_by,
                retain=each.strategy == "Retain",
            )
            for each in model.transformations
        ),
    )
