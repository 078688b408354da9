"""Jobs from their creation to their end, with the pure parts of the Job controller."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.queue.simulated.jobs import pods as pod_facts
from muster.queue.simulated.jobs.accounting import Outcome, account
from muster.queue.simulated.jobs.assessment import assess
from muster.queue.simulated.jobs.backoff import NO_BACKOFF
from muster.queue.simulated.jobs.expiry import expiry_us
from muster.queue.simulated.jobs.planning import plan_pods
from tests.queue.simulated.jobs.world import EPOCH_US, Crash, World, job

INDEX = "batch.kubernetes.io/job-completion-index"


def started(**spec: Any) -> World:
    """Return a Job with the pods that it starts with, all of them running."""
    world = World(job(**spec))
    world.settle()
    for name in list(world.pods):
        world.run(name)
    world.settle()
    return world


def names(world: World) -> list[str]:
    return sorted(world.pods)


def reasons(world: World) -> list[str]:
    return [event.reason for event in world.events]


def indexes(world: World) -> list[int]:
    return sorted(pod_facts.completion_index(pod) for pod in world.active())


# -- a Job that works -------------------------------------------------------------------------


def test_a_new_job_counts_its_pods() -> None:
    world = World(job(parallelism=3, completions=5))
    world.sync()
    assert len(world.pods) == 3
    assert world.status == {
        "startTime": "2026-01-01T00:00:00Z",
        "active": 3,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }


def test_ready_pods_are_counted() -> None:
    world = started(parallelism=2, completions=2)
    assert (world.status["active"], world.status["ready"]) == (2, 2)


def test_a_job_completes() -> None:
    world = started(parallelism=2, completions=2)
    world.now_s = 60
    for name in names(world):
        world.end(name)
    world.settle()
    assert world.status["succeeded"] == 2
    assert "active" not in world.status
    assert world.status["completionTime"] == "2026-01-01T00:01:00Z"
    assert world.status["uncountedTerminatedPods"] == {}
    assert world.conditions() == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    assert world.events[-1] == ("Normal", "Completed", "Job completed")


def test_a_job_without_completions_ends_with_its_pods_after_the_first_success() -> None:
    world = started(parallelism=3, completions=None)
    first, *others = names(world)
    world.end(first)
    world.settle()
    assert len(world.active()) == 2
    for name in others:
        world.end(name, exit_code=1)
    world.settle()
    assert world.conditions()[-1][0] == "Complete"
    assert (world.status["succeeded"], world.status["failed"]) == (1, 2)


def test_pods_follow_parallelism() -> None:
    world = started(parallelism=4, completions=10)
    world.job["spec"]["parallelism"] = 1
    world.settle()
    assert len(world.active()) == 1
    for name in [name for name in names(world) if pod_facts.is_deleted(world.pods[name])]:
        world.stop(name)
    world.settle()
    assert "failed" not in world.status, "nobody asked them to fail"
    world.job["spec"]["parallelism"] = 2
    world.settle()
    assert len(world.active()) == 2


def test_unscheduled_pods_are_given_up_first() -> None:
    world = World(job(parallelism=3, completions=10))
    world.sync()
    keep = names(world)[1]
    world.run(keep)
    world.pods[keep]["spec"]["nodeName"] = "n1"
    world.job["spec"]["parallelism"] = 1
    world.settle()
    assert [pod_facts.name(pod) for pod in world.active()] == [keep]


# -- indexes ----------------------------------------------------------------------------------


def test_indexed_pods_know_their_index() -> None:
    world = World(job(parallelism=2, completions=2, completionMode="Indexed"))
    world.sync()
    pod = next(pod for pod in world.pods.values() if pod_facts.completion_index(pod) == 1)
    assert pod["metadata"]["generateName"] == "work-1-"
    assert pod["metadata"]["labels"][INDEX] == "1"
    assert pod["spec"]["hostname"] == "work-1"
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert INDEX in variable["valueFrom"]["fieldRef"]["fieldPath"]


def test_indexes_complete_once_each() -> None:
    world = started(parallelism=5, completions=5, completionMode="Indexed")
    by_index = {pod_facts.completion_index(pod): name for name, pod in world.pods.items()}
    for index in (0, 1, 2, 4):
        world.end(by_index[index])
    world.settle()
    assert world.status["completedIndexes"] == "0-2,4"
    assert world.status["succeeded"] == 4
    world.end(by_index[3])
    world.settle()
    assert world.status["completedIndexes"] == "0-4"
    assert world.conditions()[-1][0] == "Complete"


def test_a_lost_index_is_the_one_that_is_replaced() -> None:
    world = started(parallelism=3, completions=3, completionMode="Indexed")
    lost = next(name for name, pod in world.pods.items() if pod_facts.completion_index(pod) == 1)
    world.end(lost, exit_code=1)
    world.settle()
    assert indexes(world) == [0, 2]
    world.now_s = 10
    world.settle()
    assert indexes(world) == [0, 1, 2]


def test_each_index_has_its_own_backoff_and_limit() -> None:
    world = started(
        parallelism=2, completions=2, completionMode="Indexed", backoffLimitPerIndex=1,
        backoffLimit=2**31 - 1,
    )  # fmt: skip
    for failures, wait_s in ((0, 10), (1, 20)):
        (pod,) = [pod for pod in world.active() if pod_facts.completion_index(pod) == 0]
        assert pod_facts.failures(pod) == failures
        world.end(pod_facts.name(pod), exit_code=1)
        world.settle()
        assert indexes(world) == [1]
        world.now_s += wait_s
        world.settle()
    assert world.status["failedIndexes"] == "0"
    assert indexes(world) == [1], "it has failed for good"
    world.end(pod_facts.name(world.active()[0]))
    world.settle()
    assert world.conditions()[-1] == ("Failed", "True", "FailedIndexes")
    assert (world.status["succeeded"], world.status["failed"]) == (1, 2)


def test_too_many_failed_indexes_fail_the_job() -> None:
    world = started(
        parallelism=3, completions=3, completionMode="Indexed", backoffLimitPerIndex=0,
        maxFailedIndexes=1, backoffLimit=2**31 - 1,
    )  # fmt: skip
    for name in names(world)[:2]:
        world.end(name, exit_code=1)
    world.settle()
    world.stop(names(world)[-1])
    world.settle()
    assert world.conditions()[-1] == ("Failed", "True", "MaxFailedIndexesExceeded")


@pytest.mark.parametrize(
    "rule",
    [
        {"succeededIndexes": "1-2", "succeededCount": 1},
        {"succeededIndexes": "2"},
        {"succeededCount": 1},
    ],
)
def test_a_success_policy_ends_the_job_early(rule: dict[str, Any]) -> None:
    world = started(
        parallelism=4, completions=4, completionMode="Indexed", successPolicy={"rules": [rule]}
    )
    by_index = {pod_facts.completion_index(pod): name for name, pod in world.pods.items()}
    world.end(by_index.pop(2))
    world.settle()
    assert world.conditions() == [("SuccessCriteriaMet", "True", "SuccessPolicy")]
    for name in by_index.values():
        world.stop(name)
    world.settle()
    assert world.conditions()[-1] == ("Complete", "True", "SuccessPolicy")
    assert world.status["conditions"][-1]["message"] == "Matched rules at index 0"
    assert world.status["succeeded"] == 1
    assert "failed" not in world.status


# -- suspension -------------------------------------------------------------------------------


def test_a_job_created_suspended_has_no_pods() -> None:
    world = World(job(suspend=True))
    world.settle()
    assert not world.pods
    assert world.conditions() == [("Suspended", "True", "JobSuspended")]
    assert "startTime" not in world.status
    assert reasons(world) == ["Suspended"]


def test_suspension_takes_the_pods_and_resumption_starts_the_time_again() -> None:
    world = started(parallelism=2, completions=2)
    world.job["spec"]["suspend"] = True
    world.now_s = 50
    world.settle()
    assert world.status["terminating"] == 2
    assert "active" not in world.status
    for name in names(world):
        world.stop(name)
    world.settle()
    assert "failed" not in world.status
    assert "startTime" not in world.status
    world.job["spec"]["suspend"] = False
    world.now_s = 100
    world.settle()
    assert len(world.active()) == 2
    assert world.conditions() == [("Suspended", "False", "JobResumed")]
    assert world.status["startTime"] == "2026-01-01T00:01:40Z"
    assert reasons(world) == ["Suspended", "Resumed"]


# -- failures ---------------------------------------------------------------------------------


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


def test_a_deleted_job_lets_its_pods_go() -> None:
    world = started(parallelism=2, completions=2)
    world.job["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world.settle()
    assert not any(pod_facts.is_tracked(pod) for pod in world.pods.values())
    assert "failed" not in world.status


# -- exactly once -----------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["NonIndexed", "Indexed"]),
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from([0, 0, 1]), st.integers(0, 6)), max_size=14
    ),
)
def test_every_pod_counts_once_whenever_the_controller_dies(
    mode: str, steps: list[tuple[int, int, int]]
) -> None:
    world = World(job(parallelism=3, completions=4, completionMode=mode, backoffLimit=100))
    ended = {0: 0, 1: 0}
    for place, exit_code, writes in steps:
        world.now_s += 600
        if active := world.active():
            world.end(pod_facts.name(active[place % len(active)]), exit_code)
            ended[exit_code] += 1
        world.writes_left = writes
        with contextlib.suppress(Crash):
            world.sync()
            world.sync()
        world.restart()
    world.writes_left = None
    world.settle()
    assert world.status.get("succeeded", 0) == ended[0]
    assert world.status.get("failed", 0) == ended[1]
    assert world.status["uncountedTerminatedPods"] == {}
    assert (world.conditions() != []) == (ended[0] == 4)


# -- the fine print ---------------------------------------------------------------------------


def test_as_many_failed_indexes_as_allowed_are_allowed() -> None:
    world = started(
        parallelism=3, completions=3, completionMode="Indexed", backoffLimitPerIndex=0,
        maxFailedIndexes=1, backoffLimit=2**31 - 1,
    )  # fmt: skip
    world.end(names(world)[0], exit_code=1)
    world.settle()
    assert world.conditions() == []
    assert world.status["failed"] == 1, "its pod stands for nobody any more, so it is let go"


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


@pytest.mark.parametrize("exit_code", [0, 1])
def test_pods_outside_the_indexes_are_deleted_and_count_for_nothing(exit_code: int) -> None:
    world = started(parallelism=3, completions=3, completionMode="Indexed")
    world.job["spec"].update(parallelism=1, completions=1)
    world.end(names(world)[2], exit_code)
    world.settle()
    assert indexes(world) == [0]
    assert (world.status.get("succeeded", 0), world.status.get("failed", 0)) == (0, 0)


def test_of_two_pods_with_one_index_the_better_one_stays() -> None:
    world = World(job(parallelism=3, completions=3, completionMode="Indexed"))
    world.sync()
    first, second, third = names(world)
    world.run(second)
    for field in ("labels", "annotations"):
        world.pods[third]["metadata"][field] = world.pods[second]["metadata"][field]
    world.sync()
    assert sorted(pod_facts.name(pod) for pod in world.active()) == [first, second]


def test_fewer_pods_are_given_up_where_some_are_superfluous_anyway() -> None:
    world = started(parallelism=3, completions=3, completionMode="Indexed")
    world.job["spec"].update(parallelism=2, completions=2)
    world.sync()
    assert indexes(world) == [0, 1]


@pytest.mark.parametrize("change", [{"parallelism": 1200}, {"parallelism": 1200, "suspend": True}])
def test_many_pods_are_created_in_portions(change: dict[str, Any]) -> None:
    world = World(job(completions=1200, **change))
    world.sync()
    assert len(world.pods) == (0 if "suspend" in change else 500)
    world.sync()
    assert len(world.pods) == (0 if "suspend" in change else 1000)


def test_many_pods_are_deleted_in_portions() -> None:
    world = World(job(parallelism=1200, completions=1200))
    world.settle()
    world.job["spec"]["parallelism"] = 0
    world.sync()
    assert len(world.pods) == 700


def test_many_finished_pods_are_counted_in_portions() -> None:
    world = started(parallelism=600, completions=600)
    for name in names(world):
        world.end(name)
    world.sync()
    assert world.status["succeeded"] == 500
    assert [type_ for type_, _, _ in world.conditions()] == ["SuccessCriteriaMet"]
    world.settle()
    assert world.status["succeeded"] == 600
    assert world.conditions()[-1][0] == "Complete"


def test_too_many_successes_are_told() -> None:
    world = started(parallelism=3, completions=3)
    world.job["spec"]["completions"] = 2
    for name in names(world):
        world.end(name)
    world.settle()
    assert reasons(world)[-2:] == ["TooManySucceededPods", "Completed"]


def test_failures_before_the_last_success_are_forgiven() -> None:
    world = started(parallelism=2, completions=4)
    first, second = names(world)
    world.now_s = 5
    world.end(first, exit_code=1)
    world.now_s = 6
    world.end(second)
    world.settle()
    assert len(world.active()) == 2, "nobody waits"


def traits(
    *,
    node: str = "",
    phase: str = "Pending",
    ready_s: int | None = None,
    restarts: int = 0,
    created_s: int = 0,
    name: str = "p",
) -> dict[str, Any]:
    """Return a pod with what decides whether a Job gives it up."""
    ready = {
        "type": "Ready",
        "status": str(ready_s is not None),
        "lastTransitionTime": f"2026-01-01T00:00:0{ready_s or 0}Z",
    }
    return {
        "metadata": {"name": name, "creationTimestamp": f"2026-01-01T00:00:0{created_s}Z"},
        "spec": {"nodeName": node},
        "status": {
            "phase": phase,
            "conditions": [ready],
            "containerStatuses": [{"name": "main", "restartCount": restarts}],
        },
    }


def test_the_least_useful_pods_are_given_up_first() -> None:
    on_node: dict[str, Any] = {"node": "n1", "phase": "Running"}
    ordered = [
        traits(phase="Running"),
        traits(node="n1", phase="Pending"),
        traits(node="n1", phase="Unknown"),
        traits(**on_node, restarts=3),
        traits(**on_node, restarts=2, created_s=9),
        traits(**on_node, restarts=2, created_s=1, name="a"),
        traits(**on_node, restarts=2, created_s=1, name="b"),
        traits(**on_node, ready_s=9),
        traits(**on_node, ready_s=1, restarts=9),
    ]
    shuffled = [*ordered[4:], *ordered[:4]]
    assert sorted(shuffled, key=pod_facts.dispensability) == ordered


def test_a_job_is_not_over_while_a_pod_could_not_be_deleted() -> None:
    world = started(parallelism=2, completions=2, activeDeadlineSeconds=10)
    assessment = assess(world.job, list(world.pods.values()), NO_BACKOFF, world.now_us + 10**8)
    changes = plan_pods(assessment)
    assert len(changes.delete) == 2
    result = account(assessment, changes, Outcome(deleted=changes.delete[:1]))
    assert result.first["conditions"] == []
    assert result.release == ()


def test_expiry_counts_from_the_end() -> None:
    finished = {"type": "Failed", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    over = {**job(ttlSecondsAfterFinished=7), "status": {"conditions": [finished]}}
    assert expiry_us(over) == EPOCH_US + 7_000_000
    assert expiry_us(job(ttlSecondsAfterFinished=7)) is None
    assert expiry_us({**over, "spec": {}}) is None
    deleted = {**over["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert expiry_us({**over, "metadata": deleted}) is None
