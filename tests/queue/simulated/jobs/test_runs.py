"""Jobs from their creation to their end."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.queue.simulated.jobs import pods as pod_facts
from muster.queue.simulated.jobs.expiry import expiry_us
from tests.queue.simulated.jobs.world import (
    EPOCH_US,
    Crash,
    World,
    job,
    names,
    reasons,
    started,
)


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


def test_a_deleted_job_lets_its_pods_go() -> None:
    world = started(parallelism=2, completions=2)
    world.job["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world.settle()
    assert not any(pod_facts.is_tracked(pod) for pod in world.pods.values())
    assert "failed" not in world.status


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


def test_expiry_counts_from_the_end() -> None:
    finished = {"type": "Failed", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    over = {**job(ttlSecondsAfterFinished=7), "status": {"conditions": [finished]}}
    assert expiry_us(over) == EPOCH_US + 7_000_000
    assert expiry_us(job(ttlSecondsAfterFinished=7)) is None
    assert expiry_us({**over, "spec": {}}) is None
    deleted = {**over["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert expiry_us({**over, "metadata": deleted}) is None


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
