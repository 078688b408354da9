"""The official Python client: typed, for custom resources, dynamic, and its watches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes
import kubernetes.dynamic
import pytest
from kubernetes.client.exceptions import ApiException

from tests.e2e.api import Api
from tests.e2e.probes.definitions import GROUP, INTEGER, an_object, defined
from tests.e2e.probes.jobs import counts
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest

# Of its types, most allow None everywhere, and the rest are not told.
KUBERNETES: Any = kubernetes
client = KUBERNETES.client


@pytest.fixture(scope="module")
def connection(cluster: Path) -> Iterator[Any]:
    with KUBERNETES.config.new_client_from_config(str(cluster)) as connection:
        yield connection
        connection.rest_client.pool_manager.clear()


@pytest.fixture
def core(connection: Any) -> Any:
    return client.CoreV1Api(connection)


@pytest.fixture
def batch(connection: Any) -> Any:
    return client.BatchV1Api(connection)


def a_config_map(probe: Probe, **data: str) -> Any:
    metadata = client.V1ObjectMeta(name=probe.a_name(), labels={"a": "b"})
    return client.V1ConfigMap(metadata=metadata, data=data)


def a_job(probe: Probe, **spec: Any) -> Any:
    container = client.V1Container(name="c", image="i")
    pod = client.V1PodSpec(containers=[container], restart_policy="Never", scheduler_name="nobody")
    return client.V1Job(
        metadata=client.V1ObjectMeta(name=probe.a_name()),
        spec=client.V1JobSpec(template=client.V1PodTemplateSpec(spec=pod), **spec),
    )


def test_an_object_lives(core: Any, probe: Probe) -> None:
    given = a_config_map(probe, a="1")
    name, namespace = given.metadata.name, probe.namespace

    made = core.create_namespaced_config_map(namespace, given)
    assert made.metadata.uid
    made.data["b"] = "2"
    replaced = core.replace_namespaced_config_map(name, namespace, made)
    assert replaced.data == {"a": "1", "b": "2"}
    patched = core.patch_namespaced_config_map(name, namespace, {"data": {"a": None}})
    assert patched.data == {"b": "2"}
    found = core.list_namespaced_config_map(namespace, field_selector=f"metadata.name={name}")
    assert [each.metadata.uid for each in found.items] == [made.metadata.uid]
    core.delete_namespaced_config_map(name, namespace)

    with pytest.raises(ApiException) as refusal:
        core.read_namespaced_config_map(name, namespace)
    assert (refusal.value.status, refusal.value.reason) == (404, "Not Found")


def test_a_stale_object_is_refused(core: Any, probe: Probe) -> None:
    made = core.create_namespaced_config_map(probe.namespace, a_config_map(probe))
    name = made.metadata.name
    core.patch_namespaced_config_map(name, probe.namespace, {"data": {"a": "1"}})

    with pytest.raises(ApiException) as refusal:
        core.replace_namespaced_config_map(name, probe.namespace, made)

    assert refusal.value.status == 409
    assert '"reason":"Conflict"' in str(refusal.value.body)


def test_a_job_runs(batch: Any, core: Any, probe: Probe) -> None:
    made = batch.create_namespaced_job(probe.namespace, a_job(probe, completions=1))
    assert made.spec.backoff_limit == 6
    name = made.metadata.name
    probe.until({**probe.a("Job", "batch/v1"), "metadata": metadata_of(made)}, counts(active=1))

    status = batch.read_namespaced_job_status(name, probe.namespace).status
    selector = f"batch.kubernetes.io/job-name={name}"
    (pod,) = core.list_namespaced_pod(probe.namespace, label_selector=selector).items

    assert status.active == 1
    assert pod.metadata.owner_references[0].uid == made.metadata.uid
    batch.delete_namespaced_job(name, probe.namespace, propagation_policy="Background")


def metadata_of(made: Any) -> Manifest:
    return {"name": made.metadata.name, "namespace": made.metadata.namespace}


def test_a_pod_is_bound_and_evicted(core: Any, probe: Probe) -> None:
    pod = client.V1Pod(
        metadata=client.V1ObjectMeta(name=probe.a_name()),
        spec=a_job(probe).spec.template.spec,
    )
    name = core.create_namespaced_pod(probe.namespace, pod).metadata.name
    target = client.V1ObjectReference(api_version="v1", kind="Node", name="nowhere")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name=name), target=target)

    # It takes the answer for a binding, and fails to: that is its own fault.
    core.create_namespaced_pod_binding(name, probe.namespace, binding, _preload_content=False)
    assert core.read_namespaced_pod(name, probe.namespace).spec.node_name == "nowhere"

    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=name))
    core.create_namespaced_pod_eviction(name, probe.namespace, eviction)
    assert core.read_namespaced_pod(name, probe.namespace).metadata.deletion_timestamp


def test_a_list_comes_in_chunks(core: Any, probe: Probe) -> None:
    label = probe.a_name("l")
    for _ in range(3):
        given = a_config_map(probe)
        given.metadata.labels = {"probe": label}
        core.create_namespaced_config_map(probe.namespace, given)
    chosen = {"label_selector": f"probe={label}", "limit": 2}

    first = core.list_namespaced_config_map(probe.namespace, **chosen)
    rest = core.list_namespaced_config_map(
        probe.namespace, _continue=first.metadata._continue, **chosen
    )

    assert (len(first.items), first.metadata.remaining_item_count) in {(2, None), (2, 1)}
    assert (len(rest.items), rest.metadata._continue) == (1, None)


def test_a_watch_tells_of_changes(core: Any, probe: Probe) -> None:
    made = core.create_namespaced_config_map(probe.namespace, a_config_map(probe))
    name = made.metadata.name
    core.patch_namespaced_config_map(name, probe.namespace, {"data": {"a": "1"}})
    core.delete_namespaced_config_map(name, probe.namespace)
    watching = KUBERNETES.watch.Watch()
    events = watching.stream(
        core.list_namespaced_config_map,
        probe.namespace,
        field_selector=f"metadata.name={name}",
        resource_version=made.metadata.resource_version,
        timeout_seconds=10,
    )

    seen = []
    for event in events:
        seen.append((event["type"], event["object"].data))
        if event["type"] == "DELETED":
            watching.stop()

    assert seen == [("MODIFIED", {"a": "1"}), ("DELETED", {"a": "1"})]


@pytest.fixture(scope="module")
def things(api: Api, namespace: str) -> Iterator[Manifest]:
    properties = {"status": an_object(phase={"type": "string"})}
    changes = {"spec.versions[0].schema.openAPIV3Schema.properties.status": properties["status"]}
    with defined(
        api,
        namespace,
        an_object(size={**INTEGER, "maximum": 5}),
        changes,
        subresources={"status": {}},
    ) as definition:
        yield definition


def test_a_custom_resource_lives(connection: Any, things: Manifest, probe: Probe) -> None:
    custom = client.CustomObjectsApi(connection)
    names = things["spec"]["names"]
    where: Manifest = {"group": GROUP, "version": "v1", "plural": names["plural"]}
    where["namespace"] = probe.namespace
    name = probe.a_name()
    thing: Manifest = {
        "apiVersion": f"{GROUP}/v1",
        "kind": names["kind"],
        "metadata": {"name": name},
        "spec": {"size": 1},
    }

    custom.create_namespaced_custom_object(**where, body=thing)
    custom.patch_namespaced_custom_object(**where, name=name, body={"spec": {"size": 2}})
    status = {"status": {"phase": "Done"}}
    custom.patch_namespaced_custom_object_status(**where, name=name, body=status)
    found = custom.get_namespaced_custom_object(**where, name=name)
    assert (found["spec"], found["status"]) == ({"size": 2}, {"phase": "Done"})
    with pytest.raises(ApiException) as refusal:
        custom.patch_namespaced_custom_object(**where, name=name, body={"spec": {"size": 6}})
    assert refusal.value.status == 422
    custom.delete_namespaced_custom_object(**where, name=name)

    listed = custom.list_namespaced_custom_object(**where)
    assert name not in [each["metadata"]["name"] for each in listed["items"]]


def test_a_definition_is_made(connection: Any, things: Manifest) -> None:
    definitions = client.ApiextensionsV1Api(connection)

    found = definitions.read_custom_resource_definition(things["metadata"]["name"])

    assert found.status.accepted_names.kind == things["spec"]["names"]["kind"]
    assert {each.type: each.status for each in found.status.conditions} == {
        "NamesAccepted": "True",
        "Established": "True",
    }


def test_kinds_are_found_at_run_time(
    connection: Any, things: Manifest, probe: Probe, tmp_path: Path
) -> None:
    found = KUBERNETES.dynamic.DynamicClient(connection, cache_file=str(tmp_path / "cache"))
    names = things["spec"]["names"]
    kind = found.resources.get(api_version=f"{GROUP}/v1", kind=names["kind"])
    thing: Manifest = {
        "apiVersion": f"{GROUP}/v1",
        "kind": names["kind"],
        "metadata": {"name": probe.a_name()},
        "spec": {"size": 1},
    }

    applied = found.server_side_apply(
        kind, body=thing, namespace=probe.namespace, field_manager="me"
    )
    assert applied.metadata.managedFields[0].manager == "me"
    (listed,) = kind.get(
        namespace=probe.namespace, field_selector=f"metadata.name={applied.metadata.name}"
    ).items
    assert listed.spec.size == 1
    kind.delete(name=applied.metadata.name, namespace=probe.namespace)


def test_the_version_is_known(connection: Any) -> None:
    assert client.VersionApi(connection).get_code().git_version.startswith("v1.36.")


def test_leases_are_held(connection: Any, probe: Probe) -> None:
    leases = client.CoordinationV1Api(connection)
    spec = client.V1LeaseSpec(holder_identity="a", lease_duration_seconds=15)
    name = probe.a_name()
    lease = client.V1Lease(metadata=client.V1ObjectMeta(name=name), spec=spec)

    made = leases.create_namespaced_lease(probe.namespace, lease)
    made.spec.holder_identity = "b"
    leases.replace_namespaced_lease(name, probe.namespace, made)

    with pytest.raises(ApiException) as refusal:
        leases.replace_namespaced_lease(name, probe.namespace, made)
    assert refusal.value.status == 409
    assert leases.read_namespaced_lease(name, probe.namespace).spec.holder_identity == "b"
