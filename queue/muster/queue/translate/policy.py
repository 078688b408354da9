"""Policy as the engine takes it: feature gates and fair sharing by the names people know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from muster.admission.config import FairStrategy, Gates

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


def gates(chosen: Mapping[str, bool]) -> Gates:
    """Return the gates with those that were chosen; names that decide nothing are passed over."""
    fields = {GATE_FIELDS[name]: on for name, on in chosen.items() if name in GATE_FIELDS}
    return Gates(**fields)


def fair_sharing(strategies: Sequence[str]) -> tuple[FairStrategy, ...]:
    """Return the strategies of a configuration in which fair sharing is on."""
    return tuple(FairStrategy(name) for name in strategies) or STRATEGIES_DEFAULT
