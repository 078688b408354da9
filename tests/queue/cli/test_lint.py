"""`muster lint`: what it warns of, and what it leaves alone."""

import pytest

from tests.queue.cli.running import run
from tests.queue.texts import (
    KUEUE,
    a_check,
    a_flavor,
    a_job,
    a_local_queue,
    a_queue,
    a_running_workload,
    joined,
)

FLAVOR = a_flavor("a100", "nodeLabels: {gpu: a100}")
QUEUE = a_queue("q", {"a100": 8})
LOCAL = a_local_queue("q", "q")
FINE = (FLAVOR, QUEUE, LOCAL)


def a_cohort(name: str, spec: str = "") -> str:
    return f"{KUEUE}\nkind: Cohort\nmetadata: {{name: {name}}}\nspec: {{{spec}}}"


def a_node(name: str, gpu: str, count: int) -> str:
    return (
        f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{gpu: {gpu}}}}}\n"
        f"status: {{allocatable: {{nvidia.com/gpu: {count}}}}}"
    )


def quota(gpus: int) -> str:
    resources = f"[{{name: nvidia.com/gpu, nominalQuota: {gpus}}}]"
    flavors = f"[{{name: a100, resources: {resources}}}]"
    return f"resourceGroups: [{{coveredResources: [nvidia.com/gpu], flavors: {flavors}}}]"


def warnings(*documents: str) -> list[str]:
    """Return what is warned of, as "Kind name path: message"."""
    ended = run("lint", "-", stdin=joined(*documents))
    assert (ended.code, ended.err) == (0, "")
    *lines, total = ended.out.splitlines()
    found: list[str] = []
    subject = path = ""
    for line in lines:
        if not line.startswith(" "):
            subject, path = line.partition(": ")[2], ""
        elif line.startswith("    "):
            found.append(f"{subject} {path}: {line.strip()}")
        elif line.startswith(("  spec", "  metadata")):
            path = line.strip()
        else:
            found.append(f"{subject}: {line.strip()}")
    assert total.startswith(f"{len(found) or 'No'} warning")
    return found


def test_nothing_to_warn_of() -> None:
    ended = run("lint", "-", stdin=joined(*FINE, a_job("x", "q")))

    assert (ended.code, ended.out) == (0, "No warnings about 4 objects.\n")


