"""What is accepted but not supported yet is said once, by whatever reads it, and fails nothing."""

import json
from pathlib import Path

import pytest

from muster.queue import unsupported
from muster.queue.api.feature_gates import FEATURE_GATES
from muster.queue.translate.policy import GATE_FIELDS
from tests.queue.cli.running import run
from tests.queue.texts import (
    KUEUE,
    a_flavor,
    a_job,
    a_local_queue,
    a_queue,
    a_running_workload,
    joined,
)

QUEUES = (a_flavor("a100"), a_queue("q", {"a100": 8}), a_local_queue("q", "q"))
DOCUMENT = Path(__file__).parents[2] / "docs" / "differences.md"
CLAIMS = "restartPolicy: Never\n      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]"
POD = (
    "apiVersion: v1\nkind: Pod\n"
    "metadata: {name: x, namespace: team, labels: {kueue.x-k8s.io/queue-name: q}}\n"
    "spec: {resourceClaims: [{name: gpu, resourceClaimName: mine}], containers: [{name: c}]}"
)


def an_annotated_job(name: str, annotation: str) -> str:
    """Return a Job with an annotation on itself."""
    return a_job(name, "q").replace(
        "namespace: team,", f"namespace: team, annotations: {{{annotation}}},"
    )


def a_job_in_a_rack(name: str) -> str:
    metadata = "metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}"
    return a_job(name, "q").replace("  template:\n", f"  template:\n    {metadata}\n")


def a_workload(name: str, spec: str = "", pod_set: str = "", pod: str = "") -> str:
    """Return a Workload that waits; the texts go into its mappings."""
    return (
        f"{KUEUE}\nkind: Workload\nmetadata: {{name: {name}, namespace: team}}\n"
        f"spec: {{queueName: q, {spec} podSets: [{{{pod_set} count: 1, template: "
        f"{{spec: {{{pod} containers: [{{name: c}}]}}}}}}]}}"
    )


def notes(*documents: str) -> list[str]:
    ended = run("plan", "-", "-o", "json", stdin=joined(*documents))
    assert (ended.code, ended.err) == (0, "")
    found: list[str] = json.loads(ended.out)["notes"]
    return found


