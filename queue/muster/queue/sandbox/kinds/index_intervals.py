"""Completion indexes as text: intervals in increasing order, such as "0-2,4"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Interval = tuple[int, int]
"""The first and the last index."""


class IndexesError(ValueError):
    """A text that stands for no indexes; it says why."""


def intervals(text: str, completions: int) -> list[Interval]:
    """Return the intervals of a text, all below `completions`. Raises IndexesError."""
    found: list[Interval] = []
    for fragment in text.split(",") if text else ():
        first, last = _interval(fragment, completions)
        if found and found[-1][1] >= first:
            raise _unordered(found[-1][1], first)
        found.append((first, last))
    return found


def _interval(fragment: str, completions: int) -> Interval:
    parts = fragment.split("-")
    if len(parts) > 2:  # noqa: PLR2004 - an interval has two ends
        raise IndexesError(
            f'the fragment "{fragment}" violates the requirement that an index interval can have at'
            " most two parts separated by '-'"
        )
    ends = [_index(part, completions) for part in parts]
    if len(ends) > 1 and ends[0] >= ends[1]:
        raise _unordered(ends[0], ends[1])
    return ends[0], ends[-1]


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise IndexesError(f'cannot convert string to integer for index: "{text}"')
    index = int(text)
    if index >= completions:
        raise IndexesError(f'too large index: "{text}"')
    return index


def _unordered(previous: int, current: int) -> IndexesError:
    return IndexesError(f"non-increasing order, previous: {previous}, current: {current}")


def count(found: Sequence[Interval]) -> int:
    """Return how many indexes there are."""
    return sum(last - first + 1 for first, last in found)


def common(some: Sequence[Interval], others: Sequence[Interval]) -> Iterator[int]:
    """Yield the first index of each overlap of ordered intervals."""
    mine, theirs = iter(some), iter(others)
    one, other = next(mine, None), next(theirs, None)
    while one is not None and other is not None:
        first = max(one[0], other[0])
        if first <= min(one[1], other[1]):
            yield first
        if one[1] < other[1]:
            one = next(mine, None)
        else:
            other = next(theirs, None)
