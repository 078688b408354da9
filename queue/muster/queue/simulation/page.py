"""
A simulation as one HTML page, for looking around in it.

There is a Gantt chart of the gangs by queue, the quota they use and borrow, and every decision with
its numbers.

The page carries its data, style and script in itself, fetches nothing, and works from a file. It
draws only what is in sight, so ten thousand jobs are no trouble. Everything that is computed is
computed here or in the report; the script only draws.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

import orjson

from muster.admission.plan import Admit, Preempt, Wait
from muster.queue.simulation import words
from muster.queue.simulation.decisions import Noted
from muster.queue.simulation.durations import short
from muster.queue.simulation.history import Ending, Run
from muster.queue.simulation.report import Report

ENDINGS: Final = {Ending.FINISHED: 0, Ending.EVICTED: 1, Ending.RUNNING: 2}
KINDS: Final[dict[type[Any], int]] = {Admit: 0, Preempt: 1, Wait: 2}
SCRIPTS: Final = ("model.js", "chart.js", "panel.js")
NOBODY: Final = -1


def page(report: Report, entries: Sequence[Noted]) -> str:
    """Return the page."""
    # No "<" may stand in the data: a "</script>" in some name would end it.
    data = orjson.dumps(_Data(report, entries).document()).decode().replace("<", "\\u003c")
    text = _asset("page.html")
    for place, content in (
        ("title", html.escape(report.history.experiment.title)),
        ("style", _asset("page.css")),
        ("script", "".join(_asset(name) for name in SCRIPTS)),
        ("data", data),
    ):
        text = text.replace(f"{{{{{place}}}}}", content)
    return text


def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


class _Data:
    """What the script draws. Texts that recur stand once, in `words`, and are named by index."""

    def __init__(self, report: Report, entries: Sequence[Noted]) -> None:
        self._report = report
        self._history = report.history
        self._experiment = report.history.experiment
        self._entries = entries
        self._words: dict[str, int] = {}
        self._numbers = {job.workload.key: i for i, job in enumerate(self._experiment.jobs)}
        self._resource = report.dominant.resource if report.dominant else ""
        self._unit = 1000 if self._resource == "cpu" else 1
        queues = self._experiment.cluster_queues
        ordered = sorted(queues.values(), key=lambda queue: (queue.cohort or "", queue.name))
        self._queues = {queue.name: index for index, queue in enumerate(ordered)}

    def document(self) -> dict[str, Any]:
        start_us = self._experiment.start_us
        found = {
            "subtitle": self._subtitle(),
            "figures": self._figures(),
            "resource": words.short_name(self._resource),
            "end": self._history.ended_us - start_us,
            "queues": self._queue_rows(),
            "jobs": self._job_rows(start_us),
            "givenUp": list(self._history.given_up),
            "runs": [self._run(run, start_us) for run in self._history.runs],
            "notes": [
                [
                    noted.job,
                    noted.at_us - start_us,
                    KINDS[noted.kind],
                    self._word(noted.text),
                    NOBODY if noted.victim is None else noted.victim,
                ]
                for noted in self._entries
            ],
        }
        return {**found, "words": list(self._words)}

    def _word(self, text: str) -> int:
        return self._words.setdefault(text, len(self._words))

    def _subtitle(self) -> str:
        jobs, queues = len(self._experiment.jobs), len(self._queues)
        parts = [f"{jobs} jobs", f"{queues} ClusterQueue{'' if queues == 1 else 's'}"]
        if self._report.dominant is not None:
            parts.append(words.amount(self._resource, self._report.dominant.nominal))
        return " · ".join(parts)

    def _figures(self) -> list[tuple[str, str]]:
        report, history, dominant = self._report, self._history, self._report.dominant
        figures = [
            ("makespan", short(report.makespan_us)),
            ("finished", f"{history.finished} of {history.arrived}"),
            ("admissions", str(history.admitted)),
            ("evictions", str(history.evictions)),
            ("half wait within", short(report.waits.p50_us)),
            ("95 % within", short(report.waits.p95_us)),
        ]
        if dominant is not None:
            name = words.short_name(dominant.resource)
            figures.insert(1, (f"{name} quota working", f"{100 * dominant.working_share:.1f} %"))
            figures.insert(2, ("lost to evictions", f"{100 * dominant.redone_share:.1f} %"))
        return figures

    def _queue_rows(self) -> list[list[Any]]:
        nominal = dict.fromkeys(self._queues, 0)
        for owner, pair, amount in self._experiment.nominal():
            if pair.resource == self._resource and owner in nominal:
                nominal[owner] += amount
        return [
            [name, self._experiment.cluster_queues[name].cohort or "", nominal[name] / self._unit]
            for name in self._queues
        ]

    def _job_rows(self, start_us: int) -> list[list[Any]]:
        rows = []
        for job in self._experiment.jobs:
            workload = job.workload
            asked = sum(
                pod_set.count * amount
                for pod_set in workload.pod_sets
                for resource, amount in pod_set.requests
                if resource == self._resource
            )
            named = f"{job.priority_class} ({workload.priority})"
            rows.append(
                [
                    job.name,
                    self._queues.get(self._experiment.queue_of(workload), NOBODY),
                    job.arrives_us - start_us,
                    asked / self._unit,
                    self._word(words.gang(workload)),
                    self._word(named if job.priority_class else str(workload.priority)),
                ]
            )
        return rows

    def _run(self, run: Run, start_us: int) -> list[Any]:
        shown = [grant for grant in run.grants if grant.resource == self._resource]
        preemptor = self._numbers.get(run.preemptor, NOBODY)
        return [
            run.job,
            self._queues[run.cluster_queue],
            run.started_us - start_us,
            run.ended_us - start_us,
            ENDINGS[run.ending],
            sum(grant.amount for grant in shown) / self._unit,
            sum(grant.borrowed for grant in shown) / self._unit,
            self._word(words.given(run.grants) or "nothing that is counted"),
            self._word(run.reason),
            preemptor,
        ]
