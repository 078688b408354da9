"""What columns show, and selectors of fields see, of objects of a defined kind."""

from typing import Any

import pytest

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.sandbox.kinds.ages import age, short_duration
from muster.queue.sandbox.kinds.columns import printer_columns, selectable_fields

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY
NOON = "2026-01-01T12:00:00Z"

DURATIONS = [
    (-2, "<invalid>"),
    (-1, "0s"),
    (0, "0s"),
    (119, "119s"),
    (120, "2m"),
    (9 * MINUTE + 59, "9m59s"),
    (10 * MINUTE + 59, "10m"),
    (3 * HOUR - 1, "179m"),
    (3 * HOUR, "3h"),
    (7 * HOUR + 59 * MINUTE, "7h59m"),
    (8 * HOUR + 59 * MINUTE, "8h"),
    (2 * DAY - 1, "47h"),
    (2 * DAY, "2d"),
    (7 * DAY + 23 * HOUR, "7d23h"),
    (8 * DAY + 23 * HOUR, "8d"),
    (2 * YEAR - 1, "729d"),
    (2 * YEAR, "2y"),
    (2 * YEAR + DAY, "2y1d"),
    (8 * YEAR + DAY, "8y"),
]


@pytest.mark.parametrize("seconds, text", DURATIONS)
def test_a_span_of_time_is_short(seconds: int, text: str) -> None:
    assert short_duration(seconds) == text


AGES = [
    (NOON, "90s"),
    ("2026-01-01T12:01:30.9Z", "0s"),
    ("2026-01-01T12:05:00Z", "<invalid>"),
    ("yesterday", "<invalid>"),
    ("", "<unknown>"),
    (None, "<unknown>"),
]


@pytest.mark.parametrize("timestamp, text", AGES)
def test_an_age_is_what_has_passed(timestamp: Any, text: str) -> None:
    assert age(timestamp, parse_timestamp("2026-01-01T12:01:30Z")) == text


def cell(kind: str, path: str, obj: dict[str, Any]) -> Any:
    column = {"name": "C", "type": kind, "jsonPath": path}
    (shown,) = printer_columns({"additionalPrinterColumns": [column]})
    return shown.value(obj, parse_timestamp(NOON) + 5_000_000)


CELLS: list[tuple[str, Any, Any]] = [
    ("string", "a", "a"),
    ("string", 1.5, "1.5"),
    ("string", ["p", "q"], '["p","q"]'),
    ("string", None, "<no value>"),
    ("integer", 3, 3),
    ("integer", 3.7, 3),
    ("integer", "3", None),
    ("integer", True, None),
    ("number", 1.5, 1.5),
    ("number", 2, 2),
    ("number", "2", None),
    ("boolean", True, True),
    ("boolean", "true", None),
    ("date", NOON, "5s"),
    ("date", "hm", "<invalid>"),
    ("date", None, None),
]


@pytest.mark.parametrize("kind, value, shown", CELLS)
def test_a_cell_shows_a_value_of_its_type(kind: str, value: Any, shown: Any) -> None:
    assert cell(kind, ".f", {"f": value}) == shown


@pytest.mark.parametrize("path", [".g", ".f[3]", ".f[?(@.a<1)]"])
def test_a_cell_is_empty_where_nothing_is_found(path: str) -> None:
    assert cell("string", path, {"f": [{"a": "x"}]}) is None


def test_the_first_of_several_values_is_shown() -> None:
    assert cell("string", ".f[*]", {"f": ["a", "b"]}) == "a"


def test_columns_end_before_the_first_that_is_unreadable() -> None:
    paths = {"A": ".a", "B": ".b[", "C": ".c"}
    version = {
        "additionalPrinterColumns": [
            {"name": name, "type": "string", "jsonPath": path} for name, path in paths.items()
        ]
    }

    assert [column.name for column in printer_columns(version)] == ["A"]


def test_a_kind_without_columns_has_its_age() -> None:
    (column,) = printer_columns({})

    obj = {"metadata": {"creationTimestamp": NOON}}
    assert column.name == "Age"
    assert column.value(obj, parse_timestamp(NOON) + 60_000_000) == "60s"


FIELDS: list[tuple[Any, str]] = [("a", "a"), (True, "true"), (5, "5"), (None, "")]


@pytest.mark.parametrize("value, text", FIELDS)
def test_selectors_see_a_field_as_text(value: Any, text: str) -> None:
    fields = selectable_fields({"selectableFields": [{"jsonPath": ".spec.color"}]})

    assert fields["spec.color"]({"spec": {"color": value}}) == text


def test_selectors_see_nothing_where_there_is_no_field() -> None:
    fields = selectable_fields({"selectableFields": [{"jsonPath": ".spec.color"}]})

    assert fields["spec.color"]({"metadata": {}}) == ""
