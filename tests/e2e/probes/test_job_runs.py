"""How a Job runs while all goes well: its pods, its counts, its ends, its rests."""

import pytest

from tests.e2e.probes.jobs import (
    INDEX,
    INDEXED,
    TRACKING,
    a_job,
    counts,
    end,
    of_index,
    pods_of,
    with_pods,
)
from tests.e2e.probes.probe import Probe, condition, is_true
from tests.queue.api.manifests import Manifest, changed


def indexed(completions: int, **spec: int) -> Manifest:
    """Changes that make a job of so many indexes, all at once unless `spec` says otherwise."""
    numbers = {"completions": completions, "parallelism": completions, **spec}
    return {**INDEXED, **{f"spec.{name}": number for name, number in numbers.items()}}


def test_a_job_makes_as_many_pods_as_run_in_parallel(probe: Probe) -> None:
    job = with_pods(probe, 2, {"spec.parallelism": 2, "spec.completions": 5})

    assert len(pods_of(probe, job)) == 2
    assert counts(active=2, ready=0, terminating=0, succeeded=None, failed=None)(job)
    assert job["status"]["uncountedTerminatedPods"] == {}
    assert job["status"]["startTime"] >= job["metadata"]["creationTimestamp"]
    assert "completionTime" not in job["status"]
    assert "conditions" not in job["status"]


