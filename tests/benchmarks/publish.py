"""What README, docs/benchmarks.md and NOTES.md show of the benches, written from their JSON alone.

    python tests/benchmarks/publish.py [build/bench]

Takes report.json and report.md of the last `make bench` into tests/benchmarks/results, its pictures
into docs/images, and writes the pages' parts between their two comments anew. A test holds the
pages to the JSON.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import figures
from targets import beside_peers, markdown

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path("tests/benchmarks/results")
PICTURES = Path("docs/images")
CAPTIONS = {
    "quality.png": "Quality against time",
    "growth.png": "Time against size",
    "memory.png": "Memory of a session against size",
}
FILES = {"report.json": RESULTS, "report.md": RESULTS, **dict.fromkeys(CAPTIONS, PICTURES)}
BEGIN, END = "<!-- benchmarks: written by `make bench-publish` -->", "<!-- end of benchmarks -->"
SUMMARY = ("system", "nDCG@10", "p50", "p95", "megabytes")
KEYS = (
    *("case", "system", "nDCG@10", "p50", "p95", "ratio", "searches_a_second"),
    *("chunks_a_second", "peak_mb", "megabytes", "skipped", "error"),
)


def summary(report: dict[str, Any]) -> str:
    """Return README's part: pgblend and its peers on the set with judgements and most passages."""
    rows = [row for row in report["rows"] if row["bench"] == "peers" and "nDCG@10" in row]
    largest = max(rows, key=lambda row: _passages(row["case"]))["case"]
    kept = [row for row in rows if row["case"] == largest and "words only" not in row["system"]]
    machine = report["machine"]
    name, _, passages = largest.partition(", ")
    return "\n\n".join(
        [
            f"{passages} passages ({name}), {machine['processors']} processors. nDCG@10 says how"
            " good the first ten rows are; 1 is best.\nHalf of the searches end within p50"
            " milliseconds, 95 % within p95; a connection's first takes .2 s\nmore:"
            " [warm()](docs/operate.md#pools-and-connections)."
            " [More, and limits](docs/benchmarks.md).",
            figures.table(
                [{key: row[key] for key in SUMMARY if key in row} for row in kept],
                ("system",),
            ),
        ]
    )


def _passages(case: str) -> int:
    """Return the number in "mixed, 36,335"."""
    return int(case.partition(", ")[2].replace(",", "") or 0)


def section(report: dict[str, Any]) -> str:
    """Return how the figures were made, quality and time beside peers, pictures."""
    peers = [shown(row) for row in report["rows"] if row["bench"] == "peers"]
    slower, others = beside_peers(report["table"])
    return "\n\n".join(
        [
            how_made(report),
            "Quality: the same questions to each system in turn; milliseconds by the clock.",
            figures.table(peers, ("case", "system")),
            "Time, where pgblend takes longer:",
            slower,
            "Time, where it does not:",
            others,
            *(f"![{CAPTIONS[name]}](images/{name})" for name in report["pictures"]),
        ]
    )


def targets(report: dict[str, Any]) -> str:
    """Return all ratios with their targets, for those who work on pgblend."""
    return f"{how_made(report)}\n\n{markdown(report['table'])}"


def how_made(report: dict[str, Any]) -> str:
    """Return where and how the figures were made."""
    machine = dict(report["machine"])
    command = machine.pop("command")
    facts = ", ".join(f"{key} {value}" for key, value in machine.items())
    return f"`{command}` ({facts})."


def shown(row: figures.Row) -> figures.Row:
    """Return what docs/benchmarks.md has of a row."""
    return {key: row[key] for key in KEYS if key in row}


# Each page, and what stands between its comments.
PAGES = {
    Path("README.md"): summary,
    Path("docs/benchmarks.md"): section,
    Path("tests/benchmarks/NOTES.md"): targets,
}


def written(page: str, part: str) -> str:
    """Return a page with its part about the benches put in."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the page lacks the lines {BEGIN!r} and {END!r}: put them in")
    return f"{before}{BEGIN}\n{part}\n{END}{after}"


def publish(made: Path, root: Path) -> None:
    """Take a bench's files into the repository, and write the pages."""
    report = json.loads((made / "report.json").read_text(encoding="utf-8"))
    texts = {
        page: written((root / page).read_text(encoding="utf-8"), part(report))
        for page, part in PAGES.items()
    }
    for name, folder in FILES.items():
        if (made / name).exists():
            (root / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy(made / name, root / folder / name)
    for page, text in texts.items():
        (root / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    publish(Path(sys.argv[1]) if sys.argv[1:] else figures.FOLDER, ROOT)
