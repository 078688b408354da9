"""Files, directories and streams become objects; every mistake is told with its place."""

import io
from collections.abc import Iterable
from pathlib import Path

import pytest

from muster.queue.manifests.complaints import COMPLAINTS_SHOWN_MAX, Complaint, Origin, told
from muster.queue.manifests.loading import Loaded, load

FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: %s}\n"


def read(text: str | bytes) -> Loaded:
    """Load one text from standard input."""
    return load(["-"], io.BytesIO(text.encode() if isinstance(text, str) else text))


def read_paths(*paths: Path) -> Loaded:
    return load(map(str, paths), io.BytesIO())


def subjects(loaded: Loaded) -> list[str]:
    return [manifest.subject for manifest in loaded.manifests]


def report(complaints: Iterable[Complaint]) -> str:
    return "\n".join(told(complaints)) + "\n"


# --- Sources -------------------------------------------------------------------------------------


def test_a_directory_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.yml", "c.json", "a.yaml", "notes.txt"):
        (tmp_path / name).write_text(FLAVOR % name.replace(".", "-"))
    (tmp_path / "c.json").write_text(
        '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}'
    )

    loaded = read_paths(tmp_path)

    assert subjects(loaded) == ["ResourceFlavor a-yaml", "ResourceFlavor b-yml", "Namespace n"]
    assert [str(m.origin) for m in loaded.manifests] == [
        f"{tmp_path}/a.yaml:1, document 1",
        f"{tmp_path}/b.yml:1, document 1",
        f"{tmp_path}/c.json:1, document 1",
    ]
    assert loaded.complaints == []


def test_standard_input_may_stand_among_files(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(FLAVOR % "from-file")

    loaded = load([str(path), "-"], io.BytesIO((FLAVOR % "from-stdin").encode()))

    assert subjects(loaded) == ["ResourceFlavor from-file", "ResourceFlavor from-stdin"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(encoding: str) -> None:
    assert subjects(read((FLAVOR % "x").encode(encoding))) == ["ResourceFlavor x"]


def test_an_empty_file_in_a_directory_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing yet\n---\n")

    assert read_paths(tmp_path) == Loaded()


def test_sources_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(FLAVOR % "x")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "image.yaml").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "sub" / "deeper").mkdir(parents=True)
    (tmp_path / "sub" / "notes").mkdir()
    (tmp_path / "sub" / "notes" / "x.txt").write_text("")
    (tmp_path / "sub" / "deeper" / "x.yaml").write_text(FLAVOR % "y")

    names = ["queue.yaml", "empty.yaml", "image.yaml", "sub"]
    loaded = load([*(str(tmp_path / name) for name in names), "-", "-"], io.BytesIO(b"a: 1"))

    assert report(loaded.complaints).replace(str(tmp_path), "dir") == (
        """\
dir/queue.yaml
  no such file. Did you mean 'queues.yaml'?
dir/empty.yaml
  is empty: expected Kubernetes objects in YAML or JSON
dir/image.yaml
  not text: byte 0 is no part of UTF-8; expected YAML or JSON
dir/sub
  the directory has no *.yaml, *.yml, *.json; sub-directories are not read, \
name them: dir/sub/deeper
standard input:1, document 1
  apiVersion and kind are required: both must be text
-
  standard input can be read only once
"""
    )


def test_a_path_must_not_be_empty() -> None:
    [complaint] = load([""], io.BytesIO()).complaints

    assert complaint.message == "a path must not be empty: name a file or a directory"


@pytest.mark.parametrize(
    "name, message",
    [
        ("dangling.yaml", "is a link to nowhere, which is not there"),
        ("endless.yaml", "cannot be read: too many levels of symbolic links"),
        ("x" * 300, "cannot be read: file name too long"),
    ],
)
def test_paths_that_lead_nowhere(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "dangling.yaml").symlink_to("nowhere")
    (tmp_path / "endless.yaml").symlink_to("endless.yaml")

    [complaint] = read_paths(tmp_path / name).complaints

    assert complaint.message == message


def test_standard_input_that_cannot_be_read() -> None:
    class Broken(io.BytesIO):
        def read(self, _size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    [complaint] = load(["-"], Broken()).complaints

    assert complaint.message == "cannot be read: input/output error"


def test_names_cannot_move_the_cursor() -> None:
    loaded = read('apiVersion: v1\nkind: Namespace\nmetadata: {name: "a\\e[2J\\nb"}')

    text = report(loaded.complaints)

    assert text.startswith("standard input:1, document 1: Namespace a\\x1b[2J\\nb\n")
    assert text.replace("\n", "").isprintable()


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    """A path below a file is the one refusal that holds even for a super-user."""
    (tmp_path / "x").write_text("")

    [complaint] = read_paths(tmp_path / "x" / "y").complaints

    assert complaint.message == "cannot be read: not a directory"


# --- Objects -------------------------------------------------------------------------------------


def test_kinds_of_others_are_counted() -> None:
    text = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: c}
