"""Manifests become a world: which objects are workloads, what is assumed, what is left out."""

import io

import pytest

from muster.admission import objects
from muster.queue.api.configuration import parse_configuration
from muster.queue.manifests.complaints import ManifestError, told
from muster.queue.world import World, read_world
from tests.queue.texts import (
    KUEUE,
    a_check,
    a_flavor,
    a_job,
    a_local_queue,
    a_queue,
    a_running_workload,
    joined,
)

CONFIGURATION = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
QUEUES = joined(a_flavor("h100"), a_queue("train", {"h100": 8}), a_local_queue("train", "train"))
NOW_US = 7


def world(*documents: str) -> World:
    text = joined(QUEUES, *documents)
    return read_world(["-"], io.BytesIO(text.encode()), parse_configuration(CONFIGURATION), NOW_US)


def complaints(*documents: str) -> str:
    with pytest.raises(ManifestError) as caught:
        world(*documents)
    report = "\n".join(told(caught.value.complaints))
    assert str(caught.value) == report
    return report


def keys(found: World) -> list[str]:
    return [event.workload.key for event in found.workloads]


def test_jobs_and_workloads_wait_or_run() -> None:
    found = world(
        a_job("one", "train"), a_running_workload("two", "train", pods=1, gpus=1, flavor="h100")
    )

    assert [found.name_of(key) for key in keys(found)] == ["team/one", "team/two"]
    assert [event.status.is_true("QuotaReserved") for event in found.workloads] == [False, True]
    assert found.submitted[keys(found)[0]].kind == "Job"


def test_what_no_api_server_has_seen_is_created_now_in_reading_order() -> None:
    workloads = [
        event.workload for event in world(a_job("b", "train"), a_job("a", "train")).workloads
    ]

    assert [each.created_us for each in workloads] == [NOW_US, NOW_US]
    assert workloads[0].uid < workloads[1].uid


def test_namespaces_that_are_used_exist() -> None:
    declared = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {tier: gold}}"
    name = "kubernetes.io/metadata.name"

    assumed = objects.Namespace(name="team", labels={name: "team"})
    told_so = objects.Namespace(name="team", labels={name: "team", "tier": "gold"})

    assert world().structure.namespaces == (assumed,)
    assert world(declared).structure.namespaces == (told_so,)


@pytest.mark.parametrize(
    "check, active",
    [
        pytest.param(a_check("budget"), True, id="from a file"),
        pytest.param(a_check("budget", metadata="resourceVersion: '1'"), False, id="of a cluster"),
        pytest.param(a_check("budget", active="False"), False, id="its controller is not ready"),
    ],
)
def test_admission_checks_that_no_cluster_has_seen_will_have_a_controller(
    check: str, active: bool
) -> None:
    assert [each.active for each in world(check).structure.checks] == [active]


def test_priorities_come_from_classes() -> None:
    priority_class = f"{KUEUE}\nkind: WorkloadPriorityClass\nmetadata: {{name: urgent}}\nvalue: 9"

    found = world(
        priority_class, a_job("x", "train", labels="kueue.x-k8s.io/priority-class: urgent")
    )

    assert found.workloads[0].workload.priority == 9


def test_the_default_local_queue_takes_jobs_that_name_none() -> None:
    unlabelled = a_job("x", "train").replace("kueue.x-k8s.io/queue-name: train", "")

    assert keys(world(unlabelled)) == []
    found = world(unlabelled, a_local_queue("default", "train"))
    assert [event.workload.local_queue for event in found.workloads] == ["default"]


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: team, labels: {kueue.x-k8s.io/queue-name: train%s}%s}
spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: 1}}}]}
status: {phase: %s}"""
OWNED = ", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: x, uid: u}]"


def test_pods_that_stand_alone_are_workloads() -> None:
    found = world(POD % ("alone", "", "", "Pending"))

    assert [found.name_of(key) for key in keys(found)] == ["team/alone"]
    assert found.left_out == {}


def test_what_is_no_business_of_a_queue_is_counted() -> None:
    finished = a_job("done", "train") + "\nstatus: {conditions: [{type: Complete, status: 'True'}]}"
    done = a_running_workload("done", "train", pods=1, gpus=1, flavor="h100").replace(
        "type: Admitted", "type: Finished"
    )
    found = world(
        finished,
        done,
        a_job("unlabelled", "train").replace("kueue.x-k8s.io/queue-name: train", ""),
        POD % ("of-a-job", "", OWNED, "Running"),
        POD % ("of-a-gang", ", kueue.x-k8s.io/pod-group-name: g", "", "Pending"),
        POD % ("ended", "", "", "Succeeded"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}",
    )

    assert keys(found) == []
    assert found.left_out == {
        "ConfigMap": 1,
        "Job without a queue name": 1,
        "Pod of a pod group": 1,
        "Pod of another object": 1,
        "finished Job": 1,
        "finished Pod": 1,
        "finished Workload": 1,
    }


def test_a_suspended_job_is_not_finished() -> None:
    suspended = a_job("x", "train") + "\nstatus: {conditions: [{type: Suspended, status: 'True'}]}"

    assert len(world(suspended).workloads) == 1


def test_a_job_with_a_workload_counts_once() -> None:
    workload = a_running_workload("job-x-1", "train", pods=1, gpus=1, flavor="h100").replace(
        "uid: job-x-1-1,", f"uid: u{OWNED},"
    )

    found = world(a_job("x", "train"), workload)

    assert keys(found) == ["team/job-x-1"]
    assert found.left_out == {"Job that has a Workload": 1}


def test_complaints_of_all_stages_come_together() -> None:
    bad_priority = a_job("x", "train", labels="kueue.x-k8s.io/priority-class: urgent")
    report = complaints(
        a_job("y", "trian"), bad_priority, a_queue("b", {"h200": 1}), a_flavor("x", "nothing: 1")
    )

    assert [line for line in report.splitlines() if line.startswith("    ")] == [
        (
            "    unknown field 'nothing'. "
            "Known here: nodeLabels, nodeTaints, tolerations, topologyName."
        ),
        "    no ResourceFlavor is called 'h200'. Did you mean 'h100'?",
        "    no LocalQueue in namespace team is called 'trian'. Did you mean 'train'?",
        "    no WorkloadPriorityClass is called 'urgent'. There is none.",
    ]


@pytest.mark.parametrize("hidden", ["kind: Nothing", "x: ["])
def test_what_cannot_be_read_may_be_what_is_missing(hidden: str) -> None:
    priority = a_job("x", "train", labels="kueue.x-k8s.io/priority-class: urgent")

    assert "called" not in complaints(a_job("y", "trian"), priority, hidden)


def test_a_class_with_a_mistake_is_there_all_the_same() -> None:
    broken = f"{KUEUE}\nkind: WorkloadPriorityClass\nmetadata: {{name: urgent}}\nvalue: high"
    priority = a_job("x", "train", labels="kueue.x-k8s.io/priority-class: urgent")

    assert "called" not in complaints(broken, priority)


def test_a_job_of_a_cluster_may_name_a_queue_that_is_gone() -> None:
    stored = a_job("x", "gone").replace(
        "namespace: team,", "namespace: team, resourceVersion: '1',"
    )

    assert len(world(stored).workloads) == 1
