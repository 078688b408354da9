"""From documents to objects, each on its own; what they say about each other is in `references`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import yaml
from pydantic import ValidationError

from muster.queue.api.problems import describe
from muster.queue.api.registry import (
    KINDS,
    ApiObject,
    KindError,
    UninterpretedKindError,
    kind_of,
    parse_object,
)
from muster.queue.api.v1beta1 import upgrade
from muster.queue.api.wording import shown
from muster.queue.manifests import sources
from muster.queue.manifests.complaints import Complaint, Origin
from muster.queue.manifests.parsing import Document, SyntaxProblem, parse


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object, and where it was written."""

    model: ApiObject
    origin: Origin
    upgraded: tuple[str, ...] = ()
    """What was written in an old version and is called otherwise now, or was dropped."""

    @property
    def stored(self) -> bool:
        """Whether it comes from a cluster: then it is taken as it is."""
        return bool(self.model.metadata.resource_version)

    @property
    def subject(self) -> str:
        return subject(self.model.kind, self.model.metadata.name, self.namespace)

    @property
    def namespace(self) -> str | None:
        """The namespace, "default" when none is given; None for kinds that have none."""
        if KINDS[self.model.api_version, self.model.kind].scope == "Cluster":
            return None
        return self.model.metadata.namespace or "default"

    def complaint(self, path: str, message: str) -> Complaint:
        """Return a complaint about a place in the object."""
        return Complaint(origin=self.origin, subject=self.subject, path=path, message=message)


def subject(kind: str, name: str, namespace: str | None) -> str:
    """Return an object as a person calls it."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}".strip()


@dataclass(slots=True)
class Loaded:
    """What was read."""

    manifests: list[Manifest] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    """How many objects there were of each kind that decides nothing here."""
    complaints: list[Complaint] = field(default_factory=list)
    broken: list[tuple[type[ApiObject], str | None, str]] = field(default_factory=list)
    """Kind, namespace and name of objects that are there, but have mistakes in them."""
    hidden: bool = False
    """Whether there was something of which not even the kind and the name could be read."""

    def hide(self, complaint: Complaint) -> None:
        """Take note of something that may be anything."""
        self.complaints.append(complaint)
        self.hidden = True


def load(paths: Iterable[str], stdin: BinaryIO) -> Loaded:
    """Read everything behind `paths` (files, directories, "-"), as far as it can be read."""
    loaded = Loaded()
    for source in sources.read(paths, stdin):
        if isinstance(source, Complaint):
            loaded.hide(source)
        else:
            _load_source(source, loaded)
    return loaded


def _load_source(source: sources.Source, loaded: Loaded) -> None:
    number = 0
    empty = True
    try:
        for number, document in enumerate(parse(source.text, is_json=source.is_json), start=1):
            origin = Origin(source=source.name, document=number, line=document.line)
            loaded.complaints += [
                Complaint(origin=origin, message=flaw.message, line=flaw.line)
                for flaw in document.flaws
            ]
            if document.value is not None:
                empty = False
                for each in _objects(document, origin, loaded):
                    _load_object(*each, loaded)
    except SyntaxProblem as problem:
        origin = Origin(source=source.name, document=number + 1, line=problem.line)
        loaded.hide(Complaint(origin=origin, message=problem.message))
    else:
        if empty and source.named:
            origin = Origin(source=source.name)
            message = "is empty: expected Kubernetes objects in YAML or JSON"
            loaded.complaints.append(Complaint(origin=origin, message=message))


# --- Documents -----------------------------------------------------------------------------------


def _objects(
    document: Document, origin: Origin, loaded: Loaded
) -> Iterator[tuple[Mapping[str, Any], Document, Origin]]:
    """Yield the objects of a document: itself, or the items when it is a list of objects."""
    value = document.value
    if not isinstance(value, dict):
        message = f"expected an object with apiVersion and kind, got {shown(value)}"
        if isinstance(value, list):
            message += ": put several objects into a List, or a line of --- between them"
        loaded.hide(Complaint(origin=origin, message=message))
        return
    kind = value.get("kind")
    items = value.get("items")
    if not (isinstance(kind, str) and kind.endswith("List") and "items" in value):
        yield value, document, origin
        return
    if not isinstance(items, list | None):
        message = f"{shown(items)} is not a list of objects"
        loaded.hide(Complaint(origin=origin, subject=kind, path="items", message=message))
        return
    # The items of a typed list, as the API server writes it, leave out what the list says already.
    inherited = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(items or ()):
        node = _item_node(document.node, index)
        line = document.line if node is None else node.start_mark.line + 1
        where = replace(origin, item=index, line=line)
        if isinstance(item, dict):
            whole = item if kind == "List" else {**inherited, **item}
            yield whole, Document(whole, line, (), node), where
        else:
            message = f"expected an object with apiVersion and kind, got {shown(item)}"
            loaded.hide(Complaint(origin=where, message=message))


def _item_node(node: yaml.Node | None, index: int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "items" and isinstance(value, yaml.SequenceNode):
                child = value.value[index]
                assert isinstance(child, yaml.Node)
                return child
    return None


def _load_object(
    value: Mapping[str, Any], document: Document, origin: Origin, loaded: Loaded
) -> None:
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = _text(metadata.get("name"))
    if not name and metadata.get("generateName"):
        # The API server appends random characters; counting makes a plan repeatable.
        number = len(loaded.manifests) + 1
        name = f"{_text(metadata['generateName'])}{number}"
        value = {**value, "metadata": {**metadata, "name": name}}
    who = subject(_text(value.get("kind")), name, _text(metadata.get("namespace")))
    try:
        model = parse_object(value, stored=bool(metadata.get("resourceVersion")))
    except UninterpretedKindError:
        loaded.ignored[_text(value.get("kind"))] += 1
    except KindError as error:
        loaded.hide(Complaint(origin=origin, subject=who, message=str(error)))
    except ValidationError as error:
        kind = kind_of(upgrade(dict(value)).document)
        namespace = _text(metadata.get("namespace")) or "default"
        loaded.broken.append((kind.model, namespace if kind.scope == "Namespaced" else None, name))
        problems = describe(error, kind.model)
        complaints = [
            Complaint(
                origin=origin,
                subject=who,
                path=problem.path,
                message=problem.message,
                line=document.line_of(problem.path),
            )
            for problem in problems
        ]
        loaded.complaints += sorted(complaints, key=lambda complaint: complaint.line or 0)
    else:
        loaded.manifests.append(Manifest(model, origin, upgrade(dict(value)).notes))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
