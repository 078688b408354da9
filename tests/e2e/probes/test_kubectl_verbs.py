"""What people do with kubectl every day."""

import json

import pytest
import yaml

from tests.e2e.probes.kubectl import Kubectl
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest, a_manifest, changed

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def a_map(probe: Probe, **data: str) -> Manifest:
    return probe.a("ConfigMap", "v1", data=data)


def a_pod(probe: Probe, changes: Manifest | None = None) -> Manifest:
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"}
    return probe.a("Pod", "v1", changes, spec=spec)


def name_of(manifest: Manifest) -> str:
    name: str = manifest["metadata"]["name"]
    return name


def typed(manifest: Manifest) -> str:
    return f"{manifest['kind'].lower()}/{name_of(manifest)}"


def test_apply_makes_changes_and_leaves_alone(kubectl: Kubectl, probe: Probe) -> None:
    thing = a_map(probe, a="1", b="2")

    printed = [
        kubectl("apply", "-f-", given=given)
        for given in (thing, thing, {**thing, "data": {"a": "3"}})
    ]

    assert [each.removeprefix(typed(thing)).strip() for each in printed] == [
        "created",
        "unchanged",
        "configured",
    ]
    now = probe.get(thing)
    assert now["data"] == {"a": "3"}  # what is no longer given goes
    assert json.loads(now["metadata"]["annotations"][LAST_APPLIED])["data"] == {"a": "3"}


def test_apply_keeps_what_others_added(kubectl: Kubectl, probe: Probe) -> None:
    thing = a_map(probe, a="1")
    kubectl("apply", "-f-", given=thing)
    probe.api.patch(thing, {"data": {"b": "2"}}).expect(200)

    kubectl("apply", "-f-", given={**thing, "data": {"a": "3"}})

    assert probe.get(thing)["data"] == {"a": "3", "b": "2"}


