"""Leases: who holds something, and until when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muster.queue.client.refusal import FieldError, invalid_value
from muster.queue.sandbox.kinds.metadata import negative
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy


class LeaseStrategy(BuiltInStrategy):
    """The strategy of Leases."""

    allows_create_on_update = True
    standard_finalizers = False
    allows_unconditional_update = False

    def prepare_create(self, obj: Object, now: str) -> None:
        _drop_coordination(obj)

    def prepare_update(self, obj: Object, old: Shared, subresource: str, now: str) -> None:
        _drop_coordination(obj)

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _lease_errors(obj.get("spec") or {})


def _drop_coordination(lease: Object) -> None:
    """Drop what no server offers yet unless it is asked to."""
    for name in ("strategy", "preferredHolder"):
        lease.get("spec", {}).pop(name, None)


def _lease_errors(spec: Shared) -> Iterator[FieldError]:
    duration_s = spec.get("leaseDurationSeconds")
    if duration_s is not None and duration_s <= 0:
        yield invalid_value("spec.leaseDurationSeconds", duration_s, "must be greater than 0")
    yield from negative("spec.leaseTransitions", spec.get("leaseTransitions"))
