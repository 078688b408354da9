"""
The file that describes a simulated cluster: groups of equal nodes and the topology they are in.

It is read strictly: what is misspelt, repeated or impossible is said before anything is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, Field

from muster.queue.api.pods import Taint
from muster.queue.api.problems import Problems, structure_check
from muster.queue.api.quantities import NANO, parse_quantity
from muster.queue.api.schema import (
    SUBDOMAIN_PATTERN,
    ApiModel,
    DnsLabel,
    Items,
    LabelKey,
    LabelValue,
    ListMap,
    Positive,
    Quantities,
    custom_error,
    empty_map,
)
from muster.queue.api.wording import shown
from muster.queue.manifests.single import read_single
from muster.queue.simulated.node_specs import (
    DEFAULT_CAPACITY,
    HOSTNAME,
    NODES_MAX,
    NodeSpec,
    address,
    indexes,
)

API_VERSION: Final = "sim.muster.dev/v1alpha1"
_INDEX: Final = "{index}"
_NAME_MAX: Final = 63
_PLAIN: Final = re.compile(r"[^A-Za-z0-9]+")

T = TypeVar("T")


def _with_index(pattern: str) -> str:
    if pattern.count(_INDEX) != 1 or not re.fullmatch(
        SUBDOMAIN_PATTERN, pattern.replace(_INDEX, "0")
    ):
        raise custom_error(
            "name_pattern",
            f"{shown(pattern)} is not a pattern for names of nodes: lower-case letters, digits, "
            f"'-' and '.', with {_INDEX} once, as in gpu-{_INDEX}",
        )
    return pattern


def _not_negative(capacity: T) -> T:
    assert isinstance(capacity, Mapping), "the type was checked before"
    for name, quantity in capacity.items():
        if parse_quantity(quantity) < 0:
            raise custom_error("capacity", f"{name}: {shown(quantity)} is less than nothing")
        if "/" in name and parse_quantity(quantity) % NANO:
            raise custom_error("capacity", f"{name}: {shown(quantity)} is no whole number of them")
    return capacity


class TopologyLevel(ApiModel):
    label: LabelKey
    """The label whose value tells the domains of this level apart."""
    fan_out: Positive
    """Domains of this level in each domain of the level above, or in the group."""


class NodeGroup(ApiModel):
    name: DnsLabel
    """Part of the names of its nodes and topology domains."""
    count: Positive
    """How many nodes."""
    name_pattern: Annotated[str, AfterValidator(_with_index)] | None = None
    """How its nodes are called; default: NAME-{index}."""
    capacity: Annotated[Quantities, AfterValidator(_not_negative)] = empty_map()
    """What each node has, besides the defaults."""
    labels: dict[LabelKey, LabelValue] = empty_map()
    """Labels of each node."""
    taints: Items[Taint] = ()
    """Taints of each node."""
    topology: Annotated[Items[TopologyLevel], ListMap(("label",))] = ()
    """Levels from the outside in; the nodes are dealt evenly to the innermost domains."""

    @structure_check
    def _topology_fits(self, problems: Problems) -> None:
        for index, level in enumerate(self.topology):
            place = ("topology", index, "label")
            if level.label == HOSTNAME:
                problems.add(place, f"{HOSTNAME} is the name of each node: leave it out")
            elif level.label in self.labels:
                problems.add(place, f"{level.label} is among the labels of the group, too")
        if HOSTNAME in self.labels:
            problems.add(("labels", HOSTNAME), "is the name of each node: leave it out")
        domains = prod(level.fan_out for level in self.topology)
        if domains > self.count:
            problems.add(("topology",), f"makes {domains} innermost domains of {self.count} nodes")


class ClusterFile(ApiModel):
    api_version: Literal["sim.muster.dev/v1alpha1"]
    kind: Literal["Cluster"]
    node_groups: Annotated[
        Items[NodeGroup], Field(min_length=1, max_length=100), ListMap(("name",))
    ]
    """Groups of equal nodes."""

    @structure_check
    def _nodes_are_few_and_differ(self, problems: Problems) -> None:
        total = sum(group.count for group in self.node_groups)
        if total > NODES_MAX:
            problems.add(("nodeGroups",), f"have {total} nodes, more than {NODES_MAX}")
            return
        owners: dict[str, int] = {}
        for index, group in enumerate(self.node_groups):
            names = list(_names(group))
            if len(names[-1]) > _NAME_MAX:
                message = f"makes names such as {names[-1]}, longer than {_NAME_MAX} characters"
                problems.add(("nodeGroups", index, "namePattern"), message)
            for name in names:
                if owners.setdefault(name, index) != index:
                    other = f"nodeGroups[{owners[name]}]"
                    problems.add(
                        ("nodeGroups", index, "namePattern"),
                        f"makes the name {name}, as {other} does",
                    )
                    break
            self._check_domains(index, group, problems)

    @staticmethod
    def _check_domains(index: int, group: NodeGroup, problems: Problems) -> None:
        for value in _domains(group, group.count - 1).values():
            if len(value) > _NAME_MAX:
                message = f"makes label values such as {value}, longer than {_NAME_MAX} characters"
                problems.add(("nodeGroups", index, "topology"), message)
                return


def read_cluster(path: str) -> tuple[NodeSpec, ...]:
    """Return the nodes that the file at `path` describes. Raises ManifestError."""
    return expand(read_single(path, ClusterFile, f"a Cluster of {API_VERSION}"))


def expand(cluster: ClusterFile) -> tuple[NodeSpec, ...]:
    """Return every node of a cluster, in the order of the file."""
    return tuple(_expanded(cluster))


def _expanded(cluster: ClusterFile) -> Iterator[NodeSpec]:
    place = 0
    for group in cluster.node_groups:
        taints = tuple(each.model_dump(by_alias=True, exclude_unset=True) for each in group.taints)
        for index, name in enumerate(_names(group)):
            yield NodeSpec(
                name=name,
                address=address(place),
                labels={**group.labels, **_domains(group, index)},
                capacity={**DEFAULT_CAPACITY, **group.capacity},
                taints=taints,
            )
            place += 1


def _names(group: NodeGroup) -> Iterator[str]:
    """Yield the names of the nodes of a group."""
    pattern = group.name_pattern or f"{group.name}-{_INDEX}"
    return (pattern.replace(_INDEX, index) for index in indexes(group.count))


def _domains(group: NodeGroup, index: int) -> dict[str, str]:
    """Return the topology labels of one node: each names its domain within the one above."""
    labels: dict[str, str] = {}
    name, domains, above = group.name, 1, 0
    for level in group.topology:
        domains *= level.fan_out
        domain = index * domains // group.count
        name = f"{name}-{_short(level.label)}{domain - above * level.fan_out}"
        labels[level.label] = name
        above = domain
    return labels


def _short(label: str) -> str:
    """Return the last word of a label, as in "rack" for cloud.provider.com/topology-rack."""
    return _PLAIN.split(label)[-1].lower()
