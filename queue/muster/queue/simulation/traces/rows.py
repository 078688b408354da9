"""
Files of rows, CSV or JSON lines, as cells that know where they stand.

What is wrong with a cell is said with file, line and column. Nothing is understood here of what the
cells mean.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final

import orjson

from muster.queue.api.quantities import QuantityError, request_amount
from muster.queue.api.timestamps import TimestampError, parse_timestamp
from muster.queue.api.wording import did_you_mean, shown
from muster.queue.manifests.complaints import Complaint, ManifestError, Origin
from muster.queue.manifests.sources import Source
from muster.queue.simulation.durations import UNITS_US, DurationError, parse_duration

SECOND_US: Final = UNITS_US["s"]
DELIMITERS: Final = (",", "\t", ";", "|")
"""What may stand between the cells of a line; what the first line has most of is taken."""

SECONDS_MAX: Final = 10**12
WHOLE_MAX: Final = 2**31 - 1

_NUMBER: Final = re.compile(r"(?P<whole>[0-9]{1,15})(?:\.(?P<fraction>[0-9]*))?")
_TIMESTAMP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(?P<zone>Z|[+-][0-9:]+)?")


class CellError(ValueError):
    """One cell cannot be used; the message shows it and says what is allowed."""

    def __init__(self, column: str, message: str) -> None:
        self.column = column
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file. Every reading method raises CellError."""

    line: int
    cells: Mapping[str, Any]

    def has(self, column: str | None) -> bool:
        """Whether there is anything in the cell."""
        return column is not None and self.cells.get(column) not in (None, "")

    def text(self, column: str) -> str:
        if not self.has(column):
            raise CellError(column, "is empty")
        value = self.cells[column]
        if isinstance(value, str):
            return value.strip()
        if isinstance(value, bool | dict | list):
            raise CellError(column, f"{shown(value)} is not text or a number")
        return str(value)

    def whole(self, column: str) -> int:
        """Return a whole number from 0 up."""
        text = self.text(column)
        number = text.removesuffix(".0")
        if not (number.isascii() and number.isdecimal()):
            raise CellError(column, f"{shown(text)} is not a whole number from 0 up")
        if len(number) > len(str(WHOLE_MAX)) or int(number) > WHOLE_MAX:
            raise CellError(column, f"{shown(text)} is too large: {WHOLE_MAX} is the most")
        return int(number)

    def integer(self, column: str) -> int:
        """Return a whole number, which may be negative."""
        text = self.text(column)
        negative = text.startswith("-")
        magnitude = Row(self.line, {column: text.removeprefix("-")}).whole(column)
        return -magnitude if negative else magnitude

    def length_us(self, column: str) -> int:
        """Return a length of time: seconds, or a duration such as "5m"."""
        text = self.text(column)
        seconds = _seconds_us(text)
        if seconds is not None:
            return seconds
        try:
            return parse_duration(text)
        except DurationError as error:
            raise CellError(column, f"{error} (a number alone is seconds)") from None

    def instant_us(self, column: str) -> int:
        """Return an instant: seconds since the start, or a timestamp; without a zone it is UTC."""
        text = self.text(column)
        seconds = _seconds_us(text)
        if seconds is not None:
            return seconds
        stamp = _TIMESTAMP.fullmatch(text)
        if stamp is None:
            message = (
                f"{shown(text)} is neither a number of seconds nor a time as 2026-01-31T12:00:00Z"
            )
            raise CellError(column, message)
        try:
            return parse_timestamp(text.replace(" ", "T") + ("" if stamp["zone"] else "Z"))
        except TimestampError as error:
            raise CellError(column, str(error)) from None

    def amount(self, column: str, resource: str) -> int:
        """Return the engine's amount for a quantity of a resource."""
        text = self.text(column)
        try:
            amount = request_amount(resource, text)
        except QuantityError as error:
            raise CellError(column, str(error)) from None
        if amount < 0:
            raise CellError(column, f"{shown(text)} is negative")
        return amount


def _seconds_us(text: str) -> int | None:
    match = _NUMBER.fullmatch(text)
    if match is None or int(match["whole"]) > SECONDS_MAX:
        return None
    fraction = (match["fraction"] or "")[:6].ljust(6, "0")
    return int(match["whole"]) * SECOND_US + int(fraction)


@dataclass(frozen=True, slots=True)
class Table:
    """A file as rows; `columns` are those of the header, or of the first line of JSON."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def missing(self, column: str, hint: str) -> Complaint:
        """Return the complaint that a column is not there."""
        known = ", ".join(self.columns)
        close = did_you_mean(column, self.columns)
        message = f"has no column {column!r}.{close} Its columns are {known}. {hint}".rstrip()
        return Complaint(origin=Origin(source=self.name), message=message)

    def complaint(self, row: Row, error: CellError) -> Complaint:
        origin = Origin(source=self.name, line=row.line)
        return Complaint(origin=origin, path=f"column {error.column}", message=str(error))


def table(source: Source) -> Table:
    """Return the rows of a file. Raises ManifestError."""
    text = source.text
    if not text.strip():
        raise _broken(source, "is empty: expected a line of column names, then a line for each job")
    if text.lstrip().startswith("{"):
        return _of_json_lines(source)
    return _of_csv(source)


def _broken(source: Source, message: str, line: int | None = None) -> ManifestError:
    return ManifestError([Complaint(origin=Origin(source=source.name, line=line), message=message)])


def _of_csv(source: Source) -> Table:
    first = source.text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(StringIO(source.text, newline=""), delimiter=delimiter, strict=True)
    try:
        return _with_header(source, reader)
    except csv.Error as error:
        raise _broken(source, f"cannot be read as CSV: {error}", reader.line_num) from None


def _with_header(source: Source, reader: Any) -> Table:
    columns: tuple[str, ...] = ()
    rows: list[Row] = []
    for cells in reader:
        if not any(cells):
            continue
        if not columns:
            columns = tuple(cell.strip() for cell in cells)
            twice = [column for column in columns if columns.count(column) > 1]
            if twice:
                raise _broken(source, f"has two columns {twice[0]!r}", reader.line_num)
        elif len(cells) != len(columns):
            message = f"has {len(cells)} cells, but there are {len(columns)} columns"
            raise _broken(source, message, reader.line_num)
        else:
            rows.append(Row(reader.line_num, dict(zip(columns, cells, strict=True))))
    return Table(source.name, columns, tuple(rows))


def _of_json_lines(source: Source) -> Table:
    rows = tuple(_json_rows(source))
    columns = dict.fromkeys(column for row in rows for column in row.cells)
    return Table(source.name, tuple(columns), rows)


def _json_rows(source: Source) -> Iterator[Row]:
    for number, line in enumerate(source.text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            cells = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise _broken(source, f"is not JSON: {error}", number) from None
        if not isinstance(cells, dict):
            raise _broken(source, f"expected an object, one a line, got {shown(cells)}", number)
        yield Row(number, cells)


def checked(table: Table, found: Sequence[Complaint]) -> None:
    """Raise ManifestError if there are complaints, or no rows."""
    if found:
        raise ManifestError(found)
    if not table.rows:
        message = "has no jobs: there is only the line of column names"
        raise ManifestError([Complaint(origin=Origin(source=table.name), message=message)])
