"""How a Job fails, or does not although its pods do: limits, policies, deadlines."""

from typing import Any

import pytest

from tests.e2e.probes.jobs import INDEXED, counts, end, fail, of_index, pods_of, with_pods
from tests.e2e.probes.probe import Probe, condition, is_true
from tests.queue.api.manifests import Manifest


def assert_failed(job: Manifest, reason: str, message: str) -> None:
    """A job tells twice why it fails: when it is known, and when its pods have ended."""
    for name in ("FailureTarget", "Failed"):
        told = condition(job, name)
        assert (told["status"], told["reason"], told["message"]) == ("True", reason, message)
    assert "completionTime" not in job["status"]
    assert counts(active=None, ready=0, terminating=0)(job)


def test_a_job_that_may_not_fail_fails_with_its_first_pod(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.backoffLimit": 0})
    (pod,) = pods_of(probe, job)

    fail(probe, pod)
    now = probe.until(job, is_true("Failed"))

    assert_failed(now, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert counts(failed=1, succeeded=None)(now)
    event = probe.until_event(job, "BackoffLimitExceeded")
    assert (event["type"], event["message"]) == (
        "Warning",
        "Job has reached the specified backoff limit",
    )


def test_pods_of_a_job_that_fails_are_deleted(probe: Probe) -> None:
    job = with_pods(probe, 3, {"spec.backoffLimit": 0, "spec.parallelism": 3})
    pods = pods_of(probe, job)

    fail(probe, pods[0])
    now = probe.until(job, is_true("Failed"))

    assert counts(failed=3)(now)
    assert [pod["metadata"]["name"] for pod in pods_of(probe, job)] == [pods[0]["metadata"]["name"]]


def test_a_pod_that_fails_is_replaced_within_the_limit(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.backoffLimit": 1})
    (pod,) = pods_of(probe, job)

    fail(probe, pod)
    now = probe.until(job, counts(active=1, failed=1))

    assert "conditions" not in now["status"]
    assert len(pods_of(probe, job)) == 2


def test_a_job_has_a_deadline(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.activeDeadlineSeconds": 1})

    now = probe.until(job, is_true("Failed"))

    message = "Job was active longer than specified deadline"
    assert_failed(now, "DeadlineExceeded", message)
    assert counts(failed=1)(now)
    assert pods_of(probe, job) == []
    assert probe.until_event(job, "DeadlineExceeded")["message"] == message


RULES = "spec.podFailurePolicy.rules"


def by_exit_code(action: str, code: int = 42) -> Manifest:
    return {"action": action, "onExitCodes": {"operator": "In", "values": [code]}}


def test_a_policy_fails_a_job_at_once(probe: Probe) -> None:
    job = with_pods(probe, 1, {RULES: [by_exit_code("FailJob")]})
    (pod,) = pods_of(probe, job)

    fail(probe, pod, 42)
    now = probe.until(job, is_true("Failed"))

    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    message = (
        f"Container c for pod {name} failed with exit code 42 matching FailJob rule at index 0"
    )
    assert_failed(now, "PodFailurePolicy", message)
    assert counts(failed=1)(now)


def test_a_policy_ignores_a_failure(probe: Probe) -> None:
    job = with_pods(probe, 1, {RULES: [by_exit_code("Ignore")], "spec.backoffLimit": 0})
    (pod,) = pods_of(probe, job)

    fail(probe, pod, 42)
    probe.until(pod, lambda pod: "finalizers" not in pod["metadata"])
    now = probe.until(job, counts(active=1))

    assert counts(failed=None)(now)
    assert "conditions" not in now["status"]


def test_a_policy_counts_a_failure(probe: Probe) -> None:
    job = with_pods(probe, 1, {RULES: [by_exit_code("Count")], "spec.backoffLimit": 0})
    (pod,) = pods_of(probe, job)

    fail(probe, pod, 42)

    now = probe.until(job, is_true("Failed"))
    assert condition(now, "Failed")["reason"] == "BackoffLimitExceeded"


def test_the_first_rule_that_matches_is_applied(probe: Probe) -> None:
    rules = [by_exit_code("Count", 1), by_exit_code("FailJob", 42), by_exit_code("Count", 42)]
    job = with_pods(probe, 1, {RULES: rules})
    (pod,) = pods_of(probe, job)

    fail(probe, pod, 42)

    now = probe.until(job, is_true("Failed"))
    assert condition(now, "Failed")["message"].endswith("matching FailJob rule at index 1")


def test_a_failure_of_no_rule_counts(probe: Probe) -> None:
    job = with_pods(probe, 1, {RULES: [by_exit_code("Ignore")], "spec.backoffLimit": 0})
    (pod,) = pods_of(probe, job)

    fail(probe, pod, 1)

    now = probe.until(job, is_true("Failed"))
    assert condition(now, "Failed")["reason"] == "BackoffLimitExceeded"


def test_a_policy_fails_a_job_by_a_condition_of_a_pod(probe: Probe) -> None:
    pattern = {"type": "DisruptionTarget", "status": "True"}
    job = with_pods(probe, 1, {RULES: [{"action": "FailJob", "onPodConditions": [pattern]}]})
    (pod,) = pods_of(probe, job)

    probe.set_status(pod, phase="Failed", conditions=[pattern])
    now = probe.until(job, is_true("Failed"))

    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    assert_failed(
        now,
        "PodFailurePolicy",
        f"Pod {name} has condition DisruptionTarget matching FailJob rule at index 0",
    )


def limited(limit: int, **spec: Any) -> Manifest:
    """Changes for a job of three indexes of which each may fail by itself."""
    numbers = {"completions": 3, "parallelism": 3, "backoffLimitPerIndex": limit, **spec}
    return {**INDEXED, **{f"spec.{name}": number for name, number in numbers.items()}}


def test_an_index_fails_alone(probe: Probe) -> None:
    job = with_pods(probe, 3, limited(0))
    pods = pods_of(probe, job)

    fail(probe, of_index(pods, 1))
    now = probe.until(job, counts(failed=1))
    assert now["status"]["failedIndexes"] == "1"
    assert counts(active=2)(now)

    for index in (0, 2):
        end(probe, of_index(pods, index))
    now = probe.until(job, is_true("Failed"))
    assert_failed(now, "FailedIndexes", "Job has failed indexes")
    assert (now["status"]["completedIndexes"], now["status"]["failedIndexes"]) == ("0,2", "1")


def test_an_index_that_may_fail_is_tried_again(probe: Probe) -> None:
    job = with_pods(probe, 3, limited(1))

    fail(probe, of_index(pods_of(probe, job), 1))
    probe.until(job, counts(failed=1, active=3))

    tried = "batch.kubernetes.io/job-index-failure-count"
    pods = [pod for pod in pods_of(probe, job) if pod["status"]["phase"] == "Pending"]
    assert of_index(pods, 1)["metadata"]["annotations"][tried] == "1"
    assert of_index(pods, 0)["metadata"]["annotations"][tried] == "0"


def test_too_many_failed_indexes_fail_a_job(probe: Probe) -> None:
    job = with_pods(probe, 3, limited(0, maxFailedIndexes=0))

    fail(probe, of_index(pods_of(probe, job), 1))
    now = probe.until(job, is_true("Failed"))

    message = "Job has exceeded the specified maximal number of failed indexes"
    assert_failed(now, "MaxFailedIndexesExceeded", message)


def test_a_policy_fails_an_index(probe: Probe) -> None:
    job = with_pods(probe, 3, {**limited(5), RULES: [by_exit_code("FailIndex")]})

    fail(probe, of_index(pods_of(probe, job), 2), 42)
    now = probe.until(job, counts(failed=1))

    assert now["status"]["failedIndexes"] == "2"
    assert counts(active=2)(now)


@pytest.mark.parametrize("ttl", [0, 1])
def test_a_job_that_failed_is_deleted_some_time_after(ttl: int, probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.backoffLimit": 0, "spec.ttlSecondsAfterFinished": ttl})
    (pod,) = pods_of(probe, job)

    fail(probe, pod)

    probe.until_gone(job)


def test_a_job_that_failed_makes_no_pods(probe: Probe) -> None:
    job = with_pods(probe, 1, {"spec.backoffLimit": 0})
    (pod,) = pods_of(probe, job)
    fail(probe, pod)
    probe.until(job, is_true("Failed"))

    probe.delete(pod).expect(200)
    probe.until_gone(pod)
    with_pods(probe, 1)  # made later, done before

    assert pods_of(probe, job) == []
