"""
A simulation as rows of characters: one row a job while there are few, and one a queue.

Time runs to the right in columns of equal, round length. A job's column shows what it did for most
of that time; a queue's column is a bar as high as the mean of what it used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from muster.queue.simulation.durations import UNITS_US, short
from muster.queue.simulation.history import Ending, History, Run

JOBS_SHOWN_MAX: Final = 30
QUEUES_SHOWN_MAX: Final = 12
TICK_COLUMNS: Final = 10
"""Columns from one label of the time axis to the next, at least."""

BARS: Final = " ▁▂▃▄▅▆▇█"

_STEPS: Final = {
    "us": (1, 2, 5, 10, 20, 50, 100, 200, 500),
    "ms": (1, 2, 5, 10, 20, 50, 100, 200, 500),
    "s": (1, 2, 5, 10, 15, 30),
    "m": (1, 2, 5, 10, 15, 30),
    "h": (1, 2, 3, 6, 12),
    "d": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
}
ROUND_US: Final = tuple(n * UNITS_US[unit] for unit, steps in _STEPS.items() for n in steps)
"""Lengths of time that people count in, in microseconds."""


class Mark(StrEnum):
    """What a job did in a column."""

    NOTHING = " "
    OWN = "█"
    """It ran on its queue's own quota."""
    BORROWED = "▓"
    """It ran, and some of its quota was borrowed."""
    WAITED = "░"
    EVICTED = "╳"  # noqa: RUF001 - a cross is what is meant
    """It was stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    name: str
    amount: int
    """What it asked for of the resource shown."""
    marks: str
    """One `Mark` a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    name: str
    nominal: int
    bars: str
    """One of `BARS` a column; the highest is `Chart.full`."""
    beyond: tuple[bool, ...]
    """By column: whether it used more than its nominal quota."""
    jobs: tuple[JobRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    resource: str
    column_us: int
    ticks: str
    full: int
    queues: tuple[QueueRow, ...]
    queues_left_out: int


class _Stretch(NamedTuple):
    since_us: int
    until_us: int
    mark: Mark


def chart(history: History, resource: str, columns: int) -> Chart:
    """Draw a history of one resource in so many columns."""
    return _Painter(history, resource, columns).chart()


class _Painter:
    def __init__(self, history: History, resource: str, columns: int) -> None:
        self._history = history
        self._experiment = history.experiment
        self._resource = resource
        self._columns = columns
        self._start_us = history.experiment.start_us
        span_us = max(1, history.ended_us - self._start_us)
        self._column_us = round_up(-(-span_us // columns))
        self._used_columns = min(columns, -(-span_us // self._column_us))
        self._nominal = self._nominals()
        self._areas = self._used_areas()

    def chart(self) -> Chart:
        shown, left_out = self._queues_shown()
        peaks = [max(self._areas.get(name, [0])) // self._column_us for name in shown]
        full = max([*peaks, 1])
        few = len(self._experiment.jobs) <= JOBS_SHOWN_MAX
        jobs = self._job_rows() if few else {}
        return Chart(
            resource=self._resource,
            column_us=self._column_us,
            ticks=self._ticks(),
            full=full,
            queues=tuple(self._queue_row(name, full, jobs.get(name, ())) for name in shown),
            queues_left_out=left_out,
        )

    def _nominals(self) -> dict[str, int]:
        nominal = dict.fromkeys(self._experiment.cluster_queues, 0)
        for owner, pair, amount in self._experiment.nominal():
            if pair.resource == self._resource and owner in nominal:
                nominal[owner] += amount
        return nominal

    def _amount(self, run: Run) -> int:
        return sum(grant.amount for grant in run.grants if grant.resource == self._resource)

    def _used_areas(self) -> dict[str, list[int]]:
        """Return amount x microseconds by queue and column."""
        areas: dict[str, list[int]] = {}
        for run in self._history.runs:
            row = areas.setdefault(run.cluster_queue, [0] * self._used_columns)
            amount = self._amount(run)
            for column, overlap_us in self._overlaps(run.started_us, run.ended_us):
                row[column] += amount * overlap_us
        return areas

    def _overlaps(self, since_us: int, until_us: int) -> Iterator[tuple[int, int]]:
        """Yield (column, microseconds of it) that a stretch of time covers."""
        since, until = since_us - self._start_us, until_us - self._start_us
        first = since // self._column_us
        for column in range(first, min(self._used_columns, -(-until // self._column_us))):
            begin = column * self._column_us
            yield column, min(until, begin + self._column_us) - max(since, begin)

    def _queues_shown(self) -> tuple[list[str], int]:
        """Return the queues that used most, next to others of their cohort."""
        queues = self._experiment.cluster_queues
        busy = [name for name in queues if name in self._areas] or list(queues)
        most = sorted(busy, key=lambda name: (-sum(self._areas.get(name, ())), name))
        shown = most[:QUEUES_SHOWN_MAX]
        shown.sort(key=lambda name: (queues[name].cohort or "", name))
        return shown, len(queues) - len(shown)

    def _queue_row(self, name: str, full: int, jobs: Sequence[JobRow]) -> QueueRow:
        areas = self._areas.get(name, [0] * self._used_columns)
        top = len(BARS) - 1
        heights = [-(-area * top // (full * self._column_us)) for area in areas]
        limit = self._nominal[name] * self._column_us
        return QueueRow(
            name=name,
            nominal=self._nominal[name],
            bars="".join(BARS[min(top, height)] for height in heights),
            beyond=tuple(area > limit for area in areas),
            jobs=tuple(jobs),
        )

    # --- Jobs --------------------------------------------------------------------------------

    def _job_rows(self) -> dict[str, list[JobRow]]:
        stretches: list[list[_Stretch]] = [[] for _ in self._experiment.jobs]
        for wait in self._history.waits():
            stretches[wait.job].append(_Stretch(wait.since_us, wait.until_us, Mark.WAITED))
        for run in self._history.runs:
            borrowed = any(grant.borrowed for grant in run.grants)
            mark = Mark.BORROWED if borrowed else Mark.OWN
            stretches[run.job].append(_Stretch(run.started_us, run.ended_us, mark))
        rows: dict[str, list[JobRow]] = {}
        by_job = self._history.runs_by_job()
        for index, job in enumerate(self._experiment.jobs):
            requests = [
                pod_set.count * amount
                for pod_set in job.workload.pod_sets
                for resource, amount in pod_set.requests
                if resource == self._resource
            ]
            row = JobRow(
                name=job.name,
                amount=sum(requests),
                marks=self._marks(stretches[index], by_job[index]),
            )
            rows.setdefault(self._experiment.queue_of(job.workload), []).append(row)
        return rows

    def _marks(self, stretches: Sequence[_Stretch], runs: Sequence[Run]) -> str:
        covered = [dict.fromkeys(Mark, 0) for _ in range(self._used_columns)]
        for stretch in stretches:
            for column, overlap_us in self._overlaps(stretch.since_us, stretch.until_us):
                covered[column][stretch.mark] += overlap_us
        # max() keeps the first of equals, and whatever happened is worth more than nothing.
        marks = [
            max(Mark, key=lambda mark: cells[mark]) if any(cells.values()) else Mark.NOTHING
            for cells in covered
        ]
        for run in runs:
            if run.ending is Ending.EVICTED:
                column = (run.ended_us - 1 - self._start_us) // self._column_us
                marks[max(0, min(column, self._used_columns - 1))] = Mark.EVICTED
        return "".join(marks)

    # --- The axis ----------------------------------------------------------------------------

    def _ticks(self) -> str:
        step_us = round_up(TICK_COLUMNS * self._column_us)
        columns = -(-step_us // self._column_us)
        axis = ""
        for tick in range(0, self._used_columns, columns):
            axis = axis.ljust(tick) + short(tick * self._column_us).replace(" ", "")
        return axis


def round_up(duration_us: int) -> int:
    """Return the shortest length of time people count in that is no shorter than this one."""
    return next((step for step in ROUND_US if step >= duration_us), duration_us)
