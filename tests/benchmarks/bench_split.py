"""How fast texts are split and stored: `python tests/benchmarks/bench_split.py [DATABASE_URL]`.

Prints characters and chunks a second of the splitter; with a database also chunks a second of
the whole pipeline without embedding (target: 2,000), on a collection that it makes and removes.
"""

import json
import lzma
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from corpora import DATA

from pgblend.cli.base.database import connect
from pgblend.cli.base.token_count import count_tokens, token_ends
from pgblend.cli.documents.ingestion import IngestRequest, IngestRun
from pgblend.plpy.lexical.split_text import approximate_tokens, split_text

CORPORA = ("scifact", "legalquad_de", "xquad-zh")
HOSTILE = {
    "one word": "a",
    "newlines": "\n",
    "spaces": " ",
    "words": "word ",
    "emoji": "😀",
    "combining": "e\u0301",
}
HOSTILE_BYTES = 2_000_000
COLLECTION = "bench_split"


def read_corpus(name: str) -> list[str]:
    """Return a judged collection's lines."""
    with lzma.open(DATA / "ir" / name / "corpus.jsonl.xz", "rt", encoding="utf-8") as file:
        return list(file)


def time_splitter(name: str, texts: list[str]) -> Iterator[figures.Row]:
    """Give the splitter's speed with cl100k's offsets and with the approximate counter."""
    characters = sum(map(len, texts))
    for label, count, ends in (
        ("cl100k", count_tokens, token_ends),
        ("approximate", approximate_tokens, None),
    ):
        start = time.perf_counter()
        chunks = sum(len(split_text(text, count, token_ends=ends and ends(text))) for text in texts)
        seconds = time.perf_counter() - start
        yield {
            "case": name,
            "system": f"splitter, {label}",
            "chunks_a_second": chunks / seconds,
            "characters_a_second": characters / seconds,
        }


def time_pipeline(url: str, name: str, lines: list[str]) -> figures.Row:
    """Return the speed from a JSONL file to committed rows."""
    with tempfile.TemporaryDirectory() as folder, connect(url) as connection:
        path = Path(folder, f"{name}.jsonl")
        path.write_text("".join(lines), encoding="utf-8")
        run = IngestRun(
            url, IngestRequest([path], COLLECTION, embed=False), lambda *_: lambda _: None
        )
        try:
            start = time.perf_counter()
            run.execute()
            seconds = time.perf_counter() - start
            speed = run.report.chunks / seconds
            return {"case": name, "system": "ingest, whole", "chunks_a_second": speed}
        finally:
            connection.execute("SELECT blend.remove_collection(%s)", [COLLECTION])


def main() -> None:
    """Run everything that there is data for."""
    url = sys.argv[1] if len(sys.argv) > 1 else None
    rows: list[figures.Row] = []
    for name in CORPORA if DATA.is_dir() else ():
        lines = read_corpus(name)
        rows += time_splitter(name, [json.loads(line)["text"] for line in lines])
        if url:
            rows.append(time_pipeline(url, name, lines))
    for name, unit in HOSTILE.items():
        rows += time_splitter(f"{name} x", [unit * (HOSTILE_BYTES // len(unit.encode()))])
    figures.write("split", rows)


if __name__ == "__main__":
    main()
