"""The words in which the faults of a definition are told."""

import pytest

from muster.queue.sandbox.kinds.definition_form import definition_errors
from tests.queue.api.manifests import Manifest, changed
from tests.queue.sandbox.kinds.definitions import SCHEMA, a_definition, another_version

PLACE = "spec.validation.openAPIV3Schema"
VERSION = "spec.versions[0]"
CONVERSION = "spec.conversion"
CLIENT = f"{CONVERSION}.webhookClientConfig"
APPROVAL = "metadata.annotations[api-approved.kubernetes.io]"
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
KUBERNETES = {"spec.group": "example.k8s.io", "metadata.name": "widgets.example.k8s.io"}
SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
TYPES = "must be one of boolean,date,integer,number,string"


def a_column(**content: str) -> Manifest:
    return {f"{VERSION}.additionalPrinterColumns": [content]}


def a_webhook(client: Manifest, *versions: str) -> Manifest:
    webhook = {"clientConfig": client, "conversionReviewVersions": list(versions)}
    return {CONVERSION: {"strategy": "Webhook", "webhook": webhook}}


FAULTS: list[tuple[Manifest, list[str]]] = [
    ({}, []),
    (
        {"metadata.name": "x.y"},
        ['metadata.name: Invalid value: "x.y": must be spec.names.plural+"."+spec.group'],
    ),
    (
        {"spec.group": "local", "metadata.name": "widgets.local"},
        ['spec.group: Invalid value: "local": should be a domain with at least one dot'],
    ),
    (
        {"spec.scope": "X"},
        ['spec.scope: Unsupported value: "X": supported values: "Cluster", "Namespaced"'],
    ),
    (
        {f"{VERSION}.name": "V1", "status.storedVersions": ["V1"]},
        [
            f'{VERSION}.name: Invalid value: "V1": {LABEL}',
            f'spec.version: Invalid value: "V1": {LABEL}',
        ],
    ),
    (
        {"spec.versions": [], "status.storedVersions": None},
        [
            (
                "spec.versions: Invalid value: []: "
                "must have exactly one version marked as storage version"
            ),
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ],
    ),
    (
        {"status.storedVersions": ["v0", "v1"]},
        [
            (
                'status.storedVersions[0]: Invalid value: "v0": missing from spec.versions; v0 was '
                "previously a storage version, and must remain in spec.versions until a storage "
                "migration ensures no data remains persisted in v0 and removes v0 from "
                "status.storedVersions"
            )
        ],
    ),
    (
        {"status.storedVersions": ["v0"], "spec.versions[1]": another_version("v0")},
        ['status.storedVersions: Invalid value: ["v0"]: must have the storage version v1'],
    ),
    (
        {"spec.names.kind": "not-"},
        [
            (
                'spec.names.kind: Invalid value: "not-": '
                f"may have mixed case, but should otherwise match: {LABEL}"
            )
        ],
    ),
    (
        {"spec.names.listKind": "Widget"},
        ['spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same'],
    ),
    (
        {"spec.names.categories": ["all", "A"]},
        [f'spec.names.categories[1]: Invalid value: "A": {LABEL}'],
    ),
    (
        a_column(name="", type="x", jsonPath="a"),
        [
            "spec.additionalPrinterColumns[0].name: Required value",
            f'spec.additionalPrinterColumns[0].type: Invalid value: "x": {TYPES}',
            (
                'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": '
                "must be a simple json path starting with ."
            ),
        ],
    ),
    (
        a_column(name="A", type="", jsonPath="", format="q"),
        [
            f"spec.additionalPrinterColumns[0].type: Required value: {TYPES}",
            (
                'spec.additionalPrinterColumns[0].format: Invalid value: "q": must be one of '
                "byte,date,date-time,double,float,int32,int64,password"
            ),
            "spec.additionalPrinterColumns[0].JSONPath: Required value",
        ],
    ),
    (
        {
            f"{VERSION}.subresources": {
                "scale": {
                    "specReplicasPath": ".x",
                    "statusReplicasPath": "y",
                    "labelSelectorPath": ".z",
                }
            }
        },
        [
            (
                'spec.subresources.scale.specReplicasPath: Invalid value: ".x": '
                "should be a json path under .spec"
            ),
            (
                'spec.subresources.scale.statusReplicasPath: Invalid value: "y": '
                "must be a simple json path starting with ."
            ),
            (
                'spec.subresources.scale.labelSelectorPath: Invalid value: ".z": '
                "should be a json path under either .spec or .status"
            ),
        ],
    ),
    (
        {f"{VERSION}.deprecationWarning": "x"},
        [
            (
                f'{VERSION}.deprecationWarning: Invalid value: "x": '
                "can only be set for deprecated versions"
            )
        ],
    ),
    (
        {f"{VERSION}.deprecationWarning": "", f"{VERSION}.deprecated": True},
        [f'{VERSION}.deprecationWarning: Invalid value: "": must not be an empty string'],
    ),
    (
        {f"{CONVERSION}.strategy": "Magic"},
        [f'{CONVERSION}.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'],
    ),
    (
        {f"{CONVERSION}.strategy": "Webhook"},
        [
            f"{CLIENT}: Required value: required when strategy is set to Webhook",
            f"{CONVERSION}.conversionReviewVersions: Required value",
        ],
    ),
    (
        a_webhook({}, "v3", "v3"),
        [
            f"{CLIENT}: Required value: exactly one of url or service is required",
            f'{CONVERSION}.conversionReviewVersions[1]: Invalid value: "v3": duplicate version',
            (
                f'{CONVERSION}.conversionReviewVersions: Invalid value: ["v3","v3"]: '
                "must include at least one of v1, v1beta1"
            ),
        ],
    ),
    (
        a_webhook({"url": "http://u:p@x/y?z#a"}, "v1"),
        [
            (
                f"{CLIENT}.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; "
                "desired format: https://host[/path]"
            ),
            f'{CLIENT}.url: Invalid value: "u:p": user information is not permitted in the URL',
            f'{CLIENT}.url: Invalid value: "a": fragments are not permitted in the URL',
            f'{CLIENT}.url: Invalid value: "z": query parameters are not permitted in the URL',
        ],
    ),
    (
        a_webhook({"url": "https:///path"}, "v1"),
        [
            (
                f'{CLIENT}.url: Invalid value: "": host must be specified; '
                "desired format: https://host[/path]"
            )
        ],
    ),
    (
        a_webhook({"service": {"port": 0, "path": "a//b"}}, "v1"),
        [
            f"{CLIENT}.service.name: Required value",
            f"{CLIENT}.service.namespace: Required value",
            (
                f"{CLIENT}.service.port: Invalid value: 0: port is not valid: "
                "must be between 1 and 65535, inclusive"
            ),
            f"{CLIENT}.service.path: Invalid value: \"a//b\": must start with a '/'",
            f'{CLIENT}.service.path: Invalid value: "a//b": segment[0] may not be empty',
            f'{CLIENT}.service.path: Invalid value: "a//b": segment[1] may not be empty',
        ],
    ),
    (
        {**a_webhook({"url": "https://x"}, "v1"), f"{CONVERSION}.strategy": "None"},
        [
            f"{CLIENT}: Forbidden: should not be set when strategy is not set to Webhook",
            (
                f"{CONVERSION}.conversionReviewVersions: Forbidden: "
                "should not be set when strategy is not set to Webhook"
            ),
        ],
    ),
    (
        KUBERNETES,
        [
            (
                f"{APPROVAL}: Required value: protected groups must have approval annotation "
                f'"api-approved.kubernetes.io", {SEE}'
            )
        ],
    ),
    (
        {**KUBERNETES, "metadata.annotations": {"api-approved.kubernetes.io": "hm"}},
        [
            (
                f'{APPROVAL}: Invalid value: "hm": protected groups must have approval annotation '
                '"api-approved.kubernetes.io" with either a URL or a reason starting with '
                f'"unapproved", {SEE}'
            )
        ],
    ),
    (
        {**KUBERNETES, "metadata.annotations": {"api-approved.kubernetes.io": "https://x.y/1"}},
        [],
    ),
    (
        {**KUBERNETES, "metadata.annotations": {"api-approved.kubernetes.io": "unapproved, x"}},
        [],
    ),
    (
        {"spec.preserveUnknownFields": True},
        [
            (
                "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
                "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
            )
        ],
    ),
    (
        {f"{SCHEMA}.nullable": True},
        [f"{PLACE}.nullable: Forbidden: nullable cannot be true at the root"],
    ),
    (
        {f"{SCHEMA}.type": "array", f"{VERSION}.subresources": {"status": {}}},
        [
            (
                f'{PLACE}.type: Invalid value: "array": only "object" is '
                "allowed as the type at the root of the schema if the status subresource is enabled"
            ),
            f"{PLACE}.items: Required value: must be specified",
            f'{PLACE}.type: Invalid value: "array": must be object at the root',
        ],
    ),
]


