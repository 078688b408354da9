"""Jobs whose pods work on indexes."""

from __future__ import annotations

from typing import Any

import pytest

from muster.queue.simulated.jobs import pods as pod_facts
from tests.queue.simulated.jobs.world import (
    World,
    indexes,
    job,
    names,
    started,
)

INDEX = "batch.kubernetes.io/job-completion-index"


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


def test_as_many_failed_indexes_as_allowed_are_allowed() -> None:
    world = started(
        parallelism=3, completions=3, completionMode="Indexed", backoffLimitPerIndex=0,
        maxFailedIndexes=1, backoffLimit=2**31 - 1,
    )  # fmt: skip
    world.end(names(world)[0], exit_code=1)
    world.settle()
    assert world.conditions() == []
    assert world.status["failed"] == 1, "its pod stands for nobody any more, so it is let go"


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
