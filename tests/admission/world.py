"""A small cluster for tests: objects go in, decisions come out, jobs end and stop when told to.

Whatever a queue names exists: its flavors, and a LocalQueue of the same name. Workloads are created
in the order in which they are mentioned, and reserve quota in that order. After every step the
state is audited.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from muster.admission import events, lifecycle
from muster.admission.amounts import FlavorResource
from muster.admission.audit import check
from muster.admission.conditions import EVICTED
from muster.admission.config import Config, FairStrategy
from muster.admission.cycle import decide
from muster.admission.objects import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    Namespace,
    ResourceFlavor,
    Status,
    Workload,
)
from muster.admission.pending import Place
from muster.admission.plan import Admit, CyclePlan, Preempt, Wait
from muster.admission.quota import Cell
from muster.admission.records import Item, Queue
from muster.admission.state import State
from tests.admission.builders import SECOND_US, a_flavor, a_holder, a_local_queue

FAIR = Config(fair_sharing=(FairStrategy.FINAL_SHARE, FairStrategy.INITIAL_SHARE))

Object = AdmissionCheck | ClusterQueue | Cohort | LocalQueue | Namespace | ResourceFlavor | Workload


class World:
    """A state, a clock, and what tests do with them. Workloads go by their names."""

    def __init__(self, *objects: Object, config: Config | None = None) -> None:
        self.state = State(config)
        self.now_us = 1_000 * SECOND_US
        self._mentioned = 0
        self.see(Namespace(name="default"), *objects)

    # What happens

    def apply(self, *happened: events.Event) -> None:
        for event in happened:
            self.state.apply(event, self.now_us)
            check(self.state, self.now_us)

    def see(self, *objects: Object) -> None:
        """Report objects; workloads wait in their queue."""
        for seen in objects:
            match seen:
                case Workload():
                    self.apply(events.WorkloadSeen(self._dated(seen), Status()))
                case ClusterQueue():
                    self._see_queue(seen)
                case Cohort():
                    self.apply(events.CohortSeen(seen))
                case LocalQueue():
                    self.apply(events.LocalQueueSeen(seen))
                case Namespace():
                    self.apply(events.NamespaceSeen(seen))
                case ResourceFlavor():
                    self.apply(events.FlavorSeen(seen))
                case AdmissionCheck():
                    self.apply(events.CheckSeen(seen))

    def _see_queue(self, queue: ClusterQueue) -> None:
        for group in queue.groups:
            for flavor in group.flavors:
                if flavor not in self.state.flavors:
                    self.see(a_flavor(flavor))
        self.apply(events.ClusterQueueSeen(queue))
        self.see(a_local_queue(queue.name, cluster_queue=queue.name))

    def run(
        self,
        *workloads: Workload,
        flavors: str | Mapping[str, str] = "default",
        evicted: bool = False,
    ) -> None:
        """Report workloads that hold quota already; later ones reserved it later."""
        for workload in workloads:
            dated = self._dated(workload)
            status = a_holder(
                dated,
                dated.local_queue,
                flavors=flavors,
                reserved_us=self._mentioned,
                evicted=evicted,
            )
            self.apply(events.WorkloadSeen(dated, status))

    def _dated(self, workload: Workload) -> Workload:
        self._mentioned += 1
        return workload if workload.created_us else replace(workload, created_us=self._mentioned)

    def edit(self, name: str, **changes: object) -> None:
        item = self.item(name)
        edited = replace(item.workload, **changes)  # type: ignore[arg-type]  # fields by name
        self.apply(events.WorkloadSeen(edited, item.status))

    def step(self, name: str, event: lifecycle.Event) -> None:
        """Let something happen in the life of a workload."""
        item = self.item(name)
        status, _ = lifecycle.step(
            item.workload, item.status, event, now_us=self.now_us, config=self.state.config
        )
        self.apply(events.WorkloadSeen(item.workload, status))

    def reclaim(self, name: str, **done: int) -> None:
        """Report how many pods of each pod set have finished for good."""
        item = self.item(name)
        status = replace(item.status, reclaimable=done)
        self.apply(events.WorkloadSeen(item.workload, status))

    def finish(self, *names: str) -> None:
        for name in names:
            self.step(name, lifecycle.JobFinished())

    def stop(self, *names: str) -> None:
        """Let evictions complete: the jobs have stopped."""
        for name in names:
            self.step(name, lifecycle.JobStopped())

    def stop_all(self) -> None:
        self.stop(*self.leaving)

    def pass_time(self, seconds: int) -> None:
        self.now_us += seconds * SECOND_US
        self.apply(events.TimePassed())

    # What is decided

    def decide(self, rounds: int | None = 1) -> CyclePlan:
        return decide(self.state, self.now_us, rounds_max=rounds)

    def accept(self, plan: CyclePlan) -> None:
        self.apply(events.PlanAccepted(plan))

    def cycle(self, rounds: int | None = 1) -> "Outcome":
        """Decide, by default one round as the peer does, and carry it out."""
        plan = self.decide(rounds)
        self.accept(plan)
        return Outcome(plan)

    # What is

    def item(self, name: str) -> Item:
        return self.state.items[key(name)]

    def queue(self, name: str) -> Queue:
        return self.state.queues[name]

    def cell(self, node: str, resource: str = "cpu", flavor: str = "default") -> Cell:
        found = self.state.queues.get(node) or self.state.forest.cohorts[node]
        self.state.settle(self.now_us)
        return found.cell(FlavorResource(flavor, resource))

    def place(self, name: str) -> Place:
        return self.item(name).place

    @property
    def running(self) -> list[str]:
        """Who holds quota and was not asked to leave, by name."""
        return self._names(lambda item: item.holding and not item.status.is_true(EVICTED))

    @property
    def leaving(self) -> list[str]:
        return self._names(lambda item: item.holding and item.status.is_true(EVICTED))

    @property
    def heap(self) -> list[str]:
        return self._names(lambda item: item.place is Place.HEAP)

    @property
    def parked(self) -> list[str]:
        return self._names(lambda item: item.place is Place.PARKED)

    def _names(self, wanted: Callable[[Item], bool]) -> list[str]:
        return sorted(item.workload.name for item in self.state.items.values() if wanted(item))


class Outcome:
    """A plan by the names of its workloads."""

    def __init__(self, plan: CyclePlan) -> None:
        self.plan = plan

    @property
    def decided(self) -> list[str]:
        """Whoever was decided about, in that order."""
        return [name(d.workload) for d in self.plan.decisions]

    @property
    def admitted(self) -> list[str]:
        return [name(d.workload) for d in self.plan.decisions if isinstance(d, Admit)]

    @property
    def evicted(self) -> dict[str, str]:
        """Victim -> reason, over all preemptors, those not asked before."""
        return {
            name(eviction.workload): str(eviction.reason)
            for decision in self.plan.decisions
            if isinstance(decision, Preempt)
            for eviction in decision.evictions
            if not eviction.already_asked
        }

    def victims(self, workload: str) -> list[str]:
        """Of one preemptor, in name order."""
        found = self.of(workload)
        assert isinstance(found, Preempt)
        return sorted(name(eviction.workload) for eviction in found.evictions)

    @property
    def waiting(self) -> dict[str, str]:
        """Who waits -> why."""
        return {name(d.workload): str(d.reason) for d in self.plan.decisions if isinstance(d, Wait)}

    def flavors(self, workload: str) -> dict[str, str]:
        """Resource -> flavor of an admitted workload's first pod set."""
        return dict(self._admit(workload).admission.pod_sets[0].flavors)

    def pod_sets(self, workload: str) -> dict[str, dict[str, str]]:
        """Pod set -> resource -> flavor of an admitted workload."""
        admission = self._admit(workload).admission
        return {pod_set.name: dict(pod_set.flavors) for pod_set in admission.pod_sets}

    def count(self, workload: str) -> int:
        return self._admit(workload).admission.pod_sets[0].count

    def counts(self, workload: str) -> dict[str, int]:
        return {p.name: p.count for p in self._admit(workload).admission.pod_sets}

    def _admit(self, workload: str) -> Admit:
        found = self.of(workload)
        assert isinstance(found, Admit)
        return found

    def of(self, workload: str) -> Admit | Preempt | Wait:
        return next(d for d in self.plan.decisions if d.workload == key(workload))


def key(workload: str) -> str:
    return f"default/{workload}"


def name(of_key: str) -> str:
    return of_key.removeprefix("default/")
