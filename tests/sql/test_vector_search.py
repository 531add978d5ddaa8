"""vector_search, and what its arm does to the session and to the index."""

import json
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from support.database import Database, add_documents, add_space, stage

HNSW = "pgblend_data.embedding_s_embedding_hnsw"
ROWS = 1_250


def add_vectors(db: Database, vectors: dict[str, list[float]], space: str = "s") -> None:
    """Store vectors for documents of collection c, by key."""
    ids = dict(
        db.rows(
            "SELECT d.source_key, c.chunk_id"
            " FROM chunks AS c JOIN documents AS d USING (document_id)"
        )
    )
    with db.connection.transaction():
        stage(db, [(ids[key], vector) for key, vector in vectors.items()])
        db.rows("SELECT pgblend._store_embeddings(%s)", space)


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [(key, "", f"text {key}") for key in ("same", "near", "far", "against")])
    add_space(db, "s", 2)
    vectors = {"same": [2, 0], "near": [1, 1], "far": [0, 3], "against": [-1, 0]}
    add_vectors(db, vectors)
    return db


def search(db: Database, options: str = "{}", limit: int = 10) -> list[str]:
    return db.column(
        "SELECT source_key FROM vector_search(NULL, %s, options => %s, query_embedding => '[1,0]')",
        limit,
        options,
    )


def test_rows_scores_and_relevance(library: Database) -> None:
    rows = library.rows(
        "SELECT rank, source_key, score, relevance, (arms #>> '{vector,score}')::float8,"
        " details ->> 'relevance_basis', degraded"
        " FROM vector_search('ignored', query_embedding => '[1,0]')"
    )
    half = 0.5**0.5
    for row, (rank, key, cosine) in zip(
        rows, [(1, "same", 1), (2, "near", half), (3, "far", 0), (4, "against", -1)], strict=True
    ):
        assert row[:2] == (rank, key)
        assert row[2:5] == pytest.approx(((1 + cosine) / 2, cosine, cosine), abs=1e-7)
        assert row[5:] == ("cosine", [])


@pytest.mark.parametrize("scan", ["auto", "exact", "index"])
def test_every_scan_gives_the_same(library: Database, scan: str) -> None:
    assert search(library, f'{{"vector_scan": "{scan}"}}') == ["same", "near", "far", "against"]


@pytest.mark.parametrize("length", ["1e-30", "1e-5", "1e25"])
def test_only_the_direction_of_a_query_counts(library: Database, length: str) -> None:
    query = "SELECT source_key, score FROM vector_search(query_embedding => %s)"
    hybrid = "SELECT source_key, score FROM hybrid_search('near', query_embedding => %s)"
    for search_by in (query, hybrid):
        expected = library.rows(search_by, "[1,1]")
        assert library.rows(search_by, f"[{length},{length}]") == [
            (key, pytest.approx(score, abs=1e-6)) for key, score in expected
        ]


def test_waiting_chunks_are_told(library: Database) -> None:
    add_documents(library, "c", [("new", "", "new")])
    (degraded,) = library.rows(
        "SELECT DISTINCT degraded FROM vector_search(query_embedding => '[1,0]')"
    )
    assert degraded == (["vector: some passages have no vector yet (pgblend worker makes them)"],)


def test_waiting_chunks_of_many_collections_are_told(library: Database) -> None:
    """Whether any waits is asked first, then whether it is of the collections searched."""
    query = (
        "SELECT DISTINCT degraded FROM hybrid_search('text', collections => %s,"
        " query_embedding => '[1,0]')"
    )
    library.rows("SELECT count(add_collection('more' || i)) FROM generate_series(1, 70) AS i")
    others = library.column("SELECT name FROM collections WHERE name <> 'more7'")
    assert library.rows(query, None) == [([],)]
    add_documents(library, "more7", [("new", "", "new")])
    (waiting,) = library.rows(query, None)
    assert "no vector yet" in waiting[0][0]
    assert library.rows(query, others) == [([],)]


@pytest.mark.parametrize("scan", ["auto", "exact", "index"])
def test_a_zero_vector_is_never_found(library: Database, scan: str) -> None:
    add_documents(library, "c", [("zero", "", "zero")])
    add_vectors(library, {"zero": [0, 0]})
    assert "zero" not in search(library, f'{{"vector_scan": "{scan}"}}')
    row = library.row(
        "SELECT source_key, relevance FROM hybrid_search('zero', query_embedding => '[1,0]',"
        """ options => '{"candidate_depth": 1, "weights": {"vector": 0.5}}')"""
        " WHERE source_key = 'zero'"
    )
    assert row == ("zero", None)


