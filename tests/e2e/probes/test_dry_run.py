"""A dry run: everything is answered as if it were done, and nothing is."""

from collections.abc import Callable

import pytest

from tests.e2e.api import JSON, MERGE, Answer, collection, place
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest, changed

DRY = {"dryRun": "All"}


def a_map(probe: Probe) -> Manifest:
    return probe.create(probe.a("ConfigMap", "v1", {"data.a": "b"}))


def test_nothing_is_created(probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1", {"data.a": "b"})

    said = probe.api.create(manifest, **DRY).expect(201)

    assert said["data"] == {"a": "b"}
    assert {"uid", "creationTimestamp", "managedFields"} <= said["metadata"].keys()
    assert "resourceVersion" not in said["metadata"]
    probe.api.get(manifest).expect_refusal(404, "NotFound")


def test_a_name_is_generated(probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1")
    manifest["metadata"] = {"generateName": "some-", "namespace": probe.namespace}

    said = probe.api.create(manifest, **DRY).expect(201)

    assert said["metadata"]["name"].startswith("some-")
    probe.api.get(said).expect_refusal(404, "NotFound")


def test_a_name_that_is_taken_is_refused(probe: Probe) -> None:
    made = a_map(probe)

    answer = probe.api.create(changed(made, {"metadata.resourceVersion": ""}), **DRY)

    answer.expect_refusal(409, "AlreadyExists")


def test_faults_are_found(probe: Probe) -> None:
    answer = probe.api.create(probe.a("ConfigMap", "v1", {"metadata.name": "A"}), **DRY)

    answer.expect_refusal(422, "Invalid")


Verb = Callable[[Probe, Manifest], Answer]
VERBS: dict[str, Verb] = {
    "replace": lambda probe, made: probe.api.replace(changed(made, {"data.a": "c"}), **DRY),
    "patch": lambda probe, made: probe.api.patch(made, {"data": {"a": "c"}}, **DRY),
    "apply": lambda probe, made: probe.api.apply(
        {**made, "metadata": {"name": made["metadata"]["name"], "namespace": probe.namespace}}
        | {"data": {"a": "c"}},
        **DRY,
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_changes(verb: str, probe: Probe) -> None:
    made = a_map(probe)

    said = VERBS[verb](probe, made).expect(200)

    assert said["data"] == {"a": "c"}
    assert said["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert probe.get(made) == made


@pytest.mark.parametrize("options", [None, {"dryRun": ["All"]}], ids=["query", "body"])
def test_nothing_is_deleted(options: Manifest | None, probe: Probe) -> None:
    made = a_map(probe)

    said = probe.api.delete(made, options, **({} if options else DRY)).expect(200)

    assert said["status"] == "Success"
    assert probe.get(made) == made


def test_none_of_many_is_deleted(probe: Probe) -> None:
    made = a_map(probe)
    select = {"fieldSelector": f"metadata.name={made['metadata']['name']}"}

    said = probe.api.request("DELETE", collection(made), **select, **DRY).expect(200)

    assert len(said["items"]) == 1
    assert probe.get(made) == made


def test_a_version_of_the_past_conflicts(probe: Probe) -> None:
    made = a_map(probe)
    probe.api.patch(made, {"data": {"a": "c"}}).expect(200)

    answer = probe.api.replace(changed(made, {"data.a": "d"}), **DRY)

    answer.expect_refusal(409, "Conflict")


def test_no_finalizer_takes_the_object_with_it(probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1", {"metadata.finalizers": ["e2e.muster.dev/a"]}))
    going = probe.delete(made).expect(200)
    patch = {"metadata": {"finalizers": None}}

    probe.api.patch(made, patch, **DRY).expect(200)

    assert probe.get(made) == going
    probe.api.patch(made, patch).expect(200)


def test_nobody_hears_of_it(probe: Probe) -> None:
    made = a_map(probe)
    probe.api.patch(made, {"data": {"a": "c"}}, **DRY).expect(200)
    kept = probe.api.patch(made, {"data": {"a": "d"}}).expect(200)

    with probe.watch(made, resourceVersion=made["metadata"]["resourceVersion"]) as events:
        assert next(events)["object"] == kept


@pytest.mark.parametrize(
    "method, options",
    [("POST", "CreateOptions"), ("PUT", "UpdateOptions"), ("PATCH", "PatchOptions")],
)
@pytest.mark.parametrize("value", ["Some", ""])
def test_other_runs_are_unknown(method: str, options: str, value: str, probe: Probe) -> None:
    made = a_map(probe)
    path = collection(made) if method == "POST" else place(made)
    content_type = MERGE if method == "PATCH" else JSON

    answer = probe.api.request(method, path, made, content_type, dryRun=value)

    details = answer.expect_refusal(422, "Invalid", f'Unsupported value: ["{value}"]')
    assert (details["group"], details["kind"]) == ("meta.k8s.io", options)
    assert answer.fields == ["dryRun"]
