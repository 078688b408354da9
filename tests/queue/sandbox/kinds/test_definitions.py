"""Definitions as objects: what is filled, kept apart, warned of and left at a deletion."""

import pytest

from muster.queue.client.kinds import CRD
from muster.queue.sandbox.kinds.conditions import condition
from muster.queue.sandbox.kinds.definitions import FINALIZER, DefinitionStrategy
from muster.queue.sandbox.kinds.schemas import component_of
from tests.queue.api.manifests import NOON, Manifest, changed
from tests.queue.sandbox.kinds.definitions import SPEC, a_definition, another_version

STRATEGY = DefinitionStrategy(component_of(CRD))


def test_names_and_conversion_are_filled() -> None:
    given = a_definition()
    del given["spec"]["names"]["singular"], given["spec"]["names"]["listKind"]
    del given["spec"]["conversion"]

    STRATEGY.default(given)

    assert given["spec"] == a_definition()["spec"]


def test_the_port_of_a_service_is_filled() -> None:
    service = {"namespace": "ns", "name": "x"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    given = a_definition({"spec.conversion": {"strategy": "Webhook", "webhook": webhook}})

    STRATEGY.default(given)

    filled = given["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert filled == {**service, "port": 443}


def test_a_new_definition_has_a_status_of_its_own() -> None:
    given = a_definition({"status": {"acceptedNames": {"plural": "stolen", "kind": "Stolen"}}})

    STRATEGY.prepare_create(given, NOON)

    assert given["status"] == a_definition()["status"]


def test_versions_that_were_stored_are_remembered() -> None:
    old = a_definition()
    new = changed(
        old,
        {
            "spec.versions[0].storage": False,
            "spec.versions[1]": {**another_version(), "storage": True},
            "status.storedVersions": ["v9"],
        },
    )

    STRATEGY.prepare_update(new, old, "", NOON)

    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert old["status"]["storedVersions"] == ["v1"]


def test_a_status_is_written_alone() -> None:
    old = a_definition()
    new = changed(old, {"spec.scope": "Cluster", "status.storedVersions": ["v1", "v0"]})

    STRATEGY.prepare_update(new, old, "status", NOON)

    assert new["spec"] == old["spec"]
    assert new["status"]["storedVersions"] == ["v1", "v0"]


FORMATS: list[tuple[Manifest, list[str]]] = [
    ({"type": "string", "format": "date-time"}, []),
    ({"type": "string", "format": "foo"}, ['unrecognized format "foo"']),
    ({"type": "integer", "format": "int64"}, []),
    ({"type": "integer", "format": "uint8"}, ['unrecognized format "uint8"']),
    ({"type": "number", "format": "double"}, []),
    ({"type": "boolean", "format": "int32"}, ['unrecognized format "int32"']),
    (
        {"type": "array", "items": {"type": "string", "format": "foo"}},
        ['unrecognized format "foo"'],
    ),
    (
        {"type": "object", "additionalProperties": {"type": "string", "format": "foo"}},
        ['unrecognized format "foo"'],
    ),
    ({"type": "string", "anyOf": [{"format": "foo"}]}, ['unrecognized format "foo"']),
]


@pytest.mark.parametrize("schema, told", FORMATS)
def test_formats_that_mean_nothing_are_warned_of(schema: Manifest, told: list[str]) -> None:
    definition = a_definition({f"{SPEC}.properties.f": schema})

    assert list(STRATEGY.warnings(definition, None)) == told
    assert list(STRATEGY.warnings(definition, definition)) == []


def test_a_deletion_waits_for_the_objects() -> None:
    marks = {"deletionTimestamp": NOON, "deletionGracePeriodSeconds": 0, "generation": 2}
    definition = a_definition()
    definition["metadata"] |= {**marks, "finalizers": ["a/b"]}

    STRATEGY.prepare_deletion(definition)
    STRATEGY.prepare_deletion(definition)

    assert definition["metadata"] == {
        "name": "widgets.example.com",
        "generation": 1,
        "deletionTimestamp": NOON,
        "finalizers": ["a/b", FINALIZER],
    }
    (pending,) = definition["status"]["conditions"]
    assert pending == condition(definition, "Terminating")
    assert (pending["status"], pending["reason"]) == ("True", "InstanceDeletionPending")
    assert pending["lastTransitionTime"] == NOON
