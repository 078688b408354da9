"""
What a workload was given: flavors, amounts, and the topology domains of its pods.

Domains are stored in slices, which write what the domains have in common once: a value or count
that is the same everywhere, or the prefix and suffix of names. `TopologyAssignment.domains` reads
that form and `compress` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os.path import commonprefix
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from muster.queue.api.problems import Problems, cross_check, structure_check
from muster.queue.api.quantities import request_amount
from muster.queue.api.schema import (
    API_DEFAULT,
    ATOMIC_LIST,
    Count,
    DnsLabel,
    Items,
    ListMap,
    ObjectReference,
    Positive,
    Quantity,
    Rule,
    StatusModel,
    empty_map,
)

POD_SETS_MAX = 18
DOMAINS_IN_A_SLICE_MAX = 100_000

_Text63 = Annotated[str, StringConstraints(max_length=63)]

Domain = tuple[tuple[str, ...], int]
"""The values of a domain, one for each level, and the number of pods in it."""


class IndividualValues(StatusModel):
    prefix: _Text63 | None = None
    """What every value begins with."""
    suffix: _Text63 | None = None
    """What every value ends with."""
    roots: Annotated[
        Items[_Text63], ATOMIC_LIST, Field(min_length=1, max_length=DOMAINS_IN_A_SLICE_MAX)
    ]
    """What is in between, one for each domain."""


_EXACTLY_ONE = (
    Rule("has(self.universal) != has(self.individual)", "set exactly one of universal, individual"),
)


class LevelValues(StatusModel):
    CEL: ClassVar[tuple[Rule, ...]] = _EXACTLY_ONE

    universal: _Text63 | None = None
    """The value of all domains of the slice."""
    individual: IndividualValues | None = None
    """A value for each domain of the slice."""

    @structure_check
    def _exactly_one(self, problems: Problems) -> None:
        _require_one(problems, self.universal, self.individual)

    def values(self, domain_count: int) -> list[str]:
        """Return the value of each domain."""
        if self.individual is None:
            return [self.universal or ""] * domain_count
        prefix, suffix = self.individual.prefix or "", self.individual.suffix or ""
        return [f"{prefix}{root}{suffix}" for root in self.individual.roots]


class PodCounts(StatusModel):
    CEL: ClassVar[tuple[Rule, ...]] = _EXACTLY_ONE

    universal: Positive | None = None
    """The number of pods in every domain of the slice."""
    individual: (
        Annotated[
            Items[Positive], ATOMIC_LIST, Field(min_length=1, max_length=DOMAINS_IN_A_SLICE_MAX)
        ]
        | None
    ) = None
    """The number of pods in each domain of the slice."""

    @structure_check
    def _exactly_one(self, problems: Problems) -> None:
        _require_one(problems, self.universal, self.individual)

    def counts(self, domain_count: int) -> list[int]:
        """Return the number of pods of each domain."""
        if self.individual is None:
            return [self.universal or 0] * domain_count
        return list(self.individual)


def _require_one(problems: Problems, *given: object) -> None:
    if sum(each is not None for each in given) != 1:
        problems.add((), "needs exactly one of universal, individual")


class TopologyAssignmentSlice(StatusModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.valuesPerLevel.all(x, !has(x.individual)"
            " || size(x.individual.roots) == self.domainCount)",
            "individual values must be as many as domainCount",
        ),
        Rule(
            "!has(self.podCounts.individual)"
            " || size(self.podCounts.individual) == self.domainCount",
            "individual podCounts must be as many as domainCount",
        ),
    )

    domain_count: Positive
    """How many domains the slice describes."""
    values_per_level: Annotated[Items[LevelValues], ATOMIC_LIST, Field(min_length=1, max_length=16)]
    """The values of the domains, level by level."""
    pod_counts: PodCounts
    """The pods in the domains."""

    @structure_check
    def _lengths_agree(self, problems: Problems) -> None:
        for index, level in enumerate(self.values_per_level):
            if level.individual is not None and len(level.individual.roots) != self.domain_count:
                problems.add(
                    ("valuesPerLevel", index, "individual", "roots"),
                    f"has {len(level.individual.roots)} entries for {self.domain_count} domains",
                )
        counts = self.pod_counts.individual
        if counts is not None and len(counts) != self.domain_count:
            problems.add(
                ("podCounts", "individual"),
                f"has {len(counts)} entries for {self.domain_count} domains",
            )


class TopologyAssignment(StatusModel):
    CEL: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.slices.all(x, size(x.valuesPerLevel) == size(self.levels))",
            "valuesPerLevel must have an entry for each of the levels",
        ),
    )

    levels: Annotated[
        Items[Annotated[str, StringConstraints(max_length=317)]],
        ATOMIC_LIST,
        Field(min_length=1, max_length=16),
    ]
    """Node labels, from the widest level down; the node's name alone when that is the lowest."""
    slices: Annotated[Items[TopologyAssignmentSlice], ATOMIC_LIST, Field(max_length=1000)]
    """The domains, those with something in common together."""

    @structure_check
    def _levels_agree(self, problems: Problems) -> None:
        for index, part in enumerate(self.slices):
            if len(part.values_per_level) != len(self.levels):
                problems.add(
                    ("slices", index, "valuesPerLevel"),
                    f"has {len(part.values_per_level)} entries for {len(self.levels)} levels",
                )

    def domains(self) -> Iterator[Domain]:
        """Yield every domain of the assignment."""
        for part in self.slices:
            by_level = [level.values(part.domain_count) for level in part.values_per_level]
            yield from zip(
                zip(*by_level, strict=True),
                part.pod_counts.counts(part.domain_count),
                strict=True,
            )


