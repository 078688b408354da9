"""Deletion: at once or when the last finalizer goes, of one object or of many, on which terms."""

import pytest

from tests.e2e.api import collection, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import POD, Probe, causes
from tests.queue.api.manifests import Manifest, changed

pytestmark = pytest.mark.usefixtures("gadgets")

FINALIZER = "e2e.muster.dev/a"


def a_map(probe: Probe, changes: Manifest | None = None) -> Manifest:
    return probe.create(probe.a("ConfigMap", "v1", changes))


def a_held_map(probe: Probe) -> Manifest:
    return a_map(probe, {"metadata.finalizers": [FINALIZER]})


def test_the_answer_says_what_is_gone(probe: Probe) -> None:
    made = a_map(probe)

    said = probe.delete(made).expect(200)

    metadata = made["metadata"]
    assert said == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": metadata["name"], "kind": "configmaps", "uid": metadata["uid"]},
    }
    probe.api.get(made).expect_refusal(404, "NotFound")


def test_the_answer_names_the_group(probe: Probe) -> None:
    made = probe.create(probe.a(*GADGET))

    details = probe.delete(made).expect(200)["details"]

    assert (details["group"], details["kind"]) == ("e2e.muster.dev", "gadgets")


def test_a_name_is_free_again(probe: Probe) -> None:
    made = a_map(probe)
    probe.delete(made).expect(200)

    again = probe.create(changed(made, {"metadata.resourceVersion": ""}))

    assert again["metadata"]["uid"] != made["metadata"]["uid"]


def test_what_does_not_exist_is_not_deleted(probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1")

    answer = probe.delete(manifest)

    name = manifest["metadata"]["name"]
    details = answer.expect_refusal(404, "NotFound", f'configmaps "{name}" not found')
    assert details == {"name": name, "kind": "configmaps"}


# -- terms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "preconditions, message",
    [
        ({"uid": "other"}, "the UID in the precondition (other) does not match the UID in record"),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match"),
    ],
    ids=str,
)
def test_a_precondition_that_fails_keeps_the_object(
    preconditions: Manifest, message: str, probe: Probe
) -> None:
    made = a_map(probe)

    answer = probe.delete(made, preconditions=preconditions)

    details = answer.expect_refusal(409, "Conflict", message)
    assert details == {"name": made["metadata"]["name"], "kind": "ConfigMap"}
    assert probe.get(made) == made


def test_a_precondition_that_holds_is_no_matter(probe: Probe) -> None:
    made = a_map(probe)
    known = {name: made["metadata"][name] for name in ("uid", "resourceVersion")}

    probe.delete(made, preconditions=known).expect(200)

    probe.api.get(made).expect_refusal(404, "NotFound")


@pytest.mark.parametrize("version", ["v1", "meta.k8s.io/v1", "batch/v1"])
def test_options_may_say_what_they_are(version: str, probe: Probe) -> None:
    probe.delete(a_map(probe), kind="DeleteOptions", apiVersion=version).expect(200)


