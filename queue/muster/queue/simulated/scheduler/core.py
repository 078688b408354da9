"""
Decide which pod goes to which node, one by one, from what is told of changes in the cluster.

A pod that it has sent to a node counts there at once, whether the API server knows or not; whoever
carries decisions out reports those that failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.conditions import condition, is_true
from muster.queue.simulated.scheduler.accounts import (
    Accounts,
    NodeAccount,
    PlacedPod,
    node_offer,
)
from muster.queue.simulated.scheduler.demands import Demand, demand
from muster.queue.simulated.scheduler.fitting import (
    Rejection,
    Score,
    availability,
    best,
    judge,
)
from muster.queue.simulated.scheduler.preemption import (
    Displacement,
    displace,
    is_waiting_for_victims,
)
from muster.queue.simulated.scheduler.queueing import Pending, Waiting
from muster.queue.simulated.scheduler.topology import Check, arrival, checks

DEFAULT_NAME: Final = "default-scheduler"
_OVER: Final = {"Succeeded", "Failed"}
_NO_PREEMPTION: Final = "no new claims to deallocate, preemption: "
_UNHELPFUL: Final = "Preemption is not helpful for scheduling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A pod goes to a node."""

    pod: Manifest
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """A pod cannot go anywhere now."""

    pod: Manifest
    message: str
    nominated: str = ""
    """The node that it is going to get from its victims."""
    victims: tuple[PlacedPod, ...] = ()
    """The pods to delete for it."""


Decision: TypeAlias = Bind | Refuse


