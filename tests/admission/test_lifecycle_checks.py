"""Admission checks: which are needed, and what becomes of a Workload as they change."""

from dataclasses import dataclass

import pytest

from muster.admission.conditions import ADMITTED, DEACTIVATION_TARGET, EVICTED, REQUEUED
from muster.admission.lifecycle import (
    BackoffFinished,
    CheckChanged,
    ChecksRequired,
    Deactivated,
    Effect,
    JobFinished,
    Phase,
    Preempted,
    backoff_expired,
    queue_timestamp_us,
    required_checks,
)
from muster.admission.objects import CheckState, ClusterQueue, EvictionCount
from tests.admission.builders import SECOND_US, a_check, a_cluster_queue, an_admission
from tests.admission.life import Life

PENDING, READY, RETRY, REJECTED = CheckState


# --- Which checks are needed ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RequiredCase:
    name: str
    queue: ClusterQueue
    before: tuple[str, ...]
    """Before any reservation."""
    after: dict[str, tuple[str, ...]]
    """When the flavor was assigned."""


TWO_FLAVORS = ("on-demand", "spot")

REQUIRED = [
    RequiredCase(
        name="a queue without checks",
        queue=a_cluster_queue(flavors=TWO_FLAVORS),
        before=(),
        after={"on-demand": (), "spot": ()},
    ),
    RequiredCase(
        name="a check without flavors is for all of them",
        queue=a_cluster_queue(flavors=TWO_FLAVORS, checks={"c": ()}),
        before=("c",),
        after={"on-demand": ("c",), "spot": ("c",)},
    ),
    RequiredCase(
        name="a check that names every flavor is for all of them too",
        queue=a_cluster_queue(flavors=TWO_FLAVORS, checks={"c": ("spot", "on-demand")}),
        before=("c",),
        after={"on-demand": ("c",), "spot": ("c",)},
    ),
    RequiredCase(
        name="a check for one flavor is needed where that flavor was assigned",
        queue=a_cluster_queue(flavors=TWO_FLAVORS, checks={"c1": (), "c2": ("spot",)}),
        before=("c1",),
        after={"on-demand": ("c1",), "spot": ("c1", "c2")},
    ),
    RequiredCase(
        name="checks come in name order",
        queue=a_cluster_queue(flavors=("spot",), checks={"b": (), "a": ("spot",), "c": ()}),
        before=("a", "b", "c"),
        after={"spot": ("a", "b", "c")},
    ),
    RequiredCase(
        name="a check for a flavor of another queue is never needed",
        queue=a_cluster_queue(flavors=("spot",), checks={"c": ("reserved",)}),
        before=(),
        after={"spot": ()},
    ),
]


@pytest.mark.parametrize("case", REQUIRED, ids=lambda case: case.name)
def test_required_checks(case: RequiredCase) -> None:
    assert required_checks(case.queue, None) == case.before
    for flavor, names in case.after.items():
        assert required_checks(case.queue, an_admission(flavors={"cpu": flavor})) == names


def test_a_workload_that_got_no_flavor_needs_no_check() -> None:
    queue = a_cluster_queue(checks={"c": ()})

    assert required_checks(queue, an_admission(flavors={})) == ()


# --- What becomes of a reservation ---------------------------------------------------------------


def reserved(*checks: str, at_s: int = 0) -> Life:
    life = Life()
    life.admit(at_s, *checks)
    assert life.phase() is Phase.RESERVED
    return life


def states(life: Life) -> dict[str, CheckState]:
    return {check.name: check.state for check in life.status.checks}


def test_a_reservation_waits_for_the_checks_it_needs() -> None:
    life = reserved("b", "a", at_s=3)

    assert states(life) == {"a": PENDING, "b": PENDING}
    assert [check.name for check in life.status.checks] == ["a", "b"]
    assert [check.since_us for check in life.status.checks] == [3 * SECOND_US] * 2
    assert life.condition(ADMITTED) is None


