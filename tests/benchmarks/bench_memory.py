"""How much memory `pgblend ingest` takes as its input grows: `bench_memory.py DATABASE_URL`.

Ingests the first passages of wiki_en from one JSONL file, then four times as many, without
vectors; prints chunks a second by the clock, and the most that the run with its child processes
had in memory at once. Makes a collection and removes it.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from corpora import wiki_texts

from pgblend.cli.base.database import connect

COLLECTION = "bench_memory"
SIZES = (20_000, 80_000)
LOOK_SECONDS = 0.05


def main(url: str) -> None:
    """Ingest both sizes."""
    rows = []
    for passages in SIZES:
        with tempfile.TemporaryDirectory() as folder, connect(url) as connection:
            path = Path(folder, "passages.jsonl")
            with path.open("w", encoding="utf-8") as file:
                for place, text in enumerate(wiki_texts(passages)):
                    file.write(json.dumps({"id": str(place), "text": text}) + "\n")
            seconds, peak = run(url, path)
            chunks = connection.execute(
                "SELECT chunks FROM blend.collections WHERE name = %s", [COLLECTION]
            ).fetchone()
            connection.execute("SELECT blend.remove_collection(%s)", [COLLECTION])
            rows.append(
                {
                    "case": f"{passages:,} passages",
                    "system": "pgblend ingest",
                    "chunks_a_second": chunks[0] / seconds,
                    "peak_mb": peak,
                }
            )
    figures.write("memory", rows)


def run(url: str, path: Path) -> tuple[float, float]:
    """Return a run's seconds and its peak in MB."""
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", url, "ingest", str(path)]
    start, peak = time.perf_counter(), 0.0
    process = psutil.Popen(
        [*command, "--collection", COLLECTION, "--no-embed"], stderr=subprocess.DEVNULL
    )
    while process.poll() is None:
        peak = max(peak, sum(map(resident, [process, *process.children(recursive=True)])))
        time.sleep(LOOK_SECONDS)
    if process.returncode:
        sys.exit(f"pgblend ingest ended with {process.returncode}")
    return time.perf_counter() - start, peak / 1e6


def resident(process: psutil.Process) -> int:
    """Return what a process has in memory; 0 where it has just ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
