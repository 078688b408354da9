"""Server-side apply as a request: what it creates, what it leaves, and what it can't read."""

import json
from typing import Any

import pytest

from tests.e2e.api import APPLY, Answer, place
from tests.e2e.probes.gadgets import GADGET, GROUP
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest, changed

pytestmark = pytest.mark.usefixtures("gadgets")


def a_map(probe: Probe, **data: Any) -> Manifest:
    return probe.a("ConfigMap", "v1", **({"data": data} if data else {}))


def apply(probe: Probe, manifest: Manifest, body: Any = None, **query: str) -> Answer:
    """Apply a manifest, or another body at its place, without force."""
    query = {"fieldManager": "me", **query}
    return probe.api.request("PATCH", place(manifest), body or manifest, APPLY, **query)


def test_what_does_not_exist_is_created(probe: Probe) -> None:
    made = apply(probe, a_map(probe, a="b")).expect(201)

    assert made["data"] == {"a": "b"}
    assert probe.get(made) == made
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": made["metadata"]["creationTimestamp"],
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
        }
    ]


def test_the_same_again_changes_nothing(probe: Probe) -> None:
    manifest = a_map(probe, a="b")
    made = apply(probe, manifest).expect(201)

    assert apply(probe, manifest).expect(200) == made


def test_defaults_are_nobodys(probe: Probe) -> None:
    """They are filled in, and may be changed by anybody."""
    manifest = probe.a(*GADGET, spec={"mode": "fast"})

    made = apply(probe, manifest).expect(201)

    assert made["spec"] == {"mode": "fast", "size": 1}
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:mode": {}}}
    apply(probe, changed(manifest, {"spec": {"size": 2}}), fieldManager="other").expect(200)


def test_labels_and_annotations_are_owned_one_by_one(probe: Probe) -> None:
    metadata = {"labels": {"a": "b"}, "annotations": {"example.com/c": "d"}}
    manifest = changed(a_map(probe), {f"metadata.{key}": metadata[key] for key in metadata})

    (entry,) = apply(probe, manifest).expect(201)["metadata"]["managedFields"]

    assert entry["fieldsV1"] == {
        "f:metadata": {
            "f:annotations": {"f:example.com/c": {}},
            "f:labels": {"f:a": {}},
        }
    }


def test_an_object_of_nothing_is_managed_by_nobody(probe: Probe) -> None:
    made = apply(probe, a_map(probe)).expect(201)

    assert "managedFields" not in made["metadata"]


def test_a_generation_grows_with_what_is_asked_for(probe: Probe) -> None:
    manifest = probe.a(*GADGET, spec={"size": 2})
    made = apply(probe, manifest).expect(201)
    labeled = apply(probe, changed(manifest, {"metadata.labels": {"a": "b"}})).expect(200)
    grown = apply(probe, changed(manifest, {"spec.size": 3})).expect(200)

    assert [each["metadata"]["generation"] for each in (made, labeled, grown)] == [1, 1, 2]


def test_the_status_is_left_alone(probe: Probe) -> None:
    made = apply(probe, probe.a(*GADGET, spec={"size": 2}, status={"phase": "Done"})).expect(201)

    assert "status" not in made
    assert "f:status" not in json.dumps(made["metadata"]["managedFields"])


def test_null_is_a_value_of_nothing(probe: Probe) -> None:
    made = apply(probe, a_map(probe, a=None)).expect(201)

    assert made["data"] == {"a": ""}


# -- bodies --------------------------------------------------------------------------------------

YAML = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  text: |
    of two
    lines
  quoted: "yes"