def test_the_last_check_that_becomes_ready_admits() -> None:
    life = reserved("a", "b")

    assert life.say(CheckChanged(a_check("a", READY)), at_s=1) == ()
    assert life.condition(ADMITTED) == (False, "UnsatisfiedAdmissionChecks", 1)
    assert life.say(CheckChanged(a_check("b", READY)), at_s=2) == (Effect.START_JOB,)
    assert life.phase() is Phase.ADMITTED
    assert life.condition(ADMITTED) == (True, "Admitted", 2)


def test_a_workload_whose_checks_are_ready_is_admitted_as_it_is_reserved() -> None:
    life = Life()
    life.say(CheckChanged(a_check("a", READY)), at_s=1)
    life.say(CheckChanged(a_check("surplus", READY)), at_s=1)

    assert life.admit(2, "a") == (Effect.START_JOB,)


def test_surplus_checks_count_until_they_are_gone() -> None:
    life = Life()
    life.say(CheckChanged(a_check("surplus")), at_s=1)
    life.admit(2)
    assert life.condition(ADMITTED) == (False, "UnsatisfiedAdmissionChecks", 2)

    assert life.say(ChecksRequired(()), at_s=3) == (Effect.START_JOB,)
    assert states(life) == {}


def test_checks_follow_the_assigned_flavor() -> None:
    life = Life()
    life.say(ChecksRequired(("a", "b")), at_s=0)
    life.say(CheckChanged(a_check("a", READY)), at_s=0)
    life.admit(1, "a")
    life.say(ChecksRequired(("c", "a")), at_s=2)

    assert states(life) == {"a": READY, "c": PENDING}
    assert life.phase() is Phase.RESERVED
    before = life.status
    life.say(ChecksRequired(("a", "c")), at_s=3)
    assert life.status is before


def test_a_check_that_is_added_or_reset_does_not_stop_a_running_job() -> None:
    life = Life()
    life.admit(at_s=0)

    assert life.say(ChecksRequired(("new",)), at_s=1) == ()
    assert life.say(CheckChanged(a_check("new", READY)), at_s=2) == ()
    assert life.say(CheckChanged(a_check("new", PENDING)), at_s=3) == ()
    assert life.phase() is Phase.ADMITTED
    assert states(life) == {"new": PENDING}


def test_a_retry_evicts_for_as_long_as_the_check_asks() -> None:
    """Admitted on spot, check c2 asks at 12:00:00 for 120 s."""
    noon_s = 12 * 3600
    life = reserved("c1", "c2", at_s=noon_s - 60)
    life.say(CheckChanged(a_check("c1", READY)), at_s=noon_s - 50)
    life.say(CheckChanged(a_check("c2", READY)), at_s=noon_s - 40)
    retry = a_check("c2", RETRY, since_us=noon_s * SECOND_US, requeue_after_s=120, message="busy")

    assert life.say(CheckChanged(retry), at_s=noon_s) == (Effect.STOP_JOB,)
    assert life.condition(EVICTED) == (True, "AdmissionCheck", noon_s)
    assert "c2 (busy)" in life.status.conditions[EVICTED].message
    assert states(life) == {"c1": PENDING, "c2": PENDING}
    c1, c2 = life.status.checks
    assert (c1.retries, c2.retries) == (0, 1)
    assert c2.requeue_after_s == 120
    assert c2.message == "Reset to Pending after eviction. Previously: Retry"

    assert life.stop(at_s=noon_s + 1) == (Effect.RELEASE_QUOTA,)
    assert life.condition(REQUEUED) == (False, "AdmissionCheck", noon_s + 1)
    assert life.deadline() == (noon_s + 120, BackoffFinished())
    assert life.wait() == (noon_s + 120, (Effect.REQUEUE,))
    assert life.condition(REQUEUED) == (True, "BackoffFinished", noon_s + 120)
    assert life.status.requeue_at_us is None
    assert backoff_expired(life.status, (noon_s + 120) * SECOND_US)
    assert queue_timestamp_us(life.workload, life.status, life.config) == noon_s * SECOND_US


