"""The Workload that stands for a Job or a Pod."""

import json
from typing import Any

import pytest

from muster.admission import objects
from muster.queue.api.batch import Job
from muster.queue.api.core import Pod, PriorityClass
from muster.queue.api.kueue import WorkloadPriorityClass
from muster.queue.translate.jobs import JobProblem, workload_of_job, workload_of_pod
from muster.queue.translate.pods import PodRules
from muster.queue.translate.priorities import Priorities, priorities
from muster.queue.translate.workloads import Birth
from tests.queue.translate.models import a_model

TEMPLATE = "spec.template"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
CONSTRAINTS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
MAX_EXECUTION = "kueue.x-k8s.io/max-exec-time-seconds"

Changes = dict[str, Any]


def of_job(changes: Changes, known: Priorities | None = None) -> objects.Workload:
    model = a_model(Job, changes)
    return workload_of_job(model, "train", PodRules(), known or Priorities(), Birth(uid="u"))


def of_pod(changes: Changes) -> objects.Workload:
    model = a_model(Pod, changes)
    return workload_of_pod(model, "train", PodRules(), Priorities(), Birth(uid="u"))


def test_the_smallest_job() -> None:
    workload = of_job({})
    [main] = workload.pod_sets

    assert (workload.namespace, workload.local_queue, workload.uid) == ("default", "train", "u")
    assert (main.name, main.count, main.min_count) == ("main", 1, None)
    assert main.requests == (("cpu", 1000),)


@pytest.mark.parametrize(
    "parallelism, completions, count",
    [(4, None, 4), (4, 8, 4), (4, 3, 3), (0, None, 0), (None, None, 1), (None, 5, 1)],
)
def test_as_many_pods_as_may_run_at_once(
    parallelism: int | None, completions: int | None, count: int
) -> None:
    changes: Changes = {}
    if parallelism is not None:
        changes["spec.parallelism"] = parallelism
    if completions is not None:
        changes["spec.completions"] = completions

    assert of_job(changes).pod_sets[0].count == count


def test_the_name_is_that_of_the_api() -> None:
    """The last digits are the first of a SHA-1 over kind, group, name and UID."""
    uid = "5b8f9c5e-7d6a-4e0e-8f0a-2f4f5a3f1b11"

    workload = of_job({"metadata.name": "sample-job", "metadata.uid": uid})

    assert workload.name == "job-sample-job-3b293"
    assert of_pod({}).name.startswith("pod-x-")


@pytest.mark.parametrize("seconds", [1, 2**31 - 1])
def test_the_least_and_the_longest_execution_time(seconds: int) -> None:
    assert of_job({"metadata.labels": {MAX_EXECUTION: str(seconds)}}).max_execution_s == seconds


def test_a_long_name_is_cut() -> None:
    name = of_job({"metadata.name": "n" * 250}).name

    assert len(name) == 253
    assert name.startswith(f"job-{'n' * 243}-")


def test_names_differ_where_uids_do() -> None:
    assert of_job({"metadata.uid": "a"}).name != of_job({"metadata.uid": "b"}).name


def test_labels_and_annotations() -> None:
    workload = of_job(
        {
            "spec.parallelism": 4,
            "metadata.labels": {MAX_EXECUTION: "60"},
            "metadata.annotations": {
                MIN_PARALLELISM: "2",
                "kueue.x-k8s.io/admission-gated-by": "a.b/c",
            },
        }
    )

    assert workload.max_execution_s == 60
    assert workload.gated_by == ("a.b/c",)
    assert workload.pod_sets[0].min_count == 2


def test_topology_annotations() -> None:
    annotations = {
        "kueue.x-k8s.io/podset-preferred-topology": "rack",
        "kueue.x-k8s.io/podset-slice-required-topology": "host",
        "kueue.x-k8s.io/podset-slice-size": "2",
        "kueue.x-k8s.io/podset-group-name": "g",
    }

    topology = of_job({f"{TEMPLATE}.metadata.annotations": annotations}).pod_sets[0].topology

    assert topology is not None
    assert json.loads(topology) == {
        "preferred": "rack",
        "podSetSliceRequiredTopology": "host",
        "podSetSliceSize": 2,
        "podSetGroupName": "g",
        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
    }


