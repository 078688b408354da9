"""What time does to Workloads: pods that are late, back-offs, executions that take too long."""

import pytest

from muster.admission.conditions import (
    DEACTIVATION_TARGET,
    EVICTED,
    PODS_READY,
)
from muster.admission.config import Config, PodsReadyPolicy
from muster.admission.lifecycle import (
    Deactivated,
    Effect,
    ExecutionTimeExceeded,
    Phase,
    PodsReadyChanged,
    PodsReadyTimedOut,
    Preempted,
    Reactivated,
)
from muster.admission.objects import EvictionCount
from muster.admission.reservation import release
from tests.admission.builders import SECOND_US, a_status
from tests.admission.life import Life

PREEMPTION = Preempted("InClusterQueue", "make room")


# --- Pods that do not get ready ------------------------------------------------------------------


def fail_to_start(life: Life, at_s: int) -> int:
    """Admit, let the pods time out and the job stop; return when the Workload queues again."""
    life.admit(at_s)
    timed_out_s, effects = life.wait()
    assert effects == (Effect.STOP_JOB,)
    life.stop(timed_out_s)
    back_s, effects = life.wait()
    assert effects == (Effect.REQUEUE,)
    return back_s - timed_out_s


def test_the_wait_doubles_up_to_the_maximum() -> None:
    """Base 60 s, maximum an hour."""
    life = Life()
    waits = [fail_to_start(life, at_s=100_000 * attempt) for attempt in range(1, 10)]

    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert life.status.requeue_count == 9


def test_the_first_wait_is_the_base_even_beyond_the_maximum() -> None:
    life = Life(config=Config(pods_ready=PodsReadyPolicy(backoff_base_s=50, backoff_max_s=20)))

    assert [fail_to_start(life, at_s=100_000 * attempt) for attempt in (1, 2)] == [50, 20]


def test_the_thousandth_wait_is_a_wait_like_any_other() -> None:
    life = Life(status=a_status(requeue_count=10_000))

    assert fail_to_start(life, at_s=0) == 3600


def test_one_timeout_more_than_the_limit_deactivates() -> None:
    """With a limit of 3, the fourth."""
    life = Life(config=Config(pods_ready=PodsReadyPolicy(backoff_limit=3)))
    for attempt in (1, 2, 3):
        fail_to_start(life, at_s=100_000 * attempt)
    life.admit(at_s=1_000_000)
    at_s, effects = life.wait()

    assert effects == (Effect.DEACTIVATE,)
    assert life.phase() is Phase.DEACTIVATING
    assert life.condition(DEACTIVATION_TARGET) == (True, "RequeuingLimitExceeded", at_s)

    life.set_active(False)
    assert life.say(Deactivated(), at_s) == (Effect.STOP_JOB,)
    assert life.condition(EVICTED) == (True, "DeactivatedDueToRequeuingLimitExceeded", at_s)
    assert life.condition(DEACTIVATION_TARGET) is None
    assert (life.status.requeue_count, life.status.requeue_at_us) == (0, None)
    assert life.status.evictions[-1] == EvictionCount("Deactivated", "RequeuingLimitExceeded", 1)
    assert life.stop(at_s + 1) == (Effect.RELEASE_QUOTA,)
    assert life.phase() is Phase.INACTIVE


def test_an_instant_to_come_back_never_moves_back() -> None:
    life = Life(status=a_status(requeue_at_us=10_000 * SECOND_US))
    life.admit(at_s=0)
    life.say(PodsReadyTimedOut(), at_s=1800)

    assert life.status.requeue_at_us == 10_000 * SECOND_US


