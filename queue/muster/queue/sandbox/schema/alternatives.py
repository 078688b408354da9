"""
Judges values by the schemas in `allOf`, `anyOf`, `oneOf` and `not`.

Where none of several schemas fits, that one is blamed of which most was found to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muster.queue.sandbox.schema.faults import Check, Fault, object_fault
from muster.queue.sandbox.schema.node import Raw

_Branch = tuple[Raw, Check | None]
_Compile = Callable[[Raw], Check | None]


def compile_check(raw: Raw, compile_schema: _Compile) -> Check | None:
    """Return what judges a value by the alternatives of a schema, None if there are none."""

    def branches(name: str) -> list[_Branch]:
        return [(each, compile_schema(each)) for each in raw.get(name) or ()]

    any_of, one_of, all_of = branches("anyOf"), branches("oneOf"), branches("allOf")
    none_of = [(raw["not"], compile_schema(raw["not"]))] if "not" in raw else []
    if not (any_of or one_of or all_of or none_of):
        return None

    def check(value: Any, faults: list[Fault]) -> None:
        if any_of:
            _check_any(any_of, value, faults)
        if one_of:
            _check_one(one_of, value, faults)
        if all_of:
            _check_all(all_of, value, faults)
        if none_of and not _faults(none_of[0], value):
            faults.append(object_fault("must not validate the schema (not)"))

    return check


def _faults(branch: _Branch, value: Any) -> list[Fault]:
    found: list[Fault] = []
    if branch[1] is not None:
        branch[1](value, found)
    return found


def _check_any(branches: Sequence[_Branch], value: Any, faults: list[Fault]) -> None:
    found = [_faults(branch, value) for branch in branches]
    if all(found):
        faults.append(object_fault("must validate at least one schema (anyOf)"))
        faults += _best(branches, found, value)


def _check_one(branches: Sequence[_Branch], value: Any, faults: list[Fault]) -> None:
    found = [_faults(branch, value) for branch in branches]
    valid = sum(not each for each in found)
    if valid == 1:
        return
    how_many = f"Found {valid} valid alternatives" if valid else "Found none valid"
    faults.append(object_fault(f"must validate one and only one schema (oneOf). {how_many}"))
    if not valid:
        faults += _best(branches, found, value)


def _check_all(branches: Sequence[_Branch], value: Any, faults: list[Fault]) -> None:
    found = [_faults(branch, value) for branch in branches]
    if any(found):
        for each in found:
            faults += each
        none = ". None validated" if all(found) else ""
        faults.append(object_fault(f"must validate all the schemas (allOf){none}"))


def _best(branches: Sequence[_Branch], found: Sequence[list[Fault]], value: Any) -> list[Fault]:
    looked_at = [_count(raw, value) for raw, _ in branches]
    return found[looked_at.index(max(looked_at))]


def _count(raw: Raw, value: Any) -> int:
    """Return how many values a schema says something of."""
    count = 1
    if isinstance(value, dict):
        for name, child in (raw.get("properties") or {}).items():
            if name in value:
                count += _count(child, value[name])
    items = raw.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        count += sum(_count(items, item) for item in value)
    return count
