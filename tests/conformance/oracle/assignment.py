"""Which flavors a workload gets: each is tried for what it would take, the best one is chosen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from tests.conformance.oracle.quota import Snapshot
from tests.conformance.oracle.reading import Group, PodSet, Queue, Tried, Workload, World
from tests.conformance.oracle.values import (
    Amounts,
    Json,
    Pair,
    holds,
    resource_order,
    tolerates,
)
from tests.conformance.oracle.victims import Demand, drop, search

SEVERITY = (
    "TopologyPlacementFailed",
    "WaitingForQuota",
    "ExceedsMaxQuota",
    "NoMatchingFlavor",
)
"""Reasons not to fit, from the one that passes to the one that never does."""
Pins = Sequence[dict[str, str]]


class Mode(IntEnum):
    """How one resource fits into one flavor."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


State = tuple[Mode, int]
"""A mode, and how far up it borrows."""


@dataclass
class Given:
    """What one pod set gets."""

    name: str
    flavors: dict[str, str]
    usage: dict[str, int]
    count: int


@dataclass
class Assignment:
    mode: str = "Fit"
    level: int = 0
    usage: Amounts = field(default_factory=dict)
    preempts: list[Pair] = field(default_factory=list)
    tried: Tried = field(default_factory=list)
    pod_sets: list[Given] = field(default_factory=list)
    reason: str = ""


@dataclass
class _Found:
    """What has been found for one pod set so far."""

    states: dict[Pair, State] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)


