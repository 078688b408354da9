"""What a namespace says of its own end."""

from __future__ import annotations

from collections import Counter

from muster.queue.client.kinds import JOB, POD
from muster.queue.simulated.namespaces import Remains, conditions

LATER_US = 1_767_225_600_000_000 + 60_000_000


def told(remains: Remains) -> dict[str, str]:
    return {name: message for name, (_, message) in remains.problems().items()}


def test_nothing_left_is_no_problem() -> None:
    assert told(Remains()) == {}


def test_what_remains_is_counted() -> None:
    remains = Remains(
        resources={POD: 2, JOB: 1}, finalizers=Counter({"b.io/x": 1, "a.io/y": 2}), failures=["no"]
    )
    assert told(remains) == {
        "NamespaceDeletionContentFailure": "Failed to delete all resource types, 1 remaining: no",
        "NamespaceContentRemaining": (
            "Some resources are remaining: jobs.batch has 1 resource instances, "
            "pods. has 2 resource instances"
        ),
        "NamespaceFinalizersRemaining": (
            "Some content in the namespace has finalizers remaining: "
            "a.io/y in 2 resource instances, b.io/x in 1 resource instances"
        ),
    }


def test_conditions_keep_their_time_until_they_change() -> None:
    first = conditions([], {}, LATER_US - 60_000_000)
    assert [each["status"] for each in first] == ["False"] * 5
    problem = {"NamespaceContentRemaining": ("SomeResourcesRemain", "Some")}
    second = conditions(first, problem, LATER_US)
    assert [each["type"] for each in second] == [each["type"] for each in first]
    changed = [each for each in second if each not in first]
    assert changed == [
        {
            "type": "NamespaceContentRemaining",
            "status": "True",
            "reason": "SomeResourcesRemain",
            "message": "Some",
            "lastTransitionTime": "2026-01-01T00:01:00Z",
        }
    ]
