"""What people see of our kinds with kubectl."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from muster.queue.api.crds import COLUMNS, SHORT_NAMES, Column
from tests.e2e.conftest import REPOSITORY
from tests.e2e.stored import Objects
from tests.queue.api.full_manifests import FULL
from tests.queue.api.manifests import MINIMAL

Kubectl = Callable[..., str]

# What only our commands read.
NO_OBJECTS = re.compile(r"apiVersion: (config[.]kueue|sim[.]muster)")
EXAMPLES = sorted(
    path
    for path in (REPOSITORY / "examples").glob("*/*.yaml")
    if not NO_OBJECTS.search(path.read_text(encoding="utf-8"))
)


@pytest.fixture
def kubectl(cluster: Path, programs: Path, installed: tuple[str, ...]) -> Kubectl:
    """Run kubectl and return what it prints; it must succeed and warn of nothing."""
    assert installed == ()

    def run(*arguments: str, document: str = "") -> str:
        command = (str(programs / "kubectl"), f"--kubeconfig={cluster}")
        done = subprocess.run(
            (*command, *arguments), input=document, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    return run


def headings(table: str) -> list[str]:
    return re.split(" {2,}", table.splitlines()[0].rstrip())


def test_definitions_are_installed_without_a_warning(installed: tuple[str, ...]) -> None:
    assert installed == ()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_examples_are_accepted(path: Path, kubectl: Kubectl, namespace: str) -> None:
    manifests = [*yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    for manifest in manifests:
        if "namespace" in manifest["metadata"]:
            manifest["metadata"]["namespace"] = namespace

    printed = kubectl(
        "apply", "--server-side", "--dry-run=server", "-f-", document=yaml.dump_all(manifests)
    )

    assert printed.count("serverside-applied") == len(manifests)


@pytest.mark.parametrize("kind", SHORT_NAMES)
def test_columns_and_short_names(kind: str, kubectl: Kubectl, objects: Objects) -> None:
    columns = COLUMNS.get(kind, (Column("Age", ".metadata.creationTimestamp"),))

    with objects.created(MINIMAL[kind]) as made:
        name = made["metadata"]["name"]
        where = ("-n", made["metadata"].get("namespace", "default"))
        wide = kubectl("get", f"{kind}.v1beta2.kueue.x-k8s.io", name, "-o", "wide", *where)
        for short_name in SHORT_NAMES[kind]:
            printed = kubectl("get", short_name, name, *where)
            narrow = [column.name.upper() for column in columns if not column.wide]
            assert headings(printed) == ["NAME", *narrow]

    assert headings(wide) == ["NAME", *(column.name.upper() for column in columns)]
    assert wide.splitlines()[1].split()[0] == name


def test_columns_show_what_was_decided(kubectl: Kubectl, objects: Objects) -> None:
    with objects.created(FULL["Workload"]) as made:
        name, namespace = made["metadata"]["name"], made["metadata"]["namespace"]
        printed = kubectl("get", "workloads.kueue.x-k8s.io", name, "-n", namespace)

    assert printed.splitlines()[1].split()[:3] == [name, "q", "all"]


@pytest.mark.parametrize(
    "field, words",
    [
        ("clusterqueue.spec.resourceGroups.flavors.resources.nominalQuota", "nominalQuota"),
        ("workload.status.admission.podSetAssignments", "podSetAssignments"),
        ("wpc.value", "FIELD: value <integer>"),
    ],
)
def test_fields_are_explained(field: str, words: str, kubectl: Kubectl) -> None:
    printed = kubectl("explain", "--api-version=kueue.x-k8s.io/v1beta2", field)

    assert words in printed
    assert "DESCRIPTION:" in printed


@pytest.mark.parametrize("server_side", ["true", "false"])
def test_apply_twice_changes_nothing_the_second_time(
    server_side: str, kubectl: Kubectl, objects: Objects
) -> None:
    """Defaults that the server fills in are no drift."""
    manifest = objects.fit(MINIMAL["ClusterQueue"])
    apply = ("apply", f"--server-side={server_side}", "-f-")
    first = kubectl(*apply, document=yaml.dump(manifest))
    generation = ("get", "cq", manifest["metadata"]["name"], "-o=jsonpath={.metadata.generation}")

    kubectl(*apply, document=yaml.dump(manifest))

    assert "created" in first or "serverside-applied" in first
    assert kubectl(*generation) == "1"
    kubectl("delete", "cq", manifest["metadata"]["name"])


def test_workloads_are_selected_by_their_cluster_queue(
    kubectl: Kubectl, objects: Objects, namespace: str
) -> None:
    selector = "--field-selector=status.admission.clusterQueue=all"
    with objects.created(FULL["Workload"]) as admitted, objects.created(MINIMAL["Workload"]):
        printed = kubectl("get", "kwl", "-n", namespace, selector, "-o", "name")

    assert printed == f"workload.kueue.x-k8s.io/{admitted['metadata']['name']}\n"
