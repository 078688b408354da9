"""Bodies in protocol buffers, as typed clients send them, mean what they mean in JSON."""

import base64
import json
from typing import Any

import pytest

from tests.e2e.api import PROTOBUF, Answer, collection, place
from tests.e2e.builtin_answers import ENCODED, RECORDED, cases, told
from tests.e2e.probes.nodes import Pool, node_of
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest
from tests.queue.sandbox.http.encoding import MAGIC, Numbered, envelope, message

ANSWERS = json.loads(RECORDED.read_text(encoding="utf-8"))
OBJECTS = json.loads(ENCODED.read_text(encoding="utf-8"))
ACCEPTED = cases("accepted")
# What a server has filled in for jobs and terms, it doesn't take from anybody else.
NEW = [
    name
    for name, manifest in ACCEPTED.items()
    if manifest["kind"] != "Job" and name != "own labels in terms"
]


@pytest.fixture
def pool(probe: Probe) -> Pool:
    return Pool(probe)


def post(probe: Probe, manifest: Manifest, body: bytes, part: str = "", **query: str) -> Answer:
    return probe.api.request("POST", collection(manifest) + part, body, PROTOBUF, **query)


@pytest.mark.parametrize("name", NEW)
def test_an_object_is_what_it_is_in_json(name: str, probe: Probe) -> None:
    answer = post(probe, ACCEPTED[name], base64.b64decode(OBJECTS[name]), dryRun="All")

    assert told(answer.code, answer.body) == ANSWERS[f"accepted: {name}"]


def test_empty_fields_belong_to_nobody(probe: Probe) -> None:
    container: Numbered = {1: "c", 2: "i", 6: {1: "", 2: 0, 3: 80}, 8: {}, 13: "", 16: 0, 18: 0}
    template = {1: {1: "", 7: 0, 8: {}}, 2: {2: container, 3: "Never", 6: "", 10: "", 11: 0}}
    content = {1: {1: "a", 3: probe.namespace, 7: 0}, 2: {2: 0, 6: template}, 3: {4: 0, 5: 0}}
    containers = [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]
    pod = {"containers": containers, "restartPolicy": "Never"}
    manifest = probe.a("Job", "batch/v1", spec={"completions": 0, "template": {"spec": pod}})

    def owned(answer: Answer) -> Any:
        (entry,) = answer.expect(201)["metadata"]["managedFields"]
        return entry["fieldsV1"]

    sent = post(probe, manifest, envelope("Job", "batch/v1", content), dryRun="All")

    assert owned(sent) == owned(probe.api.create(manifest, dryRun="All"))


def test_an_object_is_replaced(probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1", data={"a": "1", "b": "2"}))
    content = {1: {1: made["metadata"]["name"]}, 2: {1: "a", 2: "3"}}

    answer = probe.api.request("PUT", place(made), envelope("ConfigMap", "v1", content), PROTOBUF)

    assert answer.expect(200)["data"] == {"a": "3"}


MAP = {1: {1: "a"}}
NO_MESSAGE = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '


@pytest.mark.parametrize(
    "body, complaint",
    [
        (b"", "the object provided is unrecognized (must be of type ConfigMap): empty data"),
        (MAGIC, "(must be of type ConfigMap): empty body (6b387300)"),
        (b"{}", "expected prefix [107 56 115 0] ({})"),
        (MAGIC + b"\x0a\x50", "(must be of type ConfigMap): unexpected EOF (6b3873000a50)"),
        (envelope("ConfigMap", "v1", b"\x0c"), f"{NO_MESSAGE}proto: ConfigMap: wiretype end group"),
        (envelope("ConfigMap", "v1", b"\x08\x01"), f"{NO_MESSAGE}proto: wrong wireType = 0 for"),
        (envelope("ConfigMap", "v1", b"\x0a\x50"), f"{NO_MESSAGE}unexpected EOF"),
        (envelope("ConfigMap", "v1", b"\x80" * 12), f"{NO_MESSAGE}proto: integer overflow"),
        (envelope("Secret", "v1", MAP), 'Secret in version "v1" cannot be handled as a ConfigMap'),
        (envelope("ConfigMap", "v2", MAP), 'ConfigMap in version "v2" cannot be handled as a'),
    ],
)
def test_what_is_no_object_is_refused(body: bytes, complaint: str, probe: Probe) -> None:
    answer = post(probe, probe.a("ConfigMap", "v1"), body)

    answer.expect_refusal(400, "BadRequest", complaint)


@pytest.mark.parametrize("head", [b"", message({1: {2: "ConfigMap"}}), message({1: {1: "v1"}})])
def test_a_body_may_leave_out_what_it_is(head: bytes, probe: Probe) -> None:
    body = MAGIC + head + message({2: message(MAP)})

    assert post(probe, probe.a("ConfigMap", "v1"), body, dryRun="All").code == 201


def test_options_of_a_deletion_are_followed(probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))

    def delete(options: Numbered | bytes, kind: str = "DeleteOptions") -> Answer:
        body = envelope(kind, "v1", options)
        return probe.api.request("DELETE", place(made), body, PROTOBUF)

    delete({2: {1: "another"}}).expect_refusal(409, "Conflict", "the UID in the precondition")
    delete({4: "Sometimes"}).expect_refusal(422, "Invalid", "propagationPolicy: Unsupported value")
    delete({}, "ConfigMap").expect_refusal(400, "BadRequest", 'no kind "ConfigMap" is registered')
    delete(b"\x0a\x00").expect_refusal(400, "BadRequest", "proto: wrong wireType = 2 for field")
    assert delete({5: "All"}).code == 200
    assert delete({2: {1: made["metadata"]["uid"]}}).code == 200
    assert probe.api.get(made).code == 404


def test_a_pod_is_bound_and_evicted(pool: Pool) -> None:
    node, pod, probe = pool.node(), pool.pod(changes={"spec.schedulerName": "nobody"}), pool.probe
    metadata = {1: pod["metadata"]["name"], 3: probe.namespace}
    binding = {1: metadata, 2: {1: "Node", 3: node["metadata"]["name"]}}
    options = {1: 0}

    def ask(part: str, body: bytes) -> Answer:
        return probe.api.request("POST", f"{place(pod)}/{part}", body, PROTOBUF)

    ask("binding", envelope("Binding", "v1", binding)).expect(201)
    assert node_of(probe.get(pod)) == node["metadata"]["name"]
    refused = ask("eviction", envelope("Pod", "v1", {1: metadata}))
    refused.expect_refusal(400, "BadRequest", 'Pod in version "v1" cannot be handled as a Eviction')
    ask("eviction", envelope("Eviction", "policy/v1", {1: metadata, 2: options})).expect(201)

    probe.until_gone(pod)


def test_a_question_is_answered(probe: Probe) -> None:
    attributes = {1: probe.namespace, 2: "create", 3: "", 4: "", 5: "pods", 6: "", 7: ""}
    version = "authorization.k8s.io/v1"
    body = envelope("SelfSubjectAccessReview", version, {1: {}, 2: {1: attributes}, 3: {1: 0}})

    answer = probe.api.request("POST", f"/apis/{version}/selfsubjectaccessreviews", body, PROTOBUF)

    asked = {"namespace": probe.namespace, "verb": "create", "resource": "pods"}
    assert answer.expect(201)["spec"] == {"resourceAttributes": asked}
    assert answer.body["status"]["allowed"] is True
