"""The engine agrees with its second definition, on what was recorded and on what nobody recorded.

Every mutation is a test of its own: the name of one that fails is how to run it again, as in
`pytest 'tests/conformance/test_oracle.py::test_one_round_decides_as_the_oracle[1234]'`.
"""

import json
from functools import cache
from typing import Any

import pytest

from muster.queue import scenario
from tests.conformance import oracle
from tests.conformance.comparison import differences
from tests.conformance.mutations import Document, mutated, objects
from tests.conformance.oracle.cycle import Scheduler
from tests.conformance.oracle.quota import Node, Snapshot
from tests.conformance.oracle.reading import Workload, World
from tests.conformance.oracle.values import Pair, plus, selects
from tests.conformance.test_recorded import SAMPLE, WHERE_WE_DIFFER, cases

SEEDS = range(400)
CYCLES_ENOUGH = 200
"""Cycles after which nobody is left to look at, in scenarios without preemption."""


@cache
def sample() -> tuple[Document, ...]:
    return tuple(case["scenario"] for case in cases(SAMPLE))


def decided(document: Document, *, rounds_max: int | None) -> scenario.Outcome:
    return scenario.replay(scenario.parse(json.dumps(document)), rounds_max=rounds_max)


def shown(document: Document, found: object) -> str:
    return f"{document['name']}, changed by {document['changed']}: {found}"


def test_the_oracle_decides_as_recorded() -> None:
    differing = [
        case["scenario"]["name"]
        for case in cases(SAMPLE)
        if differences(case["outcome"], oracle.run(case["scenario"]))
    ]

    known = [case["scenario"]["name"] for case in cases(SAMPLE)]
    assert sorted(differing) == sorted(name for name in WHERE_WE_DIFFER if name in known)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_round_decides_as_the_oracle(seed: int) -> None:
    document = mutated(sample(), seed)

    found = differences(oracle.run(document), decided(document, rounds_max=1))

    assert found == {}, shown(document, found)


# --- Many rounds ---------------------------------------------------------------------------------


def ended(document: Document, outcome: scenario.Outcome) -> Document:
    """Return the scenario as it is after an outcome: its objects with what was decided."""
    after: Document = json.loads(json.dumps(document))
    for workload in objects(after, "Workload"):
        metadata = workload["metadata"]
        result = outcome["workloads"][f"{metadata['namespace']}/{metadata['name']}"]
        status = workload.setdefault("status", {})
        status.pop("admission", None)
        if "admission" in result:
            status["admission"] = result["admission"]
        status["conditions"] = [
            {"type": kind, "status": value, "reason": why, "lastTransitionTime": document["now"]}
            for kind, (value, why) in result["conditions"].items()
        ]
    return after


def snapshot(document: Document) -> Snapshot:
    scheduler = Scheduler(World(document))
    return Snapshot(scheduler.tree, scheduler.used, scheduler.holders)


def exceeded(used: Snapshot) -> dict[tuple[Node, Pair], int]:
    """Return where more is used than quota and what may be borrowed, and how much."""
    tree = used.tree
    found: dict[tuple[Node, Pair], int] = {}
    for node in (node for node in tree.members if node not in tree.cyclic):
        for pair in {**dict.fromkeys(tree.pairs(node)), **_used_pairs(used, node)}:
            borrowing = 0 if tree.parent(node) is None else tree.own(node, pair).borrowing
            usage = used.usage(node, pair)
            quota = tree.subtree_quota(node, pair)
            if borrowing is not None and usage > plus(quota, borrowing):
                found[node, pair] = usage
    return found


def _used_pairs(used: Snapshot, node: Node) -> dict[Pair, None]:
    below = (each for each in used.tree.below(node) if each[0] == "q")
    return {pair: None for _, name in below for pair in used.used[name]}


def may_be_admitted(world: World, workload: Workload) -> bool:
    queue = world.queue_of(workload)
    labels = world.namespaces.get(workload.namespace)
    if queue is None or labels is None or queue.name not in world.tree.active:
        return False
    asks_well = workload.queueable and not workload.problem
    return asks_well and selects(queue.spec.get("namespaceSelector"), labels)


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_all_rounds_end_where_everything_fits(seed: int) -> None:
    document = mutated(sample(), seed)
    before = snapshot(document)

    after = snapshot(ended(document, decided(document, rounds_max=None)))

    more = {
        where: usage for where, usage in exceeded(after).items() if usage > before.usage(*where)
    }
    assert more == {}, shown(document, more)


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_all_rounds_admit_only_who_may_be(seed: int) -> None:
    document = mutated(sample(), seed)
    world = World(document)

    outcome = decided(document, rounds_max=None)

    wrong = [
        key
        for key, workload in world.workloads.items()
        if not workload.true("QuotaReserved")
        and outcome["workloads"][key].get("admission")
        and not may_be_admitted(world, workload)
    ]
    assert wrong == [], shown(document, wrong)


def without_preemption(document: Document) -> Document:
    """Return a scenario in which nobody leaves, so that order is all that matters."""
    for queue in objects(document, "ClusterQueue"):
        queue["spec"]["preemption"] = {}
    for workload in objects(document, "Workload"):
        status: dict[str, Any] = workload.get("status") or {}
        leaving = [c for c in status.get("conditions", []) if c["type"] == "Evicted"]
        for condition in leaving:
            status["conditions"].remove(condition)
        status.pop("requeueState", None)
    return document


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_one_decision_admits_whom_many_cycles_admit(seed: int) -> None:
    document = without_preemption(mutated(sample(), seed))

    one_by_one = oracle.run({**document, "cycles": CYCLES_ENOUGH})
    at_once = decided({**document, "cycles": 1}, rounds_max=None)

    found = {
        where: pair
        for where, pair in differences(one_by_one, at_once).items()
        if where[1] == "admission"
    }
    assert found == {}, shown(document, found)
