"""How far the index of a space is walked: measured, kept, and followed by searches."""

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.database import Database, add_space, stage, vector_literal

DIMENSIONS = 32
ROWS = 1_500
KEPT = "SELECT ef_search, recall, tuned_at IS NOT NULL FROM embedding_spaces WHERE name = 'crowd'"
ARM = """
SELECT count(*) FROM vector_search(NULL, 100, options => %s, query_embedding => %s)
"""


def point(chance: random.Random) -> list[float]:
    return [chance.gauss(0, 1) for _ in range(DIMENSIONS)]


@pytest.fixture(scope="module")
def crowd(module_connection: psycopg.Connection[Any]) -> Iterator[Database]:
    """Random vectors, of which an index finds few at first: they have no neighbourhoods."""
    db = Database(module_connection)
    db.rows("SELECT add_collection('c', 'simple')")
    add_space(db, "crowd", DIMENSIONS)
    db.rows(
        "SELECT count(d.status) FROM ("
        " SELECT i / 30 AS key, jsonb_agg(jsonb_build_object('content', 'word ' || i)) AS chunks"
        " FROM generate_series(0, %s - 1) AS i GROUP BY i / 30 ORDER BY i / 30) AS t,"
        " LATERAL ingest_document('c', t.key::text, '', chunks => t.chunks) AS d",
        ROWS,
    )
    chance = random.Random(3)
    chunks = db.column("SELECT chunk_id FROM chunks ORDER BY chunk_id")
    stage(db, [(chunk, point(chance)) for chunk in chunks])
    db.rows("SELECT pgblend._store_embeddings('crowd')")
    db.rows("ANALYZE")
    yield db
    db.rows("SELECT drop_embedding_space('crowd', true), remove_collection('c')")


@pytest.mark.extended
def test_the_least_that_finds_enough_is_kept(crowd: Database) -> None:
    with crowd.connection.transaction(force_rollback=True):
        assert crowd.rows(KEPT) == [(None, None, False)]
        crowd.rows("SELECT set_setting('candidate_depth', '10')")  # a list of 10 misses some
        tries = crowd.rows("SELECT * FROM tune_embedding_space(sample_size => 10)")
        sizes, recalls = [row[0] for row in tries], [row[1] for row in tries]
        assert sizes == [10, 20, 40, 80, 1000][: len(sizes)]
        assert len(sizes) > 1
        assert all(recall < 0.99 for recall in recalls[:-1])
        assert recalls[-1] >= 0.99
        assert [row[5] for row in tries] == [False] * (len(tries) - 1) + [True]
        assert crowd.rows(KEPT) == [(sizes[-1], recalls[-1], True)]


def test_searches_that_set_none_follow_it(crowd: Database) -> None:
    """As they follow the option; what is set, in a call or for all, is stronger."""

    def found(query: str, **options: Any) -> list[int]:
        given = {"vector_scan": "index", "candidate_depth": 10, **options}
        return crowd.column(
            "SELECT chunk_id FROM vector_search(NULL, 10, options => %s, query_embedding => %s)",
            Jsonb(given),
            query,
        )

    queries = (vector_literal(point(random.Random(seed))) for seed in range(4, 100))
    query, narrow, wide = next(
        (query, *lists)
        for query in queries
        for lists in [(found(query, ef_search=10), found(query, ef_search=1000))]
        if lists[0] != lists[1]
    )
    with crowd.connection.transaction(force_rollback=True):
        crowd.rows("UPDATE pgblend_data.embedding_space SET ef_search = 10")
        assert found(query) == narrow
        assert found(query, ef_search=1000) == wide
        crowd.rows("SELECT set_setting('ef_search', '1000')")
        assert found(query) == wide


def test_no_fewer_are_looked_at_than_asked_for(crowd: Database) -> None:
    """A shorter list would take a second walk: both read the same pages of the index."""
    query = vector_literal(point(random.Random(4)))
    with crowd.connection.transaction():

        def walked(options: str) -> int:
            read = "SELECT pg_stat_get_xact_blocks_fetched(%s::regclass)"
            index = "pgblend_data.embedding_crowd_embedding_hnsw"
            before = crowd.value(read, index)
            assert crowd.value(ARM, options, query) == 100
            return int(crowd.value(read, index) - before)

        short = walked('{"vector_scan": "index", "ef_search": 10}')
        assert short == walked('{"vector_scan": "index", "ef_search": 100}') > 0


def test_without_vectors_nothing_is_kept(crowd: Database) -> None:
    with crowd.connection.transaction(force_rollback=True):
        add_space(crowd, "bare", 3)
        assert crowd.rows("SELECT * FROM tune_embedding_space('bare')") == []
        assert crowd.column("SELECT ef_search FROM embedding_spaces") == [None, None]
        crowd.rows("SELECT drop_embedding_space('crowd', true)")
        assert crowd.rows("SELECT * FROM tune_embedding_space()") == []


def test_an_unknown_space_and_a_sample_out_of_range(crowd: Database) -> None:
    unknown = crowd.error("SELECT * FROM tune_embedding_space('nope')")
    assert (unknown.sqlstate, "nope" in str(unknown.message_primary)) == ("22023", True)
    assert crowd.error("SELECT * FROM tune_embedding_space(NULL, 0)").sqlstate == "22023"
