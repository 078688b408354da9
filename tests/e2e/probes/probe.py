"""
One test's hands and eyes on a cluster: objects with names of their own, and waiting for changes.

Nothing here sleeps: whoever waits watches, for as long as a watch lasts. Nothing is decided about
what is right; that is each probe's claim.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from tests.e2e.api import MERGE, Answer, Api, Events, collection
from tests.queue.api.manifests import Manifest, a_manifest, changed

POD: Manifest = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]}
"""The spec of a pod that no scheduler touches."""

Holds = Callable[[Manifest], Any]

_CLUSTER_WIDE = {
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PriorityClass",
    "ValidatingWebhookConfiguration",
}
TRIALS = 1000
"""How often something is tried until it works: some seconds, without an event to wait for."""

_numbers = count(1)


class Probe:
    """Makes objects in the namespace of this run, or the cluster; these it deletes at the end."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self._of_the_cluster: list[Manifest] = []

    def a_name(self, stem: str = "p") -> str:
        """Return a name that nobody else has, in any namespace or run; later ones sort later."""
        return f"{stem}-{self.namespace.rpartition('-')[2]}-{next(_numbers):05}"

    def a(
        self, kind: str, api_version: str, changes: Manifest | None = None, /, **content: Any
    ) -> Manifest:
        """Return a manifest with a name of its own, changed last."""
        metadata = {"name": self.a_name(kind.lower())}
        if kind not in _CLUSTER_WIDE:
            metadata["namespace"] = self.namespace
        manifest = a_manifest(kind, api_version, **content)
        return changed({**manifest, "metadata": metadata}, changes or {})

    def create(self, manifest: Manifest, **query: str) -> Manifest:
        """Return the object that is made of a manifest; a refusal fails the test."""
        made = self.api.create(manifest, **query).expect(201)
        if "namespace" not in manifest["metadata"]:
            self._of_the_cluster.append(made)
        return made

    def refused(self, manifest: Manifest, code: int = 422, reason: str = "Invalid") -> Answer:
        """Return the answer to a manifest that must be refused."""
        answer = self.api.create(manifest)
        assert (answer.code, answer.body.get("reason")) == (code, reason), answer
        return answer

    def get(self, manifest: Manifest) -> Manifest:
        return self.api.get(manifest).expect(200)

    def found(self, manifest: Manifest, **query: str) -> list[Manifest]:
        """Return the objects beside this one."""
        items = self.api.listing(manifest, **query).expect(200)["items"]
        # In a list of theirs, only objects of a CustomResourceDefinition say what they are.
        of_kind = {name: manifest[name] for name in ("apiVersion", "kind")}
        return [{**of_kind, **item} for item in items]

    def set_status(self, manifest: Manifest, **status: Any) -> Manifest:
        """Merge these fields into the status of an object, as its controller would."""
        return self.api.patch(manifest, {"status": status}, MERGE, "/status").expect(200)

    def delete(self, manifest: Manifest, **options: Any) -> Answer:
        """Delete with these DeleteOptions."""
        return self.api.delete(manifest, options or None)

    def watch(self, manifest: Manifest, **query: str) -> Events:
        """Watch one object: the first event is what it is now, if it is."""
        query = {"fieldSelector": f"metadata.name={manifest['metadata']['name']}", **query}
        return self.api.watch(collection(manifest), **query)

    def until(self, manifest: Manifest, holds: Holds) -> Manifest:
        """Return the object of a manifest as soon as something holds of it."""
        with self.watch(manifest) as events:
            return _first(events, holds)

    def until_some(self, manifest: Manifest, holds: Holds, **query: str) -> Manifest:
        """Return the first object beside this one, selected by `query`, of which it holds."""
        with self.api.watch(collection(manifest), **query) as events:
            return _first(events, holds)

    def until_gone(self, manifest: Manifest) -> None:
        """Return when the object of a manifest does not exist."""
        now = self.api.get(manifest)
        if now.code == 404:
            return
        version = now.expect(200)["metadata"]["resourceVersion"]
        with self.watch(manifest, resourceVersion=version) as events:
            events.until(lambda event: event["type"] == "DELETED")

    def until_event(self, manifest: Manifest, reason: str, message: str = "") -> Manifest:
        """Return the first event with this reason, and message if given, about an object."""
        # Not all who write events say the uid.
        about = {"name": manifest["metadata"]["name"], "kind": manifest["kind"]}
        selector = ",".join(f"involvedObject.{field}={value}" for field, value in about.items())
        return self.until_some(
            self.a("Event", "v1"),
            lambda event: event["reason"] == reason and message in event["message"],
            fieldSelector=selector,
        )

    def priority_class(self, value: int, **content: str) -> str:
        """Make a class of priority; return its name when pods may have it."""
        made = self.create(self.a("PriorityClass", "scheduling.k8s.io/v1", value=value, **content))
        name: str = made["metadata"]["name"]
        spec = {"containers": [{"name": "c", "image": "i"}], "priorityClassName": name}
        pod = self.a("Pod", "v1", spec=spec)
        eventually(lambda: self.api.create(pod, dryRun="All"), is_code(201))
        return name

    def clean_up(self) -> None:
        for made in reversed(self._of_the_cluster):
            self.delete(made)


Asked = TypeVar("Asked")


def eventually(ask: Callable[[], Asked], holds: Callable[[Asked], Any]) -> Asked:
    """Ask again and again, for what nobody tells of; return the first answer that will do."""
    for _ in range(TRIALS):
        if holds(answer := ask()):
            return answer
    raise AssertionError(f"not after {TRIALS} trials: {ask()}")


def is_code(code: int) -> Callable[[Answer], bool]:
    """Return whether an answer has this code, as a question about it."""
    return lambda answer: answer.code == code


def _first(events: Events, holds: Holds) -> Manifest:
    found = events.until(lambda event: event["type"] != "DELETED" and holds(event["object"]))
    last: Manifest = found[-1]["object"]
    return last


def causes(answer: Answer) -> list[tuple[str, str]]:
    """Return reason and field of all that is wrong, in order."""
    return [(cause["reason"], cause.get("field", "")) for cause in answer.causes]


def condition(manifest: Manifest, name: str) -> Manifest:
    """Return the condition of this type that an object has, or an empty one."""
    conditions = manifest.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == name), {})


def is_true(name: str) -> Holds:
    """Return whether a condition is true, as a question about an object."""
    return lambda manifest: condition(manifest, name).get("status") == "True"
