"""One order on every server: rows and places as tests/golden/order.json has them.

The file was written on PostgreSQL 15 with pgvector 0.8; whatever server runs the tests has to
agree with it (PGBLEND_TEST_SERVER names one), before and after its indexes are made anew.
Vectors are of multiples of 1/8, so cosines tie exactly in many places, and texts repeat.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from support.database import Database, add_documents, add_space, stage, vector_literal

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "order.json"
DIMENSIONS = 4
WORDS = [
    "sea",
    "wine",
    "ship",
    "sail",
    "wind",
    "harbour",
    "deploy",
    "production",
    "care",
    "route",
    "chart",
    "anchor",
]
PATIENT = {"vector_scan": "exact", "timeouts_ms": {"lexical": 600_000, "total": 600_000}}
QUERIES = ("sea wine", '"wind harbour"', "deploy -care", "prodution of wine", "ship sail chart")
OPTIONS: dict[str, dict[str, object]] = {
    "default": {},
    "rrf": {"fusion": "rrf", "weights": {"vector": 1}},
    "document": {"level": "document"},
    "diverse": {"mmr": {"lambda": 0.5}, "dedup": "near", "per_document": 1},
    "literal": {"fusion": "rrf", "bonus": {"kind": "both_top", "depth": 10, "amount": 0.1}},
}


@pytest.fixture(scope="module")
def crowd(module_connection: psycopg.Connection) -> Iterator[Database]:
    """Two hundred short documents, alike on every run."""
    db = Database(module_connection)
    chance = random.Random(11)
    db.rows("SELECT add_collection('c', 'english')")
    documents = [
        (f"d{number}", "", " ".join(chance.choices(WORDS, k=chance.randint(2, 5))))
        for number in range(200)
    ]
    add_documents(db, "c", documents)
    add_space(db, "s", DIMENSIONS)
    waiting = db.rows("SELECT chunk_id FROM pgblend._next_embeddings('s', 1000) ORDER BY 1")
    with db.connection.transaction():
        stage(db, [(chunk, eighths(chance)) for (chunk,) in waiting])
        db.rows("SELECT pgblend._store_embeddings('s')")
    yield db
    db.forget()


def eighths(chance: random.Random) -> list[float]:
    return [1.0, *(chance.randint(-2, 2) / 8 for _ in range(DIMENSIONS - 1))]


def all_rows(db: Database) -> dict[str, list[tuple[str, float, float]]]:
    """Key, score and relevance of all rows, by query and options."""
    chance = random.Random(12)
    return {
        f"{query} / {name}": db.rows(
            "SELECT source_key, score, relevance FROM hybrid_search("
            "%s, 60, options => %s, query_embedding => %s) ORDER BY rank",
            query,
            json.dumps(PATIENT | options),
            vector_literal(eighths(chance)),
        )
        for query in QUERIES
        for name, options in OPTIONS.items()
    }


def test_rows_and_places(crowd: Database, pytestconfig: pytest.Config) -> None:
    found = all_rows(crowd)
    if pytestconfig.getoption("--update-golden"):
        keys = {name: " ".join(key for key, *_ in rows) for name, rows in found.items()}
        GOLDEN.write_text(json.dumps(keys, indent=1) + "\n", encoding="utf-8")
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert {name: [key for key, *_ in rows] for name, rows in found.items()} == {
        name: keys.split() for name, keys in expected.items()
    }


def test_indexes_made_anew_change_no_bit(crowd: Database) -> None:
    before = all_rows(crowd)
    crowd.rows("SELECT lexical_seal('c')")
    assert all_rows(crowd) == before
    crowd.rows("SELECT lexical_rebuild('c')")
    crowd.rows("REINDEX SCHEMA pgblend_data")
    crowd.rows("VACUUM ANALYZE")
    assert all_rows(crowd) == before
