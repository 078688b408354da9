"""The CRDs are what the models say, and what an API server accepts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.queue.api import crds
from muster.queue.api.registry import KINDS
from tests.queue.api.form_rules import ENUMS, LIMITS, Enum, Limit
from tests.queue.api.full_manifests import FULL
from tests.queue.api.manifests import MINIMAL, Manifest, a_group, changed
from tests.queue.api.structural import Schema, refusals, schemas, violations

DIRECTORY = Path(__file__).parents[3] / "crds"
DEFINITIONS = {manifest["spec"]["names"]["kind"]: manifest for _, manifest in crds.definitions()}


def version(kind: str) -> Manifest:
    (only,) = DEFINITIONS[kind]["spec"]["versions"]
    return dict(only)


def schema_of(kind: str) -> Schema:
    return dict(version(kind)["schema"]["openAPIV3Schema"])


def part_of(kind: str, path: str) -> Schema:
    (found,) = [part for here, part in schemas(schema_of(kind)) if here == path]
    return found


def test_the_files_are_up_to_date() -> None:
    """If not: make crds."""
    written = {path.name: path.read_text(encoding="utf-8") for path in DIRECTORY.glob("*.yaml")}

    assert written == {name: crds.render(manifest) for name, manifest in crds.definitions()}


def test_writing_is_repeatable(tmp_path: Path) -> None:
    assert crds.main([str(tmp_path / "new")]) == 0

    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == sorted(path.name for path in DIRECTORY.glob("*.yaml"))


def test_the_directory_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert crds.main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_every_kind_of_ours_has_a_definition() -> None:
    ours = sorted(kind for api_version, kind in KINDS if api_version.startswith("kueue"))

    assert sorted(DEFINITIONS) == ours == sorted(FULL)


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_a_schema_is_structural(kind: str) -> None:
    assert list(violations(schema_of(kind))) == []


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_every_field_is_described(kind: str) -> None:
    silent = [
        path
        for path, part in schemas(schema_of(kind))
        if path.partition(".")[0] in {"spec", "status", "value", "description"}
        and not path.endswith("[]")
        and "description" not in part
    ]

    assert silent == []


@pytest.mark.parametrize("manifest", [*FULL.values()], ids=lambda manifest: manifest["kind"])
def test_a_schema_takes_what_its_model_takes(manifest: Manifest) -> None:
    kind = manifest["kind"]

    assert list(refusals(schema_of(kind), {**manifest, "metadata": {}})) == []
    assert list(refusals(schema_of(kind), {**MINIMAL[kind], "metadata": {}})) == []


@pytest.mark.parametrize("quota, is_taken", [("1Ki", True), (4, True), ("1K", False), ("", False)])
def test_a_schema_knows_quantities(quota: object, is_taken: bool) -> None:
    manifest = changed(
        "ClusterQueue", {"metadata": {}, "spec.resourceGroups": [a_group("f", nominalQuota=quota)]}
    )

    assert (list(refusals(schema_of("ClusterQueue"), manifest)) == []) is is_taken


@pytest.mark.parametrize("rule", ENUMS, ids=lambda rule: f"{rule.kind} {rule.path}")
def test_enums_are_in_the_schema(rule: Enum) -> None:
    for value in rule.values:
        manifest = changed(rule.kind, {**rule.given, rule.path: value, "metadata": {}})
        assert list(refusals(schema_of(rule.kind), manifest)) == []

    manifest = changed(rule.kind, {**rule.given, rule.path: "Other", "metadata": {}})
    (refusal,) = refusals(schema_of(rule.kind), manifest)
    assert refusal.startswith(f"{rule.path}: not one of")


@pytest.mark.parametrize("rule", LIMITS, ids=lambda rule: f"{rule.kind} {rule.path}")
def test_bounds_are_in_the_schema(rule: Limit) -> None:
    allowed = changed(rule.kind, {**rule.given, rule.path: rule.allowed, "metadata": {}})
    refused = changed(rule.kind, {**rule.given, rule.path: rule.refused, "metadata": {}})

    assert list(refusals(schema_of(rule.kind), allowed)) == []
    assert list(refusals(schema_of(rule.kind), refused)) != []


DEFAULTS = {
    "ClusterQueue": {
        "spec.fairSharing.weight": "1",
        "spec.flavorFungibility": {},
        "spec.flavorFungibility.whenCanBorrow": "MayStopSearch",
        "spec.flavorFungibility.whenCanPreempt": "TryNextFlavor",
        "spec.preemption": {},
        "spec.preemption.borrowWithinCohort": {},
        "spec.preemption.borrowWithinCohort.policy": "Never",
        "spec.preemption.reclaimWithinCohort": "Never",
        "spec.preemption.withinClusterQueue": "Never",
        "spec.queueingStrategy": "BestEffortFIFO",
        "spec.stopPolicy": "None",
    },
    "Cohort": {"spec.fairSharing.weight": "1"},
    "LocalQueue": {"spec.fairSharing.weight": "1", "spec.stopPolicy": "None"},
    "Workload": {
        "spec.active": True,
        "spec.podSets[].count": 1,
        "spec.podSets[].name": "main",
        "status.admission.podSetAssignments[].name": "main",
    },
}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_the_server_fills_in_these_defaults_and_no_others(kind: str) -> None:
    """One more would be written into people's objects and show up as drift."""
    found = {path: part["default"] for path, part in schemas(schema_of(kind)) if "default" in part}

    assert found == DEFAULTS.get(kind, {})


