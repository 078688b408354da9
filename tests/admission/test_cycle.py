"""What one round makes of its entries, each seeing what the ones before it took."""

from dataclasses import dataclass

import pytest

from muster.admission import events
from muster.admission.config import Config, Gates
from muster.admission.objects import (
    AdmissionCheck,
    CheckState,
    LabelSelector,
    Namespace,
    PreemptionPolicy,
    QueueingStrategy,
    Requirement,
    Status,
    Workload,
)
from muster.admission.plan import Admit, Grant, Obstacle, Preempt, Wait
from tests.admission.builders import (
    ANY,
    LOWER,
    NEVER,
    a_check,
    a_cluster_queue,
    a_cohort,
    a_flavor,
    a_gang,
    a_taint,
)
from tests.admission.world import World

OWN = "InClusterQueue"
RECLAIMED = "InCohortReclamation"
STRICT = QueueingStrategy.STRICT_FIFO

# --- Contention ---


def test_what_the_one_before_took_is_gone() -> None:
    world = World(
        a_cohort("k", quota={"default": {"cpu": 1}}),
        a_cluster_queue("x", cohort="k", cpu=3),
        a_cluster_queue("y", cohort="k", cpu=0),
    )
    world.see(a_gang("w-x", "x", cpu=3), a_gang("w-y", "y", cpu=2, priority=9))

    outcome = world.cycle()

    assert outcome.admitted == ["w-x"]
    assert outcome.waiting == {"w-y": "WaitingForQuota"}
    assert world.heap == ["w-y"], "nothing is known against it: it is tried again at once"


def test_all_admissions_of_a_round_fit_together() -> None:
    world = World(
        a_cohort("k", quota={"default": {"cpu": 5}}),
        *(a_cluster_queue(f"q{i}", cohort="k", cpu=0) for i in range(4)),
    )
    world.see(*(a_gang(f"w{i}", f"q{i}", cpu=2) for i in range(4)))

    assert world.cycle().admitted == ["w0", "w1"]


def test_rounds_go_on_until_nothing_moves() -> None:
    world = World(a_cluster_queue("q", cpu=3))
    world.see(*(a_gang(f"w{i}", "q") for i in range(5)))

    outcome = world.cycle(rounds=None)

    assert outcome.admitted == ["w0", "w1", "w2"]
    assert outcome.plan.exhausted
    assert world.cycle(rounds=None).decided == []


def test_a_decision_alone_changes_nothing() -> None:
    world = World(FOUR)
    world.run(a_gang("low", "q", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1))

    first, second = world.decide(None), world.decide(None)

    assert first == second
    assert world.leaving == []


# --- Two that want the same victim ---

FOUR = a_cluster_queue("q", cpu=4, within=LOWER)


def two_owners(*guests: Workload, config: Config | None = None) -> World:
    """A guest without quota uses that of two owners, who both want it back."""
    world = World(
        a_cluster_queue("a", cohort="k", cpu=2, reclaim=ANY),
        a_cluster_queue("b", cohort="k", cpu=2, reclaim=ANY),
        a_cluster_queue("guest", cohort="k", cpu=0),
        config=config,
    )
    world.run(*guests)
    world.see(a_gang("w-a", "a", cpu=2), a_gang("w-b", "b", cpu=2))
    return world


def test_the_second_looks_for_another_victim() -> None:
    world = two_owners(a_gang("g1", "guest", cpu=2), a_gang("g2", "guest", cpu=2))

    outcome = world.cycle()

    assert outcome.evicted == {"g1": RECLAIMED, "g2": RECLAIMED}
    assert outcome.victims("w-a") == ["g2"]
    assert outcome.victims("w-b") == ["g1"]


def test_the_second_waits_for_the_same_victim_if_it_leaves_room_for_both() -> None:
    world = two_owners(a_gang("g", "guest", cpu=4))

    outcome = world.cycle()
    world.stop_all()

    assert outcome.victims("w-a") == ["g"]
    assert outcome.waiting == {"w-b": "WaitingForPreemptedWorkloads"}
    assert world.cycle().admitted == ["w-a", "w-b"]


