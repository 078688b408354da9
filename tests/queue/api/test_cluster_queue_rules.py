"""Rules of a ClusterQueue: what webhooks and CEL refuse when one is written."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.queue.api.cases import (
    Case,
    broken_manifest_is_refused,
    cured_manifest_is_read,
    stored_object_is_read_whatever_the_rules,
)
from tests.queue.api.manifests import Manifest, a_group, complaints


def quotas(**quota: Any) -> Manifest:
    return {"spec.resourceGroups": [a_group("f", **quota)]}


QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"


def migrating(**migration: object) -> Manifest:
    return {
        "spec.resourceGroups": [a_group("f")],
        "spec.concurrentAdmissionPolicy.migration": {"mode": "TryPreferredFlavors", **migration},
    }


CASES = [
    Case(
        name="a quota is not negative",
        kind="ClusterQueue",
        changes=quotas(nominalQuota="-1"),
        said=f"{QUOTA}.nominalQuota: -1 is negative: at least 0",
        cure=quotas(nominalQuota="0"),
    ),
    Case(
        name="a borrowing limit is not negative",
        kind="ClusterQueue",
        changes={"spec.cohortName": "all", **quotas(borrowingLimit="-1m")},
        said=f"{QUOTA}.borrowingLimit: -1m is negative: at least 0",
        cure=quotas(borrowingLimit="0"),
    ),
    Case(
        name="borrowing needs a cohort",
        kind="ClusterQueue",
        changes=quotas(borrowingLimit="1"),
        said=f"{QUOTA}.borrowingLimit: 1 limits nothing without a cohort: set cohortName or remove"
        " the limit",
        cure={"spec.cohortName": "all"},
    ),
    Case(
        name="lending needs a cohort",
        kind="ClusterQueue",
        changes=quotas(lendingLimit="1"),
        said=f"{QUOTA}.lendingLimit: 1 limits nothing without a cohort",
        cure={"spec.cohortName": "all"},
    ),
    Case(
        name="a queue lends no more than it has",
        kind="ClusterQueue",
        changes={"spec.cohortName": "all", **quotas(nominalQuota="1", lendingLimit="1001m")},
        said=f"{QUOTA}.lendingLimit: 1001m is more than the nominalQuota of 1",
        cure=quotas(nominalQuota="1", lendingLimit="1000m"),
    ),
    Case(
        name="a flavor covers every resource of its group",
        kind="ClusterQueue",
        changes={
            "spec.resourceGroups": [a_group("f", "g", resources=("cpu", "memory"))],
            "spec.resourceGroups[0].flavors[1].resources": [{"name": "cpu", "nominalQuota": "1"}],
        },
        said="spec.resourceGroups[0].flavors[1].resources: flavor 'g' lists cpu, but must list the"
        " coveredResources in their order: cpu, memory",
        cure={"spec.resourceGroups": [a_group("f", "g", resources=("cpu", "memory"))]},
    ),
    Case(
        name="in their order",
        kind="ClusterQueue",
        changes={
            "spec.resourceGroups": [a_group("f", resources=("memory", "cpu"))],
            "spec.resourceGroups[0].coveredResources": ["cpu", "memory"],
        },
        said="must list the coveredResources in their order: cpu, memory",
        cure={"spec.resourceGroups[0].coveredResources": ["memory", "cpu"]},
    ),
    Case(
        name="a resource is covered once",
        kind="ClusterQueue",
        changes={"spec.resourceGroups": [a_group("f"), a_group("g")]},
        said="spec.resourceGroups[1].coveredResources[0]: 'cpu' is already covered by"
        " resourceGroups[0]: once is allowed",
        cure={"spec.resourceGroups": [a_group("f"), a_group("g", resources=("memory",))]},
    ),
    Case(
        name="a flavor is in one group",
        kind="ClusterQueue",
        changes={"spec.resourceGroups": [a_group("f"), a_group("f", resources=("memory",))]},
        said="spec.resourceGroups[1].flavors[0].name: 'f' is already in resourceGroups[0]:"
        " a flavor belongs to one group",
        cure={"spec.resourceGroups": [a_group("f"), a_group("g", resources=("memory",))]},
    ),
    Case(
        name="256 flavors are enough",
        kind="ClusterQueue",
        changes={
            "spec.resourceGroups": [
                a_group(*(f"f{group}-{n}" for n in range(52)), resources=(f"r{group}",))
                for group in range(5)
            ]
        },
        said="spec.resourceGroups: has 260 flavors altogether, at most 256",
        cure={
            "spec.resourceGroups": [
                a_group(*(f"f{group}-{n}" for n in range(64)), resources=(f"r{group}",))
                for group in range(4)
            ]
        },
    ),
    Case(
        name="256 resources are enough",
        kind="ClusterQueue",
        changes={
            "spec.resourceGroups": [
                a_group(f"f{group}", resources=tuple(f"r{group}-{n}" for n in range(52)))
                for group in range(5)
            ]
        },
        said="spec.resourceGroups: has 260 resources altogether, at most 256",
        cure={"spec.resourceGroups": []},
    ),
    Case(
        name="512 quotas are enough for a group",
        kind="ClusterQueue",
        changes={
            "spec.resourceGroups": [
                a_group(*(f"f{n}" for n in range(19)), resources=tuple(f"r{n}" for n in range(27)))
            ]
        },
        said="spec.resourceGroups[0]: has 19 flavors of 27 resources: at most 512 quotas",
        cure={
            "spec.resourceGroups": [
                a_group(*(f"f{n}" for n in range(16)), resources=tuple(f"r{n}" for n in range(32)))
            ]
        },
    ),
    Case(
        name="a preference needs two open choices",
        kind="ClusterQueue",
        changes={"spec.flavorFungibility": {"preference": "PreemptionOverBorrowing"}},
        said="spec.flavorFungibility.preference: needs whenCanBorrow and whenCanPreempt to be"
        " TryNextFlavor",
        cure={"spec.flavorFungibility.whenCanBorrow": "TryNextFlavor"},
    ),
    Case(
        name="to preempt while borrowing takes reclaiming",
        kind="ClusterQueue",
        changes={"spec.preemption.borrowWithinCohort.policy": "LowerPriority"},
        said="spec.preemption.borrowWithinCohort.policy: 'LowerPriority' needs reclaimWithinCohort"
        " to be LowerPriority or Any",
        cure={"spec.preemption.reclaimWithinCohort": "Any"},
    ),
    Case(
        name="a check is about flavors of the queue",
        kind="ClusterQueue",
        changes={
            "spec.resourceGroups": [a_group("h100")],
            "spec.admissionChecksStrategy.admissionChecks": [{"name": "c", "onFlavors": ["h10"]}],
        },
        said="spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: 'h10' is not a flavor"
        " of this ClusterQueue. Did you mean 'h100'?",
        cure={"spec.resourceGroups": [a_group("h10")]},
    ),
    Case(
        name="a weight is not negative",
        kind="ClusterQueue",
        changes={"spec.fairSharing.weight": "-1"},
        said="spec.fairSharing.weight: -1 is not usable: 0, or more than 1n (10^-9)",
        cure={"spec.fairSharing.weight": "0"},
    ),
    Case(
        name="a weight can be divided by",
        kind="ClusterQueue",
        changes={"spec.fairSharing.weight": "1n"},
        said="spec.fairSharing.weight: 1n is not usable",
        cure={"spec.fairSharing.weight": "2n"},
    ),
    Case(
        name="concurrent admission is for one group",
        kind="ClusterQueue",
        changes={**migrating(), "spec.resourceGroups": []},
        said="spec.concurrentAdmissionPolicy: needs exactly one resource group, not 0",
        cure=migrating(),
    ),
    Case(
        name="concurrent admission is for few flavors",
        kind="ClusterQueue",
        changes={**migrating(), "spec.resourceGroups": [a_group(*(f"f{n}" for n in range(17)))]},
        said="spec.concurrentAdmissionPolicy: needs at most 16 flavors, not 17",
        cure={"spec.resourceGroups": [a_group(*(f"f{n}" for n in range(16)))]},
    ),
    Case(
        name="concurrent admission is not strict",
        kind="ClusterQueue",
        changes={**migrating(), "spec.queueingStrategy": "StrictFIFO"},
        said="spec.concurrentAdmissionPolicy: needs queueingStrategy BestEffortFIFO",
        cure={"spec.queueingStrategy": "BestEffortFIFO"},
    ),
    Case(
        name="constraints are for migrating",
        kind="ClusterQueue",
        changes=migrating(mode="RetainFirstAdmission", constraints={}),
        said="spec.concurrentAdmissionPolicy.migration.constraints: needs mode TryPreferredFlavors",
        cure=migrating(constraints={}),
    ),
    Case(
        name="the last acceptable flavor is one of the queue",
        kind="ClusterQueue",
        changes=migrating(constraints={"lastAcceptableFlavorName": "x"}),
        said="migration.constraints.lastAcceptableFlavorName: 'x' is not a flavor of this",
        cure=migrating(constraints={"lastAcceptableFlavorName": "f"}),
    ),
]

PROPERTIES = (
    broken_manifest_is_refused,
    cured_manifest_is_read,
    stored_object_is_read_whatever_the_rules,
)


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule(case: Case, holds: Callable[[Case], None]) -> None:
    holds(case)


def test_every_mistake_is_told_at_once() -> None:
    said = complaints(
        "ClusterQueue",
        {
            "spec.resourceGroups": [a_group("f", borrowingLimit="1", lendingLimit="2")],
            "spec.fairSharing.weight": "-1",
            "spec.concurrentAdmissionPolicy.migration": {"mode": "RetainFirstAdmission"},
            "spec.queueingStrategy": "StrictFIFO",
        },
    )

    assert [complaint.partition(":")[0] for complaint in said] == [
        f"{QUOTA}.borrowingLimit",
        f"{QUOTA}.lendingLimit",
        "spec.fairSharing.weight",
        f"{QUOTA}.lendingLimit",
        "spec.concurrentAdmissionPolicy",
    ]