class Scheduler:
    """Nodes and pods as far as they are known, and what to do about pods without a node."""

    def __init__(self, name: str = DEFAULT_NAME) -> None:
        self.name = name
        self._accounts = Accounts()
        self._waiting = Waiting()
        self._nominated: dict[str, Pending] = {}
        """Pods that are to get a node from their victims, by uid."""
        self._assumed: dict[str, str] = {}
        """The node of each pod that was sent to one and has not been seen there, by uid."""
        self._seen_generation = 0

    # -- what changes in the cluster ----------------------------------------------------------

    def node_seen(self, node: Manifest) -> bool:
        """Take note of a node, new or changed; return whether that matters to pods."""
        return self._accounts.set_node(node["metadata"]["name"], node_offer(node))

    def node_gone(self, name: str) -> bool:
        """Take note that a node is gone; return whether that matters to pods."""
        return self._accounts.set_node(name, None)

    def pod_seen(self, pod: Manifest) -> None:
        """Take note of a pod, new or changed."""
        metadata, spec = pod["metadata"], pod["spec"]
        uid = metadata["uid"]
        if pod.get("status", {}).get("phase") in _OVER:
            self.pod_gone(uid)
        elif node := spec.get("nodeName"):
            self._forget(uid)
            self._assumed.pop(uid, None)
            self._accounts.set_pod(node, _placed(pod, demand(pod)))
        elif uid in self._assumed:
            pass  # what is seen is older than the decision
        elif (
            spec.get("schedulerName", DEFAULT_NAME) != self.name
            or spec.get("schedulingGates")
            or "deletionTimestamp" in metadata
        ):
            self._forget(uid)
        else:
            self._wait(pod)

    def pod_gone(self, uid: str) -> None:
        """Take note that a pod is gone or over."""
        self._forget(uid)
        self._assumed.pop(uid, None)
        self._accounts.remove_pod(uid)

    def bind_failed(self, pod: Manifest) -> None:
        """Take note that a decision to bind could not be carried out; the pod is tried again."""
        uid = pod["metadata"]["uid"]
        if self._assumed.pop(uid, None) is not None:
            self._accounts.remove_pod(uid)
            self._wait(pod)

    def reconsider(self) -> None:
        """
        Try all pods again, so that they are told what keeps them waiting now.

        To be called some time after nodes have changed. Pods that can be placed have not waited
        for it.
        """
        self._waiting.call_all_back()

    def try_again(self, uid: str) -> None:
        """Take note that the victims of a refused pod could not be deleted."""
        pending = self._waiting.get(uid)
        if pending is not None and pending.is_parked:
            self._nominate(pending, "")
            pending.told = ""
            self._waiting.activate(pending)

    def _wait(self, pod: Manifest) -> None:
        uid = pod["metadata"]["uid"]
        asked = demand(pod)
        known = self._waiting.get(uid)
        if known is not None and known.shape.demand == asked:
            known.pod = pod
            return
        self._forget(uid)
        created_us = parse_timestamp(pod["metadata"]["creationTimestamp"])
        pending = self._waiting.add(pod, asked, created_us)
        if pending.nominated:
            self._nominate(pending, pending.nominated)

    def _forget(self, uid: str) -> None:
        """Drop a pod from those that wait."""
        pending = self._waiting.remove(uid)
        if pending is not None:
            self._nominate(pending, "")

    # -- what to do ---------------------------------------------------------------------------

    def decide(self) -> Decision | None:
        """Return the next decision; None if there is none until something changes."""
        while True:
            if self._seen_generation != self._accounts.generation:
                self._wake()
            pending = self._waiting.pop()
            if pending is None:
                return None
            told, nominated = pending.told, pending.nominated
            decision = self._place(pending)
            if isinstance(decision, Bind) or decision.victims:
                return decision
            if (decision.message, decision.nominated) != (told, nominated):
                return decision

    def _wake(self) -> None:
        changed = set(self._accounts.changed_since(self._seen_generation))
        self._seen_generation = self._accounts.generation
        for pending in self._nominated.values():
            if pending.is_parked and pending.nominated in changed:
                self._waiting.activate(pending)
        self._waiting.wake(self._accounts)

    def _place(self, pending: Pending) -> Decision:
        shape = pending.shape
        shape.refresh(self._accounts)
        if shape.demand.not_simulated:
            return self._refuse(pending, f"{shape.demand.not_simulated} is not simulated")
        is_known = shape.refused_generation == self._accounts.generation
        if is_known and not pending.nominated:
            return self._refuse(pending, shape.refusal)
        scores, obstacles = self._choices(pending)
        if pending.nominated in scores:
            return self._bind(pending, pending.nominated)
        if scores:
            return self._bind(pending, best(scores))
        if not self._accounts.nodes:
            return self._refuse(pending, "no nodes available to schedule pods")
        return self._preempt(pending, obstacles)

    def _choices(self, pending: Pending) -> tuple[dict[str, Score], dict[str, Rejection]]:
        """Return the nodes that a pod may have, and what other pods hold against the rest."""
        scores = dict(pending.shape.scores)
        obstacles: dict[str, Rejection] = {}
        for name in dict.fromkeys(each.nominated for each in self._nominated.values()):
            if name in scores and (expected := self._expected(pending, name)):
                verdict = judge(pending.shape.demand, self._accounts[name], expected)
                if isinstance(verdict, Rejection):
                    obstacles[name] = verdict
        for check in self._checks(pending):
            for name in [name for name in scores if name not in obstacles]:
                offer = self._accounts[name].offer
                if offer is not None and (rejection := check(offer)):
                    obstacles[name] = rejection
        for name in obstacles:
            del scores[name]
        return scores, obstacles

    def _checks(self, pending: Pending, without: Collection[str] = ()) -> list[Check]:
        subject = arrival(pending.pod, pending.shape.demand)
        return checks(subject, self._accounts, without)

    def _expected(self, pending: Pending, node: str) -> list[PlacedPod]:
        """Return the other pods, no less important, that are going to run on a node."""
        priority = pending.shape.demand.priority
        return [
            _placed(each.pod, each.shape.demand)
            for each in self._nominated.values()
            if each.nominated == node
            and each is not pending
            and each.shape.demand.priority >= priority
        ]

    def _bind(self, pending: Pending, node: str) -> Bind:
        pod = pending.pod
        self._forget(pending.uid)
        self._assumed[pending.uid] = node
        self._accounts.set_pod(node, _placed(pod, pending.shape.demand))
        # What was called back for this pod's sake may go on as long as it works.
        self._waiting.call_back(pending.shape)
        return Bind(pod=pod, node=node)

    def _preempt(self, pending: Pending, obstacles: dict[str, Rejection]) -> Refuse:
        """Refuse a pod, and look for others that have to make room for it."""
        shape = pending.shape
        nodes = self._accounts.nodes
        rejections = {**shape.rejections, **obstacles}
        reasons = Counter(reason for each in rejections.values() for reason in each.reasons)
        message = availability(nodes, reasons)
        if not shape.demand.may_preempt:
            why = "not eligible due to preemptionPolicy=Never."
            return self._refuse(pending, f"{message} {_NO_PREEMPTION}{why}")
        if self._is_waiting_for_victims(pending):
            why = "not eligible due to a terminating pod on the nominated node."
            return self._refuse(pending, f"{message} {_NO_PREEMPTION}{why}", pending.nominated)
        worth = [name for name, each in rejections.items() if each.preemption_helps]
        found, fruitless = self._displace(pending, worth)
        if found is None:
            told = Counter(reason for each in fruitless.values() for reason in each)
            if unhelpful := nodes - len(fruitless):
                told[_UNHELPFUL] += unhelpful
            return self._refuse(pending, f"{message} {_NO_PREEMPTION}{availability(nodes, told)}")
        for other in list(self._nominated.values()):
            if other.nominated == found.node and other.order[0] > pending.order[0]:
                self._nominate(other, "")
        victims = tuple(victim for victim in found.victims if not victim.is_leaving)
        return self._refuse(pending, message, found.node, victims)

    def _displace(
        self, pending: Pending, worth: Iterable[str]
    ) -> tuple[Displacement | None, Mapping[str, tuple[str, ...]]]:
        """Return whom the pod displaces on one of the nodes, and why others offer nobody."""
        demand = pending.shape.demand
        others_matter = bool(self._checks(pending))

        def trial(account: NodeAccount, without: Collection[str]) -> Rejection | Score:
            verdict = judge(demand, account, self._expected(pending, account.name))
            if others_matter and isinstance(verdict, Score) and account.offer is not None:
                for check in self._checks(pending, without):
                    if rejection := check(account.offer):
                        return rejection
            return verdict

        return displace(demand, (self._accounts[name] for name in worth), trial)

    def _is_waiting_for_victims(self, pending: Pending) -> bool:
        account = self._accounts.offering(pending.nominated)
        rejection = pending.shape.rejections.get(pending.nominated)
        if account is None or (rejection is not None and not rejection.preemption_helps):
            return False
        return is_waiting_for_victims(pending.shape.demand, account)

    def _refuse(
        self,
        pending: Pending,
        message: str,
        nominated: str = "",
        victims: Iterable[PlacedPod] = (),
    ) -> Refuse:
        self._nominate(pending, nominated)
        shape = pending.shape
        if not shape.demand.depends_on_pods and self._checks(pending):
            shape.is_particular = True
        elif not nominated:
            # Its equals would fare the same.
            shape.refusal = message
            shape.refused_generation = self._accounts.generation
        pending.told = message
        self._waiting.park(pending)
        return Refuse(pod=pending.pod, message=message, nominated=nominated, victims=tuple(victims))

    def _nominate(self, pending: Pending, node: str) -> None:
        """Keep room on a node for a pod, "" for none any more."""
        if pending.nominated and pending.nominated != node:
            self._accounts.touch(pending.nominated)
        pending.nominated = node
        if node:
            self._nominated[pending.uid] = pending
        else:
            self._nominated.pop(pending.uid, None)


def _placed(pod: Manifest, asked: Demand) -> PlacedPod:
    metadata = pod["metadata"]
    status = pod.get("status", {})
    is_leaving = "deletionTimestamp" in metadata
    return PlacedPod(
        uid=metadata["uid"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        demand=asked,
        started_us=parse_timestamp(status.get("startTime") or metadata["creationTimestamp"]),
        labels=metadata.get("labels", {}),
        is_leaving=is_leaving,
        is_preempted=is_leaving
        and is_true(pod, "DisruptionTarget")
        and condition(pod, "DisruptionTarget").get("reason") == "PreemptionByScheduler",
    )
