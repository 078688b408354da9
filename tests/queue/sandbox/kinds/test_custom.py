"""What is made of a definition, and what all custom kinds do."""

from typing import Any

import pytest

from muster.queue.sandbox.kinds.custom import (
    custom_resources,
    priority,
    served_versions,
    storage_version,
)
from muster.queue.sandbox.kinds.published import published_schema
from muster.queue.sandbox.kinds.resources import Object, Resource, Scale
from tests.queue.api.manifests import NOON, Manifest, changed
from tests.queue.sandbox.kinds.definitions import SCHEMA, SPEC, a_definition, another_version

VERSION = "spec.versions[0]"
STATUS = {
    f"{VERSION}.subresources.status": {},
    f"{SCHEMA}.properties.status": {
        "type": "object",
        "properties": {"phase": {"type": "string"}, "count": {"type": "integer"}},
    },
}
SCALE = {
    f"{VERSION}.subresources.scale": {
        "specReplicasPath": ".spec.count",
        "statusReplicasPath": ".status.count",
        "labelSelectorPath": ".status.phase",
    }
}


def widgets(changes: Manifest | None = None) -> Resource:
    return custom_resources(a_definition(changes))[0]


def a_widget(changes: Manifest | None = None) -> Object:
    bare = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "x", "namespace": "ns", "uid": "1", "resourceVersion": "7"},
    }
    return changed(bare, changes or {})


# -- resources ---------------------------------------------------------------------------------


def test_a_definition_becomes_a_resource() -> None:
    names = {"spec.names.shortNames": ["wd"], "spec.names.categories": ["all"]}
    more = {f"{SCHEMA}.description": "Does nothing."}
    resource = widgets({**names, **more, **STATUS, **SCALE})

    assert resource.kind.api_version == "example.com/v1"
    assert (resource.kind.kind, resource.kind.plural) == ("Widget", "widgets")
    assert resource.kind.namespaced
    assert resource.key == "widgets.example.com"
    assert (resource.singular, resource.list_kind) == ("widget", "WidgetList")
    assert (resource.short_names, resource.categories) == (("wd",), ("all",))
    assert resource.subresources == ("status", "scale")
    assert resource.scale == Scale(
        spec_replicas=("spec", "count"),
        status_replicas=("status", "count"),
        label_selector=("status", "phase"),
    )
    assert resource.schema_name == "com.example.v1.Widget"
    assert resource.description == "Does nothing."
    assert resource.custom
    assert not resource.strategy.allows_unconditional_update


def test_the_accepted_names_count() -> None:
    accepted = {"kind": "Gizmo", "listKind": "GizmoList", "plural": "widgets", "singular": "gizmo"}

    resource = widgets({"status.acceptedNames": accepted})

    assert (resource.kind.kind, resource.singular) == ("Gizmo", "gizmo")


def test_each_version_is_a_resource() -> None:
    definition = a_definition({"spec.versions[1]": another_version(served=False)})

    versions = [each.kind.version for each in custom_resources(definition)]

    assert versions == ["v1", "v2"]
    assert served_versions(definition) == ["v1"]
    assert storage_version(definition) == "v1"


WARNINGS: list[tuple[Manifest, str]] = [
    ({}, ""),
    ({f"{VERSION}.deprecated": True}, "example.com/v1 Widget is deprecated"),
    ({f"{VERSION}.deprecated": True, f"{VERSION}.deprecationWarning": "old"}, "old"),
    (
        {f"{VERSION}.deprecated": True, "spec.versions[1]": another_version()},
        "example.com/v1 Widget is deprecated; use example.com/v2 Widget",
    ),
    (
        {f"{VERSION}.deprecated": True, "spec.versions[1]": another_version(served=False)},
        "example.com/v1 Widget is deprecated",
    ),
    (
        {f"{VERSION}.deprecated": True, "spec.versions[1]": another_version("v2beta1")},
        "example.com/v1 Widget is deprecated",
    ),
]


@pytest.mark.parametrize("changes, warning", WARNINGS)
def test_a_deprecated_version_warns(changes: Manifest, warning: str) -> None:
    assert widgets(changes).warning == warning


