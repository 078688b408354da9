"""Which requests an admission webhook is asked about."""

from typing import Any

import pytest

from muster.queue.client.kinds import NAMESPACE, NODE
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.kinds.resources import Object
from tests.queue.sandbox.api.hooks import (
    CONFIG_MAPS,
    NEW_WIDGETS,
    WIDGETS,
    World,
    a_request,
    a_rule,
    allow,
    an_object,
    deny,
    resource,
)

NODES = resource(NODE)
NAMESPACES = resource(NAMESPACE)

RULES: list[tuple[str, Object, dict[str, Any], bool]] = [
    ("anything", a_rule(), {}, True),
    ("the operation", a_rule(operations=["CREATE"]), {}, True),
    ("another operation", a_rule(operations=["UPDATE", "DELETE"]), {}, False),
    ("the core group", a_rule(apiGroups=[""]), {}, True),
    ("another group", a_rule(apiGroups=["apps"]), {}, False),
    ("the version", a_rule(apiVersions=["v1"]), {}, True),
    ("another version", a_rule(apiVersions=["v2"]), {}, False),
    ("the resource", a_rule(resources=["pods", "configmaps"]), {}, True),
    ("another resource", a_rule(resources=["pods"]), {}, False),
    ("no sub-resource", a_rule(resources=["configmaps"]), {"subresource": "status"}, False),
    ("all but sub-resources", a_rule(resources=["*"]), {"subresource": "status"}, False),
    ("the sub-resource", a_rule(resources=["configmaps/status"]), {"subresource": "status"}, True),
    ("any sub-resource", a_rule(resources=["configmaps/*"]), {"subresource": "status"}, True),
    ("any sub-resource or none", a_rule(resources=["*/*"]), {}, True),
    ("a sub-resource of any", a_rule(resources=["*/status"]), {"subresource": "status"}, True),
    ("a sub-resource only", a_rule(resources=["configmaps/status"]), {}, False),
    ("the scope", a_rule(scope="Namespaced"), {}, True),
    ("another scope", a_rule(scope="Cluster"), {}, False),
    ("any scope", a_rule(scope="*"), {}, True),
    ("objects of the cluster", a_rule(scope="Cluster"), {"of": NODES, "namespace": ""}, True),
    ("a namespace", a_rule(scope="Cluster"), {"of": NAMESPACES, "namespace": "x"}, True),
    ("no namespace", a_rule(scope="Namespaced"), {"of": NAMESPACES, "namespace": "x"}, False),
]


@pytest.mark.parametrize(
    "rule, request_, asked", [each[1:] for each in RULES], ids=[each[0] for each in RULES]
)
def test_a_rule_fits_requests(rule: Object, request_: dict[str, Any], asked: bool) -> None:
    world = World()
    world.add("Validating", "hook", allow, rules=[rule])

    world.validate(a_request(**request_))

    assert bool(world.asked) is asked


@pytest.mark.parametrize("policy, versions", [("Equivalent", ["v2"]), ("Exact", [])])
def test_a_rule_for_one_version_may_fit_all(policy: str, versions: list[str]) -> None:
    world = World()
    rule = a_rule(apiVersions=["v2"], resources=["widgets"])
    world.add("Validating", "hook", allow, rules=[rule], matchPolicy=policy)

    world.validate(a_request(WIDGETS, old_object=an_object(WIDGETS)))

    assert [asked["kind"]["version"] for _, asked in world.asked] == versions
    for _, asked in world.asked:
        assert asked["resource"]["version"] == "v2"
        assert asked["requestKind"]["version"] == asked["requestResource"]["version"] == "v1"
        assert asked["object"]["apiVersion"] == "example.com/v2"
        assert asked["oldObject"]["apiVersion"] == "example.com/v2"


def test_the_version_of_the_request_is_preferred() -> None:
    world = World()
    world.add("Validating", "hook", allow, rules=[a_rule()])

    world.validate(a_request(NEW_WIDGETS))

    assert world.asked[0][1]["object"]["apiVersion"] == "example.com/v2"


LABELS = {"ns": {"team": "a"}, "other": {"team": "b"}}
TEAM_A = {"matchLabels": {"team": "a"}}

