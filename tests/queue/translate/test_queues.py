"""Flavors, queues, cohorts and the rest, as the engine takes them."""

from fractions import Fraction
from typing import Any

import pytest

from muster.admission import objects
from muster.admission.amounts import INFINITE, FlavorResource
from muster.admission.objects import PreemptionPolicy, QueueingStrategy, StopPolicy
from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.core import Namespace
from muster.queue.api.kueue import AdmissionCheck, Cohort, LocalQueue, ResourceFlavor, Topology
from muster.queue.translate import queues
from tests.queue.api.manifests import a_group
from tests.queue.translate.models import a_model

COHORT = {"spec.cohortName": "research"}


def a_queue(changes: dict[str, Any] | None = None) -> objects.ClusterQueue:
    return queues.cluster_queue(a_model(ClusterQueue, changes))


def test_an_empty_cluster_queue() -> None:
    assert a_queue() == objects.ClusterQueue(name="x")


def test_quotas_are_exact_amounts() -> None:
    group = a_group("spot", resources=["cpu", "memory", "nvidia.com/gpu"])
    quotas = group["flavors"][0]["resources"]
    quotas[0] |= {"nominalQuota": "1500m", "borrowingLimit": "2", "lendingLimit": "0"}
    quotas[1] |= {"nominalQuota": "1Gi"}
    quotas[2] |= {"nominalQuota": "9223372036854775807"}

    queue = a_queue({**COHORT, "spec.resourceGroups": [group]})

    assert queue.cohort == "research"
    assert queue.groups == (
        objects.ResourceGroup(resources=("cpu", "memory", "nvidia.com/gpu"), flavors=("spot",)),
    )
    assert queue.quotas == {
        FlavorResource("spot", "cpu"): objects.Quota(
            nominal=1500, borrowing_limit=2000, lending_limit=0
        ),
        FlavorResource("spot", "memory"): objects.Quota(nominal=2**30),
        FlavorResource("spot", "nvidia.com/gpu"): objects.Quota(nominal=INFINITE),
    }


@pytest.mark.parametrize(
    "selector, expected",
    [
        (None, None),
        ({}, objects.LabelSelector()),
        (
            {
                "matchLabels": {"team": "a"},
                "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x", "y"]}],
            },
            objects.LabelSelector(
                (
                    objects.Requirement("team", "In", ("a",)),
                    objects.Requirement("tier", "NotIn", ("x", "y")),
                )
            ),
        ),
    ],
)
def test_no_selector_is_not_an_empty_one(
    selector: dict[str, Any] | None, expected: objects.LabelSelector | None
) -> None:
    changes = {} if selector is None else {"spec.namespaceSelector": selector}

    assert a_queue(changes).namespace_selector == expected


def test_policies() -> None:
    queue = a_queue(
        {
            **COHORT,
            "spec.queueingStrategy": "StrictFIFO",
            "spec.stopPolicy": "HoldAndDrain",
            "spec.preemption": {
                "withinClusterQueue": "LowerOrNewerEqualPriority",
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 7},
            },
            "spec.flavorFungibility": {
                "whenCanBorrow": "TryNextFlavor",
                "whenCanPreempt": "TryNextFlavor",
                "preference": "PreemptionOverBorrowing",
            },
            "spec.fairSharing.weight": "500m",
            "spec.admissionChecksStrategy.admissionChecks": [{"name": "p"}],
            "metadata.deletionTimestamp": "2026-01-01T12:00:00Z",
        }
    )

    assert queue == objects.ClusterQueue(
        name="x",
        cohort="research",
        strategy=QueueingStrategy.STRICT_FIFO,
        stop_policy=StopPolicy.HOLD_AND_DRAIN,
        preemption=objects.Preemption(
            within_cluster_queue=PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY,
            reclaim_within_cohort=PreemptionPolicy.ANY,
            borrow_within_cohort=True,
            borrow_max_priority=7,
        ),
        fungibility=objects.FlavorFungibility(
            try_next_when_borrowing=True,
            try_next_when_preempting=True,
            prefer_preemption_over_borrowing=True,
        ),
        weight=Fraction(1, 2),
        checks=(objects.CheckRule(check="p"),),
        terminating=True,
    )


def test_a_cohort() -> None:
    cohort = queues.cohort(
        a_model(
            Cohort,
            {
                "spec.parentName": "org",
                "spec.fairSharing.weight": "0",
                "spec.resourceGroups": [a_group("spot", nominalQuota="4")],
            },
        )
    )

    assert cohort == objects.Cohort(
        name="x",
        parent="org",
        weight=Fraction(0),
        quotas={FlavorResource("spot", "cpu"): objects.Quota(nominal=4000)},
    )


def test_a_flavor() -> None:
    flavor = queues.resource_flavor(
        a_model(
            ResourceFlavor,
            {
                "spec.nodeLabels": {"pool": "spot"},
                "spec.nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}],
                "spec.tolerations": [{"key": "spot", "operator": "Exists"}],
                "spec.topologyName": "racks",
            },
        )
    )

    assert flavor == objects.ResourceFlavor(
        name="x",
        node_labels={"pool": "spot"},
        node_taints=(objects.Taint("spot", "true", "NoSchedule"),),
        tolerations=(objects.Toleration("spot", "Exists"),),
        topology="racks",
    )


def test_a_topology() -> None:
    levels = [{"nodeLabel": "block"}, {"nodeLabel": "rack"}]

    topology = queues.topology(a_model(Topology, {"spec.levels": levels}))

    assert topology == objects.Topology(name="x", levels=("block", "rack"))


def test_a_local_queue() -> None:
    model = a_model(
        LocalQueue,
        {"metadata.namespace": "team", "spec.clusterQueue": "q", "spec.stopPolicy": "Hold"},
    )

    assert queues.local_queue(model) == objects.LocalQueue(
        namespace="team", name="x", cluster_queue="q", stop_policy=StopPolicy.HOLD
    )


@pytest.mark.parametrize("status, active", [("True", True), ("False", False), (None, False)])
def test_a_check_is_active_when_its_controller_says_so(status: str | None, active: bool) -> None:
    condition = {
        "type": "Active",
        "status": status,
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }
    changes = {} if status is None else {"status.conditions": [condition]}

    check = queues.admission_check(a_model(AdmissionCheck, changes))

    assert check == objects.AdmissionCheck(name="x", controller="example.com/check", active=active)


def test_a_namespace_has_its_name_as_a_label() -> None:
    model = a_model(Namespace, {"metadata.labels": {"team": "a"}})

    assert queues.namespace(model) == objects.Namespace(
        name="x", labels={"team": "a", "kubernetes.io/metadata.name": "x"}
    )