CASES = {
    "no selector": (
        [FLAVOR, a_queue("q", {"a100": 8}, ""), LOCAL],
        (
            "ClusterQueue q spec.namespaceSelector: "
            "is not set, so no namespace may use the queue: {} lets all of them in"
        ),
    ),
    "no local queue": (
        [FLAVOR, QUEUE],
        "ClusterQueue q: no LocalQueue leads to it, so nobody can submit to it",
    ),
    "a cohort of one": (
        [
            *FINE,
            a_cohort("research"),
            a_queue("r", {"a100": 1}, "namespaceSelector: {}\ncohortName: research"),
            a_local_queue("r", "r"),
            a_queue("s", {"a100": 1}, "namespaceSelector: {}\ncohortName: reserch"),
            a_local_queue("s", "s"),
        ],
        (
            "ClusterQueue s spec.cohortName: nobody else is in cohort 'reserch', so there is "
            "nobody to borrow from. Did you mean 'research'?"
        ),
    ),
    "reclaiming from nobody": (
        [
            FLAVOR,
            a_queue(
                "q", {"a100": 8}, "namespaceSelector: {}\npreemption: {reclaimWithinCohort: Any}"
            ),
            LOCAL,
        ],
        "ClusterQueue q spec.preemption.reclaimWithinCohort: Any has no effect without a cohort",
    ),
    "a stopped local queue": (
        [FLAVOR, QUEUE, a_local_queue("q", "q", spec="stopPolicy: Hold")],
        (
            "LocalQueue team/q spec.stopPolicy: "
            "Hold: nothing submitted here is admitted until it is None"
        ),
    ),
    "a stopped cluster queue": (
        [
            FLAVOR,
            a_queue("q", {"a100": 8}, "namespaceSelector: {}\nstopPolicy: HoldAndDrain"),
            LOCAL,
        ],
        (
            "LocalQueue team/q spec.clusterQueue: "
            "ClusterQueue q is stopped (HoldAndDrain) and admits nothing"
        ),
    ),
    "a selector that excludes": (
        [
            FLAVOR,
            a_queue(
                "q",
                {"a100": 8},
                "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: taem}}",
            ),
            LOCAL,
        ],
        (
            "LocalQueue team/q spec.clusterQueue: the namespaceSelector of ClusterQueue q excludes "
            "namespace team: nothing submitted here is admitted"
        ),
    ),
    "an empty cohort": (
        [*FINE, a_cohort("nobody")],
        "Cohort nobody: no ClusterQueue or Cohort is in it.",
    ),
    "cohort quota on top": (
        [
            FLAVOR,
            a_cohort("ab", quota(4)),
            a_queue("a", {"a100": 2}, "namespaceSelector: {}\ncohortName: ab"),
            a_queue("b", {"a100": 2}, "namespaceSelector: {}\ncohortName: ab"),
            a_local_queue("a", "a"),
            a_local_queue("b", "b"),
        ],
        (
            "Cohort ab spec.resourceGroups: its 4 nvidia.com/gpu of a100 come on top of the 4 of "
            "its members, 8 in all. Did you mean a limit?"
        ),
    ),
    "an unused flavor": (
        [*FINE, a_flavor("spare")],
        "ResourceFlavor spare: no ClusterQueue or Cohort has quota of it",
    ),
    "no node of a flavor": (
        [*FINE, a_node("n", "h100", 8)],
        "ResourceFlavor a100 spec.nodeLabels: there is quota of it, but no node has gpu=a100",
    ),
    "more quota than nodes": (
        [*FINE, a_node("n", "a100", 4), a_node("m", "a100", 2), a_node("o", "h100", 8)],
        (
            "ResourceFlavor a100: there is quota for 8 nvidia.com/gpu, but the nodes with its "
            "labels have 6"
        ),
    ),
    "a workload that is too large": (
        [*FINE, a_job("huge", "q", pods=3, gpus=3)],
        (
            "Job team/huge: will never start: can never fit as it is — a100: asks 9 "
            "nvidia.com/gpu, the queue can never use more than 8"
        ),
    ),
    "a workload that no flavor takes": (
        [*FINE, a_job("picky", "q", pod="nodeSelector: {gpu: h100}")],
        (
            "Job team/picky: will never start: no flavor takes its pods — a100: its pods want "
            "gpu=h100, the flavor has gpu=a100"
        ),
    ),
    "a workload that names no queue": (
        [
            *FINE,
            (
                f"{KUEUE}\nkind: Workload\nmetadata: {{name: w, namespace: team}}\n"
                "spec: {podSets: [{template: {spec: {containers: []}}}]}"
            ),
        ],
        "Workload team/w: will never start: names no LocalQueue",
    ),
    "a strict queue that is blocked": (
        [
            FLAVOR,
            a_queue("q", {"a100": 8}, "namespaceSelector: {}\nqueueingStrategy: StrictFIFO"),
            LOCAL,
            a_job("huge", "q", gpus=9),
        ],
        (
            "Job team/huge: will never start: can never fit as it is — a100: asks 9 "
            "nvidia.com/gpu, the queue can never use more than 8; it stays first in line; in "
            "StrictFIFO queue q it blocks all behind it"
        ),
    ),
    "a name from v1beta1": (
        [
            FLAVOR,
            a_queue("q", {"a100": 8}, "namespaceSelector: {}\ncohort: ab").replace(
                "v1beta2", "v1beta1"
            ),
            LOCAL,
            a_cohort("ab"),
        ],
        "ClusterQueue q: is of an old version: spec.cohort is now spec.cohortName",
    ),
    "a label that is nearly the queue's": (
        [*FINE, a_job("x", "q").replace("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/queuename")],
        (
            "Job team/x metadata.labels[kueue.x-k8s.io/queuename]: "
            "names no queue. Did you mean 'kueue.x-k8s.io/queue-name'?"
        ),
    ),
    "a queue named by an annotation": (
        [*FINE, a_job("x", "q").replace("labels:", "annotations:")],
        (
            "Job team/x metadata.annotations[kueue.x-k8s.io/queue-name]: "
            "names no queue: only a label does"
        ),
    ),
    "a queue whose check nobody carries out": (
        [
            FLAVOR,
            a_queue(
                "q",
                {"a100": 8},
                """\
                namespaceSelector: {}
                admissionChecksStrategy: {admissionChecks: [{name: budget}]}
                """,
            ),
            LOCAL,
            a_check("budget", active="False"),
        ],
        (
            "ClusterQueue q: admits nothing (AdmissionCheckInactive: "
            "an AdmissionCheck it names has no controller that is ready)"
        ),
    ),
}


