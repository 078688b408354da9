"""
A simulation as a picture in SVG: for each queue what it uses and borrows, and below it its gangs.

The picture is self-contained, follows the reader's light or dark theme, and is the same for the
same history, so it may be kept under version control. With many jobs it shows queues only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from muster.admission.explain import quantity
from muster.queue.simulation import words
from muster.queue.simulation.durations import short
from muster.queue.simulation.history import Ending, Run, Wait
from muster.queue.simulation.report import Report
from muster.queue.simulation.timeline import JOBS_SHOWN_MAX, QUEUES_SHOWN_MAX, round_up

WIDTH: Final = 960
GUTTER: Final = 150
RIGHT: Final = 16
PLOT: Final = WIDTH - GUTTER - RIGHT
HEADER: Final = 64
BAND: Final = 64
ROW: Final = 22
GAP: Final = 16
FOOTER: Final = 34
TICKS: Final = 8
LETTER: Final = 6.2
"""Width of a letter, about: what decides whether a remark fits."""

STYLE: Final = """
svg{--card:#fff;--ink:#1b2430;--faint:#667282;--line:#dde2e9;--band:#eef1f5;
--own:#2f6fdb;--borrowed:#e8930c;--waiting:#b9c2ce;--evicted:#d3303b}
@media (prefers-color-scheme:dark){svg{--card:#171d26;--ink:#e4e9f0;--faint:#8b97a7;
--line:#2a3340;--band:#1c2430;--own:#5b93f5;--borrowed:#f2a93b;--waiting:#475364;--evicted:#ff5d64}}
text{font:12px system-ui,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--ink)}
.card{fill:var(--card)}.band{fill:var(--band)}.line{stroke:var(--line)}
.big{font-size:15px;font-weight:650}.name{font-weight:650}.faint{fill:var(--faint)}
.small{font-size:10.5px;fill:var(--faint)}.end{text-anchor:end}
.own{fill:var(--own)}.borrowed{fill:var(--borrowed)}.evicted{fill:var(--evicted)}
.lost{opacity:.45}.waiting{fill:url(#hatch);stroke:var(--waiting)}
.hatch{stroke:var(--waiting);stroke-width:1.6}
.nominal{stroke:var(--ink);stroke-dasharray:5 4}
"""


class _Step(NamedTuple):
    """What a queue uses from one instant on."""

    at_us: int
    used: int


def picture(report: Report) -> str:
    """Return the picture."""
    return "\n".join(_Picture(report).lines()) + "\n"


class _Picture:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._history = report.history
        self._experiment = report.history.experiment
        self._resource = report.dominant.resource if report.dominant else ""
        self._start_us = self._experiment.start_us
        self._span_us = max(1, self._history.ended_us - self._start_us)
        queues = self._experiment.cluster_queues
        most = sorted(queues, key=lambda name: (-self._area(name), name))[:QUEUES_SHOWN_MAX]
        self._queues = sorted(most, key=lambda name: (queues[name].cohort or "", name))
        few = len(self._experiment.jobs) <= JOBS_SHOWN_MAX
        self._jobs = {name: self._jobs_of(name) if few else [] for name in self._queues}
        rows = sum(len(jobs) for jobs in self._jobs.values())
        self._height = HEADER + len(self._queues) * (BAND + GAP) + rows * ROW + FOOTER

    def lines(self) -> Iterator[str]:
        name = quoteattr(f"Timeline of {self._experiment.title}")
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self._height}" '
            f'width="{WIDTH}" height="{self._height}" role="img" aria-label={name}>'
        )
        yield f"<style>{STYLE}</style>"
        yield (
            '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>'
        )
        yield f'<rect class="card" width="{WIDTH}" height="{self._height}" rx="8"/>'
        yield from self._header()
        yield from self._axis()
        top = HEADER
        for queue in self._queues:
            yield from self._band(queue, top)
            top += BAND
            for index in self._jobs[queue]:
                yield from self._row(index, top)
                top += ROW
            top += GAP
        yield from _legend(self._height - 12)
        yield "</svg>"

    # --- Where things are --------------------------------------------------------------------

    def _x(self, at_us: int) -> str:
        return _number(GUTTER + PLOT * (at_us - self._start_us) / self._span_us)

    def _width(self, since_us: int, until_us: int) -> float:
        return PLOT * (until_us - since_us) / self._span_us

    def _jobs_of(self, queue: str) -> list[int]:
        jobs = enumerate(self._experiment.jobs)
        return [i for i, job in jobs if self._experiment.queue_of(job.workload) == queue]

    def _amount(self, run: Run) -> int:
        return sum(grant.amount for grant in run.grants if grant.resource == self._resource)

    def _area(self, queue: str) -> int:
        runs = (run for run in self._history.runs if run.cluster_queue == queue)
        return sum(self._amount(run) * run.duration_us for run in runs)

    def _nominal(self, queue: str) -> int:
        return sum(
            amount
            for owner, pair, amount in self._experiment.nominal()
            if owner == queue and pair.resource == self._resource
        )

    # --- Parts -------------------------------------------------------------------------------

    def _header(self) -> Iterator[str]:
        report, dominant = self._report, self._report.dominant
        jobs = len(self._experiment.jobs)
        facts = [f"{jobs} jobs in {short(report.makespan_us)}"]
        if dominant is not None:
            name = words.short_name(dominant.resource)
            owned = quantity(dominant.resource, dominant.nominal)
            facts.append(f"{100 * dominant.working_share:.1f} % of {owned} {name} working")
        facts.append(f"{self._history.evictions} evictions")
        yield _text(16, 25, self._experiment.title, "big")
        yield _text(WIDTH - RIGHT, 25, " · ".join(facts), "faint end")

    def _axis(self) -> Iterator[str]:
        step_us = round_up(-(-self._span_us // TICKS))
        bottom = self._height - FOOTER
        for at_us in range(self._start_us, self._start_us + self._span_us + 1, step_us):
            x = self._x(at_us)
            yield f'<path class="line" d="M{x} {HEADER - 8}V{bottom}"/>'
            told = short(at_us - self._start_us)
            if float(x) + 3 + len(told) * LETTER < WIDTH:
                yield _text(float(x) + 3, HEADER - 10, told, "small")

    def _band(self, queue: str, top: int) -> Iterator[str]:
        nominal = self._nominal(queue)
        name = words.short_name(self._resource)
        yield f'<rect class="band" x="0" y="{top}" width="{WIDTH}" height="{BAND - 6}"/>'
        yield _text(16, top + 24, queue, "name")
        yield _text(16, top + 41, f"owns {quantity(self._resource, nominal)} {name}", "faint")
        steps = self._steps(queue)
        peak = max([nominal, 1, *(step.used for step in steps)])
        base, height = top + BAND - 14, BAND - 22

        def level(used: int) -> float:
            return base - height * used / peak

        own = [(step.at_us, level(min(step.used, nominal))) for step in steps]
        yield self._filled(own, level(0), "own")
        if any(step.used > nominal for step in steps):
            beyond = [(step.at_us, level(max(step.used, nominal))) for step in steps]
            yield self._filled(beyond, level(nominal), "borrowed")
        line = _number(level(nominal))
        yield f'<path class="nominal" d="M{GUTTER} {line}H{WIDTH - RIGHT}"/>'

    def _steps(self, queue: str) -> list[_Step]:
        changes: dict[int, int] = {self._start_us: 0}
        for run in self._history.runs:
            if run.cluster_queue == queue:
                amount = self._amount(run)
                changes[run.started_us] = changes.get(run.started_us, 0) + amount
                changes[run.ended_us] = changes.get(run.ended_us, 0) - amount
        instants = sorted(changes)
        used = accumulate(changes[at_us] for at_us in instants)
        return [_Step(at_us, amount) for at_us, amount in zip(instants, used, strict=True)]

    def _filled(self, levels: Sequence[tuple[int, float]], base: float, kind: str) -> str:
        path = f"M{GUTTER} {_number(base)}"
        for at_us, level in levels:
            path += f"H{self._x(at_us)}V{_number(level)}"
        return f'<path class="{kind}" d="{path}H{WIDTH - RIGHT}V{_number(base)}Z"/>'

    def _row(self, index: int, top: int) -> Iterator[str]:
        job = self._experiment.jobs[index]
        yield _text(26, top + 15, job.name.rpartition("/")[2])
        asked = sum(
            pod_set.count * amount
            for pod_set in job.workload.pod_sets
            for resource, amount in pod_set.requests
            if resource == self._resource
        )
        yield _text(GUTTER - 12, top + 15, quantity(self._resource, asked), "faint end")
        for wait in self._waits_of(index):
            yield self._box("waiting", wait.since_us, wait.until_us, top)
        runs = [run for run in self._history.runs if run.job == index]
        ends = [*(run.started_us for run in runs[1:]), self._history.ended_us]
        for run, free_until_us in zip(runs, ends, strict=False):
            yield from self._run(run, free_until_us, top)

    def _waits_of(self, index: int) -> Iterable[Wait]:
        waits = (wait for wait in self._history.waits() if wait.job == index)
        return (wait for wait in waits if wait.until_us > wait.since_us)

    def _run(self, run: Run, free_until_us: int, top: int) -> Iterator[str]:
        """Yield a run, and for whom it had to end if there is room to say so."""
        borrowed = any(grant.borrowed for grant in run.grants)
        lost = " lost" if run.ending is Ending.EVICTED else ""
        kind = ("borrowed" if borrowed else "own") + lost
        yield self._box(kind, run.started_us, run.ended_us, top)
        if run.ending is Ending.EVICTED:
            x = float(self._x(run.ended_us))
            yield (
                f'<rect class="evicted" x="{_number(x - 4)}" y="{top + 3}" width="4" height="16"/>'
            )
            remark = f"for {self._named(run.preemptor)}" if run.preemptor else run.reason
            if len(remark) * LETTER < self._width(run.ended_us, free_until_us):
                yield _halo(x + 5, top + 15, remark)

    def _named(self, key: str) -> str:
        jobs = self._experiment.jobs
        name = next(job.name for job in jobs if job.workload.key == key)
        return name.rpartition("/")[2]

    def _box(self, kind: str, since_us: int, until_us: int, top: int) -> str:
        width = _number(max(1.0, self._width(since_us, until_us) - 0.75))
        return (
            f'<rect class="{kind}" x="{self._x(since_us)}" y="{top + 4}" width="{width}" '
            f'height="14" rx="2.5"/>'
        )


def _legend(baseline: int) -> Iterator[str]:
    entries = (
        ("own", "runs on its queue's own quota"),
        ("borrowed", "on borrowed quota"),
        ("waiting", "waits"),
        ("evicted", "is preempted"),
        ("nominal", "nominal quota"),
    )
    x = 16.0
    for kind, told in entries:
        if kind == "nominal":
            yield f'<path class="nominal" d="M{_number(x)} {baseline - 4}h14"/>'
        else:
            width = 4 if kind == "evicted" else 14
            yield (
                f'<rect class="{kind}" x="{_number(x)}" y="{baseline - 9}" width="{width}" '
                f'height="10" rx="2"/>'
            )
            x += width - 14
        yield _text(x + 20, baseline, told, "faint")
        x += 20 + len(told) * LETTER + 22


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{_number(x)}" y="{_number(y)}"{attribute}>{escape(text)}</text>'


def _halo(x: float, y: float, text: str) -> str:
    """Return text that can be read on a hatched ground."""
    return (
        f'<text x="{_number(x)}" y="{_number(y)}" class="small" stroke="var(--card)" '
        f'stroke-width="4" paint-order="stroke">{escape(text)}</text>'
    )


def _number(value: float) -> str:
    """Return a coordinate with no more digits than can be seen."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
