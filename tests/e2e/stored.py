"""
Objects to ask an API server about: manifests made fit for it, and dry runs of creating them.

Status is written by itself, to an object that exists; everything else is asked without making
anything.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from muster.queue.api.registry import kind_of
from tests.e2e.api import Answer, Api
from tests.queue.api.manifests import Manifest

CREATED = 201

_numbers = count()


class Objects:
    """Objects of one test run, in its namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    def fit(self, manifest: Manifest) -> Manifest:
        """Return it with a name and a namespace of this run, and no other metadata."""
        metadata = {"name": f"e2e-{next(_numbers)}"}
        if annotations := manifest["metadata"].get("annotations"):
            metadata["annotations"] = annotations
        if kind_of(manifest).scope == "Namespaced":
            metadata["namespace"] = self._namespace
        return {**manifest, "metadata": metadata}

    def try_to_create(self, manifest: Manifest) -> Answer:
        """Ask what would be said to a manifest, with its status if it has one."""
        if "status" not in manifest:
            return self._api.create(self.fit(manifest), dryRun="All", fieldValidation="Strict")
        bare = {field: manifest[field] for field in manifest if field != "status"}
        answer = self._api.create(self.fit(bare), fieldValidation="Strict")
        if answer.code != CREATED:
            return answer
        try:
            with_status = {**answer.body, "status": manifest["status"]}
            return self.try_to_replace(with_status, "/status")
        finally:
            self._api.delete(answer.body).expect(200)

    def try_to_replace(self, manifest: Manifest, subresource: str = "") -> Answer:
        return self._api.replace(manifest, subresource, dryRun="All", fieldValidation="Strict")

    @contextmanager
    def created(self, manifest: Manifest) -> Iterator[Manifest]:
        """The object of a manifest, status and all, until the end of the block."""
        made = self._api.create(self.fit(manifest), fieldValidation="Strict").expect(201)
        try:
            if "status" in manifest:
                with_status = {**made, "status": manifest["status"]}
                made = self._api.replace(with_status, "/status").expect(200)
            yield made
        finally:
            self._api.delete(made).expect(200)
