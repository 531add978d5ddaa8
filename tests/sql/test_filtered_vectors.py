"""Filters never starve the vector arm: full pages, and what an exact scan finds, at any share."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from support.database import Database, stage, vector_literal

pytestmark = pytest.mark.slow  # it fills 12,000 vectors
DOCUMENTS = 2_400
CHUNKS = 5
DIMENSIONS = 16
HNSW = "pgblend_data.embedding_crowd_embedding_hnsw"
# `share` is 0 to 999, spread evenly; `mine` is set on chunks, over what the document says.
FILL = """
INSERT INTO pgblend_data.document (
    collection_id, bucket, source_key, title, text_search_config, metadata, content_hash)
SELECT c.id, 0, i::text, '', CASE WHEN i % 200 = 0 THEN 'german' ELSE 'simple' END,
    jsonb_build_object('share', i % 1000, 'mine', false, 'below100', i % 1000 < 100),
    i::text
FROM generate_series(0, {documents} - 1) AS i
CROSS JOIN pgblend_data.collection AS c WHERE c.name = 'crowd';
INSERT INTO pgblend_data.chunk (
    document_id, chunk_index, collection_id, bucket, content, kind, own_start, token_count,
    metadata, text_search_config, lexemes)
SELECT d.id, i, d.collection_id, 0, 'word ' || d.id || ' ' || i, 'doc', 0, 1, '{{}}',
    d.text_search_config, ''
FROM pgblend_data.document AS d CROSS JOIN generate_series(0, {chunks} - 1) AS i;
"""


def points(count: int, seed: int) -> np.ndarray:
    """Return vectors around 40 centres."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(5).normal(size=(40, DIMENSIONS))
    return centres[random.integers(0, 40, count)] + random.normal(size=(count, DIMENSIONS)) * 0.5


@pytest.fixture(scope="module")
def crowd(module_connection: psycopg.Connection) -> Iterator[Database]:
    """Twelve thousand passages with vectors, analyzed."""
    db = Database(module_connection)
    db.rows("SELECT add_collection('crowd', 'simple')")
    db.rows("SELECT create_embedding_space('crowd', 'none', %s, probe => false)", DIMENSIONS)
    db.rows(FILL.format(documents=DOCUMENTS, chunks=CHUNKS))
    assert db.value("SELECT index_embedding_space('crowd', false)")  # to build it at once is faster
    ids = db.column("SELECT id FROM pgblend_data.chunk ORDER BY id")
    with db.connection.transaction():
        stage(db, [(key, list(p)) for key, p in zip(ids, points(len(ids), 1), strict=True)])
        db.rows("SELECT pgblend._store_embeddings('crowd')")
    assert db.value("SELECT index_embedding_space('crowd')")
    db.rows("ANALYZE")
    yield db
    db.rows("SELECT drop_embedding_space('crowd', true), remove_collection('crowd')")


def search(
    db: Database, query: np.ndarray, conditions: dict[str, Any] | None, **options: Any
) -> list[int]:
    return db.column(
        "SELECT chunk_id FROM vector_search(NULL, 10, filter => %s, options => %s,"
        " query_embedding => %s)",
        conditions and json.dumps(conditions),
        json.dumps(options),
        vector_literal(query),
    )


def recall(db: Database, conditions: dict[str, Any] | None, **options: Any) -> float:
    """Return the share of an exact scan's rows that a search finds; pages must be full."""
    shares = []
    for query in points(15, 2):
        exact = search(db, query, conditions, **options, vector_scan="exact")
        found = search(db, query, conditions, **options)
        assert len(found) == len(exact) == 10
        shares.append(len(set(found) & set(exact)) / 10)
    return float(np.mean(shares))


SHARES = [1000, 500, 100, 10, 1]


@pytest.mark.parametrize("share", SHARES)
def test_recall_at_every_share(crowd: Database, share: int) -> None:
    assert recall(crowd, {"share": {"lt": share}}) >= 0.95


def test_recall_without_a_filter_and_by_other_conditions(crowd: Database) -> None:
    assert recall(crowd, None) >= 0.95
    assert recall(crowd, {"below100": True}) >= 0.95
    assert recall(crowd, {"$language": "german"}) >= 0.95
    assert recall(crowd, None, language="german") >= 0.95
    assert recall(crowd, {"not": {"share": {"lt": 500}}}, candidate_depth=10) >= 0.95


