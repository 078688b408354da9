"""Tables for people: columns as wide as what is in them, the last one wrapped to fit the line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import click

LINE_WIDTH: Final = 100
"""Characters of a line, where lines are limited."""

_GAP: Final = 2
_LAST_MIN: Final = 40  # characters the last column keeps, even if a line gets too long for it
_COLUMN_MAX: Final = 32  # characters of any other column


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of one row; each line of the last cell is wrapped for itself."""

    cells: tuple[str, ...]
    last: tuple[str, ...] = ("",)


def table(
    heading: Sequence[str], rows: Iterable[Row], *, width: int | None = LINE_WIDTH
) -> Iterator[str]:
    """
    Yield the lines of a table; none if it has no rows.

    With `width` None no line is wrapped and every column is as wide as it needs to be.
    """
    found = list(rows)
    if not found:
        return
    *labels, last_label = heading
    widest = [
        max(len(label), *(len(row.cells[index]) for row in found))
        for index, label in enumerate(labels)
    ]
    limit = _COLUMN_MAX if width is not None else None
    widths = [min(each, limit) if limit is not None else each for each in widest]
    indent = sum(widths) + _GAP * len(widths)
    room = None if width is None else max(_LAST_MIN, width - indent)
    yield click.style(_padded(labels, widths) + last_label, bold=True)
    for row in found:
        yield from _row_lines(row, widths, indent, room)


def _row_lines(row: Row, widths: Sequence[int], indent: int, room: int | None) -> Iterator[str]:
    last = [line for part in row.last for line in _wrapped(part, room)] or [""]
    too_long = any(len(cell) > width for cell, width in zip(row.cells, widths, strict=True))
    if too_long:
        # Whole names matter more than straight columns.
        yield "  ".join(row.cells)
    else:
        yield (_padded(row.cells, widths) + last.pop(0)).rstrip()
    for line in last:
        yield " " * indent + line


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    gap = " " * _GAP
    return "".join(cell.ljust(width) + gap for cell, width in zip(cells, widths, strict=True))


def _wrapped(text: str, room: int | None) -> list[str]:
    if room is None or len(text) <= room:
        return [text]
    return textwrap.wrap(
        text, room, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
