"""What a Job is before anything runs: its defaults, its bounds, and what of it may change."""

from typing import Any

import pytest

from tests.e2e.api import MERGE
from tests.e2e.probes.jobs import INDEXED, a_job
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest, changed

# Nobody works on the job, so that nothing but the probe changes it.
UNMANAGED: Manifest = {"spec.managedBy": "example.com/nobody"}
SUSPENDED: Manifest = {**UNMANAGED, "spec.suspend": True}

DEFAULTS = {
    "parallelism": 1,
    "completions": 1,
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
    "manualSelector": False,
    "podReplacementPolicy": "TerminatingOrFailed",
}


@pytest.mark.parametrize("field", DEFAULTS)
def test_a_job_gets_a_default(field: str, probe: Probe) -> None:
    made = probe.create(a_job(probe), dryRun="All")

    assert made["spec"][field] == DEFAULTS[field]


def test_a_job_gets_nothing_else(probe: Probe) -> None:
    made = probe.create(a_job(probe), dryRun="All")

    assert made["spec"].keys() == {*DEFAULTS, "selector", "template"}
    assert made["status"] == {}
    assert made["metadata"]["generation"] == 1


def test_as_many_complete_as_run_in_parallel_if_nobody_says_how_many(probe: Probe) -> None:
    made = probe.create(a_job(probe, {"spec.parallelism": 3}), dryRun="All")

    assert made["spec"]["parallelism"] == 3
    assert "completions" not in made["spec"]


def test_indexes_of_its_own_give_a_job_no_common_limit(probe: Probe) -> None:
    changes = {**INDEXED, "spec.completions": 2, "spec.backoffLimitPerIndex": 1}
    made = probe.create(a_job(probe, changes), dryRun="All")

    assert made["spec"]["backoffLimit"] == 2147483647


def test_failures_that_a_policy_looks_at_are_replaced_after_their_end(probe: Probe) -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}
    made = probe.create(a_job(probe, {"spec.podFailurePolicy.rules": [rule]}), dryRun="All")

    assert made["spec"]["podReplacementPolicy"] == "Failed"


