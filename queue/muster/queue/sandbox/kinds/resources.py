"""
One kind in one version, with all that the verbs, discovery and tables need to know of it.

What is special about a kind is in its `Strategy`: pure functions of objects, called by the one path
that every write takes. They may change the object they are given, which belongs to the request
alone, and never the old one, which everybody shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from muster.queue.client.kinds import Kind
from muster.queue.client.refusal import FieldError, Subject
from muster.queue.sandbox.kinds.names import NameRule, dns_subdomain
from muster.queue.sandbox.schema.node import Schema

Object = dict[str, Any]
"""A JSON document that belongs to whoever holds it."""

Shared = Mapping[str, Any]
"""A JSON document that others see: never changed."""

Path = tuple[str, ...]
"""Names of fields from the root of an object, as in ("spec", "replicas")."""


class Strategy:
    """
    What a kind does beyond what all do; this one does nothing more.

    `subresource` is "" where the object itself is written, else such as "status" or "scale".
    """

    name_rule: NameRule = staticmethod(dns_subdomain)
    """What a name may be."""
    generation = True
    """metadata.generation counts the changes of everything but metadata and status."""
    allows_create_on_update = False
    """PUT makes an object that isn't there yet."""
    allows_unconditional_update = True
    """PUT needs no resourceVersion."""
    graceful = False
    """Deletion may take time: `deletion_grace_s` says how much."""

    orphans_dependents = False
    """Unless asked otherwise, its deletion leaves what it owns."""
    orphan_warning = ""
    """What whoever deletes it is told when that is so."""

    def default(self, obj: Object) -> None:
        """Fill what may be left out."""

    def prepare_create(self, obj: Object, now: str) -> None:
        """Make a new object what it has to be: without status where that is a sub-resource."""

    def prepare_update(self, obj: Object, old: Shared, subresource: str, now: str) -> None:
        """Undo changes that this request can't make, such as of status in the object itself."""

    def reset_fields(self, subresource: str) -> Sequence[Path]:
        """Return what `prepare_update` undoes, so that nobody comes to own it by this request."""
        return ()

    def validate_create(self, obj: Shared) -> list[FieldError]:
        return []

    def validate_update(self, obj: Shared, old: Shared, subresource: str) -> list[FieldError]:
        return []

    def warnings(self, obj: Shared, old: Shared | None) -> Iterable[str]:
        """Yield what the answer's Warning headers tell whoever wrote the object."""
        return ()

    def holds(self, obj: Shared) -> bool:
        """Say whether an object that was deleted stays for now, besides for its finalizers."""
        return False

    def deletion_grace_s(self, obj: Shared, asked_s: int | None) -> int:
        """Return how long the object stays with a deletionTimestamp; 0 to go at once."""
        return 0

    def prepare_deletion(self, obj: Object) -> None:
        """Change an object that was given a deletionTimestamp."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of what kubectl prints."""

    name: str
    value: Callable[[Shared, int], Any]
    """
    The cell of an object at an instant, in microseconds: text, number, boolean or None.

    It is of the type that `type` says.
    """
    description: str = ""
    _: KW_ONLY
    type: str = "string"
    format: str = ""
    priority: int = 0
    """More than 0: shown with `-o wide` only."""


Answer = Callable[[Shared, Shared], Object]
"""From an object and the `userInfo` of whoever sent it to the object with its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where the numbers of a `scale` sub-resource are, by path in the object."""

    spec_replicas: Path
    status_replicas: Path
    label_selector: Path = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """A kind that is served."""

    kind: Kind
    singular: str
    schema: Schema
    strategy: Strategy
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    """Besides the object itself: "status", "scale", "binding", "eviction", "finalize", ..."""
    columns: tuple[Column, ...] = ()
    """
    After the name, unless one of them is the name (of the format "name").

    Without any there is the time of creation.
    """
    selectable: Mapping[str, Callable[[Shared], str]] = field(default_factory=dict)
    """Field selectors besides metadata.name and metadata.namespace."""
    scale: Scale | None = None
    schema_name: str = ""
    """Of its component in the OpenAPI document, such as "io.k8s.api.core.v1.Pod"."""
    published: Callable[[], Mapping[str, Any]] | None = None
    """Makes the schema that OpenAPI shows, for kinds that are not among the known components."""
    custom: bool = False
    """It comes from a definition: no strategic merge patch, strict resourceVersions."""
    terminating: bool = False
    """Its definition is being deleted, so there are no new objects."""
    answer: Answer | None = None
    """What is done instead of storing an object, for kinds that are questions."""
    warning: str = ""
    """Of every request, for a deprecated version."""
    description: str = ""
    """What `kubectl explain` says of it."""
    stored_as: str = ""
    """The key of another resource that has the same objects in another version."""

    @property
    def key(self) -> str:
        """What all versions of it are stored under."""
        return self.stored_as or f"{self.kind.plural}.{self.kind.group}"

    def subject(self, name: str) -> Subject:
        """What requests about one object are about."""
        return Subject(self.kind.group, self.kind.plural, name)

    def kind_subject(self, name: str) -> Subject:
        """The same, for refusals of an object's fields."""
        group = self.stored_as.partition(".")[2] if self.stored_as else self.kind.group
        return Subject(group, self.kind.kind, name)