@pytest.mark.parametrize("after_s", [None, 0, 5])
def test_a_retry_that_is_due_already_sets_no_time(after_s: int | None) -> None:
    life = reserved("c")
    life.say(CheckChanged(a_check("c", RETRY, since_us=0, requeue_after_s=after_s)), at_s=5)

    assert life.status.requeue_at_us is None
    life.stop(at_s=6)
    assert life.wait() == (6, (Effect.REQUEUE,))


def test_of_several_retries_the_last_one_due_counts() -> None:
    life = Life()
    life.say(CheckChanged(a_check("a", RETRY, requeue_after_s=60)), at_s=0)
    life.say(CheckChanged(a_check("b", RETRY, requeue_after_s=90)), at_s=0)
    life.say(CheckChanged(a_check("c", RETRY, requeue_after_s=30)), at_s=0)
    life.admit(1)

    assert life.say(ChecksRequired(("a", "b", "c")), at_s=2) == (Effect.STOP_JOB,)
    assert life.status.requeue_at_us == 90 * SECOND_US


def test_a_later_retry_does_not_move_the_time_back() -> None:
    life = reserved("a", "b", "c")
    life.say(CheckChanged(a_check("c", READY)), at_s=1)
    life.say(CheckChanged(a_check("a", RETRY, requeue_after_s=60)), at_s=1)
    assert life.status.requeue_at_us == 60 * SECOND_US
    assert states(life) == {"a": PENDING, "b": PENDING, "c": PENDING}
    life.stop(at_s=2)
    life.admit(3, "a", "b")
    life.say(CheckChanged(a_check("b", RETRY, requeue_after_s=30)), at_s=4)

    assert life.status.requeue_at_us == 60 * SECOND_US
    assert life.status.evictions == (EvictionCount("AdmissionCheck", "", 2),)


def test_a_rejection_wins_over_a_retry_and_deactivates() -> None:
    life = Life()
    life.say(CheckChanged(a_check("a", RETRY)), at_s=0)
    life.say(CheckChanged(a_check("b", REJECTED, message="no budget")), at_s=0)
    life.admit(1, "a", "b")

    assert life.phase() is Phase.RESERVED
    assert life.say(ChecksRequired(("a", "b")), at_s=2) == (Effect.DEACTIVATE,)
    assert life.condition(DEACTIVATION_TARGET) == (True, "AdmissionCheck", 2)
    life.set_active(False)
    life.say(Deactivated(), at_s=3)
    assert life.condition(EVICTED) == (True, "DeactivatedDueToAdmissionCheck", 3)
    assert "b (no budget)" in life.status.conditions[EVICTED].message
    assert states(life) == {"a": PENDING, "b": PENDING}


def test_without_a_reservation_a_verdict_is_only_noted() -> None:
    life = Life()
    for state in (RETRY, REJECTED):
        assert life.say(CheckChanged(a_check("c", state)), at_s=1) == ()
        assert states(life) == {"c": state}
        assert life.phase() is Phase.PENDING


def test_a_verdict_on_an_evicted_workload_is_only_noted() -> None:
    life = reserved("c")
    life.say(Preempted("InClusterQueue"), at_s=1)
    life.say(CheckChanged(a_check("c", REJECTED)), at_s=2)

    assert life.phase() is Phase.EVICTING
    assert life.condition(DEACTIVATION_TARGET) is None
    assert life.say(JobFinished(), at_s=3) == (Effect.RELEASE_QUOTA,)


def test_a_state_that_is_known_is_nothing_to_write() -> None:
    life = reserved("c")
    life.say(CheckChanged(a_check("c", PENDING)), at_s=1)
    before = life.status
    life.say(CheckChanged(a_check("c", PENDING)), at_s=2)

    assert life.status is before
