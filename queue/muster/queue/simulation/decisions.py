"""
What was decided about each job, in words: the memory behind every story.

A `DecisionLog` observes a `Runner`. It keeps every admission and preemption, and of every stretch
of waiting the first refusal and the latest: what is in between differs in figures only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from muster.admission.amounts import FlavorResource
from muster.admission.explain import View
from muster.admission.plan import Admit, CyclePlan, Eviction, Preempt, Wait
from muster.admission.queries import Use, users_of
from muster.admission.state import State
from muster.queue.simulation import words
from muster.queue.simulation.experiment import Experiment

CROWD: Final = 64
"""Running jobs from which on nobody is named as holding what another one waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """One sentence about one job."""

    at_us: int
    job: int
    """Index into `Experiment.jobs`."""
    kind: type[Admit | Preempt | Wait]
    text: str
    victim: int | None = None
    """Whom it preempts."""


class _Refusals(NamedTuple):
    """Where the first and the latest refusal of a waiting job stand among the entries."""

    first: int
    latest: int


class DecisionLog:
    """Call it with every plan; `entries` has what is worth telling, in the order of time."""

    def __init__(self, experiment: Experiment) -> None:
        self._jobs = {job.workload.key: index for index, job in enumerate(experiment.jobs)}
        self._experiment = experiment
        self._entries: list[Noted | None] = []
        self._refusals: dict[str, _Refusals] = {}
        self._awaited: dict[tuple[str, str], None] = {}
        """(preemptor, victim) where the victim was left to finish."""
        self._running = 0

    @property
    def entries(self) -> tuple[Noted, ...]:
        return tuple(entry for entry in self._entries if entry is not None)

    def __call__(self, at_us: int, plan: CyclePlan, state: State) -> None:
        view = self._view(state)
        for decision in plan.decisions:
            job = self._jobs[decision.workload]
            match decision:
                case Admit():
                    self._refusals.pop(decision.workload, None)
                    workload = self._experiment.jobs[job].workload
                    text = words.admission(decision, workload, state)
                    self._entries.append(Noted(at_us=at_us, job=job, kind=Admit, text=text))
                case Preempt():
                    self._entries += self._preempted(at_us, job, decision, view)
                case Wait():
                    self._refused(at_us, job, decision, view)

    def _preempted(self, at_us: int, job: int, preempt: Preempt, view: View) -> Iterator[Noted]:
        for eviction in preempt.evictions:
            if self._is_news(preempt, eviction):
                yield Noted(
                    at_us=at_us,
                    job=job,
                    kind=Preempt,
                    text=words.preemption(preempt, eviction, view, at_us),
                    victim=self._jobs[eviction.workload] if eviction.ends_by_us is None else None,
                )

    def _is_news(self, preempt: Preempt, eviction: Eviction) -> bool:
        """Whether a victim is asked to leave, or left to finish, for the first time."""
        if eviction.ends_by_us is None:
            return not eviction.already_asked
        pair = preempt.workload, eviction.workload
        known = pair in self._awaited
        self._awaited[pair] = None
        return not known

    def _refused(self, at_us: int, job: int, wait: Wait, view: View) -> None:
        here = len(self._entries)
        known = self._refusals.get(wait.workload)
        if known is None:
            self._refusals[wait.workload] = _Refusals(here, here)
        else:
            if known.latest != known.first:
                self._entries[known.latest] = None
            self._refusals[wait.workload] = known._replace(latest=here)
        text = words.refusal(wait, view)
        self._entries.append(Noted(at_us=at_us, job=job, kind=Wait, text=text))

    def _view(self, state: State) -> View:
        crowded = sum(len(queue.holders) for queue in state.queues.values()) > CROWD
        known: dict[tuple[str, FlavorResource], Sequence[Use]] = {}

        def users(cluster_queue: str, pair: FlavorResource) -> Sequence[Use]:
            if crowded:
                return ()
            key = cluster_queue, pair
            if key not in known:
                known[key] = users_of(state, cluster_queue, pair)
            return known[key]

        return View(users_of=users, name_of=self._name_of)

    def _name_of(self, key: str) -> str:
        return self._experiment.jobs[self._jobs[key]].name