SELECTORS: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("the namespace", {"namespaceSelector": TEAM_A}, {}, True),
    ("another namespace", {"namespaceSelector": TEAM_A}, {"namespace": "other"}, False),
    (
        "objects without a namespace",
        {"namespaceSelector": TEAM_A},
        {"of": NODES, "namespace": ""},
        True,
    ),
    ("no object", {"objectSelector": TEAM_A}, {}, False),
    (
        "the object",
        {"objectSelector": TEAM_A},
        {"object": an_object(metadata={"labels": {"team": "a"}})},
        True,
    ),
    (
        "what the object was",
        {"objectSelector": TEAM_A},
        {"old_object": an_object(metadata={"labels": {"team": "a"}})},
        True,
    ),
    (
        "a namespace by the labels it is to have",
        {"namespaceSelector": TEAM_A},
        {
            "of": NAMESPACES,
            "namespace": "new",
            "object": an_object(NAMESPACES, metadata={"labels": {"team": "a"}}),
        },
        True,
    ),
    (
        "a namespace that goes by those it has",
        {"namespaceSelector": TEAM_A},
        {
            "of": NAMESPACES,
            "operation": "DELETE",
            "object": None,
            "old_object": an_object(NAMESPACES),
        },
        True,
    ),
]


@pytest.mark.parametrize(
    "hook, request_, asked", [each[1:] for each in SELECTORS], ids=[each[0] for each in SELECTORS]
)
def test_labels_select(hook: dict[str, Any], request_: dict[str, Any], asked: bool) -> None:
    world = World(LABELS)
    world.add("Validating", "hook", allow, **hook)

    world.validate(a_request(**request_))

    assert bool(world.asked) is asked


def test_configurations_are_not_asked_about_themselves() -> None:
    kind = NODE._replace(
        group="admissionregistration.k8s.io",
        kind="ValidatingWebhookConfiguration",
        plural="validatingwebhookconfigurations",
    )
    world = World()
    world.add("Validating", "hook", deny)

    assert world.validate(a_request(resource(kind), namespace="")) == []


def test_a_configuration_that_is_gone_asks_nobody() -> None:
    world = World()
    world.add("Validating", "hook", deny)
    configuration = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hook"}}

    world.webhooks.changed(configuration, gone=True)

    assert not world.webhooks.active
    assert world.validate(a_request(CONFIG_MAPS)) == []


def test_webhooks_are_active_while_one_is_configured() -> None:
    world = World()
    world.add("Mutating", "hook", deny)

    assert world.webhooks.active


# -- conditions --------------------------------------------------------------------------------


def conditions(*expressions: str) -> list[Object]:
    return [{"name": f"c{i}", "expression": text} for i, text in enumerate(expressions)]


MET = [
    (["true"], True),
    (["true", "false"], False),
    (["request.operation == 'CREATE' && oldObject == null"], True),
    (["request.userInfo.username == 'ann' && 'admins' in request.userInfo.groups"], True),
    (["object.metadata.name == 'y'"], False),
    (["object.kind == 'ConfigMap' && !request.dryRun"], True),
    (["has(object.data)"], False),
    (["object.nothing == 1", "false"], False),
]


@pytest.mark.parametrize("expressions, asked", MET)
def test_all_conditions_must_be_met(expressions: list[str], asked: bool) -> None:
    world = World()
    world.add("Validating", "hook", allow, matchConditions=conditions(*expressions))

    world.validate(a_request())

    assert bool(world.asked) is asked


def test_a_condition_that_has_no_value_is_a_failure() -> None:
    world = World()
    world.add("Mutating", "hook", allow, matchConditions=conditions("object.a == 1", "object.b"))

    with pytest.raises(Refusal) as refused:
        world.mutate(a_request())

    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    assert refused.value.message == (
        'configmaps "x" is forbidden: '
        "[expression 'object.a == 1' resulted in error: no such key: a, "
        "expression 'object.b' resulted in error: no such key: b]"
    )
    assert world.asked == []


def test_a_condition_that_has_no_value_may_be_ignored() -> None:
    world = World()
    unclear = conditions("object.a == 1")
    world.add("Mutating", "hook", deny, matchConditions=unclear, failurePolicy="Ignore")

    world.mutate(a_request())

    assert world.asked == []
