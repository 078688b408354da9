"""One round of ours decides what one cycle of the peer did, in a hundred recorded cases.

Where the complete recordings are at hand, in a folder beside the repository or the one that
MUSTER_RECORDINGS names, all of them are replayed as well.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.queue import scenario
from tests.conformance.comparison import differences

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = Path(__file__).with_name("sample.jsonl")
RECORDINGS = Path(
    os.environ.get("MUSTER_RECORDINGS", ROOT.parent.joinpath("shared", "conformance"))
)

NOT_DECIDED_YET = ("topology", "tasmix")
"""Families whose workloads ask for places in a topology."""

PODS_COUNT = "preemption makes room for `pods` as well, so it does not stop after one victim"
ALWAYS_A_REASON = "a resource without quota is reported as NoMatchingFlavor, not as nothing"
WHERE_WE_DIFFER = {
    "mutant-10002": PODS_COUNT,
    "mutant-10009": ALWAYS_A_REASON,
    "mutant-10013": ALWAYS_A_REASON,
    "mutant-10020": ALWAYS_A_REASON,
    "mutant-10028": ALWAYS_A_REASON,
    "mutant-10045": ALWAYS_A_REASON,
    "mutant-10070": ALWAYS_A_REASON,
    "mutant-10107": PODS_COUNT,
    "mutant-10208": PODS_COUNT,
    "mutant-10223": ALWAYS_A_REASON,
    "mutant-10301": PODS_COUNT,
    "mutant-10307": ALWAYS_A_REASON,
}
"""Cases in which the peer has a defect that we do not copy; docs/differences.md tells more."""


def recordings() -> list[Path]:
    complete = sorted(RECORDINGS.glob("*.jsonl"))
    return [SAMPLE, *(path for path in complete if path.stem not in NOT_DECIDED_YET)]


def cases(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def replayed(case: dict[str, Any]) -> scenario.Outcome:
    return scenario.replay(scenario.parse(json.dumps(case)), rounds_max=1)


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)
def test_outcomes_are_those_recorded(path: Path) -> None:
    names = []
    differing = {}
    for case in cases(path):
        name = case["scenario"]["name"]
        names.append(name)
        found = differences(case["outcome"], replayed(case))
        if found:
            differing[name] = found

    unexpected = {name: found for name, found in differing.items() if name not in WHERE_WE_DIFFER}
    expected = [name for name in WHERE_WE_DIFFER if name in names]
    assert unexpected == {}
    assert sorted(differing) == sorted(expected), "a known difference is gone: strike it out"


def test_the_sample_is_spread_over_the_families() -> None:
    families: dict[str, int] = {}
    for case in cases(SAMPLE):
        family = case["scenario"]["name"].rsplit("-", 1)[0]
        families[family] = families.get(family, 0) + 1

    assert families == {
        "quota": 12,
        "tree": 12,
        "preempt": 14,
        "fair": 14,
        "flavors": 12,
        "mixed": 14,
        "mutant": 22,
    }


def test_a_changed_decision_is_a_difference() -> None:
    case = next(cases(SAMPLE))
    ours = replayed(case)
    key = next(iter(ours["workloads"]))
    ours["workloads"][key] = {"conditions": {"Evicted": ["True", "Preempted"]}}

    found = differences(case["outcome"], ours)

    assert found[key, "Evicted"] == (False, True)
    assert found[key, "Evicted", "reason"] == (None, "Preempted")
