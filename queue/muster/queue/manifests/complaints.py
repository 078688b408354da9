"""What is wrong with manifests, where it is, and how it is told to their author."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from muster.queue.api.wording import printable

COMPLAINTS_SHOWN_MAX: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where something was read."""

    source: str
    """The file as it was named, or "standard input"."""
    document: int = 0
    """Number of the document, from 1; 0 for the source as a whole."""
    item: int | None = None
    """Index in the items of a List."""
    line: int | None = None
    """First line of the object, where lines are known."""

    def __str__(self) -> str:
        parts = [self.source if self.line is None else f"{self.source}:{self.line}"]
        if self.document:
            parts.append(f"document {self.document}")
        if self.item is not None:
            parts.append(f"items[{self.item}]")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One mistake."""

    origin: Origin
    subject: str = ""
    """Kind and name of the object, as far as they are known."""
    path: str = ""
    """Where in the object, as in "spec.podSets[0].count"; empty for the whole."""
    message: str
    """The value, what is allowed, and what was probably meant."""
    line: int | None = None


class ManifestError(Exception):
    """Manifests cannot be used; `complaints` says why, completely."""

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        self.complaints = tuple(complaints)
        super().__init__("\n".join(told(self.complaints)))


def told(complaints: Iterable[Complaint]) -> Iterator[str]:
    """Yield the lines of a report: a headline for each object, its mistakes below."""
    found = list(complaints)
    shown = found[:COMPLAINTS_SHOWN_MAX]
    for (origin, subject), group in groupby(shown, key=lambda c: (str(c.origin), c.subject)):
        yield printable(f"{origin}: {subject}" if subject else origin)
        for complaint in group:
            where = [f"line {complaint.line}"] if complaint.line is not None else []
            where += [complaint.path] if complaint.path else []
            if where:
                yield printable(f"  {', '.join(where)}")
                yield printable(f"    {complaint.message}")
            else:
                yield printable(f"  {complaint.message}")
    if len(found) > len(shown):
        yield f"… and {len(found) - len(shown)} more"
