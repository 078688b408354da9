"""What a definition of a kind may be: each fault of one is refused with its field."""

from typing import Any

import pytest

from tests.e2e.probes.definitions import (
    BOOLEAN,
    GROUP,
    INTEGER,
    STRING,
    a_definition,
    a_list,
    a_schema,
    an_object,
    rule,
    ruled,
)
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest, changed

SHORT = {**STRING, "maxLength": 5}

VERSIONS = "spec.versions"
SCHEMA = f"{VERSIONS}[0].schema.openAPIV3Schema"
# Of a version's schema a refusal tells the place without the number of the version, if it is alone.
PLACE = "spec.validation.openAPIV3Schema"
FIELD = f"{PLACE}.properties[spec].properties[f]"

REQUIRED, INVALID, FORBIDDEN = "FieldValueRequired", "FieldValueInvalid", "FieldValueForbidden"
UNSUPPORTED = "FieldValueNotSupported"


def test_a_definition_gets_defaults(probe: Probe) -> None:
    definition = a_definition(probe)
    made = probe.api.create(definition, dryRun="All").expect(201)

    names = made["spec"]["names"]
    kind = definition["spec"]["names"]["kind"]
    assert names["singular"] == kind.lower()
    assert names["listKind"] == f"{kind}List"
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["status"]["storedVersions"] == ["v1"]


SECOND = {
    "name": "v2",
    "served": True,
    "storage": False,
    "schema": {"openAPIV3Schema": an_object()},
}

FAULTS: list[tuple[str, Manifest, list[tuple[str, str]]]] = [
    (
        "a name that is not plural and group",
        {"metadata.name": "x.example.com"},
        [(INVALID, "metadata.name")],
    ),
    ("no group", {"spec.group": ""}, [(INVALID, "metadata.name"), (REQUIRED, "spec.group")]),
    (
        "a group without a dot",
        {"spec.group": "probes"},
        [(INVALID, "metadata.name"), (INVALID, "spec.group")],
    ),
    ("an unknown scope", {"spec.scope": "Global"}, [(UNSUPPORTED, "spec.scope")]),
    ("no scope", {"spec.scope": ""}, [(REQUIRED, "spec.scope")]),
    (
        "no kind",
        {"spec.names.kind": ""},
        [(REQUIRED, f"spec.names.{name}") for name in ("singular", "kind", "listKind")],
    ),
    (
        "a bad kind",
        {"spec.names.kind": "a b"},
        [(INVALID, f"spec.names.{name}") for name in ("singular", "kind", "listKind")],
    ),
    (
        "a kind that is its list",
        {"spec.names.listKind": "Thing", "spec.names.kind": "Thing"},
        [(INVALID, "spec.names.listKind")],
    ),
    ("a bad short name", {"spec.names.shortNames": ["A"]}, [(INVALID, "spec.names.shortNames[0]")]),
    ("a bad category", {"spec.names.categories": ["A"]}, [(INVALID, "spec.names.categories[0]")]),
    ("no version", {VERSIONS: []}, [(INVALID, VERSIONS), (INVALID, "status.storedVersions")]),
    (
        "a version twice",
        {f"{VERSIONS}[1]": {**SECOND, "name": "v1"}},
        [(INVALID, VERSIONS)],
    ),
    (
        "no version that is stored",
        {f"{VERSIONS}[0].storage": False},
        [(INVALID, VERSIONS), (INVALID, "status.storedVersions")],
    ),
    (
        "two versions that are stored",
        {f"{VERSIONS}[1]": {**SECOND, "storage": True}},
        [(INVALID, VERSIONS), (INVALID, "status.storedVersions")],
    ),
    (
        "a bad version",
        {f"{VERSIONS}[0].name": "V_1"},
        [(INVALID, f"{VERSIONS}[0].name"), (INVALID, "spec.version")],
    ),
    (
        "no schema",
        {f"{VERSIONS}[0].schema": None},
        [(REQUIRED, f"{VERSIONS}[0].schema.openAPIV3Schema")],
    ),
    (
        "unknown fields by the old way",
        {"spec.preserveUnknownFields": True},
        [(INVALID, "spec.preserveUnknownFields")],
    ),
    (
        "a conversion by nobody",
        {"spec.conversion": {"strategy": "Webhook"}},
        [
            (REQUIRED, "spec.conversion.webhookClientConfig"),
            (REQUIRED, "spec.conversion.conversionReviewVersions"),
        ],
    ),
    (
        "an unknown conversion",
        {"spec.conversion": {"strategy": "Magic"}},
        [(UNSUPPORTED, "spec.conversion.strategy")],
    ),
    (
        "a conversion over plain HTTP",
        {
            "spec.conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": "http://127.0.0.1/"},
                    "conversionReviewVersions": ["v1"],
                },
            }
        },
        [(INVALID, "spec.conversion.webhookClientConfig.url")],
    ),
    (
        "a group of the project without its approval",
        {
            "spec.group": "probes.k8s.io",
            "metadata.name": "things.probes.k8s.io",
            "spec.names.plural": "things",
        },
        [(REQUIRED, "metadata.annotations[api-approved.kubernetes.io]")],
    ),
    (
        "a column of no type",
        {f"{VERSIONS}[0].additionalPrinterColumns": [{"name": "A", "jsonPath": ".a"}]},
        [(REQUIRED, "spec.additionalPrinterColumns[0].type")],
    ),
    (
        "a column of an unknown type",
        {f"{VERSIONS}[0].additionalPrinterColumns": [{"name": "A", "type": "x", "jsonPath": ".a"}]},
        [(INVALID, "spec.additionalPrinterColumns[0].type")],
    ),
    (
        "a column of a bad path",
        {
            f"{VERSIONS}[0].additionalPrinterColumns": [
                {"name": "A", "type": "string", "jsonPath": "a"}
            ]
        },
        [(INVALID, "spec.additionalPrinterColumns[0].JSONPath")],
    ),
    (
        "a scale without paths",
        {f"{VERSIONS}[0].subresources.scale": {}},
        [
            (REQUIRED, "spec.subresources.scale.specReplicasPath"),
            (REQUIRED, "spec.subresources.scale.statusReplicasPath"),
        ],
    ),
    (
        "a selectable field that is none",
        {f"{VERSIONS}[0].selectableFields": [{"jsonPath": ".spec.nothing"}]},
        [(INVALID, "spec.selectableFields[0].jsonPath")],
    ),
]


