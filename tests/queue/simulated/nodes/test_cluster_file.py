"""Files that describe a cluster, good and broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.queue.manifests.complaints import ManifestError
from muster.queue.simulated.cluster_file import read_cluster
from muster.queue.simulated.node_specs import DEFAULT_CAPACITY, NODES_MAX, NodeSpec, plain_cluster

BLOCK = "cloud.provider.com/topology-block"
RACK = "cloud.provider.com/topology-rack"
HEAD = "apiVersion: sim.muster.dev/v1alpha1\nkind: Cluster\n"


def read(directory: Path, text: str) -> tuple[NodeSpec, ...]:
    path = directory / "cluster.yaml"
    path.write_text(text)
    return read_cluster(str(path))


def test_flags_make_equal_nodes() -> None:
    nodes = plain_cluster(3, gpus_per_node=8)
    assert [node.name for node in nodes] == ["node-0", "node-1", "node-2"]
    assert [node.address for node in nodes] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert all(node.capacity == {**DEFAULT_CAPACITY, "nvidia.com/gpu": "8"} for node in nodes)


def test_a_cluster_may_have_no_nodes() -> None:
    assert plain_cluster(0) == ()


def test_a_cluster_without_gpus_has_no_such_resource() -> None:
    assert plain_cluster(1)[0].capacity == DEFAULT_CAPACITY


def test_groups_have_capacity_labels_and_taints(tmp_path: Path) -> None:
    nodes = read(
        tmp_path,
        HEAD
        + """
nodeGroups:
- name: a100
  count: 1
  namePattern: gpu-{index}.example
  capacity: {nvidia.com/gpu: 8, cpu: 96}
  labels: {accelerator: a100}
  taints: [{key: gpu, effect: NoSchedule}]
- {name: plain, count: 1}
""",
    )
    assert nodes == (
        NodeSpec(
            name="gpu-0.example",
            address="10.0.0.1",
            labels={"accelerator": "a100"},
            capacity={**DEFAULT_CAPACITY, "nvidia.com/gpu": "8", "cpu": "96"},
            taints=({"key": "gpu", "effect": "NoSchedule"},),
        ),
        NodeSpec(name="plain-0", address="10.0.0.2", labels={}, capacity=DEFAULT_CAPACITY),
    )


def test_names_sort_as_they_are_counted() -> None:
    names = [node.name for node in plain_cluster(11)]
    assert names == sorted(names)
    assert names[-1] == "node-10"


def test_nodes_are_dealt_evenly_to_racks_within_blocks(tmp_path: Path) -> None:
    nodes = read(
        tmp_path,
        HEAD
        + f"""
nodeGroups:
- name: g
  count: 10
  topology:
  - {{label: {BLOCK}, fanOut: 2}}
  - {{label: {RACK}, fanOut: 2}}
""",
    )
    blocks = [node.labels[BLOCK] for node in nodes]
    assert blocks == ["g-block0"] * 5 + ["g-block1"] * 5
    racks = [node.labels[RACK] for node in nodes]
    assert racks == (
        ["g-block0-rack0"] * 3
        + ["g-block0-rack1"] * 2
        + ["g-block1-rack0"] * 3
        + ["g-block1-rack1"] * 2
    )


BROKEN = {
    "no kind": ("nodeGroups: []", "apiVersion\n    is required"),
    "other kind": ("apiVersion: v1\nkind: Node\nnodeGroups: [{name: a, count: 1}]", "apiVersion"),
    "no groups": (HEAD + "nodeGroups: []", "nodeGroups"),
    "misspelt": (
        HEAD + "nodeGroups:\n- {name: a, cuont: 1}",
        "line 4, nodeGroups[0]\n    unknown field 'cuont'. Did you mean 'count'?",
    ),
    "no nodes": (HEAD + "nodeGroups: [{name: a, count: 0}]", "nodeGroups[0].count"),
    "too many": (
        HEAD + "nodeGroups: [{name: a, count: 5000}, {name: b, count: 1}]",
        f"have 5001 nodes, more than {NODES_MAX}",
    ),
    "group twice": (
        HEAD + "nodeGroups: [{name: a, count: 1}, {name: a, count: 1}]",
        "'a' is listed twice, first at [0]",
    ),
    "name twice": (
        HEAD + "nodeGroups: [{name: a, count: 1}, {name: b, count: 2, namePattern: 'a-{index}'}]",
        "nodeGroups[1].namePattern\n    makes the name a-0, as nodeGroups[0] does",
    ),
    "no index": (
        HEAD + "nodeGroups: [{name: a, count: 1, namePattern: gpu}]",
        "'gpu' is not a pattern for names of nodes",
    ),
    "no name": (
        HEAD + "nodeGroups: [{name: a, count: 1, namePattern: 'GPU_{index}'}]",
        "is not a pattern for names of nodes",
    ),
    "long name": (
        HEAD + f"nodeGroups: [{{name: a, count: 1, namePattern: '{'x' * 63}{{index}}'}}]",
        "longer than 63 characters",
    ),
    "no quantity": (
        HEAD + "nodeGroups: [{name: a, count: 1, capacity: {cpu: lots}}]",
        "nodeGroups[0].capacity.cpu\n    'lots' is not a quantity",
    ),
    "half a device": (
        HEAD + "nodeGroups: [{name: a, count: 1, capacity: {nvidia.com/gpu: 500m}}]",
        "nvidia.com/gpu: '500m' is no whole number of them",
    ),
    "another host name": (
        HEAD + "nodeGroups: [{name: a, count: 1, labels: {kubernetes.io/hostname: a}}]",
        "is the name of each node: leave it out",
    ),
    "less than nothing": (
        HEAD + "nodeGroups: [{name: a, count: 1, capacity: {cpu: -1}}]",
        "cpu: '-1' is less than nothing",
    ),
    "wrong taint": (
        HEAD + "nodeGroups: [{name: a, count: 1, taints: [{key: a, effect: Never}]}]",
        "nodeGroups[0].taints[0].effect",
    ),
    "hostname level": (
        HEAD
        + "nodeGroups: [{name: a, count: 1, "
        + "topology: [{label: kubernetes.io/hostname, fanOut: 1}]}]",
        "kubernetes.io/hostname is the name of each node: leave it out",
    ),
    "level and label": (
        HEAD
        + f"nodeGroups: [{{name: a, count: 1, labels: {{{RACK}: x}}, "
        + f"topology: [{{label: {RACK}, fanOut: 1}}]}}]",
        "is among the labels of the group, too",
    ),
    "more domains than nodes": (
        HEAD
        + "nodeGroups: [{name: a, count: 3, "
        + f"topology: [{{label: {BLOCK}, fanOut: 2}}, {{label: {RACK}, fanOut: 2}}]}}]",
        "makes 4 innermost domains of 3 nodes",
    ),
}


@pytest.mark.parametrize("text, says", BROKEN.values(), ids=BROKEN)
def test_complaints(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        read(tmp_path, text)
    assert says in str(caught.value)


def test_the_example_can_be_read() -> None:
    example = Path(__file__).resolve().parents[4] / "examples" / "sandbox" / "cluster.yaml"
    assert len(read_cluster(str(example))) == 20
