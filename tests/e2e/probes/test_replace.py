"""What a replacement may change, what it must not, and when it counts as one."""

from collections.abc import Callable

import pytest

from tests.e2e.api import Answer, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import POD, Probe, causes
from tests.queue.api.manifests import Manifest, changed

pytestmark = pytest.mark.usefixtures("gadgets")

Make = Callable[[Probe], Manifest]
STALE = "the object has been modified; please apply your changes to the latest version and try"


def a_map(probe: Probe, changes: Manifest | None = None) -> Manifest:
    return probe.create(probe.a("ConfigMap", "v1", changes))


def a_gadget(probe: Probe, changes: Manifest | None = None) -> Manifest:
    return probe.create(probe.a(*GADGET, {"spec": {}, **(changes or {})}))


def put(probe: Probe, made: Manifest, changes: Manifest, subresource: str = "") -> Answer:
    """Replace an object, at its own path, by what these changes make of it."""
    path = place(made) + subresource
    return probe.api.request("PUT", path, changed(made, changes))


def version(manifest: Manifest) -> str:
    resource_version: str = manifest["metadata"]["resourceVersion"]
    return resource_version


def test_a_replacement_is_all_that_is_left(probe: Probe) -> None:
    made = a_map(probe, {"data.a": "b", "metadata.labels": {"a": "b"}})
    bare = {**made, "data": {"c": "d"}, "metadata": {"name": made["metadata"]["name"]}}

    kept = probe.api.request("PUT", place(made), bare).expect(200)

    assert kept["data"] == {"c": "d"}
    assert "labels" not in kept["metadata"]
    for given_once in ("uid", "creationTimestamp"):
        assert kept["metadata"][given_once] == made["metadata"][given_once]
    assert int(version(kept)) > int(version(made))
    assert probe.get(made) == kept


def test_who_knows_an_old_version_only_may_not_replace(probe: Probe) -> None:
    made = a_map(probe)
    put(probe, made, {"data.a": "b"}).expect(200)

    answer = put(probe, made, {"data.a": "c"})

    name = made["metadata"]["name"]
    details = answer.expect_refusal(409, "Conflict", STALE)
    assert details == {"name": name, "kind": "configmaps"}
    assert answer.body["message"].startswith(
        f'Operation cannot be fulfilled on configmaps "{name}": '
    )


def test_a_builtin_is_replaced_without_a_version(probe: Probe) -> None:
    made = a_map(probe)
    put(probe, made, {"data.a": "b"}).expect(200)

    kept = put(probe, made, {"data.a": "c", "metadata.resourceVersion": ""}).expect(200)

    assert kept["data"] == {"a": "c"}


def test_a_custom_resource_is_not(probe: Probe) -> None:
    answer = put(probe, a_gadget(probe), {"metadata.resourceVersion": ""})

    answer.expect_refusal(422, "Invalid", "must be specified for an update")
    assert causes(answer) == [("FieldValueInvalid", "metadata.resourceVersion")]


@pytest.mark.parametrize("make", [a_map, a_gadget])
def test_an_object_is_not_replaced_by_another_of_its_name(make: Make, probe: Probe) -> None:
    answer = put(probe, make(probe), {"metadata.uid": "other"})

    answer.expect_refusal(409, "Conflict", "Precondition failed: UID in precondition: other")


def test_what_does_not_exist_is_not_replaced(probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1")

    answer = probe.api.replace(manifest)

    name = manifest["metadata"]["name"]
    details = answer.expect_refusal(404, "NotFound", f'configmaps "{name}" not found')
    assert details == {"name": name, "kind": "configmaps"}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"metadata.name": "other"}, "the name of the object (other) does not match the name on"),
        ({"metadata.name": ""}, "was undeterminable: name must be provided"),
        ({"metadata.namespace": "default"}, "the namespace of the provided object does not match"),
        ({"kind": "Secret"}, 'Secret in version "v1" cannot be handled as a ConfigMap'),
    ],
    ids=str,
)
def test_the_path_names_what_is_replaced(changes: Manifest, message: str, probe: Probe) -> None:
    answer = put(probe, a_map(probe), changes)

    answer.expect_refusal(400, "BadRequest", message)


@pytest.mark.parametrize("make", [a_map, a_gadget])
def test_a_replacement_by_the_same_is_none(make: Make, probe: Probe) -> None:
    made = make(probe)

    kept = put(probe, made, {}).expect(200)

    assert kept == made


@pytest.mark.parametrize(
    "field, value",
    [("creationTimestamp", "2001-01-01T00:00:00Z"), ("selfLink", "x"), ("generation", 77)],
)
def test_what_the_server_gave_stays(field: str, value: object, probe: Probe) -> None:
    made = a_gadget(probe)

    kept = put(probe, made, {f"metadata.{field}": value}).expect(200)

    assert kept["metadata"].get(field) == made["metadata"].get(field)
    assert version(kept) == version(made)