@pytest.mark.parametrize("documents, expected", CASES.values(), ids=CASES)
def test_warnings(documents: list[str], expected: str) -> None:
    assert expected in warnings(*documents)
    assert len(warnings(*documents)) == 1


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([a_node("n", "a100", 8)], id="nodes for the quota"),
        pytest.param(
            [
                a_cohort("c", quota(4)),
                a_queue("r", {}, "namespaceSelector: {}\ncohortName: c"),
                a_local_queue("r", "r"),
            ],
            id="quota that only the cohort has",
        ),
        pytest.param(
            [a_running_workload("big", "q", pods=9, gpus=1, flavor="a100")], id="it runs already"
        ),
        pytest.param(
            [a_job("small", "q", gpus=8), a_job("other", "q", gpus=8)], id="each fits alone"
        ),
    ],
)
def test_no_warning(documents: list[str]) -> None:
    assert warnings(*FINE, *documents) == []


def test_a_job_of_a_cluster_whose_queue_is_gone() -> None:
    stored = a_job("x", "gone").replace(
        "namespace: team,", "namespace: team, resourceVersion: '1',"
    )

    assert warnings(*FINE, stored) == [
        "Job team/x: will never start: its namespace has no LocalQueue 'gone'"
    ]


def test_who_may_not_use_a_strict_queue_does_not_block_it() -> None:
    selector = "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: taem}}"
    strict = a_queue("q", {"a100": 8}, f"{selector}\nqueueingStrategy: StrictFIFO")

    assert warnings(FLAVOR, strict, LOCAL, a_job("x", "q"))[-1] == (
        "Job team/x: will never start: cannot be admitted as things are set up — "
        "the namespaceSelector of ClusterQueue q excludes team: it wants "
        "kubernetes.io/metadata.name In (taem), the namespace has kubernetes.io/metadata.name=team"
    )


def test_namespaces_whose_labels_are_unknown_may_be_selected() -> None:
    selecting = a_queue("q", {"a100": 8}, "namespaceSelector: {matchLabels: {tier: gold}}")
    unlabelled = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}"

    assert warnings(FLAVOR, selecting, LOCAL) == []
    assert len(warnings(FLAVOR, selecting, LOCAL, unlabelled)) == 1


def test_strict_fails_on_warnings() -> None:
    assert run("lint", "-", "--strict", stdin=joined(*FINE)).code == 0
    assert run("lint", "-", "--strict", stdin=joined(FLAVOR, QUEUE)).code == 1


def test_mistakes_are_no_warnings() -> None:
    ended = run("lint", "-", stdin=joined(FLAVOR, FLAVOR))

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("1 problem: nothing was checked.\n")
