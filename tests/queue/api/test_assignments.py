"""Topology domains in slices: what is written compactly reads back as it was."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.api.assignments import (
    DOMAINS_IN_A_SLICE_MAX,
    Domain,
    TopologyAssignment,
    compress,
)
from tests.queue.api.form_rules import ASSIGNED, PLACED, SLICE
from tests.queue.api.manifests import complaints


def read(document: dict[str, Any]) -> list[Domain]:
    return list(TopologyAssignment.model_validate(document).domains())


def test_a_slice_says_once_what_its_domains_share() -> None:
    domains = [(("b1", "r-1-x"), 4), (("b1", "r-20-x"), 4)]

    written = compress(["block", "rack"], domains)

    assert written == {
        "levels": ["block", "rack"],
        "slices": [
            {
                "domainCount": 2,
                "valuesPerLevel": [
                    {"universal": "b1"},
                    {"individual": {"prefix": "r-", "suffix": "-x", "roots": ["1", "20"]}},
                ],
                "podCounts": {"universal": 4},
            }
        ],
    }
    assert read(written) == domains


def test_what_is_shared_is_not_counted_twice() -> None:
    """The prefix of "aa" and "aaa" is also their suffix."""
    domains = [(("aa",), 1), (("aaa",), 2)]

    assert read(compress(["rack"], domains)) == domains


def test_a_long_assignment_takes_several_slices() -> None:
    domains = [((f"n{number}",), 1) for number in range(DOMAINS_IN_A_SLICE_MAX + 1)]

    written = compress(["host"], domains)

    assert [part["domainCount"] for part in written["slices"]] == [DOMAINS_IN_A_SLICE_MAX, 1]  # type: ignore[attr-defined]
    assert read(written) == domains


def test_slices_follow_each_other() -> None:
    document = {
        "levels": ["rack"],
        "slices": [
            {
                "domainCount": 2,
                "valuesPerLevel": [{"individual": {"roots": ["a", "b"]}}],
                "podCounts": {"individual": [1, 2]},
            },
            {
                "domainCount": 1,
                "valuesPerLevel": [{"universal": "c"}],
                "podCounts": {"universal": 3},
            },
        ],
    }

    assert read(document) == [(("a",), 1), (("b",), 2), (("c",), 3)]


names = st.text("ab-0", min_size=1, max_size=5)


@given(
    domains=st.integers(1, 3).flatmap(
        lambda levels: st.lists(
            st.tuples(st.tuples(*[names] * levels), st.integers(1, 3)), min_size=1, max_size=6
        )
    )
)
def test_what_is_compressed_reads_back(domains: list[Domain]) -> None:
    levels = [f"level-{number}" for number in range(len(domains[0][0]))]

    assert read(compress(levels, domains)) == domains


BROKEN = [
    (f"{SLICE}.valuesPerLevel[0]", {}, "needs exactly one of universal, individual", None),
    (
        f"{SLICE}.valuesPerLevel[0]",
        {"universal": "a", "individual": {"roots": ["a"]}},
        "needs exactly one of universal, individual",
        None,
    ),
    (f"{SLICE}.podCounts", {}, "needs exactly one of universal, individual", None),
    (
        f"{SLICE}.valuesPerLevel[0]",
        {"individual": {"roots": ["a", "b"]}},
        "has 2 entries for 1 domains",
        f"{SLICE}.valuesPerLevel[0].individual.roots",
    ),
    (
        f"{SLICE}.podCounts",
        {"individual": [1, 2]},
        "has 2 entries for 1 domains",
        f"{SLICE}.podCounts.individual",
    ),
    (
        f"{ASSIGNED}.topologyAssignment.levels",
        ["block", "rack"],
        "has 1 entries for 2 levels",
        f"{SLICE}.valuesPerLevel",
    ),
]


@pytest.mark.parametrize("path, value, said, where", BROKEN)
def test_what_does_not_fit_together_is_refused(
    path: str, value: object, said: str, where: str | None
) -> None:
    (complaint,) = complaints("Workload", {**PLACED, path: value})

    assert complaint == f"{where or path}: {said}"
