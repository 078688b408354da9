"""Sets of completion indexes as a Job's status writes them: ordered intervals, such as "0-2,4"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple


class Interval(NamedTuple):
    """The indexes from first to last, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Indexes:
    """A set of indexes: disjoint intervals in increasing order, with a gap between any two."""

    intervals: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, indexes: Iterable[int]) -> Indexes:
        return cls(_joined(Interval(index, index) for index in sorted(indexes)))

    @classmethod
    def parse(cls, text: str, completions: int) -> Indexes:
        """Read "0-2,4"; what is no interval, or not below `completions`, is left out."""
        return cls(_joined(_intervals(text, completions)))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def __contains__(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self.intervals)

    def __or__(self, other: Indexes) -> Indexes:
        return Indexes(_joined(sorted(self.intervals + other.intervals)))

    def __and__(self, other: Indexes) -> Indexes:
        common = (
            Interval(max(mine.first, theirs.first), min(mine.last, theirs.last))
            for mine in self.intervals
            for theirs in other.intervals
        )
        return Indexes(_joined(sorted(each for each in common if each.first <= each.last)))

    def __str__(self) -> str:
        return ",".join(_text(interval) for interval in self.intervals)

    def missing(self, completions: int) -> Iterator[int]:
        """Yield the indexes below `completions` that are not in the set, in order."""
        candidate = 0
        for first, last in self.intervals:
            yield from range(candidate, min(first, completions))
            candidate = last + 1
        yield from range(candidate, completions)


NO_INDEXES: Final = Indexes()


def _joined(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    joined: list[Interval] = []
    for interval in intervals:
        if joined and interval.first <= joined[-1].last + 1:
            joined[-1] = Interval(joined[-1].first, max(joined[-1].last, interval.last))
        else:
            joined.append(interval)
    return tuple(joined)


def _intervals(text: str, completions: int) -> list[Interval]:
    intervals = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            continue
        interval = Interval(int(first), min(int(last or first), completions - 1))
        if interval.first <= interval.last:
            intervals.append(interval)
    return sorted(intervals)


def _text(interval: Interval) -> str:
    first, last = interval
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