def test_without_vectors(db: Database) -> None:
    no_space = db.error("SELECT * FROM vector_search(query_embedding => '[1,0]')")
    add_space(db, "s", 2)
    no_rows = db.error("SELECT * FROM vector_search(query_embedding => '[1,0]')")
    for error in (no_space, no_rows):
        assert error.sqlstate == "PB001"
        assert str(error.message_primary).startswith("VECTORS_UNAVAILABLE: ")
        assert error.message_hint


def test_without_a_gateway(library: Database) -> None:
    error = library.error("SELECT * FROM vector_search('words')")
    assert error.sqlstate == "PB008"
    assert "no model gateway is set" in str(error.message_primary)
    assert "lexical_search needs no vectors" in str(error.message_hint)


@pytest.mark.parametrize(
    ("vector", "part"), [("[1,2,3]", "3 dimensions"), ("[0,0]", "the zero vector")]
)
def test_a_wrong_query_vector(library: Database, vector: str, part: str) -> None:
    for function in ("vector_search", "hybrid_search"):
        error = library.error(f"SELECT * FROM {function}('x', query_embedding => %s)", vector)
        assert error.sqlstate == "22023"
        assert part in str(error.message_primary)
        assert error.message_hint


def test_halfvec(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("a", "", "a"), ("b", "", "b")])
    db.rows("SELECT create_embedding_space('s', 'm', 2, 'halfvec', probe => false)")
    add_vectors(db, {"a": [1, 0], "b": [0, 1]})
    assert search(db) == ["a", "b"]


@pytest.mark.parametrize("scan", ["exact", "index"])
def test_ties_go_by_document(db: Database, scan: str) -> None:
    db.rows("SELECT add_collection('c')")
    keys = [f"{9 - i}" for i in range(9)]
    add_documents(db, "c", [(key, "", key) for key in keys])
    add_space(db, "s", 2)
    add_vectors(db, {keys[0]: [1.0, 0.5]})
    for key in reversed(keys[1:]):  # the order of rows is none
        add_vectors(db, {key: [1.0, 1.0]})
    for depth in range(1, 9):
        options = f'{{"vector_scan": "{scan}", "candidate_depth": {depth}}}'
        assert search(db, options) == keys[:depth]


@pytest.fixture(scope="module")
def indexed(module_connection: psycopg.Connection) -> Iterator[Database]:
    """Many documents in two collections, with vectors on a half circle; analysed, committed."""
    db = Database(module_connection)
    for name in ("big", "small"):
        db.rows("SELECT add_collection(%s)", name)
    db.rows(
        "SELECT count(d.status) FROM generate_series(1, %s) AS i, LATERAL ingest_document("
        "CASE WHEN i %% 250 = 0 THEN 'small' ELSE 'big' END, i::text, '', chunks =>"
        " jsonb_build_array(jsonb_build_object('content', 'word ' || i)),"
        " metadata => jsonb_build_object("
        "'rare', i %% 125 = 0, 'near', i BETWEEN 600 AND 900)) AS d",
        ROWS,
    )
    add_space(db, "s", 3)
    db.rows(
        "CREATE TEMP TABLE embedding_stage AS SELECT chunk_id, format('[%%s,%%s,0.1]',"
        " cos(chunk_index + document_id::float8 * 3.14 / %s),"
        " sin(document_id::float8 * 3.14 / %s))::vector AS embedding FROM chunks",
        ROWS,
        ROWS,
    )
    assert db.value("SELECT pgblend._store_embeddings('s')") == ROWS
    db.rows("ANALYZE pgblend_data.embedding_s")
    # As if there were more: `auto` uses the index of a large space alone.
    db.rows("UPDATE pg_class SET reltuples = 10001 WHERE relname = 'embedding_s'")
    yield db
    db.rows(
        "SELECT drop_embedding_space('s', true), remove_collection('big'),"
        " remove_collection('small')"
    )


ARM = (
    "SELECT document_id FROM vector_search(NULL, 10, %s, %s, %s,"
    " query_embedding => '[-0.3,0.9,0.1]')"
)


def find(
    db: Database, options: dict[str, object], collections=None, only=None
) -> tuple[list[int], int]:
    """Search in one transaction; return the documents and how often the index was scanned."""
    with db.connection.transaction():
        before = db.value("SELECT pg_stat_get_xact_numscans(%s::regclass)", HNSW)
        found = db.column(ARM, collections, only, json.dumps(options))
        return found, db.value("SELECT pg_stat_get_xact_numscans(%s::regclass)", HNSW) - before


@pytest.mark.extended
@pytest.mark.parametrize(
    ("scan", "collections"),
    [("auto", None), ("auto", ["big", "small"]), ("index", None), ("index", ["big"])],
)
def test_the_index_is_used_and_agrees_with_the_exact_scan(
    indexed: Database, scan: str, collections: list[str] | None
) -> None:
    exact, scans = find(indexed, {"vector_scan": "exact"}, collections)
    assert (len(exact), scans) == (10, 0)
    for ef_search in (200, 1000):  # 1000 is the most that the index takes
        options = {"vector_scan": scan, "ef_search": ef_search}
        assert find(indexed, options, collections) == (exact, 1)


