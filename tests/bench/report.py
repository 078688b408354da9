"""
The table: ours, what it would be on the peer's machine, the peer's figure, the target.

Figures are compared only after ours has been scaled by the calibration, because machines differ and
one machine drifts; a count or an amount of memory is not scaled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tests.bench.measure import REFERENCE_MS, Measured

HEADER = ("row", "ours: median (min-max)", "scaled", "peer", "better", "target", "", "calibration")


def cells(measured: Measured, *, full: bool) -> tuple[str, ...]:
    """Return a line of the table; small inputs are compared with nothing."""
    row, result, calibration_ms = measured.row, measured.result, measured.calibration_ms
    unit = row.unit
    ours = f"{number(result.median)} {unit.label}"
    if len(result.values) > 1:
        ours += f" ({number(min(result.values))}-{number(max(result.values))})"
    calibration = f"{calibration_ms:.0f} ms"
    if not full:
        return (row.name, ours, "", "", "", "", "", calibration)
    scaled = unit.on_reference(result.median, calibration_ms)
    return (
        row.name,
        ours,
        number(scaled),
        "" if row.peer is None else "-".join(number(end) for end in sorted({*row.peer})),
        "" if row.peer is None else _advantage(measured, scaled),
        "" if row.target is None else f"{'≥' if unit.more_is_better else '≤'} {number(row.target)}",
        "" if row.target is None else "met" if is_met(measured) else "missed",
        calibration,
    )


def is_met(measured: Measured) -> bool:
    row = measured.row
    assert row.target is not None
    scaled = row.unit.on_reference(measured.result.median, measured.calibration_ms)
    return scaled >= row.target if row.unit.more_is_better else scaled <= row.target


def _advantage(measured: Measured, scaled: float) -> str:
    """How many times better than the middle of the peer's figures ours is."""
    row = measured.row
    assert row.peer is not None
    peer = sum(row.peer) / 2
    if row.unit.more_is_better:
        return f"{number(scaled / peer)}x"
    return f"{number(peer / scaled)}x" if scaled else "∞"


def number(value: float) -> str:
    """Three significant digits, grouped: 0.123, 4.56, 78.9, 1,234."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    for digits, limit in ((1, 10), (2, 1)):
        if abs(value) >= limit:
            return f"{value:.{digits}f}"
    return f"{value:.3f}"


def as_text(measured: Measured, *, full: bool) -> str:
    """Return what the terminal shows of one row, as soon as it is there."""
    row, result = measured.row, measured.result
    name, ours, scaled, peer, better, target, verdict, calibration = cells(measured, full=full)
    lines = [f"{name}: {row.what}", f"    {ours}, calibration {calibration}"]
    if full:
        parts = [f"scaled {scaled}"]
        if peer:
            parts.append(f"peer {peer} ({better})")
        if target:
            parts.append(f"target {target} ({verdict})")
        lines.append(f"    {', '.join(parts)}")
    if result.detail:
        lines.append(f"    {result.detail}")
    if result.counts:
        lines.append("    " + ", ".join(f"{n:,} {what}" for what, n in result.counts.items()))
    lines.append(f"    excluded: {row.excluded}")
    return "\n".join(lines)


def as_markdown(rows: Sequence[Measured], skipped: Iterable[str], *, machine: str) -> str:
    """Return the table, then what each row is."""
    low, high = REFERENCE_MS
    told = f"takes {(low + high) // 2} ms"
    table = [HEADER, *(cells(measured, full=True) for measured in rows)]
    if any(measured.row.peer for measured in rows):
        told += "; *better* is the peer's figure against that"
    else:
        table = [(*line[:3], *line[5:]) for line in table]
    header, *body = ("| " + " | ".join(line) + " |" for line in table)
    lines = [
        f"Measured on {machine}. Units are those of *ours*; *scaled* is ours where the calibration",
        f"{told}.",
        "",
        header,
        "|" + "---|" * len(table[0]),
        *body,
        "",
        "| row | what is measured | what was counted | what is excluded |",
        "|---|---|---|---|",
        *(_described(measured) for measured in rows),
        "",
    ]
    for reason in skipped:
        lines += [f"Not measured: {reason}", ""]
    return "\n".join(lines)


def _described(measured: Measured) -> str:
    row, result = measured.row, measured.result
    found = [f"{count:,} {what}" for what, count in result.counts.items()]
    if result.detail:
        found.append(result.detail)
    return f"| {row.name} | {row.what} | {'; '.join(found)} | {row.excluded} |"


def markers(name: str) -> tuple[str, str]:
    """Return the lines of a document that a table stands between."""
    return f"<!-- bench {name}: begin -->", f"<!-- bench {name}: end -->"


def replaced(document: str, name: str, table: str) -> str:
    """Return a document with the table between its markers made anew; ValueError without them."""
    begin, end = markers(name)
    between = re.compile(f"(?<={begin}\n).*?(?={end})", re.DOTALL)
    if not between.search(document):
        raise ValueError(f"no lines {begin!r} and {end!r} to put the table between")
    return between.sub(lambda _: table, document, count=1)


def as_json(rows: Iterable[Measured], skipped: Iterable[str]) -> dict[str, Any]:
    return {
        "reference_calibration_ms": REFERENCE_MS,
        "rows": [
            {
                "name": measured.row.name,
                "what": measured.row.what,
                "unit": measured.row.unit.label,
                "values": measured.result.values,
                "median": measured.result.median,
                "calibration_ms": measured.calibration_ms,
                "scaled": measured.row.unit.on_reference(
                    measured.result.median, measured.calibration_ms
                ),
                "peer": measured.row.peer,
                "target": measured.row.target,
                "counts": measured.result.counts,
                "detail": measured.result.detail,
                "excluded": measured.row.excluded,
            }
            for measured in rows
        ],
        "skipped": list(skipped),
    }