def test_recall_where_chunks_decide(crowd: Database) -> None:
    with crowd.connection.transaction(force_rollback=True):
        crowd.rows("UPDATE pgblend_data.chunk SET metadata = '{\"mine\": true}' WHERE id % 300 = 0")
        assert recall(crowd, {"mine": True}) >= 0.95
        assert recall(crowd, {"mine": False}) >= 0.95


def scans(db: Database, conditions: dict[str, Any] | None, **options: Any) -> int:
    """Return how often a search walks the index."""
    with db.connection.transaction():
        count = "SELECT pg_stat_get_xact_numscans(%s::regclass)"
        before = db.value(count, HNSW)
        assert len(search(db, points(1, 3)[0], conditions, **options)) == 10
        return int(db.value(count, HNSW) - before)


def test_the_index_is_walked_where_many_pass(crowd: Database) -> None:
    for share, expected in zip(SHARES, [1, 1, 0, 0, 0], strict=True):
        assert scans(crowd, {"share": {"lt": share}}) == expected
    assert scans(crowd, {"share": {"lt": 1}}, vector_scan="index") == 1
    assert scans(crowd, {"share": {"lt": 1000}}, vector_scan="exact") == 0


def test_searches_are_exact_while_there_is_no_index(crowd: Database) -> None:
    with crowd.connection.transaction(force_rollback=True):
        assert crowd.value("SELECT index_embedding_space('crowd', false)")
        for share in SHARES:
            for query in points(3, 7):
                conditions = {"share": {"lt": share}}
                exact = search(crowd, query, conditions, vector_scan="exact")
                assert search(crowd, query, conditions) == exact
                assert search(crowd, query, conditions, vector_scan="index") == exact
        assert search(crowd, query, None) == search(crowd, query, None, vector_scan="exact")
        assert search(crowd, query, None, strict=True)


def test_a_walk_that_gives_up_is_made_good(crowd: Database) -> None:
    """Should the scan end before enough passed, all that pass are compared."""
    conditions = {"share": {"lt": 500}}
    with crowd.connection.transaction(force_rollback=True):
        crowd.rows("ALTER FUNCTION pgblend._run_search SET hnsw.max_scan_tuples = 1")
        crowd.rows("ALTER FUNCTION pgblend._run_search SET hnsw.scan_mem_multiplier = 1")
        for query in points(3, 4):
            exact = search(crowd, query, conditions, vector_scan="exact")
            assert search(crowd, query, conditions, ef_search=1) == exact


def test_scores_are_the_cosines(crowd: Database) -> None:
    query = points(1, 6)[0]
    for share in SHARES:
        rows = crowd.rows(
            "SELECT score, relevance, (arms #>> '{vector,score}')::float8, 1 - (embedding <=> %s)"
            " FROM vector_search(NULL, 10, filter => %s, query_embedding => %s)"
            " JOIN pgblend_data.embedding_crowd USING (chunk_id) ORDER BY rank",
            vector_literal(query),
            json.dumps({"share": {"lt": share}}),
            vector_literal(query),
        )
        for score, relevance, raw, cosine in rows:
            assert relevance == raw == pytest.approx(cosine)
            assert score == pytest.approx((1 + cosine) / 2)
        assert [row[0] for row in rows] == sorted((row[0] for row in rows), reverse=True)


def test_filters_leave_the_sessions_settings_alone(crowd: Database) -> None:
    names = ("hnsw.ef_search", "hnsw.iterative_scan", "hnsw.max_scan_tuples", "enable_sort", "jit")
    show = "SELECT current_setting(%s, true)"
    search(crowd, points(1, 7)[0], None)  # loads the extension, which defines them
    before = [crowd.value(show, name) for name in names]
    for share in SHARES:
        for scan in ("auto", "index", "exact"):
            search(crowd, points(1, 7)[0], {"share": {"lt": share}}, ef_search=7, vector_scan=scan)
    error = crowd.error(
        "SELECT * FROM vector_search(options => '{\"ef_search\": 7}', query_embedding => '[1]')"
    )
    assert error.sqlstate == "22023"
    assert [crowd.value(show, name) for name in names] == before
    with crowd.connection.transaction():
        search(crowd, points(1, 7)[0], {"share": {"lt": 500}}, ef_search=7)
        assert [crowd.value(show, name) for name in names] == before
