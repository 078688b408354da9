"""
A small client of an API server that keeps what others throw away: warnings and whole refusals.

It decides nothing and hides nothing: every answer is given back as it came.
"""

import base64
import http.client
import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import yaml

from tests.queue.api.manifests import Manifest

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

_ANSWER_MAX_S = 30.0


@dataclass(frozen=True)
class Answer:
    """What an API server said to one request."""

    code: int
    body: Manifest
    headers: Message
    content: bytes
    """The body as it came; `body` holds its text if it is no JSON."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self.headers.get_all("Warning") or ())

    @property
    def fields(self) -> list[str]:
        """The fields that it complains about."""
        return [cause.get("field", "") for cause in self.causes]

    @property
    def causes(self) -> list[Mapping[str, str]]:
        causes: list[Mapping[str, str]] = self.body.get("details", {}).get("causes", [])
        return causes

    @property
    def message(self) -> str:
        """The sentence of a refusal."""
        message: str = self.body["message"]
        return message

    def expect(self, code: int) -> Manifest:
        """Return the body of an answer with this code; any other fails the test with all of it."""
        assert self.code == code, self._told
        return self.body

    def expect_refusal(self, code: int, reason: str, message: str = "") -> Manifest:
        """Return the details of a whole Status of failure, with `message` somewhere in it."""
        expected = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "reason": reason,
            "code": code,
        }
        assert self.code == code, self._told
        assert {name: self.body.get(name) for name in expected} == expected, self._told
        assert message in self.body["message"], self._told
        details: Manifest = self.body.get("details", {})
        return details

    @property
    def _told(self) -> str:
        return f"{self.code}: {json.dumps(self.body, indent=1)[:5000]}"


class Events:
    """
    The events of one watch as they come, until the server ends it.

    It is closed at the end of a `with` block, or when it is forgotten.
    """

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        self._connection = connection
        self._response = response
        self.code = response.status
        self.headers = response.headers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __iter__(self) -> Iterator[Manifest]:
        return self

    def __next__(self) -> Manifest:
        line = self._response.readline()
        if not line:
            raise StopIteration
        event: Manifest = json.loads(line)
        return event

    def until(self, wanted: Callable[[Manifest], bool]) -> list[Manifest]:
        """Return the events up to the first one wanted; fail if the watch ends before."""
        seen = []
        for event in self:
            seen.append(event)
            if wanted(event):
                return seen
        raise AssertionError(f"the watch ended after {json.dumps(seen, indent=1)[:5000]}")

    def take(self, count: int) -> list[Manifest]:
        """Return the next events; fail if the watch ends before."""
        left = iter(range(count - 1, -1, -1))
        return self.until(lambda _: next(left) == 0)


class Api:
    """One connection with the rights of a kubeconfig's current context."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        self.server = urlsplit(cluster["server"])
        self.headers = {"Accept": JSON}
        if "token" in user:
            self.headers["Authorization"] = f"Bearer {user['token']}"
        authority = _content(cluster, "certificate-authority", kubeconfig).decode()
        self.trust = ssl.create_default_context(cadata=authority)
        if any(name.startswith("client-certificate") for name in user):
            with NamedTemporaryFile() as pair:
                for name in ("client-certificate", "client-key"):
                    pair.write(_content(user, name, kubeconfig))
                pair.flush()
                self.trust.load_cert_chain(pair.name)
        self._connect = partial(
            http.client.HTTPSConnection,
            self.server.hostname or "",
            self.server.port,
            context=self.trust,
            timeout=_ANSWER_MAX_S,
        )
        self._connection = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def request(
        self,
        method: str,
        path: str,
        body: Manifest | list[Any] | bytes | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str | None] | None = None,
        /,
        **query: str,
    ) -> Answer:
        """
        Ask and return the answer, whatever it is.

        Bytes are sent as they are, everything else as JSON; a header of None is not sent.
        """
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        every = {**self.headers, "Content-Type": content_type, **(headers or {})}
        sent = {name: value for name, value in every.items() if value is not None}
        try:
            self._connection.request(method, _with_query(path, query), content, sent)
            response = self._connection.getresponse()
            text = response.read()
        except BaseException:
            self._connection.close()  # or the next request would get the rest of this answer
            raise
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {"text": text.decode(errors="replace")}
        return Answer(response.status, answer, response.headers, text)

    def get(self, manifest: Manifest, **query: str) -> Answer:
        return self.request("GET", place(manifest), **query)

    def listing(self, manifest: Manifest, **query: str) -> Answer:
        """List the objects of its kind, in its namespace if any."""
        return self.request("GET", collection(manifest), **query)

    def create(self, manifest: Manifest, **query: str) -> Answer:
        return self.request("POST", collection(manifest), manifest, **query)

    def replace(self, manifest: Manifest, subresource: str = "", /, **query: str) -> Answer:
        return self.request("PUT", place(manifest) + subresource, manifest, **query)

    def patch(
        self,
        manifest: Manifest,
        patch: Manifest | list[Any] | bytes,
        content_type: str = MERGE,
        subresource: str = "",
        /,
        **query: str,
    ) -> Answer:
        return self.request("PATCH", place(manifest) + subresource, patch, content_type, **query)

    def apply(self, manifest: Manifest, subresource: str = "", /, **query: str) -> Answer:
        """Server-side apply, by force."""
        query = {"fieldManager": "e2e", "force": "true", **query}
        return self.request("PATCH", place(manifest) + subresource, manifest, APPLY, **query)

    def delete(
        self, manifest: Manifest, options: Manifest | None = None, /, **query: str
    ) -> Answer:
        return self.request("DELETE", place(manifest), options, **query)

    def watch(self, path: str, headers: Mapping[str, str] | None = None, /, **query: str) -> Events:
        """Watch, on a connection of its own, for as long as an answer may take at most."""
        query = {"watch": "true", "timeoutSeconds": f"{_ANSWER_MAX_S:.0f}", **query}
        connection = self._connect(timeout=_ANSWER_MAX_S + 5)
        try:
            connection.request(
                "GET", _with_query(path, query), headers={**self.headers, **(headers or {})}
            )
            return Events(connection, connection.getresponse())
        except BaseException:
            connection.close()
            raise

    def wait_for_condition(self, manifest: Manifest, condition: str) -> None:
        """Return when an object has a condition that is true."""
        name = f"metadata.name={manifest['metadata']['name']}"
        with self.watch(collection(manifest), fieldSelector=name) as events:
            events.until(lambda event: condition in _true_conditions(event["object"]))


def collection(manifest: Manifest) -> str:
    """Return the path where objects of its kind, and in its namespace if any, are created."""
    version = manifest["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    return (
        f"{root}/namespaces/{namespace}/{_plural(manifest)}"
        if namespace
        else (f"{root}/{_plural(manifest)}")
    )


def place(manifest: Manifest) -> str:
    """Return the path of one object."""
    return f"{collection(manifest)}/{manifest['metadata']['name']}"


def _plural(manifest: Manifest) -> str:
    """Return the plural that every kind in use has, made from its name."""
    name: str = manifest["kind"].lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _with_query(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _true_conditions(manifest: Manifest) -> list[str]:
    conditions = manifest.get("status", {}).get("conditions") or []
    return [each["type"] for each in conditions if each["status"] == "True"]


def _content(entry: dict[str, str], name: str, kubeconfig: Path) -> bytes:
    """Return what a kubeconfig holds itself or names a file for."""
    if f"{name}-data" in entry:
        return base64.b64decode(entry[f"{name}-data"])
    return (kubeconfig.parent / entry[name]).read_bytes()


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (entry,) = [each for each in entries if each["name"] == name]
    return entry
