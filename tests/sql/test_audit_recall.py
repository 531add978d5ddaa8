"""The recall audit: the vector index against comparing all, by filter."""

import random

import psycopg
import pytest

from support.database import Database, add_space, stage

pytestmark = pytest.mark.extended


@pytest.fixture
def vectors(db: Database) -> Database:
    """300 documents with random vectors; group passes a tenth of them, rare a hundredth."""
    add_space(db, "flat", 8)
    db.rows("SELECT add_collection('c')")
    db.rows(
        "SELECT ingest_document('c', n::text, 'text ' || n,"
        " metadata => jsonb_build_object('group', n % 10, 'rare', n % 100, 'same', true))"
        " FROM generate_series(1, 300) AS n"
    )
    chance = random.Random(7)
    chunks = db.column("SELECT chunk_id FROM chunks ORDER BY chunk_id")
    stage(db, [(chunk, [chance.gauss(0, 1) for _ in range(8)]) for chunk in chunks])
    db.rows("SELECT pgblend._store_embeddings('flat')")
    return db


def test_recall_by_filter(vectors: Database) -> None:
    rows = vectors.rows(
        "SELECT selectivity, queries, recall, worst_recall, short_pages,"
        " index_ms > 0, exact_ms > 0 FROM audit_recall('{c}', 20)"
    )
    assert [row[:2] for row in rows] == [(1, 20), (0.1, 20), (0.01, 20)]
    for _, _, recall, worst, short, *timed in rows:
        assert 0.9 <= recall <= 1
        assert worst <= recall
        assert short == 0
        assert timed == [True, True]


def test_the_same_audit_again(vectors: Database) -> None:
    call = "SELECT filter, selectivity, recall, worst_recall FROM audit_recall(NULL, 10)"
    assert vectors.rows(call) == vectors.rows(call)


def test_filters_of_ones_own(vectors: Database) -> None:
    rows = vectors.rows(
        "SELECT filter, selectivity, recall FROM audit_recall("
        "'{c}', 5, 3, ARRAY['{\"group\": 3}', NULL, '{\"group\": 99}']::jsonb[])"
    )
    assert rows == [({"group": 3}, 0.1, 1), (None, 1, 1), ({"group": 99}, 0, None)]


def test_without_vectors_there_is_nothing_to_audit(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    assert db.rows("SELECT * FROM audit_recall('{c}')") == []
    add_space(db)
    db.rows("SELECT ingest_document('c', 'k', 'text')")
    assert db.rows("SELECT * FROM audit_recall('{c}')") == []


def test_sizes_out_of_range(vectors: Database) -> None:
    for arguments in ("'{c}', 0", "'{c}', 1001", "'{c}', NULL", "'{c}', 5, 0"):
        diagnostic = vectors.error(f"SELECT * FROM audit_recall({arguments})")
        assert diagnostic.sqlstate == "22023", arguments
        assert "from 1 to 1000" in (diagnostic.message_primary or ""), arguments


def test_a_reader_audits_what_it_may_read(
    two_collections: object, connection: psycopg.Connection
) -> None:
    call = "SELECT selectivity, queries, recall FROM audit_recall(NULL, 5, 2)"
    assert two_collections.reader.rows(call) == two_collections.only_open.rows(call)  # type: ignore[attr-defined]
