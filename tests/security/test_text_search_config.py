"""A text search configuration that does not exist would end the searches of all who see it."""

from collections.abc import Callable

import psycopg
import pytest

from support.database import Database, add_documents

MISSING = 'there is no text search configuration "klingon"'
WRITABLE = (
    "SELECT c.relname::text FROM pg_class AS c INNER JOIN pg_attribute AS a ON a.attrelid = c.oid"
    " WHERE c.relnamespace = 'pgblend_data'::regnamespace AND c.relkind = 'r'"
    " AND a.attname = 'text_search_config'"
    " AND (has_column_privilege(c.oid, a.attnum, 'INSERT')"
    " OR has_column_privilege(c.oid, a.attnum, 'UPDATE')) ORDER BY 1"
)


@pytest.fixture
def writer(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Database:
    """A writer of a collection with one document."""
    committed.rows("SELECT add_collection('a')")
    add_documents(committed, "a", [("k", "Title", "a walrus")])
    writer = Database(connect_as("pgblend_writer"))
    role = writer.connection.info.user
    committed.rows("SELECT grant_collection('a', %s, 'write')", role)
    return writer


def test_every_way_to_write_one_refuses_what_does_not_exist(
    committed: Database, writer: Database
) -> None:
    assert writer.column(WRITABLE) == ["chunk", "collection_language", "document"]
    own = "(SELECT min(id) FROM pgblend_data.collection)"
    document = "pgblend_data.document (collection_id, bucket, source_key, title, content_hash,"
    of_chunk = "document_id, chunk_index, collection_id, bucket, content"
    for db, statement in (
        (writer, "SELECT ingest_document('a', 'l', 'a seal', language => 'klingon')"),
        (writer, "UPDATE pgblend_data.document SET text_search_config = 'klingon'"),
        (writer, f"INSERT INTO {document} metadata, text_search_config)"
            f" VALUES ({own}, 0, 'l', '', '', '{{}}', 'english'),"
            f" ({own}, 0, 'm', '', '', '{{}}', 'klingon')"),
        (writer, f"INSERT INTO pgblend_data.collection_language VALUES ({own}, 'klingon')"),
        (writer, "UPDATE pgblend_data.collection_language SET text_search_config = 'klingon'"),
        (writer, f"INSERT INTO pgblend_data.chunk ({of_chunk}, text_search_config)"
            f" SELECT document_id, 1, collection_id, bucket, 'a seal', 'klingon'"
            " FROM pgblend_data.chunk"),
        (committed, "UPDATE pgblend_data.collection SET text_search_config = 'klingon'"),
        (committed, "INSERT INTO pgblend_data.collection (name, text_search_config)"
            " VALUES ('b', 'klingon')"),
    ):  # fmt: skip
        error = db.error(statement)
        assert (error.sqlstate, error.message_primary) == ("22023", MISSING), statement
        assert "german, not de" in error.message_hint
    # Documents are checked once a statement: of a row that lacks a column as well, that is told.
    error = writer.error(f"INSERT INTO {document} text_search_config)"
        f" VALUES ({own}, 0, 'l', '', '', 'klingon')")  # fmt: skip
    assert error.sqlstate == "23502"
    assert committed.column("SELECT source_key FROM lexical_search('walrus')") == ["k"]
    assert writer.warnings() == []


def test_what_was_dropped_later_stops_no_other_change(
    committed: Database, writer: Database
) -> None:
    committed.rows("CREATE TEXT SEARCH CONFIGURATION public.klingon (COPY = simple)")
    writer.rows("SELECT ingest_document('a', 'l', 'a seal', language => 'klingon')")
    committed.rows("DROP TEXT SEARCH CONFIGURATION public.klingon")
    writer.rows(
        "SELECT set_metadata(d.id, '{\"x\": 1}') FROM pgblend_data.document AS d"
        " WHERE d.source_key = 'l'"
    )
    writer.rows("UPDATE pgblend_data.document SET uri = 'seal' WHERE source_key = 'l'")
    assert writer.value("SELECT delete_document('a', 'l')") is True
