"""Names that are taken twice, names that nobody has, cohorts in a circle."""

import io

import pytest

from muster.queue.manifests.complaints import told
from muster.queue.manifests.loading import load
from muster.queue.manifests.references import Names, check

KUEUE = "apiVersion: kueue.x-k8s.io/v1beta2"
FLAVOR = f"{KUEUE}\nkind: ResourceFlavor\nmetadata: {{name: a100-spot}}"
QUEUE = f"{KUEUE}\nkind: ClusterQueue\nmetadata: {{name: team-a}}"
LOCAL = f"""\
{KUEUE}
kind: LocalQueue
metadata: {{name: train, namespace: vision}}
spec: {{clusterQueue: team-a}}"""
GROUP = """
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: %s, resources: [{name: cpu, nominalQuota: 1}]}]
"""


def complaints(*documents: str) -> str:
    loaded = load(["-"], io.BytesIO("\n---\n".join(documents).encode()))
    return "\n".join(told(check(loaded.manifests, Names(loaded))))


def cohort(name: str, parent: str, version: str = "") -> str:
    metadata = f"{{name: {name}{version and f', resourceVersion: {version!r}'}}}"
    return f"{KUEUE}\nkind: Cohort\nmetadata: {metadata}\nspec: {{parentName: {parent}}}"


def workload(queue: str, namespace: str = "vision") -> str:
    return (
        f"{KUEUE}\nkind: Workload\nmetadata: {{name: w, namespace: {namespace}}}\n"
        f"spec: {{queueName: {queue}, podSets: [{{template: {{spec: {{containers: []}}}}}}]}}"
    )


@pytest.mark.parametrize(
    "documents, told_of",
    [
        pytest.param(
            [FLAVOR, QUEUE + GROUP % "a100-spt"],
            "ClusterQueue team-a|  spec.resourceGroups[0].flavors[0].name"
            "|    no ResourceFlavor is called 'a100-spt'. Did you mean 'a100-spot'?",
            id="flavor",
        ),
        pytest.param(
            [QUEUE + GROUP % "a100-spot"],
            "ClusterQueue team-a|  spec.resourceGroups[0].flavors[0].name"
            "|    no ResourceFlavor is called 'a100-spot'. There is none.",
            id="no flavors at all",
        ),
        pytest.param(
            [QUEUE + "\nspec: {admissionChecksStrategy: {admissionChecks: [{name: prov}]}}"],
            "ClusterQueue team-a|  spec.admissionChecksStrategy.admissionChecks[0].name"
            "|    no AdmissionCheck is called 'prov'. There is none.",
            id="admission check",
        ),
        pytest.param(
            [FLAVOR + "\nspec: {nodeLabels: {a: b}, topologyName: racks}"],
            "ResourceFlavor a100-spot|  spec.topologyName"
            "|    no Topology is called 'racks'. There is none.",
            id="topology",
        ),
        pytest.param(
            [LOCAL, QUEUE.replace("team-a", "team-x"), QUEUE.replace("team-a", "q")],
            "LocalQueue vision/train|  spec.clusterQueue"
            "|    no ClusterQueue is called 'team-a'. Did you mean 'team-x'?",
            id="cluster queue",
        ),
        pytest.param(
            [LOCAL.partition("\nspec")[0]],
            "LocalQueue vision/train|  spec.clusterQueue|    is required",
            id="no cluster queue named",
        ),
        pytest.param(
            [QUEUE, LOCAL, workload("trian")],
            "Workload vision/w|  spec.queueName"
            "|    no LocalQueue in namespace vision is called 'trian'. Did you mean 'train'?",
            id="local queue",
        ),
        pytest.param(
            [QUEUE, LOCAL, workload("train", "language")],
            "Workload language/w|  spec.queueName|    no LocalQueue in namespace language "
            "is called 'train'. There is one in namespace vision.",
            id="local queue of another namespace",
        ),
        pytest.param(
            [QUEUE, LOCAL, workload("other")],
            "Workload vision/w|  spec.queueName|    no LocalQueue in namespace vision "
            "is called 'other'. There is train.",
            id="no similar local queue",
        ),
    ],
)
def test_a_name_that_nobody_has(documents: list[str], told_of: str) -> None:
    _, _, complaint = complaints(*documents).partition(": ")

    assert complaint == told_of.replace("|", "\n")


def test_of_many_names_some_are_told() -> None:
    flavors = [FLAVOR.replace("a100-spot", f"f{number}") for number in range(10)]

    assert complaints(*flavors, QUEUE + GROUP % "other").endswith(
        "There is f0, f1, f2, f3, f4, f5, f6, f7 and 2 more."
    )


def test_nothing_is_wrong() -> None:
    documents = [FLAVOR, QUEUE + GROUP % "a100-spot", LOCAL, workload("train"), cohort("a", "b")]

    assert complaints(*documents) == ""


def test_a_name_is_taken() -> None:
    same_name_elsewhere = LOCAL.replace("vision", "language")

    assert complaints(QUEUE, LOCAL, same_name_elsewhere, LOCAL) == (
        "standard input:15, document 4: LocalQueue vision/train\n"
        "  metadata.name\n"
        "    the name is taken: see standard input:5, document 2"
    )


def test_a_cycle_of_cohorts_is_told_once() -> None:
    documents = [cohort("b", "c"), cohort("c", "a"), cohort("a", "b"), cohort("leaf", "a")]

    assert complaints(*documents) == (
        "standard input:11, document 3: Cohort a\n"
        "  spec.parentName\n"
        "    the cohorts form a cycle: a → b → c → a"
    )


def test_a_long_cycle_is_told_in_short() -> None:
    documents = [cohort(f"c{n:04}", f"c{(n + 1) % 2000:04}") for n in range(2000)]

    assert complaints(*documents).endswith(
        "a cycle: c0000 → c0001 → c0002 → c0003 → c0004 → c0005 → 1994 more → c0000"
    )


def test_every_cycle_of_cohorts_is_told() -> None:
    documents = [cohort("a", "b"), cohort("b", "b"), cohort("x", "y"), cohort("y", "x")]

    told_of = complaints(*documents)

    assert "a cycle: b → b" in told_of
    assert "a cycle: x → y → x" in told_of
    assert told_of.count("a cycle: ") == 2


def test_a_cohort_that_is_its_own_parent() -> None:
    assert "a cycle: a → a" in complaints(cohort("a", "a"))


def test_an_object_with_a_mistake_is_there_all_the_same() -> None:
    assert complaints(QUEUE + "\nspec: {nothing: 1}", LOCAL) == ""
    assert complaints(QUEUE, LOCAL + "\nstatus: 3", workload("train")) == ""


@pytest.mark.parametrize(
    "hidden", ["kind: Nothing", "text", "[]", "apiVersion: v1\nkind: List\nitems: 3", "a: ["]
)
def test_what_cannot_be_read_may_be_what_is_missing(hidden: str) -> None:
    assert complaints(LOCAL, workload("trian"), hidden) == ""


def test_objects_of_a_cluster_are_taken_as_they_are() -> None:
    stored = LOCAL.replace("vision}", "vision, resourceVersion: '5'}")

    assert complaints(stored, cohort("a", "b", "1"), cohort("b", "a", "2")) == ""
