"""Random lives of a small cluster: everything that can happen to a state, in any order.

A history draws from one source of chance, so a seed replays it and Hypothesis can shrink it. Names
and amounts are few on purpose: ties, exact fits and collisions must come up often.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Final, TypeVar

from muster.admission import events, lifecycle
from muster.admission.config import Config
from muster.admission.lifecycle import Phase
from muster.admission.objects import (
    AdmissionCheck,
    CheckState,
    ClusterQueue,
    Cohort,
    LabelSelector,
    Namespace,
    PodSet,
    QueueingStrategy,
    Requirement,
    Status,
    StopPolicy,
    Taint,
    Workload,
)
from muster.admission.plan import Admit, CyclePlan
from muster.admission.records import Item
from tests.admission.builders import (
    ANY,
    LOWER,
    LOWER_OR_NEWER,
    NEVER,
    Limits,
    a_check,
    a_cluster_queue,
    a_cohort,
    a_flavor,
    a_fungibility,
    a_local_queue,
    a_pod_set,
    a_workload,
)
from tests.admission.world import World

T = TypeVar("T")

QUEUES: Final = ("qa", "qb", "qc", "qd")
COHORTS: Final = ("root", "left", "right")
FLAVORS: Final = ("f0", "f1")
CHECKS: Final = ("prove", "scan")
TEAM: Final = LabelSelector((Requirement("team", "Exists"),))
STRATEGIES: Final[tuple[QueueingStrategy, ...]] = tuple(QueueingStrategy)


class History:
    """A world and a source of chance; `step` lets one thing happen, `told` is what happened."""

    def __init__(
        self,
        rng: Random,
        config: Config | None = None,
        *,
        scans: bool = True,
        preempts: bool = True,
    ) -> None:
        """Without `scans` no search for flavors stops half-way; without `preempts` all may stay."""
        self.rng = rng
        self.world = World(config=config)
        self.told: list[str] = []
        self.plans: list[CyclePlan] = []
        self._scans = scans
        self._preempts = preempts
        self._made = 0
        self._actions: tuple[Callable[[], None], ...] = (
            *(16 * (self.submit,)),
            *(12 * (self.decide,)),
            *(8 * (self.live,)),
            *(2 * (self.respecify_queue,)),
            self.edit_workload,
            self.delete_workload,
            self.delete_queue,
            self.declare_cohort,
            self.retract_cohort,
            self.change_local_queue,
            self.change_flavor,
            self.change_check,
            self.change_namespace,
            self.fail_write,
            self.sweep,
            self.pass_time,
        )
        for flavor in FLAVORS:
            self.world.see(a_flavor(flavor))
        for check in CHECKS:
            self.world.see(AdmissionCheck(name=check))
        for queue in QUEUES[:2]:
            self.world.see(self._a_queue(queue))

    def steps(self, number: int) -> None:
        for _ in range(number):
            self.step()

    def step(self) -> None:
        self.one_of(self._actions)()

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.rng.randrange(len(options))]

    def rarely(self) -> bool:
        return self.rng.randrange(10) == 0

    def tell(self, event: events.Event) -> None:
        self.told.append(repr(event))
        self.world.apply(event)

    # --- Workloads ---

    def submit(self) -> None:
        self._made += 1
        self.tell(events.WorkloadSeen(self._a_workload(f"w{self._made}"), Status()))

    def edit_workload(self) -> None:
        item = self._an_item()
        if item is not None:
            old = item.workload
            fresh = self._a_workload(old.name)
            changes = [
                replace(old, priority=fresh.priority),
                replace(old, local_queue=self.one_of(QUEUES)),
                replace(old, active=not old.active),
                replace(old, gated_by=() if old.gated_by else ("hand",)),
                replace(old, uid=old.uid + "'"),
            ]
            if not item.holding:  # what holds quota keeps its shape
                changes.append(replace(old, pod_sets=fresh.pod_sets, generation=old.generation + 1))
            changed = self.one_of(changes)
            self.tell(events.WorkloadSeen(changed, item.status))

    def delete_workload(self) -> None:
        item = self._an_item()
        if item is not None:
            self.tell(events.WorkloadGone(item.workload.key))

    def live(self) -> None:
        """Let something legal happen to a workload, as its job, its checks and the clock may."""
        item = self._an_item()
        if item is None:
            return
        event = self.one_of(self._possible(item))
        if lifecycle.phase(item.workload, item.status) is not Phase.FINISHED:
            status, _ = lifecycle.step(
                item.workload,
                item.status,
                event,
                now_us=self.world.now_us,
                config=self.world.state.config,
            )
            self.tell(events.WorkloadSeen(item.workload, status))

    def _possible(self, item: Item) -> Sequence[lifecycle.Event]:
        pods = item.workload.pod_sets[0]
        done = lifecycle.PodsReclaimed({pods.name: self.rng.randrange(pods.count + 1)})
        judged = lifecycle.CheckChanged(
            a_check(
                self.one_of(CHECKS),
                self.one_of(tuple(CheckState)),
                since_us=self.world.now_us,
                requeue_after_s=self.one_of((None, 5)),
            )
        )
        end = lifecycle.JobFinished()
        match lifecycle.phase(item.workload, item.status):
            case Phase.EVICTING:
                return (*(3 * (lifecycle.JobStopped(),)), done, end)
            case Phase.ADMITTED:
                return (*(3 * (end,)), done, lifecycle.PodsReadyTimedOut())
            case Phase.RESERVED:
                return (end, done, judged)
            case Phase.BACKING_OFF:
                return (lifecycle.BackoffFinished(), judged)
            case _:
                return (judged, end)

    def _an_item(self) -> Item | None:
        items = tuple(self.world.state.items.values())
        return self.one_of(items) if items else None

    def _a_workload(self, name: str) -> Workload:
        return a_workload(
            name,
            local_queue=self.one_of(QUEUES),
            priority=self.rng.randrange(5),
            priority_boost=self.rng.randrange(2),
            created_us=self.world.now_us + self.rng.randrange(3),
            pod_sets=self._pod_sets(),
            gated_by=("hand",) if self.rarely() else (),
        )

    def _pod_sets(self) -> tuple[PodSet, ...]:
        # Where the second of two pod sets finds no flavor, the search for the first has stopped.
        two = self._scans and self.one_of((True, False, False))
        return tuple(self._a_pod_set(name) for name in (("p", "q") if two else ("p",)))

    def _a_pod_set(self, name: str) -> PodSet:
        count = 1 + self.rng.randrange(3)
        requests = self.one_of(({"cpu": 1}, {"cpu": 2}, {"cpu": 1, "gpu": 1}, {"gpu": 2}))
        return a_pod_set(
            name,
            count=count,
            min_count=1 if name == "p" and self.rarely() else None,
            requests=tuple(requests.items()),
            node_selector=(("zone", "east"),) if self.rarely() else (),
        )

    # --- Queues, cohorts and what they name ---

    def respecify_queue(self) -> None:
        self.tell(events.ClusterQueueSeen(self._a_queue(self.one_of(QUEUES))))
        queue = self.one_of(QUEUES)
        if f"default/{queue}" not in self.world.state.local_queues:
            self.tell(events.LocalQueueSeen(a_local_queue(queue, cluster_queue=queue)))

    def delete_queue(self) -> None:
        self.tell(events.ClusterQueueGone(self.one_of(QUEUES)))

    def declare_cohort(self) -> None:
        name = self.one_of(COHORTS)
        cohort: Cohort = a_cohort(
            name,
            self.one_of((None, *COHORTS)),
            quota={flavor: {"cpu": self._limits(), "gpu": self._limits()} for flavor in FLAVORS},
            weight=self._weight(),
        )
        self.tell(events.CohortSeen(cohort))

    def retract_cohort(self) -> None:
        self.tell(events.CohortGone(self.one_of(COHORTS)))

    def change_local_queue(self) -> None:
        name = self.one_of(QUEUES)
        if self.rarely():
            self.tell(events.LocalQueueGone(f"default/{name}"))
            return
        local_queue = a_local_queue(
            name,
            cluster_queue=self.one_of((name, name, *QUEUES)),
            stop_policy=self._stop_policy(),
        )
        self.tell(events.LocalQueueSeen(local_queue))

    def change_flavor(self) -> None:
        name = self.one_of(FLAVORS)
        taint = (Taint("spot", "", "NoSchedule"),) if self.rarely() else ()
        labels = self.one_of(({}, {}, {"zone": "east"}, {"zone": "west"}))
        flavor = a_flavor(name, node_labels=labels, node_taints=taint)
        self.tell(
            events.FlavorGone(name) if self.rarely() else events.FlavorSeen(flavor),
        )

    def change_check(self) -> None:
        name = self.one_of(CHECKS)
        check = AdmissionCheck(name=name, active=not self.rarely())
        self.tell(events.CheckGone(name) if self.rarely() else events.CheckSeen(check))

    def change_namespace(self) -> None:
        labels = self.one_of(({}, {"team": "blue"}))
        namespace = Namespace(name="default", labels=labels)
        self.tell(
            events.NamespaceGone("default") if self.rarely() else events.NamespaceSeen(namespace)
        )

    def _a_queue(self, name: str) -> ClusterQueue:
        flavors = self.one_of((FLAVORS, FLAVORS, FLAVORS[:1], FLAVORS[::-1]))
        within = self.one_of((NEVER, LOWER, LOWER, LOWER_OR_NEWER))
        reclaim = self.one_of((NEVER, LOWER, ANY))
        if not self._preempts:
            within = reclaim = NEVER
        try_next = ("TryNextFlavor", "MayStopSearch" if self._scans else "TryNextFlavor")
        return a_cluster_queue(
            name,
            cohort=self.one_of((None, *COHORTS, *COHORTS)),
            quota={flavor: {"cpu": self._limits(), "gpu": self._limits()} for flavor in flavors},
            strategy=self.one_of(STRATEGIES),
            namespace_selector=TEAM if self.rarely() else LabelSelector(),
            within=within,
            reclaim=reclaim,
            borrow=reclaim is not NEVER and self.one_of((True, False)),
            fungibility=a_fungibility(
                borrowing=self.one_of(try_next), preempting=self.one_of(try_next)
            ),
            checks={self.one_of(CHECKS): self.one_of(((), FLAVORS[:1]))} if self.rarely() else {},
            stop_policy=self._stop_policy(),
            weight=self._weight(),
        )

    def _limits(self) -> Limits:
        nominal = self.rng.randrange(8)
        borrowing = self.one_of((None, None, 0, 2))
        lending = self.one_of((None, None, 0, 2))
        return nominal, borrowing, None if lending is None else min(lending, nominal)

    def _weight(self) -> Fraction:
        return Fraction(self.one_of((1, 1, 2, 0)))

    def _stop_policy(self) -> StopPolicy:
        return StopPolicy.HOLD if self.rarely() else StopPolicy.NONE

    # --- Decisions and time ---

    def decide(self) -> None:
        """Decide and carry it out, now and then only after something else has happened."""
        rounds = self.one_of((1, None))
        plan = self.world.decide(rounds)
        self.told.append(f"decide(rounds_max={rounds}) -> {plan.decisions}")
        self.plans.append(plan)
        if self.rarely():
            self.one_of([action for action in self._actions if action != self.decide])()
        self.tell(events.PlanAccepted(plan))

    def fail_write(self) -> None:
        """Tell that an admission of the last plan could not be written."""
        admissions = (
            [d for d in self.plans[-1].decisions if isinstance(d, Admit)] if self.plans else []
        )
        if admissions:
            key = self.one_of(admissions).workload
            if key in self.world.state.items:
                self.tell(events.WriteFailed(key, Status()))

    def sweep(self) -> None:
        self.tell(events.Swept(self.one_of(QUEUES)))

    def pass_time(self) -> None:
        self.world.now_us += self.one_of((1, 1_000_000, 100_000_000))
        self.tell(events.TimePassed())
