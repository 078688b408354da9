"""
A small client of an API server that keeps what others throw away: warnings and whole refusals.

It decides nothing and hides nothing: every answer is given back as it came.
"""

import base64
import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import yaml

from tests.queue.api.manifests import Manifest

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Answer:
    """What an API server said to one request."""

    code: int
    body: Manifest
    warnings: tuple[str, ...]

    @property
    def fields(self) -> list[str]:
        """The fields that it complains about."""
        return [cause.get("field", "") for cause in self.causes]

    @property
    def causes(self) -> list[Mapping[str, str]]:
        causes: list[Mapping[str, str]] = self.body.get("details", {}).get("causes", [])
        return causes

    def expect(self, code: int) -> Manifest:
        """Return the body of an answer with this code; any other fails the test with all of it."""
        assert self.code == code, f"{self.code}: {json.dumps(self.body, indent=1)}"
        return self.body


class Api:
    """One connection with the rights of a kubeconfig's current context."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        server = urlsplit(cluster["server"])
        self.headers = {"Accept": JSON}
        if "token" in user:
            self.headers["Authorization"] = f"Bearer {user['token']}"
        authority = _content(cluster, "certificate-authority", kubeconfig).decode()
        trust = ssl.create_default_context(cadata=authority)
        if any(name.startswith("client-certificate") for name in user):
            with NamedTemporaryFile() as pair:
                for name in ("client-certificate", "client-key"):
                    pair.write(_content(user, name, kubeconfig))
                pair.flush()
                trust.load_cert_chain(pair.name)
        self._connect = partial(
            http.client.HTTPSConnection,
            server.hostname or "",
            server.port,
            context=trust,
            timeout=90,
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
        body: Manifest | None = None,
        content_type: str = JSON,
        **query: str,
    ) -> Answer:
        self._connection.request(
            method,
            f"{path}?{urlencode(query)}",
            None if body is None else json.dumps(body),
            {**self.headers, "Content-Type": content_type},
        )
        response = self._connection.getresponse()
        text = response.read()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {"text": text.decode()}
        warnings = response.headers.get_all("Warning") or []
        return Answer(response.status, answer, tuple(warnings))

    def create(self, manifest: Manifest, **query: str) -> Answer:
        return self.request("POST", collection(manifest), manifest, **query)

    def replace(self, manifest: Manifest, subresource: str = "", **query: str) -> Answer:
        return self.request("PUT", place(manifest) + subresource, manifest, **query)

    def apply(self, manifest: Manifest, **query: str) -> Answer:
        """Server-side apply, by force."""
        query = {"fieldManager": "e2e", "force": "true", **query}
        return self.request("PATCH", place(manifest), manifest, APPLY, **query)

    def delete(self, manifest: Manifest) -> Answer:
        return self.request("DELETE", place(manifest))

    def watch(self, path: str, **query: str) -> Iterator[Manifest]:
        """Yield events, on a connection of their own, for a minute at most."""
        query = {"watch": "true", "timeoutSeconds": "60", **query}
        connection = self._connect()
        connection.request("GET", f"{path}?{urlencode(query)}", headers=self.headers)
        with closing(connection), connection.getresponse() as events:
            for line in events:
                yield json.loads(line)

    def wait_for_condition(self, manifest: Manifest, condition: str) -> None:
        """Return when an object has a condition that is true."""
        name = f"metadata.name={manifest['metadata']['name']}"
        for event in self.watch(collection(manifest), fieldSelector=name):
            if condition in _true_conditions(event["object"]):
                return
        raise AssertionError(f"{place(manifest)} is not {condition} after a minute")


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
