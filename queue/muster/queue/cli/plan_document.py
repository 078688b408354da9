"""
The answer of `muster plan` for programs: one object, in JSON or YAML.

Its form is stable: fields may be added, none changes its name or meaning. Quantities are written as
in the API, workloads are named by the object they were made from. `docs/reference/plan.md` lists
the fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
import yaml

from muster.admission import explain
from muster.admission.explain import Explanation, View
from muster.admission.plan import Admit, Eviction, Grant, Obstacle, Preempt, Wait
from muster.admission.queries import Standing, quota_use
from muster.queue.api.quantities import amount_quantity
from muster.queue.api.timestamps import format_timestamp
from muster.queue.cli.plan_text import view_of
from muster.queue.planning import Forecast
from muster.queue.world import World

Document = dict[str, Any]


def written(forecast: Forecast, world: World, notes: Iterable[str], *, yaml_form: bool) -> str:
    """Return the answer as text that ends with a line break."""
    answer = document(forecast, world, notes)
    if yaml_form:
        return yaml.safe_dump(answer, sort_keys=False, allow_unicode=True, width=100)
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(answer, option=options).decode()


def document(forecast: Forecast, world: World, notes: Iterable[str]) -> Document:
    """Return the answer as JSON values; `notes` are about what is not supported yet."""
    view = view_of(forecast, world)
    answer = _Answer(forecast, world, view)
    admitted = [answer.admission(*each) for each in forecast.admissions()]
    preempted = [answer.eviction(*each) for each in forecast.evictions()]
    waiting = [answer.wait(each) for each in forecast.waits()]
    waiting += [answer.standing(each) for each in forecast.standings()]
    return {
        "apiVersion": "muster.dev/v1",
        "kind": "Plan",
        "now": format_timestamp(forecast.plans[0].now_us),
        "cycles": len(forecast.plans),
        "rounds": sum(plan.rounds for plan in forecast.plans),
        "summary": {
            "admitted": len(admitted),
            "preempted": len(preempted),
            "waiting": len(waiting),
        },
        "admitted": admitted,
        "preempted": preempted,
        "waiting": waiting,
        "clusterQueues": [answer.queue(name) for name in sorted(forecast.state.queues)],
        "leftOut": dict(sorted(world.left_out.items())),
        "notes": list(notes),
    }


class _Answer:
    def __init__(self, forecast: Forecast, world: World, view: View) -> None:
        self._forecast = forecast
        self._world = world
        self._view = view

    def _named(self, key: str) -> Document:
        model = self._world.submitted[key]
        namespace, workload = key.split("/", 1)
        return {
            "kind": model.kind,
            "namespace": namespace,
            "name": model.metadata.name,
            "workload": workload,
            "localQueue": self._forecast.state.items[key].workload.local_queue,
        }

    def admission(self, cycle: int, decision: Admit) -> Document:
        asked = {
            pod_set.name: pod_set.count
            for pod_set in self._forecast.state.items[decision.workload].workload.pod_sets
        }
        return {
            **self._named(decision.workload),
            "clusterQueue": decision.cluster_queue,
            "cycle": cycle,
            "podSets": [
                {
                    "name": each.name,
                    "count": each.count,
                    "asked": asked[each.name],
                    "flavors": dict(each.flavors),
                    "resourceUsage": {
                        resource: amount_quantity(resource, amount)
                        for resource, amount in each.usage.items()
                    },
                }
                for each in decision.admission.pod_sets
            ],
            "grants": _grants(decision.grants),
            "admissionChecks": list(decision.required_checks),
            "explanation": str(explain.admitted(decision)),
        }

    def eviction(self, cycle: int, preemption: Preempt, eviction: Eviction) -> Document:
        now_us = self._forecast.plans[cycle - 1].now_us
        return {
            **self._named(eviction.workload),
            "clusterQueue": eviction.cluster_queue,
            "cycle": cycle,
            "reason": str(eviction.reason),
            "priority": eviction.priority,
            "amounts": _grants(eviction.amounts),
            "for": {
                **self._named(preemption.workload),
                "clusterQueue": preemption.cluster_queue,
                "priority": preemption.priority,
            },
            "explanation": str(explain.preempted(eviction, preemption, self._view, now_us)),
        }

    def wait(self, decision: Wait | Preempt) -> Document:
        if isinstance(decision, Preempt):
            return self._waiting(
                decision.workload,
                decision.cluster_queue,
                reason="WaitingForPreemptedWorkloads",
                explanation=explain.preempting(decision, self._view),
            )
        return self._waiting(
            decision.workload,
            decision.cluster_queue,
            reason=str(decision.reason),
            explanation=explain.waiting(decision, self._view),
            obstacles=decision.obstacles,
        )

    def standing(self, found: Standing) -> Document:
        return self._waiting(
            found.workload,
            found.cluster_queue,
            reason=None,
            explanation=explain.standing(found, self._view, self._forecast.now_us),
        )

    def _waiting(
        self,
        key: str,
        cluster_queue: str | None,
        *,
        reason: str | None,
        explanation: Explanation,
        obstacles: Iterable[Obstacle] = (),
    ) -> Document:
        return {
            **self._named(key),
            "clusterQueue": cluster_queue,
            "reason": reason,
            "place": self._forecast.state.items[key].place.value,
            "obstacles": [_obstacle(each) for each in obstacles],
            "explanation": str(explanation),
        }

    def queue(self, name: str) -> Document:
        state = self._forecast.state
        queue = state.queues[name]
        return {
            "name": name,
            "cohort": queue.spec.cohort,
            "active": queue.active,
            "inactiveReason": queue.inactive_reason,
            "quota": [
                {
                    "flavor": use.flavor,
                    "resource": use.resource,
                    "nominal": amount_quantity(use.resource, use.nominal),
                    "used": amount_quantity(use.resource, use.used),
                    "borrowed": amount_quantity(use.resource, use.borrowed),
                    "potential": amount_quantity(use.resource, use.potential),
                }
                for use in quota_use(state, name)
            ],
        }


def _grants(grants: Iterable[Grant]) -> list[Document]:
    return [
        {
            "flavor": grant.flavor,
            "resource": grant.resource,
            "amount": amount_quantity(grant.resource, grant.amount),
            "borrowed": amount_quantity(grant.resource, grant.borrowed),
        }
        for grant in grants
    ]


def _obstacle(obstacle: Obstacle) -> Document:
    if obstacle.refusal is not None:
        return {
            "podSet": obstacle.pod_set,
            "flavor": obstacle.flavor,
            "refusal": explain.refusal(obstacle.refusal),
        }
    amounts = {
        "asked": obstacle.asked,
        "free": max(0, obstacle.free),
        "missing": obstacle.missing,
        "nominal": obstacle.nominal,
        "potential": obstacle.potential,
    }
    return {
        "podSet": obstacle.pod_set,
        "flavor": obstacle.flavor or None,
        "resource": obstacle.resource,
        **{name: amount_quantity(obstacle.resource, each) for name, each in amounts.items()},
    }
