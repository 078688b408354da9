"""Timestamps and durations are exact to the microsecond, and refused when they are ambiguous."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.api.durations import DurationError, format_duration, parse_duration
from muster.queue.api.timestamps import TimestampError, format_timestamp, parse_timestamp

NOON_US = 1_767_268_800_000_000
"""2026-01-01T12:00:00Z."""


@pytest.mark.parametrize(
    "text, micros",
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-01T12:00:00Z", NOON_US),
        ("2026-01-01t12:00:00z", NOON_US),
        ("2026-01-01T14:00:00+02:00", NOON_US),
        ("2026-01-01T06:30:00-05:30", NOON_US),
        ("2026-01-01T12:00:00.5Z", NOON_US + 500_000),
        ("2026-01-01T12:00:00.000001Z", NOON_US + 1),
        ("2026-01-01T12:00:00.123456789Z", NOON_US + 123_456),
        ("1969-12-31T23:59:59Z", -1_000_000),
    ],
)
def test_a_timestamp_counts_microseconds_since_the_epoch(text: str, micros: int) -> None:
    assert parse_timestamp(text) == micros


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-01",
        "2026-01-01 12:00:00Z",
        "2026-01-01T12:00Z",
        "2026-01-01T12:00:00",
        "2026-02-30T12:00:00Z",
        "2026-01-01T25:00:00Z",
        "2026-W01-1T12:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-01-01T12:00:00Z\n",
        # In UTC these are beyond the years that can be written.
        "9999-12-31T23:59:59-00:01",
        "0001-01-01T00:00:00+00:01",
    ],
)
def test_other_text_is_no_timestamp(text: str) -> None:
    with pytest.raises(TimestampError, match="is not a timestamp: write date, time and zone"):
        parse_timestamp(text)


@given(
    moment=st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))  # noqa: DTZ001
)
def test_a_written_timestamp_reads_back(moment: datetime) -> None:
    micros = (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )

    assert parse_timestamp(format_timestamp(micros)) == micros


def test_whole_seconds_are_written_without_a_fraction() -> None:
    assert format_timestamp(NOON_US) == "2026-01-01T12:00:00Z"
    assert format_timestamp(NOON_US + 1) == "2026-01-01T12:00:00.000001Z"


@pytest.mark.parametrize(
    "text, duration, written",
    [
        ("0", timedelta(0), "0s"),
        ("0s", timedelta(0), "0s"),
        ("90s", timedelta(seconds=90), "1m30s"),
        ("1h30m", timedelta(hours=1, minutes=30), "1h30m"),
        ("1.5h", timedelta(hours=1, minutes=30), "1h30m"),
        (".5s", timedelta(milliseconds=500), "0.5s"),
        ("168h", timedelta(days=7), "168h"),
        ("15ms", timedelta(milliseconds=15), "0.015s"),
        ("7us", timedelta(microseconds=7), "0.000007s"),
        ("7µs", timedelta(microseconds=7), "0.000007s"),
        ("1500ns", timedelta(microseconds=1), "0.000001s"),
        ("-5m", timedelta(minutes=-5), "-5m"),
        ("+5m", timedelta(minutes=5), "5m"),
        ("1s" * 32, timedelta(seconds=32), "32s"),
        ("1h1m1s1ms", timedelta(hours=1, minutes=1, seconds=1, milliseconds=1), "1h1m1.001s"),
    ],
)
def test_a_duration_is_read_and_written_as_go_does(
    text: str, duration: timedelta, written: str
) -> None:
    assert parse_duration(text) == duration
    assert format_duration(duration) == written


@pytest.mark.parametrize(
    "text, hint",
    [
        ("", "90s or 1h30m"),
        ("300", "did you mean 300s?"),
        ("5 m", "90s or 1h30m"),
        ("1d", "90s or 1h30m"),
        ("--5m", "90s or 1h30m"),
        ("-", "90s or 1h30m"),
        (".s", "90s or 1h30m"),
        ("1h-5m", "90s or 1h30m"),
        ("5m x", "90s or 1h30m"),
        ("9999999h", "90s or 1h30m"),
        ("1h" * 40, "90s or 1h30m"),
    ],
)
def test_other_text_is_no_duration(text: str, hint: str) -> None:
    with pytest.raises(DurationError, match="is not a duration") as caught:
        parse_duration(text)

    assert hint in str(caught.value)


@given(micros=st.integers(-(10**15), 10**15))
def test_a_written_duration_reads_back(micros: int) -> None:
    duration = timedelta(microseconds=micros)

    assert parse_duration(format_duration(duration)) == duration