def test_versions_have_an_order() -> None:
    ordered = ["v11", "v2", "v1", "v2beta2", "v2beta1", "v1beta9", "v3alpha1", "bar", "foo", "v1x"]

    assert sorted(ordered, key=priority, reverse=True) == ordered


def test_a_published_schema_says_what_every_object_has() -> None:
    changes = {
        f"{SPEC}.properties": {
            "port": {"x-kubernetes-int-or-string": True},
            "inner": {"type": "object", "x-kubernetes-embedded-resource": True},
        }
    }

    schema = published_schema(a_definition(changes), "v1")

    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "version": "v1", "kind": "Widget"}
    ]
    assert list(schema["properties"]) == ["spec", "apiVersion", "kind", "metadata"]
    reference = {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    assert schema["properties"]["metadata"]["allOf"] == [reference]
    spec = schema["properties"]["spec"]["properties"]
    assert spec["port"] == {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    }
    assert spec["inner"]["required"] == ["kind", "apiVersion"]
    assert list(spec["inner"]["properties"]) == ["apiVersion", "kind", "metadata"]


def test_publishing_a_schema_leaves_the_definition_alone() -> None:
    definition = a_definition()

    published_schema(definition, "v1")

    assert definition == a_definition()


# -- writes ------------------------------------------------------------------------------------


def test_a_new_object_brings_no_status() -> None:
    widget = a_widget({"status.phase": "Done"})

    widgets(STATUS).strategy.prepare_create(widget, NOON)

    assert widget == a_widget()


def test_a_status_without_a_sub_resource_is_a_field_like_others() -> None:
    widget, old = a_widget({"status.phase": "Done"}), a_widget()
    strategy = widgets().strategy

    strategy.prepare_create(widget, NOON)
    strategy.prepare_update(widget, old, "", NOON)

    assert widget == a_widget({"status.phase": "Done"})
    assert strategy.reset_fields("") == ()


def test_a_write_of_the_object_leaves_the_status() -> None:
    old = a_widget({"status.phase": "Done"})
    new = a_widget({"status.phase": "New", "spec.count": 1})
    strategy = widgets(STATUS).strategy

    strategy.prepare_update(new, old, "", NOON)

    assert new == a_widget({"status.phase": "Done", "spec.count": 1})
    assert strategy.reset_fields("") == (("status",),)


def test_a_write_of_the_status_leaves_the_rest() -> None:
    old = a_widget({"metadata.labels.a": "1", "spec.count": 1})
    managed = [{"manager": "me"}]
    new = a_widget({"metadata.managedFields": managed, "spec.count": 2, "status.phase": "Done"})
    strategy = widgets(STATUS).strategy

    strategy.prepare_update(new, old, "status", NOON)

    assert new == changed(old, {"metadata.managedFields": managed, "status.phase": "Done"})
    assert strategy.reset_fields("status") == (("metadata",), ("spec",))


def test_a_status_can_be_taken_away() -> None:
    new = a_widget()

    widgets(STATUS).strategy.prepare_update(new, a_widget({"status.phase": "X"}), "status", NOON)

    assert "status" not in new


def test_defaults_are_filled() -> None:
    resource = widgets({f"{SPEC}.properties.count.default": 3})
    widget = a_widget({"spec": {}})

    resource.strategy.default(widget)

    assert widget["spec"] == {"count": 3}


FAULTS: list[tuple[Manifest, list[str]]] = [
    ({}, []),
    ({"spec.count": "1"}, ["spec.count", ".spec.count"]),
    ({"spec.count": -1}, [".spec.count"]),
    ({"spec.count": 2**31}, [".spec.count"]),
    ({"status.count": -1}, [".status.count"]),
    ({"status.phase": 1}, ["status.phase", ".status.phase"]),
    ({"spec.tags": ["a", "a"]}, ["spec.tags[1]"]),
]
TAGS = {
    f"{SPEC}.properties.tags": {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-list-type": "set",
    }
}


@pytest.mark.parametrize("changes, fields", FAULTS)
def test_a_new_object_is_judged(changes: Manifest, fields: list[str]) -> None:
    strategy = widgets({**STATUS, **SCALE, **TAGS}).strategy

    errors = strategy.validate_create(a_widget(changes))

    assert list(dict.fromkeys(error.field for error in errors)) == fields


def test_rules_are_not_asked_about_what_they_do_not_expect() -> None:
    rule = {"rule": "self.count > 0"}
    strategy = widgets({f"{SPEC}.x-kubernetes-validations": [rule]}).strategy

    *_, told = strategy.validate_create(a_widget({"spec.count": "1"}))

    assert told.field == "<nil>"
    assert "some validation rules were not checked" in told.message


def test_rules_are_asked_last() -> None:
    rule = {"rule": "self.count > 0", "message": "there must be some"}
    growing = {"rule": "self >= oldSelf", "message": "never fewer"}
    rules = {
        f"{SPEC}.x-kubernetes-validations": [rule],
        f"{SPEC}.properties.count.x-kubernetes-validations": [growing],
    }
    strategy = widgets({**rules, **STATUS}).strategy
    none, two, three = (a_widget({"spec.count": count}) for count in (0, 2, 3))

    (broken,) = strategy.validate_create(none)
    assert str(broken) == "spec: Invalid value: there must be some"
    assert strategy.validate_update(three, two, "") == []
    (fewer,) = strategy.validate_update(two, three, "")
    assert str(fewer) == "spec.count: Invalid value: 2: never fewer"
    assert strategy.validate_update(changed(two, {"status.phase": "x"}), two, "status") == []


EMBEDDED: list[tuple[Any, list[str]]] = [
    ({"apiVersion": "v1", "kind": "Pod"}, []),
    ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "ns"}}, []),
    ({}, ["apiVersion", "kind"]),
    ({"apiVersion": "", "kind": 1}, ["apiVersion", "kind"]),
    ({"apiVersion": "a/b/c", "kind": "a b"}, ["apiVersion", "kind"]),
    ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}}, ["metadata.name"]),
    (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b c"}}},
        ["metadata.labels"],
    ),
]


