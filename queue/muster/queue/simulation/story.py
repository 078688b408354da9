"""What happened, in the order of time, a sentence each: the part of a report a stranger reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from muster.admission.plan import Wait
from muster.queue.simulation import words
from muster.queue.simulation.decisions import Noted
from muster.queue.simulation.durations import short
from muster.queue.simulation.history import Ending, History, Run


class Line(NamedTuple):
    """Something that happened to a job."""

    at_us: int
    job: int
    text: str


def story(history: History, entries: Sequence[Noted]) -> list[Line]:
    """Tell what happened; of one instant, first what ended, then what was decided."""
    ends = [line for run in history.runs for line in _end(run)]
    return sorted([*ends, *_decided(history, entries)], key=lambda line: line.at_us)


def _end(run: Run) -> Iterator[Line]:
    lasted = short(run.duration_us)
    if run.ending is Ending.FINISHED:
        back = words.given(run.grants)
        text = f"is done after {lasted}{f', gives back {back}' if back else ''}"
        yield Line(run.ended_us, run.job, text)
    elif run.ending is Ending.RUNNING:
        yield Line(run.ended_us, run.job, f"is still running, for {lasted} now")
    elif not run.preemptor:
        yield Line(run.ended_us, run.job, f"is stopped after {lasted}: {run.reason}")


def _decided(history: History, entries: Sequence[Noted]) -> Iterator[Line]:
    lost = {
        (run.job, run.evicted_us): run.duration_us
        for run in history.runs
        if run.preemptor and run.ending is Ending.EVICTED
    }
    told: dict[int, None] = {}
    for noted in entries:
        if noted.kind is Wait:
            # One refusal for each stretch of waiting: later ones differ in figures only.
            if noted.job in told:
                continue
            told[noted.job] = None
        else:
            told.pop(noted.job, None)
        text = noted.text
        if noted.victim is not None:
            told.pop(noted.victim, None)
            if (lost_us := lost.get((noted.victim, noted.at_us))) is not None:
                text += f"; {short(lost_us)} of its work is lost"
        yield Line(noted.at_us, noted.job, text)