def test_without_a_second_look_the_second_is_put_off() -> None:
    gates = Gates(recompute_assignment_upon_preemption_targets_overlap=False)
    world = two_owners(
        a_gang("g1", "guest", cpu=2), a_gang("g2", "guest", cpu=2), config=Config(gates=gates)
    )

    outcome = world.cycle()

    assert outcome.evicted == {"g2": RECLAIMED}
    assert outcome.waiting == {"w-b": "WaitingForQuota"}
    assert world.heap == ["w-a", "w-b"]


def test_the_second_look_stays_with_the_flavor() -> None:
    """Another flavor may be found next time; this time it was nominated for this one."""
    world = World(
        a_cluster_queue("a", cohort="k", reclaim=ANY, quota={"f": {"cpu": 2}}),
        a_cluster_queue("b", cohort="k", reclaim=ANY, quota={"f": {"cpu": 2}, "g": {"cpu": 2}}),
        a_cluster_queue("guest", cohort="k", quota={"f": {"cpu": 0}, "g": {"cpu": 0}}),
    )
    world.run(a_gang("g1", "guest", cpu=4), flavors="f")
    world.run(a_gang("g2", "guest", cpu=2), flavors="g")
    world.see(a_gang("w-a", "a", cpu=2), a_gang("w-b", "b", cpu=2))

    outcome = world.cycle()

    assert outcome.evicted == {"g1": RECLAIMED}
    assert outcome.waiting == {"w-b": "WaitingForPreemptedWorkloads"}


def test_nobody_is_evicted_for_a_workload_that_loses_another_victim() -> None:
    """Two of three go for a; what is left would not be enough for b, so the third stays."""
    world = World(
        a_cluster_queue("a", cohort="k", cpu=4, reclaim=ANY),
        a_cluster_queue("b", cohort="k", cpu=2, reclaim=ANY, borrow=True),
        a_cluster_queue("c", cohort="k", cpu=0),
    )
    world.run(*(a_gang(name, "c", cpu=2) for name in ("x", "y", "z")))
    world.see(a_gang("w-a", "a", cpu=4, priority=10), a_gang("w-b", "b", cpu=4, priority=5))

    outcome = world.cycle()

    assert len(outcome.evicted) == 2
    assert outcome.victims("w-a") == sorted(outcome.evicted)
    assert world.heap + world.parked == ["w-a", "w-b"]


def test_what_a_preemptor_waits_for_is_not_given_away() -> None:
    """Part of what w takes is free already; it is not for the next one in the same round."""
    world = World(
        a_cluster_queue("q", cohort="k", cpu=4, within=LOWER),
        a_cluster_queue("other", cohort="k", cpu=0),
    )
    world.run(a_gang("low", "q", cpu=2))
    world.see(a_gang("w", "q", cpu=4, priority=1), a_gang("late", "other", cpu=2))

    outcome = world.cycle()

    assert outcome.evicted == {"low": OWN}
    assert outcome.waiting == {"late": "WaitingForQuota"}


def test_what_victims_leave_behind_counts_at_every_level() -> None:
    """What v takes from P makes x cross the quota that P keeps at home, but v is leaving."""
    world = World(
        a_cohort("root", quota={"default": {"cpu": 1}}),
        a_cohort("P", "root", quota={"default": {"cpu": (4, None, 2)}}),
        a_cohort("Q", "P", quota={"default": {"cpu": (0, 0)}}),
        a_cluster_queue("p", cohort="Q", cpu=8, reclaim=ANY),
        a_cluster_queue("q", cohort="Q", cpu=0),
        a_cluster_queue("x", cohort="P", cpu=0),
        a_cluster_queue("y", cohort="root", cpu=0),
    )
    world.run(a_gang("u", "q", cpu=3, priority=9), a_gang("v", "q", cpu=5))
    world.see(a_gang("w-p", "p", cpu=2), a_gang("w-x", "x", cpu=3), a_gang("w-y", "y", cpu=3))

    outcome = world.cycle()

    assert outcome.evicted == {"v": RECLAIMED}
    assert outcome.admitted == ["w-x", "w-y"]


