"""
The peer's benchmark traces, played by the runner of `muster simulate`.

With engine time charged, every decision takes as long on the virtual clock as it would have taken
where the peer's figures were taken; arrivals, run times and evictions cost nothing. In free time
decisions cost nothing either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import process_time_ns

from muster.queue.simulation.history import Ending
from muster.queue.simulation.report import Report, report_of
from muster.queue.simulation.runner import Options, Runner
from muster.queue.simulation.traces.builtin import LOADS, builtin
from tests.bench.measure import (
    Result,
    Row,
    Scale,
    Stopwatch,
    Unavailable,
    Unit,
    calibrate_ms,
    settled_heap,
    slower_on_reference,
)

NS_PER_S = 1_000_000_000
US_PER_S = 1_000_000
EXCLUDED = "arrivals, ends, evictions; explanations, writing anything to an API server"


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace, and the peer's figures on it."""

    name: str
    makespan_s: tuple[float, float]
    makespan_target_s: float
    admissions_per_s: float
    small_until_us: int
    """Where to stop when the inputs are to be small."""


BASELINE = Trace("baseline", (118.6, 118.6), 70, 2_478, 1_500_000)
TRACES = (
    BASELINE,
    Trace("large-scale", (10.8, 10.8), 6, 3_263, 100_000),
    Trace("tas", (94, 142), 70, 716, 1_500_000),
)


def rows(scale: Scale) -> list[Row]:
    return [
        *(row for trace in TRACES for row in _charged_rows(trace, scale)),
        Row(
            name="trace-baseline-evictions",
            what="trace baseline, free time: evicted and done again",
            unit=Unit.EVICTIONS,
            peer=(5_910, 5_910),
            target=300,
            excluded="nothing: it is a count, the same in every run",
            measure=partial(evictions, trace=BASELINE, until_us=_until_us(BASELINE, scale)),
        ),
    ]


def _charged_rows(trace: Trace, scale: Scale) -> tuple[Row, Row]:
    until_us = _until_us(trace, scale)
    return (
        Row(
            name=f"trace-{trace.name}",
            what=f"trace {trace.name}, engine time charged: makespan",
            unit=Unit.VIRTUAL_SECONDS,
            peer=trace.makespan_s,
            target=trace.makespan_target_s,
            excluded=EXCLUDED,
            measure=partial(makespan, trace=trace, until_us=until_us, runs=scale.runs),
        ),
        Row(
            name=f"trace-{trace.name}-rate",
            what=f"trace {trace.name}: admissions per second of engine time",
            unit=Unit.PER_SECOND,
            peer=(trace.admissions_per_s,) * 2,
            target=trace.admissions_per_s,
            excluded=EXCLUDED,
            measure=partial(rate, trace=trace, until_us=until_us, runs=scale.runs),
        ),
    )


def _until_us(trace: Trace, scale: Scale) -> int | None:
    return None if scale.full else trace.small_until_us


@dataclass(frozen=True, slots=True)
class Played:
    """One play of a trace with engine time charged."""

    report: Report
    engine_s: float
    """As measured on this machine."""


def makespan(watch: Stopwatch, *, trace: Trace, until_us: int | None, runs: int) -> Result:
    reports = [_charged(trace.name, until_us, run, watch).report for run in range(runs)]
    working = [100 * _working_share(report) for report in reports]
    return Result(
        tuple(report.makespan_us / US_PER_S for report in reports),
        {"finished": min(report.history.finished for report in reports)},
        f"{median(working):.1f} % of the quota working",
    )


def _working_share(report: Report) -> float:
    """
    Return the part of all quota, over the makespan, that ran jobs to their end.

    A job counts for as long as it runs by itself, not until a decision under way lets the engine
    see that it has ended.
    """
    history = report.history
    worked = sum(
        history.experiment.jobs[run.job].runs_for_us * grant.amount
        for run in history.runs
        if run.ending is Ending.FINISHED
        for grant in run.grants
    )
    nominal = sum(amount for _, _, amount in history.experiment.nominal())
    return worked / (nominal * report.makespan_us)


def rate(watch: Stopwatch, *, trace: Trace, until_us: int | None, runs: int) -> Result:
    plays = [_charged(trace.name, until_us, run, watch) for run in range(runs)]
    return Result(
        tuple(play.report.history.admitted / play.engine_s for play in plays),
        {"admitted": min(play.report.history.admitted for play in plays)},
    )


def evictions(watch: Stopwatch, *, trace: Trace, until_us: int | None) -> Result:
    report = _play(trace.name, Options(until_us=until_us), watch, process_time_ns)
    history = report.history
    counts = {"admitted": history.admitted, "finished": history.finished}
    return Result((history.evictions,), counts)


_PLAYED: dict[tuple[str, int | None, int], Played] = {}


def _charged(name: str, until_us: int | None, run: int, watch: Stopwatch) -> Played:
    """Play a trace with engine time charged, once for the two rows that ask for this run."""
    key = name, until_us, run
    if key not in _PLAYED:
        slower = slower_on_reference(calibrate_ms())
        options = Options(charge_engine_time=True, until_us=until_us)
        report = _play(name, options, watch, lambda: round(process_time_ns() * slower))
        _PLAYED[key] = Played(report, report.history.engine_ns / slower / NS_PER_S)
    return _PLAYED[key]


def _play(name: str, options: Options, watch: Stopwatch, stopwatch_ns: Callable[[], int]) -> Report:
    if name not in LOADS:
        raise Unavailable(f"Trace {name} needs topology-aware placement, which is not there yet.")
    runner = Runner(builtin(name), options, stopwatch_ns=stopwatch_ns)
    with settled_heap(), watch:
        runner.run()
    return report_of(runner.history)
