"""What becomes of an object that is created, and which names and bodies are refused."""

from typing import Any

import pytest

from tests.e2e.api import Answer
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import POD, Probe, causes
from tests.queue.api.manifests import Manifest, changed

pytestmark = pytest.mark.usefixtures("gadgets")

DNS_NAME = "a lowercase RFC 1123 subdomain must consist of"


def a_map(probe: Probe, changes: Manifest | None = None) -> Manifest:
    return probe.a("ConfigMap", "v1", changes)


def post(probe: Probe, body: Manifest) -> Answer:
    path = f"/api/v1/namespaces/{probe.namespace}/configmaps"
    return probe.api.request("POST", path, body)


def test_an_object_gets_what_only_the_server_gives(probe: Probe) -> None:
    manifest = a_map(probe, {"data.a": "b"})

    made = probe.create(manifest, fieldManager="me")

    metadata = made["metadata"]
    assert made["data"] == {"a": "b"}
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")
    assert metadata["name"] == manifest["metadata"]["name"]
    assert metadata["namespace"] == probe.namespace
    assert len(metadata["uid"]) == len("01234567-0123-0123-0123-0123456789ab")
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["managedFields"] == [
        {
            "manager": "me",
            "operation": "Update",
            "apiVersion": "v1",
            "time": metadata["creationTimestamp"],
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]
    assert metadata.keys() == {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
    }


def test_an_object_is_read_as_it_was_made(probe: Probe) -> None:
    made = probe.create(a_map(probe, {"data.a": "b"}))

    assert probe.get(made) == made


@pytest.mark.parametrize(
    "kind, content, generation",
    [
        (("ConfigMap", "v1"), {}, None),
        (("Namespace", "v1"), {}, None),
        (("Node", "v1"), {}, None),
        (("Lease", "coordination.k8s.io/v1"), {}, None),
        (("Pod", "v1"), {"spec": POD}, 1),
        (("PodTemplate", "v1"), {"template": {"spec": POD}}, 1),
        (("PriorityClass", "scheduling.k8s.io/v1"), {"value": 1}, 1),
        (GADGET, {}, 1),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_kind_with_generations_begins_with_the_first(
    kind: tuple[str, str], content: Manifest, generation: int | None, probe: Probe
) -> None:
    made = probe.create(probe.a(*kind, **content))

    assert made["metadata"].get("generation") == generation


def test_what_only_the_server_gives_is_not_taken_from_others(probe: Probe) -> None:
    foreign = {
        "metadata.uid": "mine",
        "metadata.creationTimestamp": "2001-01-01T00:00:00Z",
        "metadata.deletionTimestamp": "2001-01-01T00:00:00Z",
        "metadata.deletionGracePeriodSeconds": 3,
        "metadata.selfLink": "mine",
    }

    metadata = probe.create(a_map(probe, foreign))["metadata"]

    assert metadata["uid"] != "mine"
    assert metadata["creationTimestamp"] > "2020"
    assert not metadata.keys() & {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}


def test_a_status_is_not_taken_from_who_creates(probe: Probe) -> None:
    made = probe.create(probe.a(*GADGET, {"status.phase": "Done"}))

    assert "status" not in made


def test_a_name_is_taken_once(probe: Probe) -> None:
    made = probe.create(a_map(probe))

    details = probe.api.create(made | {"metadata": {**made["metadata"], "resourceVersion": ""}})

    name = made["metadata"]["name"]
    refused = details.expect_refusal(409, "AlreadyExists", f'configmaps "{name}" already exists')
    assert refused == {"name": name, "kind": "configmaps"}


def test_names_are_taken_in_one_namespace_only(probe: Probe) -> None:
    made = probe.create(a_map(probe))
    elsewhere = {"metadata": {"name": made["metadata"]["name"], "namespace": "default"}}

    other = probe.create({**made, **elsewhere})

    assert other["metadata"]["uid"] != made["metadata"]["uid"]
    probe.delete(other).expect(200)


def test_a_name_is_generated_from_its_beginning(probe: Probe) -> None:
    made = [post(probe, {"metadata": {"generateName": "some-"}}).expect(201) for _ in range(2)]

    names = [each["metadata"]["name"] for each in made]
    assert names[0] != names[1]
    for each, name in zip(made, names, strict=True):
        assert name.startswith("some-")
        assert len(name) == len("some-") + 5
        assert each["metadata"]["generateName"] == "some-"


def test_a_long_beginning_of_a_name_is_cut(probe: Probe) -> None:
    made = post(probe, {"metadata": {"generateName": "a" * 100}}).expect(201)

    assert len(made["metadata"]["name"]) == 63
    assert made["metadata"]["generateName"] == "a" * 100


def test_a_name_goes_before_the_beginning_of_one(probe: Probe) -> None:
    name = probe.a_name()

    made = post(probe, {"metadata": {"name": name, "generateName": "some-"}}).expect(201)

    assert made["metadata"]["name"] == name


@pytest.mark.parametrize(
    "changes, field, message",
    [
        ({"name": ""}, "metadata.name", "Required value: name or generateName is required"),
        ({"name": "A_b"}, "metadata.name", DNS_NAME),
        ({"name": "-a"}, "metadata.name", DNS_NAME),
        ({"name": "a..b"}, "metadata.name", DNS_NAME),
        ({"name": "a" * 254}, "metadata.name", "must be no more than 253 characters"),
        ({"labels": {"a": "!"}}, "metadata.labels", "a valid label must be an empty string or"),
        ({"labels": {"a": "a" * 64}}, "metadata.labels", "must be no more than 63 bytes"),
        ({"labels": {"a b": "c"}}, "metadata.labels", "name part must consist of alphanumeric"),
        ({"labels": {"a/b/c": "c"}}, "metadata.labels", "a valid label key must consist of"),
        ({"labels": {"": "c"}}, "metadata.labels", "name part must be non-empty"),
        ({"annotations": {"a b": ""}}, "metadata.annotations", "name part must consist of"),
        ({"annotations": {"a": "b" * 2**18}}, "metadata.annotations", "Too long"),
        ({"finalizers": ["a"]}, "metadata.finalizers[0]", "name is neither a standard finalizer"),
        ({"finalizers": ["a b/c"]}, "metadata.finalizers", "prefix part a lowercase RFC 1123"),
        ({"ownerReferences": [{}]}, "metadata.ownerReferences.apiVersion", "version must not be"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_metadata_is_refused(changes: Manifest, field: str, message: str, probe: Probe) -> None:
    manifest = a_map(probe)

    answer = post(probe, {**manifest, "metadata": {**manifest["metadata"], **changes}})

    details = answer.expect_refusal(422, "Invalid")
    assert details["kind"] == "ConfigMap"
    assert field in answer.fields
    assert any(message in cause["message"] for cause in answer.causes), answer


def test_every_fault_is_named_at_once(probe: Probe) -> None:
    answer = probe.api.create(
        a_map(probe, {"data": {"a b": ""}, "metadata.labels": {"a": "!"}, "metadata.name": "A"})
    )

    answer.expect_refusal(422, "Invalid", 'ConfigMap "A" is invalid: [')
    assert causes(answer) == [
        ("FieldValueInvalid", "metadata.name"),
        ("FieldValueInvalid", "metadata.labels"),
        ("FieldValueInvalid", "data[a b]"),
    ]


@pytest.mark.parametrize(
    "body, message",
    [
        ({"kind": "Secret", "apiVersion": "v1"}, 'Secret in version "v1" cannot be handled as a '),
        ({"kind": "ConfigMap", "apiVersion": "v2"}, 'ConfigMap in version "v2" cannot be handled'),
        ({"kind": "Job", "apiVersion": "batch/v1"}, 'Job in version "v1" cannot be handled as a '),
    ],
)
def test_an_object_of_another_kind_is_refused(body: Manifest, message: str, probe: Probe) -> None:
    answer = post(probe, {**body, "metadata": {"name": probe.a_name()}})

    answer.expect_refusal(400, "BadRequest", message)


@pytest.mark.parametrize("body", [{}, {"kind": "ConfigMap"}, {"apiVersion": "v1"}], ids=str)
def test_the_path_tells_the_kind_of_a_builtin(body: Manifest, probe: Probe) -> None:
    made = post(probe, {**body, "metadata": {"name": probe.a_name()}}).expect(201)

    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")


@pytest.mark.parametrize("missing", ["kind", "apiVersion"])
def test_a_custom_resource_must_tell_its_kind(missing: str, probe: Probe) -> None:
    manifest = probe.a(*GADGET)
    path = f"/apis/{manifest['apiVersion']}/namespaces/{probe.namespace}/gadgets"
    del manifest[missing]

    answer = probe.api.request("POST", path, manifest)

    answer.expect_refusal(400, "BadRequest")


@pytest.mark.parametrize(
    "changes, code, reason",
    [
        ({"kind": "Gizmo"}, 422, "Invalid"),
        ({"apiVersion": "e2e.muster.dev/v2"}, 400, "BadRequest"),
    ],
)
def test_a_custom_resource_of_another_kind_is_refused(
    changes: Manifest, code: int, reason: str, probe: Probe
) -> None:
    manifest = probe.a(*GADGET)
    path = f"/apis/{manifest['apiVersion']}/namespaces/{probe.namespace}/gadgets"

    answer = probe.api.request("POST", path, {**manifest, **changes})

    (wrong,) = changes.values()
    answer.expect_refusal(code, reason, wrong)


def test_the_namespace_of_the_path_holds(probe: Probe) -> None:
    answer = post(probe, a_map(probe, {"metadata.namespace": "default"}))

    message = "the namespace of the provided object does not match the namespace sent on the"
    answer.expect_refusal(400, "BadRequest", message)


def test_a_namespace_must_exist(probe: Probe) -> None:
    name = probe.a_name("nowhere")

    answer = probe.api.create(a_map(probe, {"metadata.namespace": name}))

    details = answer.expect_refusal(404, "NotFound", f'namespaces "{name}" not found')
    assert details == {"name": name, "kind": "namespaces"}


def test_what_is_new_has_no_version(probe: Probe) -> None:
    answer = probe.api.create(a_map(probe, {"metadata.resourceVersion": "1"}))

    assert answer.code == 500
    message = "resourceVersion should not be set on objects to be created"
    assert answer.body["message"] == message


def test_the_name_of_a_namespace_has_no_dots(probe: Probe) -> None:
    manifest = probe.a("Namespace", "v1", {"metadata.name": "a.b"})

    answer = probe.api.create(manifest)

    answer.expect_refusal(422, "Invalid", "must not contain dots")


def test_a_namespace_is_active_and_labeled_with_its_name(probe: Probe) -> None:
    made = probe.create(probe.a("Namespace", "v1"))

    assert made["status"] == {"phase": "Active"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    name = made["metadata"]["name"]
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


@pytest.mark.parametrize(
    "changes, reason, field",
    [
        ({"spec.size": -1}, "FieldValueInvalid", "spec.size"),
        ({"spec.size": 101}, "FieldValueInvalid", "spec.size"),
        ({"spec.size": "1"}, "FieldValueTypeInvalid", "spec.size"),
        ({"spec.mode": "other"}, "FieldValueNotSupported", "spec.mode"),
        ({"spec.color": "a" * 11}, "FieldValueTooLong", "spec.color"),
        ({"spec.parts": [{}]}, "FieldValueRequired", "spec.parts[0].name"),
        ({"spec.parts": [{"name": "a"}] * 2}, "FieldValueDuplicate", "spec.parts[1]"),
        ({"spec.tags": ["a", "a"]}, "FieldValueDuplicate", "spec.tags[1]"),
        ({"spec.options": {"a": 1}}, "FieldValueTypeInvalid", "spec.options.a"),
        ({"spec": []}, "FieldValueTypeInvalid", "spec"),
    ],
    ids=str,
)
def test_a_custom_resource_keeps_to_its_schema(
    changes: Manifest, reason: str, field: str, probe: Probe
) -> None:
    answer = probe.api.create(probe.a(*GADGET, changes))

    details = answer.expect_refusal(422, "Invalid")
    assert causes(answer)[0] == (reason, field), answer
    assert (details["group"], details["kind"]) == ("e2e.muster.dev", "Gadget")


@pytest.mark.parametrize(
    "given, kept",
    [
        ({"spec": {}}, {"size": 1}),
        ({"spec": {"size": None}}, {"size": 1}),
        ({"spec": {"mode": None}}, {"size": 1}),
        ({"spec": {"other": 1}}, {"size": 1}),
        ({"spec": {"free": {"other": [1]}}}, {"size": 1, "free": {"other": [1]}}),
        (
            {"spec": {"parts": [{"name": "a", "other": 1}]}},
            {"size": 1, "parts": [{"name": "a", "weight": 1}]},
        ),
        ({}, None),
    ],
    ids=str,
)
def test_a_custom_resource_is_defaulted_and_pruned(
    given: Manifest, kept: Any, probe: Probe
) -> None:
    made = probe.create(probe.a(*GADGET, given, spec={}) if given else probe.a(*GADGET))

    assert made.get("spec") == kept


def test_data_of_a_map_is_immutable_if_it_says_so(probe: Probe) -> None:
    made = probe.create(a_map(probe, {"immutable": True, "data.a": "b"}))

    answer = probe.api.replace(changed(made, {"data.a": "c"}))

    answer.expect_refusal(422, "Invalid", "field is immutable when `immutable` is set")
    assert causes(answer) == [("FieldValueForbidden", "data")]
