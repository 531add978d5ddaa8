"""Figures of the benches: printed as one table, kept as JSON beside the machine they are from.

A figure is a row: bench, case (a corpus, a stage), system, and what was measured; `error` stands
where a system failed, `skipped` where it cannot be had here.
"""

import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import psutil

FOLDER = Path("build/bench")
DIMENSIONS = 384  # of vectors, where a row does not say
Row = dict[str, Any]
NAMING = ("bench", "case", "system")
COLUMNS = (
    ("nDCG@10", "{:.3f}"),
    ("recall@10", "{:.3f}"),
    ("recall@100", "{:.3f}"),
    ("p50", "{:.2f}"),
    ("p90", "{:.2f}"),
    ("p95", "{:.2f}"),
    ("p99", "{:.2f}"),
    ("ratio", "{:.2f}x"),
    ("cpu", "{:.2f}"),
    ("cpu95", "{:.2f}"),
    ("least", "{:.2f}"),
    ("searches_a_second", "{:,.1f}"),
    ("chunks_a_second", "{:,.0f}"),
    ("characters_a_second", "{:,.0f}"),
    ("rows", "{:.1f}"),
    ("degraded", "{:d}"),
    ("peak_mb", "{:,.0f}"),
    ("private_mb", "{:,.1f}"),
    ("megabytes", "{:,.0f}"),
    ("table_mb", "{:,.0f}"),
    ("index_mb", "{:,.0f}"),
    ("load_seconds", "{:,.1f}"),
    ("fill_s", "{:,.1f}"),
    ("build_s", "{:,.1f}"),
    ("skipped", "not measured: {}"),
    ("error", "FAILED: {}"),
)


def write(bench: str, rows: Sequence[Row]) -> None:
    """Keep one bench's rows and print them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    named = [{"bench": bench, **row} for row in rows]
    (FOLDER / f"{bench}.json").write_text(json.dumps(named, indent=1), encoding="utf-8")
    print(table(named), flush=True)


def table(
    rows: Iterable[Row],
    naming: Sequence[str] = NAMING,
    columns: Sequence[tuple[str, str]] = COLUMNS,
) -> str:
    """Return rows as a Markdown table; columns that no row has are left out."""
    rows = list(rows)
    columns = [(name, form) for name, form in columns if any(name in row for row in rows)]
    cells = [[*naming, *(name for name, _ in columns)]]
    for row in rows:
        start = [row[name] for name in naming]
        values = [
            form.format(row[name]) if row.get(name) is not None else "" for name, form in columns
        ]
        cells.append([*start, *values])
    widths = [max(len(line[place]) for line in cells) for place in range(len(cells[0]))]
    lines = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def tables(rows: Iterable[Row]) -> str:
    """Return a table for each bench, in order."""
    return "\n\n".join(table(some) for _, some in groupby(rows, itemgetter("bench")))


def with_ratios(rows: Sequence[Row], base: str) -> list[Row]:
    """Add to each row how many times the base system's median it takes."""
    median = next((row["p50"] for row in rows if row["system"] == base and "p50" in row), None)
    return [
        row | {"ratio": row["p50"] / median} if median and "p50" in row else row for row in rows
    ]


def machine() -> dict[str, Any]:
    """Say where and when the figures were made."""
    git = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git.stdout.strip(),
        "processors": psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "load_at_start": round(psutil.getloadavg()[0], 1),
    }
