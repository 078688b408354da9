"""Every row of the benchmark runs on small inputs and does the work it says: counts, no clocks."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.bench.__main__ import TABLES, all_rows, main
from tests.bench.measure import (
    SMALL,
    Measured,
    Result,
    Row,
    Scale,
    Stopwatch,
    Unavailable,
    Unit,
    calibrate_ms,
)
from tests.bench.report import as_markdown, as_text, markers, number, replaced

ROOT = Path(__file__).resolve().parents[2]

COUNTS: dict[str, Mapping[str, int]] = {
    "cycle": {"admitted": 40, "decisions": 40},
    "cycle-decide": {"admitted": 40, "decisions": 40},
    "cycle-fair": {"admitted": 40, "decisions": 40},
    "cycle-fair-growth": {"admitted": 10 + 20 + 40 + 80},
    "admission": {"admitted": 100},
    "growth-arrival": {"admitted": 2 * 100},
    "growth-finish": {"admitted": 2 * 20},
    "growth-finish-one-cohort": {"admitted": 2 * 2},
    "preempt-1-of-10-queues": {"evictions": 1},
    "preempt-1-of-100-queues": {"evictions": 1},
    "preempt-1-fair": {"evictions": 1},
    "preempt-400": {"evictions": 16},
    "preempt-400-fair": {"evictions": 16},
    "memory": {"workloads": 2_000},
    "sandbox-start-0-nodes": {"starts": 2},
    "sandbox-start-8-nodes": {"starts": 2},
    "sandbox-restart": {"objects": 200},
    "sandbox-create": {"created": 80},
    "sandbox-apply": {"applied": 80},
    "sandbox-create-full": {"created": 80},
    "sandbox-apply-full": {"applied": 80},
    "sandbox-watch": {"events": 20 * 40},
    "sandbox-list": {"listed": 200},
    "sandbox-pods": {"ended": 200},
    "sandbox-idle": {"running": 200},
}
"""What the small inputs come to, where no clock has a say."""

LOOKED_AT_MAX = {
    # One of each borrowing queue and those taken; never all 400 candidates.
    "preempt-1-of-10-queues": 10 + 2,
    "preempt-1-of-100-queues": 100 + 2,
    "preempt-1-fair": 100 + 2,
    "preempt-400": 100 + 2 * 16,
    "preempt-400-fair": 100 + 2 * 16,
}

ROWS = {row.name: row for row in all_rows(SMALL)}
MEASURABLE = [name for name in ROWS if not name.startswith("trace-tas")]


@pytest.mark.parametrize("name", MEASURABLE)
def test_row_does_the_work_it_says(name: str) -> None:
    result = ROWS[name].measure(Stopwatch())

    assert len(result.values) >= 1
    counts = {what: result.counts[what] for what in COUNTS.get(name, {})}
    assert counts == COUNTS.get(name, {})
    assert result.counts.get("candidates looked at", 0) <= LOOKED_AT_MAX.get(name, 0)
    assert result.counts.get("admitted", 1) > 0


def test_baseline_evicts_next_to_nobody() -> None:
    result = ROWS["trace-baseline-evictions"].measure(Stopwatch())

    share = max(result.values) / result.counts["admitted"]
    assert share <= 300 / 15_000, "more than the target allows, as a share of the jobs"


def test_a_row_that_can_not_be_measured_says_why() -> None:
    with pytest.raises(Unavailable, match=r"^Trace tas needs topology-aware placement"):
        ROWS["trace-tas"].measure(Stopwatch())


def test_full_rows_are_those_of_the_small_run() -> None:
    assert [row.name for row in all_rows(Scale())] == list(ROWS)


def test_the_stopwatch_counts_what_runs_inside() -> None:
    watch = Stopwatch()
    with watch:
        pass
    with watch:
        calibrate_ms()

    assert len(watch.laps_ms) == 2
    assert watch.laps_ms[0] < watch.laps_ms[1]


# --- The report ----------------------------------------------------------------------------------


def a_measurement(
    unit: Unit = Unit.MILLISECONDS,
    *,
    value: float = 60,
    peer: float | None = 120,
    target: float | None = 80,
    calibration_ms: float = 49,
) -> Measured:
    """On a machine twice as fast as the peer's."""
    row = Row(
        name="row",
        what="something",
        unit=unit,
        peer=None if peer is None else (peer, peer),
        target=target,
        excluded="the rest",
        measure=lambda _: Result((value,)),
    )
    return Measured(row, Result((value,)), calibration_ms)


