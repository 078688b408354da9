"""Sets of indexes and their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.simulated.jobs.indexes import Indexes

SETS = st.frozensets(st.integers(0, 30))


def listed(indexes: Indexes) -> frozenset[int]:
    return frozenset(index for first, last in indexes.intervals for index in range(first, last + 1))


@pytest.mark.parametrize(
    "text, completions, meant",
    [
        ("", 9, ""),
        ("0-2,4", 9, "0-2,4"),
        ("3,4", 9, "3,4"),
        ("3-5", 9, "3-5"),
        ("1,3-7,9", 5, "1,3,4"),
        ("x,2,4-y,-1,7-6", 9, "2"),
        ("0,1,2", 9, "0-2"),
    ],
)
def test_text_is_read(text: str, completions: int, meant: str) -> None:
    assert str(Indexes.parse(text, completions)) == meant


@given(SETS, SETS)
def test_they_are_sets(left: frozenset[int], right: frozenset[int]) -> None:
    one, other = Indexes.of(left), Indexes.of(right)
    assert listed(one) == left
    assert listed(one | other) == left | right
    assert listed(one & other) == left & right
    assert len(one) == len(left)
    assert all((index in one) == (index in left) for index in range(32))
    assert list(one.missing(20)) == sorted(frozenset(range(20)) - left)
    assert Indexes.parse(str(one), 31) == one
