"""Webhooks that do not answer as they must, and configurations that are refused."""

import json
from typing import Any

import pytest

from tests.e2e.api import Answer as Response
from tests.e2e.probes.hooks import (
    CONFIGMAPS,
    Answer,
    Configured,
    Hooks,
    allow,
    annotate,
    encoded,
    patch,
)
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest, changed

NOWHERE = "https://127.0.0.1:1/"


def failed(
    configured: Configured, answer: Answer, kind: str = "Validating", **content: Any
) -> Response:
    """Return what is said to an object whose hook answers so."""
    webhook = configured.webhook(configured.hooks.hook(answer), **content)
    configured.configure(kind, webhook)
    said = configured.probe.api.create(configured.object())
    if said.code != 201:
        assert said.message.startswith("Internal error occurred: "), said
        assert f'webhook "{webhook["name"]}"' in said.message
    return said


def review(**response: Any) -> Answer:
    """Return an answer with this response, whatever was asked."""
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return lambda _: json.dumps(body).encode()


WRONG: list[tuple[str, Answer, str]] = [
    ("nothing", lambda _: b"", "failed to call webhook: 0-length response"),
    ("no JSON", lambda _: b"?", "failed to call webhook"),
    (
        "no response",
        lambda _: b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
        "webhook response was absent",
    ),
    (
        "another kind",
        lambda _: b'{"apiVersion":"v1","kind":"Pod","response":{}}',
        'no kind "Pod" is registered',
    ),
    ("another review", review(uid="other", allowed=True), "expected response.uid="),
    ("no uid", review(allowed=True), "expected response.uid="),
]


