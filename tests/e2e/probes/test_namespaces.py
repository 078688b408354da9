"""How namespaces come and go, with all that is in them."""

from typing import Any

import pytest

from tests.e2e.probes.definitions import a_definition, define
from tests.e2e.probes.definitions import a_thing as a_custom_thing
from tests.e2e.probes.probe import Probe, condition
from tests.queue.api.manifests import Manifest


def a_namespace(probe: Probe, **metadata: Any) -> Manifest:
    namespace = probe.a("Namespace", "v1")
    return {**namespace, "metadata": {**namespace["metadata"], **metadata}}


def inside(namespace: Manifest, manifest: Manifest) -> Manifest:
    """Return a manifest in another namespace."""
    name = namespace["metadata"]["name"]
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": name}}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
def test_there_are_namespaces_from_the_beginning(name: str, probe: Probe) -> None:
    found = probe.get({**a_namespace(probe), "metadata": {"name": name}})

    assert found["status"] == {"phase": "Active"}
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


def test_a_namespace_is_active_at_once(probe: Probe) -> None:
    made = probe.create(a_namespace(probe, labels={"a": "b"}))

    assert made["status"] == {"phase": "Active"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["metadata"]["labels"] == {
        "a": "b",
        "kubernetes.io/metadata.name": made["metadata"]["name"],
    }


def test_the_name_of_a_namespace_stays_its_label(probe: Probe) -> None:
    made = probe.create(a_namespace(probe))

    labels = {"kubernetes.io/metadata.name": "other"}
    now = probe.api.patch(made, {"metadata": {"labels": labels}}).expect(200)

    assert now["metadata"]["labels"] == made["metadata"]["labels"]


def test_nothing_is_made_in_a_namespace_that_does_not_exist(probe: Probe) -> None:
    thing = inside(a_namespace(probe), probe.a("ConfigMap", "v1"))

    answer = probe.refused(thing, 404, "NotFound")

    name = thing["metadata"]["namespace"]
    assert answer.message == f'namespaces "{name}" not found'
    assert answer.body["details"] == {"name": name, "kind": "namespaces"}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_a_namespace_of_the_system_is_not_deleted(name: str, probe: Probe) -> None:
    namespace = {**a_namespace(probe), "metadata": {"name": name}}

    answer = probe.api.delete(namespace)

    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == (
        f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    )


def test_a_namespace_goes_with_all_in_it(probe: Probe) -> None:
    namespace = probe.create(a_namespace(probe))
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"}
    things = [
        inside(namespace, probe.a("ConfigMap", "v1")),
        inside(namespace, probe.a("Secret", "v1")),
        inside(namespace, probe.a("Pod", "v1", spec=spec)),
    ]
    for thing in things:
        probe.create(thing)

    answer = probe.delete(namespace).expect(200)
    assert answer["status"]["phase"] == "Terminating"
    assert "deletionTimestamp" in answer["metadata"]

    probe.until_gone(namespace)
    for thing in things:
        assert probe.api.get(thing).code == 404


def test_a_namespace_goes_with_custom_resources_in_it(probe: Probe) -> None:
    definition = define(probe, a_definition(probe))
    namespace = probe.create(a_namespace(probe))
    thing = inside(namespace, a_custom_thing(probe, definition))
    probe.create(thing)

    probe.delete(namespace).expect(200)

    probe.until_gone(namespace)
    assert probe.api.get(thing).code == 404


def ending(probe: Probe) -> tuple[Manifest, Manifest]:
    """Return a namespace that ends, and the object that holds it up."""
    namespace = probe.create(a_namespace(probe))
    thing = inside(namespace, probe.a("ConfigMap", "v1"))
    thing["metadata"]["finalizers"] = ["example.com/wait"]
    probe.create(thing)
    probe.delete(namespace).expect(200)
    return namespace, thing


def release(probe: Probe, namespace: Manifest, thing: Manifest) -> None:
    probe.api.patch(thing, {"metadata": {"finalizers": None}}).expect(200)
    probe.until_gone(namespace)


def test_nothing_is_made_in_a_namespace_that_ends(probe: Probe) -> None:
    namespace, held = ending(probe)
    thing = inside(namespace, probe.a("ConfigMap", "v1"))

    answer = probe.refused(thing, 403, "Forbidden")

    name = namespace["metadata"]["name"]
    says = f"unable to create new content in namespace {name} because it is being terminated"
    assert answer.message == f'configmaps "{thing["metadata"]["name"]}" is forbidden: {says}'
    assert answer.causes == [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    release(probe, namespace, held)


def test_an_object_holds_up_the_end_of_its_namespace(probe: Probe) -> None:
    namespace, held = ending(probe)

    now = probe.until(namespace, lambda now: condition(now, "NamespaceFinalizersRemaining"))

    told = {each["type"]: (each["status"], each["reason"]) for each in now["status"]["conditions"]}
    assert told == {
        "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered"),
        "NamespaceDeletionGroupVersionParsingFailure": ("False", "ParsedGroupVersions"),
        "NamespaceDeletionContentFailure": ("False", "ContentDeleted"),
        "NamespaceContentRemaining": ("True", "SomeResourcesRemain"),
        "NamespaceFinalizersRemaining": ("True", "SomeFinalizersRemain"),
    }
    assert condition(now, "NamespaceContentRemaining")["message"] == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert condition(now, "NamespaceFinalizersRemaining")["message"] == (
        "Some content in the namespace has finalizers remaining: "
        "example.com/wait in 1 resource instances"
    )
    assert "deletionTimestamp" in probe.get(held)["metadata"]
    release(probe, namespace, held)


def test_what_is_in_a_namespace_that_ends_may_change(probe: Probe) -> None:
    namespace, held = ending(probe)

    now = probe.api.patch(held, {"data": {"a": "b"}}).expect(200)

    assert now["data"] == {"a": "b"}
    release(probe, namespace, held)


def test_a_namespace_has_finalizers_of_its_own(probe: Probe) -> None:
    namespace = probe.create(a_namespace(probe, finalizers=["example.com/wait"]))

    probe.delete(namespace).expect(200)
    now = probe.until(namespace, lambda now: "finalizers" not in now["spec"])

    assert now["status"]["phase"] == "Terminating"
    probe.api.patch(now, {"metadata": {"finalizers": None}}).expect(200)
    probe.until_gone(namespace)


def test_an_empty_namespace_comes_again(probe: Probe) -> None:
    namespace = a_namespace(probe)
    first = probe.create(namespace)
    again = probe.api.create(namespace)
    assert (again.code, again.body["reason"]) == (409, "AlreadyExists")

    probe.delete(first).expect(200)
    probe.until_gone(first)

    assert probe.create(namespace)["metadata"]["uid"] != first["metadata"]["uid"]