# --- Keeping room for who waits in vain ---


@dataclass(frozen=True, kw_only=True)
class Room:
    """A queue with 4 uses 2 that nobody may evict, in a cohort of 10; its next one waits."""

    name: str
    asks: int
    guest: int
    """What another queue uses."""
    left: int
    """How much a third queue, which comes later, can have in the same round."""
    limit: int | None = None
    reclaim: PreemptionPolicy = NEVER


ROOMS = [
    Room(name="its own quota is kept for it", asks=2, guest=7, left=0),
    Room(name="if it has to borrow, all it asks for", asks=4, guest=5, left=0),
    Room(name="as far as its borrowing limit", asks=4, guest=3, limit=1, left=2),
    Room(name="nothing, if it may reclaim from anybody", asks=4, guest=5, reclaim=ANY, left=3),
    Room(name="nothing for the hopeless", asks=11, guest=3, left=5),
]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
@pytest.mark.parametrize("beyond", [0, 1])
def test_room_is_kept_for_who_waits_in_vain(room: Room, beyond: int) -> None:
    world = World(
        a_cluster_queue("q", cohort="k", cpu=(4, room.limit), within=LOWER, reclaim=room.reclaim),
        a_cluster_queue("guest", cohort="k", cpu=6),
        a_cluster_queue("third", cohort="k", cpu=0),
    )
    world.run(a_gang("firm", "q", cpu=2, priority=9), a_gang("g", "guest", cpu=room.guest))
    world.see(
        a_gang("w", "q", cpu=room.asks, priority=9),
        a_gang("late", "third", cpu=room.left + beyond),
    )

    outcome = world.cycle()

    assert ("late" in outcome.admitted) == (beyond == 0)
    assert "w" in outcome.waiting


# --- Who is not even considered ---

TEAM = LabelSelector((Requirement("team", "Exists"),))


def test_a_check_that_is_to_be_retried_keeps_a_workload_back() -> None:
    world = World(a_cluster_queue("q"))
    workload = a_gang("w", "q")
    world.apply(events.WorkloadSeen(workload, Status(checks=(a_check("c", CheckState.RETRY),))))

    assert world.cycle().waiting == {"w": "PendingEvaluation"}
    assert world.parked == ["w"]


def test_cohorts_in_a_circle_keep_everybody_below_back_until_the_circle_is_cut() -> None:
    world = World(a_cluster_queue("q", cohort="a"), a_cohort("a", "b"), a_cohort("b", "a"))
    world.see(a_gang("w1", "q"), a_gang("w2", "q"))

    outcomes = [world.cycle(), world.cycle(), world.cycle()]

    assert [outcome.waiting for outcome in outcomes] == [
        {"w1": "Suspended"},
        {"w2": "Suspended"},
        {},
    ]
    assert world.parked == ["w1", "w2"]

    world.apply(events.Swept("q"))
    assert world.parked == ["w1", "w2"], "there is nothing new to be told"

    world.see(a_cohort("b"))
    assert world.cycle(rounds=None).admitted == ["w1", "w2"]


def test_a_namespace_that_is_not_selected_keeps_a_workload_back_and_nobody_behind_it() -> None:
    world = World(a_cluster_queue("q", namespace_selector=TEAM, strategy=STRICT))
    world.see(a_gang("w", "q"), a_gang("next", "q"))

    assert world.cycle().waiting == {"w": "Misconfigured"}
    assert (world.parked, world.heap) == (["w"], ["next"])


@pytest.mark.parametrize(
    "selector, text",
    [
        (None, "has no namespaceSelector, so it takes no namespace"),
        (
            LabelSelector((Requirement("team", "In", ("a", "b")),)),
            "excludes default: it wants team In (a, b), the namespace has no label team",
        ),
        (
            LabelSelector((Requirement("kind", "NotIn", ("dev",)),)),
            "excludes default: it wants kind NotIn (dev), the namespace has kind=dev",
        ),
    ],
    ids=["none", "label missing", "label with another value"],
)
def test_a_namespace_is_told_what_the_selector_wants(
    selector: LabelSelector | None, text: str
) -> None:
    world = World(a_cluster_queue("q", namespace_selector=selector))
    world.see(Namespace(name="default", labels={"kind": "dev"}), a_gang("w", "q"))

    [wait] = world.cycle().plan.decisions

    assert isinstance(wait, Wait)
    assert wait.detail.endswith(text)


