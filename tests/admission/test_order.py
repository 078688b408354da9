"""In which order the heads of queues are processed: by need, importance and age, or by share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission.amounts import FlavorResource
from muster.admission.config import Config, Gates
from muster.admission.objects import ClusterQueue, Cohort, Workload
from tests.admission import oracle
from tests.admission.builders import LOWER, a_cluster_queue, a_cohort, a_gang
from tests.admission.oracle import Own, Trees
from tests.admission.world import FAIR, World

DEFAULT = Config()


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    queues: list[ClusterQueue | Cohort]
    heads: list[Workload]
    order: list[str]
    running: tuple[Workload, ...] = ()
    config: Config = DEFAULT


def processed(case: Case) -> list[str]:
    world = World(*case.queues, config=case.config)
    world.run(*case.running)
    world.see(*case.heads)
    return world.cycle().decided


def roomy(*names: str) -> list[ClusterQueue | Cohort]:
    """Queues that fit anything."""
    return [a_cluster_queue(name, cpu=100) for name in names]


CLASSICAL = [
    Case(
        name="who borrows less far goes first, however unimportant",
        queues=[
            a_cohort("near", "root", quota={"default": {"cpu": 9}}),
            a_cohort("root", quota={"default": {"cpu": 9}}),
            a_cluster_queue("far", cohort="root", cpu=0),
            a_cluster_queue("team", cohort="near", cpu=0),
            a_cluster_queue("own", cohort="near", cpu=2),
        ],
        heads=[
            a_gang("w-far", "far", cpu=1, priority=9, created_s=1),
            a_gang("w-team", "team", cpu=1, priority=5, created_s=2),
            a_gang("w-own", "own", cpu=1, created_s=3),
        ],
        order=["w-own", "w-team", "w-far"],
    ),
    Case(
        name="then the more important",
        queues=roomy("a", "b"),
        heads=[a_gang("old", "a", created_s=1), a_gang("high", "b", created_s=2, priority=1)],
        order=["high", "old"],
    ),
    Case(
        name="then the older",
        queues=roomy("a", "b"),
        heads=[a_gang("new", "a", created_s=2), a_gang("old", "b", created_s=1)],
        order=["old", "new"],
    ),
    Case(
        name="and of twins the smaller UID",
        queues=roomy("a", "b"),
        heads=[
            a_gang("x", "a", uid="2", created_s=1),
            a_gang("y", "b", uid="1", created_s=1),
        ],
        order=["y", "x"],
    ),
    Case(
        name="age alone, if priority does not count across queues",
        queues=roomy("a", "b"),
        heads=[a_gang("old", "a", created_s=1), a_gang("high", "b", created_s=2, priority=1)],
        config=Config(gates=Gates(priority_sorting_within_cohort=False)),
        order=["old", "high"],
    ),
]


def a_pool(cpu: int) -> Cohort:
    return a_cohort("k", quota={"default": {"cpu": cpu}})


def sharing(**gates: bool) -> Config:
    return replace(FAIR, gates=Gates(**gates))


FAIRLY = [
    Case(
        name="who does not borrow, then the smaller share afterwards, whatever the priority",
        queues=[
            a_pool(5),
            a_cluster_queue("a", cohort="k", cpu=0),
            a_cluster_queue("b", cohort="k", cpu=0),
            a_cluster_queue("d", cohort="k", cpu=5),
        ],
        running=(a_gang("a0", "a", cpu=2),),
        heads=[
            a_gang("w-a", "a", cpu=2, priority=5),
            a_gang("w-b", "b", cpu=5, priority=9),
            a_gang("w-d", "d", cpu=5),
        ],
        config=FAIR,
        order=["w-d", "w-a", "w-b"],
    ),
    Case(
        name="what is borrowed of another resource does not count against the own quota",
        queues=[
            a_cohort("k", quota={"default": {"gpu": 9, "cpu": 0}}),
            a_cluster_queue("a", cohort="k", quota={"default": {"cpu": 5, "gpu": 0}}),
            a_cluster_queue("b", cohort="k", quota={"default": {"cpu": 5, "gpu": 0}}),
        ],
        running=(
            a_gang("a0", "a", requests={"gpu": 5}),
            a_gang("b0", "b", cpu=5),
        ),
        heads=[a_gang("w-b", "b", cpu=1, created_s=1), a_gang("w-a", "a", cpu=1, created_s=2)],
        config=FAIR,
        order=["w-a", "w-b"],
    ),
    Case(
        name="unless only shares count",
        queues=[
            a_cohort("k", quota={"default": {"gpu": 9, "cpu": 0}}),
            a_cluster_queue("a", cohort="k", quota={"default": {"cpu": 5, "gpu": 0}}),
            a_cluster_queue("b", cohort="k", quota={"default": {"cpu": 5, "gpu": 0}}),
        ],
        running=(
            a_gang("a0", "a", requests={"gpu": 5}),
            a_gang("b0", "b", cpu=5),
        ),
        heads=[a_gang("w-b", "b", cpu=1, created_s=1), a_gang("w-a", "a", cpu=1, created_s=2)],
        config=sharing(fair_sharing_prioritize_non_borrowing=False),
        order=["w-b", "w-a"],
    ),
    Case(
        name="a share is divided by the weight",
        queues=[
            a_pool(12),
            a_cluster_queue("a", cohort="k", cpu=0),
            a_cluster_queue("b", cohort="k", cpu=0, weight=Fraction(3)),
        ],
        heads=[a_gang("w-a", "a", cpu=2), a_gang("w-b", "b", cpu=5)],
        config=FAIR,
        order=["w-b", "w-a"],
    ),
    Case(
        name="of equal shares the more important",
        queues=[
            a_pool(12),
            a_cluster_queue("a", cohort="k", cpu=0),
            a_cluster_queue("b", cohort="k", cpu=0),
        ],
        heads=[a_gang("old", "a", cpu=2), a_gang("high", "b", cpu=2, priority=1)],
        config=FAIR,
        order=["high", "old"],
    ),
    Case(
        name="of equal shares and importance the older",
        queues=[
            a_pool(12),
            a_cluster_queue("a", cohort="k", cpu=0),
            a_cluster_queue("b", cohort="k", cpu=0),
        ],
        heads=[
            a_gang("new", "a", cpu=2, created_s=2),
            a_gang("old", "b", cpu=2, created_s=1),
        ],
        config=FAIR,
        order=["old", "new"],
    ),
    Case(
        name="teams first: the winner of each stands for it",
        queues=[
            a_cohort("root", quota={"default": {"cpu": 20}}),
            a_cohort("left", "root"),
            a_cohort("right", "root"),
            *(a_cluster_queue(name, cohort="left", cpu=0) for name in ("a", "b")),
            *(a_cluster_queue(name, cohort="right", cpu=0) for name in ("x", "y")),
        ],
        running=(a_gang("a0", "a", cpu=4), a_gang("x0", "x", cpu=3)),
        heads=[
            a_gang("w-a", "a", cpu=1),
            a_gang("w-b", "b", cpu=1),
            a_gang("w-x", "x", cpu=3),
            a_gang("w-y", "y", cpu=4),
        ],
        config=FAIR,
        # left: b (1) before a (5); right: y (4) before x (6). Teams: 5 against 7, then 6 against 7,
        # then y alone and x.
        order=["w-b", "w-a", "w-y", "w-x"],
    ),
]


@pytest.mark.parametrize("case", [*CLASSICAL, *FAIRLY], ids=lambda case: case.name)
def test_order(case: Case) -> None:
    assert processed(case) == case.order


@pytest.mark.parametrize("first, want", [(False, "other"), (True, "w")])
def test_who_waits_for_victims_may_go_first(first: bool, want: str) -> None:
    """Room came up elsewhere in the cohort while w waits: it is w's if preemptors go first."""
    config = Config(gates=Gates(prioritize_preemptor_workloads=first))
    world = World(
        a_cluster_queue("q", cohort="k", cpu=4, within=LOWER),
        a_cluster_queue("r", cohort="k", cpu=4),
        config=config,
    )
    world.run(a_gang("low", "q", cpu=4), a_gang("r0", "r", cpu=4))
    world.see(a_gang("w", "q", cpu=4, priority=1))
    assert world.cycle().evicted == {"low": "InClusterQueue"}
    world.see(a_gang("other", "r", cpu=4, priority=9))
    world.finish("r0")

    assert world.cycle().admitted[:1] == [want]


