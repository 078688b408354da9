"""Lives of Workloads from the queue to the end: their status, and what has to be done."""

import pytest

from muster.admission.conditions import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    FINISHED,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
)
from muster.admission.config import Config, Gates
from muster.admission.errors import IllegalTransition
from muster.admission.lifecycle import (
    Deactivated,
    Effect,
    Evicted,
    JobFinished,
    JobStopped,
    Phase,
    PodsReclaimed,
    Preempted,
    QueueKind,
    QueueStopped,
    Refused,
    queue_timestamp_us,
)
from muster.admission.objects import EvictionCount, StopPolicy
from muster.admission.reservation import release
from tests.admission.builders import SECOND_US, a_status, an_admission
from tests.admission.life import Life

PREEMPTION = Preempted("InClusterQueue", "make room")
COARSE = Config(gates=Gates(unadmitted_workloads_observability=False))


# --- From the queue to the end -------------------------------------------------------------------


def test_a_workload_without_checks_is_admitted_as_it_is_reserved() -> None:
    life = Life()

    assert life.admit(at_s=5) == (Effect.START_JOB,)

    assert life.phase() is Phase.ADMITTED
    assert life.status.admission == an_admission()
    assert life.condition(QUOTA_RESERVED) == (True, "QuotaReserved", 5)
    assert life.condition(ADMITTED) == (True, "Admitted", 5)


def test_what_a_workload_waits_for_may_change_without_a_new_transition() -> None:
    life = Life()
    life.say(Refused("WaitingForQuota", "1 CPU short"), at_s=1)
    life.say(Refused("ExceedsMaxQuota", "too large"), at_s=9)

    assert life.phase() is Phase.PENDING
    assert life.condition(QUOTA_RESERVED) == (False, "ExceedsMaxQuota", 1)
    assert life.status.conditions[QUOTA_RESERVED].message == "too large"
    assert life.condition(ADMITTED) == (False, "NoReservation", 1)


def test_being_refused_again_for_the_same_is_nothing_to_write() -> None:
    life = Life()
    life.say(Refused("WaitingForQuota", "1 CPU short"), at_s=1)
    before = life.status
    life.say(Refused("WaitingForQuota", "1 CPU short"), at_s=2)

    assert life.status is before


def test_an_admission_without_a_reservation_goes_with_the_next_refusal() -> None:
    refused = {QUOTA_RESERVED: (False, "WaitingForQuota", 1), ADMITTED: (True, "Admitted", 1)}
    life = Life(status=a_status(refused, admission=an_admission()))

    life.say(Refused("WaitingForQuota"), at_s=2)

    assert life.status.admission is None
    assert life.condition(ADMITTED) == (False, "NoReservation", 2)


def test_reasons_collapse_where_they_are_not_to_be_observed() -> None:
    life = Life(config=COARSE)
    life.say(Refused("WaitingForQuota"), at_s=1)
    assert life.condition(QUOTA_RESERVED) == (False, "Pending", 1)

    life.say(QueueStopped(QueueKind.CLUSTER_QUEUE, "cq", StopPolicy.HOLD), at_s=2)
    assert life.condition(QUOTA_RESERVED) == (False, "Inadmissible", 1)

    life.admit(at_s=3)
    life.say(PREEMPTION, at_s=4)
    life.stop(at_s=5)
    assert life.condition(QUOTA_RESERVED) == (False, "Pending", 5)


@pytest.mark.parametrize(
    "event, reason",
    [
        (JobFinished(), "Succeeded"),
        (JobFinished(success=False), "Failed"),
        (JobFinished(success=False, reason="OwnerNotFound"), "OwnerNotFound"),
    ],
)
def test_the_end_releases_the_quota(event: JobFinished, reason: str) -> None:
    life = Life()
    life.admit(at_s=0)

    assert life.say(event, at_s=9) == (Effect.RELEASE_QUOTA,)

    assert life.phase() is Phase.FINISHED
    assert life.condition(FINISHED) == (True, reason, 9)
    assert life.deadline() is None


def test_a_job_that_finished_while_it_waited_releases_nothing() -> None:
    assert Life().say(JobFinished(), at_s=9) == ()


def test_pods_that_are_done_are_noted_once() -> None:
    life = Life()
    life.admit(at_s=0)
    life.say(PodsReclaimed({"main": 2}), at_s=1)
    before = life.status
    life.say(PodsReclaimed({"main": 2}), at_s=2)

    assert life.status is before
    assert life.status.reclaimable == {"main": 2}


# --- Eviction ------------------------------------------------------------------------------------


def test_a_victim_holds_its_quota_until_its_job_has_stopped() -> None:
    life = Life()
    life.admit(at_s=0)

    assert life.say(PREEMPTION, at_s=10) == (Effect.STOP_JOB,)
    assert life.phase() is Phase.EVICTING
    assert life.holds_quota()
    assert life.condition(QUOTA_RESERVED) == (True, "QuotaReserved", 0)
    assert life.condition(EVICTED) == (True, "Preempted", 10)
    assert life.condition(PREEMPTED) == (True, "InClusterQueue", 10)

    assert life.stop(at_s=13) == (Effect.RELEASE_QUOTA, Effect.REQUEUE)
    assert life.phase() is Phase.PENDING
    assert not life.holds_quota()
    assert life.condition(QUOTA_RESERVED) == (False, "PendingEvaluation", 13)
    assert life.condition(ADMITTED) == (False, "NoReservation", 13)
    assert life.condition(REQUEUED) == (True, "Preempted", 13)
    assert life.condition(EVICTED) == (True, "Preempted", 10)
    assert life.status.past_execution_s == 13


