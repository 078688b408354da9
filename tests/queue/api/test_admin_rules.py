"""Rules of the other kinds an administrator writes."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.queue.api.cases import (
    Case,
    broken_manifest_is_refused,
    cured_manifest_is_read,
    stored_object_is_read_whatever_the_rules,
)
from tests.queue.api.manifests import Manifest, a_group, complaints, parsed


def quotas(**quota: Any) -> Manifest:
    return {"spec.resourceGroups": [a_group("f", **quota)]}


QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"


CASES = [
    Case(
        name="a cohort without a parent borrows from nobody",
        kind="Cohort",
        changes=quotas(borrowingLimit="1"),
        said=f"{QUOTA}.borrowingLimit: 1 limits nothing without a cohort: set parentName",
        cure={"spec.parentName": "root"},
    ),
    Case(
        name="a cohort may lend what its members lend it",
        kind="Cohort",
        changes=quotas(nominalQuota="1", lendingLimit="2"),
        said=f"{QUOTA}.lendingLimit: 2 limits nothing without a cohort: set parentName",
        cure={"spec.parentName": "root"},
    ),
    Case(
        name="a cohort covers a resource once",
        kind="Cohort",
        changes={"spec.resourceGroups": [a_group("f"), a_group("g")]},
        said="'cpu' is already covered by resourceGroups[0]",
        cure={"spec.resourceGroups": [a_group("f", "g")]},
    ),
    Case(
        name="a cohort's weight is not negative",
        kind="Cohort",
        changes={"spec.fairSharing.weight": "-1"},
        said="spec.fairSharing.weight: -1 is not usable",
        cure={"spec.fairSharing.weight": "0"},
    ),
    Case(
        name="a topology needs labelled nodes",
        kind="ResourceFlavor",
        changes={"spec.topologyName": "blocks"},
        said="spec.nodeLabels: is required when topologyName is set",
        cure={"spec.nodeLabels": {"gpu": "h100"}},
    ),
    Case(
        name="a taint is listed once",
        kind="ResourceFlavor",
        changes={
            "spec.nodeTaints": [
                {"key": "spot", "value": "a", "effect": "NoSchedule"},
                {"key": "spot", "value": "b", "effect": "NoSchedule"},
            ]
        },
        said="spec.nodeTaints[1]: spot:NoSchedule is listed twice",
        cure={"spec.nodeTaints[1].effect": "NoExecute"},
    ),
    Case(
        name="a toleration of every key needs Exists",
        kind="ResourceFlavor",
        changes={"spec.tolerations": [{"operator": "Equal", "value": "x"}]},
        said="spec.tolerations[0].operator: must be Exists when key is empty",
        cure={"spec.tolerations": [{"operator": "Exists"}]},
    ),
    Case(
        name="Exists has no value",
        kind="ResourceFlavor",
        changes={"spec.tolerations": [{"key": "spot", "operator": "Exists", "value": "x"}]},
        said="spec.tolerations[0].value: must be empty when operator is Exists",
        cure={"spec.tolerations": [{"key": "spot", "operator": "Exists"}]},
    ),
    Case(
        name="only NoExecute is tolerated for a time",
        kind="ResourceFlavor",
        changes={"spec.tolerations": [{"key": "spot", "tolerationSeconds": 1}]},
        said="spec.tolerations[0].effect: must be NoExecute when tolerationSeconds is set",
        cure={"spec.tolerations[0].effect": "NoExecute"},
    ),
    Case(
        name="a flavor's tolerations compare no numbers",
        kind="ResourceFlavor",
        changes={"spec.tolerations": [{"key": "spot", "operator": "Gt", "value": "1"}]},
        said="spec.tolerations[0].operator: 'Gt' is not allowed here: use Equal or Exists",
        cure={"spec.tolerations[0].operator": "Equal"},
    ),
    Case(
        name="a level is listed once",
        kind="Topology",
        changes={"spec.levels": [{"nodeLabel": "rack"}, {"nodeLabel": "rack"}]},
        said="spec.levels[1].nodeLabel: 'rack' is listed twice",
        cure={"spec.levels[1].nodeLabel": "slot"},
    ),
    Case(
        name="nodes are the lowest level",
        kind="Topology",
        changes={"spec.levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "rack"}]},
        said="spec.levels[0].nodeLabel: kubernetes.io/hostname can only be the lowest level",
        cure={"spec.levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
    ),
    Case(
        name="a selector's In names values",
        kind="ClusterQueue",
        changes={
            "spec.namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In"}]}
        },
        said="spec.namespaceSelector.matchExpressions[0].values: is required by operator In",
        cure={"spec.namespaceSelector.matchExpressions[0].values": ["a"]},
    ),
    Case(
        name="a selector's Exists names none",
        kind="ClusterQueue",
        changes={
            "spec.namespaceSelector": {
                "matchExpressions": [{"key": "team", "operator": "Exists", "values": ["a"]}]
            }
        },
        said="spec.namespaceSelector.matchExpressions[0].values: must be empty for operator Exists",
        cure={"spec.namespaceSelector.matchExpressions[0].operator": "NotIn"},
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


def test_a_local_queue_may_have_any_weight() -> None:
    queue = parsed("LocalQueue", {"spec.fairSharing.weight": "-1"})

    assert complaints(queue.model_dump(mode="json", by_alias=True, exclude_none=True)) == []
