"""
Run an experiment: jobs arrive, are decided about, start, finish, are evicted and come back.

The engine is asked whenever something has happened, and time stands still meanwhile; with
`charge_engine_time` the measured time of every decision passes on the virtual clock instead, as it
would in a cluster. Everything a Workload goes through is a step of `lifecycle`; the runner only
plays the job behind it. Unless engine time is charged, the same experiment always gives the same
history.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from muster.admission import events, lifecycle, objects
from muster.admission.conditions import EVICTED, PODS_READY
from muster.admission.config import Config
from muster.admission.cycle import decide
from muster.admission.errors import InvariantError
from muster.admission.lifecycle import Effect, Phase
from muster.admission.plan import Admit, CyclePlan, Grant, Preempt
from muster.admission.state import State
from muster.queue.simulation.clock import Clock
from muster.queue.simulation.experiment import Experiment, SimulatedJob
from muster.queue.simulation.history import Ending, History, Run

DECISIONS_PER_JOB_MAX: Final = 100
"""Decisions in a row, per job, that may go by without anything happening: more is a livelock."""

EVICTIONS_PER_JOB_MAX: Final = 1_000
"""How often one job may make room for others: more is jobs that evict each other for ever."""

US_PER_S: Final = 1_000_000


class EndlessPreemptionError(Exception):
    """The policies of queues let jobs evict each other without end; the message names two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run an experiment."""

    charge_engine_time: bool = False
    grace_us: int = 0
    """How long an evicted job holds its quota until it has stopped."""
    rounds_max: int | None = None
    until_us: int | None = None
    """Stop at this instant, whatever still runs or waits."""


@dataclass(slots=True, eq=False)
class _Job:
    """A job under way."""

    index: int
    spec: SimulatedJob
    workload: objects.Workload
    run: Run | None = None
    preempted: int = 0


Observer = Callable[[int, CyclePlan, State], None]
"""Told of every plan, with the instant it took effect and the state after it, only to be read."""


HEADS_MAX = 100
"""Heads looked at before what was decided is carried out: jobs start while the rest is decided."""


class Runner:
    """One simulation. `history` grows while it runs."""

    def __init__(
        self,
        experiment: Experiment,
        options: Options = Options(),
        *,
        observe: Observer | None = None,
        # CPU time: the engine waits for nothing, and what neighbours take is not its own.
        stopwatch_ns: Callable[[], int] = time.process_time_ns,
    ) -> None:
        self.history = History(experiment=experiment)
        self._options = options
        self._observe = observe
        self._stopwatch_ns = stopwatch_ns
        self._owed_ns = 0
        """Engine time measured but too short to have moved the clock."""
        self._latest_us = experiment.start_us
        """When a job last came or went."""
        self._config = _effective(experiment)
        self._state = State(self._config)
        self._clock = Clock(experiment.start_us)
        self._jobs: dict[str, _Job] = {}
        for event in experiment.setup:
            self._state.apply(event, experiment.start_us)
        for index, spec in enumerate(experiment.jobs):
            job = self._jobs[spec.workload.key] = _Job(index, spec, spec.workload)
            self._clock.plan(spec.arrives_us, self._arrive, job)

    def run(self) -> History:
        """Run to the end, or to the given instant; raises EndlessPreemptionError."""
        clock, until_us = self._clock, self._options.until_us
        end_us: int | None = None
        undecided = False
        idle_decisions = 0
        limit = DECISIONS_PER_JOB_MAX * (1 + len(self._jobs))
        while until_us is None or clock.now_us <= until_us:
            if clock.run_due():
                undecided, idle_decisions = True, 0
            elif undecided:
                undecided = self._decide()
                idle_decisions += 1
                if idle_decisions > limit:
                    raise InvariantError(
                        f"after {idle_decisions} decisions at {clock.now_us} us the engine still "
                        f"asks for another"
                    )
            else:
                next_us = self._next_us()
                if next_us is None:
                    break
                if until_us is not None and next_us > until_us:
                    end_us = until_us
                    break
                clock.advance(next_us)
                if next_us != clock.next_us:
                    self._state.apply(events.TimePassed(), next_us)
                    undecided = True
        else:
            end_us = until_us
        self._close(self._latest_us if end_us is None else end_us)
        return self.history

    def _next_us(self) -> int | None:
        """Return the next instant at which something happens, or the engine wants to be asked."""
        planned_us, alarm_us = self._clock.next_us, self._state.next_alarm_us
        if planned_us is None or alarm_us is None or planned_us <= alarm_us:
            return planned_us
        return max(alarm_us, self._clock.now_us)

    # --- Deciding --------------------------------------------------------------------------------

    def _decide(self) -> bool:
        """Decide once and carry the plan out; say whether there is more to decide."""
        state, clock, watch = self._state, self._clock, self._stopwatch_ns
        started_ns = watch()
        plan = decide(state, clock.now_us, rounds_max=self._options.rounds_max, heads_max=HEADS_MAX)
        decided_ns = watch()
        self._charge(decided_ns - started_ns)
        state.apply(events.PlanAccepted(plan), clock.now_us)
        self._charge(watch() - decided_ns)
        self.history.cycles += 1
        self.history.rounds += plan.rounds
        for decision in plan.decisions:
            match decision:
                case Admit():
                    self._admit(self._jobs[decision.workload], decision.grants)
                case Preempt():
                    self._preempt(decision)
                case _:
                    pass
        if self._observe is not None:
            self._observe(clock.now_us, plan, state)
        return not plan.exhausted

    def _charge(self, spent_ns: int) -> None:
        self.history.engine_ns += spent_ns
        if self._options.charge_engine_time:
            spent_us, self._owed_ns = divmod(self._owed_ns + spent_ns, 1_000)
            self._clock.advance(self._clock.now_us + spent_us)

    def _admit(self, job: _Job, grants: tuple[Grant, ...]) -> None:
        self.history.admitted += 1
        self._occupy(job, grants)

    def _preempt(self, preempt: Preempt) -> None:
        for eviction in preempt.evictions:
            if not eviction.already_asked and eviction.ends_by_us is None:
                self._stop_later(self._jobs[eviction.workload], eviction.reason, preempt.workload)

    # --- The job behind a Workload ---------------------------------------------------------------

    def _arrive(self, job: _Job) -> None:
        self.history.arrived += 1
        self._latest_us = self._clock.now_us
        self._state.apply(events.WorkloadSeen(job.workload, job.spec.status), self._clock.now_us)
        admission = job.spec.status.admission
        if admission is None:
            self._watch_deadline(job)
            return
        self._occupy(job, _grants(admission))
        if lifecycle.phase(job.workload, job.spec.status) is Phase.EVICTING:
            self._stop_later(job, job.spec.status.conditions[EVICTED].reason)

    def _occupy(self, job: _Job, grants: tuple[Grant, ...]) -> None:
        """Let a job run on the quota it has been given."""
        clock, spec, status = self._clock, job.spec, self._status(job)
        admission = status.admission
        assert admission is not None
        run = job.run = Run(job.index, admission.cluster_queue, clock.now_us, grants)
        self.history.runs.append(run)
        # No other controller lives here to give a second opinion: checks pass at once.
        for check in status.checks:
            ready = replace(check, state=objects.CheckState.READY, since_us=clock.now_us)
            self._step(job, lifecycle.CheckChanged(ready))
        if self._config.pods_ready is not None and not status.is_true(PODS_READY):
            self._step(job, lifecycle.PodsReadyChanged(ready=False))
            clock.plan(clock.now_us + spec.ready_after_us, self._ready, job, run)
        takes_us = spec.ready_after_us + _run_time_us(spec, admission)
        clock.plan(clock.now_us + takes_us, self._finish, job, run)
        self._watch_deadline(job)

    def _ready(self, job: _Job, run: Run) -> None:
        if job.run is run:
            self._step(job, lifecycle.PodsReadyChanged(ready=True))

    def _finish(self, job: _Job, run: Run) -> None:
        if job.run is not run:
            return  # it was evicted before it got here
        self._step(job, lifecycle.JobFinished())
        self._end_run(job, Ending.FINISHED)
        self.history.finished += 1
        # As in a cluster that deletes finished Workloads at once: they are of no further interest.
        self._state.apply(events.WorkloadGone(job.workload.key), self._clock.now_us)

    def _stop_later(self, job: _Job, reason: str, preemptor: str = "") -> None:
        """Let the job of a Workload that was evicted stop after its grace period."""
        run, now_us = job.run, self._clock.now_us
        assert run is not None
        run.reason, run.preemptor, run.evicted_us = reason, preemptor, now_us
        self._clock.plan(now_us + self._options.grace_us, self._stop, job, run)

    def _stop(self, job: _Job, run: Run) -> None:
        if job.run is not run:
            return  # it finished while it was asked to leave
        self._end_run(job, Ending.EVICTED)
        self.history.evictions += 1
        if run.preemptor:
            self._count_preemption(job, run)
        self._step(job, lifecycle.JobStopped())
        self._watch_deadline(job)

    def _count_preemption(self, job: _Job, run: Run) -> None:
        job.preempted += 1
        if job.preempted > EVICTIONS_PER_JOB_MAX:
            raise EndlessPreemptionError(
                f"{job.workload.key} was evicted {job.preempted} times, lastly for "
                f"{run.preemptor}: with these policies of their queues they evict each other "
                "without end. Stop earlier (--until), or let one of the queues preempt less"
            )

    def _end_run(self, job: _Job, ending: Ending) -> None:
        run = job.run
        assert run is not None
        run.ended_us, run.ending = self._clock.now_us, ending
        self._latest_us = self._clock.now_us
        job.run = None

    def _close(self, now_us: int) -> None:
        for job in self._jobs.values():
            if job.run is not None:
                job.run.ended_us = now_us
        self.history.ended_us = now_us

    # --- The life cycle --------------------------------------------------------------------------

    def _status(self, job: _Job) -> objects.Status:
        return self._state.items[job.workload.key].status

    def _step(self, job: _Job, event: lifecycle.Event) -> None:
        """Take one step, tell the state, and bring about what follows."""
        now_us = self._clock.now_us
        status, effects = lifecycle.step(
            job.workload, self._status(job), event, now_us=now_us, config=self._config
        )
        if Effect.DEACTIVATE in effects:
            job.workload = replace(job.workload, active=False)
            self.history.given_up[job.index] = None
            status, effects = lifecycle.step(
                job.workload, status, lifecycle.Deactivated(), now_us=now_us, config=self._config
            )
        # A deactivated Workload keeps its quota until its pods are gone, as any evicted one does:
        # to the state it is active as long as its job runs.
        workload = job.workload if job.run is None else job.spec.workload
        self._state.apply(events.WorkloadSeen(workload, status), now_us)
        if Effect.STOP_JOB in effects:
            self._stop_later(job, status.conditions[EVICTED].reason)

    def _watch_deadline(self, job: _Job) -> None:
        """Have the life cycle's next deadline of the job looked at when it comes."""
        deadline = lifecycle.next_deadline(job.workload, self._status(job), self._config)
        if deadline is not None:
            self._clock.plan(deadline[0], self._meet_deadline, job)

    def _meet_deadline(self, job: _Job) -> None:
        if job.workload.key not in self._state.items:
            return
        status = self._status(job)
        deadline = lifecycle.next_deadline(job.workload, status, self._config)
        if deadline is None:
            return
        at_us, event = deadline
        if at_us > self._clock.now_us:
            self._clock.plan(at_us, self._meet_deadline, job)
            return
        self._step(job, event)


def _run_time_us(spec: SimulatedJob, admission: objects.Admission) -> int:
    """Return how long the job takes: the longer, the fewer of its pods were admitted."""
    asked = sum(pod_set.count for pod_set in spec.workload.pod_sets)
    admitted = sum(assigned.count for assigned in admission.pod_sets)
    if admitted >= asked or admitted == 0:
        return spec.runs_for_us
    return -(-spec.runs_for_us * asked // admitted)


def _grants(admission: objects.Admission) -> tuple[Grant, ...]:
    """Return what a job that arrives running was given; how much was borrowed is not recorded."""
    amounts: dict[tuple[str, str], int] = {}
    for assigned in admission.pod_sets:
        for resource, amount in assigned.usage.items():
            key = assigned.flavors[resource], resource
            amounts[key] = amounts.get(key, 0) + amount
    return tuple(
        Grant(flavor=flavor, resource=resource, amount=amount)
        for (flavor, resource), amount in amounts.items()
    )


def _effective(experiment: Experiment) -> Config:
    """Leave out the time-out of pods where no pod can be late: it could never come."""
    if any(job.ready_after_us for job in experiment.jobs):
        return experiment.config
    return replace(experiment.config, pods_ready=None)
