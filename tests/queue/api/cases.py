"""Cases of rules between fields, and what must hold for each of them."""

from dataclasses import dataclass, field

from muster.queue.api.registry import parse_object
from tests.queue.api.manifests import Manifest, changed, complaints


@dataclass(frozen=True, kw_only=True)
class Case:
    """A manifest that breaks one rule, and what is said about it."""

    name: str
    kind: str
    changes: Manifest
    said: str
    cure: Manifest = field(default_factory=dict)
    """Further changes with which the manifest is fine."""


def broken_manifest_is_refused(case: Case) -> None:
    said = complaints(case.kind, case.changes)

    assert any(case.said in complaint for complaint in said), said


def cured_manifest_is_read(case: Case) -> None:
    assert complaints(changed(changed(case.kind, case.changes), case.cure)) == []


def stored_object_is_read_whatever_the_rules(case: Case) -> None:
    manifest = changed(case.kind, case.changes)

    stored = parse_object(manifest, stored=True)

    assert stored.model_dump(mode="json", by_alias=True, exclude_unset=True) == manifest
