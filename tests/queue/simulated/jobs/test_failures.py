"""Jobs whose pods fail."""

from __future__ import annotations

from typing import Any

import pytest

from muster.queue.simulated.jobs import pods as pod_facts
from muster.queue.simulated.jobs.accounting import Outcome, account
from muster.queue.simulated.jobs.assessment import assess
from muster.queue.simulated.jobs.backoff import NO_BACKOFF
from muster.queue.simulated.jobs.planning import plan_pods
from tests.queue.simulated.jobs.world import (
    names,
    started,
)


def test_failed_pods_are_replaced_later_and_later() -> None:
    world = started(backoffLimit=3)
    for wait_s in (10, 20, 40):
        world.end(pod_facts.name(world.active()[0]), exit_code=1)
        world.settle()
        assert not world.active()
        assert world.again_us == world.now_us + wait_s * 1_000_000
        world.now_s += wait_s - 1
        world.settle()
        assert not world.active()
        world.now_s += 1
        world.settle()
    world.end(pod_facts.name(world.active()[0]), exit_code=1)
    world.settle()
    assert world.status["failed"] == 4
    assert world.conditions() == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    message = "Job has reached the specified backoff limit"
    assert world.events == [("Warning", "BackoffLimitExceeded", message)]
    assert "completionTime" not in world.status


def test_a_failing_job_takes_its_other_pods_with_it() -> None:
    world = started(parallelism=3, completions=3, backoffLimit=0)
    first, *others = names(world)
    world.end(first, exit_code=1)
    world.settle()
    assert world.conditions() == [("FailureTarget", "True", "BackoffLimitExceeded")]
    assert (world.status["failed"], world.status["terminating"]) == (3, 2)
    for name in others:
        world.stop(name)
    world.settle()
    assert world.conditions()[-1][0] == "Failed"


def test_a_deleted_pod_counts_as_failed_and_is_replaced_at_its_end_only_if_asked() -> None:
    eager = started()
    eager.delete(names(eager)[0])
    eager.settle()
    assert eager.status["failed"] == 1
    patient = started(podReplacementPolicy="Failed")
    (name,) = names(patient)
    patient.delete(name)
    patient.settle()
    assert ("failed" in patient.status, patient.status["terminating"]) == (False, 1)
    patient.now_s = 60
    patient.settle()
    assert not patient.active()
    patient.stop(name)
    patient.settle()
    assert patient.status["failed"] == 1


def test_restarts_in_place_count_against_the_limit() -> None:
    world = started(backoffLimit=2)
    world.job["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    (name,) = names(world)
    world._set(name, containerStatuses=[{"name": "main", "state": {}, "restartCount": 1}])
    world.settle()
    assert world.active()
    world._set(name, containerStatuses=[{"name": "main", "state": {}, "restartCount": 2}])
    world.settle()
    assert world.conditions() == [("FailureTarget", "True", "BackoffLimitExceeded")]


def test_a_deadline_ends_the_job() -> None:
    world = started(activeDeadlineSeconds=30)
    assert world.again_us == world.now_us + 30_000_000
    world.now_s = 29
    world.settle()
    assert world.active()
    world.now_s = 30
    world.settle()
    assert world.conditions() == [("FailureTarget", "True", "DeadlineExceeded")]


def failure_policy(action: str, **rule: Any) -> dict[str, Any]:
    return {"rules": [{"action": action, **rule}]}


ON_42 = {"onExitCodes": {"operator": "In", "values": [42]}}


ON_DISRUPTION = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


DISRUPTED = [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(
    "policy, exit_code, conditions, failed, ends",
    [
        (failure_policy("FailJob", **ON_42), 42, [], 1, True),
        (failure_policy("FailJob", **ON_42), 1, [], 1, False),
        (failure_policy("Ignore", **ON_42), 42, [], 0, False),
        (failure_policy("Count", **ON_42), 42, [], 1, False),
        (failure_policy("Ignore", **ON_DISRUPTION), 1, DISRUPTED, 0, False),
        (failure_policy("FailJob", **ON_DISRUPTION), 1, DISRUPTED, 1, True),
        (failure_policy("Ignore", **ON_DISRUPTION), 1, [], 1, False),
        (
            failure_policy("FailJob", onExitCodes={"operator": "NotIn", "values": [1]}),
            42, [], 1, True,
        ),
        (
            failure_policy(
                "FailJob", onExitCodes={"operator": "In", "values": [42], "containerName": "side"}
            ),
            42, [], 1, False,
        ),
    ],
)  # fmt: skip
def test_a_failure_policy_judges_pods(
    policy: Any, exit_code: int, conditions: Any, failed: int, ends: bool
) -> None:
    world = started(podFailurePolicy=policy)
    world.end(names(world)[0], exit_code, conditions)
    world.settle()
    assert world.status.get("failed", 0) == failed
    expected = [
        ("FailureTarget", "True", "PodFailurePolicy"),
        ("Failed", "True", "PodFailurePolicy"),
    ]
    assert world.conditions() == (expected if ends else [])


def test_the_job_says_which_rule_failed_it() -> None:
    world = started(podFailurePolicy=failure_policy("FailJob", **ON_42))
    (name,) = names(world)
    world.end(name, 42)
    world.settle()
    assert world.status["conditions"][-1]["message"] == (
        f"Container main for pod default/{name} failed with exit code 42 "
        "matching FailJob rule at index 0"
    )


def test_a_failure_policy_fails_an_index() -> None:
    world = started(
        parallelism=2, completions=2, completionMode="Indexed", backoffLimitPerIndex=5,
        podFailurePolicy=failure_policy("FailIndex", **ON_42), backoffLimit=2**31 - 1,
    )  # fmt: skip
    world.end(names(world)[0], 42)
    world.settle()
    assert world.status["failedIndexes"] == "0"


def test_an_ignored_failure_of_an_index_is_remembered_apart() -> None:
    world = started(
        completionMode="Indexed", backoffLimitPerIndex=1, backoffLimit=2**31 - 1,
        podFailurePolicy=failure_policy("Ignore", **ON_42),
    )  # fmt: skip
    for _ in range(2):
        world.end(pod_facts.name(world.active()[0]), 42)
        world.now_s += 600
        world.settle()
    (pod,) = world.active()
    assert (pod_facts.failures(pod), pod_facts.ignored_failures(pod)) == (0, 2)


def test_failures_before_the_last_success_are_forgiven() -> None:
    world = started(parallelism=2, completions=4)
    first, second = names(world)
    world.now_s = 5
    world.end(first, exit_code=1)
    world.now_s = 6
    world.end(second)
    world.settle()
    assert len(world.active()) == 2, "nobody waits"


def test_a_job_is_not_over_while_a_pod_could_not_be_deleted() -> None:
    world = started(parallelism=2, completions=2, activeDeadlineSeconds=10)
    assessment = assess(world.job, list(world.pods.values()), NO_BACKOFF, world.now_us + 10**8)
    changes = plan_pods(assessment)
    assert len(changes.delete) == 2
    result = account(assessment, changes, Outcome(deleted=changes.delete[:1]))
    assert result.first["conditions"] == []
    assert result.release == ()
