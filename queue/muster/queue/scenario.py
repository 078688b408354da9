"""
Scenarios: a small world, a number of cycles, and what became of it; one JSON document each.

A scenario replays what the scheduler of the peer does between two writes to the API server: cycles
with nothing but evicted workloads leaving in between. Nobody finishes, nothing arrives, admission
checks stay as they are, LimitRanges and RuntimeClasses are not applied. Its outcome says which
conditions and admissions the workloads ended up with, and who waits where.

Objects are taken as stored: what a webhook would have refused may be in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import orjson
from pydantic import ValidationError

from muster.admission import events, objects
from muster.admission.conditions import QUOTA_RESERVED
from muster.admission.config import Config
from muster.admission.cycle import decide
from muster.admission.pending import Group
from muster.admission.records import Item
from muster.admission.state import State
from muster.queue.api.problems import describe
from muster.queue.api.quantities import amount_quantity
from muster.queue.api.registry import ApiObject, KindError, kind_of, parse_object
from muster.queue.api.schema import ApiModel, Count, Items, Timestamp, empty_map
from muster.queue.api.timestamps import parse_timestamp
from muster.queue.api.v1beta1 import upgrade
from muster.queue.api.workload import Workload
from muster.queue.planning import SECOND_US, release_evicted
from muster.queue.translate import policy, workloads
from muster.queue.translate.pods import PodRules
from muster.queue.translate.structure import structure

Outcome = dict[str, Any]


class ScenarioConfig(ApiModel):
    fair_sharing: bool = False
    preemption_strategies: Items[
        Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    ] = ()
    feature_gates: dict[str, bool] = empty_map()


class Scenario(ApiModel):
    name: str
    now: Timestamp
    """When the first cycle happens; each further one is a second later."""
    cycles: Count
    """How many cycles at the most; they end when nobody is left to look at."""
    config: ScenarioConfig = ScenarioConfig()
    objects: Items[dict[str, Any]]
    """API objects, whole."""
    changed: Any = None
    """A remark for people."""


class ScenarioError(ValueError):
    """The text is no scenario; the message says where and why."""


def parse(line: bytes | str) -> Scenario:
    """Return the scenario in one JSON document, which may be a case with a recorded outcome."""
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ScenarioError(f"not JSON: {error}") from None
    if isinstance(document, dict) and "scenario" in document:
        document = document["scenario"]
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        raise ScenarioError(_told(error, Scenario)) from None


def replay(scenario: Scenario, *, rounds_max: int | None = None) -> Outcome:
    """Return what becomes of a scenario. Raises ScenarioError when an object cannot be read."""
    models = tuple(_read(scenario.objects))
    now_us = parse_timestamp(scenario.now)
    state = State(_config(scenario.config))
    _load(state, models, now_us)
    cycles = 0
    for cycle in range(scenario.cycles):
        if cycle > 0:
            release_evicted(state, now_us)
            state.settle(now_us)
            now_us += SECOND_US
        if not state.has_heads:
            break
        plan = decide(state, now_us, rounds_max=rounds_max)
        state.apply(events.PlanAccepted(plan), now_us)
        cycles += 1
    return _outcome(scenario.name, cycles, state)


# --- In ------------------------------------------------------------------------------------------


def _config(model: ScenarioConfig) -> Config:
    strategies = policy.fair_sharing(model.preemption_strategies) if model.fair_sharing else None
    return Config(fair_sharing=strategies, gates=policy.gates(model.feature_gates))


def _read(documents: Sequence[Mapping[str, Any]]) -> Iterator[ApiObject]:
    for index, document in enumerate(documents):
        try:
            yield parse_object(document, stored=True)
        except KindError as error:
            raise ScenarioError(f"objects[{index}]: {error}") from None
        except ValidationError as error:
            metadata = document.get("metadata")
            name = metadata.get("name", "") if isinstance(metadata, dict) else ""
            told = _told(error, kind_of(upgrade(dict(document)).document).model)
            raise ScenarioError(f"objects[{index}] ({document['kind']} {name}): {told}") from None


def _told(error: ValidationError, model: type[Any]) -> str:
    return "; ".join(str(problem) for problem in describe(error, model))


def _load(state: State, models: Sequence[ApiObject], now_us: int) -> None:
    """
    Report all objects in the order in which a starting scheduler takes them in.

    Waiting workloads exist before their LocalQueues are seen, so these fill the heaps with them, be
    their back-off over or not.
    """
    world = structure(models)
    rules, birth = PodRules(), workloads.Birth()
    seen = [
        events.WorkloadSeen(workloads.workload(model, rules, birth), workloads.status(model))
        for model in models
        if isinstance(model, Workload)
    ]
    for event in chain(
        world.quota_events(),
        (each for each in seen if not each.status.is_true(QUOTA_RESERVED)),
        world.local_queue_events(),
        (each for each in seen if each.status.is_true(QUOTA_RESERVED)),
    ):
        state.apply(event, now_us)
    state.settle(now_us)


# --- Out -----------------------------------------------------------------------------------------


def _outcome(name: str, cycles: int, state: State) -> Outcome:
    return {
        "name": name,
        "cycles": cycles,
        "workloads": {key: _result(state.items[key]) for key in sorted(state.items)},
        "heap": _waiting(state, lambda group: group.waiting),
        "inadmissible": _waiting(state, lambda group: group.parked),
    }


def _result(item: Item) -> dict[str, Any]:
    status = item.status
    result: dict[str, Any] = {
        "conditions": {
            kind: [str(condition.status), str(condition.reason)]
            for kind, condition in sorted(status.conditions.items())
        }
    }
    if status.admission is not None:
        result["admission"] = _admission(status.admission)
    return result


def _admission(admission: objects.Admission) -> dict[str, Any]:
    return {
        "clusterQueue": admission.cluster_queue,
        "podSetAssignments": [
            {
                "name": each.name,
                "flavors": dict(each.flavors),
                "resourceUsage": {
                    resource: amount_quantity(resource, amount)
                    for resource, amount in each.usage.items()
                },
                "count": each.count,
            }
            for each in admission.pod_sets
        ],
    }


def _waiting(state: State, members: Callable[[Group], list[Item]]) -> dict[str, list[str]]:
    found = {
        name: sorted(
            item.workload.key
            for group in state.queues[name].pending.groups.values()
            for item in members(group)
        )
        for name in sorted(state.queues)
    }
    return {name: keys for name, keys in found.items() if keys}
