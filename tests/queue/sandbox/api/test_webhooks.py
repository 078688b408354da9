"""What admission webhooks are asked, what they may answer, and what comes of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from muster.queue.client.kinds import CONFIG_MAP
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.kinds.custom import custom_resources
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared, Strategy
from muster.queue.sandbox.kinds.schemas import schema
from tests.queue.sandbox.api.hooks import (
    WIDGETS,
    Answer,
    World,
    a_hook,
    a_request,
    a_rule,
    allow,
    an_object,
    deny,
    patch,
    setting,
)
from tests.queue.sandbox.kinds.definitions import SPEC, a_definition

BOTH = pytest.mark.parametrize("kind", ["Mutating", "Validating"])


def admit(world: World, kind: str, **changes: Any) -> list[str]:
    """Ask the webhooks of that kind; returns their warnings."""
    request = a_request(**changes)
    return world.mutate(request)[1] if kind == "Mutating" else world.validate(request)


def refusal(world: World, kind: str, **changes: Any) -> Refusal:
    with pytest.raises(Refusal) as refused:
        admit(world, kind, **changes)
    return refused.value


def test_a_webhook_is_told_all_of_a_request() -> None:
    world = World()
    world.add("Validating", "hook", allow, rules=[a_rule(resources=["*/*"])])
    old = an_object(WIDGETS, spec={"a": 1})

    world.validate(
        a_request(WIDGETS, operation="UPDATE", subresource="status", old_object=old, dry_run=True)
    )

    kind = {"group": "example.com", "version": "v1", "kind": "Widget"}
    place = {"group": "example.com", "version": "v1", "resource": "widgets"}
    assert world.asked == [
        (
            "hook",
            {
                "uid": "uid-1",
                "kind": kind,
                "resource": place,
                "subResource": "status",
                "requestKind": kind,
                "requestResource": place,
                "requestSubResource": "status",
                "name": "x",
                "namespace": "ns",
                "operation": "UPDATE",
                "userInfo": {"username": "ann", "groups": ["admins"]},
                "object": an_object(WIDGETS),
                "oldObject": old,
                "dryRun": True,
                "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            },
        )
    ]


def test_a_new_object_may_have_no_name_yet() -> None:
    world = World()
    world.add("Mutating", "hook", allow)

    world.mutate(a_request(name="", object=an_object(metadata={"generateName": "x-"})))

    assert "name" not in world.asked[0][1]


def test_a_name_may_have_been_generated_meanwhile() -> None:
    world = World()
    world.add("Validating", "hook", allow)

    world.validate(a_request(name="", object=an_object(metadata={"name": "x-abc"})))

    assert world.asked[0][1]["name"] == "x-abc"


# -- denials -----------------------------------------------------------------------------------

DENIALS: list[tuple[dict[str, Any], tuple[int, str, str]]] = [
    ({}, (400, "", " without explanation")),
    ({"message": "no way"}, (400, "", ": no way")),
    ({"code": 200, "reason": "Teapot"}, (400, "Teapot", ": Teapot")),
    ({"code": 418, "reason": "Teapot", "message": "no"}, (418, "Teapot", ": no")),
]


@BOTH
@pytest.mark.parametrize("status, told", DENIALS)
def test_a_webhook_denies(status: dict[str, Any], told: tuple[int, str, str], kind: str) -> None:
    world = World()
    world.add(kind, "hook", lambda _: {"allowed": False, "status": status, "warnings": ["w"]})

    denied = refusal(world, kind)

    code, reason, message = told
    assert (denied.code, denied.reason, denied.details) == (code, reason, None)
    assert denied.message == f'admission webhook "hook" denied the request{message}'
    assert denied.warnings == ("w",)


def test_a_denial_keeps_its_details() -> None:
    details = {"causes": [{"message": "because"}]}
    world = World()
    world.add("Validating", "hook", lambda _: {"allowed": False, "status": {"details": details}})

    assert refusal(world, "Validating").details == details


def test_the_first_denial_in_order_counts() -> None:
    world = World()
    world.add("Validating", "b", deny)
    world.add("Validating", "a", deny)

    assert '"a"' in refusal(world, "Validating").message
    assert world.names == ["a", "b"]


@BOTH
def test_warnings_are_handed_on(kind: str) -> None:
    world = World()
    world.add(kind, "a", lambda _: {"allowed": True, "warnings": ["one", "two"]})
    world.add(kind, "b", lambda _: {"allowed": True, "warnings": ["three"]})

    assert admit(world, kind) == ["one", "two", "three"]


# -- failures ----------------------------------------------------------------------------------


def whole(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", **answer}


def response(**content: Any) -> Answer:
    return lambda review: whole(
        {"response": {"uid": review["request"]["uid"], "allowed": True, **content}}
    )


UNUSABLE: list[tuple[str, Answer, str]] = [
    ("nothing", lambda _: whole({}), "webhook response was absent"),
    ("another uid", response(uid="x"), 'expected response.uid="uid-1", got "x"'),
    (
        "no kind",
        lambda review: {"response": {"uid": review["request"]["uid"]}},
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ),
    (
        "another kind",
        lambda _: {"apiVersion": "v1", "kind": "Pod", "response": {}},
        'failed to call webhook: no kind "Pod" is registered for version "v1"',
    ),
]
UNUSABLE_CHANGES: list[tuple[str, Answer, str]] = [
    (
        "a patch without a type",
        response(patch="W10="),
        "webhook returned response.patch but not response.patchType",
    ),
    (
        "a type without a patch",
        response(patchType="JSONPatch"),
        "webhook returned response.patchType but not response.patch",
    ),
    (
        "an unknown type",
        response(**{**patch({"op": "remove", "path": "/a"}), "patchType": "Merge"}),
        'unsupported patch type "Merge"',
    ),
    (
        "no JSON",
        response(patchType="JSONPatch", patch="ew=="),
        "received undecodable patch in webhook response: ",
    ),
    (
        "no list",
        response(patchType="JSONPatch", patch="e30="),
        "received undecodable patch in webhook response: ",
    ),
    ("no base64", response(patchType="JSONPatch", patch="!!"), "illegal base64 data"),
]
UNUSABLE_VERDICTS: list[tuple[str, Answer, str]] = [
    ("a patch", response(patch="W10="), "validating webhook may not return response.patch"),
    (
        "a type",
        response(patchType="JSONPatch"),
        "validating webhook may not return response.patchType",
    ),
]
FAILURES = [
    *(("Mutating", *each) for each in (*UNUSABLE, *UNUSABLE_CHANGES)),
    *(("Validating", *each) for each in (*UNUSABLE, *UNUSABLE_VERDICTS)),
]
FAILING = pytest.mark.parametrize(
    "kind, answer, told",
    [(kind, answer, told) for kind, _, answer, told in FAILURES],
    ids=[f"{kind} {name}" for kind, name, _, _ in FAILURES],
)


@FAILING
def test_an_unusable_answer_refuses(kind: str, answer: Answer, told: str) -> None:
    world = World()
    world.review("hook", answer)
    world.configure(kind, "hook", a_hook("hook"))

    failed = refusal(world, kind)

    assert (failed.code, failed.reason) == (500, "InternalError")
    assert failed.message.startswith('Internal error occurred: failed calling webhook "hook": ')
    assert told in failed.message


@FAILING
def test_a_webhook_may_fail(kind: str, answer: Answer, told: str) -> None:
    world = World()
    world.review("hook", answer)
    world.configure(kind, "hook", a_hook("hook", failurePolicy="Ignore"))

    assert admit(world, kind) == [], told


@BOTH
def test_a_service_is_not_reached(kind: str) -> None:
    world = World()
    service = {"namespace": "ns", "name": "hooks", "port": 443, "path": "/check"}
    world.configure(kind, "hook", a_hook("hook", clientConfig={"service": service}))

    told = refusal(world, kind).message

    assert "https://hooks.ns.svc:443/check?timeout=10s" in told
    assert "no service network in the sandbox: use clientConfig.url" in told


@BOTH
@pytest.mark.parametrize("side_effects", ["Some", "Unknown"])
def test_a_dry_run_may_have_no_side_effects(side_effects: str, kind: str) -> None:
    world = World()
    world.add(kind, "hook", allow, sideEffects=side_effects, failurePolicy="Ignore")

    refused = refusal(world, kind, dry_run=True)

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert refused.message == 'admission webhook "hook" does not support dry run'
    assert world.asked == []


@BOTH
@pytest.mark.parametrize("side_effects", ["None", "NoneOnDryRun"])
def test_a_dry_run_asks_who_has_no_side_effects(side_effects: str, kind: str) -> None:
    world = World()
    world.add(kind, "hook", allow, sideEffects=side_effects)

    admit(world, kind, dry_run=True)

    assert world.asked[0][1]["dryRun"] is True


# -- changes -----------------------------------------------------------------------------------


def test_an_object_is_left_alone_without_a_patch() -> None:
    world = World()
    world.add("Mutating", "hook", response_is_empty)
    request = a_request()

    assert world.mutate(request)[0] is request.object


def response_is_empty(_: Shared) -> Mapping[str, Any]:
    return {"allowed": True, **patch()}


def test_each_sees_what_those_before_made() -> None:
    world = World()
    world.add("Mutating", "b", setting("/second", 2))
    world.add("Mutating", "a", setting("/first", 1))
    request = a_request()

    changed, _ = world.mutate(request)

    assert changed == {**an_object(), "first": 1, "second": 2}
    assert request.object == an_object()
    assert [asked["object"].get("first") for _, asked in world.asked] == [None, 1]


def test_who_wants_it_is_asked_again_after_a_change() -> None:
    world = World()
    world.add("Mutating", "a", setting("/first", 1), reinvocationPolicy="IfNeeded")
    world.add("Mutating", "b", setting("/second", 2))
    world.add("Mutating", "c", allow, reinvocationPolicy="IfNeeded")

    world.mutate(a_request())

    assert world.names == ["a", "b", "c", "a"]
    assert world.asked[-1][1]["object"]["second"] == 2


def test_nobody_is_asked_again_without_a_change() -> None:
    world = World()
    world.add("Mutating", "a", setting("/kind", "ConfigMap"), reinvocationPolicy="IfNeeded")
    world.add("Mutating", "b", allow, reinvocationPolicy="IfNeeded")

    world.mutate(a_request())

    assert world.names == ["a", "b"]


MISFITS: list[tuple[Object, str]] = [
    (
        {"op": "remove", "path": "/metadata/a"},
        (
            "error in remove for path: '/metadata/a': Unable to remove nonexistent key: a: "
            "missing value"
        ),
    ),
    (
        {"op": "remove", "path": "/data/a"},
        'remove operation does not apply: doc is missing path: "/data/a": missing value',
    ),
    (
        {"op": "add", "path": "/data/a", "value": 1},
        'add operation does not apply: doc is missing path: "/data/a": missing value',
    ),
    (
        {"op": "add", "path": "/list/7", "value": 1},
        (
            "error in add for path: '/list/7': Unable to access invalid index: 7: "
            "invalid index referenced"
        ),
    ),
    (
        {"op": "replace", "path": "/data/a", "value": 1},
        "replace operation does not apply: doc is missing path: /data/a: missing value",
    ),
    (
        {"op": "replace", "path": "/list/7", "value": 1},
        "replace operation does not apply: doc is missing key: /list/7: missing value",
    ),
    ({"op": "test", "path": "/kind", "value": "Pod"}, "testing value /kind failed: test failed"),
    (
        {"op": "test", "path": "/data/a", "value": 1},
        "test operation does not apply: is missing path: /data/a: missing value",
    ),
    (
        {"op": "move", "path": "/a", "from": "/data/a"},
        "move operation does not apply: doc is missing from path: /data/a: missing value",
    ),
    ({"op": "twist", "path": "/a"}, "Unexpected kind: twist"),
    ({"op": "add"}, "add operation failed to decode path: missing value"),
]


@pytest.mark.parametrize("operation, told", MISFITS, ids=[told for _, told in MISFITS])
def test_a_patch_that_does_not_apply_refuses(operation: Object, told: str) -> None:
    world = World()
    fine = {"op": "add", "path": "/list", "value": [{}]}
    changes = patch(fine, operation)
    world.add("Mutating", "hook", lambda _: {"allowed": True, **changes}, failurePolicy="Ignore")

    refused = refusal(world, "Mutating")

    assert (refused.code, refused.reason) == (500, "InternalError")
    assert refused.message == f"Internal error occurred: {told}"


def test_what_a_patch_leaves_is_pruned_and_filled() -> None:
    definition = a_definition({f"{SPEC}.properties.count.default": 3})
    (resource,) = custom_resources(definition)
    world = World()
    world.add("Mutating", "hook", setting("/spec", {"color": "red", "unknown": 1}))

    changed, _ = world.mutate(a_request(resource))

    assert changed["spec"] == {"color": "red", "count": 3}


def test_a_patch_must_leave_an_object_of_the_kind() -> None:
    resource = Resource(
        kind=CONFIG_MAP,
        singular="configmap",
        schema=schema("io.k8s.api.core.v1.ConfigMap"),
        strategy=Strategy(),
    )
    world = World()
    world.add("Mutating", "hook", setting("/data", {"a": 1}), failurePolicy="Ignore")

    refused = refusal(world, "Mutating", of=resource)

    assert refused.code == 500
    assert refused.message == (
        "Internal error occurred: json: cannot unmarshal number into Go struct field "
        "ConfigMap.data of type string"
    )


def test_there_is_nothing_to_patch_at_a_deletion() -> None:
    world = World()
    world.add("Mutating", "hook", setting("/a", 1))

    refused = refusal(world, "Mutating", operation="DELETE", object=None, old_object=an_object())

    assert 'admission webhook "hook" attempted to modify the object' in refused.message


def test_a_change_in_another_version_is_taken_over() -> None:
    world = World()
    rule = a_rule(apiVersions=["v2"], resources=["widgets"])
    world.add("Mutating", "hook", setting("/a", 1), rules=[rule])

    changed, _ = world.mutate(a_request(WIDGETS))

    assert changed == {**an_object(WIDGETS), "a": 1}
