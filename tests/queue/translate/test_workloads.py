"""Workloads as the engine takes them: what is asked for, and what was decided."""

from typing import Any

import pytest

from muster.admission import objects, requests
from muster.admission.objects import Requirement, Toleration
from muster.admission.requests import NANO
from muster.queue.api.core import LimitRange, RuntimeClass
from muster.queue.api.workload import Workload
from muster.queue.translate import workloads
from muster.queue.translate.pods import PodRules, limit_ranges, overheads
from muster.queue.translate.workloads import Birth
from tests.queue.translate.models import a_model

NOON = "2026-01-01T12:00:00Z"
NOON_US = 1_767_268_800_000_000
POD_SPEC = "spec.podSets[0].template.spec"


def translated(changes: dict[str, Any], rules: PodRules | None = None) -> objects.Workload:
    model = a_model(Workload, changes)
    return workloads.workload(model, rules or PodRules(), Birth(uid="u", created_us=5))


def pod_set(changes: dict[str, Any], rules: PodRules | None = None) -> objects.PodSet:
    return translated(changes, rules).pod_sets[0]


def status(changes: dict[str, Any]) -> objects.Status:
    return workloads.status(a_model(Workload, changes))


# --- What is asked for ---------------------------------------------------------------------------


def test_the_smallest_workload() -> None:
    workload = translated({})
    [main] = workload.pod_sets

    assert (workload.key, workload.uid, workload.created_us) == ("default/x", "u", 5)
    assert (workload.local_queue, workload.priority, workload.active) == ("", 0, True)
    assert (main.name, main.count, main.min_count) == ("main", 1, None)
    assert main.requests == (("cpu", 1000),)


def test_what_an_api_server_said_is_kept() -> None:
    workload = translated(
        {
            "metadata.uid": "given",
            "metadata.generation": 3,
            "metadata.namespace": "team",
            "metadata.creationTimestamp": NOON,
        }
    )

    assert (workload.uid, workload.generation, workload.key) == ("given", 3, "team/x")
    assert workload.created_us == NOON_US


def test_the_spec() -> None:
    workload = translated(
        {
            "spec.queueName": "train",
            "spec.priority": 7,
            "spec.active": False,
            "spec.maximumExecutionTimeSeconds": 60,
            "spec.podSets[0].count": 4,
            "spec.podSets[0].minCount": 2,
            "metadata.annotations": {
                "kueue.x-k8s.io/priority-boost": "-3",
                "kueue.x-k8s.io/admission-gated-by": "a.b/c,d.e/f",
            },
        }
    )

    assert workload.local_queue == "train"
    assert (workload.priority, workload.priority_boost, workload.active) == (7, -3, False)
    assert workload.max_execution_s == 60
    assert workload.gated_by == ("a.b/c", "d.e/f")
    assert (workload.pod_sets[0].count, workload.pod_sets[0].min_count) == (4, 2)


@pytest.mark.parametrize(
    "text, boost",
    [
        ("+3", 3),
        ("2147483647", 2**31 - 1),
        ("2147483648", 0),
        ("-2147483649", 0),
        (" 3", 0),
        ("1_000", 0),
        ("1.5", 0),
        ("", 0),
    ],
)
def test_a_priority_boost_is_a_32_bit_integer_or_nothing(text: str, boost: int) -> None:
    annotated = {"metadata.annotations": {"kueue.x-k8s.io/priority-boost": text}}
    model = a_model(Workload, annotated, stored=True)

    assert workloads.workload(model, PodRules(), Birth()).priority_boost == boost


def test_what_a_pod_asks_for() -> None:
    main = pod_set(
        {
            POD_SPEC: {
                "overhead": {"cpu": "50m"},
                "initContainers": [
                    {
                        "name": "side",
                        "restartPolicy": "Always",
                        "resources": {"requests": {"cpu": "100m"}},
                    },
                    {"name": "init", "resources": {"requests": {"cpu": "1"}}},
                ],
                "containers": [
                    {"name": "a", "resources": {"requests": {"cpu": "500m"}}},
                    {
                        "name": "b",
                        "resources": {"requests": {"cpu": "250m"}, "limits": {"memory": "1Gi"}},
                    },
                ],
            }
        }
    )

    assert main.requests == (("cpu", 1150), ("memory", 2**30))


