"""Nodes: what may be said of a machine, and what of it stays."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any, Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    shown,
)
from muster.queue.sandbox.kinds.amounts import amount_errors
from muster.queue.sandbox.kinds.metadata import rule_errors
from muster.queue.sandbox.kinds.names import label_key, label_value
from muster.queue.sandbox.kinds.pod_scheduling import effect_errors
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import StatusStrategy, entries, part

_FAMILIES_MAX: Final = 2


class NodeStrategy(StatusStrategy):
    """The strategy of Nodes, which may come with a status."""

    generation = False

    def fill(self, obj: Object) -> None:
        spec, status = obj["spec"], obj["status"]
        if "capacity" in status:
            status.setdefault("allocatable", dict(status["capacity"]))
        first, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
        if first and (not ranges or ranges[0] != first):
            spec["podCIDRs"] = [first]
        elif ranges and not first:
            spec["podCIDR"] = ranges[0]

    def prepare_create(self, obj: Object, now: str) -> None:
        obj["spec"].pop("configSource", None)
        obj["status"].pop("config", None)

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _node_errors(obj)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        return (*_node_errors(obj), *_update_errors(obj, old))


def _node_errors(node: Shared) -> Iterator[FieldError]:
    yield from _taints_errors("metadata.taints", entries(node, "spec", "taints"))
    for kind in ("capacity", "allocatable"):
        for name, amount in part(node, "status", kind).items():
            yield from amount_errors(f"status.{kind}.{name}", name, amount)
    ranges = entries(node, "spec", "podCIDRs")
    for index, each in enumerate(ranges):
        try:
            ipaddress.ip_network(each, strict=False)
        except ValueError:
            detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid_value(f"spec.podCIDRs[{index}]", each, detail)
    versions = [":" in each for each in ranges]
    if len(versions) > _FAMILIES_MAX or len(versions) != len(dict.fromkeys(versions)):
        detail = "may specify no more than one CIDR for each IP family"
        yield invalid_value("spec.podCIDRs", list(ranges), detail)


def _taints_errors(place: str, taints: Any) -> Iterator[FieldError]:
    seen: dict[tuple[str, str], None] = {}
    for index, taint in enumerate(taints):
        at, key, effect = f"{place}[{index}]", taint["key"], taint["effect"]
        yield from rule_errors(f"{at}.key", key, label_key)
        value = taint.get("value", "")
        if wrong := label_value(value):
            yield invalid_value(f"{at}.value", value, ";".join(wrong))
        if effect:
            yield from effect_errors(f"{at}.effect", effect)
        else:
            yield required(f"{at}.effect")
        if (key, effect) in seen:
            message = f"Duplicate value: {shown(taint)}"
            detail = "taints must be unique by key and effect pair"
            yield FieldError("FieldValueDuplicate", at, f"{message}: {detail}")
        seen[key, effect] = None


def _update_errors(node: Shared, old: Shared) -> Iterator[FieldError]:
    seen: list[Shared] = []
    for index, address in enumerate(entries(node, "status", "addresses")):
        if address in seen:
            yield duplicate(f"status.addresses[{index}]", address)
        seen.append(address)
    spec, before = node["spec"], old["spec"]
    if before.get("podCIDRs") and before["podCIDRs"] != spec.get("podCIDRs"):
        detail = 'node updates may not change podCIDR except from "" to valid'
        yield forbidden_field("spec.podCIDRs", detail)
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        detail = 'node updates may not change providerID except from "" to valid'
        yield forbidden_field("spec.providerID", detail)