# --- The tournament once more, held anew for every entry ---


@dataclass(frozen=True)
class Entry:
    """What one queue asks of one pair, and what breaks a tie."""

    queue: str
    amount: int
    priority: int
    created: int


def next_of(trees: Trees, entries: Mapping[str, Entry], weights: Mapping[str, Fraction]) -> Entry:
    """Hold a tournament by its definition."""

    def standing(entry: Entry, child: str) -> tuple[object, ...]:
        used = {**trees.used, entry.queue: trees.used.get(entry.queue, 0) + entry.amount}
        after = replace(trees, used=used)
        over = oracle.used(after, child) > oracle.subtree(after, child)
        pair = {FlavorResource("default", "cpu"): after}
        share = oracle.share(pair, child, weights[child])
        raw = oracle.share(pair, child, Fraction(1))
        infinite = share is None
        value = raw if share is None else share
        return over, infinite, value, -entry.priority, entry.created

    def winner(cohort: str) -> Entry | None:
        contenders: list[tuple[tuple[object, ...], Entry]] = []
        for child in trees.children(cohort):
            entry = entries.get(child) if child in trees.queues else winner(child)
            if entry is not None:
                contenders.append((standing(entry, child), entry))
        return min(contenders, key=lambda contender: contender[0])[1] if contenders else None

    found = winner("root")
    assert found is not None
    return found


