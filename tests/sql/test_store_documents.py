"""Batches of documents: statuses, failures, and sessions that store the same at once."""

import json
import threading

import psycopg
import pytest

from pgblend.cli.base.child_process import encode_json
from pgblend.cli.base.database import connect
from pgblend.cli.documents.batch import Batch as CopyBatch
from pgblend.cli.documents.batch import chunk_row, document_row
from pgblend.cli.documents.document_writer import StoreOutcome
from pgblend.cli.documents.document_writer import store as store_batch
from support.database import Database

STORE = """
    SELECT s.status, s.chunk_count FROM pgblend._named_collection('c') AS t,
    LATERAL pgblend._store_documents(
        t,
        ARRAY(SELECT pgblend._document_row(t, d.key, d.content, d.title, NULL, d.metadata,
            NULL, NULL, NULL, NULL)
            FROM jsonb_to_recordset(%s::jsonb)
                AS d (key text, content text, title text, metadata jsonb)),
        ARRAY(SELECT CASE WHEN NOT d ? 'chunks' THEN d ->> 'content' END
            FROM jsonb_array_elements(%s::jsonb) AS d),
        ARRAY(SELECT jsonb_populate_record(c, jsonb_build_object('document', place))
            FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS e (d, place),
            unnest(pgblend._read_chunks(d -> 'chunks')) AS c),
        ARRAY(SELECT d -> 'links' FROM jsonb_array_elements(%s::jsonb) AS d)) AS s
    ORDER BY s.place
"""
Batch = list[dict[str, object]]


def store(db: Database, batch: Batch) -> list[tuple[str, int]]:
    value = psycopg.types.json.Jsonb(batch)
    return db.rows(STORE, value, value, value, value)


def document(key: str, content: str, **more: object) -> dict[str, object]:
    return {"key": key, "content": content, **more}


@pytest.fixture
def filled(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    link = [{"target": "d.md"}]
    batch = [document(key, f"old {key}", links=link) for key in ("d.md", "c.md", "b.md", "a.md")]
    assert store(db, batch) == [("added", 1)] * 4
    return db


def test_one_batch_may_have_every_status(filled: Database) -> None:
    batch = [
        document("new.md", "", chunks=[]),
        document("c.md", "old c.md"),
        document("b.md", "", chunks=[{"content": "first"}, {"content": "second"}]),
        document("a.md", "old a.md", metadata={"a": 1}),
    ]
    expected = [("added", 0), ("unchanged", 1), ("replaced", 2), ("updated", 1)]
    # The hash is that of the content, which is empty where chunks are given.
    assert store(filled, batch) == expected
    words = "SELECT source_key, content FROM lexical_search(%s)"
    assert filled.rows(words, "second") == [("b.md", "second")]
    assert {row[0] for row in filled.rows(words, "old")} == {"a.md", "c.md", "d.md"}
    # Of a replaced document, links of the old text go; of an unchanged one they stay.
    linking = (
        "SELECT d.source_key FROM pgblend_data.link AS l"
        " JOIN pgblend_data.document AS d ON d.id = l.document_id"
    )
    assert set(filled.column(linking)) == {"a.md", "c.md", "d.md"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (document("x", "", chunks=[{"content": 1}]), "chunk 0 is"),
        (document("x", "", chunks="no"), "chunks is"),
        (document("x", "text", links=[{}]), "link 1 is"),
        (document("first", "twice"), "second time"),
    ],
)
def test_a_batch_that_fails_leaves_nothing(
    filled: Database, wrong: dict[str, object], message: str
) -> None:
    everything = "SELECT count(*) FROM pgblend_data."
    tables = ("document", "chunk", "pending", "vocabulary", "link", "document_name")
    before = [filled.value(everything + table) for table in tables]
    with pytest.raises(psycopg.Error, match=message), filled.connection.transaction():
        store(filled, [document("first", "xylophone"), wrong])
    assert [filled.value(everything + table) for table in tables] == before


def test_rows_written_by_hand_are_indexed_too(filled: Database) -> None:
    filled.rows(
        "INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket, content,"
        " kind, own_start, token_count, metadata, text_search_config, lexemes)"
        " SELECT c.document_id, n, c.collection_id, c.bucket,"
        " concat_ws(' ', 'xylophone', c.document_id, n), 'doc', 0, 2, '{}',"
        " 'english', '' FROM pgblend_data.chunk AS c, generate_series(1, 3) AS n"
    )
    assert len(filled.rows("SELECT chunk_id FROM lexical_search('xylophone', 20)")) == 12
    assert len(filled.rows("SELECT chunk_id FROM fuzzy_search('xylofone', 20)")) == 12


def test_what_is_written_by_hand_is_what_is_given(filled: Database) -> None:
    """Title, heading, repeated text, identifiers and names: of one formula, whoever writes."""
    chunks = [
        {"content": "Red ERR-1042 wine", "heading": "Grapes"},
        {"content": "wine of the south", "heading": "Grapes", "own_start": 5},
        {"content": "south of run() it is", "heading": "Cellars", "own_start": 6},
    ]
    filled.rows(
        "SELECT ingest_document('c', 'a/wine-list.md', NULL, 'Wine list', content_hash => '1',"
        " chunks => %s)",
        json.dumps(chunks),
    )
    indexed = (
        "SELECT c.chunk_index, c.lexemes::text, c.own_position, p.length, p.own_length,"
        " encode(p.records, 'hex') FROM pgblend_data.chunk AS c"
        " JOIN pgblend_data.pending AS p ON p.chunk_id = c.id"
        " JOIN pgblend_data.document AS d ON d.id = c.document_id"
        " WHERE d.source_key = 'a/wine-list.md' ORDER BY 1"
    )
    given = filled.rows(indexed)
    assert len(given) == 3
    columns = (
        "document_id, chunk_index, collection_id, bucket, content, heading, kind, own_start,"
        " token_count, metadata, text_search_config"
    )
    filled.rows(
        f"CREATE TEMP TABLE copied AS SELECT {columns} FROM pgblend_data.chunk"
        " WHERE document_id ="
        " (SELECT id FROM pgblend_data.document WHERE source_key = 'a/wine-list.md')"
    )
    filled.rows(
        "DELETE FROM pgblend_data.chunk WHERE document_id IN (SELECT document_id FROM copied)"
    )
    filled.rows(
        f"INSERT INTO pgblend_data.chunk ({columns}) SELECT {columns} FROM copied"
        " ORDER BY chunk_index"
    )
    assert filled.rows(indexed) == given