@pytest.mark.parametrize(
    "options, query, field, message",
    [
        ({"propagationPolicy": "Some"}, {}, "propagationPolicy", 'Unsupported value: "Some"'),
        ({}, {"propagationPolicy": "Some"}, "propagationPolicy", 'Unsupported value: "Some"'),
        ({"dryRun": ["Some"]}, {}, "dryRun", 'supported values: "All"'),
        ({}, {"dryRun": "Some"}, "dryRun", 'supported values: "All"'),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            {},
            "propagationPolicy",
            "orphanDependents and deletionPropagation cannot be both set",
        ),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(
    options: Manifest, query: dict[str, str], field: str, message: str, probe: Probe
) -> None:
    made = a_map(probe)

    answer = probe.api.delete(made, options or None, **query)

    details = answer.expect_refusal(422, "Invalid", message)
    assert (details["group"], details["kind"]) == ("meta.k8s.io", "DeleteOptions")
    assert answer.fields == [field]
    assert probe.get(made) == made


@pytest.mark.parametrize(
    "options, query, message",
    [
        (b'{"kind":"Other","apiVersion":"v1"}', {}, 'no kind "Other" is registered for version'),
        (b"{", {}, "couldn't get version/kind; json parse error"),
        (None, {"gracePeriodSeconds": "x"}, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ],
    ids=str,
)
def test_options_that_cannot_be_read_are_refused(
    options: bytes | None, query: dict[str, str], message: str, probe: Probe
) -> None:
    made = a_map(probe)

    answer = probe.api.request("DELETE", place(made), options, **query)

    answer.expect_refusal(400, "BadRequest", message)
    assert probe.get(made) == made


# -- finalizers ----------------------------------------------------------------------------------


def test_a_finalizer_holds_the_object_back(probe: Probe) -> None:
    made = a_held_map(probe)

    going = probe.delete(made).expect(200)

    assert going["kind"] == "ConfigMap"
    assert going["metadata"]["deletionTimestamp"] >= made["metadata"]["creationTimestamp"]
    assert going["metadata"]["deletionGracePeriodSeconds"] == 0
    assert int(going["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert probe.get(made) == going
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


def test_deletion_grows_a_generation(probe: Probe) -> None:
    made = probe.create(probe.a(*GADGET, {"metadata.finalizers": [FINALIZER]}))

    going = probe.delete(made).expect(200)

    assert going["metadata"]["generation"] == 2
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


def test_deleting_what_is_held_back_again_changes_nothing(probe: Probe) -> None:
    made = a_held_map(probe)
    going = probe.delete(made).expect(200)

    again = probe.delete(made).expect(200)

    assert again == going
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


def test_the_last_finalizer_takes_the_object_with_it(probe: Probe) -> None:
    made = a_map(probe, {"metadata.finalizers": [FINALIZER, f"{FINALIZER}b"]})
    probe.delete(made).expect(200)
    kept = probe.api.patch(made, {"metadata": {"finalizers": [FINALIZER]}}).expect(200)
    assert probe.get(made) == kept

    gone = probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)

    assert "finalizers" not in gone["metadata"]
    assert "deletionTimestamp" in gone["metadata"]
    probe.api.get(made).expect_refusal(404, "NotFound")


def test_a_finalizer_may_go_by_replacement(probe: Probe) -> None:
    made = a_held_map(probe)
    going = probe.delete(made).expect(200)

    probe.api.replace(changed(going, {"metadata.finalizers": []})).expect(200)

    probe.api.get(made).expect_refusal(404, "NotFound")


def test_an_object_may_change_while_it_is_held_back(probe: Probe) -> None:
    made = a_held_map(probe)
    going = probe.delete(made).expect(200)

    kept = probe.api.patch(made, {"data": {"a": "b"}}).expect(200)

    assert kept["data"] == {"a": "b"}
    assert kept["metadata"]["deletionTimestamp"] == going["metadata"]["deletionTimestamp"]
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


def test_nobody_comes_back(probe: Probe) -> None:
    made = a_held_map(probe)
    going = probe.delete(made).expect(200)

    kept = probe.api.patch(made, {"metadata": {"deletionTimestamp": None}}).expect(200)

    assert kept == going
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


def test_no_finalizer_comes_too_late(probe: Probe) -> None:
    made = a_held_map(probe)
    probe.delete(made).expect(200)

    answer = probe.api.patch(made, {"metadata": {"finalizers": [FINALIZER, f"{FINALIZER}b"]}})

    message = "no new finalizers can be added if the object is being deleted, found new finalizers"
    answer.expect_refusal(422, "Invalid", message)
    assert causes(answer)[0] == ("FieldValueForbidden", "metadata.finalizers")
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


@pytest.mark.parametrize(
    "policy, finalizer", [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
def test_a_policy_about_dependents_is_a_finalizer(
    policy: str, finalizer: str, probe: Probe
) -> None:
    going = probe.delete(a_map(probe), propagationPolicy=policy).expect(200)

    assert going["metadata"]["finalizers"] == [finalizer]
    assert "deletionTimestamp" in going["metadata"]


def test_dependents_in_the_background_hold_nothing_back(probe: Probe) -> None:
    made = a_map(probe)

    probe.delete(made, propagationPolicy="Background").expect(200)

    probe.api.get(made).expect_refusal(404, "NotFound")


# -- grace ---------------------------------------------------------------------------------------


def a_bound_pod(probe: Probe) -> Manifest:
    """A pod on a node that does not exist, so that no kubelet ends it."""
    made = probe.create(probe.a("Pod", "v1", spec=POD))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": made["metadata"]["name"]},
        "target": {"kind": "Node", "name": "nowhere"},
    }
    probe.api.request("POST", place(made) + "/binding", binding).expect(201)
    return made


def test_a_pod_without_a_node_goes_at_once(probe: Probe) -> None:
    made = probe.create(probe.a("Pod", "v1", spec=POD))

    going = probe.delete(made).expect(200)

    assert going["kind"] == "Pod"
    assert going["metadata"]["deletionGracePeriodSeconds"] == 0
    probe.api.get(made).expect_refusal(404, "NotFound")


@pytest.mark.parametrize("options, grace", [({}, 30), ({"gracePeriodSeconds": 7}, 7)], ids=str)
def test_a_pod_on_a_node_is_given_time(options: Manifest, grace: int, probe: Probe) -> None:
    made = a_bound_pod(probe)

    going = probe.delete(made, **options).expect(200)

    assert going["metadata"]["deletionGracePeriodSeconds"] == grace
    assert probe.get(made) == going
    probe.delete(made, gracePeriodSeconds=0).expect(200)
    probe.api.get(made).expect_refusal(404, "NotFound")


@pytest.mark.parametrize("second, grace", [(3, 3), (9, 7)])
def test_time_is_only_taken_away(second: int, grace: int, probe: Probe) -> None:
    made = a_bound_pod(probe)
    probe.delete(made, gracePeriodSeconds=7).expect(200)

    going = probe.delete(made, gracePeriodSeconds=second).expect(200)

    assert going["metadata"]["deletionGracePeriodSeconds"] == grace
    probe.delete(made, gracePeriodSeconds=0).expect(200)


# -- many ----------------------------------------------------------------------------------------


def some_maps(probe: Probe) -> list[Manifest]:
    """Three maps that share a label of their own, and are told apart by another."""
    label = probe.a_name()
    return [
        a_map(probe, {"metadata.labels": {"all": label, "each": f"{label}-{number}"}})
        for number in range(3)
    ]


def names(items: list[Manifest]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


@pytest.mark.parametrize("by", ["label", "field"])
def test_a_selector_chooses_what_goes(by: str, probe: Probe) -> None:
    first, *others = some_maps(probe)
    selectors = {
        "label": ("labelSelector", f"each={first['metadata']['labels']['each']}"),
        "field": ("fieldSelector", f"metadata.name={first['metadata']['name']}"),
    }

    gone = probe.api.request("DELETE", collection(first), **dict([selectors[by]])).expect(200)

    assert (gone["kind"], gone["apiVersion"]) == ("ConfigMapList", "v1")
    assert names(gone["items"]) == names([first])
    label = f"all={first['metadata']['labels']['all']}"
    assert names(probe.found(first, labelSelector=label)) == names(others)


def test_nothing_to_delete_is_no_fault(probe: Probe) -> None:
    path = collection(probe.a("ConfigMap", "v1"))

    gone = probe.api.request("DELETE", path, labelSelector="no=body").expect(200)

    assert gone["items"] == []


def test_many_are_held_back_each_by_its_own_finalizer(probe: Probe) -> None:
    first, second, third = some_maps(probe)
    probe.api.patch(second, {"metadata": {"finalizers": [FINALIZER]}}).expect(200)
    label = {"labelSelector": f"all={first['metadata']['labels']['all']}"}

    probe.api.request("DELETE", collection(third), **label).expect(200)

    (left,) = probe.found(first, **label)
    assert left["metadata"]["name"] == second["metadata"]["name"]
    assert "deletionTimestamp" in left["metadata"]
    probe.api.patch(second, {"metadata": {"finalizers": None}}).expect(200)