def configured(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    path.write_text(head + text, encoding="utf-8")
    return path


def test_nothing_is_said_of_what_is_supported() -> None:
    assert notes(*QUEUES, a_job("x", "q")) == []


MANIFESTS = {
    "scope": (
        a_queue(
            "other",
            {"a100": 1},
            "admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}",
        ),
        "ClusterQueue other",
        "spec.admissionScope",
        "has no effect yet: past use does not decide who is first",
    ),
    "weight of a LocalQueue": (
        a_local_queue("other", "q", spec="fairSharing: {weight: 2}"),
        "LocalQueue team/other",
        "spec.fairSharing",
        "has no effect yet: past use does not decide who is first",
    ),
    "concurrent admission": (
        a_queue(
            "other",
            {"a100": 1},
            "concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}",
        ),
        "ClusterQueue other",
        "spec.concurrentAdmissionPolicy",
        "has no effect yet: a workload does not wait for several flavors at once",
    ),
    "flavor with a topology": (
        joined(
            a_flavor("racks", "nodeLabels: {a: b}, topologyName: t").strip(),
            f"{KUEUE}\nkind: Topology\nmetadata: {{name: t}}\nspec: {{levels: [{{nodeLabel: r}}]}}",
        ),
        "ResourceFlavor racks",
        "spec.topologyName",
        "has no effect yet: nobody is assigned to nodes or topology domains",
    ),
    "elastic job": (
        an_annotated_job("x", "kueue.x-k8s.io/elastic-job: 'true'"),
        "Job team/x",
        "metadata.annotations[kueue.x-k8s.io/elastic-job]",
        "has no effect yet: the size stays what it is at admission",
    ),
    "preemption gates": (
        a_workload("x", spec="preemptionGates: [{name: example.com/later}],"),
        "Workload team/x",
        "spec.preemptionGates",
        "has no effect yet: they stop no preemption",
    ),
}


@pytest.mark.parametrize("manifest, subject, path, message", MANIFESTS.values(), ids=MANIFESTS)
def test_a_setting_without_effect(manifest: str, subject: str, path: str, message: str) -> None:
    text = joined(*QUEUES, manifest)

    linted = run("lint", "-", stdin=text)
    simulated = run("simulate", "-", "--runs-for", "1h", "-o", "json", stdin=text)

    note = f"{path} {message} ({subject})"
    assert notes(*QUEUES, manifest) == [note]
    assert json.loads(simulated.out)["notes"] == [note]
    assert linted.code == 0
    assert linted.out.count(f"{subject}\n  {path}\n    {message}\n") == 1


WAITING = {
    "resource claims of a Job": (a_job("x", "q", pod=CLAIMS), "Job team/x", "resource claims"),
    "resource claims of a Pod": (POD, "Pod team/x", "resource claims"),
    "resource claims of a Workload": (
        a_workload("x", pod="resourceClaims: [{name: gpu, resourceClaimName: mine}],"),
        "Workload team/x",
        "resource claims",
    ),
    "topology of a Job": (a_job_in_a_rack("x"), "Job team/x", "topology requests"),
    "topology of a Workload": (
        a_workload("x", pod_set="topologyRequest: {required: rack},"),
        "Workload team/x",
        "topology requests",
    ),
}


@pytest.mark.parametrize("manifest, subject, what", WAITING.values(), ids=WAITING)
def test_pods_that_ask_for_more_than_there_is_wait(manifest: str, subject: str, what: str) -> None:
    text = joined(*QUEUES, manifest)

    planned = json.loads(run("plan", "-", "-o", "json", stdin=text).out)
    simulated = json.loads(run("simulate", "-", "--runs-for", "1h", "-o", "json", stdin=text).out)
    linted = run("lint", "-", stdin=text)

    reason = "Misconfigured" if what == "resource claims" else "TopologyPlacementFailed"
    note = f"{what} are not supported yet: it waits ({subject})"
    assert [each["reason"] for each in planned["waiting"]] == [reason]
    assert f"{what} are not supported yet" in planned["waiting"][0]["explanation"]
    assert planned["notes"] == simulated["notes"] == [note]
    assert linted.out.count(f"{subject}\n  will never start: ") == 1
    assert f"{what} are not supported yet" in linted.out


def test_what_runs_already_is_passed_over() -> None:
    running = a_running_workload("x", "q", pods=1, gpus=1, flavor="a100").replace(
        "  - count: 1", "  - topologyRequest: {required: rack}\n    count: 1"
    )

    assert notes(*QUEUES, running) == []


def test_what_many_say_is_told_once() -> None:
    jobs = [an_annotated_job(f"x{n}", "kueue.x-k8s.io/elastic-job: 'true'") for n in range(3)]

    [note] = notes(*QUEUES, *jobs)

    assert note.endswith("(Job team/x0 and 2 more)")


SETTINGS = {
    "admissionFairSharing": "admissionFairSharing: {usageHalfLifeTime: 1h}",
    "waitForPodsReady.blockAdmission": "waitForPodsReady: {blockAdmission: true}",
    "resources.deviceClassMappings": (
        "resources: {deviceClassMappings: [{name: example.com/gpu, deviceClassNames: [gpu]}]}"
    ),
    "featureGates.ConcurrentAdmission": "featureGates: {ConcurrentAdmission: true}",
    "featureGates.TopologyAwareScheduling": "featureGates: {TopologyAwareScheduling: false}",
}


@pytest.mark.parametrize("path, text", SETTINGS.items(), ids=SETTINGS)
def test_a_configuration_without_effect(path: str, text: str, tmp_path: Path) -> None:
    config = configured(tmp_path, text)
    manifests = joined(*QUEUES)

    planned = run("plan", "-", "--config", config, stdin=manifests)
    linted = run("lint", "-", "--config", config, stdin=manifests)
    simulated = run("simulate", "-", "--config", config, "-o", "json", stdin=manifests)

    assert planned.code == linted.code == 0
    assert planned.out.count(f"Note: {path} has no effect yet: ") == 1
    assert linted.out.count(f"{config}: Configuration\n  {path}\n    has no effect yet: ") == 1
    [note] = json.loads(simulated.out)["notes"]
    assert note.startswith(f"{path} has no effect yet: ")


def test_a_trace_is_played_with_the_same_notes(tmp_path: Path) -> None:
    config = configured(tmp_path, SETTINGS["waitForPodsReady.blockAdmission"])
    trace = tmp_path / "jobs.csv"
    trace.write_text("arrival,runtime,requests,queue\n0,60,nvidia.com/gpu=1,q\n", encoding="utf-8")
    quotas = tmp_path / "queues.yaml"
    quotas.write_text(joined(*QUEUES, MANIFESTS["scope"][0]), encoding="utf-8")

    ended = run("simulate", quotas, "--trace", trace, "--config", config, "-o", "json")

    assert ended.err == ""
    said = [note.partition(" ")[0] for note in json.loads(ended.out)["notes"]]
    assert said[-2:] == ["waitForPodsReady.blockAdmission", "spec.admissionScope"]


SILENT = {
    "blockAdmission that is switched off anyway": (
        "waitForPodsReady: {blockAdmission: true}\nfeatureGates: {DisableWaitForPodsReady: true}"
    ),
    "a gate set to what is decided anyway": "featureGates: {ConcurrentAdmission: false}",
    "a gate that is heeded": "featureGates: {PriorityBoost: true}",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_a_configuration_that_is_heeded(text: str, tmp_path: Path) -> None:
    ended = run("plan", "-", "--config", configured(tmp_path, text), stdin=joined(*QUEUES))

    assert ended.code == 0
    assert "Note:" not in ended.out


def test_the_gates_exist_and_are_not_heeded() -> None:
    unheeded = unsupported.UNHEEDED_GATES

    assert unheeded.keys() <= FEATURE_GATES.keys() - GATE_FIELDS.keys()
    assert all(on is not FEATURE_GATES[name].default for name, (on, _) in unheeded.items())


def test_the_document_has_every_setting() -> None:
    _, _, section = DOCUMENT.read_text(encoding="utf-8").partition("## Not there yet")
    names = [*unsupported.UNHEEDED_GATES, *(path for path in SETTINGS if "Gates" not in path)]
    names += ["admissionScope", "concurrentAdmissionPolicy", "preemptionGates", "elastic-job"]
    names += ["resourceClaims", "topologyName", "fairSharing"]

    assert [name for name in names if name not in section] == []
