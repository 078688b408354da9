"""
What each node offers and what its pods take of it: exact integers, kept as pods come and go.

A change of a node or of its pods gives its account a new generation, so that whoever judged all
nodes before looks again at none but those that have changed.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from muster.admission.objects import Taint
from muster.queue.api.quantities import request_amount
from muster.queue.client.protocol import Manifest
from muster.queue.simulated.scheduler.demands import Demand
from muster.queue.simulated.taints import taint


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOffer:
    """What a node has for pods."""

    labels: dict[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: dict[str, int]
    """Amounts by resource, `pods` among them."""


def node_offer(node: Manifest) -> NodeOffer:
    """Read what a Node offers."""
    spec = node.get("spec", {})
    return NodeOffer(
        labels=node["metadata"].get("labels", {}),
        taints=tuple(map(taint, spec.get("taints", ()))),
        unschedulable=spec.get("unschedulable", False),
        allocatable={
            name: request_amount(name, quantity)
            for name, quantity in node.get("status", {}).get("allocatable", {}).items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPod:
    """A pod on a node, or one that is going to be."""

    uid: str
    namespace: str
    name: str
    demand: Demand
    started_us: int
    labels: dict[str, str] = field(default_factory=dict)
    is_leaving: bool = False
    """It is being deleted."""
    is_preempted: bool = False
    """It is being deleted for the sake of another pod."""

    @property
    def importance(self) -> tuple[int, int, str]:
        """Sort by it to have the most important first: by priority, then the longest running."""
        return (-self.demand.priority, self.started_us, self.uid)


@dataclass(slots=True, kw_only=True)
class NodeAccount:
    """One node, its pods, and what they take together."""

    name: str
    offer: NodeOffer | None = None
    """None while only pods that name the node are known."""
    used: Counter[str] = field(default_factory=Counter)
    """Amounts by resource."""
    comparable: tuple[int, int] = (0, 0)
    pods: dict[str, PlacedPod] = field(default_factory=dict)
    """By uid."""

    def add(self, placed: PlacedPod) -> None:
        self.pods[placed.uid] = placed
        self._count(placed.demand, 1)

    def remove(self, uid: str) -> None:
        self._count(self.pods.pop(uid).demand, -1)

    def _count(self, demand: Demand, sign: int) -> None:
        for resource, amount in demand.requests:
            self.used[resource] += sign * amount
        cpu, memory = self.comparable
        self.comparable = (cpu + sign * demand.comparable[0], memory + sign * demand.comparable[1])

    def copy(self) -> NodeAccount:
        """Return an account to try things on."""
        return NodeAccount(
            name=self.name,
            offer=self.offer,
            used=self.used.copy(),
            comparable=self.comparable,
            pods=dict(self.pods),
        )


class Accounts:
    """The accounts of all nodes."""

    def __init__(self) -> None:
        self._accounts: dict[str, NodeAccount] = {}
        self._places: dict[str, str] = {}
        """The node of each pod, by uid."""
        self._generations: OrderedDict[str, int] = OrderedDict()
        """Nodes, the last changed at the end; also those that are gone."""
        self.generation = 0
        self.nodes = 0
        self._repellers: dict[str, None] = {}
        """Uids of pods on nodes that do not want certain others near them."""

    def __getitem__(self, name: str) -> NodeAccount:
        return self._accounts[name]

    def __iter__(self) -> Iterator[NodeAccount]:
        return iter(self._accounts.values())

    def repellers(self) -> Iterator[tuple[NodeAccount, PlacedPod]]:
        """Yield the pods that do not want certain others near them, with their nodes."""
        for uid in self._repellers:
            account = self._accounts[self._places[uid]]
            yield account, account.pods[uid]

    def offering(self, name: str) -> NodeAccount | None:
        """Return the account of a node that exists."""
        account = self._accounts.get(name)
        return account if account is not None and account.offer is not None else None

    def changed_since(self, generation: int) -> Iterator[str]:
        """Yield the nodes that have changed after a generation, the last one first."""
        for name, changed in reversed(self._generations.items()):
            if changed <= generation:
                return
            yield name

    def set_node(self, name: str, offer: NodeOffer | None) -> bool:
        """Take note of what a node offers, None if it is gone; return whether that is news."""
        account = self._account(name)
        if account.offer == offer:
            return False
        self.nodes += (offer is not None) - (account.offer is not None)
        account.offer = offer
        self.touch(name)
        return True

    def set_pod(self, node: str, placed: PlacedPod) -> None:
        """Put a pod onto a node, or take note of what is new about it."""
        if self._places.get(placed.uid) == node:
            pods = self._accounts[node].pods
            if pods[placed.uid].demand == placed.demand:
                pods[placed.uid] = placed
                return
        self.remove_pod(placed.uid)
        self._account(node).add(placed)
        self._places[placed.uid] = node
        if placed.demand.apart:
            self._repellers[placed.uid] = None
        self.touch(node)

    def remove_pod(self, uid: str) -> None:
        """Take a pod off its node, if it has one."""
        node = self._places.pop(uid, None)
        if node is None:
            return
        self._repellers.pop(uid, None)
        account = self._accounts[node]
        account.remove(uid)
        self.touch(node)

    def touch(self, name: str) -> None:
        """Have a node judged again."""
        self.generation += 1
        self._generations[name] = self.generation
        self._generations.move_to_end(name)
        account = self._accounts.get(name)
        if account is not None and account.offer is None and not account.pods:
            del self._accounts[name]

    def _account(self, name: str) -> NodeAccount:
        account = self._accounts.get(name)
        if account is None:
            account = self._accounts[name] = NodeAccount(name=name)
        return account
