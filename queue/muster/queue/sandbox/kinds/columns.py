"""What a definition says of showing objects in columns, and of selecting them by their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from muster.queue.sandbox.kinds.ages import AGE, age
from muster.queue.sandbox.kinds.jsonpath import JsonPath, PathError, as_text
from muster.queue.sandbox.kinds.resources import Column, Path, Shared


def printer_columns(version: Shared) -> tuple[Column, ...]:
    """Return the columns of a version of a definition; the age where it has none."""
    return tuple(_columns(version.get("additionalPrinterColumns") or ())) or (AGE,)


def _columns(defined: Any) -> Iterator[Column]:
    for column in defined:
        text = column["jsonPath"]
        try:
            path = JsonPath(text)
        except PathError:
            return  # as the real server: no column from the first unreadable one on
        yield Column(
            name=column["name"],
            type=column["type"],
            format=column.get("format", ""),
            description=column.get("description")
            or f"Custom resource definition column (in JSONPath format): {text}",
            priority=column.get("priority", 0),
            value=_cell(path, _CELLS[column["type"]]),
        )


_Show = Callable[[Any, int], Any]
"""Returns what a cell shows of a found value at an instant, None for nothing."""


def _cell(path: JsonPath, show: _Show) -> Callable[[Shared, int], Any]:
    def cell(obj: Shared, now_us: int) -> Any:
        try:
            found = path.find(obj)
        except PathError:
            return None
        return show(found[0], now_us) if found else None

    return cell


def _integer(value: Any, _: int) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, _: int) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


_CELLS: Final[Mapping[str, _Show]] = {
    "string": lambda value, _: as_text(value),
    "integer": _integer,
    "number": _number,
    "boolean": lambda value, _: value if isinstance(value, bool) else None,
    "date": lambda value, now_us: age(value, now_us) if isinstance(value, str) else None,
}


def selectable_fields(version: Shared) -> Mapping[str, Callable[[Shared], str]]:
    """Return the fields of a version that selectors may name, and their values as text."""
    paths = [each["jsonPath"] for each in version.get("selectableFields") or ()]
    return {path.removeprefix("."): _field(tuple(path.split(".")[1:])) for path in paths}


def _field(path: Path) -> Callable[[Shared], str]:
    def value(obj: Shared) -> str:
        found = value_at(obj, path)
        return "" if found is None else as_text(found)

    return value


def value_at(obj: Shared, path: Path) -> Any:
    """Return the value at a path in an object of any form, None where there is none."""
    found: Any = obj
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found