LIST_KEYS = {
    ("ClusterQueue", "spec.resourceGroups[].flavors"): ["name"],
    ("ClusterQueue", "spec.resourceGroups[].flavors[].resources"): ["name"],
    ("ClusterQueue", "spec.admissionChecksStrategy.admissionChecks"): ["name"],
    ("ClusterQueue", "status.conditions"): ["type"],
    ("ClusterQueue", "status.flavorsUsage"): ["name"],
    ("Workload", "spec.podSets"): ["name"],
    ("Workload", "spec.podSets[].template.spec.containers"): ["name"],
    ("Workload", "spec.preemptionGates"): ["name"],
    ("Workload", "status.conditions"): ["type"],
    ("Workload", "status.admission.podSetAssignments"): ["name"],
    ("Workload", "status.admissionChecks"): ["name"],
    ("Workload", "status.reclaimablePods"): ["name"],
    ("Workload", "status.resourceRequests"): ["name"],
    ("Workload", "status.schedulingStats.evictions"): ["reason", "underlyingCause"],
    ("Workload", "status.unhealthyNodes"): ["name"],
}


@pytest.mark.parametrize("kind, path", LIST_KEYS)
def test_server_side_apply_tells_entries_apart(kind: str, path: str) -> None:
    assert part_of(kind, path)["x-kubernetes-list-map-keys"] == LIST_KEYS[kind, path]


@pytest.mark.parametrize(
    "kind, path, keyword",
    [
        ("ClusterQueue", "spec.resourceGroups", "x-kubernetes-list-type"),
        ("ClusterQueue", "spec.resourceGroups[].coveredResources", "x-kubernetes-list-type"),
        ("ResourceFlavor", "spec.nodeLabels", "x-kubernetes-map-type"),
        ("Topology", "spec.levels", "x-kubernetes-list-type"),
        ("Workload", "status.nominatedClusterNames", "x-kubernetes-list-type"),
        ("Workload", "status.admissionChecks[].podSetUpdates", "x-kubernetes-list-type"),
    ],
)
def test_what_belongs_together_is_replaced_together(kind: str, path: str, keyword: str) -> None:
    assert part_of(kind, path)[keyword] == "atomic"


def rules(kind: str) -> Iterator[tuple[str, str]]:
    for path, part in schemas(schema_of(kind)):
        for rule in part.get("x-kubernetes-validations", ()):
            yield path, rule["rule"]


@pytest.mark.parametrize(
    "kind, path, words",
    [
        ("ClusterQueue", "spec", "borrowingLimit"),
        ("ClusterQueue", "spec.resourceGroups[]", "coveredResources"),
        ("ClusterQueue", "spec.flavorFungibility", "preference"),
        ("ClusterQueue", "spec.preemption", "borrowWithinCohort"),
        ("LocalQueue", "spec.clusterQueue", "self == oldSelf"),
        ("AdmissionCheck", "spec.controllerName", "self == oldSelf"),
        ("ResourceFlavor", "spec", "oldSelf.topologyName"),
        ("ResourceFlavor", "spec", "nodeLabels"),
        ("ResourceFlavor", "spec.tolerations", "tolerationSeconds"),
        ("Topology", "spec.levels", "oldSelf"),
        ("Topology", "spec.levels", "exists_one"),
        ("Workload", "", "podSetAssignments"),
        ("Workload", "", "oldSelf.spec.queueName == self.spec.queueName"),
        ("Workload", "", "oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name"),
        ("Workload", "", "oldSelf.spec.maximumExecutionTimeSeconds"),
        ("Workload", "spec", "priorityClassRef"),
        ("Workload", "spec.podSets[]", "minCount"),
        ("Workload", "spec.priorityClassRef", "scheduling.k8s.io"),
        ("Workload", "status", "oldSelf.clusterName == self.clusterName"),
        ("Workload", "status", "nominatedClusterNames"),
    ],
)
def test_the_server_enforces(kind: str, path: str, words: str) -> None:
    assert any(here == path and words in rule for here, rule in rules(kind))


