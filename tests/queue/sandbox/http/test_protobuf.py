"""Bodies in protocol buffers: those of kubectl, those of a real server, and those of nobody."""

import asyncio
import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.client.kinds import Kind
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.api.form import Place
from muster.queue.sandbox.http.bodies import read_object
from muster.queue.sandbox.http.protobuf import decode_content, open_envelope
from muster.queue.sandbox.http.wire import WireError
from muster.queue.sandbox.kinds.builtin import builtin_resources
from muster.queue.sandbox.kinds.resources import Object, Resource, Strategy
from muster.queue.sandbox.kinds.schemas import field_numbers, schema
from muster.queue.sandbox.schema.decoding import decode
from muster.queue.sandbox.schema.node import ANYTHING, Schema
from tests.e2e.builtin_answers import ENCODED, RECORDED, told
from tests.queue.sandbox.http.encoding import MAGIC, Numbered, envelope, message, varint

ANSWERS = json.loads(RECORDED.read_text(encoding="utf-8"))
OBJECTS = json.loads(ENCODED.read_text(encoding="utf-8"))
RESOURCES = {
    (resource.kind.api_version, resource.kind.kind): resource for resource in builtin_resources()
}


def read(body: bytes) -> Object:
    """Return the object in a body, kept as one that came in JSON would be."""
    found = open_envelope(body)
    resource = RESOURCES[found.api_version, found.kind]
    head = {"kind": found.kind, "apiVersion": found.api_version}
    obj = head | decode_content(found.content, resource.schema)
    assert decode(resource.schema, obj) == []
    resource.strategy.default(obj)
    return obj


# -- what others write -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", OBJECTS)
def test_a_real_server_means_the_same_in_both_forms(name: str) -> None:
    obj = read(base64.b64decode(OBJECTS[name]))

    assert told(201, obj) == ANSWERS[f"accepted: {name}"]


NAMED = b'\n\x15\n\x01a\x12\x00\x1a\x04spot"\x00*\x002\x008\x00B\x00'
"""Metadata as kubectl writes them."""
REVIEWED = (
    b"k8s\x00\n2\n\x17authorization.k8s.io/v1\x12\x17SelfSubjectAccessReview\x12<\n\x10\n\x00\x12"
    b'\x00\x1a\x00"\x00*\x002\x008\x00B\x00\x12\x1e\n\x1c\n\x04pbns\x12\x06create\x1a\x00"\x00'
    b'*\x04pods2\x00:\x00\x1a\x08\x08\x00\x12\x00\x1a\x00 \x00\x1a\x00"\x00'
)
KUBECTL: dict[str, tuple[bytes, Object]] = {
    "create configmap a --from-literal=x=1 --from-literal=y=": (
        b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12&"
        + NAMED
        + b'\x12\x06\n\x01x\x12\x011\x12\x05\n\x01y\x12\x00\x1a\x00"\x00',
        {"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": "1", "y": ""}},
    ),
    "create secret generic a --from-literal=p=q --type=foo/bar": (
        b"k8s\x00\n\x0c\n\x02v1\x12\x06Secret\x12("
        + NAMED
        + b'\x12\x06\n\x01p\x12\x01q\x1a\x07foo/bar\x1a\x00"\x00',
        {"kind": "Secret", "apiVersion": "v1", "data": {"p": "cQ=="}, "type": "foo/bar"},
    ),
    "create poddisruptionbudget a --selector=a=b --min-available=50%": (
        b"k8s\x00\n \n\tpolicy/v1\x12\x13PodDisruptionBudget\x12:"
        + NAMED
        + b"\x12\x15\n\t\x08\x01\x10\x00\x1a\x0350%\x12\x08\n\x06\n\x01a\x12\x01b"
        + b'\x1a\n\x08\x00\x18\x00 \x00(\x000\x00\x1a\x00"\x00',
        {
            "kind": "PodDisruptionBudget",
            "apiVersion": "policy/v1",
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}},
        },
    ),
    "create role a --verb=get,list --resource=pods": (
        b"k8s\x00\n$\n\x1crbac.authorization.k8s.io/v1\x12\x04Role\x12,"
        + NAMED
        + b'\x12\x13\n\x03get\n\x04list\x12\x00\x1a\x04pods\x1a\x00"\x00',
        {
            "kind": "Role",
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}],
        },
    ),
}


