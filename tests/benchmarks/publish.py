"""What README shows of the benches, written from their JSON and by nothing else.

    python tests/benchmarks/publish.py [build/bench]

Takes report.json, report.md and the pictures of the last `make bench` into tests/benchmarks/results
and writes README's part between its two comments anew. A test holds README to the JSON.
"""

import json
import shutil
import sys
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import figures

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path("tests/benchmarks/results")
FILES = ("report.json", "report.md", "quality.png", "growth.png")
BEGIN, END = "<!-- benchmarks: written by `make bench-publish` -->", "<!-- end of benchmarks -->"
SHOWN = {
    "peers": "The same questions to each system in turn; ratio is to pgblend's median.",
    "hybrid": "`hybrid_search` beside its own arms and hand-written SQL.",
    "growth": "Time by number of passages; ratio is to the system's own at the first size.",
}
KEYS = (
    *("case", "system", "nDCG@10", "p50", "p95", "ratio", "searches_a_second"),
    *("chunks_a_second", "peak_mb", "megabytes", "error"),
)


def section(report: dict[str, Any]) -> str:
    """Return README's part: where and how the figures were made, a table for each bench shown."""
    machine = dict(report["machine"])
    command = machine.pop("command")
    facts = ", ".join(f"{key} {value}" for key, value in machine.items())
    parts = [f"`{command}` ({facts}); times in milliseconds."]
    for bench, rows in groupby(report["rows"], itemgetter("bench")):
        if bench in SHOWN:
            parts.append(SHOWN[bench])
            parts.append(figures.table(map(shown, rows), ("case", "system")))
    links = [f"[All figures]({RESULTS}/report.md)"]
    if any("nDCG@10" in row for row in report["rows"]):
        links.append(f"[quality against time]({RESULTS}/quality.png)")
    if any(row["bench"] == "growth" for row in report["rows"]):
        links.append(f"[time against size]({RESULTS}/growth.png)")
    return "\n\n".join([*parts, ", ".join(links)])


def shown(row: figures.Row) -> figures.Row:
    """Return what README has of a row."""
    return {key: row[key] for key in KEYS if key in row}


def written(readme: str, report: dict[str, Any]) -> str:
    """Return README with its part about the benches as the report has it."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md lacks the lines {BEGIN!r} and {END!r}: put them in")
    return f"{before}{BEGIN}\n{section(report)}\n{END}{after}"


def publish(made: Path, root: Path) -> None:
    """Take a bench's files into the repository, and write README."""
    report = json.loads((made / "report.json").read_text(encoding="utf-8"))
    readme = root / "README.md"
    text = written(readme.read_text(encoding="utf-8"), report)
    (root / RESULTS).mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if (made / name).exists():
            shutil.copy(made / name, root / RESULTS / name)
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    publish(Path(sys.argv[1]) if sys.argv[1:] else figures.FOLDER, ROOT)