@pytest.mark.parametrize("why, changes, expected", FAULTS, ids=[row[0] for row in FAULTS])
def test_a_definition_is_refused(
    why: str, changes: Manifest, expected: list[tuple[str, str]], probe: Probe
) -> None:
    definition = changed(a_definition(probe), changes)

    answer = probe.api.create(definition, dryRun="All")

    assert answer.code == 422, answer
    assert causes(answer) == expected, (why, answer.message)
    details = answer.body["details"]
    assert (details["group"], details["kind"]) == (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
    )


X = "x-kubernetes"

BAD_FIELDS: list[tuple[str, Manifest, list[tuple[str, str]]]] = [
    ("no type", {"description": "?"}, [(REQUIRED, f"{FIELD}.type")]),
    ("an unknown type", a_schema("text"), [(UNSUPPORTED, f"{FIELD}.type")]),
    ("no items", a_schema("array"), [(REQUIRED, f"{FIELD}.items")]),
    (
        "several types of items",
        {"type": "array", "items": [STRING]},
        [(FORBIDDEN, f"{FIELD}.items")],
    ),
    (
        "properties and any other",
        {**an_object(a=STRING), "additionalProperties": STRING},
        [(FORBIDDEN, f"{FIELD}.additionalProperties")],
    ),
    ("unique items", a_list(STRING, uniqueItems=True), [(FORBIDDEN, f"{FIELD}.uniqueItems")]),
    ("a bad pattern", {**STRING, "pattern": "("}, [(INVALID, f"{FIELD}.pattern")]),
    (
        "a default of another type",
        {**STRING, "default": 1},
        [("FieldValueTypeInvalid", f"{FIELD}.default")],
    ),
    (
        "a default out of bounds",
        {**INTEGER, "minimum": 2, "default": 1},
        [(INVALID, f"{FIELD}.default")],
    ),
    (
        "a default with unknown fields",
        {**an_object(a=STRING), "default": {"b": "c"}},
        [(INVALID, f"{FIELD}.default")],
    ),
    (
        "a default that breaks a rule",
        ruled({**INTEGER, "default": 1}, rule("self > 1")),
        [(INVALID, f"{FIELD}.default")],
    ),
    ("a reference", {"$ref": "#/x"}, [(FORBIDDEN, f"{FIELD}.$ref")]),
    (
        "an alternative with a type",
        {**STRING, "anyOf": [{"type": "string", "minLength": 1}]},
        [(FORBIDDEN, f"{FIELD}.anyOf[0].type")],
    ),
    (
        "an alternative with a description",
        {**STRING, "oneOf": [{"description": "?"}]},
        [(FORBIDDEN, f"{FIELD}.oneOf[0].description")],
    ),
    ("an unknown list type", a_list(STRING, "bag"), [(UNSUPPORTED, f"{FIELD}.{X}-list-type")]),
    (
        "a list map without keys",
        a_list(an_object(a=STRING), "map"),
        [(REQUIRED, f"{FIELD}.{X}-list-map-keys")],
    ),
    (
        "a list map of words",
        a_list(STRING, "map", "a"),
        [(INVALID, f"{FIELD}.items.type")],
    ),
    (
        "a list map by a field that is none",
        a_list(an_object(a=STRING), "map", "b"),
        [(INVALID, f"{FIELD}.{X}-list-map-keys")],
    ),
    (
        "a list map by a field that may be missing",
        a_list(an_object(a=STRING), "map", "a"),
        [(REQUIRED, f"{FIELD}.items.properties[a].default")],
    ),
    (
        "a set of objects",
        a_list(an_object(a=STRING), "set"),
        [(INVALID, f"{FIELD}.items.{X}-map-type")],
    ),
    (
        "an unknown map type",
        {**an_object(a=STRING), f"{X}-map-type": "tree"},
        [(UNSUPPORTED, f"{FIELD}.{X}-map-type")],
    ),
    (
        "a list type of what is none",
        {**STRING, f"{X}-list-type": "atomic"},
        [(INVALID, f"{FIELD}.type")],
    ),
    (
        "unknown fields that are not kept",
        {**an_object(), f"{X}-preserve-unknown-fields": False},
        [(INVALID, f"{FIELD}.{X}-preserve-unknown-fields")],
    ),
    (
        "an embedded object that is a word",
        {**STRING, f"{X}-embedded-resource": True},
        [(REQUIRED, f"{FIELD}.properties"), (INVALID, f"{FIELD}.type")],
    ),
    (
        "a rule of nothing",
        ruled(STRING, rule("")),
        [(REQUIRED, f"{FIELD}.{X}-validations[0].rule")],
    ),
    (
        "a rule that is no expression",
        ruled(STRING, rule("self ==")),
        [(INVALID, f"{FIELD}.{X}-validations[0].rule")],
    ),
    (
        "a rule about an unknown field",
        ruled(an_object(a=STRING), rule("self.b == ''")),
        [(INVALID, f"{FIELD}.{X}-validations[0].rule")],
    ),
    (
        "a rule that is no question",
        ruled(STRING, rule("self")),
        [(INVALID, f"{FIELD}.{X}-validations[0].rule")],
    ),
    (
        "a rule of mixed types",
        ruled(STRING, rule("self == 1")),
        [(INVALID, f"{FIELD}.{X}-validations[0].rule")],
    ),
    (
        "a message that is no word",
        ruled(STRING, rule("self == ''", messageExpression="1")),
        [(INVALID, f"{FIELD}.{X}-validations[0].messageExpression")],
    ),
    (
        "a message of two lines",
        ruled(STRING, rule("self == ''", message="a\nb")),
        [(INVALID, f"{FIELD}.{X}-validations[0].message")],
    ),
    (
        "an unknown reason",
        ruled(STRING, rule("self == ''", reason="Because")),
        [(UNSUPPORTED, f"{FIELD}.{X}-validations[0].reason")],
    ),
    (
        "a place that is none",
        ruled(an_object(a=STRING), rule("true", fieldPath=".b")),
        [(INVALID, f"{FIELD}.{X}-validations[0].fieldPath")],
    ),
    (
        "an old value in an atomic list",
        a_list(ruled(an_object(a=SHORT), rule("self.a == oldSelf.a")), maxItems=5),
        [(INVALID, f"{FIELD}.items.{X}-validations[0].rule")],
    ),
    (
        "an old value that is optional for nothing",
        ruled(STRING, rule("self == ''", optionalOldSelf=True)),
        [(INVALID, f"{FIELD}.{X}-validations[0].optionalOldSelf")],
    ),
]