def test_a_job_makes_no_more_pods_than_complete(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.parallelism": 3, "spec.completions": 1})

    assert len(pods_of(probe, job)) == 1


def test_a_pod_belongs_to_its_job(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.template.metadata.annotations": {"a": "b"}})
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]

    (pod,) = pods_of(probe, job)

    metadata = pod["metadata"]
    assert metadata["generateName"] == f"{name}-"
    assert metadata["name"].startswith(f"{name}-")
    assert len(metadata["name"]) == len(name) + 6
    assert metadata["finalizers"] == [TRACKING]
    assert metadata["annotations"] == {"a": "b"}
    assert metadata["labels"] == job["spec"]["template"]["metadata"]["labels"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": name,
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert "env" not in pod["spec"]["containers"][0]


def test_a_pod_knows_its_index(probe: Probe) -> None:
    job = with_pods(probe, 2, indexed(2))
    name = job["metadata"]["name"]

    for index, pod in enumerate(pods_of(probe, job)):
        metadata, spec = pod["metadata"], pod["spec"]
        assert metadata["generateName"] == f"{name}-{index}-"
        assert metadata["annotations"][INDEX] == str(index)
        assert metadata["labels"][INDEX] == str(index)
        assert spec["hostname"] == f"{name}-{index}"
        assert spec["containers"][0]["env"] == [
            {
                "name": "JOB_COMPLETION_INDEX",
                "valueFrom": {
                    "fieldRef": {
                        "apiVersion": "v1",
                        "fieldPath": f"metadata.labels['{INDEX}']",
                    }
                },
            }
        ]


def test_pods_that_are_ready_are_counted(probe: Probe) -> None:
    job = with_pods(probe, 2, {"spec.parallelism": 2})

    pod, _ = pods_of(probe, job)
    ready = {"type": "Ready", "status": "True"}
    probe.set_status(pod, phase="Running", conditions=[ready])

    now = probe.until(job, counts(ready=1))
    assert counts(active=2)(now)


def test_a_pod_that_succeeds_is_followed_by_the_next(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.completions": 2})

    (first,) = pods_of(probe, job)
    end(probe, first)
    now = probe.until(job, counts(succeeded=1, active=1))

    assert not is_true("Complete")(now)
    assert len(pods_of(probe, job)) == 2


def test_a_pod_that_is_counted_is_let_go(probe: Probe) -> None:
    job = with_pods(probe, 1)

    (pod,) = pods_of(probe, job)
    end(probe, pod)
    probe.until(job, is_true("Complete"))

    assert "finalizers" not in probe.get(pod)["metadata"]


def test_a_pod_that_runs_keeps_its_finalizer(probe: Probe) -> None:
    job = with_pods(probe, 1)
    (pod,) = pods_of(probe, job)

    probe.delete(pod).expect(200)

    probe.until(job, counts(failed=1))
    probe.until_gone(pod)


def test_a_job_completes(probe: Probe) -> None:
    job = with_pods(probe, 2, {"spec.parallelism": 2, "spec.completions": 2})

    for pod in pods_of(probe, job):
        end(probe, pod)
    now = probe.until(job, is_true("Complete"))

    assert counts(succeeded=2, active=None, ready=0, terminating=0, failed=None)(now)
    assert now["status"]["completionTime"] >= now["status"]["startTime"]
    names = [each["type"] for each in now["status"]["conditions"]]
    assert names == ["SuccessCriteriaMet", "Complete"]
    for name in names:
        reached = condition(now, name)
        assert reached["reason"] == "CompletionsReached"
        assert reached["message"] == "Reached expected number of succeeded pods"


def test_a_job_without_completions_completes_with_its_last_pod(probe: Probe) -> None:
    job = with_pods(probe, 2, {"spec.parallelism": 2})

    first, second = pods_of(probe, job)
    end(probe, first)
    now = probe.until(job, counts(succeeded=1, active=1))
    assert not is_true("Complete")(now)

    end(probe, second)
    assert counts(succeeded=2)(probe.until(job, is_true("Complete")))


def test_a_job_of_no_completions_is_complete(probe: Probe) -> None:
    made = probe.create(a_job(probe, {"spec.completions": 0}))

    now = probe.until(made, is_true("Complete"))

    assert "active" not in now["status"]
    assert pods_of(probe, made) == []


def test_a_job_tells_of_its_pods_and_its_end(probe: Probe) -> None:
    job = with_pods(probe, 1)
    (pod,) = pods_of(probe, job)
    end(probe, pod)

    created = probe.until_event(job, "SuccessfulCreate")
    completed = probe.until_event(job, "Completed")

    assert created["message"] == f"Created pod: {pod['metadata']['name']}"
    assert created["type"] == completed["type"] == "Normal"
    assert completed["message"] == "Job completed"
    assert completed["source"]["component"] == "job-controller"
    about = completed["involvedObject"]
    assert (about["apiVersion"], about["kind"]) == ("batch/v1", "Job")


def test_indexes_that_are_complete_are_told_in_ranges(probe: Probe) -> None:
    job = with_pods(probe, 5, indexed(5))

    pods = pods_of(probe, job)
    for index in (0, 1, 2, 4):
        end(probe, of_index(pods, index))
    now = probe.until(job, counts(succeeded=4))

    assert now["status"]["completedIndexes"] == "0-2,4"


def test_two_indexes_in_a_row_are_a_list(probe: Probe) -> None:
    job = with_pods(probe, 3, indexed(3))

    pods = pods_of(probe, job)
    for index in (1, 2):
        end(probe, of_index(pods, index))
    now = probe.until(job, counts(succeeded=2))

    assert now["status"]["completedIndexes"] == "1,2"


def test_the_lowest_indexes_come_first(probe: Probe) -> None:
    job = with_pods(probe, 2, indexed(4, parallelism=2))

    pods = pods_of(probe, job)
    assert [pod["metadata"]["annotations"][INDEX] for pod in pods] == ["0", "1"]
    end(probe, of_index(pods, 1))
    probe.until(job, counts(succeeded=1, active=2))

    assert len([of_index(pods_of(probe, job), index) for index in (0, 1, 2)]) == 3


def test_a_job_with_more_in_parallel_makes_more_pods(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.parallelism": 1, "spec.completions": 3})

    probe.api.patch(job, {"spec": {"parallelism": 3}}).expect(200)

    probe.until(job, counts(active=3))


def test_a_job_with_fewer_in_parallel_deletes_pods(probe: Probe) -> None:
    job = with_pods(probe, 3, {"spec.parallelism": 3, "spec.completions": 3})

    probe.api.patch(job, {"spec": {"parallelism": 1}}).expect(200)
    now = probe.until(job, counts(active=1))

    assert counts(failed=None)(now)
    assert len(pods_of(probe, job)) == 1
    assert "Deleted pod: " in probe.until_event(job, "SuccessfulDelete")["message"]


def test_a_suspended_job_waits(probe: Probe) -> None:
    made = probe.create(a_job(probe, {"spec.suspend": True}))

    now = probe.until(made, is_true("Suspended"))

    suspended = condition(now, "Suspended")
    assert (suspended["reason"], suspended["message"]) == ("JobSuspended", "Job suspended")
    assert "startTime" not in now["status"]
    assert counts(active=None, ready=0, terminating=0)(now)
    assert pods_of(probe, made) == []
    assert probe.until_event(made, "Suspended")["message"] == "Job suspended"


def test_a_job_that_is_resumed_starts(probe: Probe) -> None:
    made = probe.create(a_job(probe, {"spec.suspend": True}))
    probe.until(made, is_true("Suspended"))

    probe.api.patch(made, {"spec": {"suspend": False}}).expect(200)
    now = probe.until(made, counts(active=1))

    resumed = condition(now, "Suspended")
    assert (resumed["status"], resumed["reason"]) == ("False", "JobResumed")
    assert resumed["message"] == "Job resumed"
    assert "startTime" in now["status"]
    assert probe.until_event(made, "Resumed")["message"] == "Job resumed"


def test_a_job_that_is_suspended_loses_its_pods(probe: Probe) -> None:
    job = with_pods(probe, 2, {"spec.parallelism": 2})

    probe.api.patch(job, {"spec": {"suspend": True}}).expect(200)
    now = probe.until(
        job, lambda job: is_true("Suspended")(job) and counts(active=None, terminating=0)(job)
    )

    assert counts(failed=None, succeeded=None)(now)
    assert "startTime" not in now["status"]
    assert pods_of(probe, job) == []


def test_a_job_that_is_suspended_remembers_its_successes(probe: Probe) -> None:
    job = with_pods(probe, 2, indexed(3, parallelism=2))
    end(probe, of_index(pods_of(probe, job), 0))
    probe.until(job, counts(succeeded=1, active=2))

    probe.api.patch(job, {"spec": {"suspend": True}}).expect(200)
    now = probe.until(job, counts(active=None))
    assert now["status"]["completedIndexes"] == "0"

    probe.api.patch(job, {"spec": {"suspend": False}}).expect(200)
    probe.until(job, counts(active=2, succeeded=1))
    running = [pod for pod in pods_of(probe, job) if pod["status"]["phase"] == "Pending"]
    assert [pod["metadata"]["annotations"][INDEX] for pod in running] == ["1", "2"]


def test_a_job_goes_where_it_is_told_before_it_starts(probe: Probe) -> None:
    """What a queue does to start a job: it places the pods and resumes, in one write."""
    made = probe.create(a_job(probe, {"spec.suspend": True}))
    probe.until(made, is_true("Suspended"))

    template = {"spec": {"nodeSelector": {"pool": "a"}}}
    probe.api.patch(made, {"spec": {"suspend": False, "template": template}}).expect(200)
    probe.until(made, counts(active=1))

    (pod,) = pods_of(probe, made)
    assert pod["spec"]["nodeSelector"] == {"pool": "a"}


def test_a_job_that_was_stopped_goes_elsewhere(probe: Probe) -> None:
    job = with_pods(probe, 1)
    probe.api.patch(job, {"spec": {"suspend": True}}).expect(200)
    probe.until(job, is_true("Suspended"))

    patch = {"spec": {"template": {"spec": {"nodeSelector": {"pool": "b"}}}}}
    probe.api.patch(job, patch).expect(200)


def test_a_pod_that_ends_slowly_is_replaced_meanwhile(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.template.spec.nodeName": "nowhere"})
    (pod,) = pods_of(probe, job)

    probe.delete(pod).expect(200)

    now = probe.until(job, counts(active=1, terminating=1, failed=1))
    assert len(pods_of(probe, now)) == 2


def test_a_pod_that_ends_slowly_is_replaced_after_its_end_if_so_wished(probe: Probe) -> None:
    changes = {"spec.podReplacementPolicy": "Failed", "spec.template.spec.nodeName": "nowhere"}
    job = with_pods(probe, 1, changes)
    (pod,) = pods_of(probe, job)

    probe.delete(pod).expect(200)
    now = probe.until(job, counts(active=None, terminating=1))
    assert counts(failed=None)(now)
    probe.set_status(pod, phase="Failed")

    probe.until(job, counts(active=1, terminating=0, failed=1))


def test_a_job_is_deleted_with_its_pods(probe: Probe) -> None:
    job = with_pods(probe, 1)
    (pod,) = pods_of(probe, job)

    probe.delete(job, propagationPolicy="Background").expect(200)

    probe.until_gone(job)
    probe.until_gone(pod)


def test_pods_of_a_job_outlive_it_if_so_wished(probe: Probe) -> None:
    job = with_pods(probe, 1)
    (pod,) = pods_of(probe, job)

    probe.delete(job, propagationPolicy="Orphan").expect(200)
    probe.until_gone(job)
    now = probe.until(pod, lambda pod: "finalizers" not in pod["metadata"])

    assert "ownerReferences" not in now["metadata"]


def test_a_job_is_deleted_some_time_after_its_end(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.ttlSecondsAfterFinished": 1})
    (pod,) = pods_of(probe, job)

    end(probe, pod)

    probe.until_gone(job)
    probe.until_gone(pod)


def test_a_job_of_another_controller_is_left_alone(probe: Probe) -> None:
    theirs = probe.create(a_job(probe, {"spec.managedBy": "example.com/nobody"}))
    with_pods(probe, 1)  # made later, done before

    assert probe.get(theirs)["status"] == {}
    assert pods_of(probe, theirs) == []


SUCCESS = "spec.successPolicy.rules"


@pytest.mark.parametrize(
    "rule, succeeding",
    [
        ({"succeededIndexes": "0"}, [0]),
        ({"succeededCount": 2}, [1, 2]),
        ({"succeededIndexes": "1-2", "succeededCount": 1}, [2]),
    ],
    ids=["by index", "by number", "by a number of indexes"],
)
def test_a_job_completes_by_its_policy(rule: Manifest, succeeding: list[int], probe: Probe) -> None:
    job = with_pods(probe, 3, {**indexed(3), SUCCESS: [rule]})

    pods = pods_of(probe, job)
    for index in succeeding:
        end(probe, of_index(pods, index))
    now = probe.until(job, is_true("Complete"))

    reached = condition(now, "SuccessCriteriaMet")
    assert (reached["reason"], reached["message"]) == (
        "SuccessPolicy",
        "Matched rules at index 0",
    )
    assert condition(now, "Complete")["reason"] == "SuccessPolicy"
    assert counts(succeeded=len(succeeding), active=None)(now)


def test_indexes_grow_with_parallelism(probe: Probe) -> None:
    job = with_pods(probe, 1, indexed(1))

    more = changed({}, {"spec.completions": 2, "spec.parallelism": 2})
    probe.api.patch(job, more).expect(200)

    probe.until(job, counts(active=2))
