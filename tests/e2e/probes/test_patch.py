"""Merge patches and JSON patches: what they make of an object, and which are refused."""

from typing import Any

import pytest

from tests.e2e.api import JSON_PATCH, MERGE, STRATEGIC, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest

pytestmark = pytest.mark.usefixtures("gadgets")

REJECTED = "the server rejected our request due to an error in our request"


def a_map(probe: Probe) -> Manifest:
    return probe.create(probe.a("ConfigMap", "v1", {"data": {"a": "b", "c": "d"}}))


def a_gadget(probe: Probe) -> Manifest:
    parts = [{"name": "a"}, {"name": "b", "weight": 2}]
    return probe.create(probe.a(*GADGET, spec={"size": 3, "parts": parts, "steps": ["x", "y"]}))


# -- merge patches -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "patch, data",
    [
        ({"data": {"a": "c"}}, {"a": "c", "c": "d"}),
        ({"data": {"e": "f"}}, {"a": "b", "c": "d", "e": "f"}),
        ({"data": {"a": None}}, {"c": "d"}),
        ({"data": {"unknown": None}}, {"a": "b", "c": "d"}),
        ({"data": None}, None),
        ({}, {"a": "b", "c": "d"}),
    ],
    ids=str,
)
def test_a_merge_patch_sets_and_removes(patch: Manifest, data: Any, probe: Probe) -> None:
    kept = probe.api.patch(a_map(probe), patch).expect(200)

    assert kept.get("data") == data
    assert probe.get(kept) == kept


def test_a_merge_patch_replaces_lists(probe: Probe) -> None:
    patch = {"spec": {"parts": [{"name": "c"}], "steps": []}}

    kept = probe.api.patch(a_gadget(probe), patch).expect(200)

    assert kept["spec"] == {"size": 3, "parts": [{"name": "c", "weight": 1}], "steps": []}


def test_a_removed_field_gets_its_default(probe: Probe) -> None:
    kept = probe.api.patch(a_gadget(probe), {"spec": {"size": None}}).expect(200)

    assert kept["spec"]["size"] == 1


def test_a_patch_that_changes_nothing_makes_no_version(probe: Probe) -> None:
    made = a_map(probe)

    assert probe.api.patch(made, {"data": {"a": "b"}}).expect(200) == made


def test_a_patch_with_the_latest_version_is_done(probe: Probe) -> None:
    made = a_map(probe)
    version = made["metadata"]["resourceVersion"]

    patch = {"metadata": {"resourceVersion": version}, "data": {"a": "c"}}

    assert probe.api.patch(made, patch).expect(200)["data"]["a"] == "c"


def test_a_patch_of_an_old_version_is_refused(probe: Probe) -> None:
    made = a_map(probe)

    answer = probe.api.patch(made, {"metadata": {"resourceVersion": "1"}, "data": {"a": "c"}})

    answer.expect_refusal(409, "Conflict", "the object has been modified; please apply your")
    assert probe.get(made) == made


@pytest.mark.parametrize(
    "metadata, message",
    [
        ({"name": "other"}, "the name of the object (other) does not match the name on the URL"),
        ({"namespace": "other"}, "the namespace of the provided object does not match the"),
    ],
    ids=str,
)
def test_a_patch_does_not_rename(metadata: Manifest, message: str, probe: Probe) -> None:
    answer = probe.api.patch(a_map(probe), {"metadata": metadata})

    answer.expect_refusal(400, "BadRequest", message)


def test_a_patch_does_not_change_the_uid(probe: Probe) -> None:
    answer = probe.api.patch(a_map(probe), {"metadata": {"uid": "other"}})

    answer.expect_refusal(422, "Invalid", "field is immutable")
    assert answer.fields[0] == "metadata.uid"


@pytest.mark.parametrize(
    "patch, message",
    [
        ({"data": {"a": 1}}, "json: cannot unmarshal number into Go struct field ConfigMap.data"),
        ({"data": []}, "json: cannot unmarshal array into Go struct field ConfigMap.data of"),
        ({"metadata": {"resourceVersion": 1}}, "json: cannot unmarshal number into Go struct"),
        ({"apiVersion": "v3"}, 'no kind "ConfigMap" is registered for version "v3"'),
    ],
    ids=str,
)
def test_a_patch_must_leave_an_object_of_its_kind(
    patch: Manifest, message: str, probe: Probe
) -> None:
    made = a_map(probe)

    answer = probe.api.patch(made, patch)

    details = answer.expect_refusal(422, "Invalid", message)
    assert causes(answer) == [("FieldValueInvalid", "patch")]
    assert not details.keys() & {"name", "kind"}
    assert probe.get(made) == made


