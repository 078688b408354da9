"""Workloads that people take out of service: deactivated, or in queues that are stopped."""

from dataclasses import dataclass

import pytest

from muster.admission.conditions import (
    DEACTIVATION_TARGET,
    EVICTED,
    QUOTA_RESERVED,
    REQUEUED,
)
from muster.admission.lifecycle import (
    BackoffFinished,
    Deactivated,
    DeactivationRequested,
    Effect,
    Event,
    Evicted,
    Phase,
    Preempted,
    QueueKind,
    QueueMissing,
    QueueRestarted,
    QueueStopped,
    Reactivated,
)
from muster.admission.objects import StopPolicy
from tests.admission.builders import a_status
from tests.admission.life import Life

PREEMPTION = Preempted("InClusterQueue", "make room")


# --- Deactivation --------------------------------------------------------------------------------


def test_a_user_deactivates_a_running_workload() -> None:
    life = Life()
    life.admit(at_s=0)
    life.set_active(False)
    assert life.phase() is Phase.DEACTIVATING
    assert life.deadline() == (0, Deactivated())

    assert life.say(Deactivated(), at_s=5) == (Effect.STOP_JOB,)
    assert life.condition(EVICTED) == (True, "Deactivated", 5)
    assert life.deadline() is None
    assert life.stop(at_s=6) == (Effect.RELEASE_QUOTA,)
    assert life.phase() is Phase.INACTIVE
    assert life.condition(REQUEUED) == (False, "Deactivated", 6)
    assert life.deadline() is None


def test_a_user_deactivates_a_workload_that_backs_off() -> None:
    life = Life()
    life.admit(at_s=0)
    at_s, _ = life.wait()
    life.stop(at_s)
    life.set_active(False)
    assert life.phase() is Phase.INACTIVE
    assert life.deadline() == (0, Deactivated())

    assert life.say(Deactivated(), at_s=2000) == ()
    assert (life.status.requeue_count, life.status.requeue_at_us) == (0, None)
    assert life.deadline() is None

    life.set_active(True)
    assert life.deadline() == (at_s, BackoffFinished())


def test_a_user_deactivates_a_workload_that_waits() -> None:
    life = Life()
    life.set_active(False)

    assert life.say(Deactivated(), at_s=5) == ()
    assert life.condition(EVICTED) == (True, "Deactivated", 5)
    assert life.deadline() is None
    before = life.status
    life.say(Deactivated(), at_s=6)
    assert life.status is before

    life.set_active(True)
    assert life.phase() is Phase.PENDING


@pytest.mark.parametrize(
    "remembered",
    [{"requeue_at_us": 1}, {"requeue_count": 1}, {"requeue_at_us": 1, "requeue_count": 1}],
)
def test_an_inactive_workload_forgets_its_back_off(remembered: dict[str, int]) -> None:
    life = Life(status=a_status({EVICTED: (True, "PodsReadyTimeout", 3)}, **remembered))
    life.set_active(False)

    assert life.deadline() == (0, Deactivated())
    life.wait()
    assert life.status == a_status({EVICTED: (True, "PodsReadyTimeout", 3)})
    assert life.deadline() is None


def test_deactivation_during_an_eviction_keeps_the_reason() -> None:
    life = Life()
    life.admit(at_s=0)
    life.say(DeactivationRequested("EvictedOnManagerCluster"), at_s=1)
    life.say(PREEMPTION, at_s=2)
    life.set_active(False)
    life.say(Deactivated(), at_s=3)

    assert life.condition(EVICTED) == (True, "Preempted", 2)
    assert life.condition(DEACTIVATION_TARGET) is None


@pytest.mark.parametrize("cause", ["", "RequeuingLimitExceeded", "AdmissionCheck"])
def test_whoever_was_deactivated_comes_back_when_reactivated(cause: str) -> None:
    life = Life()
    life.admit(at_s=0)
    if cause:
        life.say(DeactivationRequested(cause), at_s=1)
    life.set_active(False)
    life.say(Deactivated(), at_s=2)
    life.stop(at_s=3)
    life.set_active(True)

    assert life.phase() is Phase.BACKING_OFF
    assert life.deadline() == (3, Reactivated())
    assert life.say(Reactivated(), at_s=9) == (Effect.REQUEUE,)
    assert life.condition(REQUEUED) == (True, "Reactivated", 9)


