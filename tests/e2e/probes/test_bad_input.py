"""Requests that nobody should make: each gets its refusal, and the next one its answer."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.api import JSON, Answer, Api, collection, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest

pytestmark = pytest.mark.usefixtures("gadgets")

MAP = "ConfigMap", "v1"
POD = "Pod", "v1"
KINDS = pytest.mark.parametrize("kind", [MAP, GADGET], ids=lambda kind: kind[0])

DEPTH = 10_001
LIMIT = 3 * 2**20


def post(probe: Probe, kind: tuple[str, str], body: bytes, content_type: str = JSON) -> Answer:
    return probe.api.request("POST", collection(probe.a(*kind)), body, content_type)


def text(kind: tuple[str, str], rest: str = "", name: str = "x") -> bytes:
    """Return the text of an object with something more in it."""
    head = f'{{"apiVersion":"{kind[1]}","kind":"{kind[0]}","metadata":{{"name":"{name}"}}'
    return f"{head}{rest}}}".encode()


# -- bodies --------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    "body, message",
    [
        (b"", "unexpected end of JSON input (<empty>)"),
        (b"{", "unexpected end of JSON input ({)"),
        (b"[]", "json: cannot unmarshal array into Go value"),
        (b'"x"', "json: cannot unmarshal string into Go value"),
        (b"1", "json: cannot unmarshal number into Go value"),
        (b"{} x", "json parse error: invalid character"),
        (b"{'a':1}", "json parse error: invalid character"),
        (b'{"a":NaN}', "json parse error: invalid character"),
        (b'{"a":1,}', "json parse error: invalid character"),
        (b'{"a":"\x00"}', "json parse error: invalid character"),
        (b"\xef\xbb\xbf{}", "json parse error: invalid character"),
        (b'{"kind":1}', "json: cannot unmarshal number into Go struct field .kind of type string"),
    ],
    ids=str,
)
def test_what_is_no_object_is_refused(
    body: bytes, message: str, kind: tuple[str, str], probe: Probe
) -> None:
    answer = post(probe, kind, body)

    answer.expect_refusal(400, "BadRequest", message)
    start = f"the object provided is unrecognized (must be of type {kind[0]}): couldn't get version"
    assert answer.message.startswith(start)
    assert "details" not in answer.body


@KINDS
@pytest.mark.parametrize(
    "metadata, message",
    [
        ("[]", "json: cannot unmarshal array into Go "),
        ('"x"', "json: cannot unmarshal string into Go "),
        ('{"name":1}', "json: cannot unmarshal number into Go struct field ObjectMeta."),
        ('{"labels":{"a":true}}', "json: cannot unmarshal bool into Go struct field ObjectMeta."),
        ('{"creationTimestamp":"noon"}', 'parsing time "noon" as "2006-01-02T15:04:05Z07:00"'),
    ],
)
def test_metadata_of_another_type_is_refused(
    metadata: str, message: str, kind: tuple[str, str], probe: Probe
) -> None:
    name, version = kind
    body = f'{{"apiVersion":"{version}","kind":"{name}","metadata":{metadata}}}'

    answer = post(probe, kind, body.encode())

    answer.expect_refusal(400, "BadRequest", message)
    start = f'{name} in version "{version.rpartition("/")[2]}" cannot be handled as a {name}: '
    assert answer.message.startswith(start)


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"containers": "x"}, "cannot unmarshal string into Go struct field PodSpec.spec.conta"),
        (
            {"containers": [{"name": 1}]},
            "cannot unmarshal number into Go struct field Container.spec.containers.name of type",
        ),
        (
            {"containers": [{"ports": [{"containerPort": "x"}]}]},
            "cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports",
        ),
        (
            {"containers": [{"ports": [{"containerPort": 1.5}]}]},
            "cannot unmarshal number 1.5 into Go struct field ContainerPort.spec.containers.ports",
        ),
        ({"hostNetwork": "true"}, "cannot unmarshal string into Go struct field PodSpec.spec.host"),
        ([], "cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec"),
    ],
    ids=str,
)
def test_a_field_of_another_type_is_refused(spec: object, message: str, probe: Probe) -> None:
    answer = probe.api.create(probe.a(*POD, spec=spec))

    answer.expect_refusal(400, "BadRequest", message)
    assert answer.message.startswith('Pod in version "v1" cannot be handled as a Pod: json: ')


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_body_beyond_the_limit_is_refused(method: str, probe: Probe) -> None:
    made = probe.create(probe.a(*MAP))
    path = collection(made) if method == "POST" else place(made)
    content_type = "application/merge-patch+json" if method == "PATCH" else JSON
    body = text(MAP, f',"data":{{"a":"{"x" * LIMIT}"}}')

    answer = probe.api.request(method, path, body, content_type)

    message = f"limit is {LIMIT}"
    answer.expect_refusal(413, "RequestEntityTooLarge", message)
    assert probe.get(made) == made


def test_a_body_within_the_limit_is_read(probe: Probe) -> None:
    body = text(MAP, f',"data":{{"a":"{"x" * (LIMIT - 200)}"}}')

    answer = post(probe, MAP, body)

    answer.expect_refusal(422, "Invalid", "Too long: may not be more than 1048576 bytes")


@KINDS
@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_a_body_too_deep_is_refused(opening: str, kind: tuple[str, str], probe: Probe) -> None:
    closing = "}" if opening.startswith("{") else "]"
    body = text(kind, f',"data":{opening * DEPTH}1{closing * DEPTH}')

    answer = post(probe, kind, body)

    answer.expect_refusal(400, "BadRequest", "exceeded max depth")


def test_bytes_that_are_no_text_become_question_marks(probe: Probe) -> None:
    manifest = probe.a(*GADGET)
    name = manifest["metadata"]["name"]
    body = text(GADGET, ',"spec":{"mode":"fast","options":{"a":"\\ud800","b":"?"}}', name)

    made = post(probe, GADGET, body.replace(b"?", b"\xff\xfe")).expect(201)

    assert made["spec"]["options"] == {"a": "\ufffd", "b": "\ufffd\ufffd"}


# -- content types -------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/cbor"])
def test_an_unknown_content_type_is_refused(
    content_type: str, kind: tuple[str, str], probe: Probe
) -> None:
    answer = post(probe, kind, text(kind), content_type)

    message = "accepted media types include: application/json, application/yaml"
    answer.expect_refusal(415, "UnsupportedMediaType", message)


@KINDS
@pytest.mark.parametrize(
    "content_type", [None, "", "application/json; charset=utf-8", "application/yaml"]
)
def test_a_known_content_type_is_read(
    content_type: str | None, kind: tuple[str, str], probe: Probe
) -> None:
    body = text(kind, name=probe.a_name())
    path = collection(probe.a(*kind))

    answer = probe.api.request("POST", path, body, JSON, {"Content-Type": content_type})

    answer.expect(201)


@KINDS
@pytest.mark.parametrize(
    "accept", ["text/html", "application/cbor", "application/json;as=Poem;v=v1;g=meta.k8s.io"]
)
def test_what_nobody_can_read_is_not_acceptable(
    accept: str, kind: tuple[str, str], probe: Probe
) -> None:
    answer = probe.api.request("GET", collection(probe.a(*kind)), None, JSON, {"Accept": accept})

    answer.expect_refusal(406, "NotAcceptable", "application/json")
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("accept", ["*/*", "text/html, application/json;q=0.9", None])
def test_json_is_for_everybody(accept: str | None, probe: Probe) -> None:
    made = probe.create(probe.a(*MAP))

    answer = probe.api.request("GET", place(made), None, JSON, {"Accept": accept})

    assert answer.expect(200) == made


def test_an_answer_may_be_yaml(probe: Probe) -> None:
    made = probe.create(probe.a(*MAP, data={"a": "b"}))

    answer = probe.api.request("GET", place(made), None, JSON, {"Accept": "application/yaml"})

    assert answer.headers["Content-Type"] == "application/yaml"
    assert "apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\n" in answer.expect(200)["text"]


# -- who asks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/v1/namespaces", "/apis", "/version"])
def test_a_wrong_token_is_refused(path: str, probe: Probe) -> None:
    answer = probe.api.request("GET", path, None, JSON, {"Authorization": "Bearer wrong"})

    answer.expect_refusal(401, "Unauthorized", "Unauthorized")


def test_nobody_gets_nothing(probe: Probe) -> None:
    """As nobody, where that is somebody, or not at all."""
    answer = probe.api.request("GET", "/api/v1/namespaces", None, JSON, {"Authorization": None})

    assert answer.code in {401, 403}
    assert answer.body["reason"] in {"Unauthorized", "Forbidden"}


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_for_everybody(path: str, probe: Probe) -> None:
    answer = probe.api.request("GET", path, None, JSON, {"Authorization": None})

    assert answer.expect(200) == {"text": "ok"}


# -- paths and queries ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["limit", "timeoutSeconds"])
@pytest.mark.parametrize(
    "value", ["x", "1.5", "1e3", "99999999999999999999", "٣", "1_0", "9" * 5000]
)
def test_a_number_is_a_number(name: str, value: str, probe: Probe) -> None:
    answer = probe.api.request("GET", collection(probe.a(*MAP)), **{name: value})

    answer.expect_refusal(400, "BadRequest", f'strconv.ParseInt: parsing "{value}": ')


@pytest.mark.parametrize("value", ["9223372036854775807", "-1", "+1", "007"])
def test_a_limit_may_be_any_number_of_64_bits(value: str, probe: Probe) -> None:
    probe.api.request("GET", collection(probe.a(*MAP)), limit=value).expect(200)


@pytest.mark.parametrize("value", ["x", "-1", "+1", "٣", "1_0", f"{2**64}", "9" * 5000])
def test_a_resource_version_is_a_number(value: str, probe: Probe) -> None:
    answer = probe.api.request("GET", collection(probe.a(*MAP)), resourceVersion=value)

    message = f'resourceVersion: Invalid value: "{value}": strconv.ParseUint: parsing "{value}": '
    answer.expect_refusal(400, "BadRequest", message)


@pytest.mark.parametrize("query", [{"pretty": "x"}, {"unknown": "x"}], ids=str)
def test_an_unknown_query_is_no_matter(query: dict[str, str], probe: Probe) -> None:
    probe.api.request("GET", collection(probe.a(*MAP)), **query).expect(200)


@pytest.mark.parametrize("name", ["a" * 5000, "a%00b", "%ff", "A"])
def test_a_strange_name_is_not_found(name: str, probe: Probe) -> None:
    answer = probe.api.request("GET", f"{collection(probe.a(*MAP))}/{name}")

    answer.expect_refusal(404, "NotFound")


# -- connections ---------------------------------------------------------------------------------


@contextmanager
def dialed(api: Api) -> Iterator[ssl.SSLSocket]:
    """A connection to say anything on."""
    host, port = api.server.hostname or "", api.server.port or 443
    with (
        socket.create_connection((host, port), timeout=30) as plain,
        api.trust.wrap_socket(plain, server_hostname=host) as secure,
    ):
        yield secure


def head(api: Api, path: str, *lines: str) -> bytes:
    """Return the beginning of a POST request."""
    every = (
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: {api.headers['Authorization']}",
        f"Content-Type: {JSON}",
        *lines,
    )
    return "\r\n".join((*every, "", "")).encode()


@pytest.mark.parametrize("line", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_who_hangs_up_is_forgotten(line: str, probe: Probe) -> None:
    path = collection(probe.a(*MAP))
    with dialed(probe.api) as connection:
        connection.sendall(head(probe.api, path, line) + b"{")

    probe.create(probe.a(*MAP))


def test_who_falls_silent_keeps_nobody_waiting(probe: Probe) -> None:
    path = collection(probe.a(*MAP))
    with dialed(probe.api) as silent:
        silent.sendall(head(probe.api, path, "Content-Length: 1000") + b"{")

        probe.create(probe.a(*MAP))


def test_who_does_not_read_a_watch_keeps_nobody_waiting(probe: Probe) -> None:
    made = probe.create(probe.a(*MAP))
    with probe.watch(made):
        for number in range(50):
            probe.api.patch(made, {"data": {"a": str(number)}}).expect(200)


def test_what_is_no_request_is_refused(probe: Probe) -> None:
    with dialed(probe.api) as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        response = http.client.HTTPResponse(connection)
        response.begin()

        assert response.status == 400


def test_a_body_may_come_in_pieces(probe: Probe) -> None:
    manifest = probe.a(*MAP, data={"a": "b"})
    body = json.dumps(manifest).encode()
    pieces = [body[:10], body[10:11], body[11:]]
    path = collection(manifest)
    with dialed(probe.api) as connection:
        connection.sendall(head(probe.api, path, "Transfer-Encoding: chunked"))
        for piece in (*pieces, b""):
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        response = http.client.HTTPResponse(connection)
        response.begin()

        made: Manifest = json.loads(response.read())

    assert (response.status, made["data"]) == (201, {"a": "b"})
