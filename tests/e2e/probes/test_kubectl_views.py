"""What kubectl shows of objects and of the cluster, and what it does to nodes."""

import json
import re
from collections.abc import Iterator

import pytest
import yaml

from tests.e2e.api import Api
from tests.e2e.probes.definitions import INTEGER, STRING, a_thing, an_object, defined
from tests.e2e.probes.jobs import a_job, end, pods_of, with_pods
from tests.e2e.probes.kubectl import Kubectl
from tests.e2e.probes.nodes import Pool, is_placed, name_of
from tests.e2e.probes.probe import Probe, is_true
from tests.queue.api.manifests import Manifest


@pytest.fixture
def pool(probe: Probe) -> Pool:
    return Pool(probe)


def a_pod(probe: Probe, changes: Manifest | None = None) -> Manifest:
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"}
    return probe.create(probe.a("Pod", "v1", changes, spec=spec))


def rows(table: str) -> list[list[str]]:
    """Return the words of each line; cells are two spaces apart at least."""
    return [re.split(" {2,}", line.strip()) for line in table.splitlines()]


def test_pods_have_columns(kubectl: Kubectl, probe: Probe) -> None:
    pod = a_pod(probe)

    heading, row = rows(kubectl("get", "pod", name_of(pod)))

    assert heading == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row[:4] == [name_of(pod), "0/1", "Pending", "0"]
    assert re.fullmatch(r"\d+s", row[4])


def test_pods_have_more_columns_if_wide(kubectl: Kubectl, probe: Probe) -> None:
    pod = a_pod(probe)
    probe.set_status(pod, phase="Running", podIP="10.0.0.1")

    heading, row = rows(kubectl("get", "pod", name_of(pod), "-o", "wide"))

    assert heading[5:] == ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert row[2] == "Running"
    assert row[5:] == ["10.0.0.1", "<none>", "<none>", "<none>"]


