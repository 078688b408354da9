"""What a schema makes of values: what it refuses, and in which words; what it adds and drops."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.api import Api, place
from tests.e2e.probes.definitions import (
    BOOLEAN,
    INTEGER,
    STRING,
    a_list,
    a_schema,
    a_thing,
    an_object,
    defined,
)
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest

X = "x-kubernetes"

INVALID, TYPE = "FieldValueInvalid", "FieldValueTypeInvalid"
DUPLICATE, UNSUPPORTED = "FieldValueDuplicate", "FieldValueNotSupported"
REQUIRED = "FieldValueRequired"
LONG, MANY = "FieldValueTooLong", "FieldValueTooMany"

ROW = {**an_object(name=STRING, size=INTEGER), "required": ["name"]}
FIELDS: Manifest = {
    "word": STRING,
    "flag": BOOLEAN,
    "count": INTEGER,
    "share": a_schema("number"),
    "short": {**STRING, "minLength": 2, "maxLength": 4},
    "lower": {**STRING, "pattern": "^[a-z]+$"},
    "color": {**STRING, "enum": ["red", "green"]},
    "digit": {**INTEGER, "minimum": 0, "maximum": 9},
    "inner": {**INTEGER, "minimum": 0, "exclusiveMinimum": True},
    "even": {**INTEGER, "multipleOf": 2},
    "small": {**INTEGER, "format": "int32"},
    "pair": a_list(STRING, minItems=2, maxItems=2),
    "some": a_schema("object", additionalProperties=STRING, minProperties=1, maxProperties=2),
    "both": {**an_object(a=STRING, b=STRING), "required": ["a", "b"]},
    "tags": a_list(STRING, "set"),
    "rows": a_list(ROW, "map", "name"),
    "ports": a_list(
        {**an_object(port=INTEGER, protocol={**STRING, "default": "TCP"}), "required": ["port"]},
        "map",
        "port",
        "protocol",
    ),
    "either": {f"{X}-int-or-string": True},
    "maybe": {**STRING, "nullable": True},
    "never": STRING,
    "always": {**STRING, "nullable": True, "default": "here"},
    "known": {**STRING, "default": "there"},
    "free": {**an_object(count=INTEGER), f"{X}-preserve-unknown-fields": True},
    "any": {f"{X}-preserve-unknown-fields": True},
    "one": {**an_object(a=STRING, b=STRING), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "not": {**STRING, "not": {"enum": ["no"]}},
    "all": {**INTEGER, "allOf": [{"minimum": 1}, {"maximum": 2}]},
    "outer": {
        **an_object(
            name={**STRING, "default": "n"}, inner=an_object(size={**INTEGER, "default": 1})
        ),
    },
    "deep": {
        **an_object(inner={**an_object(size={**INTEGER, "default": 1}), "default": {}}),
        "default": {},
    },
    "list": a_list(an_object(size={**INTEGER, "default": 1})),
    "map": a_schema("object", additionalProperties=an_object(size={**INTEGER, "default": 1})),
    "pod": {
        **an_object(),
        f"{X}-embedded-resource": True,
        f"{X}-preserve-unknown-fields": True,
    },
}
for _format in ("date-time", "date", "byte", "email", "uri", "uuid", "ipv4", "cidr", "duration"):
    FIELDS[_format] = {**STRING, "format": _format}

# A fault that is told of the whole object.
NOWHERE = (INVALID, "<nil>")

# What every object has that has not much.
ADDED: Manifest = {"always": "here", "known": "there", "deep": {"inner": {"size": 1}}}


@pytest.fixture(scope="module")
def things(api: Api, namespace: str) -> Iterator[Manifest]:
    with defined(api, namespace, an_object(**FIELDS)) as definition:
        yield definition


def kept(probe: Probe, things: Manifest, spec: Manifest, **query: str) -> Manifest:
    """Return what of a spec is kept."""
    made = probe.api.create(a_thing(probe, things, spec=spec), dryRun="All", **query)
    found: Manifest = made.expect(201)["spec"]
    return found


REFUSED: list[tuple[str, Any, list[tuple[str, str]], str]] = [
    ("word", 1, [(TYPE, "spec.word")], 'spec.word in body must be of type string: "integer"'),
    ("word", ["a"], [(TYPE, "spec.word")], 'must be of type string: "array"'),
    ("flag", "true", [(TYPE, "spec.flag")], 'must be of type boolean: "string"'),
    ("count", "1", [(TYPE, "spec.count")], 'must be of type integer: "string"'),
    (
        "count",
        1.5,
        [(TYPE, "spec.count"), NOWHERE],
        "Checked value must be of type integer (default format) in spec.count",
    ),
    ("share", "1", [(TYPE, "spec.share")], 'must be of type number: "string"'),
    ("both", [], [(TYPE, "spec.both")], 'must be of type object: "array"'),
    ("pair", {}, [(TYPE, "spec.pair")], 'must be of type array: "object"'),
    ("short", "a", [(INVALID, "spec.short")], "should be at least 2 chars long"),
    ("short", "abcde", [(LONG, "spec.short")], "may not be more than 4 bytes"),
    ("lower", "A", [(INVALID, "spec.lower")], "should match '^[a-z]+$'"),
    ("color", "blue", [(UNSUPPORTED, "spec.color")], 'supported values: "red", "green"'),
    ("digit", -1, [(INVALID, "spec.digit")], "should be greater than or equal to 0"),
    ("digit", 10, [(INVALID, "spec.digit")], "should be less than or equal to 9"),
    ("inner", 0, [(INVALID, "spec.inner")], "should be greater than 0"),
    ("even", 3, [(INVALID, "spec.even")], "should be a multiple of 2"),
    ("small", 2**31, [NOWHERE], "must be of type integer with format int32 in spec.small"),
    ("pair", ["a"], [(INVALID, "spec.pair")], "should have at least 2 items"),
    ("pair", ["a"] * 3, [(MANY, "spec.pair")], "must have at most 2 items"),
    ("some", {}, [(INVALID, "spec.some")], "should have at least 1 properties"),
    ("some", dict.fromkeys("abc", ""), [(MANY, "spec.some")], "must have at most 2 items"),
    ("some", {"a": 1}, [(TYPE, "spec.some.a")], ""),
    ("both", {}, [(REQUIRED, "spec.both.a"), (REQUIRED, "spec.both.b")], "Required value"),
    ("both", {"a": "x", "b": None}, [(REQUIRED, "spec.both.b")], ""),
    ("tags", ["a", "b", "a"], [(DUPLICATE, "spec.tags[2]")], 'Duplicate value: "a"'),
    ("rows", [{"name": "a"}] * 2, [(DUPLICATE, "spec.rows[1]")], 'Duplicate value: {"name":"a"}'),
    ("rows", [{"size": 1}], [(REQUIRED, "spec.rows[0].name")], "Required value"),
    (
        "ports",
        [{"port": 1}, {"port": 1, "protocol": "TCP"}],
        [(DUPLICATE, "spec.ports[1]")],
        'Duplicate value: {"port":1,"protocol":"TCP"}',
    ),
    ("either", True, [(TYPE, "spec.either")], 'must be of type integer,string: "boolean"'),
    ("either", 1.5, [(TYPE, "spec.either")], ""),
    ("free", {"count": "x"}, [(TYPE, "spec.free.count")], ""),
    ("one", {"a": "x", "b": "y"}, [NOWHERE], "(oneOf). Found 2 valid alternatives"),
    ("one", {}, [NOWHERE, (REQUIRED, "spec.one.a")], "(oneOf). Found none valid"),
    ("not", "no", [NOWHERE], "must not validate the schema (not)"),
    ("all", 3, [(INVALID, "spec.all"), NOWHERE], "must validate all the schemas (allOf)"),
    ("pod", {}, [(REQUIRED, "spec.pod.apiVersion"), (REQUIRED, "spec.pod.kind")], ""),
    ("date-time", "yesterday", [(TYPE, "spec.date-time")], "must be of type date-time"),
    ("date", "2026-13-01", [(TYPE, "spec.date")], ""),
    ("byte", "?", [(TYPE, "spec.byte")], ""),
    ("email", "nobody", [(TYPE, "spec.email")], ""),
    ("uri", "nowhere", [(TYPE, "spec.uri")], ""),
    ("uuid", "1", [(TYPE, "spec.uuid")], ""),
    ("ipv4", "1.2.3", [(TYPE, "spec.ipv4")], ""),
    ("cidr", "1.2.3.4", [(TYPE, "spec.cidr")], ""),
    ("duration", "long", [(TYPE, "spec.duration")], ""),
]


@pytest.mark.parametrize(
    "field, value, expected, words", REFUSED, ids=[f"{row[0]}={row[1]!r}" for row in REFUSED]
)
def test_a_value_is_refused(
    field: str,
    value: Any,
    expected: list[tuple[str, str]],
    words: str,
    things: Manifest,
    probe: Probe,
) -> None:
    answer = probe.refused(a_thing(probe, things, spec={field: value}))

    assert causes(answer) == expected, answer.message
    assert words in answer.message


ACCEPTED: list[tuple[str, Any]] = [
    ("count", 1.0),
    ("count", 2**53),
    ("share", 1),
    ("share", 0.5),
    ("short", "äöüß"),
    ("either", 1),
    ("either", "1"),
    ("maybe", None),
    ("pair", ["a", "a"]),
    ("rows", [{"name": "b"}, {"name": "a"}]),
    ("date-time", "2026-01-01T12:00:00Z"),
    ("date-time", "2026-01-01T12:00:00.123456+01:00"),
    ("date", "2026-01-01"),
    ("byte", "YQ=="),
    ("uuid", "6f1c5a3e-7d0b-4c58-9a3e-0c7b1d2e3f40"),
    ("ipv4", "10.0.0.1"),
    ("cidr", "10.0.0.0/8"),
    ("duration", "1h30m"),
    ("free", {"count": 1, "other": [{"x": None}]}),
    ("pod", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "A B"}}),
    ("any", [1, "a", {"b": None}]),
    ("pod", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"a": 1}}),
]


@pytest.mark.parametrize(
    "field, value", ACCEPTED, ids=[f"{field}={value!r}" for field, value in ACCEPTED]
)
def test_a_value_is_kept(field: str, value: Any, things: Manifest, probe: Probe) -> None:
    assert kept(probe, things, {field: value}) == {**ADDED, field: value}


CHANGED: list[tuple[str, Manifest, Manifest]] = [
    ("nothing becomes defaults", {}, ADDED),
    (
        "unknown fields go",
        {"unknown": 1, "both": {"a": "", "b": "", "c": ""}},
        {**ADDED, "both": {"a": "", "b": ""}},
    ),
    ("nothing is dropped where it is no value", {"word": None}, ADDED),
    ("nothing makes way for a default where it may not be", {"known": None}, ADDED),
    ("nothing stays where it may be", {"always": None}, {**ADDED, "always": None}),
    ("a default goes into what there is", {"outer": {}}, {**ADDED, "outer": {"name": "n"}}),
    (
        "a default goes deep into what there is",
        {"outer": {"inner": {}}},
        {**ADDED, "outer": {"name": "n", "inner": {"size": 1}}},
    ),
    (
        "a default is for every entry",
        {"list": [{}, {"size": 2}]},
        {**ADDED, "list": [{"size": 1}, {"size": 2}]},
    ),
    ("a default is for every value", {"map": {"a": {}}}, {**ADDED, "map": {"a": {"size": 1}}}),
    (
        "a default is for a part of a key",
        {"ports": [{"port": 1}]},
        {**ADDED, "ports": [{"port": 1, "protocol": "TCP"}]},
    ),
    (
        "unknown fields stay where they may, with no defaults for them",
        {"free": {"x": {"y": 1}}},
        {**ADDED, "free": {"x": {"y": 1}}},
    ),
    (
        "unknown metadata of what is embedded goes",
        {"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "color": "red"}}},
        {**ADDED, "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}},
    ),
]


@pytest.mark.parametrize("why, given, expected", CHANGED, ids=[row[0] for row in CHANGED])
def test_a_spec_is_pruned_and_defaulted(
    why: str, given: Manifest, expected: Manifest, things: Manifest, probe: Probe
) -> None:
    assert kept(probe, things, given) == expected, why


def test_every_fault_is_told(things: Manifest, probe: Probe) -> None:
    spec = {"digit": 10, "color": "blue", "short": "abcde"}

    answer = probe.refused(a_thing(probe, things, spec=spec))

    assert sorted(causes(answer)) == [
        (INVALID, "spec.digit"),
        (UNSUPPORTED, "spec.color"),
        (LONG, "spec.short"),
    ]
    kind = things["spec"]["names"]["kind"]
    group = things["spec"]["group"]
    name = answer.body["details"]["name"]
    assert answer.message.startswith(f'{kind}.{group} "{name}" is invalid: [')
    assert (answer.body["details"]["group"], answer.body["details"]["kind"]) == (group, kind)


@pytest.mark.parametrize("field, value", [("digit", 10), ("tags", ["a", "a"])])
def test_a_value_is_refused_however_it_comes(
    field: str, value: Any, things: Manifest, probe: Probe
) -> None:
    made = probe.create(a_thing(probe, things, spec={}))
    bare = {name: made[name] for name in ("apiVersion", "kind")}

    merged = probe.api.patch(made, {"spec": {field: value}})
    replaced = probe.api.replace({**made, "spec": {field: value}})
    metadata = {name: made["metadata"][name] for name in ("name", "namespace")}
    applied = probe.api.apply({**bare, "metadata": metadata, "spec": {field: value}})

    assert [answer.code for answer in (merged, replaced)] == [422, 422]
    # What is applied must be a set before it is asked whether it is valid.
    assert applied.code == (500 if field == "tags" else 422)
    assert probe.get(made)["spec"] == ADDED


def test_defaults_come_back_when_they_are_removed(things: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, things, spec={"known": "mine"}))

    now = probe.api.patch(made, {"spec": {"known": None}}).expect(200)

    assert now["spec"]["known"] == "there"


def test_unknown_fields_are_warned_of(things: Manifest, probe: Probe) -> None:
    answer = probe.api.create(a_thing(probe, things, spec={"unknown": 1}), dryRun="All")

    answer.expect(201)
    assert answer.warnings == ('299 - "unknown field \\"spec.unknown\\""',)


def test_unknown_fields_are_refused_if_asked(things: Manifest, probe: Probe) -> None:
    thing = a_thing(probe, things, spec={"unknown": 1})

    answer = probe.api.create(thing, fieldValidation="Strict")

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    kind = things["spec"]["names"]["kind"]
    assert answer.message == (
        f'{kind} in version "v1" cannot be handled as a {kind}: strict decoding error: '
        'unknown field "spec.unknown"'
    )


def test_a_status_that_has_no_sub_resource_is_just_a_field(things: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, things, spec={}))

    assert probe.api.request("GET", f"{place(made)}/status").code == 404