@st.composite
def contests(draw: st.DrawFn) -> tuple[Trees, list[Entry], dict[str, Fraction]]:
    """A tree with room for everybody; every queue has one entry."""
    teams = ("left", "right")
    queues = ("a", "b", "c", "d", "e")
    parents = {"left": "root", "right": draw(st.sampled_from(("root", "left")))}
    parents |= {queue: draw(st.sampled_from(("root", *teams))) for queue in queues}
    small = st.integers(0, 3)
    owns = {"root": Own(nominal=100), **{node: Own(nominal=draw(small)) for node in teams + queues}}
    used = {queue: draw(small) for queue in queues}
    ages = draw(st.permutations(range(1, len(queues) + 1)))
    entries = [
        Entry(queue, draw(st.integers(1, 3)), draw(st.integers(0, 1)), age)
        for queue, age in zip(queues, ages, strict=True)
    ]
    weight = st.sampled_from((Fraction(1), Fraction(1), Fraction(2), Fraction(0)))
    weights = {node: draw(weight) for node in owns}
    return Trees(parents=parents, owns=owns, queues=queues, used=used), entries, weights


@given(contest=contests())
def test_the_tournament_is_as_defined(
    contest: tuple[Trees, list[Entry], dict[str, Fraction]],
) -> None:
    trees, entries, weights = contest
    world = World(config=FAIR)
    for node, own in trees.owns.items():
        limits = {"default": {"cpu": own.nominal}}
        if node in trees.queues:
            above = trees.parent(node)
            world.see(a_cluster_queue(node, cohort=above, quota=limits, weight=weights[node]))
        else:
            world.see(a_cohort(node, trees.parent(node), quota=limits, weight=weights[node]))
    world.run(*(a_gang(f"{q}0", q, cpu=n) for q, n in trees.used.items() if n))
    world.see(
        *(
            a_gang(f"w-{e.queue}", e.queue, cpu=e.amount, priority=e.priority, created_s=e.created)
            for e in entries
        )
    )

    found = world.cycle().decided

    left = {entry.queue: entry for entry in entries}
    wanted = []
    while left:
        entry = next_of(trees, left, weights)
        wanted.append(f"w-{entry.queue}")
        del left[entry.queue]
        trees = replace(
            trees,
            used={**trees.used, entry.queue: trees.used.get(entry.queue, 0) + entry.amount},
        )
    assert found == wanted