"""
    loaded = read(text)

    assert loaded.manifests == []
    assert loaded.ignored == {"ConfigMap": 2, "Deployment": 1}
    assert loaded.complaints == []


def test_lists_hold_objects() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Namespace
  metadata: {name: a}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ResourceFlavor
  metadata: {name: b}
"""
    loaded = read(text)

    assert [(m.subject, str(m.origin)) for m in loaded.manifests] == [
        ("Namespace a", "standard input:4, document 1, items[0]"),
        ("ResourceFlavor b", "standard input:7, document 1, items[1]"),
    ]


def test_items_of_a_typed_list_inherit_its_kind() -> None:
    text = """\
{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueueList", "metadata": {},
 "items": [{"metadata": {"name": "q", "namespace": "team"}, "spec": {"clusterQueue": "c"}}]}
"""
    assert subjects(read(text)) == ["LocalQueue team/q"]


def test_an_empty_list_holds_nothing() -> None:
    assert read('{"apiVersion": "v1", "kind": "List", "items": null}') == Loaded()


def test_generated_names_are_counted_up() -> None:
    job = """\
apiVersion: batch/v1
kind: Job
metadata: {generateName: train-}
spec: {template: {spec: {containers: [{name: c}]}}}
"""
    assert subjects(read(f"{job}---\n{job}")) == ["Job default/train-1", "Job default/train-2"]


def test_objects_without_a_namespace_are_in_the_default_one() -> None:
    text = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q}\n"
    [manifest] = read(text).manifests

    assert manifest.namespace == "default"


def test_old_versions_are_read() -> None:
    text = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: q}
spec: {cohort: research}
"""
    [manifest] = read(text).manifests

    assert manifest.model.api_version == "kueue.x-k8s.io/v1beta2"


def test_objects_of_a_cluster_are_taken_as_they_are() -> None:
    """A rule between two fields is not held against an object that an API server has accepted."""
    text = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q%s}
spec: {preemption: {borrowWithinCohort: {policy: LowerPriority}}}
"""
    assert subjects(read(text % ", resourceVersion: '7'")) == ["ClusterQueue q"]
    assert subjects(read(text % "")) == []


# --- Mistakes ------------------------------------------------------------------------------------

MISTAKES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: team-a
spec:
  cohort: research
  queueingStrategy: StrictFIF
  queueingStrategy: StrictFIF
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: spot
      resources:
      - name: cpu
        nominalQuota: 1K
      - name: memory
        nominalQuota: 1 Gi
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQeue
metadata: {name: x}
---
just text
---
- apiVersion: v1
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: vision}
spec:
  parallelism: "4"
  template:
    spec:
      containers:
      - name: c
        resources: {requests: {nvidia.com/gpu: 0.5}}
---
apiVersion: v1
kind: List
items: 3
---
apiVersion: v1
kind: List
items: [3]
---
a: [
"""


def test_all_mistakes_are_told() -> None:
    assert report(read(MISTAKES).complaints) == (
        """\
standard input:1, document 1
  line 8
    the key 'queueingStrategy' is given twice, first in line 7
standard input:1, document 1: ClusterQueue team-a
  line 5, spec
    unknown field 'cohort'. Did you mean 'cohortName'?
  line 7, spec.queueingStrategy
    'StrictFIF' is not allowed: use 'StrictFIFO' or 'BestEffortFIFO'. Did you mean 'StrictFIFO'?
  line 15, spec.resourceGroups[0].flavors[0].resources[0].nominalQuota
    '1K' is not a quantity: did you mean 1k (x 1000) or 1Ki (x 1024)?
  line 17, spec.resourceGroups[0].flavors[0].resources[1].nominalQuota
    '1 Gi' is not a quantity: remove the space; did you mean 1Gi?
standard input:19, document 2: ClusterQeue x
  kueue.x-k8s.io/v1beta2 has no kind 'ClusterQeue'. Did you mean 'ClusterQueue'?
standard input:23, document 3
  expected an object with apiVersion and kind, got 'just text'
standard input:25, document 4
  expected an object with apiVersion and kind, got a list: put several objects into a List, \
or a line of --- between them
standard input:27, document 5: Job vision/train
  line 31, spec.parallelism
    '4' is not a whole number: remove the quotes
  line 36, spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]
    0.5 is not a whole number: nvidia.com/gpu cannot be split
standard input:38, document 6: List
  items
    3 is not a list of objects
standard input:44, document 7, items[0]
  expected an object with apiVersion and kind, got 3
standard input:47, document 8
  not YAML: did not find expected node content while parsing a flow node
"""
    )


def test_in_json_no_line_is_known_but_that_of_the_object() -> None:
    text = '{"apiVersion": "v1", "kind": "Namespace", "metadata": {}}'

    assert report(read(f"{text}\n{text}").complaints) == (
        """\
standard input:1, document 1: Namespace
  metadata.name
    is required
standard input:2, document 2: Namespace
  metadata.name
    is required
"""
    )


def test_a_mistake_in_the_first_document() -> None:
    assert report(read("\na: b: c").complaints).startswith("standard input:2, document 1\n")


def test_a_long_report_is_cut() -> None:
    origin = Origin(source="x.yaml")
    complaints = [Complaint(origin=origin, message=str(n)) for n in range(COMPLAINTS_SHOWN_MAX + 3)]

    lines = report(complaints).splitlines()

    assert lines[-2:] == [f"  {COMPLAINTS_SHOWN_MAX - 1}", "… and 3 more"]
