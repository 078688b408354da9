"""A request's path, told apart: which resource, where, and which part of it."""

from __future__ import annotations

from typing import NamedTuple

from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.kinds.resources import Resource


class Target(NamedTuple):
    """What a path of objects leads to."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    more: str = ""
    """What comes after the sub-resource; nothing is served there."""


def target_of(catalogue: Catalogue, parts: list[str]) -> Target | None:
    """
    Return what the parts of a path lead to, None for a resource that isn't served.

    `parts` are those after /api or /apis/GROUP: the version comes first, preceded by the group.
    """
    group, version, *rest = parts
    namespace = ""
    # /namespaces/NAME and /namespaces/NAME/status are about a namespace, all else is in it.
    if rest[:1] == ["namespaces"] and rest[2:] and rest[2:] not in (["status"], ["finalize"]):
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    resource = catalogue.find(group, version, rest[0])
    if resource is None or (namespace and not resource.kind.namespaced):
        return None
    name, subresource, *more = (*rest[1:], "", "")
    return Target(resource, namespace, name, subresource, "/".join(filter(None, more)))