def test_reactivation_before_the_job_stopped_is_made_good_afterwards() -> None:
    life = Life()
    life.admit(at_s=0)
    life.set_active(False)
    life.say(Deactivated(), at_s=1)
    life.set_active(True)
    life.say(Reactivated(), at_s=2)
    life.stop(at_s=3)

    assert life.wait() == (3, (Effect.REQUEUE,))


def test_reactivation_does_not_shorten_another_wait() -> None:
    life = Life()
    life.admit(at_s=0)
    life.say(Evicted("ClusterQueueStopped"), at_s=1)
    life.stop(at_s=2)
    before = life.status
    life.say(Reactivated(), at_s=3)

    assert life.status is before
    assert life.phase() is Phase.BACKING_OFF


# --- Queues that stop ----------------------------------------------------------------------------

HOLD, DRAIN = StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN


@dataclass(frozen=True, kw_only=True)
class StopCase:
    name: str
    phase: Phase
    event: Event
    effects: tuple[Effect, ...] = ()
    then: Phase
    reason: str | None = None
    """Of QuotaReserved, when False."""


def in_phase(wanted: Phase) -> Life:
    life = Life()
    if wanted is not Phase.PENDING:
        life.admit(0, *(("check",) if wanted is Phase.RESERVED else ()))
    assert life.phase() is wanted
    return life


STOPS = [
    StopCase(
        name=f"{phase} under {kind} {policy}",
        phase=phase,
        event=QueueStopped(kind, "q", policy),
        effects=effects,
        then=then,
        reason=reason,
    )
    for kind in QueueKind
    for phase, policy, effects, then, reason in [
        (Phase.PENDING, HOLD, (), Phase.PENDING, "Suspended"),
        (Phase.PENDING, DRAIN, (), Phase.PENDING, "Suspended"),
        (
            Phase.RESERVED,
            HOLD,
            (Effect.RELEASE_QUOTA, Effect.REQUEUE),
            Phase.PENDING,
            "Suspended",
        ),
        (
            Phase.RESERVED,
            DRAIN,
            (Effect.RELEASE_QUOTA, Effect.REQUEUE),
            Phase.PENDING,
            "Suspended",
        ),
        (Phase.ADMITTED, HOLD, (), Phase.ADMITTED, None),
        (Phase.ADMITTED, DRAIN, (Effect.STOP_JOB,), Phase.EVICTING, None),
    ]
] + [
    StopCase(
        name=f"{phase} without {kind}",
        phase=phase,
        event=QueueMissing(kind, "q"),
        effects=effects,
        then=then,
        reason=reason,
    )
    for kind in QueueKind
    for phase, effects, then, reason in [
        (Phase.PENDING, (), Phase.PENDING, "Misconfigured"),
        (Phase.RESERVED, (Effect.RELEASE_QUOTA, Effect.REQUEUE), Phase.PENDING, "Misconfigured"),
        (Phase.ADMITTED, (), Phase.ADMITTED, None),
    ]
]


@pytest.mark.parametrize("case", STOPS, ids=lambda case: case.name)
def test_a_queue_stops(case: StopCase) -> None:
    life = in_phase(case.phase)

    assert life.say(case.event, at_s=5) == case.effects

    assert life.phase() is case.then
    if case.reason is not None:
        quota = life.condition(QUOTA_RESERVED)
        assert quota == (False, case.reason, 5)
        assert life.status.admission is None


@pytest.mark.parametrize("kind", QueueKind)
def test_who_was_drained_waits_for_that_queue_to_run(kind: QueueKind) -> None:
    (other,) = (k for k in QueueKind if k is not kind)
    life = in_phase(Phase.ADMITTED)
    life.say(QueueStopped(kind, "q", DRAIN), at_s=1)
    assert life.condition(EVICTED) == (True, f"{kind}Stopped", 1)
    life.say(QueueRestarted(kind), at_s=2)
    life.stop(at_s=3)
    assert life.condition(REQUEUED) == (False, f"{kind}Stopped", 3)
    assert life.deadline() is None

    assert life.say(QueueRestarted(other), at_s=4) == ()
    assert life.say(QueueRestarted(kind), at_s=5) == (Effect.REQUEUE,)
    assert life.condition(REQUEUED) == (True, f"{kind}Restarted", 5)


def test_a_restart_does_not_shorten_a_back_off() -> None:
    life = Life()
    life.admit(at_s=0)
    life.wait()
    life.stop(at_s=1800)
    life.say(QueueRestarted(QueueKind.CLUSTER_QUEUE), at_s=1801)

    assert life.phase() is Phase.BACKING_OFF