def test_a_namespace_selector_that_makes_no_sense_keeps_everybody_back() -> None:
    empty = LabelSelector((Requirement("team", "In"),))
    world = World(a_cluster_queue("q", namespace_selector=empty), a_cluster_queue("other"))
    world.see(a_gang("w", "q"), a_gang("elsewhere", "other"))

    outcome = world.cycle()

    assert outcome.admitted == ["elsewhere"]
    waits = outcome.of("w")
    assert isinstance(waits, Wait)
    assert waits.detail == (
        "the namespaceSelector of ClusterQueue q is invalid: "
        "label team: operator In needs at least one value"
    )


def test_a_namespace_that_is_not_there_keeps_a_workload_back() -> None:
    world = World(a_cluster_queue("q"))
    world.apply(events.NamespaceGone("default"))
    world.see(a_gang("w", "q"))

    assert world.cycle().waiting == {"w": "Misconfigured"}


def test_requests_that_contradict_themselves_keep_a_workload_back() -> None:
    world = World(a_cluster_queue("q"))
    world.see(a_gang("w", "q", problem="requests 2 cpu, limited to 1"))

    wait = world.cycle().of("w")

    assert isinstance(wait, Wait)
    assert (wait.reason, wait.detail) == ("Misconfigured", "requests 2 cpu, limited to 1")


# --- The numbers behind a decision ---


def test_an_admission_says_what_is_borrowed() -> None:
    world = World(
        a_cohort("k", quota={"default": {"cpu": 5}}),
        a_cluster_queue("q", cohort="k", cpu=3, checks={"all": (), "other": ("spot",)}),
        AdmissionCheck(name="all"),
        AdmissionCheck(name="other"),
    )
    world.run(a_gang("before", "q", cpu=1))
    world.see(a_gang("w", "q", pods=2, cpu=2))

    admit = world.cycle().of("w")

    assert isinstance(admit, Admit)
    assert admit.grants == (Grant(flavor="default", resource="cpu", amount=4, borrowed=2),)
    assert admit.level == 1
    assert admit.required_checks == ("all",)
    assert world.item("w").status.is_true("QuotaReserved")
    assert not world.item("w").status.is_true("Admitted")


def test_a_refusal_says_what_is_missing_in_every_flavor() -> None:
    world = World(
        a_flavor("spot", node_taints=(a_taint("spot"),)),
        a_cluster_queue("q", cohort="k", quota={"spot": {"cpu": 9}, "f": {"cpu": (2, 1)}}),
        a_cluster_queue("lender", cohort="k", quota={"f": {"cpu": 5}}),
    )
    world.run(a_gang("before", "q", cpu=1), flavors="f")
    world.see(a_gang("w", "q", cpu=3))

    wait = world.cycle().of("w")

    assert isinstance(wait, Wait)
    spot, f = wait.obstacles
    assert (spot.flavor, spot.refusal is not None) == ("spot", True)
    assert f == Obstacle(
        pod_set="main", flavor="f", resource="cpu", asked=3, free=2, nominal=2, potential=3
    )
    assert f.missing == 1


def test_a_preemption_names_its_victims_and_what_they_hold() -> None:
    world = World(FOUR)
    world.run(a_gang("low", "q", cpu=4, priority=-3))
    world.see(a_gang("w", "q", cpu=2, priority=1))

    preempt = world.cycle().of("w")

    assert isinstance(preempt, Preempt)
    (eviction,) = preempt.evictions
    assert (eviction.workload, eviction.uid, eviction.priority) == ("default/low", "uid-low", -3)
    assert eviction.amounts == (Grant(flavor="default", resource="cpu", amount=4),)
    assert preempt.priority == 1