def test_unconstrained_topology_of_a_pod() -> None:
    annotations = {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}

    [main] = of_pod({"metadata.annotations": annotations}).pod_sets

    assert main.topology == '{"unconstrained": true}'
    assert (main.name, main.count, main.requests) == ("main", 1, (("cpu", 1000),))


# --- Priority ------------------------------------------------------------------------------------


def classes(*, default_class: bool = False, global_default: bool = True) -> Priorities:
    for_workloads = {"urgent": 1000, **({"default": 50} if default_class else {})}
    return priorities(
        [
            a_model(WorkloadPriorityClass, {"metadata.name": name, "value": value})
            for name, value in for_workloads.items()
        ],
        [
            a_model(PriorityClass, {"metadata.name": "pods", "value": 7}),
            a_model(PriorityClass, {"metadata.name": "g1", "value": 4, "globalDefault": True}),
            a_model(
                PriorityClass,
                {"metadata.name": "g2", "value": 3, "globalDefault": global_default},
            ),
        ],
    )


LABELLED: Changes = {"metadata.labels": {PRIORITY_CLASS: "urgent"}}
OF_PODS: Changes = {f"{TEMPLATE}.spec.priorityClassName": "pods"}


@pytest.mark.parametrize(
    "changes, known, priority",
    [
        pytest.param({**LABELLED, **OF_PODS}, classes(default_class=True), 1000, id="label"),
        pytest.param(OF_PODS, classes(default_class=True), 50, id="default class"),
        pytest.param(OF_PODS, classes(), 7, id="class of the pods"),
        pytest.param({}, classes(), 3, id="lowest global default"),
        pytest.param({}, classes(global_default=False), 4, id="global default"),
        pytest.param({}, priorities([], []), 0, id="nothing"),
        pytest.param(
            {f"{TEMPLATE}.spec.priorityClassName": "system-node-critical"},
            Priorities(),
            2_000_001_000,
            id="built in",
        ),
    ],
)
def test_priority(changes: Changes, known: Priorities, priority: int) -> None:
    assert of_job(changes, known).priority == priority


# --- Contradictions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, path, message",
    [
        (
            {"metadata.labels": {PRIORITY_CLASS: "urgnt"}},
            f"metadata.labels[{PRIORITY_CLASS}]",
            "no WorkloadPriorityClass is called 'urgnt'. Did you mean 'urgent'?",
        ),
        (
            {f"{TEMPLATE}.spec.priorityClassName": "other"},
            "spec.template.spec.priorityClassName",
            (
                "no PriorityClass is called 'other'. There is g1, g2, pods, "
                "system-cluster-critical and system-node-critical."
            ),
        ),
        (
            {"spec.parallelism": 4, "metadata.annotations": {MIN_PARALLELISM: "4"}},
            f"metadata.annotations[{MIN_PARALLELISM}]",
            "4 must be at least 1 and less than parallelism, 4",
        ),
        (
            {"spec.parallelism": 4, "metadata.annotations": {MIN_PARALLELISM: "0"}},
            f"metadata.annotations[{MIN_PARALLELISM}]",
            "0 must be at least 1 and less than parallelism, 4",
        ),
        (
            {"metadata.annotations": {MIN_PARALLELISM: "two"}},
            f"metadata.annotations[{MIN_PARALLELISM}]",
            "'two' is not a whole number",
        ),
        (
            {"metadata.annotations": {MIN_PARALLELISM: "9" * 5000}},
            f"metadata.annotations[{MIN_PARALLELISM}]",
            f"'{'9' * 58}… is too large: at most 2147483647",
        ),
        (
            {"metadata.labels": {MAX_EXECUTION: "2147483648"}},
            f"metadata.labels[{MAX_EXECUTION}]",
            "'2147483648' is too large: at most 2147483647",
        ),
        (
            {"metadata.labels": {MAX_EXECUTION: "0"}},
            f"metadata.labels[{MAX_EXECUTION}]",
            "0 must be at least 1",
        ),
        (
            {f"{TEMPLATE}.metadata.annotations": {CONSTRAINTS: "[{"}},
            f"{TEMPLATE}.metadata.annotations[{CONSTRAINTS}]",
            "must be a JSON list",
        ),
    ],
)
def test_a_job_that_contradicts_itself(changes: Changes, path: str, message: str) -> None:
    with pytest.raises(JobProblem) as caught:
        of_job(changes, classes())

    assert (caught.value.path, caught.value.message) == (path, message)