def test_a_patched_object_is_validated(probe: Probe) -> None:
    made = a_gadget(probe)

    answer = probe.api.patch(made, {"spec": {"size": 101}})

    details = answer.expect_refusal(422, "Invalid")
    assert causes(answer) == [("FieldValueInvalid", "spec.size")]
    assert details["name"] == made["metadata"]["name"]
    assert probe.get(made) == made


@pytest.mark.parametrize("content_type", [MERGE, JSON_PATCH, STRATEGIC])
def test_what_does_not_exist_is_not_patched(content_type: str, probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1")
    patch: Any = [] if content_type == JSON_PATCH else {"data": {"a": "b"}}

    answer = probe.api.patch(manifest, patch, content_type)

    name = manifest["metadata"]["name"]
    details = answer.expect_refusal(404, "NotFound", f'configmaps "{name}" not found')
    assert details == {"name": name, "kind": "configmaps"}


# -- status --------------------------------------------------------------------------------------


def test_a_patch_of_the_object_leaves_its_status(probe: Probe) -> None:
    made = a_gadget(probe)

    kept = probe.api.patch(made, {"spec": {"size": 4}, "status": {"phase": "Done"}}).expect(200)

    assert kept["spec"]["size"] == 4
    assert "status" not in kept


def test_a_patch_of_the_status_leaves_the_object(probe: Probe) -> None:
    made = a_gadget(probe)
    patch = {
        "spec": {"size": 4},
        "status": {"phase": "Done"},
        "metadata": {"labels": {"a": "b"}},
    }

    kept = probe.api.patch(made, patch, MERGE, "/status").expect(200)

    assert kept["status"] == {"phase": "Done"}
    assert kept["spec"] == made["spec"]
    assert "labels" not in kept["metadata"]
    assert kept["metadata"]["generation"] == 1


def test_a_json_patch_reaches_the_status(probe: Probe) -> None:
    made = a_gadget(probe)
    patch = [{"op": "add", "path": "/status", "value": {"phase": "Done"}}]

    kept = probe.api.patch(made, patch, JSON_PATCH, "/status").expect(200)

    assert kept["status"] == {"phase": "Done"}


# -- JSON patches --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operations, data",
    [
        ([{"op": "add", "path": "/data/e", "value": "f"}], {"a": "b", "c": "d", "e": "f"}),
        ([{"op": "add", "path": "/data/a", "value": "f"}], {"a": "f", "c": "d"}),
        ([{"op": "replace", "path": "/data/a", "value": "f"}], {"a": "f", "c": "d"}),
        ([{"op": "replace", "path": "/data", "value": {"e": "f"}}], {"e": "f"}),
        ([{"op": "remove", "path": "/data/a"}], {"c": "d"}),
        ([{"op": "copy", "from": "/data/a", "path": "/data/e"}], {"a": "b", "c": "d", "e": "b"}),
        ([{"op": "move", "from": "/data/a", "path": "/data/e"}], {"c": "d", "e": "b"}),
        (
            [
                {"op": "test", "path": "/data/a", "value": "b"},
                {"op": "remove", "path": "/data/a"},
                {"op": "test", "path": "/data/a", "value": None},
            ],
            {"c": "d"},
        ),
        ([], {"a": "b", "c": "d"}),
    ],
    ids=str,
)
def test_a_json_patch_does_one_after_the_other(
    operations: list[Manifest], data: Manifest, probe: Probe
) -> None:
    kept = probe.api.patch(a_map(probe), operations, JSON_PATCH).expect(200)

    assert kept["data"] == data


@pytest.mark.parametrize(
    "operation, names",
    [
        ({"op": "add", "path": "/spec/parts/-", "value": {"name": "c"}}, "a b c"),
        ({"op": "add", "path": "/spec/parts/1", "value": {"name": "c"}}, "a c b"),
        ({"op": "add", "path": "/spec/parts/2", "value": {"name": "c"}}, "a b c"),
        ({"op": "replace", "path": "/spec/parts/0", "value": {"name": "c"}}, "c b"),
        ({"op": "remove", "path": "/spec/parts/0"}, "b"),
        ({"op": "move", "from": "/spec/parts/1", "path": "/spec/parts/0"}, "b a"),
    ],
    ids=str,
)
def test_a_json_patch_counts_in_lists(operation: Manifest, names: str, probe: Probe) -> None:
    kept = probe.api.patch(a_gadget(probe), [operation], JSON_PATCH).expect(200)

    assert [part["name"] for part in kept["spec"]["parts"]] == names.split()