def test_a_new_reservation_puts_the_eviction_behind() -> None:
    gates_closed = {BLOCKED_ON_PREEMPTION_GATES: (True, "PreemptionGated", 0)}
    life = Life(status=a_status(gates_closed))
    life.admit(at_s=0)
    assert life.condition(BLOCKED_ON_PREEMPTION_GATES) == (False, "QuotaReserved", 0)
    life.say(PREEMPTION, at_s=1)
    life.stop(at_s=2)
    life.admit(at_s=3)

    for name in (EVICTED, PREEMPTED):
        assert life.condition(name) == (False, "QuotaReserved", 3)
        assert life.status.conditions[name].message == "Previously: make room"
    assert life.phase() is Phase.ADMITTED


def test_an_eviction_ends_the_wait_for_preemption_gates() -> None:
    conditions = {
        QUOTA_RESERVED: (True, "QuotaReserved", 0),
        BLOCKED_ON_PREEMPTION_GATES: (True, "PreemptionGated", 0),
    }
    life = Life(status=a_status(conditions, admission=an_admission()))
    life.say(PREEMPTION, at_s=4)

    assert life.condition(BLOCKED_ON_PREEMPTION_GATES) == (False, "Preempted", 4)


def test_an_evicted_workload_is_not_evicted_again() -> None:
    life = Life()
    life.admit(at_s=0)
    life.say(PREEMPTION, at_s=1)
    before = life.status
    life.say(Preempted("InCohortReclamation"), at_s=2)
    life.say(Evicted("ClusterQueueStopped"), at_s=2)

    assert life.status is before


@pytest.mark.parametrize(
    "reason, requeued",
    [
        ("Preempted", True),
        ("NodeFailures", True),
        ("FlavorMigration", False),
        ("ClusterQueueStopped", False),
        ("LocalQueueStopped", False),
        ("PodsReadyTimeout", False),
        ("AdmissionCheck", False),
    ],
)
def test_only_the_innocent_queue_again_at_once(reason: str, requeued: bool) -> None:
    life = Life()
    life.admit(at_s=0)
    life.say(Evicted(reason), at_s=1)
    effects = life.stop(at_s=2)

    assert life.condition(REQUEUED) == (requeued, reason, 2)
    assert (Effect.REQUEUE in effects) is requeued
    assert Effect.RELEASE_QUOTA in effects
    assert life.phase() is (Phase.PENDING if requeued else Phase.BACKING_OFF)


def test_a_bare_pod_does_not_queue_again() -> None:
    life = Life()
    life.admit(at_s=0)
    life.say(PREEMPTION, at_s=1)

    assert life.say(JobStopped(replaceable=False), at_s=2) == (Effect.RELEASE_QUOTA,)
    assert life.condition(REQUEUED) == (False, "Preempted", 2)


def test_evictions_are_counted_by_reason_and_cause() -> None:
    life = Life()
    for reason, cause in [("Preempted", ""), ("NodeFailures", ""), ("Preempted", "")]:
        life.admit(at_s=0)
        life.say(Evicted(reason, cause=cause), at_s=1)
        life.stop(at_s=2)
    life.admit(at_s=3)
    life.set_active(False)
    life.say(Deactivated(), at_s=4)

    assert life.status.evictions == (
        EvictionCount("Preempted", "", 2),
        EvictionCount("NodeFailures", "", 1),
        EvictionCount("Deactivated", "", 1),
    )


def test_a_reservation_can_be_released_without_a_word_on_requeueing() -> None:
    life = Life()
    life.admit(at_s=0)
    life.say(Evicted("LocalQueueStopped"), at_s=3)
    released = release(life.status, "Pending", "by hand", 7 * SECOND_US)

    life = Life(status=released)
    assert life.phase() is Phase.PENDING
    assert life.condition(QUOTA_RESERVED) == (False, "Pending", 7)
    assert life.condition(ADMITTED) == (False, "NoReservation", 7)
    assert life.condition(REQUEUED) is None
    assert released.past_execution_s == 7


# --- Order and mistakes --------------------------------------------------------------------------


def test_being_preempted_does_not_move_a_workload_back() -> None:
    life = Life(created_us=7)
    life.admit(at_s=1)
    life.say(PREEMPTION, at_s=2)
    life.stop(at_s=3)

    assert queue_timestamp_us(life.workload, life.status, life.config) == 7


def test_an_impossible_event_tells_the_story() -> None:
    life = Life(name="train")
    life.admit(at_s=1)

    with pytest.raises(IllegalTransition) as caught:
        life.stop(at_s=2)

    assert (caught.value.phase, caught.value.event) == ("Admitted", "JobStopped")
    assert str(caught.value) == (
        "Workload 'default/train' is Admitted, where JobStopped cannot happen. Its story: "
        "Admitted=True (Admitted) at 1000000 us; "
        "QuotaReserved=True (QuotaReserved) at 1000000 us."
    )
