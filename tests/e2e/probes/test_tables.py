"""Tables and metadata alone: what kubectl shows without knowing a kind."""

from typing import Any, NamedTuple

import pytest

from tests.e2e.api import JSON, Answer, collection, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import POD, Probe
from tests.queue.api.manifests import Manifest

pytestmark = pytest.mark.usefixtures("gadgets")

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def table(probe: Probe, path: str, **query: str) -> Manifest:
    answer = probe.api.request("GET", path, None, JSON, {"Accept": TABLE}, **query)
    body = answer.expect(200)
    assert (body["kind"], body["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert answer.headers["Content-Type"] == JSON
    return body


def read(probe: Probe, path: str, accept: str) -> Answer:
    return probe.api.request("GET", path, None, JSON, {"Accept": accept})


JOB: Manifest = {
    "suspend": True,
    "completions": 3,
    "template": {"spec": {**POD, "restartPolicy": "Never"}},
}


class Shown(NamedTuple):
    """An object of a kind, and how a table shows it."""

    kind: str
    version: str
    changes: Manifest
    columns: str
    """Those of `-o wide` in parentheses."""
    cells: list[Any]
    """But for the name; None is an age."""


SHOWN = (
    Shown(
        "Pod",
        "v1",
        {"spec": POD},
        "Name,Ready,Status,Restarts,Age,(IP),(Node),(Nominated Node),(Readiness Gates)",
        ["0/1", "Pending", "0", None, "<none>", "<none>", "<none>", "<none>"],
    ),
    Shown(
        "Node",
        "v1",
        {"metadata.labels": {"node-role.kubernetes.io/worker": ""}},
        (
            "Name,Status,Roles,Age,Version,(Internal-IP),(External-IP),(OS-Image),"
            "(Kernel-Version),(Container-Runtime)"
        ),
        ["Unknown", "worker", None, "", "<none>", "<none>", *["<unknown>"] * 3],
    ),
    Shown("Namespace", "v1", {}, "Name,Status,Age", ["Active", None]),
    Shown("ConfigMap", "v1", {"data": {"a": "b"}}, "Name,Data,Age", [1, None]),
    Shown(
        "Lease",
        "coordination.k8s.io/v1",
        {"spec": {"holderIdentity": "me"}},
        "Name,Holder,Age",
        ["me", None],
    ),
    Shown(
        "PodTemplate",
        "v1",
        {"template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}},
        "Name,Containers,Images,Pod Labels",
        ["c", "i", "a=b"],
    ),
    Shown(
        "PriorityClass",
        "scheduling.k8s.io/v1",
        {"value": 7},
        "Name,Value,Global-Default,Age,PreemptionPolicy",
        [7, False, None, "PreemptLowerPriority"],
    ),
    Shown(
        *GADGET,
        {"spec": {"size": 4, "mode": "fast"}},
        "Name,Size,(Mode),Age",
        [4, "fast", None],
    ),
)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.kind)
def test_a_kind_has_its_columns_and_an_object_its_cells(shown: Shown, probe: Probe) -> None:
    made = probe.create(probe.a(shown.kind, shown.version, shown.changes))
    by_name = f"metadata.name={made['metadata']['name']}"

    body = table(probe, collection(made), fieldSelector=by_name)

    told = [
        f"({column['name']})" if column["priority"] else column["name"]
        for column in body["columnDefinitions"]
    ]
    assert ",".join(told) == shown.columns
    (row,) = body["rows"]
    name, *others = row["cells"]
    assert name == made["metadata"]["name"]
    ages = {index for index, cell in enumerate(shown.cells) if cell is None}
    timeless = [None if index in ages else cell for index, cell in enumerate(others)]
    assert timeless == shown.cells
    # Seconds; a slow machine may see minutes.
    assert all(others[index].rstrip("ms0123456789") == "" for index in ages)


def test_a_job_has_a_status_and_counts_its_completions(probe: Probe) -> None:
    made = probe.create(probe.a("Job", "batch/v1", spec=JOB))
    made = probe.until(made, lambda job: job.get("status", {}).get("conditions"))

    body = table(probe, place(made))

    told = [column["name"] for column in body["columnDefinitions"]]
    assert told == [
        "Name",
        "Status",
        "Completions",
        "Duration",
        "Age",
        "Containers",
        "Images",
        "Selector",
    ]
    ((name, status, completions, duration, _, containers, images, selector),) = [
        row["cells"] for row in body["rows"]
    ]
    assert (name, status, completions, duration) == (
        made["metadata"]["name"],
        "Suspended",
        "0/3",
        "",
    )
    assert (containers, images) == ("c", "i")
    assert selector == f"batch.kubernetes.io/controller-uid={made['metadata']['uid']}"


@pytest.mark.parametrize("version", ["v1", "events.k8s.io/v1"])
def test_events_are_shown_alike_in_both_groups(version: str, probe: Probe) -> None:
    event = probe.a(
        "Event",
        "v1",
        involvedObject={"kind": "Pod", "name": "p", "namespace": probe.namespace},
        reason="Because",
        message="so it is",
        type="Normal",
        count=3,
        source={"component": "me"},
    )
    made = probe.create(event)

    body = table(probe, place({**made, "apiVersion": version}))

    assert [column["name"] for column in body["columnDefinitions"]] == [
        "Last Seen",
        "Type",
        "Reason",
        "Object",
        "Subobject",
        "Source",
        "Message",
        "First Seen",
        "Count",
        "Name",
    ]
    ((_, kind, reason, about, _, source, message, _, count, name),) = [
        row["cells"] for row in body["rows"]
    ]
    assert (kind, reason, about, message) == ("Normal", "Because", "pod/p", "so it is")
    assert (source, count, name) == ("me", 3, made["metadata"]["name"])


def test_a_column_says_what_it_is(probe: Probe) -> None:
    body = table(probe, collection(probe.a(*GADGET)))

    columns = {column["name"]: column for column in body["columnDefinitions"]}
    assert columns["Name"]["format"] == "name"
    assert columns["Name"]["type"] == "string"
    assert columns["Size"]["type"] == "integer"
    assert columns["Age"]["type"] == "date"
    assert columns["Mode"] == {
        "name": "Mode",
        "type": "string",
        "format": "",
        "description": "How it goes about it.",
        "priority": 1,
    }


def test_a_cell_without_a_value_is_empty(probe: Probe) -> None:
    made = probe.create(probe.a(*GADGET))

    (row,) = table(probe, place(made))["rows"]

    assert row["cells"][1:3] == [None, None]


def test_a_table_of_nothing_has_columns(probe: Probe) -> None:
    body = table(probe, collection(probe.a(*GADGET)), labelSelector="no=body")

    assert [column["name"] for column in body["columnDefinitions"]][0:2] == ["Name", "Size"]
    assert not body["rows"]


@pytest.mark.parametrize(
    "query, kind",
    [
        ({}, "PartialObjectMetadata"),
        ({"includeObject": "Metadata"}, "PartialObjectMetadata"),
        ({"includeObject": "Object"}, "Gadget"),
        ({"includeObject": "None"}, None),
    ],
    ids=str,
)
def test_a_row_comes_with_what_is_asked_for(
    query: dict[str, str], kind: str | None, probe: Probe
) -> None:
    made = probe.create(probe.a(*GADGET))

    (row,) = table(probe, place(made), **query)["rows"]

    if kind is None:
        assert row["object"] is None
    elif kind == "Gadget":
        assert row["object"] == made
    else:
        assert row["object"] == {
            "kind": kind,
            "apiVersion": "meta.k8s.io/v1",
            "metadata": made["metadata"],
        }


def test_a_row_comes_with_nothing_else(probe: Probe) -> None:
    path = place(probe.create(probe.a(*GADGET)))

    answer = probe.api.request("GET", path, None, JSON, {"Accept": TABLE}, includeObject="All")

    answer.expect_refusal(400, "BadRequest", 'includeObject: Invalid value: "All": must be')


def test_a_long_table_comes_in_chunks(probe: Probe) -> None:
    label = probe.a_name()
    made = [
        probe.create(probe.a("ConfigMap", "v1", {"metadata.labels": {"all": label}}))
        for _ in range(2)
    ]
    query = {"labelSelector": f"all={label}", "limit": "1"}

    first = table(probe, collection(made[0]), **query)
    more = {"continue": first["metadata"]["continue"]}
    second = table(probe, collection(made[0]), **query, **more)

    names = [row["cells"][0] for row in (*first["rows"], *second["rows"])]
    assert names == [each["metadata"]["name"] for each in made]


def test_a_refusal_is_no_table(probe: Probe) -> None:
    answer = read(probe, place(probe.a(*GADGET)), TABLE)

    answer.expect_refusal(404, "NotFound")


def test_what_is_made_may_be_shown(probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1")

    path = collection(manifest)
    answer = probe.api.request("POST", path, manifest, JSON, {"Accept": TABLE})

    (row,) = answer.expect(201)["rows"]
    assert row["cells"][0] == manifest["metadata"]["name"]


@pytest.mark.parametrize("kind", [("ConfigMap", "v1"), GADGET], ids=lambda kind: kind[0])
def test_metadata_is_told_alone(kind: tuple[str, str], probe: Probe) -> None:
    made = probe.create(probe.a(*kind, {"metadata.labels": {"own": probe.a_name()}}))
    partial = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }

    one = read(probe, place(made), METADATA).expect(200)
    headers = {"Accept": METADATA_LIST}
    select = f"own={made['metadata']['labels']['own']}"
    answer = probe.api.request("GET", collection(made), None, JSON, headers, labelSelector=select)

    assert one == partial
    body = answer.expect(200)
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert body["items"] == [partial]


def test_one_is_no_list_and_a_list_not_one(probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))

    one = read(probe, place(made), METADATA_LIST)
    many = read(probe, collection(made), METADATA)

    one.expect_refusal(406, "NotAcceptable", "but the requested object is not a list")
    many.expect_refusal(406, "NotAcceptable", "but the requested object is a list")


def test_who_knows_other_tables_gets_objects(probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))

    answer = read(probe, place(made), f"{TABLE.replace('v=v1', 'v=v9')},{JSON}")

    assert answer.expect(200) == made