@pytest.mark.parametrize(
    "changes, status, shown",
    [
        ({}, {"phase": "Succeeded"}, "Completed"),
        ({}, {"phase": "Failed"}, "Error"),
        ({}, {"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"spec.schedulingGates": [{"name": "a"}]}, {}, "SchedulingGated"),
        ({"spec.nodeName": "nowhere"}, {}, "Pending"),
    ],
    ids=["succeeded", "failed", "evicted", "gated", "pending"],
)
def test_the_status_of_a_pod_is_one_word(
    changes: Manifest, status: Manifest, shown: str, kubectl: Kubectl, probe: Probe
) -> None:
    pod = a_pod(probe, changes)
    probe.set_status(pod, **status)
    if shown == "Completed":
        end(probe, pod)
    if shown == "Error":
        end(probe, pod, "Failed", 1)

    _, row = rows(kubectl("get", "pod", name_of(pod)))

    assert row[2] == shown


def test_a_pod_that_ends_is_shown_as_such(kubectl: Kubectl, probe: Probe) -> None:
    pod = a_pod(probe, {"spec.nodeName": "nowhere"})
    probe.delete(pod).expect(200)

    _, row = rows(kubectl("get", "pod", name_of(pod)))

    assert row[2] == "Terminating"


def test_jobs_have_columns(kubectl: Kubectl, probe: Probe) -> None:
    job = probe.create(a_job(probe, {"spec.suspend": True, "spec.completions": 3}))
    probe.until(job, is_true("Suspended"))

    heading, row = rows(kubectl("get", "job", name_of(job), "-o", "wide"))

    assert heading == [
        "NAME",
        "STATUS",
        "COMPLETIONS",
        "DURATION",
        "AGE",
        "CONTAINERS",
        "IMAGES",
        "SELECTOR",
    ]
    uid = job["metadata"]["uid"]
    # Two cells are empty: no duration before the start.
    assert row[:3] == [name_of(job), "Suspended", "0/3"]
    assert row[-3:] == ["c", "i", f"batch.kubernetes.io/controller-uid={uid}"]


def test_a_job_shows_how_far_it_is(kubectl: Kubectl, probe: Probe) -> None:
    job = with_pods(probe, 1)
    _, row = rows(kubectl("get", "job", name_of(job)))
    assert row[1:3] == ["Running", "0/1"]

    end(probe, pods_of(probe, job)[0])
    probe.until(job, is_true("Complete"))

    _, row = rows(kubectl("get", "job", name_of(job)))
    assert row[1:3] == ["Complete", "1/1"]


def test_nodes_have_columns(kubectl: Kubectl, pool: Pool) -> None:
    node = pool.node(unschedulable=True)

    heading, row = rows(kubectl("get", "node", name_of(node)))

    assert heading == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert row[:3] == [name_of(node), "Ready,SchedulingDisabled", "<none>"]


def test_namespaces_have_columns(kubectl: Kubectl) -> None:
    heading, row = rows(kubectl("get", "namespace", "default"))

    assert (heading, row[:2]) == (["NAME", "STATUS", "AGE"], ["default", "Active"])


def test_config_maps_have_columns(kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(probe.a("ConfigMap", "v1", data={"a": "", "b": ""}))

    heading, row = rows(kubectl("get", "configmap", name_of(thing)))

    assert (heading, row[:2]) == (["NAME", "DATA", "AGE"], [name_of(thing), "2"])


def test_a_watch_prints_changes(kubectl: Kubectl, probe: Probe) -> None:
    pod = a_pod(probe)
    # Of one object by its name, kubectl would miss what comes before its watch.
    chosen = f"--field-selector=metadata.name={name_of(pod)}"
    with kubectl.started("get", "pods", chosen, "-w", "--output-watch-events") as watch:
        assert watch.stdout
        lines = [watch.stdout.readline() for _ in range(2)]
        probe.set_status(pod, phase="Running")
        lines.append(watch.stdout.readline())
        probe.delete(pod).expect(200)
        lines.append(next(line for line in watch.stdout if line.startswith("DELETED")))

    assert rows("".join(lines))[0][:2] == ["EVENT", "NAME"]
    assert [(row[0], row[3]) for row in rows("".join(lines))[1:3]] == [
        ("ADDED", "Pending"),
        ("MODIFIED", "Running"),
    ]
    assert name_of(pod) in lines[-1]


def test_output_in_many_forms(kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(probe.a("ConfigMap", "v1", data={"a": "1", "b": "2"}))
    name = name_of(thing)

    def get(form: str) -> str:
        return kubectl("get", "configmap", name, "-o", form)

    assert get("name") == f"configmap/{name}\n"
    assert get("jsonpath={.data.a}{'-'}{.data['b']}") == "1-2"
    columns = "custom-columns=N:.metadata.name,A:.data.a,C:.data.c"
    assert rows(get(columns)) == [["N", "A", "C"], [name, "1", "<none>"]]
    assert get("go-template={{range $k, $v := .data}}{{$k}}{{end}}") == "ab"
    shown = {**thing, "metadata": {**thing["metadata"]}}
    del shown["metadata"]["managedFields"]
    assert json.loads(get("json")) == shown
    assert yaml.safe_load(get("yaml")) == shown


def test_lists_are_chosen_and_sorted(kubectl: Kubectl, probe: Probe) -> None:
    label = probe.a_name("l")
    for size in ("2", "1"):
        thing = probe.a("ConfigMap", "v1", data={"size": size})
        thing["metadata"]["labels"] = {"probe": label, "size": size}
        probe.create(thing)

    def sizes(*arguments: str) -> str:
        form = "jsonpath={range .items[*]}{.data.size}{end}"
        return kubectl("get", "configmaps", f"-lprobe={label}", "-o", form, *arguments)

    assert sizes("--sort-by={.data.size}") == "12"
    assert sizes("--all-namespaces", "--sort-by={.data.size}") == "12"
    by_size = f"-lprobe={label},size in (2,3)"
    assert kubectl("get", "cm", by_size, "-o", "jsonpath={.items[*].data.size}") == "2"
    assert "size=1" in kubectl("get", "cm", f"-lprobe={label}", "--show-labels")
    heading, *_ = rows(kubectl("get", "cm", f"-lprobe={label}", "-L", "size"))
    assert heading[-1] == "SIZE"


def test_what_is_not_there_is_told(kubectl: Kubectl, probe: Probe) -> None:
    name = probe.a_name()

    assert kubectl.fails("get", "pod", name) == (
        f'Error from server (NotFound): pods "{name}" not found'
    )
    assert kubectl.fails("get", "thingies") == (
        'error: the server doesn\'t have a resource type "thingies"'
    )
    told = kubectl.tells("get", "pods", "-l", f"probe={name}")
    assert told == f"No resources found in {probe.namespace} namespace.\n"


def fields(description: str) -> dict[str, str]:
    """Return the first lines of a description by their headings."""
    found = (line.partition(":") for line in description.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in reversed([*found])}


def test_describe_a_pod(kubectl: Kubectl, pool: Pool) -> None:
    node = pool.node()
    pod = pool.placed({"cpu": "1"})
    pool.probe.until_event(pod, "Scheduled")

    printed = kubectl("describe", "pod", name_of(pod))

    told = fields(printed)
    assert told["Name"] == name_of(pod)
    assert told["Node"].startswith(name_of(node))
    assert told["Status"] == "Pending"
    assert told["QoS Class"] == "Burstable"
    assert "Successfully assigned" in printed.partition("Events:")[2]


def test_describe_a_node(kubectl: Kubectl, pool: Pool) -> None:
    node = pool.node()
    pod = pool.placed({"cpu": "1", "nvidia.com/gpu": "2"})

    printed = kubectl("describe", "node", name_of(node))

    assert fields(printed)["Unschedulable"] == "false"
    assert name_of(pod) in printed.partition("Non-terminated Pods:")[2]
    allocated = printed.partition("Allocated resources:")[2]
    assert re.search(r"cpu +1 \(25%\)", allocated)
    assert re.search(r"nvidia.com/gpu +2 +2", allocated)


def test_describe_a_job(kubectl: Kubectl, probe: Probe) -> None:
    job = with_pods(probe, 1)
    probe.until_event(job, "SuccessfulCreate")

    printed = kubectl("describe", "job", name_of(job))

    told = fields(printed)
    assert (told["Parallelism"], told["Completions"], told["Completion Mode"]) == (
        "1",
        "1",
        "NonIndexed",
    )
    assert told["Pods Statuses"] == "1 Active (0 Ready) / 0 Succeeded / 0 Failed"
    assert "Created pod: " in printed.partition("Events:")[2]


def test_describe_a_namespace(kubectl: Kubectl, probe: Probe) -> None:
    told = fields(kubectl("describe", "namespace", probe.namespace))

    assert (told["Name"], told["Status"]) == (probe.namespace, "Active")


@pytest.fixture(scope="module")
def things(api: Api, namespace: str) -> Iterator[Manifest]:
    """A kind with all that kubectl may use: short names, categories, columns, a scale."""
    names = {"spec.names.shortNames": ["kth"], "spec.names.categories": ["probing"]}
    properties = {
        "spec": an_object(replicas={**INTEGER, "description": "How many there are."}, word=STRING),
        "status": an_object(replicas=INTEGER),
    }
    changes = {
        **names,
        "spec.versions[0].schema.openAPIV3Schema": {
            **an_object(**properties),
            "description": "A thing to look at.",
        },
    }
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    columns = [
        {"name": "Word", "type": "string", "jsonPath": ".spec.word"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
    ]
    with defined(
        api,
        namespace,
        an_object(),
        changes,
        subresources={"status": {}, "scale": scale},
        additionalPrinterColumns=columns,
    ) as definition:
        yield definition


def test_a_custom_resource_is_shown(things: Manifest, kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(a_thing(probe, things, spec={"word": "a", "replicas": 2}))
    names = things["spec"]["names"]

    for kind in ("kth", "probing", names["singular"], names["plural"], names["kind"]):
        heading, row = rows(
            kubectl("get", kind, "--field-selector", f"metadata.name={name_of(thing)}")
        )
        assert (heading, row) == (["NAME", "WORD"], [name_of(thing), "a"])
    wide = kubectl("get", "kth", name_of(thing), "-o", "wide")
    assert rows(wide)[1] == [name_of(thing), "a", "2"]


def test_a_custom_resource_is_described(things: Manifest, kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(a_thing(probe, things, spec={"word": "a"}))

    told = fields(kubectl("describe", "kth", name_of(thing)))

    assert (told["Name"], told["Word"], told["Events"]) == (name_of(thing), "a", "<none>")


def test_a_custom_resource_is_explained(things: Manifest, kubectl: Kubectl) -> None:
    plural = things["spec"]["names"]["plural"]

    assert "A thing to look at." in kubectl("explain", plural)
    printed = kubectl("explain", f"{plural}.spec.replicas")

    assert "FIELD: replicas <integer>" in printed
    assert "How many there are." in printed


def test_a_custom_resource_is_scaled(things: Manifest, kubectl: Kubectl, probe: Probe) -> None:
    thing = probe.create(a_thing(probe, things, spec={"replicas": 1}))

    printed = kubectl(
        "scale", f"{things['spec']['names']['singular']}/{name_of(thing)}", "--replicas=3"
    )

    assert printed.strip().endswith(f"/{name_of(thing)} scaled")
    assert probe.get(thing)["spec"]["replicas"] == 3


def test_a_custom_resource_is_applied(things: Manifest, kubectl: Kubectl, probe: Probe) -> None:
    thing = a_thing(probe, things, spec={"word": "a", "replicas": 1})

    kubectl("apply", "-f-", given=thing)
    kubectl("apply", "-f-", given={**thing, "spec": {"word": "b"}})

    assert probe.get(thing)["spec"] == {"word": "b"}
    patch = '{"spec": {"word": "c"}}'
    complaint = kubectl.fails("patch", "kth", name_of(thing), "--type=strategic", f"-p={patch}")
    assert "application/strategic-merge-patch+json is not supported" in complaint


@pytest.mark.parametrize(
    "path, words",
    [
        ("pod.spec.containers.resources", "FIELD: resources <ResourceRequirements>"),
        ("job.spec.completionMode", "FIELD: completionMode <string>"),
        ("node.spec.taints", "FIELD: taints <[]Taint>"),
        ("namespace.status.phase", "FIELD: phase <string>"),
        ("event.reason", "FIELD: reason <string>"),
    ],
)
def test_explain(path: str, words: str, kubectl: Kubectl) -> None:
    printed = kubectl("explain", path)

    assert words in printed
    assert "DESCRIPTION:" in printed


def test_explain_all(kubectl: Kubectl) -> None:
    printed = kubectl("explain", "job.spec", "--recursive")

    assert re.search(r"^  podFailurePolicy\t<PodFailurePolicy>$", printed, re.MULTILINE)
    assert re.search(r"^    rules\t<\[\]PodFailurePolicyRule> -required-$", printed, re.MULTILINE)


def test_explain_what_is_not_there(kubectl: Kubectl) -> None:
    assert kubectl.fails("explain", "pod.spec.colour") == 'error: field "colour" does not exist'


@pytest.mark.parametrize(
    "row",
    [
        ["pods", "po", "v1", "true", "Pod"],
        ["nodes", "no", "v1", "false", "Node"],
        ["namespaces", "ns", "v1", "false", "Namespace"],
        ["configmaps", "cm", "v1", "true", "ConfigMap"],
        ["secrets", "v1", "true", "Secret"],
        ["jobs", "batch/v1", "true", "Job"],
        ["leases", "coordination.k8s.io/v1", "true", "Lease"],
        ["priorityclasses", "pc", "scheduling.k8s.io/v1", "false", "PriorityClass"],
        ["poddisruptionbudgets", "pdb", "policy/v1", "true", "PodDisruptionBudget"],
        [
            "customresourcedefinitions",
            "crd,crds",
            "apiextensions.k8s.io/v1",
            "false",
            "CustomResourceDefinition",
        ],
    ],
    ids=lambda row: row[0],
)
def test_a_kind_is_listed(row: list[str], kubectl: Kubectl) -> None:
    assert row in rows(kubectl("api-resources", "--no-headers"))


@pytest.mark.parametrize(
    "version", ["v1", "batch/v1", "apiextensions.k8s.io/v1", "events.k8s.io/v1"]
)
def test_a_version_is_listed(version: str, kubectl: Kubectl) -> None:
    assert version in kubectl("api-versions").splitlines()


def test_who_am_i_and_what_may_i(kubectl: Kubectl) -> None:
    assert ["Username", "admin"] in rows(kubectl("auth", "whoami"))
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "yes" in kubectl("auth", "can-i", "*", "*", "--all-namespaces")


def test_events_of_an_object(kubectl: Kubectl, probe: Probe) -> None:
    job = with_pods(probe, 1)
    probe.until_event(job, "SuccessfulCreate")

    printed = kubectl("events", "--for", f"job/{name_of(job)}")

    heading, *events = rows(printed)
    assert heading == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert ["Normal", "SuccessfulCreate", f"Job/{name_of(job)}"] in [row[1:4] for row in events]


def test_usage_is_not_known(kubectl: Kubectl) -> None:
    assert kubectl.fails("top", "nodes") == "error: Metrics API not available"


def test_cordon_and_uncordon(kubectl: Kubectl, pool: Pool) -> None:
    node = pool.node()

    assert kubectl("cordon", name_of(node)) == f"node/{name_of(node)} cordoned\n"
    assert pool.probe.get(node)["spec"]["unschedulable"] is True
    assert kubectl("cordon", name_of(node)) == f"node/{name_of(node)} already cordoned\n"
    assert kubectl("uncordon", name_of(node)) == f"node/{name_of(node)} uncordoned\n"
    assert "unschedulable" not in pool.probe.get(node)["spec"]


def test_drain(kubectl: Kubectl, pool: Pool) -> None:
    node = pool.node()
    pod = pool.placed()

    told = kubectl.tells("drain", name_of(node), "--force")

    assert f"evicting pod {pool.probe.namespace}/{name_of(pod)}" in told
    assert f"node/{name_of(node)} drained" in told.splitlines()
    assert pool.probe.get(node)["spec"]["unschedulable"] is True
    pool.probe.until_gone(pod)


def test_drain_asks_before_it_ends_what_nobody_replaces(kubectl: Kubectl, pool: Pool) -> None:
    node = pool.node()
    pod = pool.placed()

    complaint = kubectl.fails("drain", name_of(node))

    assert "cannot delete Pods that declare no controller (use --force to override)" in complaint
    assert is_placed(pool.probe.get(pod))


def test_taint_and_untaint(kubectl: Kubectl, pool: Pool) -> None:
    node = pool.node()

    kubectl("taint", "nodes", name_of(node), "a=b:NoSchedule")
    assert {"key": "a", "value": "b", "effect": "NoSchedule"} in (
        pool.probe.get(node)["spec"]["taints"]
    )
    printed = kubectl("taint", "nodes", name_of(node), "a-")

    assert printed == f"node/{name_of(node)} untainted\n"
    assert "taints" not in pool.probe.get(node)["spec"]
