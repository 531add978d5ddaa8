"""Binary embedding spaces: an index of signs, whose candidates are compared by their vectors."""

import random
from collections.abc import Iterator

import psycopg
import pytest

from pgblend.plpy.search.plan import read_state
from pgblend.plpy.search.vectors import scan_statement
from support.database import Database, stage, vector_literal
from support.served_database import ServedDatabase
from support.word_lists import add_word_lists

DIMENSIONS = 32
ROWS = 2_500
ARM = """
    SELECT u.rank, u.chunk_id, u.cosine
    FROM vector_list(
        %s, 'bits', ARRAY(SELECT id FROM pgblend_data.collection), NULL, %s, %s) AS a,
        unnest(a.chunk_ids, a.scores) WITH ORDINALITY AS u (chunk_id, cosine, rank)
"""


@pytest.fixture(scope="module")
def bits(module_connection: psycopg.Connection) -> Iterator[Database]:
    """Documents of 25 passages with random vectors; every tenth is rare."""
    db = Database(module_connection)
    add_word_lists(db.connection)
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT create_embedding_space('bits', 'm', %s, 'binary', probe => false)", DIMENSIONS)
    db.rows(
        "SELECT count(d.status) FROM ("
        " SELECT i / 25 AS key, jsonb_agg(jsonb_build_object('content', 'w ' || i)) AS chunks"
        " FROM generate_series(0, %s - 1) AS i GROUP BY i / 25 ORDER BY i / 25) AS t,"
        " LATERAL ingest_document('c', t.key::text, '', chunks => t.chunks,"
        " metadata => jsonb_build_object('rare', t.key %% 10 = 0)) AS d",
        ROWS,
    )
    chance = random.Random(5)
    chunks = db.column("SELECT chunk_id FROM chunks ORDER BY chunk_id")
    with db.connection.transaction():
        stage(db, [(chunk, vector(chance)) for chunk in chunks])
        assert db.value("SELECT pgblend._store_embeddings('bits')") == ROWS
    db.rows("ANALYZE pgblend_data.embedding_bits")
    # As if there were more: `auto` uses the index of a large space alone.
    db.rows("UPDATE pg_class SET reltuples = 10001 WHERE relname = 'embedding_bits'")
    yield db
    db.rows("SELECT drop_embedding_space('bits', true), remove_collection('c')")


def vector(chance: random.Random) -> list[float]:
    return [chance.gauss(0, 1) for _ in range(DIMENSIONS)]


def arm(db: Database, query: list[float], scan: str, factor: float, filter_: str | None = None):
    settings = (
        f'{{"candidate_depth": 10, "ef_search": 100, "vector_scan": "{scan}",'
        f' "rescore_factor": {factor}}}'
    )
    return db.rows(ARM, vector_literal(query), filter_, settings)


def recall(db: Database, factor: float) -> float:
    chance = random.Random(9)
    found = 0
    for _ in range(20):
        query = vector(chance)
        exact = {row[1] for row in arm(db, query, "exact", 1)}
        found += len(exact & {row[1] for row in arm(db, query, "index", factor)})
    return found / 200


@pytest.mark.slow
def test_more_candidates_find_more(bits: Database) -> None:
    few, many = recall(bits, 1), recall(bits, 40)
    assert few < 0.7 < many


@pytest.mark.extended
def test_scores_are_exact_cosines_best_first(bits: Database) -> None:
    query = vector(random.Random(1))
    rows = arm(bits, query, "index", 10)
    assert [row[0] for row in rows] == list(range(1, 11))
    cosines = [row[2] for row in rows]
    assert cosines == sorted(cosines, reverse=True)
    exact = dict(
        bits.rows(
            "SELECT chunk_id, 1 - (embedding <=> %s::halfvec(32)) FROM pgblend_data.embedding_bits",
            vector_literal(query),
        )
    )
    assert [exact[row[1]] for row in rows] == pytest.approx(cosines, abs=1e-9)


def test_the_index_of_signs_is_used(bits: Database) -> None:
    space = read_state(ServedDatabase(bits.connection), None, None).space("bits")
    assert space is not None
    statement = scan_statement(space, "", is_exact=False)
    with bits.connection.transaction(force_rollback=True):
        bits.rows("SET LOCAL enable_sort = off")
        bits.rows(f"PREPARE scan (vector, int, int, bigint, int, int, int, bigint) AS {statement}")
        query = vector_literal(vector(random.Random(2)))
        plan = "\n".join(
            bits.column(f"EXPLAIN EXECUTE scan ('{query}', NULL, NULL, 10, NULL, NULL, NULL, 40)")
        )
    assert "Index Scan using embedding_bits_embedding_hnsw" in plan


@pytest.mark.parametrize("scan", ["auto", "exact", "index"])
def test_a_filter_never_starves_it(bits: Database, scan: str) -> None:
    rows = arm(bits, vector(random.Random(3)), scan, 4, '{"rare": true}')
    assert len(rows) == 10
    rare = set(bits.column("SELECT chunk_id FROM chunks WHERE metadata @> '{\"rare\": true}'"))
    documents = set(
        bits.column(
            "SELECT c.chunk_id FROM chunks AS c JOIN documents AS d USING (document_id)"
            " WHERE d.metadata @> '{\"rare\": true}'"
        )
    )
    assert {row[1] for row in rows} <= rare | documents


def test_a_whole_search_with_feedback_and_mmr(bits: Database) -> None:
    rows = bits.rows(
        "SELECT relevance, details ->> 'relevance_basis' FROM hybrid_search('w 17', 5,"
        """ options => '{"mmr": {"lambda": 0.7, "pool": 20}}', query_embedding => %s)""",
        vector_literal(vector(random.Random(4))),
    )
    assert len(rows) == 5
    assert all(basis == "cosine" and relevance is not None for relevance, basis in rows)