@pytest.mark.parametrize("encoding", ["LATIN1", "UTF8"])
def test_a_client_of_another_encoding_writes_the_same(db: Database, encoding: str) -> None:
    """A tsvector's binary form is in the client's encoding, of which terms are no digests."""
    db.rows("SELECT add_collection('c', 'simple')")
    db.rows(f"SET client_encoding = {encoding}")
    db.rows("SELECT ingest_document('c', 'k', U&'\\00F6ffentlich \\6F22\\5B57\\8A9E')")
    db.rows("RESET client_encoding")
    for _ in range(2):
        for word in ("öffentlich", "漢字"):
            assert db.column("SELECT source_key FROM lexical_search(%s)", word) == ["k"]
        db.rows("SELECT lexical_rebuild('c')")
    db.rows(f"SET client_encoding = {encoding}")
    db.rows("SELECT lexical_rebuild('c')")
    db.rows("RESET client_encoding")
    assert db.column("SELECT source_key FROM lexical_search('öffentlich')") == ["k"]


def test_texts_are_staged_as_they_are(filled: Database) -> None:
    """COPY has characters of its own, and \\N for NULL."""
    text = "\\N a\tb\nc\r\nd \\. \\t {\"é\", 漢} \u2028 'e'"
    about = {"place": 0, "source_key": "k\t", "title": "\\N", "content_hash": "h"}
    about |= {"metadata": encode_json({"a\\": "\n\t"})}
    chunk = {"content": text, "pages": [1, 3], "piece_tokens": [], "metadata": {"m": text}}
    batch = CopyBatch(["k"])
    batch.add(0, 0, (document_row(about) + chunk_row(0, chunk)).encode())
    batch.finish(0, 1, 0)
    assert store_batch(filled.connection, "c", batch) == [StoreOutcome("k", "added", 1)]
    stored = filled.row(
        "SELECT d.title, d.metadata, d.uri, c.content, c.pages, c.piece_tokens, c.metadata, c.kind"
        " FROM pgblend_data.document AS d JOIN pgblend_data.chunk AS c ON c.document_id = d.id"
        " WHERE d.source_key = %s",
        "k\t",
    )
    assert stored == ("\\N", {"a\\": "\n\t"}, None, text, [1, 3], [], {"m": text}, "doc")


def rows_read(db: Database) -> dict[str, int]:
    """Return how many rows of each table this transaction has read, with those of indexes."""
    return dict(
        db.rows(
            "SELECT t.relname::text, t.seq_tup_read + sum(pg_stat_get_xact_tuples_returned(i.oid))"
            " FROM pg_stat_xact_user_tables AS t JOIN pg_index AS x ON x.indrelid = t.relid"
            " JOIN pg_class AS i ON i.oid = x.indexrelid WHERE t.schemaname = 'pgblend_data'"
            " AND t.relname IN ('chunk', 'vocabulary') GROUP BY 1, t.seq_tup_read"
        )
    )


def test_statistics_that_see_no_row_make_nothing_slow(committed: Database) -> None:
    """ANALYZE (autovacuum's, say) beside a transaction calls what it has written no row at all."""
    committed.rows("SELECT add_collection('c')")
    with committed.connection.transaction(), connect(committed.url) as other:
        texts = [" ".join(f"w{place}" for place in range(n * 10, n * 10 + 10)) for n in range(400)]
        store(committed, [document(f"d{number}", text) for number, text in enumerate(texts)])
        other.execute("ANALYZE")
        before = rows_read(committed)
        store(committed, [document("one more", "w1 w2 w3 x1 x2")])
        stored = rows_read(committed)
        assert stored["vocabulary"] - before["vocabulary"] < 80
        assert len(committed.rows("SELECT 1 FROM lexical_search('w1 w2 w3')")) == 2
        assert rows_read(committed)["chunk"] - stored["chunk"] < 80


def test_sessions_that_store_the_same_never_wait_in_a_circle(
    committed: Database, database_url: str
) -> None:
    committed.rows("SELECT add_collection('c')")
    store(committed, [document("first of its language", "text")])
    with connect(database_url) as first, connect(database_url) as second:
        first.execute("BEGIN")
        store(Database(first), [document("a", "xylophone")])
        second.execute("SET lock_timeout = '5s'")
        # A word that the other session has not committed yet is nothing to wait for.
        store(Database(second), [document("z", "xylophone")])
        outcome: list[object] = []

        def both() -> None:
            outcome.extend(store(Database(second), [document("b", "two"), document("a", "two")]))

        thread = threading.Thread(target=both)
        thread.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
        while not committed.value(waiting, second.info.backend_pid):
            assert thread.is_alive()
        # It waits for "a" and holds nothing that comes later in the order of keys.
        store(Database(first), [document("b", "one")])
        first.execute("COMMIT")
        thread.join()
    assert outcome == [("replaced", 1), ("replaced", 1)]
