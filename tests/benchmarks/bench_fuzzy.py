"""Time of the fuzzy arm beside the lexical one, on one server in one run.

    python tests/benchmarks/bench_fuzzy.py DATABASE_URL COLLECTION QUERIES.jsonl

Prints p50 and p95 in ms of: the lexical arm on the queries as they are, the fuzzy arm on them (the
option `auto`: nothing to put right), and the fuzzy arm on them with one typo in each word
of five letters and more. Rounds alternate, so that a busy machine slows all of them alike.
"""

import json
import random
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from timing import milliseconds, summary

from support.typo import misspell
from support.word_lists import add_word_lists

QUERIES = 200
PATIENT = {"timeouts_ms": {"lexical": 60000}}
ARM = "SELECT * FROM word_list(%s, %s, ARRAY[%s]::bigint[], NULL, %s)"


def main(url: str, collection: str, queries_file: str) -> None:
    """Measure, and print one line a case."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = public, blend")
        add_word_lists(connection)
        row = connection.execute(
            "SELECT id, chunks FROM blend.collections WHERE name = %s", [collection]
        ).fetchone()
        if row is None:
            sys.exit(f"there is no collection {collection}")
        collection_id, chunks = row

        def arm(kind: str, fuzzy: str) -> Callable[[str], object]:
            settings = connection.execute(
                "SELECT pgblend._search_settings(%s, NULL, ARRAY[%s]::bigint[])::text",
                [json.dumps(PATIENT | {"fuzzy": fuzzy}), collection_id],
            ).fetchone()[0]
            return lambda query: connection.execute(
                ARM, [kind, query, collection_id, settings]
            ).fetchall()

        chance = random.Random(1)
        lines = Path(queries_file).read_text(encoding="utf-8").splitlines()[:QUERIES]
        clean = [json.loads(line)["text"] for line in lines]
        dirty = [misspell(query, chance) for query in clean]
        words = sum(len(re.findall(r"[^\W\d_]{5,}", query)) for query in clean) / len(clean)
        cases = {
            "lexical, clean": (arm("lexical", "off"), clean),
            "fuzzy auto, clean": (arm("fuzzy", "auto"), clean),
            "fuzzy on, one typo a long word": (arm("fuzzy", "on"), dirty),
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for place in range(-20, len(clean)):  # the first twenty warm the session up
            for name, (call, queries) in cases.items():
                spent = milliseconds(partial(call, queries[place]))
                if place >= 0:
                    times[name].append(spent)
    print(f"{chunks} chunks, {len(clean)} queries, {words:.1f} long words a query")
    rows = [
        {"case": f"{chunks:,} chunks", "system": name, **summary(measured)}
        for name, measured in times.items()
    ]
    figures.write("fuzzy", figures.with_ratios(rows, "lexical, clean"))


if __name__ == "__main__":
    main(*sys.argv[1:])