def test_a_job_selects_its_pods_by_its_uid(probe: Probe) -> None:
    made = probe.create(a_job(probe, SUSPENDED))

    uid, name = made["metadata"]["uid"], made["metadata"]["name"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made["spec"]["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }


def test_labels_of_the_template_are_those_of_a_job_without_any(probe: Probe) -> None:
    changes = {**SUSPENDED, "spec.template.metadata.labels": {"k": "v"}}
    made = probe.create(a_job(probe, changes))

    assert "k" in made["spec"]["template"]["metadata"]["labels"]
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]


def test_the_template_gets_the_defaults_of_pods(probe: Probe) -> None:
    made = probe.create(a_job(probe), dryRun="All")

    spec = made["spec"]["template"]["spec"]
    assert spec == {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "imagePullPolicy": "Always",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Never",
        "schedulerName": "nobody",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


RULES = "spec.podFailurePolicy.rules"
INVALID: list[tuple[str, Manifest, list[tuple[str, str]]]] = [
    (
        "restarts always",
        {"spec.template.spec.restartPolicy": "Always"},
        [("FieldValueRequired", "spec.template.spec.restartPolicy")],
    ),
    (
        "no containers",
        {"spec.template.spec.containers": []},
        [("FieldValueRequired", "spec.template.spec.containers")],
    ),
    ("few pods", {"spec.parallelism": -1}, [("FieldValueInvalid", "spec.parallelism")]),
    ("few successes", {"spec.completions": -1}, [("FieldValueInvalid", "spec.completions")]),
    ("few failures", {"spec.backoffLimit": -1}, [("FieldValueInvalid", "spec.backoffLimit")]),
    (
        "an early deadline",
        {"spec.activeDeadlineSeconds": -1},
        [("FieldValueInvalid", "spec.activeDeadlineSeconds")],
    ),
    (
        "an early end",
        {"spec.ttlSecondsAfterFinished": -1},
        [("FieldValueInvalid", "spec.ttlSecondsAfterFinished")],
    ),
    (
        "an unknown mode",
        {"spec.completionMode": "Sorted"},
        [("FieldValueNotSupported", "spec.completionMode")],
    ),
    (
        "indexes without an end",
        {**INDEXED, "spec.parallelism": 1},
        [("FieldValueRequired", "spec.completions")],
    ),
    (
        "too many indexes at once",
        {**INDEXED, "spec.completions": 1, "spec.parallelism": 100_001},
        [("FieldValueInvalid", "spec.parallelism")],
    ),
    (
        "a limit per index without indexes",
        {"spec.backoffLimitPerIndex": 1},
        [("FieldValueInvalid", "spec.backoffLimitPerIndex")],
    ),
    (
        "failed indexes without a limit for each",
        {**INDEXED, "spec.completions": 2, "spec.maxFailedIndexes": 1},
        [("FieldValueRequired", "spec.backoffLimitPerIndex")],
    ),
    (
        "more failed indexes than indexes",
        {
            **INDEXED,
            "spec.completions": 2,
            "spec.backoffLimitPerIndex": 1,
            "spec.maxFailedIndexes": 3,
        },
        [("FieldValueInvalid", "spec.maxFailedIndexes")],
    ),
    (
        "a selector of its own",
        {"spec.selector": {"matchLabels": {"k": "v"}}},
        [
            ("FieldValueInvalid", "spec.selector"),
            ("FieldValueInvalid", "spec.template.metadata.labels"),
        ],
    ),
    (
        "an unknown action",
        {RULES: [{"action": "Shrug", "onExitCodes": {"operator": "In", "values": [1]}}]},
        [("FieldValueNotSupported", f"{RULES}[0].action")],
    ),
    (
        "a rule of nothing",
        {RULES: [{"action": "Ignore"}]},
        [("FieldValueInvalid", f"{RULES}[0]")],
    ),
    (
        "success as failure",
        {RULES: [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [0]}}]},
        [("FieldValueInvalid", f"{RULES}[0].onExitCodes.values[0]")],
    ),
    (
        "exit codes out of order",
        {RULES: [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [2, 1]}}]},
        [("FieldValueInvalid", f"{RULES}[0].onExitCodes.values")],
    ),
    (
        "an unknown container",
        {
            RULES: [
                {
                    "action": "Ignore",
                    "onExitCodes": {"containerName": "d", "operator": "In", "values": [1]},
                }
            ]
        },
        [("FieldValueInvalid", f"{RULES}[0].onExitCodes.containerName")],
    ),
    (
        "a policy of failures for pods that restart",
        {
            RULES: [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}],
            "spec.template.spec.restartPolicy": "OnFailure",
        },
        [("FieldValueInvalid", "spec.template.spec.restartPolicy")],
    ),
    (
        "failing an index without a limit for each",
        {RULES: [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}]},
        [("FieldValueInvalid", f"{RULES}[0].action")],
    ),
    (
        "a replacement before failures are looked at",
        {
            RULES: [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}],
            "spec.podReplacementPolicy": "TerminatingOrFailed",
        },
        [("FieldValueNotSupported", "spec.podReplacementPolicy")],
    ),
    (
        "a policy of success without indexes",
        {"spec.successPolicy.rules": [{"succeededCount": 1}]},
        [("FieldValueInvalid", "spec.successPolicy")],
    ),
    (
        "a policy of no success",
        {**INDEXED, "spec.completions": 2, "spec.successPolicy.rules": []},
        [("FieldValueRequired", "spec.successPolicy.rules")],
    ),
    (
        "a success of more indexes than there are",
        {
            **INDEXED,
            "spec.completions": 2,
            "spec.successPolicy.rules": [{"succeededIndexes": "0-2"}],
        },
        [("FieldValueInvalid", "spec.successPolicy.rules[0].succeededIndexes")],
    ),
    (
        "a controller of a bad name",
        {"spec.managedBy": "nobody"},
        [("FieldValueInvalid", "spec.managedBy")],
    ),
]


@pytest.mark.parametrize("why, changes, expected", INVALID, ids=[row[0] for row in INVALID])
def test_a_job_is_refused(
    why: str, changes: Manifest, expected: list[tuple[str, str]], probe: Probe
) -> None:
    answer = probe.refused(a_job(probe, changes))

    assert causes(answer) == expected, why
    assert (answer.body["details"]["group"], answer.body["details"]["kind"]) == ("batch", "Job")