@pytest.mark.parametrize("why, schema, expected", BAD_FIELDS, ids=[row[0] for row in BAD_FIELDS])
def test_a_schema_of_a_field_is_refused(
    why: str, schema: Manifest, expected: list[tuple[str, str]], probe: Probe
) -> None:
    definition = a_definition(probe, an_object(f=schema))

    answer = probe.api.create(definition, dryRun="All")

    assert answer.code == 422, answer
    assert causes(answer) == expected, (why, answer.message)


GOOD_FIELDS: dict[str, Any] = {
    "a number of properties": {**an_object(a=STRING), "minProperties": 1},
    "no additional properties": a_schema("object", additionalProperties=False),
    "an alternative of a field that is none": {
        **an_object(a=STRING),
        "anyOf": [{"properties": {"b": {"minLength": 1}}}],
    },
    "unknown fields of a word": {**STRING, f"{X}-preserve-unknown-fields": True},
    "a number or word that is a word": {**STRING, f"{X}-int-or-string": True},
    "an enum of twice the same": {**STRING, "enum": ["a", "a"]},
    "unknown fields of no type": {f"{X}-preserve-unknown-fields": True},
    "a number or word": {f"{X}-int-or-string": True},
    "a number or word in both ways": {
        f"{X}-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
    },
    "a set of words": a_list(STRING, "set"),
    "a list map by a required key": a_list({**an_object(a=STRING), "required": ["a"]}, "map", "a"),
    "a list map by a default": a_list(an_object(a={**STRING, "default": ""}), "map", "a"),
    "an embedded object": {
        **an_object(),
        f"{X}-embedded-resource": True,
        f"{X}-preserve-unknown-fields": True,
    },
    "nothing or a word": {**STRING, "nullable": True, "default": None},
    "a rule of an atomic list about its elements": ruled(
        a_list(SHORT, maxItems=5), rule("self.all(x, x != '')")
    ),
    "a rule about the old value": ruled(STRING, rule("self == oldSelf")),
    "a rule about an old value that may be missing": ruled(
        STRING, rule("oldSelf.orValue('') == self", optionalOldSelf=True)
    ),
    "a rule over flags": ruled(BOOLEAN, rule("self || !self")),
    "a field with a name that must be escaped": ruled(
        an_object(**{"a-b": STRING, "namespace": STRING}),
        rule("has(self.a__dash__b) || has(self.__namespace__)"),
    ),
}