@pytest.mark.parametrize(
    "changes, told", FAULTS, ids=[" ".join(each) or "none" for each, _ in FAULTS]
)
def test_a_fault_is_told_as_the_real_server_does(changes: Manifest, told: list[str]) -> None:
    errors = [str(error) for error in definition_errors(a_definition(changes), None)]

    assert errors == told


def test_the_root_of_a_schema_with_a_status_says_little() -> None:
    changes = {f"{SCHEMA}.enum": [{}], f"{VERSION}.subresources": {"status": {}}}

    (error,) = definition_errors(a_definition(changes), None)

    assert error.field == PLACE
    assert "only [Description Type Format Title" in error.message


SELECTABLE: list[tuple[str, str]] = [
    (".spec.color", ""),
    (".spec.count", ""),
    (".spec.labels.a", ""),
    ("", "Required value"),
    (".spec.nope", "does not refer to a valid field"),
    (".metadata.name", "does not refer to a valid field"),
    ("spec.color", "expected [ or . but got: spec"),
    (".", "unexpected end of JSON path"),
    (".spec.sizes", "must point to a field of type string, boolean or integer."),
    (".spec.sizes[0]", "array notation is not allowed"),
]


@pytest.mark.parametrize("path, told", SELECTABLE)
def test_a_selectable_field_is_one_of_the_schema(path: str, told: str) -> None:
    fields = {f"{VERSION}.selectableFields": [{"jsonPath": path}]}

    errors = definition_errors(a_definition(fields), None)

    assert [error.field for error in errors] == (
        ["spec.selectableFields[0].jsonPath"] if told else []
    )
    assert all(told in error.message for error in errors)