class Assigner:
    """Assigns flavors to one workload; `resume` says where an earlier search stopped."""

    def __init__(
        self, world: World, snapshot: Snapshot, queue: Queue, workload: Workload, resume: Tried
    ) -> None:
        self.world = world
        self.snapshot = snapshot
        self.queue = queue
        self.workload = workload
        self.resume = resume
        self.fungible = world.gates["FlavorFungibility"]
        self.node = ("q", queue.name)

    def assign(
        self, asked: Sequence[dict[str, int]], counts: Sequence[int], pins: Pins | None
    ) -> Assignment:
        """Return the assignment for these totals; `pins` allow only the flavors they name."""
        result = Assignment()
        for index, pod_set in enumerate(self.workload.pod_sets):
            requests = dict(asked[index])
            if any("pods" in group.resources for group in self.queue.groups):
                requests["pods"] = counts[index]
            found = _Found()
            if not self._pod_set(result, index, requests, pins, found):
                result.mode = "NoFit"
                result.reason = max(found.reasons or ["NoMatchingFlavor"], key=SEVERITY.index)
                return result
            for pair, (mode, level) in found.states.items():
                result.usage[pair] = result.usage.get(pair, 0) + requests[pair[1]]
                result.level = max(result.level, level)
                if mode != Mode.FIT:
                    result.mode = "Preempt"
                    result.preempts += [pair] if pair not in result.preempts else []
            result.tried.append(found.tried)
            flavors = {resource: flavor for flavor, resource in found.states}
            usage = {resource: requests[resource] for resource in flavors}
            result.pod_sets.append(Given(pod_set.name, flavors, usage, counts[index]))
        return result

    def _pod_set(
        self,
        result: Assignment,
        index: int,
        requests: dict[str, int],
        pins: Pins | None,
        found: _Found,
    ) -> bool:
        """Fill in what the resources of a pod set get, and return whether all get something."""
        for resource in sorted(requests, key=resource_order):
            if resource in found.tried:
                continue
            group = next((g for g in self.queue.groups if resource in g.resources), None)
            if group is None:
                if requests[resource] > 0:
                    return False
                continue
            needs = {r: requests[r] for r in group.resources if r in requests}
            flavors = list(enumerate(group.flavors))
            if self.fungible and index < len(self.resume):
                flavors = flavors[self.resume[index].get(resource, -1) + 1 :]
            if pins is not None:
                pinned = pins[index].get(resource)
                flavors = [each for each in flavors if each[1] == pinned]
            pod_set = self.workload.pod_sets[index]
            best, last = self._choose(result, pod_set, needs, flavors, found.reasons)
            if best is None:
                return False
            found.states.update(best)
            found.tried.update(dict.fromkeys(needs, self._stopped_at(group, last)))
        return True

    def _stopped_at(self, group: Group, last: int | None) -> int:
        if not self.fungible:
            return 0
        return -1 if last is None or last == len(group.flavors) - 1 else last

    def _choose(
        self,
        result: Assignment,
        pod_set: PodSet,
        needs: dict[str, int],
        flavors: Iterable[tuple[int, str]],
        reasons: list[str],
    ) -> tuple[dict[Pair, State] | None, int | None]:
        """Return the states of the best flavor, and where the search stopped early."""
        best: dict[Pair, State] | None = None
        best_state: State = (Mode.NO_FIT, 0)
        refusals: list[str] = []
        stopped: int | None = None
        for index, flavor in flavors:
            if not self._eligible(pod_set.spec, flavor):
                refusals.append("NoMatchingFlavor")
                continue
            states: dict[Pair, State] = {}
            causes: list[str] = []
            for resource, need in needs.items():
                pair = (flavor, resource)
                asked = need + result.usage.get(pair, 0)
                states[pair], cause = self._mode(pair, asked)
                causes += [cause] if cause else []
            worst = self._worst(states.values())
            if worst[0] == Mode.NO_FIT:
                refusals.append(max(causes, key=SEVERITY.index))
                continue
            if self._stops(worst):
                best, stopped = states, index
                break
            if best is None or self._better(worst, best_state):
                best, best_state = states, worst
        if refusals:
            reasons.append(min(refusals, key=SEVERITY.index))
        return best, stopped

    def _eligible(self, spec: Json, name: str) -> bool:
        flavor = self.world.flavors.get(name)
        if flavor is None:
            return False
        tolerations = [*(spec.get("tolerations") or []), *(flavor.get("tolerations") or [])]
        for taint in flavor.get("nodeTaints") or []:
            keeps_out = taint["effect"] in ("NoSchedule", "NoExecute")
            if keeps_out and not any(tolerates(each, taint) for each in tolerations):
                return False
        labels = flavor.get("nodeLabels") or {}
        for key, value in (spec.get("nodeSelector") or {}).items():
            if key in labels and labels[key] != value:
                return False
        affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
        terms = required.get("nodeSelectorTerms") or []
        return not terms or any(
            all(holds(e, labels) for e in term.get("matchExpressions") or [] if e["key"] in labels)
            for term in terms
        )

    def _mode(self, pair: Pair, asked: int) -> tuple[State, str | None]:
        """Return how a request fits, and why not if it does not."""
        tree, snapshot, node = self.snapshot.tree, self.snapshot, self.node
        if asked > tree.potential(node, pair):
            return (Mode.NO_FIT, 0), "ExceedsMaxQuota"
        level, below_root = snapshot.level(node, pair, asked)
        if asked <= max(0, snapshot.available(node, pair)):
            return (Mode.FIT, level), None
        reclaims = self.world.fair and self.queue.policy("reclaimWithinCohort") != "Never"
        nominal = tree.own(node, pair).nominal >= asked
        if not (nominal or below_root or self.queue.borrows_to_preempt or reclaims):
            return (Mode.NO_FIT, 0), "WaitingForQuota"
        demand = Demand(self.queue, self.workload, [pair], {pair: asked})
        victims = search(self.world, snapshot, demand)
        if not victims:
            return (Mode.NO_CANDIDATES, level), None
        after = snapshot.copy()
        for victim, _ in victims:
            drop(after, victim)
        level, _ = after.level(node, pair, asked)
        own = any(victim.holds_in == self.queue.name for victim, _ in victims)
        return (Mode.PREEMPT if own else Mode.RECLAIM, level), None

    def _worst(self, states: Iterable[State]) -> State:
        [worst, *others] = states
        for state in others:
            if self._better(worst, state):
                worst = state
        return worst

    def _better(self, left: State, right: State) -> bool:
        """Whether the first of two states is preferred; of equals, none is."""
        if Mode.NO_FIT in (left[0], right[0]):
            return left[0] != Mode.NO_FIT
        if not self.fungible:
            return left[0] > right[0]
        hopeless = Mode.NO_CANDIDATES
        if (left[0] == hopeless) != (right[0] == hopeless):
            return right[0] == hopeless
        if self._fungibility("preference", "") == "PreemptionOverBorrowing":
            return (left[1], -left[0]) < (right[1], -right[0])
        return (-left[0], left[1]) < (-right[0], right[1])

    def _stops(self, state: State) -> bool:
        """Whether the search for a flavor ends with a state."""
        mode, level = state
        if mode <= Mode.NO_CANDIDATES:
            return False
        if not self.fungible:
            return mode == Mode.FIT
        when_preempt = self._fungibility("whenCanPreempt", "TryNextFlavor")
        when_borrow = self._fungibility("whenCanBorrow", "MayStopSearch")
        goes_on = mode != Mode.FIT and when_preempt == "TryNextFlavor"
        return not (goes_on or (level > 0 and when_borrow == "TryNextFlavor"))

    def _fungibility(self, name: str, default: str) -> str:
        return str((self.queue.spec.get("flavorFungibility") or {}).get(name, default))
