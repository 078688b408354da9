"""Documents find their model, or are told what kind of thing they seem to be."""

import pytest

from muster.queue.api.cluster_queue import ClusterQueue
from muster.queue.api.registry import (
    KINDS,
    KindError,
    NotAnObjectError,
    UninterpretedKindError,
    UnknownKindError,
    kind_of,
    parse_object,
)
from tests.queue.api.manifests import MINIMAL, a_manifest


@pytest.mark.parametrize("kind", MINIMAL)
def test_a_document_is_read_as_its_kind(kind: str) -> None:
    assert type(parse_object(MINIMAL[kind])).__name__ == kind


def test_an_old_document_is_read_as_a_current_one() -> None:
    queue = parse_object(
        a_manifest("ClusterQueue", "kueue.x-k8s.io/v1beta1", spec={"cohort": "all"})
    )

    assert isinstance(queue, ClusterQueue)
    assert queue.spec.cohort_name == "all"


@pytest.mark.parametrize(
    "document",
    [None, "text", [], {}, {"kind": "Pod"}, {"apiVersion": "v1"}, {"apiVersion": 1, "kind": "Pod"},
     {"apiVersion": "v1", "kind": ""}, {"apiVersion": "", "kind": "Pod"}],
)  # fmt: skip
def test_what_has_no_kind_is_no_object(document: object) -> None:
    with pytest.raises(NotAnObjectError):
        parse_object(document)


@pytest.mark.parametrize(
    "api_version, kind, said",
    [
        (
            "kueue.x-k8s.io/v1beta2",
            "ClusterQueu",
            "kueue.x-k8s.io/v1beta2 has no kind 'ClusterQueu'. Did you mean 'ClusterQueue'?",
        ),
        ("kueue.x-k8s.io/v1beta2", "Zzz", "Known here: AdmissionCheck, ClusterQueue, Cohort"),
        (
            "kueue.x-k8s.io/v1alpha1",
            "Cohort",
            "Cohort is read as kueue.x-k8s.io/v1beta2, not kueue.x-k8s.io/v1alpha1",
        ),
        ("v1", "Nod", "v1 has no kind 'Nod'. Did you mean 'Node'?"),
        ("v1", "Job", "Job is read as batch/v1, not v1"),
        ("batch/v1beta1", "Job", "Job is read as batch/v1, not batch/v1beta1"),
        (
            "kueue.x-k8.io/v1beta2",
            "LocalQueue",
            (
                "there is no group of apiVersion 'kueue.x-k8.io/v1beta2'."
                " Did you mean 'kueue.x-k8s.io/v1beta2'?"
            ),
        ),
        (
            "kueue.x-k8s.oi/v1beta2",
            "Anything",
            (
                "there is no group of apiVersion 'kueue.x-k8s.oi/v1beta2'."
                " Did you mean 'kueue.x-k8s.io/v1beta2'?"
            ),
        ),
        (
            "kueue.x-k8s.io",
            "Workload",
            "Workload is read as kueue.x-k8s.io/v1beta2, not kueue.x-k8s.io",
        ),
    ],
)
def test_a_slip_in_the_kind_is_told(api_version: str, kind: str, said: str) -> None:
    with pytest.raises(UnknownKindError) as caught:
        parse_object({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}})

    assert said in str(caught.value)


@pytest.mark.parametrize(
    "api_version, kind",
    [
        ("v1", "Service"),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("batch/v1", "CronJob"),
        ("apps/v1", "Deployment"),
        ("kueue.x-k8s.io/v1beta2", "MultiKueueConfig"),
        ("kueue.x-k8s.io/v1beta2", "ProvisioningRequestConfig"),
        ("example.com/v1", "Anything"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("scheduling.k8s.io/v1alpha1", "Workload"),
    ],
)
def test_what_decides_nothing_here_is_told_apart(api_version: str, kind: str) -> None:
    with pytest.raises(UninterpretedKindError, match=f"{kind} of {api_version} is not interpreted"):
        parse_object({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}})


def test_all_that_can_go_wrong_with_a_kind_is_one_error() -> None:
    for error in (NotAnObjectError, UnknownKindError, UninterpretedKindError):
        assert issubclass(error, KindError)
        assert issubclass(error, ValueError)


def test_a_kind_knows_where_it_lives() -> None:
    assert kind_of(MINIMAL["Workload"]).plural == "workloads"
    assert kind_of(MINIMAL["Workload"]).scope == "Namespaced"
    assert sorted(name for (_, name), kind in KINDS.items() if kind.scope == "Namespaced") == [
        "Job",
        "LimitRange",
        "LocalQueue",
        "Pod",
        "Workload",
    ]