def test_a_walk_goes_on_past_what_was_deleted(indexed: Database) -> None:
    """Until VACUUM the index leads to it, so a walk that cannot go on would find too little."""
    options = {"candidate_depth": 10, "ef_search": 20}
    nearest, _ = find(indexed, options)
    with indexed.connection.transaction(force_rollback=True):
        everything, scans = find(indexed, options | {"candidate_depth": 30, "ef_search": 40})
        assert (everything, scans) == (nearest, 1)
        indexed.rows(
            "DELETE FROM pgblend_data.document WHERE id IN (SELECT document_id FROM"
            " vector_search(NULL, 15, query_embedding => '[-0.3,0.9,0.1]'))"
        )
        left, scans = find(indexed, options)
        assert (len(left), scans) == (10, 2)
        assert left == find(indexed, {"vector_scan": "exact"})[0]


def test_a_walk_that_gives_up_is_made_good(indexed: Database) -> None:
    """Should the scan end before enough passed, `auto` compares all that pass, and `index` none."""
    others, walk = '{"near": false}', {"candidate_depth": 10, "ef_search": 10}
    exact, _ = find(indexed, {"vector_scan": "exact"}, None, others)
    with indexed.connection.transaction(force_rollback=True):
        indexed.rows("ALTER FUNCTION pgblend._run_search SET hnsw.max_scan_tuples = 1")
        indexed.rows("ALTER FUNCTION pgblend._run_search SET hnsw.scan_mem_multiplier = 1")
        assert find(indexed, walk, None, others) == (exact, 1)
        assert len(find(indexed, walk | {"vector_scan": "index"}, None, others)[0]) < 10


PHRASE = (
    "SELECT arms ? 'vector' FROM hybrid_search(%s, query_embedding => '[-0.3,0.9,0.1]',"
    " options => %s) WHERE content = 'word 5'"
)


@pytest.mark.parametrize("is_pending", [False, True], ids=["sealed", "pending"])
@pytest.mark.parametrize(
    "query", ['"word 5"', '"word 5" or "big moose"', '"word 5" -six', 'large "word 5"']
)
def test_a_rare_phrase_is_compared(indexed: Database, query: str, is_pending: bool) -> None:
    """A walk would look at the lexemes of all that are nearer, and give up.

    A collection without documents, which has no index, changes nothing.
    """
    scans = "SELECT pg_stat_get_xact_numscans(%s::regclass)"
    with indexed.connection.transaction(force_rollback=True):
        indexed.rows("ALTER FUNCTION pgblend._run_search SET hnsw.max_scan_tuples = 1")
        indexed.rows("ALTER FUNCTION pgblend._run_search SET hnsw.scan_mem_multiplier = 1")
        indexed.rows("SELECT add_collection('empty')")
        if is_pending:
            indexed.rows("DELETE FROM pgblend_data.document WHERE source_key = '5'")
            add_documents(indexed, "big", [("new", "", "word 5")])
            add_vectors(indexed, {"new": [1, 0, 0.1]})
        before = indexed.value(scans, HNSW)
        for options in ({}, {"vector_scan": "exact"}):
            assert indexed.rows(PHRASE, query, json.dumps(options)) == [(True,)]
        assert indexed.value(scans, HNSW) == before
        # Each passage has the word, and where one of two alternatives has no phrase, any passes.
        for common in ('"word"', '"word 5" or word'):
            indexed.rows(PHRASE, common, "{}")
            before += 1
            assert indexed.value(scans, HNSW) == before


def test_a_walk_under_row_security_that_gives_up_is_made_good(indexed: Database) -> None:
    """An owner's policy may leave few of the passages, which the lexical index does not tell."""
    with indexed.connection.transaction(force_rollback=True):
        indexed.rows("CREATE ROLE of_few IN ROLE pgblend_reader")
        indexed.rows("SELECT grant_collection(name, 'of_few') FROM pgblend_data.collection")
        indexed.rows(
            "CREATE POLICY few ON pgblend_data.embedding_s AS RESTRICTIVE FOR SELECT"
            " USING (document_id % 20 = 0)"
        )
        indexed.rows("ALTER FUNCTION pgblend._run_search SET hnsw.max_scan_tuples = 1")
        indexed.rows("ALTER FUNCTION pgblend._run_search SET hnsw.scan_mem_multiplier = 1")
        indexed.rows("UPDATE pg_class SET reltuples = 200 WHERE relname = 'embedding_s'")
        indexed.rows("SET LOCAL ROLE of_few")
        exact, _ = find(indexed, {"vector_scan": "exact"})
        options = {"ef_search": 10, "candidate_depth": 10}
        assert find(indexed, options) == (exact, 1)