TEMPLATE = "spec.template.spec"
UNCHANGEABLE: list[tuple[str, Any]] = [
    ("spec.completions", 2),
    ("spec.completionMode", "Indexed"),
    ("spec.selector", {"matchLabels": {"k": "v"}}),
    ("spec.managedBy", "example.com/somebody"),
    (RULES, [{"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}}]),
    (f"{TEMPLATE}.containers[0].image", "j"),
    (f"{TEMPLATE}.containers[0].command", ["run"]),
    (f"{TEMPLATE}.schedulerName", "somebody"),
    (f"{TEMPLATE}.restartPolicy", "OnFailure"),
]


@pytest.mark.parametrize("path, value", UNCHANGEABLE, ids=[path for path, _ in UNCHANGEABLE])
def test_some_of_a_job_never_changes(path: str, value: Any, probe: Probe) -> None:
    made = probe.create(a_job(probe, SUSPENDED))

    answer = probe.api.replace(changed(made, {path: value}))

    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert "field is immutable" in answer.message


# What a queue decides: where pods may go, and how many there are.
CHANGEABLE: list[tuple[str, Any]] = [
    ("spec.parallelism", 3),
    ("spec.backoffLimit", 3),
    ("spec.activeDeadlineSeconds", 300),
    ("spec.ttlSecondsAfterFinished", 300),
    ("metadata.labels", {"k": "v"}),
    (f"{TEMPLATE}.nodeSelector", {"k": "v"}),
    (f"{TEMPLATE}.tolerations", [{"key": "k", "operator": "Exists"}]),
    (f"{TEMPLATE}.schedulingGates", [{"name": "example.com/wait"}]),
    (f"{TEMPLATE}.containers[0].resources", {"requests": {"cpu": "1"}}),
]


@pytest.mark.parametrize("path, value", CHANGEABLE, ids=[path for path, _ in CHANGEABLE])
def test_some_of_a_suspended_job_changes(path: str, value: Any, probe: Probe) -> None:
    made = probe.create(a_job(probe, SUSPENDED))

    now = probe.api.replace(changed(made, {path: value})).expect(200)

    assert now["spec"] == changed(made, {path: value})["spec"]
    assert now["metadata"]["generation"] == (2 if path.startswith("spec") else 1)


def test_labels_and_annotations_of_the_template_of_a_suspended_job_change(probe: Probe) -> None:
    made = probe.create(a_job(probe, SUSPENDED))

    patch = {"labels": {"k": "v"}, "annotations": {"a": "b"}}
    now = probe.api.patch(made, {"spec": {"template": {"metadata": patch}}}).expect(200)

    metadata = now["spec"]["template"]["metadata"]
    assert metadata["labels"]["k"] == "v"
    assert metadata["annotations"] == {"a": "b"}


@pytest.mark.parametrize("path, value", [row for row in CHANGEABLE if TEMPLATE in row[0]], ids=str)
def test_the_template_of_a_job_that_runs_stays(path: str, value: Any, probe: Probe) -> None:
    made = probe.create(a_job(probe, UNMANAGED))

    answer = probe.api.replace(changed(made, {path: value}))

    assert answer.code == 422
    assert causes(answer)[0] == ("FieldValueInvalid", "spec.template")
    assert "field is immutable" in answer.message


def test_completions_of_indexes_follow_parallelism(probe: Probe) -> None:
    changes = {**INDEXED, **SUSPENDED, "spec.completions": 2, "spec.parallelism": 2}
    made = probe.create(a_job(probe, changes))

    both = {"spec.completions": 3, "spec.parallelism": 3}
    now = probe.api.patch(made, changed({}, both)).expect(200)
    alone = probe.api.patch(made, changed({}, {"spec.completions": 4}))

    assert now["spec"]["completions"] == 3
    assert causes(alone) == [("FieldValueInvalid", "spec.completions")]


def test_status_counts_no_less_than_nothing(probe: Probe) -> None:
    made = probe.create(a_job(probe, SUSPENDED))

    answer = probe.api.patch(made, {"status": {"active": -1}}, MERGE, "/status")

    assert (answer.code, causes(answer)) == (422, [("FieldValueInvalid", "status.active")])