def test_selectable_fields_are_few_and_different() -> None:
    many = [{"jsonPath": f".spec.labels.f{number}"} for number in range(9)]
    twice = [{"jsonPath": ".spec.color"}] * 2

    (too_many,) = definition_errors(a_definition({f"{VERSION}.selectableFields": many}), None)
    (again,) = definition_errors(a_definition({f"{VERSION}.selectableFields": twice}), None)

    assert str(too_many) == "spec.selectableFields: Too many: 9: must have at most 8 items"
    assert str(again) == 'spec.selectableFields[1].jsonPath: Duplicate value: ".spec.color"'


def test_what_versions_do_not_share_is_told_of_the_version() -> None:
    columns = [{"name": "", "type": "string", "jsonPath": ".a"}]
    second = another_version(additionalPrinterColumns=columns)
    definition = a_definition({"spec.versions[1]": second})

    (error,) = definition_errors(definition, None)

    assert error.field == "spec.versions[1].additionalPrinterColumns[0].name"


def test_a_version_needs_a_schema() -> None:
    definition = a_definition({"spec.versions[1]": another_version(schema={})})

    (error,) = definition_errors(definition, None)

    assert str(error) == "spec.versions[1].schema.openAPIV3Schema: Required value"


IMMUTABLE = [
    ({"spec.scope": "Cluster"}, True, "spec.scope"),
    ({"spec.scope": "Cluster"}, False, ""),
    ({"spec.names.kind": "Other"}, True, "spec.names.kind"),
    ({"spec.names.kind": "Other"}, False, ""),
    ({"spec.names.plural": "others"}, False, "spec.names.plural"),
    ({"spec.group": "example.org"}, False, "spec.group"),
    ({"spec.names.singular": "other"}, True, ""),
]


@pytest.mark.parametrize("changes, established, field", IMMUTABLE)
def test_some_fields_never_change(changes: Manifest, established: bool, field: str) -> None:
    condition = {"type": "Established", "status": "True" if established else "False"}
    old = a_definition({"status.conditions": [condition]})

    errors = definition_errors(changed(old, changes), old)

    assert [error.field for error in errors] == ([field] if field else [])
    assert all(error.message.endswith("field is immutable") for error in errors)


def test_an_old_definition_may_stay_without_approval() -> None:
    old = a_definition(KUBERNETES)

    assert definition_errors(old, old) == []