ITERATION = re.compile(r"([\w.]+)\.(?:all|exists|exists_one|filter|map)\(")


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_rules_iterate_over_bounded_lists_only(kind: str) -> None:
    """The API server refuses a rule whose cost it cannot bound."""
    bounded = {
        path.rpartition(".")[2]
        for path, part in schemas(schema_of(kind))
        if "maxItems" in part or "maxProperties" in part
    }
    for path, rule in rules(kind):
        for match in ITERATION.finditer(rule):
            name = match[1].rpartition(".")[2]
            name = path.rpartition(".")[2] if name == "self" else name
            assert name in bounded, f"{path}: {rule}"


NAMES: list[tuple[str, str, str, list[str]]] = [
    ("AdmissionCheck", "admissionchecks", "Cluster", ["ac"]),
    ("ClusterQueue", "clusterqueues", "Cluster", ["cq"]),
    ("Cohort", "cohorts", "Cluster", ["co"]),
    ("LocalQueue", "localqueues", "Namespaced", ["queue", "queues", "lq"]),
    ("ResourceFlavor", "resourceflavors", "Cluster", ["flavor", "flavors", "rf"]),
    ("Topology", "topologies", "Cluster", ["topo"]),
    ("Workload", "workloads", "Namespaced", ["kwl", "kueueworkload", "kueueworkloads"]),
    ("WorkloadPriorityClass", "workloadpriorityclasses", "Cluster", ["wpc"]),
]


@pytest.mark.parametrize("kind, plural, scope, short_names", NAMES)
def test_kubectl_knows_the_kind_by_these_names(
    kind: str, plural: str, scope: str, short_names: list[str]
) -> None:
    definition = DEFINITIONS[kind]

    assert definition["metadata"]["name"] == f"{plural}.kueue.x-k8s.io"
    assert definition["spec"]["scope"] == scope
    assert definition["spec"]["names"] == {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "shortNames": short_names,
        "singular": kind.lower(),
    }


@pytest.mark.parametrize(
    "kind, columns",
    [
        ("ClusterQueue", ["Cohort", "Strategy*", "Pending Workloads", "Admitted Workloads*"]),
        ("LocalQueue", ["ClusterQueue", "Pending Workloads", "Admitted Workloads"]),
        ("Workload", ["Queue", "Reserved in", "Admitted", "Finished", "Age"]),
        ("WorkloadPriorityClass", ["Value"]),
        ("Cohort", []),
        ("ResourceFlavor", []),
        ("Topology", []),
        ("AdmissionCheck", []),
    ],
)
def test_kubectl_prints_these_columns(kind: str, columns: list[str]) -> None:
    """A column with a star is printed with `-o wide` only."""
    printed = [
        column["name"] + ("*" if column.get("priority") else "")
        for column in version(kind).get("additionalPrinterColumns", ())
    ]

    assert printed == columns


COLUMN_PATHS = [
    (kind, column.json_path)
    for kind, columns in crds.COLUMNS.items()
    for column in columns
    if not column.json_path.startswith(".metadata")
]


@pytest.mark.parametrize("kind, json_path", COLUMN_PATHS)
def test_columns_show_fields_that_exist(kind: str, json_path: str) -> None:
    path = re.sub(r"\[\?.*?\]", "[]", json_path).lstrip(".")

    assert part_of(kind, path)["type"] in {"string", "integer"}


def test_status_is_written_by_itself() -> None:
    with_status = sorted(kind for kind in DEFINITIONS if "subresources" in version(kind))

    assert with_status == ["AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "Workload"]


def test_workloads_can_be_selected_by_their_queue() -> None:
    assert version("Workload")["selectableFields"] == [
        {"jsonPath": ".status.admission.clusterQueue"}
    ]


def test_only_pods_keep_fields_that_nobody_here_knows() -> None:
    open_ended = {
        (kind, path)
        for kind in DEFINITIONS
        for path, part in schemas(schema_of(kind))
        if part.get("x-kubernetes-preserve-unknown-fields")
    }
    pod = "spec.podSets[].template.spec"

    assert open_ended == {
        ("Workload", pod),
        ("Workload", f"{pod}.affinity.podAffinity"),
        ("Workload", f"{pod}.affinity.podAntiAffinity"),
        ("Workload", f"{pod}.containers[]"),
        ("Workload", f"{pod}.initContainers[]"),
    }


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_one_version_is_served_and_stored(kind: str) -> None:
    assert (version(kind)["name"], version(kind)["served"], version(kind)["storage"]) == (
        "v1beta2",
        True,
        True,
    )


@pytest.mark.parametrize("path", sorted(DIRECTORY.glob("*.yaml")), ids=lambda path: path.name)
def test_a_file_is_plain_yaml(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    manifest: Any = yaml.safe_load(text)

    assert text.startswith("# Generated")
    assert manifest == DEFINITIONS[manifest["spec"]["names"]["kind"]]
    assert not re.search(r"(?m)^\s*[\w-]+: [&*]id", text), "an anchor"