@pytest.mark.parametrize("command", KUBECTL)
def test_what_kubectl_leaves_out_is_not_there(command: str) -> None:
    body, expected = KUBECTL[command]

    obj = read(body)

    wanted = {"metadata": {"name": "a", "namespace": "spot"}, **expected}
    assert {name: value for name, value in obj.items() if name in wanted} == wanted


def test_a_question_of_kubectl_is_read() -> None:
    found = open_envelope(REVIEWED)
    component = f"io.k8s.api.{found.api_version.replace('.k8s.io/', '.')}.{found.kind}"

    obj = decode_content(found.content, schema(component))

    asked = obj["spec"]["resourceAttributes"]
    assert {name: value for name, value in asked.items() if value} == {
        "namespace": "pbns",
        "verb": "create",
        "resource": "pods",
    }


# -- types -----------------------------------------------------------------------------------------


Case = tuple[str, str, Numbered, Object]
"""What is tried, the name of a type, the fields of a message, and what they are in JSON."""


def a_type(name: str) -> Schema:
    """Return the schema of a type with fields."""
    (component,) = [each for each in field_numbers() if each.endswith(f".{name}")]
    return schema(component)


CASES: list[Case] = [
    ("a time", "ObjectMeta", {8: {1: 3600, 2: 9}}, {"creationTimestamp": "1970-01-01T01:00:00Z"}),
    (
        "a time before 1970",
        "ObjectMeta",
        {8: {1: -1}},
        {"creationTimestamp": "1969-12-31T23:59:59Z"},
    ),
    ("no time", "ObjectMeta", {8: {}}, {"creationTimestamp": None}),
    ("the zero time", "ObjectMeta", {8: {1: -62_135_596_800}}, {"creationTimestamp": None}),
    ("the epoch", "ObjectMeta", {8: {1: 0}}, {"creationTimestamp": "1970-01-01T00:00:00Z"}),
    (
        "a time to the microsecond",
        "LeaseSpec",
        {3: {1: 3600, 2: 5_999}},
        {"acquireTime": "1970-01-01T01:00:00.000005Z"},
    ),
    ("a number that may be a text", "HTTPGetAction", {2: {1: 0, 2: 80, 3: ""}}, {"port": 80}),
    ("a text that may be a number", "HTTPGetAction", {2: {1: 1, 2: 0, 3: "web"}}, {"port": "web"}),
    ("a quantity", "EmptyDirVolumeSource", {2: {1: "1Gi"}}, {"sizeLimit": "1Gi"}),
    ("no quantity", "EmptyDirVolumeSource", {2: {}}, {"sizeLimit": "0"}),
    (
        "quantities",
        "ResourceRequirements",
        {1: [{1: "cpu", 2: {1: "1"}}, {1: "m"}]},
        {"limits": {"cpu": "1", "m": "0"}},
    ),
    ("fields", "ManagedFieldsEntry", {7: {1: '{"f:a":{}}'}}, {"fieldsV1": {"f:a": {}}}),
    ("no fields", "ManagedFieldsEntry", {7: {}}, {"fieldsV1": None}),
    ("a small number below 0", "PodSpec", {25: -5}, {"priority": -5}),
    ("a small number of more bits", "PodSpec", {25: 2**32 + 7}, {"priority": 7}),
    (
        "a large number below 0",
        "PodSpec",
        {4: -(2**63)},
        {"terminationGracePeriodSeconds": -(2**63)},
    ),
    (
        "true and false",
        "PodSpec",
        {11: 1, 12: 0, 13: 2},
        {"hostNetwork": True, "hostPID": False, "hostIPC": True},
    ),
    ("bytes", "Secret", {2: {1: "k", 2: b"\xff\x00"}}, {"data": {"k": "/wA="}}),
    ("an entry without a key", "ConfigMap", {2: {2: "v"}}, {"data": {"": "v"}}),
    ("an entry without bytes", "Secret", {2: {1: "k"}}, {"data": {"k": ""}}),
    (
        "lists in a map",
        "SubjectAccessReviewSpec",
        {5: [{1: "a", 2: {1: ["x", "y"]}}, {1: "b"}]},
        {"extra": {"a": ["x", "y"], "b": []}},
    ),
    (
        "a list of messages",
        "PodSpec",
        {2: [{1: "a"}, {1: "b"}]},
        {"containers": [{"name": "a"}, {"name": "b"}]},
    ),
    ("numbers one by one", "PodSecurityContext", {4: [1, -2]}, {"supplementalGroups": [1, -2]}),
    (
        "numbers in one piece",
        "PodSecurityContext",
        {4: b"\x01\x96\x01"},
        {"supplementalGroups": [1, 150]},
    ),
    (
        "fields of a message around",
        "Volume",
        {1: "v", 2: {19: {1: {1: "m"}}}},
        {"name": "v", "configMap": {"name": "m"}},
    ),
    (
        "a message in two pieces",
        "Pod",
        {1: [{1: "a"}, {3: "ns"}]},
        {"metadata": {"name": "a", "namespace": "ns"}},
    ),
    ("a text given twice", "ObjectMeta", {1: ["a", "b"]}, {"name": "b"}),
    ("unknown numbers", "ObjectMeta", {99: [1, "x", 0.5], 1: "a"}, {"name": "a"}),
    ("a text that is none", "ObjectMeta", {1: b"\xff\xe2\x82z"}, {"name": "\ufffd" * 3 + "z"}),
    (
        "whole and broken numbers",
        "JSONSchemaProps",
        {9: 3.0, 11: -0.5},
        {"maximum": 3, "minimum": -0.5},
    ),
    (
        "any value",
        "JSONSchemaProps",
        {8: {1: "[1]"}, 20: [{1: "null"}, {1: '"a"'}]},
        {"default": [1], "enum": [None, "a"]},
    ),
    (
        "a schema for items",
        "JSONSchemaProps",
        {24: {1: {5: "string"}}},
        {"items": {"type": "string"}},
    ),
    (
        "schemas for items",
        "JSONSchemaProps",
        {24: {2: [{5: "string"}, {}]}},
        {"items": [{"type": "string"}, {}]},
    ),
    (
        "a schema or not",
        "JSONSchemaProps",
        {30: {1: 1, 2: {5: "string"}}, 33: {1: 0}},
        {"additionalProperties": {"type": "string"}, "additionalItems": False},
    ),
    (
        "a schema or names",
        "JSONSchemaProps",
        {32: [{1: "a", 2: {2: ["b"]}}, {1: "c", 2: {1: {}}}]},
        {"dependencies": {"a": ["b"], "c": {}}},
    ),
    (
        "a schema in schemas",
        "JSONSchemaProps",
        {29: {1: "a", 2: {28: {5: "string"}}}},
        {"properties": {"a": {"not": {"type": "string"}}}},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_type_is_read(case: Case) -> None:
    _, name, content, expected = case

    assert decode_content(message(content), a_type(name)) == expected


@pytest.mark.parametrize("component", field_numbers())
def test_a_message_of_nothing_is_read(component: str) -> None:
    assert decode_content(b"", schema(component)) == {}


def test_a_group_is_passed_over() -> None:
    group = varint(90 << 3 | 3) + message({1: 1, 2: "x"}) + varint(90 << 3 | 4)

    found = decode_content(group + message({1: "a"}), a_type("ObjectMeta"))

    assert found == {"name": "a"}


TEXTS = st.text(max_size=5)


@given(
    data=st.dictionaries(TEXTS, TEXTS, max_size=3),
    binary=st.dictionaries(TEXTS, st.binary(max_size=5), max_size=3),
    labels=st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=3),
    generation=st.integers(-(2**63), 2**63 - 1),
    immutable=st.booleans(),
)
def test_what_is_written_is_read(
    data: dict[str, str],
    binary: dict[str, bytes],
    labels: dict[str, str],
    generation: int,
    immutable: bool,
) -> None:
    def entries(values: Any) -> list[Any]:
        return [{1: name, 2: value} for name, value in values.items()]

    metadata = {7: generation, 11: entries(labels)}
    content = {1: metadata, 2: entries(data), 3: entries(binary), 4: immutable}

    found = decode_content(message(content), a_type("ConfigMap"))

    assert found == {
        "metadata": {"generation": generation, "labels": labels},
        "immutable": immutable,
        **({"data": data} if data else {}),
        **(
            {"binaryData": {name: base64.b64encode(binary[name]).decode() for name in binary}}
            if binary
            else {}
        ),
    }


# -- what can't be read ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, complaint",
    [
        (b"", "empty data"),
        (MAGIC, "empty body"),
        (b"abcd1234", "provided data does not appear to be a protobuf message, expected prefix"),
        (MAGIC + b"\x0a\x50", "unexpected EOF"),
        (MAGIC + b"\x0f", "proto: wrong wireType = 7 for field TypeMeta"),
    ],
)
def test_what_is_no_envelope_is_refused(body: bytes, complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        open_envelope(body)


@pytest.mark.parametrize(
    "content, complaint",
    [
        (b"\x0c", "proto: ConfigMap: wiretype end group for non-group"),
        (b"\x00", r"proto: ConfigMap: illegal tag 0 \(wire type 0\)"),
        (b"\x08\x01", "proto: wrong wireType = 0 for field ObjectMeta"),
        (message({1: {1: 5}}), "proto: wrong wireType = 0 for field Name"),
        (message({4: "x"}), "proto: wrong wireType = 2 for field Immutable"),
        (b"\x0a\x50", "unexpected EOF"),
        (b"\x0a", "unexpected EOF"),
        (b"\x20", "unexpected EOF"),
        (varint(9 << 3 | 1) + b"\x00" * 7, "unexpected EOF"),
        (varint(9 << 3 | 3), "unexpected EOF"),
        (b"\x80" * 12, "proto: integer overflow"),
        (b"\x0a" + varint(2**64 - 1), "proto: negative length found during unmarshaling"),
        (b"\x0a" + varint(2**63 - 1), "unexpected EOF"),
        (varint(9 << 3 | 7), "proto: illegal wireType 7"),
        (message({1: {8: {1: 10**15}}}), "year outside of range"),
        (message({1: {17: {7: {1: "{nope"}}}}), "json: "),
    ],
)
def test_what_is_no_message_is_refused(content: bytes, complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        decode_content(content, a_type("ConfigMap"))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(WireError, match="json: unsupported value"):
        decode_content(message({9: value}), a_type("JSONSchemaProps"))


@pytest.mark.parametrize("depth", [260, 20_000])
def test_a_schema_of_too_many_levels_is_refused(depth: int) -> None:
    content = b""
    for _ in range(depth):
        content = varint(28 << 3 | 2) + varint(len(content)) + content

    with pytest.raises(WireError, match="exceeded max depth"):
        decode_content(content, a_type("JSONSchemaProps"))


BODIES = [base64.b64decode(each) for each in OBJECTS.values()]


@given(body=st.sampled_from(BODIES), at=st.integers(0, 4000), put=st.binary(max_size=4))
def test_a_damaged_body_is_read_or_refused(body: bytes, at: int, put: bytes) -> None:
    at %= len(body)
    with suppress(WireError):
        found = open_envelope(body[:at] + put + body[at + len(put) :])
        resource = RESOURCES.get((found.api_version, found.kind), RESOURCES["v1", "Pod"])
        json.dumps(decode_content(found.content, resource.schema))


@given(component=st.sampled_from(sorted(field_numbers())), content=st.binary(max_size=60))
def test_bytes_are_read_or_refused(component: str, content: bytes) -> None:
    with suppress(WireError):
        json.dumps(decode_content(content, schema(component)))


def test_custom_resources_have_no_such_form() -> None:
    kind = Kind("example.com", "v1", "Widget", "widgets", namespaced=True)
    resource = Resource(
        kind=kind, singular="widget", schema=ANYTHING, strategy=Strategy(), custom=True
    )
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    request = make_mocked_request("POST", "/", headers)

    with pytest.raises(Refusal, match=r"application/json, application/yaml$") as refused:
        asyncio.run(read_object(request, Place(resource, "ns")))

    assert refused.value.code == 415


def test_a_body_says_what_is_in_it() -> None:
    found = open_envelope(envelope("Pod", "v1", {1: {1: "a"}}))

    assert found == ("Pod", "v1", message({1: {1: "a"}}))
