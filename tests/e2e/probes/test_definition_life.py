"""How a kind comes to be served, changes and goes."""

from typing import Any

import pytest

from tests.e2e.api import collection, place
from tests.e2e.probes.definitions import (
    GROUP,
    INTEGER,
    STRING,
    VERSION,
    a_definition,
    a_list,
    a_thing,
    an_object,
    define,
    rule,
    ruled,
)
from tests.e2e.probes.probe import Probe, causes, condition, eventually, is_code
from tests.queue.api.manifests import Manifest, changed

SCHEMA = "spec.versions[0].schema.openAPIV3Schema"
SPEC = f"{SCHEMA}.properties.spec"


def kinds(probe: Probe, version: str = VERSION) -> dict[str, Manifest]:
    """Return what is served of a version by plural."""
    answer = probe.api.request("GET", f"/apis/{version}")
    return {each["name"]: each for each in answer.body.get("resources", ())}


def test_a_kind_is_established(probe: Probe) -> None:
    made = define(probe, a_definition(probe))

    accepted = condition(made, "NamesAccepted")
    assert (accepted["status"], accepted["reason"]) == ("True", "NoConflicts")
    established = condition(made, "Established")
    assert (established["status"], established["reason"]) == ("True", "InitialNamesAccepted")
    assert made["status"]["acceptedNames"] == made["spec"]["names"]
    assert made["status"]["storedVersions"] == ["v1"]
    assert made["metadata"]["generation"] == 1


def test_a_kind_is_discovered(probe: Probe) -> None:
    names = {"spec.names.shortNames": ["th"], "spec.names.categories": ["all"]}
    subresources: Manifest = {"status": {}}
    definition = define(probe, a_definition(probe, None, names, subresources=subresources))
    names = definition["spec"]["names"]

    served = eventually(lambda: kinds(probe), lambda served: names["plural"] in served)

    verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    found = served[names["plural"]]
    assert found.pop("storageVersionHash")
    assert found == {
        "name": names["plural"],
        "singularName": names["singular"],
        "namespaced": True,
        "kind": names["kind"],
        "verbs": verbs,
        "shortNames": ["th"],
        "categories": ["all"],
    }
    assert served[f"{names['plural']}/status"] == {
        "name": f"{names['plural']}/status",
        "singularName": "",
        "namespaced": True,
        "kind": names["kind"],
        "verbs": ["get", "patch", "update"],
    }


def test_a_kind_of_the_cluster_has_no_namespaces(probe: Probe) -> None:
    definition = define(probe, a_definition(probe, None, {"spec.scope": "Cluster"}))
    thing = a_thing(probe, definition)
    probe.api.create(thing).expect(201)

    inside = {**thing, "metadata": {**thing["metadata"], "namespace": probe.namespace}}
    assert probe.api.create(inside).code == 404


def test_two_kinds_share_no_names(probe: Probe) -> None:
    first = define(probe, a_definition(probe))
    second = a_definition(probe, None, {"spec.names.kind": first["spec"]["names"]["kind"]})
    own = second["spec"]["names"]["plural"]
    second["spec"]["names"] |= {"singular": own[:-1], "listKind": own}

    probe.create(second)
    now = probe.until(second, lambda now: condition(now, "NamesAccepted"))

    refused = condition(now, "NamesAccepted")
    assert (refused["status"], refused["reason"]) == ("False", "KindConflict")
    assert refused["message"] == f'"{first["spec"]["names"]["kind"]}" is already in use'
    established = condition(now, "Established")
    assert (established["status"], established["reason"]) == ("False", "NotAccepted")
    assert established["message"] == "not all names are accepted"
    things = collection({**a_thing(probe, second), "kind": own[:-1]})
    assert probe.api.request("GET", things).code == 404


def test_a_name_is_free_when_its_kind_has_gone(probe: Probe) -> None:
    first = define(probe, a_definition(probe, None, {"spec.names.shortNames": ["sn1"]}))
    second = probe.create(a_definition(probe, None, {"spec.names.shortNames": ["sn1"]}))
    refused = probe.until(second, lambda now: condition(now, "NamesAccepted"))
    assert condition(refused, "NamesAccepted")["reason"] == "ShortNamesConflict"

    probe.delete(first).expect(200)

    probe.api.wait_for_condition(second, "Established")