def test_many_are_not_counted(indexed: Database) -> None:
    """To count the vectors of a large part takes as long as a tenth of the search."""
    index = "pgblend_data.embedding_s_collection_id_btree"
    read = f"SELECT pg_stat_get_xact_tuples_returned('{index}'::regclass)"
    options = {"ef_search": 10, "candidate_depth": 10}
    with indexed.connection.transaction(force_rollback=True):
        indexed.rows("CREATE ROLE of_big IN ROLE pgblend_reader")
        indexed.rows("SELECT grant_collection('big', 'of_big')")
        indexed.rows("UPDATE pg_class SET reltuples = 200 WHERE relname = 'embedding_s'")
        for segments, counted in (("sealed", 0), ("none", 331)):
            indexed.rows("SET LOCAL ROLE of_big")
            before = indexed.value(read)
            found = indexed.column(ARM, None, None, json.dumps(options))
            assert (len(found), indexed.value(read) - before) == (10, counted), segments
            indexed.rows("RESET ROLE")
            indexed.rows("DELETE FROM pgblend_data.segment")


def test_few_rows_are_all_compared(indexed: Database) -> None:
    with indexed.connection.transaction(force_rollback=True):
        for vectors, walks in ((1010, 0), (1011, 1)):  # ten for each of 101 candidates
            indexed.rows(
                "UPDATE pg_class SET reltuples = %s WHERE relname = 'embedding_s'", vectors
            )
            assert find(indexed, {})[1] == walks
        assert find(indexed, {"ef_search": 200})[1] == 0  # a longer walk compares more
    assert find(indexed, {}, ["small"])[1] == 0  # few of many


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "row security"])
def test_a_small_collection_is_read_by_its_index(indexed: Database, is_named: bool) -> None:
    """Whether it has vectors is seen at its first one, which a sequential scan may look for."""
    read = "SELECT pg_stat_get_xact_tuples_returned('pgblend_data.embedding_s'::regclass)"
    with indexed.connection.transaction(force_rollback=True):
        indexed.rows("CREATE ROLE of_small IN ROLE pgblend_reader")
        indexed.rows("SELECT grant_collection('small', 'of_small')")
        indexed.rows("SET LOCAL ROLE of_small" if not is_named else "SELECT")
        before = indexed.value(read)
        found = indexed.column(ARM, ["small"] if is_named else None, None, "{}")
        assert (len(found), indexed.value(read) - before < ROWS) == (5, True)


@pytest.mark.parametrize("scan", ["index", "exact"])
def test_a_rare_filter_or_a_small_collection_fills_the_page(indexed: Database, scan: str) -> None:
    options = {"vector_scan": scan, "ef_search": 10}
    exact = {"vector_scan": "exact"}
    rare = '{"rare": true}'
    assert find(indexed, options, None, rare)[0] == find(indexed, exact, None, rare)[0]
    assert len(find(indexed, options, None, rare)[0]) == 10
    assert sorted(find(indexed, options, ["small"])[0]) == sorted(
        find(indexed, exact, ["small"])[0]
    )
    assert len(find(indexed, options, ["small"])[0]) == 5


def test_settings_of_the_transaction_are_left_alone(indexed: Database) -> None:
    names = ("hnsw.ef_search", "hnsw.iterative_scan", "search_path", "client_min_messages")
    with indexed.connection.transaction(force_rollback=True):
        indexed.rows("SET LOCAL hnsw.ef_search = 77")
        indexed.rows("SET LOCAL hnsw.iterative_scan = relaxed_order")
        before = [indexed.value("SELECT current_setting(%s)", name) for name in names]
        find(indexed, {"ef_search": 300})
        indexed.rows("SELECT * FROM hybrid_search('word', query_embedding => '[1,0,0]')")
        assert [indexed.value("SELECT current_setting(%s)", name) for name in names] == before


def test_a_fresh_session_has_no_settings_left(indexed: Database) -> None:
    info = indexed.connection.info
    with connect(make_conninfo(info.dsn, password=info.password)) as fresh:
        db = Database(fresh)
        find(db, {})
        assert db.value("SELECT current_setting('hnsw.ef_search', true)") in (None, "", "40")


def test_scores_do_not_depend_on_depth_of_page(indexed: Database) -> None:
    query = (
        "SELECT document_id, score FROM vector_search(NULL, %s, options => %s,"
        " query_embedding => '[0,1,0]')"
    )
    everything = indexed.rows(query, 30, "{}")
    pages = [indexed.rows(query, 10, f'{{"offset": {offset}}}') for offset in (0, 10, 20)]
    assert [row for page in pages for row in page] == everything
