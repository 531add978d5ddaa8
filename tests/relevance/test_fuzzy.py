"""Queries with a typo in each long word find nearly what the clean ones find."""

import csv
import json
import lzma
import random
from pathlib import Path

import psycopg
import pytest

from support.database import Database
from support.typo import misspell

PATIENT = json.dumps({"timeouts_ms": {"lexical": 60000}, "weights": {"vector": 0}})
SHARE = 0.9


def load(db: Database, folder: Path) -> None:
    """Put a judged collection's documents into a collection of its own."""
    name = folder.name
    db.rows("SELECT add_collection(%s)", name)
    with lzma.open(folder / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    with db.connection.cursor() as cursor:
        cursor.executemany(
            "SELECT ingest_document(%s, %s, %s, %s)",
            [(name, d["_id"], d["text"], d.get("title") or "") for d in documents],
        )


def judged_queries(folder: Path) -> list[tuple[str, set[str]]]:
    """Return each query with the keys of its relevant documents."""
    relevant: dict[str, set[str]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        for query, document, grade in list(csv.reader(file, delimiter="\t"))[1:]:
            if float(grade) > 0:
                relevant.setdefault(query, set()).add(document)
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [json.loads(line) for line in lines]
    return [(q["text"], relevant[q["_id"]]) for q in queries if q["_id"] in relevant]


def recall(db: Database, function: str, name: str, queries: list[tuple[str, set[str]]]) -> float:
    """Return the mean recall@10."""
    total = 0.0
    for query, relevant in queries:
        found = db.column(
            f"SELECT DISTINCT source_key FROM {function}(%s, 10, ARRAY[%s], options => %s)",
            query,
            name,
            PATIENT,
        )
        total += len(relevant.intersection(found)) / len(relevant)
    return total / len(queries)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [
        "medline",
        pytest.param("cranfield", marks=pytest.mark.slow),
        pytest.param("scifact", marks=pytest.mark.slow),
        pytest.param("cisi", marks=pytest.mark.slow),
        pytest.param("npl", marks=pytest.mark.slow),
    ],
)
def test_recall_returns_with_the_fuzzy_arm(
    connection: psycopg.Connection, shared_data: Path, name: str
) -> None:
    db = Database(connection)
    folder = shared_data / "ir" / name
    load(db, folder)
    clean = judged_queries(folder)
    chance = random.Random(7)
    dirty = [(misspell(query, chance), relevant) for query, relevant in clean]
    before = recall(db, "lexical_search", name, clean)
    assert recall(db, "lexical_search", name, dirty) < 0.7 * before  # the typos do harm
    figures = {
        function: recall(db, function, name, dirty) / before
        for function in ("fuzzy_search", "hybrid_search")
    }
    print(name, round(before, 4), {key: round(value, 3) for key, value in figures.items()})
    assert min(figures.values()) >= SHARE, figures
    assert recall(db, "hybrid_search", name, clean) >= 0.99 * before
