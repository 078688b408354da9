"""What tests of the scheduler tell it, and what they ask of it."""

from __future__ import annotations

from typing import Any

from muster.queue.simulated.scheduler.core import Bind, Decision, Refuse, Scheduler
from tests.queue.simulated.manifests import Manifest, node, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def scheduler(*manifests: Manifest) -> Scheduler:
    """Return a scheduler that has seen these nodes and pods."""
    known = Scheduler()
    for each in manifests:
        if "containers" in each["spec"]:
            known.pod_seen(each)
        else:
            known.node_seen(each)
    return known


def decisions(known: Scheduler) -> list[Decision]:
    found = []
    while decision := known.decide():
        found.append(decision)
    return found


def places(known: Scheduler) -> dict[str, str]:
    """Return the node of each pod that gets one now, "" for those that get none."""
    return {
        each.pod["metadata"]["name"]: each.node if isinstance(each, Bind) else ""
        for each in decisions(known)
    }


def refusal(known: Scheduler) -> Refuse:
    (decision,) = decisions(known)
    assert isinstance(decision, Refuse)
    return decision


def victims(decision: Decision) -> list[str]:
    assert isinstance(decision, Refuse)
    return [each.name for each in decision.victims]


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> Manifest:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def affinity(*terms: Manifest) -> Manifest:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {REQUIRED: required}}


def expression(key: str, operator: str, *values: str) -> Manifest:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def running(name: str, on: str, *, priority: int = 0, **rest: Any) -> Manifest:
    return pod(name, nodeName=on, priority=priority, status={"phase": "Running"}, **rest)


ZONES = tuple(node(f"{zone}{i}", labels={"zone": zone}) for zone in "ab" for i in (1, 2))


def term(app: str, topology_key: str = "zone", **rest: Any) -> Manifest:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology_key, **rest}


def near(*terms: Manifest) -> Manifest:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Manifest) -> Manifest:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def app(name: str, namespace: str = "default") -> dict[str, Any]:
    return {"metadata": {"labels": {"app": name}, "namespace": namespace}}
