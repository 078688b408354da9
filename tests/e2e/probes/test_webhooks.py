"""What webhooks are asked, what they may say, and what becomes of the object."""

import pytest

from tests.e2e.api import place
from tests.e2e.probes.hooks import (
    CONFIGMAPS,
    Configured,
    allow,
    annotate,
    deny,
    patch,
)
from tests.e2e.probes.probe import eventually, is_code
from tests.queue.api.manifests import Manifest


def test_a_hook_is_asked_about_a_new_object(configured: Configured) -> None:
    hook = configured.validating()
    thing = configured.object()

    made = configured.probe.create(thing, fieldManager="me")

    (review,) = hook.reviews
    assert (review["kind"], review["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    request = review["request"]
    user = request.pop("userInfo")
    assert user["username"] == "admin"
    assert {"system:masters", "system:authenticated"} <= {*user["groups"]}
    uid = request.pop("uid")
    assert len(uid) == 36
    asked = request.pop("object")
    assert request == {
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": made["metadata"]["name"],
        "namespace": configured.probe.namespace,
        "operation": "CREATE",
        "oldObject": None,
        "dryRun": False,
        "options": {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "me",
        },
    }
    assert asked["metadata"]["uid"] == made["metadata"]["uid"]
    assert asked["metadata"]["managedFields"] == made["metadata"]["managedFields"]
    assert "resourceVersion" not in asked["metadata"]


def test_a_hook_is_asked_about_a_change(configured: Configured) -> None:
    made = configured.probe.create(configured.object())
    hook = configured.validating()

    configured.probe.api.patch(made, {"data": {"a": "b"}}).expect(200)

    (request,) = hook.seen
    assert request["operation"] == "UPDATE"
    assert (
        request["oldObject"]["metadata"]["resourceVersion"] == (made["metadata"]["resourceVersion"])
    )
    assert "data" not in request["oldObject"]
    assert request["object"]["data"] == {"a": "b"}
    assert request["options"]["kind"] == "UpdateOptions"


def test_a_hook_is_asked_about_a_replacement(configured: Configured) -> None:
    made = configured.probe.create(configured.object())
    hook = configured.validating()

    configured.probe.api.replace({**made, "data": {"a": "b"}}).expect(200)

    (request,) = hook.seen
    assert (request["operation"], request["options"]["kind"]) == ("UPDATE", "UpdateOptions")


def test_a_hook_is_asked_about_an_end(configured: Configured) -> None:
    made = configured.probe.create(configured.object())
    hook = configured.validating()

    configured.probe.delete(made, propagationPolicy="Background").expect(200)

    (request,) = hook.seen
    assert request["operation"] == "DELETE"
    assert request["object"] is None
    assert request["oldObject"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert request["options"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
        "propagationPolicy": "Background",
    }


def test_a_hook_may_forbid_an_end(configured: Configured) -> None:
    made = configured.probe.create(configured.object())
    configured.validating(deny(message="stay"), rules=[{**CONFIGMAPS, "operations": ["DELETE"]}])

    answer = configured.probe.delete(made)

    assert answer.code == 400
    assert configured.probe.get(made) == made


def test_an_object_whose_name_is_generated_has_it_already(configured: Configured) -> None:
    hook = configured.validating()
    thing = configured.object()
    thing["metadata"]["generateName"] = "g-"
    del thing["metadata"]["name"]

    made = configured.probe.create(thing)

    (request,) = hook.seen
    assert request["object"]["metadata"]["name"] == made["metadata"]["name"]
    assert request["name"] == made["metadata"]["name"]


def test_a_trial_is_told_as_such(configured: Configured) -> None:
    hook = configured.validating()

    configured.probe.api.create(configured.object(), dryRun="All").expect(201)

    (request,) = hook.seen
    assert request["dryRun"] is True
    assert request["options"]["dryRun"] == ["All"]


DENIED: list[tuple[str, Manifest, int, str | None, str]] = [
    ("without a word", {}, 400, None, "denied the request without explanation"),
    ("with a message", {"message": "not so"}, 400, None, "denied the request: not so"),
    ("with a reason", {"reason": "Expired"}, 400, "Expired", "denied the request: Expired"),
    (
        "with a code",
        {"code": 409, "message": "later", "reason": "Conflict"},
        409,
        "Conflict",
        "denied the request: later",
    ),
    ("with a code that is none", {"code": 200, "message": "m"}, 400, None, "denied the request: m"),
]


@pytest.mark.parametrize("why, status, code, reason, words", DENIED, ids=[row[0] for row in DENIED])
def test_a_hook_denies(
    why: str, status: Manifest, code: int, reason: str | None, words: str, configured: Configured
) -> None:
    webhook = configured.webhook(configured.hooks.hook(deny(**status)))
    configured.configure("Validating", webhook)
    thing = configured.object()

    answer = configured.probe.api.create(thing)

    assert (answer.code, answer.body.get("reason")) == (code, reason), why
    assert answer.message == f'admission webhook "{webhook["name"]}" {words}'
    assert configured.probe.api.get(thing).code == 404


def test_a_hook_denies_with_details(configured: Configured) -> None:
    cause = {"reason": "FieldValueInvalid", "message": "m", "field": "data"}
    configured.validating(deny(code=422, reason="Invalid", details={"causes": [cause]}))

    answer = configured.probe.api.create(configured.object())

    assert (answer.code, answer.body["reason"], answer.causes) == (422, "Invalid", [cause])


@pytest.mark.parametrize("allowed", [True, False])
def test_a_hook_warns(allowed: bool, configured: Configured) -> None:
    configured.validating(lambda _: {"allowed": allowed, "warnings": ["careful", "really"]})

    answer = configured.probe.api.create(configured.object())

    assert answer.code == (201 if allowed else 400)
    assert answer.warnings == ('299 - "careful"', '299 - "really"')


def test_all_validating_hooks_are_asked_and_one_is_enough(configured: Configured) -> None:
    hooks = [configured.hooks.hook(answer) for answer in (allow, deny(message="no"), allow)]
    configured.configure("Validating", *(configured.webhook(hook) for hook in hooks))

    answer = configured.probe.api.create(configured.object())

    assert answer.code == 400
    assert [len(hook.seen) for hook in hooks] == [1, 1, 1]


def test_a_hook_changes_an_object(configured: Configured) -> None:
    configured.mutating(
        patch(
            {"op": "add", "path": "/data", "value": {"a": "b"}},
            {"op": "remove", "path": "/metadata/annotations/made"},
        )
    )
    thing = configured.object()

    made = configured.probe.create(thing, fieldManager="me")

    assert made["data"] == {"a": "b"}
    assert "annotations" not in made["metadata"]
    assert configured.probe.get(thing) == made


def test_what_a_hook_makes_is_owned_by_nobody(configured: Configured) -> None:
    configured.mutating(patch({"op": "add", "path": "/data", "value": {"a": "b"}}))

    made = configured.probe.create(configured.object(), fieldManager="me")

    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Update")
    assert "f:data" not in entry["fieldsV1"]


def test_what_a_hook_adds_to_what_is_applied_is_owned_by_nobody(configured: Configured) -> None:
    configured.mutating(patch({"op": "add", "path": "/data", "value": {"a": "b"}}))

    made = configured.probe.api.apply(configured.object(), fieldManager="me").expect(201)

    assert made["data"] == {"a": "b"}
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    assert "f:data" not in entry["fieldsV1"]


def test_hooks_change_an_object_one_after_the_other(configured: Configured) -> None:
    first, second = configured.hooks.hook(annotate("a")), configured.hooks.hook(annotate("b"))
    last = configured.hooks.hook(annotate("c"))
    configured.configure("Mutating", *(configured.webhook(each) for each in (first, second)))
    configured.configure("Mutating", configured.webhook(last))
    judge = configured.validating()

    configured.probe.create(configured.object())

    seen = [
        [*hook.seen[0]["object"]["metadata"]["annotations"]]
        for hook in (first, second, last, judge)
    ]
    assert seen == [["made"], ["a", "made"], ["a", "b", "made"], ["a", "b", "c", "made"]]


@pytest.mark.parametrize("policy, times", [("Never", 1), ("IfNeeded", 2)])
def test_a_hook_is_asked_again_after_later_changes(
    policy: str, times: int, configured: Configured
) -> None:
    first, second = configured.hooks.hook(annotate("a")), configured.hooks.hook(annotate("b"))
    configured.configure(
        "Mutating",
        configured.webhook(first, reinvocationPolicy=policy),
        configured.webhook(second, reinvocationPolicy=policy),
    )

    configured.probe.create(configured.object())

    assert (len(first.seen), len(second.seen)) == (times, 1)


def test_a_hook_is_not_asked_again_if_nothing_changed_since(configured: Configured) -> None:
    first, second = configured.hooks.hook(annotate("a")), configured.hooks.hook(allow)
    configured.configure(
        "Mutating",
        *(configured.webhook(each, reinvocationPolicy="IfNeeded") for each in (first, second)),
    )

    configured.probe.create(configured.object())

    assert (len(first.seen), len(second.seen)) == (1, 1)


def test_a_change_that_denies_has_no_effect(configured: Configured) -> None:
    last = configured.hooks.hook()
    configured.configure(
        "Mutating",
        configured.webhook(configured.hooks.hook(deny(message="no"))),
        configured.webhook(last),
    )

    answer = configured.probe.api.create(configured.object())

    assert answer.code == 400
    assert last.seen == []  # nobody is asked after the first refusal


def test_what_a_hook_makes_of_an_object_must_be_valid(configured: Configured) -> None:
    configured.mutating(patch({"op": "add", "path": "/data", "value": {"not a key": ""}}))

    answer = configured.probe.api.create(configured.object())

    assert (answer.code, answer.fields) == (422, ["data[not a key]"])


def test_a_hook_does_not_rename_an_object(configured: Configured) -> None:
    made = configured.probe.create(configured.object())
    configured.mutating(patch({"op": "replace", "path": "/metadata/name", "value": "other"}))

    answer = configured.probe.api.patch(made, {"data": {"a": "b"}})

    assert answer.code == 422
    assert "metadata.name" in answer.fields


def test_a_hook_is_asked_about_a_status(configured: Configured) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"]}
    hook = configured.validating(rules=[{**rule, "resources": ["*/status"]}])
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"}
    labels = {"metadata.labels": configured.label}
    pod = configured.probe.create(configured.probe.a("Pod", "v1", labels, spec=spec))

    configured.probe.api.patch(pod, {"metadata": {"annotations": {"a": "b"}}}).expect(200)
    configured.probe.set_status(pod, phase="Running")

    (request,) = hook.seen
    assert request["subResource"] == request["requestSubResource"] == "status"
    assert request["resource"]["resource"] == "pods"
    assert request["object"]["status"]["phase"] == "Running"


def test_a_hook_is_asked_about_a_binding(configured: Configured) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    everything = {"matchExpressions": [{"key": "probe", "operator": "DoesNotExist"}]}
    mine = {"matchLabels": {"kubernetes.io/metadata.name": configured.probe.namespace}}
    hook = configured.validating(
        deny(message="stay"),
        rules=[{**rule, "resources": ["pods/binding"]}],
        objectSelector=everything,
        namespaceSelector=mine,
    )
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"}
    pod = configured.probe.create(configured.probe.a("Pod", "v1", spec=spec))
    target = {"kind": "Node", "name": "nowhere"}
    metadata = {"name": pod["metadata"]["name"]}

    answer = configured.probe.api.request(
        "POST",
        f"{place(pod)}/binding",
        {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target},
    )

    assert answer.code == 400
    (request,) = hook.seen
    assert request["subResource"] == "binding"
    assert request["kind"] == {"group": "", "version": "v1", "kind": "Binding"}


SELECTED: list[tuple[str, Manifest, bool]] = [
    ("all operations", {"rules": [CONFIGMAPS]}, True),
    ("this operation", {"rules": [{**CONFIGMAPS, "operations": ["UPDATE", "CREATE"]}]}, True),
    ("another operation", {"rules": [{**CONFIGMAPS, "operations": ["UPDATE"]}]}, False),
    ("another resource", {"rules": [{**CONFIGMAPS, "resources": ["secrets"]}]}, False),
    ("every resource", {"rules": [{**CONFIGMAPS, "resources": ["*"]}]}, True),
    ("its sub-resources, too", {"rules": [{**CONFIGMAPS, "resources": ["configmaps/*"]}]}, True),
    ("sub-resources only", {"rules": [{**CONFIGMAPS, "resources": ["configmaps/status"]}]}, False),
    ("everything", {"rules": [{**CONFIGMAPS, "resources": ["*/*"]}]}, True),
    ("another group", {"rules": [{**CONFIGMAPS, "apiGroups": ["apps"]}]}, False),
    ("every group", {"rules": [{**CONFIGMAPS, "apiGroups": ["*"]}]}, True),
    ("another version", {"rules": [{**CONFIGMAPS, "apiVersions": ["v2"]}]}, False),
    ("objects of namespaces", {"rules": [{**CONFIGMAPS, "scope": "Namespaced"}]}, True),
    ("objects of the cluster", {"rules": [{**CONFIGMAPS, "scope": "Cluster"}]}, False),
    ("no rules", {"rules": []}, False),
    (
        "other namespaces",
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}},
        False,
    ),
    (
        "all namespaces but one",
        {
            "namespaceSelector": {
                "matchExpressions": [
                    {
                        "key": "kubernetes.io/metadata.name",
                        "operator": "NotIn",
                        "values": ["kube-system"],
                    }
                ]
            }
        },
        True,
    ),
    ("other objects", {"objectSelector": {"matchLabels": {"probe": "other"}}}, False),
    (
        "a condition that holds",
        {
            "matchConditions": [
                {"name": "a", "expression": "object.metadata.annotations['made'] == 'here'"},
                {"name": "b", "expression": "request.operation == 'CREATE' && oldObject == null"},
            ]
        },
        True,
    ),
    (
        "a condition that does not",
        {
            "matchConditions": [
                {"name": "a", "expression": "true"},
                {"name": "b", "expression": "request.userInfo.username == 'nobody'"},
            ]
        },
        False,
    ),
]


@pytest.mark.parametrize("why, content, asked", SELECTED, ids=[row[0] for row in SELECTED])
def test_a_hook_is_asked_about_what_it_selects(
    why: str, content: Manifest, asked: bool, configured: Configured
) -> None:
    hook = configured.validating(**content)

    configured.probe.create(configured.object())

    assert len(hook.seen) == asked, why


def test_an_object_is_looked_at_if_its_old_self_was_selected(configured: Configured) -> None:
    made = configured.probe.create(configured.object())
    hook = configured.validating()

    patch = {"metadata": {"labels": {"probe": "other"}}}
    configured.probe.api.patch(made, patch).expect(200)

    assert len(hook.seen) == 1


def test_a_condition_that_cannot_be_evaluated_is_a_failure(configured: Configured) -> None:
    conditions = [{"name": "a", "expression": "object.nothing == 1"}]
    hook = configured.validating(matchConditions=conditions)

    answer = configured.probe.api.create(configured.object())

    assert answer.code == 403
    assert "no such key: nothing" in answer.message
    assert hook.seen == []


def test_a_condition_that_cannot_be_evaluated_is_ignored_if_failures_are(
    configured: Configured,
) -> None:
    conditions = [{"name": "a", "expression": "object.nothing == 1"}]
    hook = configured.validating(matchConditions=conditions, failurePolicy="Ignore")

    configured.probe.create(configured.object())

    assert hook.seen == []


def test_a_hook_that_is_gone_is_not_asked(configured: Configured) -> None:
    hook = configured.hooks.hook(deny(message="no"))
    made = configured.configure("Validating", configured.webhook(hook))
    assert configured.probe.api.create(configured.object()).code == 400

    configured.probe.delete(made).expect(200)

    eventually(lambda: configured.probe.api.create(configured.object()), is_code(201))
    asked = len(hook.seen)
    configured.probe.create(configured.object())
    assert len(hook.seen) == asked