def test_where_a_pod_may_run() -> None:
    required = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
        ]
    }
    main = pod_set(
        {
            f"{POD_SPEC}.nodeSelector": {"pool": "spot", "arch": "arm"},
            f"{POD_SPEC}.tolerations": [{"key": "spot", "operator": "Exists"}],
            f"{POD_SPEC}.affinity.nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": required
            },
        }
    )

    assert main.node_selector == (("arch", "arm"), ("pool", "spot"))
    assert main.tolerations == (Toleration("spot", "Exists"),)
    assert main.affinity == ((Requirement("zone", "In", ("a", "b")),), ())


def test_a_preference_is_no_requirement() -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": []}}]
    path = f"{POD_SPEC}.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"

    assert pod_set({path: preferred}).affinity is None


@pytest.mark.parametrize(
    "changes",
    [
        {f"{POD_SPEC}.containers[0].ports": [{"containerPort": 80}]},
        {f"{POD_SPEC}.affinity.podAntiAffinity": {"x": []}},
        {f"{POD_SPEC}.priority": 3},
        {f"{POD_SPEC}.topologySpreadConstraints": [{"maxSkew": 1}]},
        {f"{POD_SPEC}.runtimeClassName": "gvisor"},
        {f"{POD_SPEC}.resourceClaims": [{"name": "c"}]},
        {f"{POD_SPEC}.initContainers": [{"name": "i"}]},
    ],
)
def test_what_matters_for_placement_makes_another_shape(changes: dict[str, Any]) -> None:
    assert pod_set(changes).requests == pod_set({}).requests
    assert pod_set(changes).shape != pod_set({}).shape


def test_names_images_and_limits_do_not_matter() -> None:
    changes = {
        f"{POD_SPEC}.containers[0].name": "other",
        f"{POD_SPEC}.containers[0].image": "other",
        f"{POD_SPEC}.containers[0].resources.limits": {"cpu": "2"},
    }

    assert pod_set(changes) == pod_set({})


def test_huge_quantities_have_a_shape_too() -> None:
    path = f"{POD_SPEC}.containers[0].resources.requests"

    assert pod_set({path: {"memory": "100Ti"}}).requests == (("memory", 100 * 2**40),)


def test_topology_requests_are_text_that_compares() -> None:
    path = "spec.podSets[0].topologyRequest"
    one = pod_set({path: {"podSetSliceSize": 2, "required": "rack"}}).topology
    two = pod_set({path: {"required": "rack", "podSetSliceSize": 2}}).topology

    assert one == two == '{"podSetSliceSize": 2, "required": "rack"}'
    assert pod_set({}).topology is None


# --- What others add to a template ---------------------------------------------------------------


def limit_range(**limits: Any) -> PodRules:
    model = a_model(LimitRange, {"spec.limits": [{"type": "Container", **limits}]})
    return PodRules(limit_ranges=limit_ranges([model]))


def test_limit_ranges_fill_in_requests() -> None:
    rules = limit_range(defaultRequest={"memory": "1Mi"}, default={"nvidia.com/gpu": "1"})

    assert pod_set({}, rules).requests == (
        ("cpu", 1000),
        ("memory", 2**20),
        ("nvidia.com/gpu", 1),
    )


def test_limit_ranges_hold_in_their_namespace() -> None:
    rules = limit_range(defaultRequest={"memory": "1Mi"})

    assert pod_set({"metadata.namespace": "elsewhere"}, rules).requests == (("cpu", 1000),)