def compress(levels: Sequence[str], domains: Sequence[Domain]) -> dict[str, object]:
    """Return the topologyAssignment, as the API writes it, that holds `domains` in their order."""
    slices = []
    for start in range(0, len(domains), DOMAINS_IN_A_SLICE_MAX):
        part = domains[start : start + DOMAINS_IN_A_SLICE_MAX]
        counts = [count for _, count in part]
        slices.append(
            {
                "domainCount": len(part),
                "valuesPerLevel": [
                    _compressed_values([values[level] for values, _ in part])
                    for level in range(len(levels))
                ],
                "podCounts": (
                    {"universal": counts[0]} if len(set(counts)) == 1 else {"individual": counts}
                ),
            }
        )
    return {"levels": list(levels), "slices": slices}


def _compressed_values(values: Sequence[str]) -> dict[str, object]:
    if len(set(values)) == 1:
        return {"universal": values[0]}
    prefix = commonprefix(values)  # noqa: RUF071  # by character is what is wanted
    # The suffix must not reach into the prefix of the shortest value.
    tails = [value[len(prefix) :][::-1] for value in values]
    suffix = commonprefix(tails)[::-1]  # noqa: RUF071
    roots = [value[len(prefix) : len(value) - len(suffix)] for value in values]
    individual: dict[str, object] = {"roots": roots}
    if prefix:
        individual["prefix"] = prefix
    if suffix:
        individual["suffix"] = suffix
    return {"individual": individual}


class PodSetAssignment(StatusModel):
    name: Annotated[DnsLabel, API_DEFAULT] = "main"
    """The pod set."""
    flavors: dict[str, ObjectReference] = empty_map()
    """The flavor that each resource is taken from."""
    resource_usage: dict[str, Quantity] = empty_map()
    """What all pods of the set use together, as it was when they were admitted."""
    count: Count | None = None
    """Pods admitted, fewer than asked for after partial admission."""
    topology_assignment: TopologyAssignment | None = None
    """Where the pods go."""
    delayed_topology_request: Literal["Pending", "Ready"] | None = None
    """Whether the topology is still to be assigned, once nodes exist."""

    @cross_check
    def _usage_divides_by_count(self, problems: Problems) -> None:
        if self.count:
            for resource, text in self.resource_usage.items():
                if request_amount(resource, text) % self.count:
                    message = f"{text} is not a multiple of the count of {self.count} pods"
                    problems.add(("resourceUsage", resource), message)


class Admission(StatusModel):
    cluster_queue: ObjectReference
    """The ClusterQueue whose quota is used."""
    pod_set_assignments: Annotated[
        Items[PodSetAssignment], Field(max_length=POD_SETS_MAX), ListMap(("name",))
    ] = ()
    """What each pod set was given."""
