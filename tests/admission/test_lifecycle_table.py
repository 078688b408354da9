"""The life cycle as a whole: one look at every row of the table and at what rows together allow."""

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from muster.admission.conditions import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    REQUEUED,
)
from muster.admission.config import Config, PodsReadyPolicy
from muster.admission.lifecycle import (
    EFFECTS,
    HOLDS_QUOTA,
    TRANSITIONS,
    BackoffFinished,
    CheckChanged,
    ChecksRequired,
    Deactivated,
    DeactivationRequested,
    Effect,
    Event,
    Evicted,
    ExecutionTimeExceeded,
    JobFinished,
    JobStopped,
    Phase,
    PodsReadyChanged,
    PodsReadyTimedOut,
    PodsReclaimed,
    Preempted,
    QueueKind,
    QueueMissing,
    QueueRestarted,
    QueueStopped,
    QuotaReserved,
    Reactivated,
    Refused,
    phase,
    step,
)
from muster.admission.objects import CheckState, Status, StopPolicy, Workload
from tests.admission.builders import SECOND_US, a_check, a_workload, an_admission

Row = tuple[Phase, type[Event], Phase]

DECLARED: list[Row] = [
    (before, event, after)
    for (before, event), move in TRANSITIONS.items()
    for after in move.leads_to
]


def releasing() -> Iterator[tuple[Phase, type[Event]]]:
    for before, event, after in DECLARED:
        if Effect.RELEASE_QUOTA in EFFECTS[before, after]:
            yield before, event


def test_quota_is_released_when_no_pod_can_be_left() -> None:
    """The job stopped or finished, or had not been started when its queue went away."""
    assert set(releasing()) == {
        (Phase.EVICTING, JobStopped),
        *((held, JobFinished) for held in HOLDS_QUOTA),
        (Phase.RESERVED, QueueStopped),
        (Phase.RESERVED, QueueMissing),
    }


def test_an_eviction_only_ever_begins_by_stopping_the_job() -> None:
    begun = {
        EFFECTS[before, after]
        for before, _, after in DECLARED
        if after is Phase.EVICTING is not before
    }

    assert begun == {(Effect.STOP_JOB,)}


def test_jobs_start_and_workloads_queue_again_on_arrival_only() -> None:
    for before, after in EFFECTS:
        effects = EFFECTS[before, after]
        arrived = before is not after
        assert (Effect.START_JOB in effects) == (arrived and after is Phase.ADMITTED)
        assert (Effect.REQUEUE in effects) == (arrived and after is Phase.PENDING)
        assert (Effect.DEACTIVATE in effects) == (arrived and after is Phase.DEACTIVATING)


def test_every_event_is_legal_somewhere_and_none_after_the_end() -> None:
    assert {event for _, event in TRANSITIONS} == set(get_args(Event))
    assert Phase.FINISHED not in {before for before, _ in TRANSITIONS}


def test_every_life_can_reach_every_phase_and_always_the_end() -> None:
    reached = {Phase.PENDING}
    while more := {after for before, _, after in DECLARED if before in reached} - reached:
        reached |= more
    assert reached == set(Phase)

    ending = {Phase.FINISHED}
    while more := {before for before, _, after in DECLARED if after in ending} - ending:
        ending |= more
    assert ending == set(Phase)


# --- The table against what really happens -------------------------------------------------------

CONFIG = Config(pods_ready=PodsReadyPolicy(backoff_limit=1))

EVENTS: list[Event] = [
    QuotaReserved(an_admission()),
    QuotaReserved(an_admission(), ("check",)),
    Refused("WaitingForQuota"),
    *(CheckChanged(a_check(state=state, requeue_after_s=60)) for state in CheckState),
    ChecksRequired(()),
    ChecksRequired(("check",)),
    Preempted("InClusterQueue"),
    Evicted("NodeFailures"),
    JobStopped(),
    JobStopped(replaceable=False),
    JobFinished(),
    PodsReadyChanged(ready=True),
    PodsReadyChanged(ready=False),
    PodsReclaimed({"main": 1}),
    PodsReadyTimedOut(),
    ExecutionTimeExceeded(),
    BackoffFinished(),
    DeactivationRequested("EvictedOnManagerCluster"),
    Deactivated(),
    Reactivated(),
    *(
        QueueStopped(kind, "q", policy)
        for kind in QueueKind
        for policy in (StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN)
    ),
    *(QueueMissing(kind, "q") for kind in QueueKind),
    *(QueueRestarted(kind) for kind in QueueKind),
]


def what_matters(workload: Workload, status: Status) -> tuple[object, ...]:
    """What decides how a life goes on: not times, messages and past counts."""
    conditions = status.conditions
    return (
        workload.active,
        *(status.is_true(name) for name in (QUOTA_RESERVED, ADMITTED, FINISHED)),
        DEACTIVATION_TARGET in conditions,
        conditions[EVICTED].reason if status.is_true(EVICTED) else None,
        conditions[REQUEUED].reason if status.is_false(REQUEUED) else None,
        tuple(check.state for check in status.checks),
        status.requeue_at_us is not None,
        status.requeue_count > 0,
    )


def next_lives(workload: Workload, status: Status) -> Iterator[tuple[Row, Status]]:
    before = phase(workload, status)
    for event in EVENTS:
        if (before, type(event)) in TRANSITIONS:
            after, _ = step(workload, status, event, now_us=SECOND_US, config=CONFIG)
            yield (before, type(event), phase(workload, after)), after


def test_the_table_promises_exactly_what_can_happen() -> None:
    """Live every life that differs in what matters, users switching `spec.active` included."""
    happened: set[Row] = set()
    known: set[tuple[object, ...]] = set()
    unlived = [(a_workload(), Status())]
    while unlived:
        workload, status = unlived.pop()
        if what_matters(workload, status) in known:
            continue
        known.add(what_matters(workload, status))
        unlived.append((replace(workload, active=not workload.active), status))
        for row, after in next_lives(workload, status):
            happened.add(row)
            unlived.append((workload, after))

    assert happened == set(DECLARED)