@pytest.mark.parametrize(
    "unit, value, calibration_ms, scaled",
    [
        (Unit.MILLISECONDS, 60, 98, 60),
        (Unit.MILLISECONDS, 60, 49, 120),
        (Unit.PER_SECOND, 60, 98, 60),
        (Unit.PER_SECOND, 60, 49, 30),
        (Unit.MEBIBYTES, 60, 49, 60),
        (Unit.VIRTUAL_SECONDS, 60, 49, 60),
        (Unit.EVICTIONS, 60, 49, 60),
        (Unit.TIMES, 60, 49, 60),
    ],
)
def test_only_what_a_machine_decides_is_scaled(
    unit: Unit, value: float, calibration_ms: float, scaled: float
) -> None:
    assert unit.on_reference(value, calibration_ms) == pytest.approx(scaled)


@pytest.mark.parametrize(
    "measurement, verdict",
    [
        (a_measurement(value=40), "scaled 80, peer 120 (1.50x), target ≤ 80 (met)"),
        (a_measurement(value=60), "scaled 120, peer 120 (1x), target ≤ 80 (missed)"),
        (
            a_measurement(Unit.PER_SECOND, value=320),
            "scaled 160, peer 120 (1.33x), target ≥ 80 (met)",
        ),
        (
            a_measurement(Unit.PER_SECOND, value=120),
            "scaled 60, peer 120 (0.500x), target ≥ 80 (missed)",
        ),
        (
            a_measurement(Unit.EVICTIONS, value=0),
            "scaled 0, peer 120 (∞), target ≤ 80 (met)",
        ),
        (a_measurement(peer=None), "scaled 120, target ≤ 80 (missed)"),
        (a_measurement(target=None), "scaled 120, peer 120 (1x)"),
    ],
)
def test_targets_are_held_against_the_scaled_figure(measurement: Measured, verdict: str) -> None:
    assert verdict in as_text(measurement, full=True).splitlines()[2].strip()


def test_small_inputs_are_compared_with_nothing() -> None:
    assert "peer" not in as_text(a_measurement(), full=False)


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0123, "0.012"),
        (0.5, "0.500"),
        (1.5, "1.50"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12_345.6, "12,346"),
        (7.0, "7"),
    ],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_the_table_in_a_document_is_made_anew() -> None:
    table = as_markdown([a_measurement()], ["x. No way."], machine="this machine")
    begin, end = markers("engine")
    document = f"before\n{begin}\nold\n{end}\nafter\n"

    new = replaced(document, "engine", table)

    assert new == f"before\n{begin}\n{table}{end}\nafter\n"
    assert replaced(new, "engine", table) == new
    assert "| row | 60 ms | 120 | 120 | 1x | ≤ 80 | missed | 49 ms |" in new
    assert "Not measured: x. No way." in new


def test_a_document_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="bench sandbox: begin"):
        replaced("text", "sandbox", "table")


def test_a_table_without_peers_has_no_columns_for_them() -> None:
    table = as_markdown([a_measurement(peer=None)], [], machine="this machine")

    assert "| row | 60 ms | 120 | ≤ 80 | missed | 49 ms |" in table
    assert "peer" not in table


@pytest.mark.parametrize("name", TABLES)
def test_the_document_has_a_place_for_each_table(name: str) -> None:
    document = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")

    assert all(row in document for row in MEASURABLE), "run `make bench` with --markdown"
    assert replaced(document, name, "table\n") != document


def test_an_unknown_row_is_named_and_the_known_ones_are_listed() -> None:
    with pytest.raises(SystemExit, match="no row is called 'cycel'; there are: cycle, "):
        main(["--only", "cycel"])