def test_a_json_patch_escapes_slashes_and_tildes(probe: Probe) -> None:
    patch = [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/example.com~1a", "value": "b"},
        {"op": "add", "path": "/metadata/annotations/c~0d", "value": "e"},
        {"op": "remove", "path": "/metadata/annotations/c~0d"},
    ]

    kept = probe.api.patch(a_map(probe), patch, JSON_PATCH).expect(200)

    assert kept["metadata"]["annotations"] == {"example.com/a": "b"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/size", "value": 4},
        {"op": "test", "path": "/spec/unknown", "value": 4},
        {"op": "remove", "path": "/spec/unknown"},
        {"op": "add", "path": "/unknown/a", "value": "b"},
        {"op": "add", "path": "/spec/parts/9", "value": {"name": "c"}},
        {"op": "remove", "path": "/spec/parts/9"},
        {"op": "add", "path": "/spec/parts/x", "value": {"name": "c"}},
        {"op": "move", "from": "/spec/unknown", "path": "/spec/size"},
        {"op": "sing", "path": "/spec/size", "value": 4},
    ],
    ids=str,
)
def test_a_json_patch_that_cannot_be_done_changes_nothing(
    operation: Manifest, probe: Probe
) -> None:
    made = a_gadget(probe)
    first = {"op": "replace", "path": "/spec/size", "value": 9}

    answer = probe.api.patch(made, [first, operation], JSON_PATCH)

    assert answer.expect_refusal(422, "Invalid", REJECTED) == {}
    assert probe.get(made) == made


def test_a_json_patch_has_a_limit(probe: Probe) -> None:
    operation = {"op": "replace", "path": "/data/a", "value": "c"}

    answer = probe.api.patch(a_map(probe), [operation] * 10_001, JSON_PATCH)

    message = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    answer.expect_refusal(413, "RequestEntityTooLarge", message)


# -- what cannot be read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type, patch, message",
    [
        (MERGE, b"{", "error decoding patch: "),
        (MERGE, b"", "error decoding patch: "),
        (MERGE, b"[1]", "error decoding patch: json: cannot unmarshal array into Go value of type"),
        (MERGE, b'"x"', "error decoding patch: json: cannot unmarshal string into Go value of"),
        (JSON_PATCH, b"[{", "error decoding patch: "),
        (JSON_PATCH, b"{}", "error decoding patch: json: cannot unmarshal object into Go value"),
        (STRATEGIC, b"{", "unexpected end of JSON input"),
        (STRATEGIC, b"[]", "json: cannot unmarshal array into Go value of type map"),
    ],
)
def test_a_patch_that_cannot_be_read_is_refused(
    content_type: str, patch: bytes, message: str, probe: Probe
) -> None:
    answer = probe.api.patch(a_map(probe), patch, content_type)

    answer.expect_refusal(400, "BadRequest", message)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", None])
def test_a_patch_says_how_it_is_meant(content_type: str | None, probe: Probe) -> None:
    path = place(a_map(probe))

    headers = {"Content-Type": content_type}
    answer = probe.api.request("PATCH", path, {"data": {"a": "c"}}, MERGE, headers)

    answer.expect_refusal(415, "UnsupportedMediaType")


def test_a_charset_is_no_matter(probe: Probe) -> None:
    patch = {"data": {"a": "c"}}

    probe.api.patch(a_map(probe), patch, f"{MERGE}; charset=utf-8").expect(200)


def test_a_custom_resource_has_no_strategy(probe: Probe) -> None:
    answer = probe.api.patch(a_gadget(probe), {"spec": {"size": 4}}, STRATEGIC)

    message = (
        "accepted media types include: application/json-patch+json, application/merge-patch+json,"
        " application/apply-patch+yaml"
    )
    answer.expect_refusal(415, "UnsupportedMediaType", message)


@pytest.mark.parametrize("content_type", [MERGE, JSON_PATCH, STRATEGIC])
def test_only_an_apply_is_forced(content_type: str, probe: Probe) -> None:
    patch: Any = [] if content_type == JSON_PATCH else {}

    answer = probe.api.patch(a_map(probe), patch, content_type, force="true")

    details = answer.expect_refusal(422, "Invalid", "may not be specified for non-apply patch")
    assert details["kind"] == "PatchOptions"
    assert answer.fields == ["force"]