@pytest.mark.parametrize("why, answer, words", WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_answer_is_a_failure(
    why: str, answer: Answer, words: str, configured: Configured
) -> None:
    said = failed(configured, answer)

    assert (said.code, said.body["reason"]) == (500, "InternalError"), why
    assert words in said.message


@pytest.mark.parametrize("why, answer, words", WRONG, ids=[row[0] for row in WRONG])
def test_a_failure_is_ignored_if_so_wished(
    why: str, answer: Answer, words: str, configured: Configured
) -> None:
    assert words is not None
    assert failed(configured, answer, failurePolicy="Ignore").code == 201, why


PATCH = encoded({"op": "add", "path": "/data", "value": {}})
BAD_PATCHES: list[tuple[str, Answer, str]] = [
    (
        "no type",
        lambda _: {"allowed": True, "patch": PATCH},
        "webhook returned response.patch but not response.patchType",
    ),
    (
        "another type",
        lambda _: {"allowed": True, "patchType": "Merge", "patch": PATCH},
        "Merge",
    ),
    (
        "a type and no patch",
        lambda _: {"allowed": True, "patchType": "JSONPatch"},
        "webhook returned response.patchType but not response.patch",
    ),
    (
        "no list",
        lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": "e30="},
        "received undecodable patch in webhook response",
    ),
    (
        "a place that is none",
        patch({"op": "remove", "path": "/data/nothing"}),
        'remove operation does not apply: doc is missing path: "/data/nothing"',
    ),
    (
        "a test that fails",
        patch({"op": "test", "path": "/kind", "value": "Pod"}),
        "testing value /kind failed: test failed",
    ),
]


@pytest.mark.parametrize("why, answer, words", BAD_PATCHES, ids=[row[0] for row in BAD_PATCHES])
def test_a_bad_patch_is_a_failure(
    why: str, answer: Answer, words: str, configured: Configured
) -> None:
    webhook = configured.webhook(configured.hooks.hook(answer))
    configured.configure("Mutating", webhook)

    said = configured.probe.api.create(configured.object())

    assert said.code == 500, why
    assert words in said.message


def test_who_only_validates_may_not_change(configured: Configured) -> None:
    said = failed(configured, annotate("a"))

    assert said.code == 500
    assert "patch" in said.message


@pytest.mark.parametrize("policy, code", [("Fail", 500), ("Ignore", 201)])
def test_a_hook_that_nobody_serves_fails(policy: str, code: int, configured: Configured) -> None:
    nowhere = {"url": NOWHERE}
    said = failed(configured, allow, clientConfig=nowhere, failurePolicy=policy)

    assert said.code == code
    if code == 500:
        assert f'failed to call webhook: Post "{NOWHERE}?timeout=10s": dial tcp' in said.message
        assert said.message.endswith("connection refused")


@pytest.mark.parametrize("policy, code", [("Fail", 500), ("Ignore", 201)])
def test_a_hook_that_does_not_answer_fails(policy: str, code: int, configured: Configured) -> None:
    stall = configured.hooks.stall
    said = failed(configured, stall, failurePolicy=policy, timeoutSeconds=1)

    assert said.code == code
    if code == 500:
        assert "?timeout=1s" in said.message
        assert said.message.endswith("context deadline exceeded")


def test_a_hook_must_be_trusted(configured: Configured) -> None:
    with Hooks() as other:
        config = {**configured.hooks.hook().client_config, "caBundle": other.ca_bundle}
        said = failed(configured, allow, clientConfig=config)

    assert said.code == 500
    assert "tls: failed to verify certificate: x509: " in said.message


def a_configuration(configured: Configured, changes: Manifest) -> Manifest:
    """A configuration of one webhook, with changes to the webhook."""
    webhook = configured.webhook(configured.hooks.hook())
    made = configured.configuration("Mutating", webhook)
    return changed(made, {f"webhooks[0].{path}": value for path, value in changes.items()})


def test_a_configuration_gets_defaults(configured: Configured) -> None:
    configuration = a_configuration(configured, {})
    del configuration["webhooks"][0]["objectSelector"]

    made = configured.probe.api.create(configuration, dryRun="All").expect(201)

    (webhook,) = made["webhooks"]
    given = configuration["webhooks"][0]
    assert webhook == {
        **given,
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "reinvocationPolicy": "Never",
        "timeoutSeconds": 10,
        "rules": [{**given["rules"][0], "scope": "*"}],
    }
    assert made["metadata"]["generation"] == 1


REQUIRED, INVALID = "FieldValueRequired", "FieldValueInvalid"
UNSUPPORTED, FORBIDDEN = "FieldValueNotSupported", "FieldValueForbidden"
BAD: list[tuple[str, Manifest, list[tuple[str, str]]]] = [
    ("no name", {"name": ""}, [(REQUIRED, "name")]),
    ("a short name", {"name": "hook"}, [(INVALID, "name")]),
    ("no side effects told", {"sideEffects": None}, [(REQUIRED, "sideEffects")]),
    ("side effects", {"sideEffects": "Some"}, [(UNSUPPORTED, "sideEffects")]),
    ("no versions", {"admissionReviewVersions": []}, [(REQUIRED, "admissionReviewVersions")]),
    (
        "versions that nobody speaks",
        {"admissionReviewVersions": ["v2"]},
        [(INVALID, "admissionReviewVersions")],
    ),
    ("plain HTTP", {"clientConfig.url": "http://127.0.0.1/"}, [(INVALID, "clientConfig.url")]),
    ("no place", {"clientConfig": {}}, [(REQUIRED, "clientConfig")]),
    (
        "two places",
        {"clientConfig.service": {"name": "s", "namespace": "n"}},
        [(REQUIRED, "clientConfig")],
    ),
    ("a user in the place", {"clientConfig.url": "https://a@b/"}, [(INVALID, "clientConfig.url")]),
    ("an unknown policy", {"failurePolicy": "Maybe"}, [(UNSUPPORTED, "failurePolicy")]),
    ("an unknown match", {"matchPolicy": "Maybe"}, [(UNSUPPORTED, "matchPolicy")]),
    (
        "an unknown repetition",
        {"reinvocationPolicy": "Maybe"},
        [(UNSUPPORTED, "reinvocationPolicy")],
    ),
    ("no time", {"timeoutSeconds": 0}, [(INVALID, "timeoutSeconds")]),
    ("much time", {"timeoutSeconds": 31}, [(INVALID, "timeoutSeconds")]),
    ("no operations", {"rules[0].operations": []}, [(REQUIRED, "rules[0].operations")]),
    (
        "an unknown operation",
        {"rules[0].operations": ["READ"]},
        [(UNSUPPORTED, "rules[0].operations[0]")],
    ),
    (
        "an operation besides all",
        {"rules[0].operations": ["*", "CREATE"]},
        [(INVALID, "rules[0].operations")],
    ),
    ("no groups", {"rules[0].apiGroups": []}, [(REQUIRED, "rules[0].apiGroups")]),
    ("no resources", {"rules[0].resources": []}, [(REQUIRED, "rules[0].resources")]),
    ("an unknown scope", {"rules[0].scope": "Here"}, [(UNSUPPORTED, "rules[0].scope")]),
    (
        "a bad selector",
        {"objectSelector": {"matchExpressions": [{"key": "k", "operator": "In"}]}},
        [(REQUIRED, "objectSelector.matchExpressions[0].values")],
    ),
    (
        "a condition that is no expression",
        {"matchConditions": [{"name": "a", "expression": "object."}]},
        [(INVALID, "matchConditions[0].expression")],
    ),
    (
        "a condition that is no question",
        {"matchConditions": [{"name": "a", "expression": "1"}]},
        [(INVALID, "matchConditions[0].expression")],
    ),
    (
        "a condition twice",
        {"matchConditions": [{"name": "a", "expression": "true"}] * 2},
        [("FieldValueDuplicate", "matchConditions[1].name")],
    ),
    (
        "a condition without a name",
        {"matchConditions": [{"name": "", "expression": "true"}]},
        [(REQUIRED, "matchConditions[0].name")],
    ),
]


@pytest.mark.parametrize("why, changes, expected", BAD, ids=[row[0] for row in BAD])
def test_a_configuration_is_refused(
    why: str, changes: Manifest, expected: list[tuple[str, str]], configured: Configured
) -> None:
    answer = configured.probe.api.create(a_configuration(configured, changes), dryRun="All")

    assert answer.code == 422, why
    assert causes(answer) == [(reason, f"webhooks[0].{field}") for reason, field in expected]


def test_a_name_is_used_once(configured: Configured) -> None:
    webhook = configured.webhook(configured.hooks.hook())
    configuration = configured.configuration("Mutating", webhook, webhook)

    answer = configured.probe.api.create(configuration, dryRun="All")

    assert causes(answer) == [("FieldValueDuplicate", "webhooks[1].name")]


def test_who_validates_is_not_asked_again(probe: Probe, configured: Configured) -> None:
    webhook = configured.webhook(configured.hooks.hook(), reinvocationPolicy="Never")
    configuration = configured.configuration("Validating", webhook)

    answer = probe.api.create(configuration, dryRun="All", fieldValidation="Strict")

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert 'unknown field "webhooks[0].reinvocationPolicy"' in answer.message


def test_hooks_are_not_asked_about_hooks(configured: Configured) -> None:
    group = "admissionregistration.k8s.io"
    rule = {**CONFIGMAPS, "apiGroups": [group], "resources": ["*"], "apiVersions": ["*"]}
    hook = configured.validating(rules=[rule])
    configuration = a_configuration(configured, {})
    configuration["metadata"]["labels"] = configured.label

    configured.probe.api.create(configuration, dryRun="All").expect(201)

    assert hook.seen == []
