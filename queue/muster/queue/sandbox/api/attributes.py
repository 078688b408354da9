"""
What a write is about, as admission sees it: one request, before it is stored.

The path of every write makes one and hands it to admission; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from muster.queue.sandbox.kinds.resources import Resource, Shared

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(frozen=True, slots=True)
class User:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def manifest(self) -> dict[str, Any]:
        """Return it as the `userInfo` of a review."""
        info: dict[str, Any] = {}
        if self.name:
            info["username"] = self.name
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """
    One write of one object.

    The objects are in the version of `resource`, with apiVersion and kind; for a sub-resource with
    a kind of its own (`scale`, `binding`, `eviction`) they are of that kind.
    """

    resource: Resource
    operation: Operation
    user: User
    namespace: str = ""
    """"" for kinds without; for a Namespace its own name."""
    name: str = ""
    """"" while an object with generateName has none yet."""
    subresource: str = ""
    object: Shared | None = None
    """What is to be stored; None for DELETE."""
    old_object: Shared | None = None
    """What is stored; None for CREATE."""
    options: Shared | None = None
    """CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, with apiVersion and kind."""
    dry_run: bool = False

    def with_object(self, obj: Shared) -> Attributes:
        """Return the same with another object to be stored."""
        return replace(self, object=obj)
