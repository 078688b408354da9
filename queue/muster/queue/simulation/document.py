"""
A report as a JSON document: the format that scripts read.

Durations are seconds, shares are parts of 1, amounts are quantities as Kubernetes writes them. Keys
do not go away; they are documented in docs/reference/simulate.md. `engine_seconds` and
`admissions_per_engine_second` are measured, everything else follows from the input.
"""

from __future__ import annotations

from typing import Any

from muster.queue.api.quantities import amount_quantity
from muster.queue.simulation.report import US_PER_S, Report, Waits

DIGITS = 6
"""Decimals of every fraction: microseconds."""


def document(report: Report) -> dict[str, Any]:
    """Return the report as plain JSON values."""
    history, dominant, usage = report.history, report.dominant, report.usage
    engine_s = history.engine_ns / 1e9
    return {
        "trace": history.experiment.title,
        "makespan_seconds": _seconds(report.makespan_us),
        "quota_working_share": _share(dominant.working_share) if dominant else 0.0,
        "dominant_resource": dominant.resource if dominant else None,
        "arrived": history.arrived,
        "admitted": history.admitted,
        "finished": history.finished,
        "evictions": history.evictions,
        "deactivated": len(history.given_up),
        "quota_redone_share": _share(dominant.redone_share) if dominant else 0.0,
        "cycles": history.cycles,
        "rounds": history.rounds,
        "engine_seconds": round(engine_s, DIGITS),
        "admissions_per_engine_second": round(history.admitted / engine_s, 1) if engine_s else 0.0,
        "waits": {
            "all": _waits(report.waits),
            "by_queue": {name: _waits(waits) for name, waits in report.waits_by_queue.items()},
            "by_priority_class": {
                name: _waits(waits) for name, waits in report.waits_by_class.items()
            },
            "recorded_by_queue": {
                name: _waits(waits) for name, waits in report.recorded_waits.items()
            },
        },
        "resources": {
            figures.resource: {
                "nominal": amount_quantity(figures.resource, figures.nominal),
                "working_share": _share(figures.working_share),
                "redone_share": _share(figures.redone_share),
            }
            for figures in report.resources
        },
        "fairness_index": None
        if usage is None or usage.fairness is None
        else _share(usage.fairness),
        "queues": {} if usage is None else _queues(report),
        "notes": list(history.experiment.notes),
    }


def _queues(report: Report) -> dict[str, Any]:
    """Return per queue and cohort what it owned and, as a mean over the makespan, used and lent."""
    usage, makespan_us = report.usage, report.makespan_us or 1
    assert usage is not None
    scale = makespan_us * (1000 if usage.resource == "cpu" else 1)
    return {
        name: {
            "nominal": amount_quantity(usage.resource, figures.nominal),
            "used_mean": round(figures.used_area / scale, DIGITS),
            "borrowed_mean": round(figures.borrowed_area / scale, DIGITS),
            "lent_mean": round(figures.lent_area / scale, DIGITS),
            "short_seconds": _seconds(figures.short_us),
        }
        for name, figures in sorted(usage.queues.items())
    }


def _waits(waits: Waits) -> dict[str, Any]:
    return {
        "jobs": waits.jobs,
        "never_started": waits.unstarted,
        "p50_seconds": _seconds(waits.p50_us),
        "p95_seconds": _seconds(waits.p95_us),
        "p99_seconds": _seconds(waits.p99_us),
        "max_seconds": _seconds(waits.max_us),
        "mean_seconds": _seconds(waits.mean_us),
    }


def _seconds(microseconds: int) -> float:
    return round(microseconds / US_PER_S, DIGITS)


def _share(share: float) -> float:
    return round(share, DIGITS)
