"""
What happened, in the order of time, one sentence each: the part of the report a stranger reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster.admission.plan import Admit, Preempt, Wait
from muster.queue.simulation import words
from muster.queue.simulation.decisions import Noted
from muster.queue.simulation.durations import short
from muster.queue.simulation.history import Ending, History, Run


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened to one job."""

    at_us: int
    workload: str
    text: str


def story(history: History, entries: Sequence[Noted]) -> list[Line]:
    """Tell what happened; of one instant, first what ended, then what was decided."""
    teller = _Teller(history)
    ends = [line for run in history.runs for line in _end(history, run)]
    decided = [line for entry in entries for line in teller.told(entry)]
    return sorted([*ends, *decided], key=lambda line: line.at_us)


def _end(history: History, run: Run) -> Iterator[Line]:
    key = history.experiment.jobs[run.job].workload.key
    lasted = short(run.duration_us)
    if run.ending is Ending.FINISHED:
        given = words.grants(run.grants)
        back = f" and gives back {given}" if given else ""
        yield Line(run.ended_us, key, f"is done after {lasted}{back}")
    elif run.ending is Ending.RUNNING:
        yield Line(run.ended_us, key, f"is still running, for {lasted} now")
    elif not run.preemptor:
        yield Line(run.ended_us, key, f"is stopped after {lasted} ({run.reason})")


class _Teller:
    """Puts decisions into words."""

    def __init__(self, history: History) -> None:
        self._workloads = {job.workload.key: job.workload for job in history.experiment.jobs}
        jobs = history.experiment.jobs
        self._lost = {
            (jobs[run.job].workload.key, run.preemptor, run.evicted_us): run.duration_us
            for run in history.runs
            if run.preemptor and run.ending is Ending.EVICTED
        }

    def told(self, noted: Noted) -> Iterator[Line]:
        decision = noted.decision
        workload = self._workloads[decision.workload]
        match decision:
            case Admit():
                text = words.admission(decision, noted.standings, workload)
                yield Line(noted.at_us, decision.workload, text)
            case Preempt():
                for eviction in decision.evictions:
                    text = words.preemption(decision, eviction, noted.standings)
                    victim = eviction.workload, decision.workload, noted.at_us
                    if victim in self._lost:  # unless it was asked to leave before, or just done
                        text += f"; {short(self._lost[victim])} of work is lost"
                    yield Line(noted.at_us, decision.workload, text)
            case Wait():
                text = words.refusal(decision, noted.standings, workload)
                yield Line(noted.at_us, decision.workload, text)
