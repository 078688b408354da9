"""
Worlds to measure in, as engine values, the same for the same seed.

Every Workload has objects of its own, as if each had been read from the API server: nothing is
cheap here because two things happen to be the same object. There is one flavor and one resource.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from muster.admission import events
from muster.admission.amounts import FlavorResource
from muster.admission.conditions import ADMITTED, FINISHED, QUOTA_RESERVED
from muster.admission.config import Config
from muster.admission.cycle import decide
from muster.admission.objects import (
    Admission,
    ClusterQueue,
    Condition,
    LabelSelector,
    LocalQueue,
    Namespace,
    PodSet,
    PodSetAssignment,
    Preemption,
    PreemptionPolicy,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    Status,
    Workload,
)
from muster.admission.plan import Admit, CyclePlan
from muster.admission.state import State

SEED = 20_250_301
CPU = 1_000
"""One cpu as an amount."""
SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
NOW_US = 20_000 * DAY_US
"""When a measurement begins; everything running was created in the day before."""
PAIR = FlavorResource("default", "cpu")


@dataclass(frozen=True, slots=True)
class Layout:
    """ClusterQueues by cohort; names tell the place: queue `c3-q17` is in cohort `c3`."""

    cohorts: int
    queues_per_cohort: int

    @property
    def queues(self) -> tuple[str, ...]:
        return tuple(
            f"c{cohort}-q{queue}"
            for cohort in range(self.cohorts)
            for queue in range(self.queues_per_cohort)
        )


def cohort_of(queue: str) -> str:
    return queue.partition("-")[0]


class World:
    """A state, and a seeded source of Workloads to put into it."""

    def __init__(self, config: Config | None = None) -> None:
        self.state = State(config)
        self.random = Random(SEED)
        self.now_us = NOW_US
        self._made = 0
        self.state.apply(events.NamespaceSeen(Namespace(name="default")), NOW_US)
        self.state.apply(events.FlavorSeen(ResourceFlavor(name="default")), NOW_US)

    def add_queue(self, name: str, cohort: str, *, cpus: int) -> None:
        """
        Add a ClusterQueue, and a LocalQueue of the same name that leads to it.

        It borrows without limit, takes back what it lent from anybody, and preempts lower priority
        in its own queue.
        """
        queue = ClusterQueue(
            name=name,
            cohort=cohort,
            groups=(ResourceGroup(resources=("cpu",), flavors=("default",)),),
            quotas={PAIR: Quota(nominal=cpus * CPU)},
            namespace_selector=LabelSelector(),
            preemption=Preemption(
                within_cluster_queue=PreemptionPolicy.LOWER_PRIORITY,
                reclaim_within_cohort=PreemptionPolicy.ANY,
            ),
        )
        local_queue = LocalQueue(namespace="default", name=name, cluster_queue=name)
        self.state.apply(events.ClusterQueueSeen(queue), self.now_us)
        self.state.apply(events.LocalQueueSeen(local_queue), self.now_us)

    def add_queues(self, layout: Layout, *, cpus: int) -> None:
        for name in layout.queues:
            self.add_queue(name, cohort_of(name), cpus=cpus)

    def workload(self, queue: str, *, cpus: int = 1, priority: int = 0) -> Workload:
        """Return a new Workload of one pod that is created now."""
        self._made += 1
        return Workload(
            namespace="default",
            name=f"{queue}-job-{self._made}",
            uid=f"{self.random.getrandbits(128):032x}",
            local_queue=queue,
            created_us=self.now_us + self._made,
            priority=priority,
            pod_sets=(PodSet(name="main", count=1, requests=(("cpu", cpus * CPU),)),),
        )

    def add_running(self, queue: str, *, cpus: int = 1, priority: int = 0) -> str:
        """Add a Workload that was admitted at some time of the day before; return its key."""
        workload = self.workload(queue, cpus=cpus, priority=priority)
        since_us = NOW_US - self.random.randrange(DAY_US)
        assigned = PodSetAssignment(
            name="main", flavors={"cpu": "default"}, usage={"cpu": cpus * CPU}, count=1
        )
        status = Status(
            admission=Admission(cluster_queue=queue, pod_sets=(assigned,)),
            conditions={
                QUOTA_RESERVED: Condition(status=True, reason="QuotaReserved", since_us=since_us),
                ADMITTED: Condition(status=True, reason="Admitted", since_us=since_us),
            },
        )
        workload = replace(workload, created_us=since_us - self.random.randrange(DAY_US))
        self.state.apply(events.WorkloadSeen(workload, status), self.now_us)
        return workload.key

    def add_waiting(self, queue: str, *, cpus: int = 1, priority: int = 0) -> str:
        """Let a Workload arrive; return its key."""
        workload = self.workload(queue, cpus=cpus, priority=priority)
        self.state.apply(events.WorkloadSeen(workload, Status()), self.now_us)
        return workload.key

    def finished(self, key: str) -> events.WorkloadSeen:
        """Return the event by which a running Workload is seen to have finished."""
        item = self.state.items[key]
        done = Condition(status=True, reason="Succeeded", since_us=self.now_us)
        conditions = {**item.status.conditions, FINISHED: done}
        return events.WorkloadSeen(item.workload, replace(item.status, conditions=conditions))

    def remove(self, key: str) -> None:
        self.state.apply(events.WorkloadGone(key), self.now_us)

    def decide(self, rounds_max: int | None = None) -> CyclePlan:
        """Decide, and carry the plan out."""
        plan = decide(self.state, self.now_us, rounds_max=rounds_max)
        self.state.apply(events.PlanAccepted(plan), self.now_us)
        return plan

    def settle(self) -> None:
        """Decide until nothing moves: what has no room is set aside."""
        while not self.decide().exhausted:
            pass


def admitted(plan: CyclePlan) -> list[str]:
    """Return the keys of the Workloads a plan admits."""
    return [decision.workload for decision in plan.decisions if isinstance(decision, Admit)]