def test_the_time_of_deletion_is_immutable(probe: Probe) -> None:
    answer = put(probe, a_map(probe), {"metadata.deletionTimestamp": "2001-01-01T00:00:00Z"})

    answer.expect_refusal(422, "Invalid", "field is immutable")
    assert answer.fields[0] == "metadata.deletionTimestamp"


def test_an_immutable_field_is_named(probe: Probe) -> None:
    made = probe.create(probe.a("PriorityClass", "scheduling.k8s.io/v1", value=1))

    answer = put(probe, made, {"value": 2})

    details = answer.expect_refusal(422, "Invalid")
    assert causes(answer) == [("FieldValueForbidden", "value")]
    assert details["group"] == "scheduling.k8s.io"


# -- generations and status ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, generation",
    [
        ({"spec.size": 2}, 2),
        ({"metadata.labels": {"a": "b"}}, 1),
        ({"metadata.annotations": {"a": "b"}}, 1),
        ({"metadata.finalizers": ["e2e.muster.dev/a"]}, 1),
        ({"status.phase": "Done"}, 1),
        ({"spec.size": 1}, 1),
    ],
    ids=str,
)
def test_a_generation_is_a_change_of_what_is_asked_for(
    changes: Manifest, generation: int, probe: Probe
) -> None:
    kept = put(probe, a_gadget(probe), changes).expect(200)

    assert kept["metadata"]["generation"] == generation
    put(probe, kept, {"metadata.finalizers": []}).expect(200)


def test_a_label_leaves_the_generation_of_a_builtin(probe: Probe) -> None:
    made = probe.create(probe.a("PodTemplate", "v1", template={"spec": POD}))

    labeled = put(probe, made, {"metadata.labels": {"a": "b"}}).expect(200)
    other = put(probe, labeled, {"template.metadata.labels": {"a": "b"}}).expect(200)

    assert [each["metadata"]["generation"] for each in (made, labeled, other)] == [1, 1, 2]


def test_the_object_itself_keeps_its_status(probe: Probe) -> None:
    made = a_gadget(probe)
    with_status = put(probe, made, {"status.phase": "Running"}, "/status").expect(200)

    kept = put(probe, with_status, {"spec.size": 2, "status": {"phase": "Done"}}).expect(200)

    assert kept["status"] == {"phase": "Running"}
    assert kept["spec"]["size"] == 2


def test_the_object_itself_has_no_version_for_its_status(probe: Probe) -> None:
    made = a_gadget(probe)

    kept = put(probe, made, {"status.phase": "Done"}).expect(200)

    assert kept == made


def test_the_status_keeps_all_of_the_object(probe: Probe) -> None:
    made = a_gadget(probe, {"metadata.labels": {"a": "b"}})
    changes = {
        "status.phase": "Done",
        "spec.size": 9,
        "metadata.labels": {"c": "d"},
        "metadata.finalizers": ["e2e.muster.dev/a"],
        "metadata.ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}
        ],
    }

    kept = put(probe, made, changes, "/status").expect(200)

    assert kept["status"] == {"phase": "Done"}
    assert kept["spec"] == made["spec"]
    assert kept["metadata"]["labels"] == {"a": "b"}
    assert kept["metadata"]["generation"] == 1
    assert not kept["metadata"].keys() & {"finalizers", "ownerReferences"}
    assert int(version(kept)) > int(version(made))


def test_the_status_of_a_pod_keeps_its_spec_but_not_its_labels(probe: Probe) -> None:
    """Other than that of a custom resource."""
    made = probe.create(probe.a("Pod", "v1", spec=POD))
    changes = {
        "status.phase": "Running",
        "spec.containers[0].image": "other",
        "metadata.labels": {"a": "b"},
    }

    kept = put(probe, made, changes, "/status").expect(200)

    assert kept["status"]["phase"] == "Running"
    assert kept["spec"] == made["spec"]
    assert kept["metadata"]["labels"] == {"a": "b"}


def test_a_status_is_read_with_its_object(probe: Probe) -> None:
    made = a_gadget(probe)

    assert probe.api.request("GET", place(made) + "/status").expect(200) == made


def test_a_status_keeps_to_its_schema(probe: Probe) -> None:
    answer = put(probe, a_gadget(probe), {"status.conditions": [{"type": "Ready"}]}, "/status")

    answer.expect_refusal(422, "Invalid")
    assert causes(answer) == [("FieldValueRequired", "status.conditions[0].status")]


def test_a_status_of_an_old_version_is_refused(probe: Probe) -> None:
    made = a_gadget(probe)
    put(probe, made, {"status.phase": "Running"}, "/status").expect(200)

    answer = put(probe, made, {"status.phase": "Done"}, "/status")

    details = answer.expect_refusal(409, "Conflict", STALE)
    name = made["metadata"]["name"]
    assert details == {"name": name, "group": "e2e.muster.dev", "kind": "gadgets"}


def test_a_lease_is_made_by_replacing_it(probe: Probe) -> None:
    manifest = probe.a("Lease", "coordination.k8s.io/v1", spec={"holderIdentity": "me"})

    made = probe.api.replace(manifest).expect(201)

    assert made["spec"]["holderIdentity"] == "me"