def test_the_strictest_limit_range_refuses() -> None:
    rules = limit_range(max={"cpu": "500m"})

    assert translated({}, rules).problem == (
        "pod set 'main': container 'c' asks for 1 of cpu, more than the 500m that a LimitRange of "
        "the namespace allows"
    )
    assert translated({}).problem is None


def test_runtime_classes_cost() -> None:
    model = a_model(RuntimeClass, {"overhead.podFixed": {"cpu": "250m"}})
    rules = PodRules(overheads=overheads([model]))

    assert pod_set({f"{POD_SPEC}.runtimeClassName": "x"}, rules).requests == (("cpu", 1250),)
    assert pod_set({f"{POD_SPEC}.runtimeClassName": "y"}, rules).requests == (("cpu", 1000),)


def test_counting_rules_apply() -> None:
    rule = requests.Transformation(input="cpu", outputs={"credits": 3 * NANO}, retain=False)
    rules = PodRules(counting=requests.CountingRules(transformations=(rule,)))

    assert pod_set({}, rules).requests == (("credits", 3),)


# --- What was decided ----------------------------------------------------------------------------


def test_nothing_was_decided_yet() -> None:
    assert status({}) == objects.Status()


def condition(kind: str, state: str, reason: str = "R") -> dict[str, str]:
    return {
        "type": kind,
        "status": state,
        "reason": reason,
        "message": "m",
        "lastTransitionTime": NOON,
    }


def test_an_admission_without_a_count_is_of_all_pods() -> None:
    assignment = {"name": "main", "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "4"}}
    found = status(
        {
            "spec.podSets[0].count": 4,
            "status.admission": {"clusterQueue": "q", "podSetAssignments": [assignment]},
        }
    )

    assert found.admission is not None
    assert found.admission.pod_sets[0].count == 4


def test_a_check_that_has_not_been_retried() -> None:
    check = {"name": "p", "state": "Ready", "lastTransitionTime": NOON, "message": ""}

    assert status({"status.admissionChecks": [check]}).checks == (
        objects.Check(name="p", state=objects.CheckState.READY, since_us=NOON_US),
    )


def test_the_status() -> None:
    found = status(
        {
            "spec.podSets[0].count": 4,
            "status": {
                "conditions": [
                    condition("QuotaReserved", "True", "QuotaReserved"),
                    condition("Admitted", "False", "NoReservation"),
                    condition("PodsReady", "Unknown"),
                ],
                "admission": {
                    "clusterQueue": "q",
                    "podSetAssignments": [
                        {
                            "name": "main",
                            "flavors": {"cpu": "spot"},
                            "resourceUsage": {"cpu": "6"},
                            "count": 3,
                        }
                    ],
                },
                "admissionChecks": [
                    {
                        "name": "p",
                        "state": "Retry",
                        "lastTransitionTime": NOON,
                        "message": "later",
                        "requeueAfterSeconds": 9,
                        "retryCount": 2,
                    },
                ],
                "requeueState": {"count": 2, "requeueAt": NOON},
                "reclaimablePods": [{"name": "main", "count": 1}],
                "accumulatedPastExecutionTimeSeconds": 30,
                "schedulingStats": {
                    "evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]
                },
            },
        }
    )

    assert found == objects.Status(
        conditions={
            "QuotaReserved": objects.Condition(True, "QuotaReserved", NOON_US, "m"),
            "Admitted": objects.Condition(False, "NoReservation", NOON_US, "m"),
        },
        admission=objects.Admission(
            cluster_queue="q",
            pod_sets=(
                objects.PodSetAssignment(
                    name="main", flavors={"cpu": "spot"}, usage={"cpu": 6000}, count=3
                ),
            ),
        ),
        checks=(
            objects.Check(
                name="p",
                state=objects.CheckState.RETRY,
                since_us=NOON_US,
                requeue_after_s=9,
                retries=2,
                message="later",
            ),
        ),
        requeue_at_us=NOON_US,
        requeue_count=2,
        reclaimable={"main": 1},
        past_execution_s=30,
        evictions=(objects.EvictionCount("Preempted", "", 1),),
    )
