"""The one word, and the numbers, that are shown for all containers of a pod."""

from typing import Any

import pytest

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.sandbox.kinds.pod_table import POD_COLUMNS
from tests.queue.api.manifests import Manifest, changed

NOON = "2026-01-01T12:00:00Z"
POD: Manifest = {
    "metadata": {"name": "x", "creationTimestamp": NOON},
    "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
    "status": {"phase": "Pending"},
}


def shown(pod: Manifest, after_s: int = 0) -> dict[str, Any]:
    now_us = parse_timestamp(NOON) + after_s * 1_000_000
    return {column.name: column.value(pod, now_us) for column in POD_COLUMNS}


def status(name: str, restarts: int = 0, *, ready: bool = False, **state: Any) -> Manifest:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state}


RUNNING: Manifest = {"running": {"startedAt": NOON}}
DONE: Manifest = {"terminated": {"exitCode": 0, "reason": "Completed"}}
FAILED: Manifest = {"terminated": {"exitCode": 3}}
KILLED: Manifest = {"terminated": {"exitCode": 137, "signal": 9}}
READY = {"type": "Ready", "status": "True"}


def containers(*statuses: Manifest) -> Manifest:
    return {"status.containerStatuses": list(statuses)}


def first(*statuses: Manifest) -> Manifest:
    specs = [{"name": each["name"]} for each in statuses]
    return {"status.initContainerStatuses": list(statuses), "spec.initContainers": specs}


STAYS = {"spec.initContainers": [{"name": "i", "restartPolicy": "Always"}]}
CASES: list[tuple[str, Manifest, str, str]] = [
    ("nothing yet", {}, "Pending", "0/2"),
    ("a reason", {"status.reason": "Evicted", "status.phase": "Failed"}, "Evicted", "0/2"),
    (
        "gated",
        {
            "status.conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
            ]
        },
        "SchedulingGated",
        "0/2",
    ),
    (
        "both run",
        {
            "status.phase": "Running",
            **containers(status("a", ready=True, **RUNNING), status("b", ready=True, **RUNNING)),
        },
        "Running",
        "2/2",
    ),
    (
        "one waits",
        containers(status("a", waiting={"reason": "ImagePullBackOff"}), status("b", **RUNNING)),
        "ImagePullBackOff",
        "0/2",
    ),
    ("one exits", containers(status("a", **FAILED)), "ExitCode:3", "0/2"),
    ("one is killed", containers(status("a", **KILLED)), "Signal:9", "0/2"),
    ("all end well", containers(status("a", **DONE), status("b", **DONE)), "Completed", "0/2"),
    (
        "one ends well, the other badly",
        containers(status("a", **DONE), status("b", **FAILED)),
        "ExitCode:3",
        "0/2",
    ),
    (
        "one ends well, the other runs",
        {
            **containers(status("a", **DONE), status("b", ready=True, **RUNNING)),
            "status.conditions": [READY],
        },
        "Running",
        "1/2",
    ),
    (
        "one ends well, the other runs and is not ready",
        containers(status("a", **DONE), status("b", ready=True, **RUNNING)),
        "NotReady",
        "1/2",
    ),
    ("the first of two runs", first(status("i", **RUNNING), status("j")), "Init:0/2", "0/2"),
    (
        "the second of two runs",
        first(status("i", **DONE), status("j", **RUNNING)),
        "Init:1/2",
        "0/2",
    ),
    ("an init container fails", first(status("i", **FAILED)), "Init:ExitCode:3", "0/2"),
    (
        "an init container waits",
        first(status("i", waiting={"reason": "CrashLoopBackOff"})),
        "Init:CrashLoopBackOff",
        "0/2",
    ),
    (
        "a sidecar counts",
        {
            "status.initContainerStatuses": [
                {**status("i", ready=True, **RUNNING), "started": True}
            ],
            **STAYS,
            "status.phase": "Running",
        },
        "Running",
        "1/3",
    ),
    ("on its way", {"metadata.deletionTimestamp": NOON}, "Terminating", "0/2"),
    (
        "on its way after its end",
        {"metadata.deletionTimestamp": NOON, "status.phase": "Succeeded"},
        "Succeeded",
        "0/2",
    ),
    (
        "on a lost node",
        {"metadata.deletionTimestamp": NOON, "status.reason": "NodeLost"},
        "Unknown",
        "0/2",
    ),
]


@pytest.mark.parametrize("why, changes, word, ready", CASES, ids=[case[0] for case in CASES])
def test_a_pod_is_shown(why: str, changes: Manifest, word: str, ready: str) -> None:
    row = shown(changed(POD, changes))

    assert (row["Status"], row["Ready"]) == (word, ready), why


def test_restarts_tell_when_the_last_one_was() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": NOON}}
    restarted = {**status("a", 3, **RUNNING), "lastState": last}
    pod = changed(POD, containers(restarted, status("b", 1, **RUNNING)))

    assert shown(pod, after_s=125)["Restarts"] == "4 (2m5s ago)"
    assert shown(POD)["Restarts"] == "0"


def test_the_age_counts_from_the_creation() -> None:
    assert shown(POD, after_s=90)["Age"] == "90s"


def test_the_wide_columns_say_where_a_pod_is() -> None:
    changes = {
        "spec.nodeName": "n",
        "status.podIPs": [{"ip": "10.0.0.1"}],
        "spec.readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}],
        "status.conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}],
    }

    wide = [column.name for column in POD_COLUMNS if column.priority]
    row = shown(changed(POD, changes))

    assert [row[name] for name in wide] == ["10.0.0.1", "n", "<none>", "1/2"]
    assert [shown(POD)[name] for name in wide] == ["<none>"] * 4
