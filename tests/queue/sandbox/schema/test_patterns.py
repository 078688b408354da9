"""Patterns of definitions: what matches, as RE2 has it, and never in more than a moment."""

import time

import pytest

from muster.queue.sandbox.schema import patterns, re2

NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
TEXTS = ("", "a", "a.b-c", "a.", "-a", "A", "1", "1.5Gi", "+1e3", "1e", "a\n", "ab" * 60, "ä")

# Each with a text that takes a program that goes back ages: one that almost matches.
ENDLESS = {
    r"^(a+)+$": "a" * 40 + "!",
    r"^(a*)*$": "a" * 40 + "!",
    r"^(a|a)*$": "a" * 40 + "!",
    r"^(?:a?){40}a{40}$": "a" * 39,
    r"^(([a-z])+.)+[A-Z]([a-z])+$": "a" * 60,
    r"^(.*)*=(.*)*$": "x" * 40,
    r"^([[:alpha:]]+[\])]?)+$": "a" * 40 + "!",
    "^" + "a?" * 40 + "a" * 40 + "$": "a" * 39,
    "^" + "(a|a)" * 40 + "$": "a" * 39 + "!",
    "^" + ".*" * 12 + "!$": "a" * 64,
    r"^a*a*$": "a" * 200_000 + "!",
}


@pytest.mark.parametrize("pattern", ENDLESS, ids=lambda pattern: pattern[:30])
def test_no_pattern_takes_long(pattern: str) -> None:
    started_s = time.monotonic()

    assert not patterns.search(pattern)(ENDLESS[pattern])

    assert time.monotonic() - started_s < 1


@pytest.mark.parametrize("pattern", [NAME, QUANTITY, r"^a+$", r"a|b", r"^\d{1,3}$", r"[^a]"])
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:10])
def test_whoever_is_asked_says_the_same(pattern: str, text: str) -> None:
    assert bool(patterns.search(pattern)(text)) == re2.matches(pattern, text)


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|b)*", "(a?){5}", r"\pL+"])
def test_where_such_a_pattern_matches_is_not_told(pattern: str) -> None:
    with pytest.raises(patterns.PatternError, match="can't be told here"):
        next(patterns.matches(pattern, "a"))


@pytest.mark.parametrize("depth", [300, 900])
def test_groups_may_be_in_groups(depth: int) -> None:
    pattern = "(?:" * depth + "a" + ")" * depth

    assert patterns.search(pattern)("a")
    assert not patterns.search(pattern)("b")