def test_objects_go_with_their_kind(probe: Probe) -> None:
    definition = define(probe, a_definition(probe))
    thing = probe.create(a_thing(probe, definition))
    with probe.watch(thing) as events:
        events.take(1)

        probe.delete(definition).expect(200)

        (gone,) = events.take(1)
        assert gone["type"] == "DELETED"
        assert list(events) == []  # the watch ends
    probe.until_gone(definition)
    answer = eventually(lambda: probe.api.get(thing), is_code(404))
    assert answer.body.get("text", "") == "404 page not found\n"


def test_a_kind_waits_for_the_last_of_its_objects(probe: Probe) -> None:
    definition = define(probe, a_definition(probe))
    finalizers = {"metadata.finalizers": ["example.com/wait"]}
    thing = probe.create(a_thing(probe, definition, finalizers))

    answer = probe.delete(definition).expect(200)
    assert answer["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    probe.until(thing, lambda now: "deletionTimestamp" in now["metadata"])
    refused = probe.api.create(a_thing(probe, definition))

    assert (refused.code, refused.body["reason"]) == (403, "Forbidden"), refused
    assert "create not allowed while custom resource definition is terminating" in refused.message
    assert condition(probe.get(definition), "Terminating")["reason"] == "InstanceDeletionInProgress"
    probe.api.patch(thing, {"metadata": {"finalizers": None}}).expect(200)
    probe.until_gone(definition)


@pytest.mark.parametrize("path, value", [("spec.scope", "Cluster"), ("spec.names.kind", "Other")])
def test_some_of_a_kind_never_changes(path: str, value: str, probe: Probe) -> None:
    definition = define(probe, a_definition(probe))

    answer = probe.api.replace(changed(definition, {path: value}))

    assert answer.code == 422
    assert ("FieldValueInvalid", path) in causes(answer)
    assert "field is immutable" in answer.message


def change(probe: Probe, definition: Manifest, changes: Manifest) -> Manifest:
    """Change a definition, whatever its status has become meanwhile."""
    bare = {**definition, "metadata": {"name": definition["metadata"]["name"]}}
    bare.pop("status", None)
    answer = probe.api.apply(changed(bare, changes), fieldManager="other")
    return answer.expect(200)


def test_a_field_is_added(probe: Probe) -> None:
    definition = a_definition(probe, an_object(a=STRING))
    define(probe, definition)
    thing = a_thing(probe, definition, spec={"a": "x", "b": 1})
    assert probe.create(thing)["spec"] == {"a": "x"}

    now = change(probe, definition, {f"{SPEC}.properties.b": INTEGER})
    assert now["metadata"]["generation"] == 2

    again = {**thing, "metadata": a_thing(probe, definition)["metadata"]}
    eventually(
        lambda: probe.api.create(again, dryRun="All").expect(201)["spec"],
        lambda spec: spec == {"a": "x", "b": 1},
    )


def test_a_default_is_added_to_objects_that_exist(probe: Probe) -> None:
    definition = a_definition(probe, an_object(a=STRING))
    define(probe, definition)
    thing = probe.create(a_thing(probe, definition, spec={}))
    assert thing["spec"] == {}

    change(probe, definition, {f"{SPEC}.properties.b": {**INTEGER, "default": 7}})

    now = eventually(lambda: probe.get(thing), lambda thing: thing["spec"] == {"b": 7})
    assert now["metadata"]["resourceVersion"] == thing["metadata"]["resourceVersion"]


def test_a_field_that_is_removed_is_pruned_from_objects_that_exist(probe: Probe) -> None:
    definition = a_definition(probe, an_object(a=STRING, b=STRING))
    define(probe, definition)
    thing = probe.create(a_thing(probe, definition, spec={"a": "x", "b": "y"}))

    change(probe, definition, {f"{SPEC}.properties": {"a": STRING}})

    eventually(lambda: probe.get(thing), lambda thing: thing["spec"] == {"a": "x"})


def test_a_rule_is_added(probe: Probe) -> None:
    definition = a_definition(probe, an_object(a=INTEGER))
    define(probe, definition)
    thing = a_thing(probe, definition, spec={"a": 1})
    probe.create(thing)

    change(probe, definition, {f"{SPEC}.properties.a": ruled(INTEGER, rule("self > 1"))})

    again = {**thing, "metadata": a_thing(probe, definition)["metadata"]}
    answer = eventually(lambda: probe.api.create(again, dryRun="All"), is_code(422))
    assert causes(answer) == [("FieldValueInvalid", "spec.a")]


RATCHETED: list[tuple[str, Manifest, Any, Any]] = [
    # A rule that comes late; a value that breaks it already; another that does.
    ("a rule", ruled(INTEGER, rule("self > 5")), 1, 2),
    ("a bound", {**INTEGER, "minimum": 5}, 1, 2),
    ("an enum", {**STRING, "enum": ["a"]}, "b", "c"),
    ("a rule of entries", a_list(ruled(STRING, rule("self != 'b'")), "set"), ["b"], ["a", "b"]),
]


@pytest.mark.parametrize("why, late, given, other", RATCHETED, ids=[row[0] for row in RATCHETED])
def test_what_breaks_a_rule_that_came_late_may_stay(
    why: str, late: Manifest, given: Any, other: Any, probe: Probe
) -> None:
    before: Manifest = {"type": late["type"]}
    if late["type"] == "array":
        before = a_list(STRING, "set")
    definition = a_definition(probe, an_object(a=before, b=STRING))
    define(probe, definition)
    thing = probe.create(a_thing(probe, definition, spec={"a": given}))

    change(probe, definition, {f"{SPEC}.properties.a": late})
    again = a_thing(probe, definition, spec={"a": given})
    eventually(lambda: probe.api.create(again, dryRun="All"), is_code(422))

    kept = probe.api.patch(thing, {"spec": {"b": "x"}}).expect(200)
    assert kept["spec"] == {"a": given, "b": "x"}, why
    assert probe.api.patch(thing, {"spec": {"a": other}}).code == 422


def test_a_status_is_added(probe: Probe) -> None:
    own = {f"{SCHEMA}.properties.status": an_object(a=STRING)}
    definition = a_definition(probe, None, own)
    define(probe, definition)
    status = {"a": "x"}
    thing = probe.create(a_thing(probe, definition, status=status))
    assert thing["status"] == status

    change(probe, definition, {"spec.versions[0].subresources": {"status": {}}})

    again = a_thing(probe, definition, status=status)
    eventually(
        lambda: probe.api.create(again, dryRun="All").expect(201),
        lambda thing: "status" not in thing,
    )
    found = probe.api.request("GET", f"{place(thing)}/status").expect(200)
    assert found["status"] == status


def test_a_version_that_is_not_served_is_not_found(probe: Probe) -> None:
    definition = a_definition(probe)
    schema = {"openAPIV3Schema": an_object()}
    more = {"name": "v2", "served": False, "storage": False, "schema": schema}
    definition["spec"]["versions"].append(more)
    define(probe, definition)

    thing = {**a_thing(probe, definition), "apiVersion": f"{GROUP}/v2"}
    assert probe.api.request("GET", collection(thing)).code == 404


def test_a_deprecated_version_warns(probe: Probe) -> None:
    deprecated = {"deprecated": True, "deprecationWarning": "use things of tomorrow"}
    definition = define(probe, a_definition(probe, None, None, **deprecated))

    answer = probe.api.listing(a_thing(probe, definition))

    answer.expect(200)
    assert answer.warnings == ('299 - "use things of tomorrow"',)


def test_a_deprecated_version_warns_of_itself(probe: Probe) -> None:
    definition = define(probe, a_definition(probe, None, None, deprecated=True))

    kind = definition["spec"]["names"]["kind"]
    assert probe.api.listing(a_thing(probe, definition)).warnings == (
        f'299 - "{VERSION} {kind} is deprecated"',
    )
