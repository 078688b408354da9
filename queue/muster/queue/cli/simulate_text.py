"""The result of `muster simulate` for people: what happened, a timeline, and the figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

import click

from muster.admission.explain import quantity
from muster.queue.cli.tables import LINE_WIDTH, Row, table
from muster.queue.simulation import words
from muster.queue.simulation.decisions import Noted
from muster.queue.simulation.durations import short
from muster.queue.simulation.report import Report, Waits
from muster.queue.simulation.story import Line, story
from muster.queue.simulation.timeline import BARS, Chart, Mark, QueueRow, chart

STORY_LINES_MAX: Final = 60
"""Sentences told; a longer story is for the page, not for a terminal."""
ROWS_MAX: Final = 12
"""Rows of a table by queue."""
CLASSES_MAX: Final = 8
"""Priority classes told apart; where every job has its own, they say nothing."""
LABEL_WIDTH: Final = 24
"""Characters left of the timeline."""

_COLORS: Final = {
    Mark.OWN: "green",
    Mark.BORROWED: "yellow",
    Mark.WAITED: "bright_black",
    Mark.EVICTED: "red",
}


def lines(report: Report, entries: Sequence[Noted], *, engine: bool) -> Iterator[str]:
    """Yield the lines of the result; `engine` adds what was measured of the engine."""
    yield from _introduction(report)
    if not report.history.experiment.jobs:
        yield "Nothing arrives: no Job, Pod or Workload names a queue, and there is no --trace."
        return
    told = story(report.history, entries)
    if told and len(told) <= STORY_LINES_MAX:
        yield _heading("What happened")
        yield from _told(report, told)
        yield ""
    if report.dominant is not None and report.history.runs:
        yield from _timeline(report, report.dominant.resource)
        yield ""
    yield from _summary(report, engine=engine)


def _heading(text: str) -> str:
    return click.style(text, bold=True)


def _introduction(report: Report) -> Iterator[str]:
    experiment = report.history.experiment
    queues = experiment.cluster_queues
    yield f"{experiment.title}: {_jobs(len(experiment.jobs))} for {_queues(len(queues))}"
    for note in report.history.experiment.notes:
        yield from textwrap.wrap(f"Note: {note}", LINE_WIDTH, subsequent_indent="      ")
    yield ""


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def _queues(count: int) -> str:
    return "1 ClusterQueue" if count == 1 else f"{count} ClusterQueues"


# --- The story -----------------------------------------------------------------------------------


def _told(report: Report, told: Sequence[Line]) -> Iterator[str]:
    experiment = report.history.experiment
    width = max(len(experiment.jobs[line.job].name) for line in told)
    before = ""
    for line in told:
        at = short(line.at_us - experiment.start_us)
        name = experiment.jobs[line.job].name
        prefix = f"{'' if at == before else at:>8}  {name:<{width}}  "
        before = at
        yield from textwrap.wrap(
            prefix + line.text,
            LINE_WIDTH,
            subsequent_indent=" " * (len(prefix) + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )


# --- The timeline --------------------------------------------------------------------------------


def _timeline(report: Report, resource: str) -> Iterator[str]:
    drawn = chart(report.history, resource, LINE_WIDTH - LABEL_WIDTH)
    name = words.short_name(resource)
    yield _heading("Timeline") + f"  1 column = {short(drawn.column_us)}"
    yield from _legend(drawn, name)
    yield " " * LABEL_WIDTH + click.style(drawn.ticks, dim=True)
    for queue in drawn.queues:
        owned = f"{quantity(resource, queue.nominal)} {name}"
        yield _labelled(queue.name, owned, bold=True) + _bars(queue)
        for job in queue.jobs:
            amount = quantity(resource, job.amount)
            short_job = job.name.rpartition("/")[2]
            yield _labelled(f"  {short_job}", amount) + _marks(job.marks)
    if drawn.queues_left_out:
        yield f"  … and {drawn.queues_left_out} more queues (--html shows all)"


def _legend(drawn: Chart, name: str) -> Iterator[str]:
    full = quantity(drawn.resource, drawn.full)
    yield f"  queue: {name} in use, {BARS[1]} to {BARS[-1]} = {full}" + (
        "; coloured where it borrows" if not any(queue.jobs for queue in drawn.queues) else ""
    )
    if any(queue.jobs for queue in drawn.queues):
        told = {
            Mark.OWN: "runs on its queue's own quota",
            Mark.BORROWED: "on borrowed quota",
            Mark.WAITED: "waits",
            Mark.EVICTED: "is evicted",
        }
        yield "  job:   " + "   ".join(f"{_marks(mark)} {text}" for mark, text in told.items())


def _labelled(name: str, right: str, *, bold: bool = False) -> str:
    room = LABEL_WIDTH - len(right) - 2
    shown = name if len(name) <= room else f"{name[: room - 1]}…"
    return click.style(f"{shown:<{room}} {right} ", bold=bold)


def _bars(queue: QueueRow) -> str:
    return "".join(
        click.style(bar, fg="yellow" if beyond else "green")
        for bar, beyond in zip(queue.bars.rstrip(), queue.beyond, strict=False)
    )


def _marks(marks: str) -> str:
    return "".join(
        click.style(mark, fg=_COLORS[Mark(mark)]) if mark != Mark.NOTHING else mark
        for mark in marks.rstrip()
    )


# --- The figures ---------------------------------------------------------------------------------


def _summary(report: Report, *, engine: bool) -> Iterator[str]:
    history, dominant = report.history, report.dominant
    yield _heading("Summary")
    yield (
        f"  {_jobs(history.arrived)} arrived, {history.finished} finished; "
        f"{history.admitted} admissions, {history.evictions} evictions"
        + (f", {len(history.given_up)} given up" if history.given_up else "")
    )
    yield f"  makespan {short(report.makespan_us)}; {history.cycles} decisions"
    if dominant is not None:
        name = words.short_name(dominant.resource)
        owned = quantity(dominant.resource, dominant.nominal)
        told = (
            f"{_percent(dominant.working_share)} of the quota of {owned} {name} was at work; "
            f"another {_percent(dominant.redone_share)} did work that was lost to evictions"
        )
        yield from textwrap.wrap(told, LINE_WIDTH, initial_indent="  ", subsequent_indent="    ")
    if engine:
        seconds = history.engine_ns / 1e9 or 1e-9
        yield f"  engine: {seconds:.3f} s, {history.admitted / seconds:,.0f} admissions a second"
    yield ""
    yield from _waits(report)
    if report.recorded_waits:
        yield ""
        yield from _recorded(report)
    yield ""
    yield from _sharing(report)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _waits(report: Report) -> Iterator[str]:
    rows = [_wait_row(name or "(no queue)", waits) for name, waits in _longest(report)]
    heading = ("WAIT FOR THE START", "STARTED", "HALF WITHIN", "95 % WITHIN", "LONGEST", "NEVER")
    if 1 < len(report.waits_by_class) <= CLASSES_MAX:
        rows += [
            _wait_row(f"priority {name}", waits) for name, waits in report.waits_by_class.items()
        ]
    if len(rows) > 1:
        rows.append(_wait_row("all", report.waits))
    yield from table(heading, rows)
    left_out = len(report.waits_by_queue) - ROWS_MAX
    if left_out > 0:
        yield f"… the {ROWS_MAX} queues that waited longest; -o json has the other {left_out}"


def _longest(report: Report) -> list[tuple[str, Waits]]:
    """Return the queues to show, by name: all, or those that waited longest."""
    queues = list(report.waits_by_queue.items())
    queues.sort(key=lambda item: (-item[1].p95_us, -item[1].mean_us, item[0]))
    return sorted(queues[:ROWS_MAX])


def _wait_row(name: str, waits: Waits) -> Row:
    cells = (name, str(waits.jobs), short(waits.p50_us), short(waits.p95_us), short(waits.max_us))
    return Row(cells, (str(waits.unstarted) if waits.unstarted else "",))


def _recorded(report: Report) -> Iterator[str]:
    rows = []
    for name, recorded in report.recorded_waits.items():
        rows.append(_wait_row(f"{name}, as recorded", recorded))
        rows.append(_wait_row(f"{name}, here", report.waits_by_queue[name]))
    heading = ("BESIDE THE RECORD", "STARTED", "HALF WITHIN", "95 % WITHIN", "LONGEST", "NEVER")
    yield from table(heading, rows)


def _sharing(report: Report) -> Iterator[str]:
    usage, makespan_us = report.usage, report.makespan_us
    if usage is None or not makespan_us:
        return
    scale = makespan_us * (1000 if usage.resource == "cpu" else 1)
    used_most = sorted(usage.queues.values(), key=lambda queue: (-queue.used_area, queue.name))
    rows = [
        Row(
            (
                queue.name,
                quantity(usage.resource, queue.nominal),
                f"{queue.used_area / scale:,.1f}",
                f"{queue.borrowed_area / scale:,.1f}",
                f"{queue.lent_area / scale:,.1f}",
            ),
            (short(queue.short_us) if queue.short_us else "",),
        )
        for queue in sorted(used_most[:ROWS_MAX], key=lambda queue: queue.name)
    ]
    name = words.short_name(usage.resource).upper()
    heading = (f"{name}, ON AVERAGE", "OWNED", "USED", "BORROWED", "LENT", "SHORT OF ITS OWN FOR")
    yield from table(heading, rows)
    if usage.fairness is not None:
        yield (
            f"fairness among queues that waited: {usage.fairness:.2f} "
            f"(1: each used the same part of its quota)"
        )
