"""
Measure the engine and the sandbox against their targets and print the table.

    python -m tests.bench [--small | --full] [--only NAME ...] [--profile]
                          [--json FILE] [--markdown FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import pstats
import sys
from collections.abc import Iterator, Sequence
from cProfile import Profile
from pathlib import Path

from tests.bench import admissions, cycles, memory, preemption, sandbox, traces
from tests.bench.measure import SMALL, Measured, Row, Scale, Unavailable, measured
from tests.bench.report import as_json, as_markdown, as_text, replaced

TABLES = {
    "engine": (cycles, admissions, preemption, memory, traces),
    "sandbox": (sandbox,),
}
"""Groups of rows by the table of the document that they are in."""
PROFILED_FUNCTIONS = 15


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    scale = SMALL if options.small else Scale(largest=options.full)
    chosen = list(_chosen(all_rows(scale), options.only))
    done: list[Measured] = []
    skipped: list[str] = []
    for row in chosen:
        profile = Profile() if options.profile else None
        try:
            done.append(measured(row, profile))
        except Unavailable as reason:
            skipped.append(f"{row.name}. {reason}")
            print(f"Not measured: {skipped[-1]}", flush=True)
            continue
        print(as_text(done[-1], full=scale.full), flush=True)
        if profile is not None and profile.getstats():
            statistics = pstats.Stats(profile).strip_dirs().sort_stats("tottime")
            statistics.print_stats(PROFILED_FUNCTIONS)
    if options.json is not None:
        text = json.dumps(as_json(done, skipped), indent=2, ensure_ascii=False)
        options.json.write_text(f"{text}\n", encoding="utf-8")
    if options.markdown is not None:
        document = options.markdown.read_text(encoding="utf-8")
        for name in TABLES:
            names = {row.name for row in rows_of(name, scale)}
            if rows := [each for each in done if each.row.name in names]:
                reasons = [each for each in skipped if each.partition(". ")[0] in names]
                table = as_markdown(rows, reasons, machine=_machine())
                document = replaced(document, name, table)
        options.markdown.write_text(document, encoding="utf-8")


def rows_of(table: str, scale: Scale) -> list[Row]:
    return [row for group in TABLES[table] for row in group.rows(scale)]


def all_rows(scale: Scale) -> list[Row]:
    return [row for name in TABLES for row in rows_of(name, scale)]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="Measure against the targets."
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--small", action="store_true", help="small inputs: does everything run?")
    sizes.add_argument(
        "--full", action="store_true", help="also 10,000 CQs, which takes minutes and gigabytes"
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="rows of this name or whose name begins with it; may be repeated",
    )
    parser.add_argument(
        "--profile", action="store_true", help="show where the time goes (and takes longer)"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures")
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        type=Path,
        help="replace the tables of these rows in a document",
    )
    return parser.parse_args(arguments)


def _chosen(rows: Sequence[Row], names: Sequence[str]) -> Iterator[Row]:
    unknown = [n for n in names if not any(row.name.startswith(n) for row in rows)]
    if unknown:
        known = ", ".join(row.name for row in rows)
        sys.exit(f"no row is called {unknown[0]!r}; there are: {known}")
    return (row for row in rows if not names or row.name.startswith(tuple(names)))


def _machine() -> str:
    return (
        f"{platform.machine()} with {os.cpu_count()} cores, {platform.system()}, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


if __name__ == "__main__":
    main()
