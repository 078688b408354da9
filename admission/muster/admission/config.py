"""
Policy as an argument: everything about a decision that an administrator may choose.

There are no process-wide switches. A feature gate of the peer that changes a decision is a field of
`Gates`; the rest of the gates belong to the shell.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FairStrategy(StrEnum):
    """When a victim of another queue may be taken under fair sharing."""

    FINAL_SHARE = "LessThanOrEqualToFinalShare"
    INITIAL_SHARE = "LessThanInitialShare"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Feature gates that change decisions, with the defaults of Kueue v0.20."""

    admission_gated_by: bool = True
    fair_sharing_preempt_within_nominal: bool = True
    fair_sharing_prioritize_non_borrowing: bool = True
    flavor_fungibility: bool = True
    flavor_fungibility_preserve_scan_progress: bool = True
    partial_admission: bool = True
    prioritize_preemptor_workloads: bool = False
    priority_boost: bool = False
    priority_sorting_within_cohort: bool = True
    reclaimable_pods: bool = True
    recompute_assignment_upon_preemption_targets_overlap: bool = True
    scheduling_equivalence_hashing: bool = True
    unadmitted_workloads_observability: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsReadyPolicy:
    """waitForPodsReady: how long an admitted workload may take until its pods are ready."""

    timeout_s: int = 1800
    recovery_timeout_s: int = 1800
    requeue_by_eviction_time: bool = True
    backoff_base_s: int = 60
    backoff_max_s: int = 3600
    backoff_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    fair_sharing: tuple[FairStrategy, ...] | None = None
    """Preemption strategies in order; None means fair sharing is off (classical order)."""
    ignore_undeclared_resources: bool = False
    """quotaCheckStrategy IgnoreUndeclared: a requested resource without quota is not counted."""
    pods_ready: PodsReadyPolicy | None = PodsReadyPolicy()
    patience_us: int = 30_000_000
    """A victim that is expected to end within this time is left to finish; 0 stops it at once."""
    gates: Gates = Gates()
    rounds_max: int | None = None
    """Rounds of one decision; 1 reproduces the peer's cycle, None goes on until nothing moves."""

    @property
    def fair(self) -> bool:
        return self.fair_sharing is not None