"""


def test_a_body_may_be_yaml(probe: Probe) -> None:
    manifest = a_map(probe)
    text = YAML.format(name=manifest["metadata"]["name"]).encode()

    made = apply(probe, manifest, text).expect(201)

    assert made["data"] == {"text": "of two\nlines\n", "quoted": "yes"}


def test_a_body_repeats_its_name_until_it_exists(probe: Probe) -> None:
    manifest = a_map(probe, a="b")
    body = {**manifest, "metadata": {}}

    refused = apply(probe, manifest, body)
    made = apply(probe, manifest).expect(201)

    refused.expect_refusal(400, "BadRequest", "was undeterminable: name must be provided")
    assert apply(probe, manifest, body).expect(200) == made


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"kind": "Secret"}, "invalid object type: /v1, Kind=Secret"),
        ({"kind": ""}, "invalid object type: /v1, Kind="),
        ({"apiVersion": ""}, "invalid object type: /, Kind=ConfigMap"),
        ({"metadata.name": "other"}, "the name of the object (other) does not match the name on"),
        ({"metadata.namespace": "other"}, "the namespace of the provided object does not match"),
        ({"metadata.managedFields": []}, "metadata.managedFields must be nil"),
        ({"metadata.managedFields": [{"manager": "x"}]}, "metadata.managedFields must be nil"),
    ],
    ids=str,
)
def test_a_body_of_something_else_is_refused(changes: Manifest, message: str, probe: Probe) -> None:
    manifest = a_map(probe)

    answer = apply(probe, manifest, changed(manifest, changes))

    answer.expect_refusal(400, "BadRequest", message)
    probe.api.get(manifest).expect_refusal(404, "NotFound")


@pytest.mark.parametrize(
    "body, message",
    [
        (b"a: [", "error decoding YAML: "),
        (b"[]", "json: cannot unmarshal array into Go value of type map"),
        (b"\xa0", "error decoding YAML: "),
        (b"{}", "invalid object type: /, Kind="),
        (b"# nothing", "invalid object type: /, Kind="),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(body: bytes, message: str, probe: Probe) -> None:
    answer = apply(probe, a_map(probe), body)

    answer.expect_refusal(400, "BadRequest", message)


@pytest.mark.parametrize(
    "kind, content, message",
    [
        (("ConfigMap", "v1"), {"unknown": 1}, ".unknown: field not declared in schema"),
        (("ConfigMap", "v1"), {"data": [1]}, ".data: expected map, got "),
        (("ConfigMap", "v1"), {"data": {"a": 1}}, ".data.a: expected string, got "),
        (GADGET, {"spec": {"unknown": 1}}, ".spec.unknown: field not declared in schema"),
        (GADGET, {"spec": {"size": "x"}}, ".spec.size: expected numeric (int or float), got"),
        (
            GADGET,
            {"spec": {"parts": [{"name": "a"}] * 2}},
            '.spec.parts: duplicate entries for key [name="a"]',
        ),
        (GADGET, {"spec": {"tags": ["a", "a"]}}, '.spec.tags: duplicate entries for key [="a"]'),
        (
            GADGET,
            {"spec": {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}},
            '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
        ),
    ],
    ids=str,
)
def test_a_body_that_its_schema_does_not_know_is_an_error(
    kind: tuple[str, str], content: Manifest, message: str, probe: Probe
) -> None:
    manifest = probe.a(*kind, **content)

    answer = apply(probe, manifest)

    body = answer.expect(500)
    assert "reason" not in body
    name = f"{probe.namespace}/{manifest['metadata']['name']}"
    assert body["message"].startswith(f"failed to create typed patch object ({name}; ")
    assert message in body["message"]


def test_an_applied_object_is_validated(probe: Probe) -> None:
    answer = apply(probe, probe.a(*GADGET, spec={"size": 101}))

    details = answer.expect_refusal(422, "Invalid")
    assert causes(answer) == [("FieldValueInvalid", "spec.size")]
    assert details["group"] == GROUP


# -- who and which -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "manager, reason, message",
    [
        ("", "FieldValueRequired", "is required for apply patch"),
        ("a" * 129, "FieldValueTooLong", "may not be more than 128 bytes"),
        ("a\nb", "FieldValueInvalid", "invalid character U+000A (at position 1)"),
    ],
    ids=["nobody", "too long", "unprintable"],
)
def test_a_manager_has_a_decent_name(manager: str, reason: str, message: str, probe: Probe) -> None:
    answer = apply(probe, a_map(probe), fieldManager=manager)

    details = answer.expect_refusal(422, "Invalid", message)
    assert causes(answer) == [(reason, "fieldManager")]
    assert (details["group"], details["kind"]) == ("meta.k8s.io", "PatchOptions")


def test_a_manager_may_have_a_long_name(probe: Probe) -> None:
    made = apply(probe, a_map(probe, a="b"), fieldManager="a" * 128).expect(201)

    assert made["metadata"]["managedFields"][0]["manager"] == "a" * 128


@pytest.mark.parametrize(
    "agent, manager",
    [("tool/1.0 (linux)", "tool"), ("tool", "tool"), ("a" * 200, "a" * 128), (None, "unknown")],
    ids=str,
)
def test_who_changes_without_a_name_is_called_by_the_program(
    agent: str | None, manager: str, probe: Probe
) -> None:
    manifest = a_map(probe, a="b")
    path = place(manifest).rpartition("/")[0]

    headers = {"User-Agent": agent}
    answer = probe.api.request("POST", path, manifest, "application/json", headers)

    assert answer.expect(201)["metadata"]["managedFields"][0]["manager"] == manager


def test_an_apply_of_an_old_version_is_refused(probe: Probe) -> None:
    manifest = a_map(probe, a="b")
    apply(probe, manifest).expect(201)

    answer = apply(probe, changed(manifest, {"metadata.resourceVersion": "1", "data.a": "c"}))

    answer.expect_refusal(409, "Conflict", "the object has been modified; please apply your")


def test_an_apply_of_the_latest_version_is_done(probe: Probe) -> None:
    manifest = a_map(probe, a="b")
    version = apply(probe, manifest).expect(201)["metadata"]["resourceVersion"]

    kept = apply(probe, changed(manifest, {"metadata.resourceVersion": version, "data.a": "c"}))

    assert kept.expect(200)["data"] == {"a": "c"}


def test_an_apply_to_another_object_of_the_name_is_refused(probe: Probe) -> None:
    manifest = a_map(probe, a="b")
    other = changed(manifest, {"metadata.uid": "other"})

    missing = apply(probe, other)
    apply(probe, manifest).expect(201)
    existing = apply(probe, other)

    message = "uid mismatch: the provided object specified uid other, and no existing object was"
    missing.expect_refusal(409, "Conflict", message)
    existing.expect_refusal(422, "Invalid", "field is immutable")
    assert existing.fields[0] == "metadata.uid"


def test_a_status_is_of_an_object_that_exists(probe: Probe) -> None:
    manifest = probe.a(*GADGET, status={"phase": "Done"})

    answer = probe.api.apply(manifest, "/status")

    name = manifest["metadata"]["name"]
    details = answer.expect_refusal(404, "NotFound")
    assert details == {"name": name, "group": GROUP, "kind": "gadgets"}


def test_a_namespace_must_exist(probe: Probe) -> None:
    answer = apply(probe, changed(a_map(probe), {"metadata.namespace": "nowhere"}))

    answer.expect_refusal(404, "NotFound", 'namespaces "nowhere" not found')


def test_a_dry_run_creates_nothing(probe: Probe) -> None:
    manifest = a_map(probe, a="b")

    said = apply(probe, manifest, dryRun="All").expect(201)

    assert said["metadata"]["managedFields"][0]["operation"] == "Apply"
    assert "resourceVersion" not in said["metadata"]
    probe.api.get(manifest).expect_refusal(404, "NotFound")