@pytest.mark.parametrize("schema", GOOD_FIELDS.values(), ids=GOOD_FIELDS)
def test_a_schema_of_a_field_is_accepted(schema: Manifest, probe: Probe) -> None:
    definition = a_definition(probe, an_object(f=schema))

    answer = probe.api.create(definition, dryRun="All", fieldValidation="Strict")

    answer.expect(201)
    assert answer.warnings == ()


BAD_METADATA: list[tuple[str, Manifest, list[tuple[str, str]]]] = [
    (
        "a bound of labels",
        {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        [(FORBIDDEN, f"{PLACE}.properties[metadata]")],
    ),
    (
        "a bound of the kind",
        {"kind": a_schema("integer")},
        [(INVALID, f"{PLACE}.properties[kind].type")],
    ),
]


@pytest.mark.parametrize(
    "why, properties, expected", BAD_METADATA, ids=[row[0] for row in BAD_METADATA]
)
def test_a_schema_of_what_all_objects_have_is_refused(
    why: str, properties: Manifest, expected: list[tuple[str, str]], probe: Probe
) -> None:
    definition = a_definition(probe, changes={f"{SCHEMA}.properties": properties})

    answer = probe.api.create(definition, dryRun="All")

    assert answer.code == 422, answer
    assert causes(answer) == expected, (why, answer.message)


def test_a_name_may_be_bound(probe: Probe) -> None:
    name = {"type": "object", "properties": {"name": {**STRING, "maxLength": 9}}}
    definition = a_definition(probe, changes={f"{SCHEMA}.properties.metadata": name})

    probe.api.create(definition, dryRun="All").expect(201)


def test_the_group_of_the_project_may_be_approved(probe: Probe) -> None:
    definition = a_definition(probe, changes={"spec.group": "probes.k8s.io"})
    plural = definition["spec"]["names"]["plural"]
    definition["metadata"] = {
        "name": f"{plural}.probes.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"},
    }

    probe.api.create(definition, dryRun="All").expect(201)


def test_a_definition_is_called_by_plural_and_group(probe: Probe) -> None:
    definition = a_definition(probe, changes={"metadata.name": f"x.{GROUP}"})

    answer = probe.api.create(definition, dryRun="All")

    plural = definition["spec"]["names"]["plural"]
    assert 'must be spec.names.plural+"."+spec.group' in answer.message
    assert plural not in answer.body["details"]["name"]


def test_an_unknown_format_is_warned_of(probe: Probe) -> None:
    definition = a_definition(probe, an_object(f={**STRING, "format": "color"}))

    answer = probe.api.create(definition, dryRun="All")

    answer.expect(201)
    assert answer.warnings == ('299 - "unrecognized format \\"color\\""',)