@pytest.mark.parametrize("inner, fields", EMBEDDED)
def test_an_embedded_object_is_a_whole_one(inner: Any, fields: list[str]) -> None:
    whole = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    places = {
        f"{SPEC}.properties.list": {"type": "array", "items": whole},
        f"{SPEC}.properties.map": {"type": "object", "additionalProperties": whole},
    }
    strategy = widgets(places).strategy
    widget = a_widget({"spec.list": [inner], "spec.map": {"key": inner}})

    errors = strategy.validate_create(widget)

    expected = [
        f"{place}.{field}" for place in ("spec.list[0]", "spec.map[key]") for field in fields
    ]
    assert [error.field for error in errors] == expected


def test_what_was_wrong_may_stay() -> None:
    resource = widgets({**STATUS, **TAGS})
    old = a_widget({"spec.tags": ["a", "a"], "spec.color": 1})

    assert resource.strategy.validate_update(changed(old, {"spec.count": 1}), old, "") == []


def test_a_status_is_judged_alone() -> None:
    resource = widgets(STATUS)
    widget = a_widget({"spec.count": "wrong", "status.count": "wrong"})

    errors = resource.strategy.validate_update(widget, a_widget(), "status")

    assert [error.field for error in errors] == ["status.count"]


FINALIZERS: list[tuple[Any, list[str]]] = [
    (None, []),
    (["example.com/a", "foregroundDeletion", "orphan"], []),
    (["known.example.com"], []),
    (["a.b"], ["prefer a domain-qualified finalizer name including a path (/)"]),
    (["a"], ["prefer a domain-qualified finalizer name to avoid"]),
    (["a/b c"], ["name part must consist of alphanumeric characters"]),
]


@pytest.mark.parametrize("finalizers, told", FINALIZERS)
def test_finalizers_with_poor_names_are_warned_of(finalizers: Any, told: list[str]) -> None:
    widget = a_widget({"metadata.finalizers": finalizers})
    old = a_widget({"metadata.finalizers": ["known.example.com"]})

    warnings = list(widgets().strategy.warnings(widget, old))

    assert len(warnings) == len(told)
    assert all(part in warning for part, warning in zip(told, warnings, strict=True))
    assert all(warning.startswith("metadata.finalizers: ") for warning in warnings)
