"""
Webhooks of the tests: an HTTPS server in this process, and configurations that lead there.

A hook answers as its probe says, and keeps what it was asked. A configuration is for the objects
of one probe alone: nobody else's are held up by it.
"""

import base64
import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self

from muster.queue.sandbox.http.tls import make_identity
from tests.e2e.probes.probe import Probe, eventually
from tests.queue.api.manifests import Manifest

# From the request of a review to its response, or to a whole body in bytes.
Answer = Callable[[Manifest], Manifest | bytes]

NO_ANSWER_S = 10.0
_numbers = count(1)


def allow(_: Manifest) -> Manifest:
    return {"allowed": True}


def deny(**status: Any) -> Answer:
    return lambda _: {"allowed": False, "status": status}


def encoded(*operations: Manifest) -> str:
    """Return a JSON patch as a review has it."""
    return base64.b64encode(json.dumps(operations).encode()).decode()


def patch(*operations: Manifest) -> Answer:
    """Return an answer that changes the object."""
    change = encoded(*operations)
    return lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": change}


def annotate(name: str, value: str = "") -> Answer:
    """Return an answer that adds an annotation to an object with some."""
    path = f"/metadata/annotations/{name}"
    return patch({"op": "add", "path": path, "value": value})


class Hook:
    """One webhook: its place, and what it was asked."""

    def __init__(self, url: str, ca_bundle: str, answer: Answer) -> None:
        self.url = url
        self.answer = answer
        self.seen: list[Manifest] = []
        self.reviews: list[Manifest] = []
        self.client_config = {"url": url, "caBundle": ca_bundle}

    def respond(self, review: Manifest) -> bytes:
        request = review["request"]
        self.reviews.append(review)
        self.seen.append(request)
        answer = self.answer(request)
        if isinstance(answer, bytes):
            return answer
        kept = {name: review[name] for name in ("apiVersion", "kind")}
        return json.dumps({**kept, "response": {"uid": request["uid"], **answer}}).encode()


class Hooks:
    """The server of all hooks. As a context manager, it stops at the end."""

    def __init__(self) -> None:
        identity = make_identity(time.time_ns() // 1000)
        self.ca_bundle = base64.b64encode(identity.certificate).decode()
        self.ended = threading.Event()
        hooks: dict[str, Hook] = {}
        self._hooks = hooks

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = hooks[self.path.partition("?")[0]].respond(asked)
                with suppress(OSError):  # who asked may not have waited
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # A client that stalls in its handshake holds up itself alone.
        self._server.socket = identity.context().wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def hook(self, answer: Answer = allow) -> Hook:
        """Return a new hook."""
        path = f"/hook-{next(_numbers)}"
        made = Hook(f"https://127.0.0.1:{self._server.server_port}{path}", self.ca_bundle, answer)
        self._hooks[path] = made
        return made

    def stall(self, _: Manifest) -> bytes:
        """Answer too late."""
        self.ended.wait(NO_ANSWER_S)
        return b""


CONFIGMAPS: Manifest = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
    "operations": ["*"],
}


class Configured:
    """Configurations for the objects of one probe, which have a label of their own."""

    def __init__(self, probe: Probe, hooks: Hooks) -> None:
        self.probe = probe
        self.hooks = hooks
        self.label = {"probe": probe.a_name("hooked")}

    def object(self, changes: Manifest | None = None) -> Manifest:
        """Return a manifest of an object that is looked at."""
        mine = {"metadata.labels": self.label, "metadata.annotations": {"made": "here"}}
        return self.probe.a("ConfigMap", "v1", {**mine, **(changes or {})})

    def webhook(self, hook: Hook, **content: Any) -> Manifest:
        return {
            "name": f"{self.probe.a_name('hook')}.probes.muster.dev",
            "clientConfig": hook.client_config,
            "rules": [CONFIGMAPS],
            "objectSelector": {"matchLabels": self.label},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **content,
        }

    def configuration(self, kind: str, *webhooks: Manifest) -> Manifest:
        """Return a configuration, whose name comes after those of earlier ones."""
        made = self.probe.a(f"{kind}WebhookConfiguration", "admissionregistration.k8s.io/v1")
        made["metadata"]["name"] = f"probe-{time.monotonic_ns()}-{made['metadata']['name']}"
        return {**made, "webhooks": list(webhooks)}

    def configure(self, kind: str, *webhooks: Manifest) -> Manifest:
        """
        Make a configuration; return it when it is in effect.

        That is seen by a witness, a last webhook that is asked about a trial.
        """
        witness = self.hooks.hook()
        trial = {"matchLabels": {"probe": self.probe.a_name("trial")}}
        seeing = self.webhook(witness, objectSelector=trial)
        made = self.probe.create(self.configuration(kind, *webhooks, seeing))
        tried = self.object({"metadata.labels": trial["matchLabels"]})
        eventually(lambda: self.probe.api.create(tried, dryRun="All"), lambda _: witness.seen)
        return made

    def mutating(self, answer: Answer, **content: Any) -> Hook:
        """Return a hook that may change objects, in effect."""
        return self._hook("Mutating", answer, content)

    def validating(self, answer: Answer = allow, **content: Any) -> Hook:
        """Return a hook that may refuse objects, in effect."""
        return self._hook("Validating", answer, content)

    def _hook(self, kind: str, answer: Answer, content: Manifest) -> Hook:
        hook = self.hooks.hook(answer)
        self.configure(kind, self.webhook(hook, **content))
        return hook
