"""A passage is found by the words of its text, whatever its writer says that these are."""

from collections.abc import Callable

import psycopg
import pytest

from support.database import Database, add_documents

FORGED = "'deploy':1A,2A,3A 'wine':4A 'zebra':5A '=err-1042':1C '==keys.txt':1C"
INSERT = (
    "INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket, content,"
    " kind, own_start, token_count, metadata, text_search_config, lexemes, own_position)"
    " SELECT d.id, n, d.collection_id, d.bucket, 'a quiet walrus ' || n, 'doc', 0, 3, '{}',"
    " d.text_search_config, %s::tsvector, n FROM pgblend_data.document AS d,"
    " generate_series(5, 6) AS n WHERE d.source_key = 'a.md' RETURNING id"
)
FOUND = "SELECT chunk_id FROM lexical_search(%s, 20)"


@pytest.fixture
def writer(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Database:
    """A writer of a collection with one document."""
    committed.rows("SELECT add_collection('a')")
    add_documents(committed, "a", [("a.md", "Animals", "a seal")])
    writer = Database(connect_as("pgblend_writer"))
    committed.rows("SELECT grant_collection('a', %s, 'write')", writer.connection.info.user)
    return writer


@pytest.mark.parametrize("sealed", [False, True])
def test_lexemes_that_are_given_are_not_taken(
    committed: Database, writer: Database, sealed: bool
) -> None:
    ids = writer.column(INSERT, FORGED)
    if sealed:
        committed.rows("SELECT lexical_rebuild('a')")
    for word in ("deploy", "zebra", "ERR-1042", "keys.txt"):
        assert committed.rows(FOUND, word) == [], word
    assert sorted(committed.column(FOUND, "walrus")) == ids
    assert committed.column(FOUND, "animals") == [min(committed.column(FOUND, "seal")), *ids]
    lengths = "SELECT DISTINCT length(lexemes), own_position FROM pgblend_data.chunk WHERE id = %s"
    assert committed.rows(lengths, ids[0]) == [(4, 1)]


@pytest.mark.parametrize("change", ["title = 'Other'", "source_key = 'deploy.md'"])
def test_names_that_gave_words_stay(committed: Database, writer: Database, change: str) -> None:
    update = f"UPDATE pgblend_data.document SET {change}"
    error = writer.error(update)
    assert error.sqlstate == "0A000"
    assert "are words of its chunks" in str(error.message_primary)
    assert "ingest_document" in str(error.message_hint)
    writer.rows("UPDATE pgblend_data.document SET title = title, uri = 'x'")
    writer.rows("SELECT ingest_document('a', 'a.md', 'a seal', 'Whales')")
    assert committed.rows(FOUND, "animals") == []
    assert len(committed.rows(FOUND, "whales")) == 1
    writer.rows("DELETE FROM pgblend_data.chunk")
    writer.rows(update)
