"""What the columns of built-in kinds show."""

from typing import Any

import pytest

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.sandbox.kinds import tables
from muster.queue.sandbox.kinds.builtin import builtin_resources
from muster.queue.sandbox.kinds.cells import labels_text, selector_text
from muster.queue.sandbox.kinds.tables import Columns
from tests.queue.api.manifests import NOON, Manifest

LATER_US = parse_timestamp(NOON) + 125_000_000
EMPTY: Manifest = {
    "metadata": {"name": "x", "creationTimestamp": NOON},
    "spec": {"template": {"metadata": {}, "spec": {}}},
    "template": {"metadata": {}, "spec": {}},
    "roleRef": {"kind": "Role", "name": "r"},
}


def row(columns: Columns, content: Manifest | None = None) -> list[Any]:
    return [column.value({**EMPTY, **(content or {})}, LATER_US) for column in columns]


def conditions(*true: str) -> Manifest:
    return {"status": {"conditions": [{"type": each, "status": "True"} for each in true]}}


def job(**spec: Any) -> Manifest:
    return {"spec": {**EMPTY["spec"], **spec}}


ROWS: list[tuple[str, Columns, Manifest, list[Any]]] = [
    (
        "node",
        tables.NODE,
        {},
        ["Unknown", "<none>", "2m5s", "", *["<none>"] * 2, *["<unknown>"] * 3],
    ),
    (
        "ready node",
        tables.NODE[:2],
        {
            **conditions("Ready"),
            "spec": {"unschedulable": True},
            "metadata": {
                "labels": {"node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": ""}
            },
        },
        ["Ready,SchedulingDisabled", "a,b"],
    ),
    (
        "node with a kernel",
        tables.NODE[7:8],
        {"status": {"nodeInfo": {"kernelVersion": "6", "architecture": "arm64"}}},
        ["6 (arm64)"],
    ),
    ("running job", tables.JOB[:4], job(completions=3), ["Running", "0/3", "", "2m5s"]),
    ("complete job", tables.JOB[:1], conditions("SuccessCriteriaMet", "Complete"), ["Complete"]),
    ("failing job", tables.JOB[:1], conditions("FailureTarget"), ["FailureTarget"]),
    ("suspended job", tables.JOB[:1], conditions("Suspended"), ["Suspended"]),
    ("job without an end", tables.JOB[1:2], job(parallelism=4), ["0/1 of 4"]),
    (
        "job that took a minute",
        tables.JOB[2:3],
        {"status": {"startTime": NOON, "completionTime": "2026-01-01T12:01:00Z"}},
        ["60s"],
    ),
    ("job that runs", tables.JOB[2:3], {"status": {"startTime": NOON}}, ["2m5s"]),
    ("namespace", tables.NAMESPACE, {"status": {"phase": "Active"}}, ["Active", "2m5s"]),
    (
        "config map",
        tables.CONFIG_MAP,
        {"data": {"a": ""}, "binaryData": {"b": "", "c": ""}},
        [3, "2m5s"],
    ),
    ("secret", tables.SECRET, {"type": "Opaque"}, ["Opaque", 0, "2m5s"]),
    ("lease", tables.LEASE, {"spec": {"holderIdentity": "h"}}, ["h", "2m5s"]),
    (
        "priority class",
        tables.PRIORITY_CLASS,
        {"value": 5, "preemptionPolicy": "Never"},
        [5, False, "2m5s", "Never"],
    ),
    (
        "budget",
        tables.BUDGET,
        {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2}},
        ["50%", "N/A", 2, "2m5s"],
    ),
    (
        "binding",
        tables.BINDING,
        {
            "subjects": [
                {"kind": "User", "name": "u"},
                {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
            ]
        },
        ["Role/r", "2m5s", "u", "", "n/s"],
    ),
    ("webhooks", tables.WEBHOOKS, {"webhooks": [{}, {}]}, [2, "2m5s"]),
    ("creation", tables.DATED, {}, [NOON]),
    (
        "old event",
        tables.EVENT,
        {
            "type": "Normal",
            "reason": "R",
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "f"},
            "source": {"component": "c", "host": "h"},
            "message": " m\n",
            "firstTimestamp": NOON,
            "lastTimestamp": "2026-01-01T12:02:00Z",
            "count": 4,
        },
        ["5s", "Normal", "R", "pod/p", "f", "c, h", "m", "2m5s", 4, "x"],
    ),
    (
        "new event",
        tables.EVENT,
        {
            "type": "Warning",
            "reason": "R",
            "regarding": {"kind": "Node"},
            "reportingController": "c",
            "note": "m",
            "eventTime": "2026-01-01T12:00:00.000000Z",
            "series": {"count": 7, "lastObservedTime": "2026-01-01T12:02:00.000000Z"},
        },
        ["5s", "Warning", "R", "node", "", "c", "m", "2m5s", 7, "x"],
    ),
]


@pytest.mark.parametrize("why, columns, content, cells", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_is_shown(why: str, columns: Columns, content: Manifest, cells: list[Any]) -> None:
    assert row(columns, content) == cells, why


@pytest.mark.parametrize("resource", builtin_resources(), ids=lambda each: each.schema_name)
def test_an_object_with_next_to_nothing_is_shown(resource: Any) -> None:
    cells = row(resource.columns)

    assert len(cells) == len(resource.columns) > 0
    types = {"string": str, "integer": int, "boolean": bool, "date": str}
    for column, cell in zip(resource.columns, cells, strict=True):
        assert isinstance(cell, types[column.type] | int), column.name


def test_selectors_and_labels_are_shown_in_order() -> None:
    selector = {
        "matchLabels": {"b": "1"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]},
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"},
            {"key": "e", "operator": "NotIn", "values": ["z"]},
        ],
    }

    assert selector_text(selector) == "a in (x,y),b=1,c,!d,e notin (z)"
    assert selector_text(None) == selector_text({}) == labels_text({}) == "<none>"
    assert labels_text({"b": "2", "a": "1"}) == "a=1,b=2"
