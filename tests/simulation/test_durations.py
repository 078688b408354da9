"""Lengths of time: read exactly, refused with a hint, written for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.simulation.durations import UNITS_US, DurationError, parse_duration, short

S = 1_000_000


@pytest.mark.parametrize(
    "text, us",
    [
        ("90s", 90 * S),
        ("5m", 300 * S),
        ("1h30m", 5400 * S),
        ("2d", 172_800 * S),
        ("250ms", S // 4),
        ("7us", 7),
        ("1.5s", 3 * S // 2),
        (" 0s ", 0),
        ("0.0000001s", 0),
    ],
)
def test_a_duration(text: str, us: int) -> None:
    assert parse_duration(text) == us


@pytest.mark.parametrize(
    "text, hint",
    [
        ("", "a duration is a number with a unit"),
        ("soon", "a duration is a number with a unit"),
        ("5", 'say the unit: "5s" for seconds, "5m" for minutes'),
        ("-5s", "it cannot be negative"),
        ("5 minutes", 'did you mean "5m"?'),
        ("1h 30m", 'did you mean "1h30m"?'),
        ("2Hours", 'did you mean "2h"?'),
        ("5s!", "a duration is a number with a unit"),
        ("99999999d", "longer than 10000 years"),
    ],
)
def test_what_is_no_duration(text: str, hint: str) -> None:
    with pytest.raises(DurationError) as raised:
        parse_duration(text)

    assert hint in str(raised.value)
    assert repr(text) in str(raised.value)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(list(UNITS_US))), min_size=1))
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{number}{unit}" for number, unit in parts)

    assert parse_duration(text) == sum(number * UNITS_US[unit] for number, unit in parts)


@pytest.mark.parametrize(
    "us, text",
    [
        (0, "0"),
        (999, "999 us"),
        (1_000, "1 ms"),
        (999_999, "999 ms"),
        (1_500_000, "1.5 s"),
        (67_600_000, "67.6 s"),
        (60_000_000, "1m"),
        (120_000_000, "2m"),
        (125_000_000, "2m 5s"),
        (5400 * S, "1h 30m"),
        (7200 * S + S, "2h"),
        (90_000 * S, "1d 1h"),
    ],
)
def test_a_duration_for_people(us: int, text: str) -> None:
    assert short(us) == text
