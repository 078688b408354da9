"""How objects of a kind are seen and counted: columns, fields to select by, scale, status."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.api import Api, collection, place
from tests.e2e.probes.definitions import (
    BOOLEAN,
    INTEGER,
    STRING,
    a_list,
    a_schema,
    a_thing,
    an_object,
    defined,
)
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

PORT = an_object(name=STRING, number=INTEGER)
CONDITION = an_object(type=STRING, status=STRING)
SPEC = an_object(
    word=STRING,
    count=INTEGER,
    share=a_schema("number"),
    flag=BOOLEAN,
    since={**STRING, "format": "date-time"},
    tags=a_list(STRING),
    ports=a_list(PORT),
    box=an_object(width=INTEGER),
    labels=a_schema("object", additionalProperties=STRING),
    replicas=INTEGER,
)
STATUS = an_object(replicas=INTEGER, selector=STRING, phase=STRING, conditions=a_list(CONDITION))

COLUMNS: list[tuple[str, str, str, Any]] = [
    # Name, type, path, and what is in its cell.
    ("Word", "string", ".spec.word", "a"),
    ("Count", "integer", ".spec.count", 3),
    ("Share", "number", ".spec.share", 0.5),
    ("Flag", "boolean", ".spec.flag", True),
    ("Since", "date", ".spec.since", "<invalid>"),
    ("First", "string", ".spec.tags[0]", "x"),
    ("Last", "string", ".spec.tags[-1:]", "y"),
    ("All", "string", ".spec.tags[*]", "x"),
    ("Tags", "string", ".spec.tags", '["x","y"]'),
    ("Box", "string", ".spec.box", '{"width":1}'),
    ("Port", "integer", '.spec.ports[?(@.name=="b")].number', 2),
    ("Dotted", "string", r".spec.labels.example\.com/a", "z"),
    ("Missing", "string", ".spec.nothing", None),
    ("Beyond", "string", ".spec.tags[7]", None),
    ("Number", "string", ".spec.count", "3"),
    ("Other", "integer", ".spec.word", None),
]
GIVEN: Manifest = {
    "word": "a",
    "count": 3,
    "share": 0.5,
    "flag": True,
    "since": "2999-01-01T00:00:00Z",
    "tags": ["x", "y"],
    "ports": [{"name": "a", "number": 1}, {"name": "b", "number": 2}],
    "box": {"width": 1},
    "labels": {"example.com/a": "z"},
}


@pytest.fixture(scope="module")
def things(api: Api, namespace: str) -> Iterator[Manifest]:
    columns = [{"name": name, "type": kind, "jsonPath": path} for name, kind, path, _ in COLUMNS]
    columns[0] |= {"description": "A word.", "format": "password"}
    wide = {"name": "Wide", "type": "string", "jsonPath": ".spec.word", "priority": 1}
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    changes = {"spec.versions[0].schema.openAPIV3Schema.properties.status": STATUS}
    with defined(
        api,
        namespace,
        SPEC,
        changes,
        additionalPrinterColumns=[*columns, wide],
        selectableFields=[{"jsonPath": f".spec.{name}"} for name in ("word", "count", "flag")],
        subresources={"status": {}, "scale": scale},
    ) as definition:
        yield definition


def table(probe: Probe, path: str) -> Manifest:
    return probe.api.request("GET", path, None, "", {"Accept": TABLE}).expect(200)


def test_a_table_has_the_columns_of_its_kind(things: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, things, spec=GIVEN))

    columns = table(probe, place(made))["columnDefinitions"]

    assert [column["name"] for column in columns] == [
        "Name",
        *(name for name, *_ in COLUMNS),
        "Wide",
    ]
    assert columns[0]["type"] == "string"
    assert columns[0]["format"] == "name"
    assert columns[1] == {
        "name": "Word",
        "type": "string",
        "format": "password",
        "description": "A word.",
        "priority": 0,
    }
    assert columns[2]["description"].startswith("Custom resource definition column (in JSONPath")
    assert columns[-1]["priority"] == 1


@pytest.mark.parametrize("number", range(len(COLUMNS)), ids=lambda number: COLUMNS[number][0])
def test_a_cell_is_what_its_path_finds(number: int, things: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, things, spec=GIVEN))

    (row,) = table(probe, place(made))["rows"]

    name, _, path, expected = COLUMNS[number]
    assert row["cells"][number + 1] == expected, (name, path)
    assert type(row["cells"][number + 1]) is type(expected)
    assert row["cells"][0] == made["metadata"]["name"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_kind_without_columns_has_an_age(api: Api, namespace: str, probe: Probe) -> None:
    with defined(api, namespace, an_object()) as definition:
        made = probe.create(a_thing(probe, definition))
        found = table(probe, collection(made))

    assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Age"]
    (row,) = found["rows"]
    assert row["cells"][0] == made["metadata"]["name"]


@pytest.mark.parametrize(
    "selector, chosen",
    [
        ("spec.word=a", [0]),
        ("spec.word!=a", [1, 2]),
        ("spec.word=", [2]),
        ("spec.count=2", [1]),
        ("spec.flag=true,spec.word=b", [1]),
        ("spec.word=c", []),
    ],
)
def test_things_are_selected_by_a_field(
    selector: str, chosen: list[int], things: Manifest, probe: Probe
) -> None:
    label = {"metadata.labels.probe": probe.a_name("l")}
    specs: list[Manifest] = [{"word": "a", "count": 1}, {"word": "b", "count": 2, "flag": True}, {}]
    made = [probe.create(a_thing(probe, things, label, spec=spec)) for spec in specs]

    listed = probe.found(
        made[0], fieldSelector=selector, labelSelector=f"probe={label['metadata.labels.probe']}"
    )

    names = [each["metadata"]["name"] for each in listed]
    assert sorted(names) == sorted(made[index]["metadata"]["name"] for index in chosen)


def test_things_are_not_selected_by_another_field(things: Manifest, probe: Probe) -> None:
    answer = probe.api.listing(a_thing(probe, things), fieldSelector="spec.share=1")

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert "field label not supported: spec.share" in answer.message


def test_a_watch_by_a_field_tells_of_coming_and_going(things: Manifest, probe: Probe) -> None:
    word = probe.a_name("w")
    thing = probe.create(a_thing(probe, things, spec={"word": "other"}))
    version = thing["metadata"]["resourceVersion"]
    query = {"fieldSelector": f"spec.word={word}", "resourceVersion": version}
    with probe.api.watch(collection(thing), **query) as events:
        for now in (word, "other"):
            probe.api.patch(thing, {"spec": {"word": now}}).expect(200)

        assert [event["type"] for event in events.take(2)] == ["ADDED", "DELETED"]


def scaled(probe: Probe, things: Manifest) -> Manifest:
    thing = probe.create(a_thing(probe, things, spec={"replicas": 2}))
    return probe.set_status(thing, replicas=1, selector="a=b")


def test_a_scale_is_read(things: Manifest, probe: Probe) -> None:
    made = scaled(probe, things)

    found = probe.api.request("GET", f"{place(made)}/scale").expect(200)

    metadata = made["metadata"]
    assert found == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            name: metadata[name]
            for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        },
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": "a=b"},
    }


def test_a_scale_is_replaced(things: Manifest, probe: Probe) -> None:
    made = scaled(probe, things)
    scale = probe.api.request("GET", f"{place(made)}/scale").expect(200)

    path = f"{place(made)}/scale"
    answer = probe.api.request("PUT", path, {**scale, "spec": {"replicas": 5}}).expect(200)

    assert answer["spec"] == {"replicas": 5}
    now = probe.get(made)
    assert now["spec"] == {"replicas": 5}
    assert now["status"]["replicas"] == 1
    assert now["metadata"]["generation"] == 2


def test_a_scale_is_patched(things: Manifest, probe: Probe) -> None:
    made = scaled(probe, things)

    probe.api.patch(
        made, {"spec": {"replicas": 0}}, "application/merge-patch+json", "/scale"
    ).expect(200)

    assert probe.get(made)["spec"] == {"replicas": 0}


def test_a_scale_is_not_negative(things: Manifest, probe: Probe) -> None:
    made = scaled(probe, things)

    answer = probe.api.patch(
        made, {"spec": {"replicas": -1}}, "application/merge-patch+json", "/scale"
    )

    assert (answer.code, causes(answer)) == (422, [("FieldValueInvalid", ".spec.replicas")])


def test_a_status_is_apart(things: Manifest, probe: Probe) -> None:
    thing = a_thing(probe, things, spec={"word": "a"}, status={"phase": "new"})
    made = probe.create(thing)
    assert "status" not in made

    both = {**made, "spec": {"word": "b"}, "status": {"phase": "old"}}
    now = probe.api.replace(both, "/status").expect(200)
    assert (now["spec"], now["status"]) == ({"word": "a"}, {"phase": "old"})
    assert now["metadata"]["generation"] == 1

    now = probe.api.replace({**now, "spec": {"word": "b"}, "status": {}}).expect(200)
    assert (now["spec"], now["status"]) == ({"word": "b"}, {"phase": "old"})
    assert now["metadata"]["generation"] == 2