def test_pods_have_their_time_to_start_and_another_to_recover() -> None:
    policy = PodsReadyPolicy(timeout_s=300, recovery_timeout_s=100)
    life = Life(config=Config(pods_ready=policy))
    life.admit(at_s=10)
    assert life.deadline() == (310, PodsReadyTimedOut())

    life.say(PodsReadyChanged(ready=False), at_s=20)
    assert life.condition(PODS_READY) == (False, "WaitForStart", 20)
    assert life.deadline() == (310, PodsReadyTimedOut())

    life.say(PodsReadyChanged(ready=True), at_s=30)
    assert life.condition(PODS_READY) == (True, "Started", 30)
    assert life.deadline() is None

    life.say(PodsReadyChanged(ready=False), at_s=40)
    assert life.condition(PODS_READY) == (False, "WaitForRecovery", 40)
    assert life.deadline() == (140, PodsReadyTimedOut())

    before = life.status
    life.say(PodsReadyChanged(ready=False), at_s=50)
    assert life.status is before

    life.say(PodsReadyChanged(ready=True), at_s=60)
    assert life.condition(PODS_READY) == (True, "Recovered", 60)

    life.say(PodsReadyChanged(ready=False), at_s=70)
    life.wait()
    assert life.status.evictions == (EvictionCount("PodsReadyTimeout", "WaitForRecovery", 1),)
    life.stop(at_s=171)
    assert life.condition(PODS_READY) == (False, "WaitForStart", 70)

    life.admit(at_s=400)
    assert life.deadline() == (700, PodsReadyTimedOut())
    life.wait()
    assert life.status.evictions[-1] == EvictionCount("PodsReadyTimeout", "WaitForStart", 1)


@pytest.mark.parametrize("policy", [None, PodsReadyPolicy(recovery_timeout_s=0)])
def test_pods_may_recover_for_ever_where_no_time_is_set(policy: PodsReadyPolicy | None) -> None:
    life = Life(config=Config(pods_ready=policy))
    life.admit(at_s=0)
    life.say(PodsReadyChanged(ready=True), at_s=1)
    life.say(PodsReadyChanged(ready=False), at_s=2)

    assert life.deadline() is None


def test_pods_may_start_for_ever_where_nobody_waits_for_them() -> None:
    life = Life(config=Config(pods_ready=None))
    life.admit(at_s=0)

    assert life.deadline() is None


# --- Maximum execution time ----------------------------------------------------------------------


def test_execution_time_adds_up_over_runs() -> None:
    """Of 100 s, 60 were spent before a preemption: 40 are left."""
    life = Life(max_execution_s=100)
    life.admit(at_s=0)
    assert life.deadline() == (100, ExecutionTimeExceeded())

    life.say(PREEMPTION, at_s=50)
    life.stop(at_s=60)
    life.admit(at_s=500)
    assert life.deadline() == (540, ExecutionTimeExceeded())

    assert life.wait() == (540, (Effect.DEACTIVATE,))
    assert life.condition(DEACTIVATION_TARGET) == (True, "MaximumExecutionTimeExceeded", 540)


def test_who_reactivates_a_workload_gives_it_the_whole_time_again() -> None:
    life = Life(max_execution_s=100)
    life.admit(at_s=0)
    life.wait()
    life.set_active(False)
    life.wait()
    assert life.condition(EVICTED) == (True, "DeactivatedDueToMaximumExecutionTimeExceeded", 0)
    life.stop(at_s=120)
    assert life.status.past_execution_s == 0

    life.set_active(True)
    life.say(Reactivated(), at_s=200)
    life.admit(at_s=300)
    assert life.deadline() == (400, ExecutionTimeExceeded())


def test_only_whole_seconds_count() -> None:
    life = Life()
    life.admit(at_s=0)
    life.say(PREEMPTION, at_s=1)
    half_past = release(life.status, "Pending", "", 2 * SECOND_US - 1)

    assert half_past.past_execution_s == 1


def test_pods_that_are_late_count_before_a_time_that_is_up() -> None:
    life = Life(max_execution_s=1800)
    life.admit(at_s=0)

    assert life.deadline() == (1800, PodsReadyTimedOut())
