"""What queues ask of a Workload: may it queue, is it to be tried, and where does it stand."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.admission.config import Config, Gates, PodsReadyPolicy
from muster.admission.lifecycle import backoff_expired, may_queue, queue_timestamp_us
from muster.admission.objects import Status
from tests.admission.builders import SECOND_US, a_status, a_workload

Conditions = dict[str, tuple[bool, str, int]]

# --- May it queue? -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MayQueueCase:
    name: str
    workload: dict[str, Any] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=dict)
    want: bool


MAY_QUEUE = [
    MayQueueCase(name="a new workload", want=True),
    MayQueueCase(name="gated", workload={"gated_by": ("example.com/a",)}, want=False),
    MayQueueCase(name="inactive", workload={"active": False}, want=False),
    MayQueueCase(
        name="reserved", conditions={"QuotaReserved": (True, "QuotaReserved", 0)}, want=False
    ),
    MayQueueCase(
        name="evicted, the reservation not yet released",
        conditions={
            "QuotaReserved": (True, "QuotaReserved", 0),
            "Evicted": (True, "Preempted", 0),
        },
        want=False,
    ),
    MayQueueCase(
        name="evicted and released",
        conditions={
            "QuotaReserved": (False, "PendingEvaluation", 0),
            "Evicted": (True, "Preempted", 0),
        },
        want=True,
    ),
    MayQueueCase(name="finished", conditions={"Finished": (True, "Succeeded", 0)}, want=False),
    MayQueueCase(name="on hold", conditions={"QuotaReserved": (False, "OnHold", 0)}, want=False),
    MayQueueCase(
        name="refused", conditions={"QuotaReserved": (False, "WaitingForQuota", 0)}, want=True
    ),
    MayQueueCase(
        name="waiting for replacement pods",
        conditions={"WaitingForReplacementPods": (True, "PodsFailed", 0)},
        want=False,
    ),
    MayQueueCase(
        name="replacement pods are there",
        conditions={"WaitingForReplacementPods": (False, "PodsReady", 0)},
        want=True,
    ),
    MayQueueCase(
        name="backing off: it queues, but is not tried",
        conditions={"Requeued": (False, "PodsReadyTimeout", 0)},
        want=True,
    ),
]


@pytest.mark.parametrize("case", MAY_QUEUE, ids=lambda case: case.name)
def test_may_queue(case: MayQueueCase) -> None:
    assert may_queue(a_workload(**case.workload), a_status(case.conditions)) is case.want


# --- Is it to be tried? --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, want",
    [
        (a_status(), True),
        (a_status(requeue_at_us=9), True),
        (a_status(requeue_at_us=10), True),
        (a_status(requeue_at_us=11), False),
        (a_status({"Requeued": (True, "Preempted", 0)}), True),
        (a_status({"Requeued": (True, "Preempted", 0)}, requeue_at_us=11), False),
        (a_status({"Requeued": (False, "AdmissionCheck", 0)}), False),
        (a_status({"Requeued": (False, "AdmissionCheck", 0)}, requeue_at_us=9), False),
    ],
)
def test_backoff_expired(status: Status, want: bool) -> None:
    assert backoff_expired(status, now_us=10) is want


# --- Where does it stand? ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OrderCase:
    name: str
    conditions: Conditions
    config: Config = field(default_factory=Config)
    want_us: int


CREATED_US = 1
BY_CREATION = Config(pods_ready=PodsReadyPolicy(requeue_by_eviction_time=False))
WITHOUT_PRIORITY_SORTING = Config(gates=Gates(priority_sorting_within_cohort=False))

ORDER = [
    OrderCase(name="creation", conditions={}, want_us=CREATED_US),
    OrderCase(
        name="pods that were not ready in time",
        conditions={"Evicted": (True, "PodsReadyTimeout", 5)},
        want_us=5 * SECOND_US,
    ),
    OrderCase(
        name="pods that were not ready in time, where creation is to count",
        conditions={"Evicted": (True, "PodsReadyTimeout", 5)},
        config=BY_CREATION,
        want_us=CREATED_US,
    ),
    OrderCase(
        name="pods that were not ready in time, where nobody waits any more",
        conditions={"Evicted": (True, "PodsReadyTimeout", 5)},
        config=Config(pods_ready=None),
        want_us=5 * SECOND_US,
    ),
    OrderCase(
        name="a check that asked for a retry",
        conditions={"Evicted": (True, "AdmissionCheck", 5)},
        want_us=5 * SECOND_US,
    ),
    OrderCase(
        name="a check that asked for a retry, where creation is to count for late pods",
        conditions={"Evicted": (True, "AdmissionCheck", 5)},
        config=BY_CREATION,
        want_us=5 * SECOND_US,
    ),
    OrderCase(
        name="an eviction that is over",
        conditions={"Evicted": (False, "PodsReadyTimeout", 5)},
        want_us=CREATED_US,
    ),
    OrderCase(
        name="another eviction",
        conditions={"Evicted": (True, "NodeFailures", 5)},
        want_us=CREATED_US,
    ),
    OrderCase(
        name="preempted while borrowing, where priority counts",
        conditions={"Preempted": (True, "InCohortReclaimWhileBorrowing", 5)},
        want_us=CREATED_US,
    ),
    OrderCase(
        name="preempted while borrowing, where priority does not count",
        conditions={
            "Evicted": (True, "Preempted", 5),
            "Preempted": (True, "InCohortReclaimWhileBorrowing", 5),
        },
        config=WITHOUT_PRIORITY_SORTING,
        want_us=5 * SECOND_US + 1_000,
    ),
    OrderCase(
        name="preempted for another reason, where priority does not count",
        conditions={"Preempted": (True, "InCohortReclamation", 5)},
        config=WITHOUT_PRIORITY_SORTING,
        want_us=CREATED_US,
    ),
    OrderCase(
        name="a preemption that is over, where priority does not count",
        conditions={"Preempted": (False, "InCohortReclaimWhileBorrowing", 5)},
        config=WITHOUT_PRIORITY_SORTING,
        want_us=CREATED_US,
    ),
]


@pytest.mark.parametrize("case", ORDER, ids=lambda case: case.name)
def test_queue_timestamp(case: OrderCase) -> None:
    workload = a_workload(created_us=CREATED_US)

    assert queue_timestamp_us(workload, a_status(case.conditions), case.config) == case.want_us