def test_apply_merges_a_pod_by_its_containers(kubectl: Kubectl, probe: Probe) -> None:
    pod = a_pod(probe)
    kubectl("apply", "-f-", given=pod)

    kubectl("apply", "-f-", given=changed(pod, {"spec.containers[0].image": "j"}))

    (container,) = probe.get(pod)["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("j", "Always")


def test_apply_at_the_server(kubectl: Kubectl, probe: Probe) -> None:
    thing = a_map(probe, a="1")

    first = kubectl("apply", "--server-side", "-f-", given=thing)

    assert first == f"{typed(thing)} serverside-applied\n"
    (entry,) = probe.get(thing)["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("kubectl", "Apply")


def test_apply_at_the_server_tells_of_conflicts(kubectl: Kubectl, probe: Probe) -> None:
    thing = a_map(probe, a="1")
    probe.api.apply(thing, fieldManager="other")
    other = {**thing, "data": {"a": "2"}}

    complaint = kubectl.fails("apply", "--server-side", "-f-", given=other)

    assert complaint.startswith(
        'error: Apply failed with 1 conflict: conflict with "other": .data.a\n'
        "Please review the fields above"
    )
    kubectl("apply", "--server-side", "--force-conflicts", "-f-", given=other)
    assert probe.get(thing)["data"] == {"a": "2"}


def test_apply_moves_from_client_to_server(kubectl: Kubectl, probe: Probe) -> None:
    thing = a_map(probe, a="1")
    kubectl("apply", "-f-", given=thing)

    kubectl("apply", "--server-side", "-f-", given={**thing, "data": {"b": "2"}})

    assert probe.get(thing)["data"] == {"b": "2"}


def test_apply_by_trial_makes_nothing(kubectl: Kubectl, probe: Probe) -> None:
    thing = a_map(probe)

    printed = kubectl("apply", "--dry-run=server", "-f-", given=thing)

    assert printed == f"{typed(thing)} created (server dry run)\n"
    assert probe.api.get(thing).code == 404


def test_apply_knows_the_fields(kubectl: Kubectl, probe: Probe) -> None:
    pod = changed(a_pod(probe), {"spec.colour": "red"})

    complaint = kubectl.fails("apply", "-f-", given=pod)

    assert complaint.startswith("Error from server (BadRequest): ")
    assert 'strict decoding error: unknown field "spec.colour"' in complaint


def test_diff_tells_what_would_change(kubectl: Kubectl, probe: Probe) -> None:
    thing = a_map(probe, a="1")
    kubectl("apply", "-f-", given=thing)
    assert kubectl("diff", "-f-", given=thing) == ""

    printed = kubectl.differs({**thing, "data": {"a": "2"}})

    lines = [line for line in printed.splitlines() if line[:1] in "+-"]
    assert '-  a: "1"' in lines
    assert '+  a: "2"' in lines


def test_create_and_replace(kubectl: Kubectl, probe: Probe) -> None:
    thing = a_map(probe, a="1")

    assert kubectl("create", "-f-", given=thing) == f"{typed(thing)} created\n"
    again = kubectl.fails("create", "-f-", given=thing)
    assert again.endswith(f'configmaps "{name_of(thing)}" already exists')
    printed = kubectl("replace", "-f-", given={**thing, "data": {"b": "2"}})

    assert printed == f"{typed(thing)} replaced\n"
    assert probe.get(thing)["data"] == {"b": "2"}


@pytest.mark.parametrize(
    "arguments, thing",
    [
        ("configmap NAME --from-literal=a=b", ("ConfigMap", "v1", {"data": {"a": "b"}})),
        ("secret generic NAME --from-literal=a=b", ("Secret", "v1", {"data": {"a": "Yg=="}})),
        ("namespace NAME", ("Namespace", "v1", {"status": {"phase": "Active"}})),
        (
            "priorityclass NAME --value=5",
            ("PriorityClass", "scheduling.k8s.io/v1", {"value": 5}),
        ),
        ("serviceaccount NAME", ("ServiceAccount", "v1", {})),
    ],
)
def test_create_without_a_file(
    arguments: str, thing: tuple[str, str, Manifest], kubectl: Kubectl, probe: Probe
) -> None:
    kind, version, content = thing
    expected = probe.a(kind, version, None, **content)

    printed = kubectl("create", *arguments.replace("NAME", name_of(expected)).split())

    assert printed.strip().endswith(f"/{name_of(expected)} created")
    made = probe.get(expected)
    assert {field: made[field] for field in content} == content
    probe.delete(made).expect(200)


def test_create_a_job(kubectl: Kubectl, probe: Probe) -> None:
    job = probe.a("Job", "batch/v1")

    printed = kubectl("create", "job", name_of(job), "--image=i", "--", "run", "it")

    assert printed == f"job.batch/{name_of(job)} created\n"
    template = probe.get(job)["spec"]["template"]
    assert template["spec"]["containers"][0]["command"] == ["run", "it"]
    kubectl("delete", "job", name_of(job))


def test_run_a_pod(kubectl: Kubectl, probe: Probe) -> None:
    pod = a_pod(probe)

    kubectl("run", name_of(pod), "--image=i", "--restart=Never", "--labels=a=b")

    made = probe.get(pod)
    assert made["metadata"]["labels"] == {"a": "b"}
    assert made["spec"]["restartPolicy"] == "Never"
    kubectl.tells("delete", "pod", name_of(pod), "--force", "--grace-period=0")
    assert probe.api.get(pod).code == 404


@pytest.mark.parametrize(
    "kind, patch",
    [
        ("strategic", '{"spec": {"containers": [{"name": "c", "image": "j"}]}}'),
        ("merge", '{"spec": {"activeDeadlineSeconds": 5}}'),
        ("json", '[{"op": "replace", "path": "/spec/containers/0/image", "value": "j"}]'),
    ],
)
def test_patch(kind: str, patch: str, kubectl: Kubectl, probe: Probe) -> None:
    pod = probe.create(a_pod(probe))

    printed = kubectl("patch", "pod", name_of(pod), f"--type={kind}", f"--patch={patch}")

    assert printed == f"{typed(pod)} patched\n"
    assert probe.get(pod)["metadata"]["generation"] == 2


def test_patch_a_status(kubectl: Kubectl, probe: Probe) -> None:
    pod = probe.create(a_pod(probe))

    patch = '{"status": {"phase": "Running"}}'
    kubectl("patch", "pod", name_of(pod), "--subresource=status", f"--patch={patch}")

    assert probe.get(pod)["status"]["phase"] == "Running"


def test_set_an_image(kubectl: Kubectl, probe: Probe) -> None:
    pod = probe.create(a_pod(probe))

    kubectl("set", "image", typed(pod), "c=j")

    assert probe.get(pod)["spec"]["containers"][0]["image"] == "j"


def test_label_and_annotate(kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(a_map(probe))

    assert kubectl("label", "configmap", name_of(thing), "a=b") == f"{typed(thing)} labeled\n"
    complaint = kubectl.fails("label", "configmap", name_of(thing), "a=c")
    assert "'a' already has a value (b), and --overwrite is false" in complaint
    kubectl("label", "configmap", name_of(thing), "a=c", "--overwrite")
    kubectl("annotate", "configmap", name_of(thing), "x=y")
    now = probe.get(thing)["metadata"]
    assert (now["labels"], now["annotations"]) == ({"a": "c"}, {"x": "y"})

    assert kubectl("label", "configmap", name_of(thing), "a-") == f"{typed(thing)} unlabeled\n"
    assert "labels" not in probe.get(thing)["metadata"]


def test_delete_waits(kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(a_map(probe))

    printed = kubectl("delete", "configmap", name_of(thing), "--wait")

    assert printed == f'configmap "{name_of(thing)}" deleted from {probe.namespace} namespace\n'
    assert probe.api.get(thing).code == 404


def test_delete_by_label(kubectl: Kubectl, probe: Probe) -> None:
    label = probe.a_name("l")
    things = [{**a_map(probe)} for _ in range(2)]
    for thing in things:
        thing["metadata"]["labels"] = {"probe": label}
        probe.create(thing)

    printed = kubectl("delete", "configmap", "-l", f"probe={label}")

    assert len(printed.splitlines()) == 2
    assert kubectl("get", "configmap", "-l", f"probe={label}", "-o", "name") == ""


@pytest.mark.parametrize(
    "cascade, stays", [("background", False), ("foreground", False), ("orphan", True)]
)
def test_delete_with_dependents(cascade: str, stays: bool, kubectl: Kubectl, probe: Probe) -> None:
    parent, child = probe.create(a_map(probe)), a_map(probe)
    metadata = parent["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "blockOwnerDeletion": True}
    child["metadata"]["ownerReferences"] = [
        {**reference, "name": metadata["name"], "uid": metadata["uid"]}
    ]
    probe.create(child)

    kubectl("delete", "configmap", name_of(parent), f"--cascade={cascade}")

    assert probe.api.get(parent).code == 404
    if stays:
        assert "ownerReferences" not in probe.get(child)["metadata"]
    else:
        probe.until_gone(child)


def test_delete_what_is_not_there(kubectl: Kubectl, probe: Probe) -> None:
    name = probe.a_name()

    complaint = kubectl.fails("delete", "configmap", name)

    assert complaint == f'Error from server (NotFound): configmaps "{name}" not found'
    assert kubectl("delete", "configmap", name, "--ignore-not-found") == ""


def test_wait_for_a_condition(kubectl: Kubectl, probe: Probe) -> None:
    pod = probe.create(a_pod(probe))
    arguments = ("wait", typed(pod), "--for=condition=Ready", "--timeout=30s")
    with kubectl.started(*arguments) as waiting:
        probe.set_status(pod, conditions=[{"type": "Ready", "status": "True"}])

        assert waiting.communicate()[0] == f"{typed(pod)} condition met\n"


def test_wait_for_a_value(kubectl: Kubectl, probe: Probe) -> None:
    pod = probe.create(a_pod(probe))
    with kubectl.started("wait", typed(pod), "--for=jsonpath={.status.phase}=Running") as waiting:
        probe.set_status(pod, phase="Running")

        assert waiting.communicate()[0] == f"{typed(pod)} condition met\n"


def test_wait_for_an_end(kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(a_map(probe))
    with kubectl.started("wait", typed(thing), "--for=delete", "--timeout=30s") as waiting:
        probe.delete(thing).expect(200)

        # If it comes late, there is nothing to wait for.
        assert waiting.communicate()[0] in {"", f"{typed(thing)} condition met\n"}
        assert waiting.returncode == 0


def test_wait_in_vain(kubectl: Kubectl, probe: Probe) -> None:
    pod = probe.create(a_pod(probe))

    complaint = kubectl.fails("wait", typed(pod), "--for=condition=Ready", "--timeout=1s")

    pods = typed(pod).replace("pod/", "pods/")
    assert complaint == f"error: timed out waiting for the condition on {pods}"


def test_edit_by_yaml(kubectl: Kubectl, probe: Probe) -> None:
    """What `get -o yaml` prints is what `replace` takes."""
    thing = probe.create(a_map(probe, a="1"))

    printed = yaml.safe_load(kubectl("get", "configmap", name_of(thing), "-o", "yaml"))
    kubectl("replace", "-f-", given=changed(printed, {"data.b": "2"}))

    assert probe.get(thing)["data"] == {"a": "1", "b": "2"}


def test_stale_yaml_is_refused(kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(a_map(probe, a="1"))
    probe.api.patch(thing, {"data": {"a": "2"}}).expect(200)

    complaint = kubectl.fails("replace", "-f-", given=thing)

    assert complaint.startswith("Error from server (Conflict): ")
    assert "the object has been modified; please apply your changes" in complaint


def test_a_kind_that_nobody_serves_is_named(kubectl: Kubectl) -> None:
    thing = a_manifest("Unknown", "nobody.example.com/v1", metadata={"name": "x"})

    said = kubectl.fails("apply", "-f-", given=thing)

    assert 'no matches for kind "Unknown" in version "nobody.example.com/v1"' in said
    assert said.endswith("ensure CRDs are installed first")
