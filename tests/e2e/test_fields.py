"""What our definitions say of every single field, a real API server enforces."""

import re
from typing import Any

import pytest

from muster.queue.api.crds import SHORT_NAMES
from tests.e2e.parts import BOUNDS, MANIFESTS, PARTS, Bound, Part
from tests.e2e.stored import Objects
from tests.queue.api.form_rules import ENUMS, LIMITS, Enum, Limit
from tests.queue.api.manifests import MINIMAL, Manifest, changed
from tests.queue.api.structural import Schema


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["kind"])
def test_an_object_with_every_field_is_kept_as_it_is(manifest: Manifest, objects: Objects) -> None:
    kept = objects.try_to_create(manifest)

    given = {field: manifest[field] for field in manifest if field != "metadata"}
    assert {field: kept.body.get(field) for field in given} == given, kept


@pytest.mark.parametrize("kind", sorted(SHORT_NAMES))
def test_an_object_may_have_only_what_is_needed(kind: str, objects: Objects) -> None:
    objects.try_to_create(MINIMAL[kind]).expect(201)


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_a_field_beyond_its_bound_is_refused(bound: Bound, objects: Objects) -> None:
    manifest, place, _ = bound.part.example

    answer = objects.try_to_create(changed(manifest, {place: bound.broken}))

    assert answer.code in {400, 422}, answer
    assert bound.said in answer.body["message"]


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_a_field_at_its_bound_is_not_refused_for_that(bound: Bound, objects: Objects) -> None:
    """Perhaps for something else: a list of many equal entries, say."""
    manifest, place, _ = bound.part.example

    for value in bound.kept:
        answer = objects.try_to_create(changed(manifest, {place: value}))

        assert answer.code in {200, 201, 422}, answer
        assert bound.said not in answer.body.get("message", "")


@pytest.mark.parametrize("rule", LIMITS, ids=lambda rule: f"{rule.kind} {rule.path}")
def test_a_field_at_its_bound_is_accepted(rule: Limit, objects: Objects) -> None:
    allowed = objects.try_to_create(changed(rule.kind, {**rule.given, rule.path: rule.allowed}))
    refused = objects.try_to_create(changed(rule.kind, {**rule.given, rule.path: rule.refused}))

    assert allowed.code in {200, 201}, allowed
    assert refused.code == 422, refused


@pytest.mark.parametrize("rule", ENUMS, ids=lambda rule: f"{rule.kind} {rule.path}")
def test_every_value_of_an_enum_is_accepted(rule: Enum, objects: Objects) -> None:
    for value in rule.values:
        answer = objects.try_to_create(changed(rule.kind, {**rule.given, rule.path: value}))
        assert answer.code in {200, 201}, answer


def without(part: Part) -> Manifest:
    """Return a manifest that has everything around a field, but not the field."""
    if part.path == "status.admission.podSetAssignments[].name":
        assigned = {"clusterQueue": "q", "podSetAssignments": [{}]}
        return changed(part.kind, {"status.admission": assigned})
    parent = part.example.place.rpartition(".")[0]
    return changed(part.kind, {} if parent == "spec.podSets[0]" else {parent: {}})


def defaulted(schema: Schema) -> Any:
    """Return a default in which the defaults of the fields are filled in."""
    if schema["default"] != {}:
        return schema["default"]
    fields = schema["properties"].items()
    return {name: defaulted(field) for name, field in fields if "default" in field}


DEFAULTS = [part for part in PARTS if "default" in part.schema]


@pytest.mark.parametrize("part", DEFAULTS, ids=str)
def test_a_default_is_filled_in(part: Part, objects: Objects) -> None:
    manifest = without(part) if part.path != "spec.active" else MINIMAL["Workload"]

    value: Any = objects.try_to_create(manifest).body

    for step in re.findall(r"[^.\[\]]+", part.example.place):
        value = value[int(step) if isinstance(value, list) else step]
    assert value == defaulted(part.schema)
