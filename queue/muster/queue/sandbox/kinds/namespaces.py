"""Namespaces: active until they are deleted, and there until what was in them is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from muster.queue.client.refusal import FieldError, invalid_value
from muster.queue.sandbox.kinds.metadata import STANDARD_FINALIZERS, rule_errors
from muster.queue.sandbox.kinds.names import dns_label, label_key
from muster.queue.sandbox.kinds.resources import Object, Path, Shared
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy, put_back

NAME_LABEL: Final = "kubernetes.io/metadata.name"
FINALIZER: Final = "kubernetes"


class NamespaceStrategy(BuiltInStrategy):
    """
    The strategy of Namespaces.

    `spec.finalizers` hold a namespace, and change through the sub-resource "finalize" alone.
    """

    name_rule = staticmethod(dns_label)

    def fill(self, obj: Object) -> None:
        _label(obj)
        obj["status"].setdefault("phase", "Active")

    def prepare_create(self, obj: Object, now: str) -> None:
        _label(obj)
        obj["status"] = {"phase": "Active"}
        finalizers = obj["spec"].get("finalizers") or []
        if FINALIZER not in finalizers:
            obj["spec"]["finalizers"] = [*finalizers, FINALIZER]

    def prepare_update(self, obj: Object, old: Shared, subresource: str, now: str) -> None:
        if subresource == "status":
            put_back(obj, old, "spec")
            return
        put_back(obj, old, "status")
        if subresource != "finalize":
            put_back(obj["spec"], old["spec"], "finalizers")

    def reset_fields(self, subresource: str) -> Sequence[Path]:
        return (("spec",),) if subresource == "status" else (("status",),)

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _finalizers_errors(obj)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        if subresource != "status":
            return _finalizers_errors(obj, indexed=subresource == "finalize")
        deleted = "deletionTimestamp" in obj["metadata"]
        expected = "Terminating" if deleted else "Active"
        phase = obj["status"].get("phase", "")
        if phase == expected:
            return []
        emptiness = "is not empty" if deleted else "is empty"
        detail = f"may only be '{expected}' if `deletionTimestamp` {emptiness}"
        return [invalid_value("status.Phase", phase, detail)]

    def holds(self, obj: Shared) -> bool:
        return bool(obj["spec"].get("finalizers"))

    def prepare_deletion(self, obj: Object) -> None:
        obj["status"] = {**obj["status"], "phase": "Terminating"}


def _label(namespace: Object) -> None:
    """Label a namespace with its name, as soon as it has one."""
    metadata = namespace["metadata"]
    if name := metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: name}


def _finalizers_errors(namespace: Shared, *, indexed: bool = False) -> Iterator[FieldError]:
    for index, name in enumerate(namespace["spec"].get("finalizers") or ()):
        place = f"spec.finalizers[{index}]" if indexed else "spec.finalizers"
        yield from rule_errors(place, name, label_key)
        if "/" not in name and name not in STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid_value(place, name, detail)
